#include "capture/tracer.h"

#include <sched.h>
#include <time.h>

enum { PATIENCE_S = 2, YIELDS = 100, NAP_NS = 50000 };

struct gn_ring_segment *gn_ring_memory;

/* Pages that are first written in the middle of the program's calls would cost it a microsecond each. */
static void touch(struct gn_ring *ring, uint64_t records)
{
    enum { PAGE_RECORDS = 128 };
    struct gn_ring_slot *slots = gn_ring_slots(ring);
    for (uint64_t i = 0; i < records; i += PAGE_RECORDS)
        GN_SET(slots[i].word[0], 0);
}

void gn_tracer_attach(struct gn_tracer *tracer, uint32_t location)
{
    if (!gn_ring_memory || tracer->ring || location >= gn_ring_memory->location_capacity)
        return;
    struct gn_ring *ring = gn_ring_of(gn_ring_memory, location, gn_ring_memory->ring_records);
    tracer->mask = gn_ring_memory->ring_records - 1;
    tracer->shift = (uint8_t)__builtin_ctz(gn_ring_memory->ring_records);
    tracer->limit = gn_ring_memory->block ? tracer->mask : UINT64_MAX;
    tracer->location = location;
    touch(ring, gn_ring_memory->ring_records);
    tracer->ring = ring;
}

/* ---- room ---- */

/* A reader that claims to have taken more than was written has taken nothing that we rely on. */
static bool has_room(struct gn_tracer *tracer)
{
    uint64_t tail = GN_OBSERVE(tracer->ring->tail);
    if (tracer->head - tail <= tracer->mask + 1)
        tracer->limit = tail + tracer->mask;
    return tracer->head < tracer->limit;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* An agent for which we have waited in vain is not waited for again before it moves: what it does not take
 * is overwritten. */
void gn_tracer_wait(struct gn_tracer *tracer)
{
    uint64_t alive = GN_GET(gn_ring_memory->alive);
    if (has_room(tracer) || tracer->given_up_at == alive + 1)
        return;
    int64_t since_ns = now_ns();
    for (uint32_t turn = 0; !has_room(tracer); turn++) {
        uint64_t now_alive = GN_GET(gn_ring_memory->alive);
        if (now_alive != alive) {
            alive = now_alive;
            since_ns = now_ns();
        } else if (now_ns() - since_ns > PATIENCE_S * 1000000000ll) {
            tracer->given_up_at = alive + 1;
            return;
        }
        if (turn < YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    tracer->given_up_at = 0;
}

/* ---- calls ---- */

void gn_tracer_release(struct gn_tracer *tracer, bool more)
{
    if (more && tracer->held)
        tracer->last[0].word[1] |= (uint64_t)GN_RECORD_MORE << 50;
    for (uint32_t i = 0; i < tracer->held; i++)
        gn_tracer_write(tracer, &tracer->last[i]);
    tracer->held = 0;
}

static void hold(struct gn_tracer *tracer, uint64_t word0, uint64_t word1)
{
    tracer->last[0] = (struct gn_record){{word0, word1, 0, 0}};
    tracer->held = 1;
}

static void widen(struct gn_tracer *tracer, uint64_t exit_ticks, uint64_t bytes, uint64_t more)
{
    tracer->last[0].word[1] |= (uint64_t)GN_RECORD_IS_WIDE << 50;
    tracer->last[1] = (struct gn_record){{exit_ticks, gn_record_word1(0, 0, GN_RECORD_WIDE, 0), bytes, more}};
    tracer->held = 2;
}

void gn_tracer_open(struct gn_tracer *tracer, const struct gn_call_span *call)
{
    uint64_t length = call->exit_ticks - call->enter_ticks;
    tracer->in_call = true;
    hold(tracer, call->enter_ticks, gn_record_word1(length, call->node, GN_RECORD_NOTHING, GN_RECORD_CALL));
    if (length >= UINT32_MAX)
        widen(tracer, call->exit_ticks, 0, 0);
}

/* Adds to the record that is held back what the event says. */
static void fill(struct gn_tracer *tracer, const struct gn_event *e, uint64_t exit_ticks)
{
    struct gn_record *record = &tracer->last[0];
    const bool message = gn_record_is_message(e->kind), both = e->bytes_sent == e->bytes_received;
    const bool received = !both && e->bytes_sent == 0;
    uint64_t bytes = received ? e->bytes_received : e->bytes_sent;
    uint32_t tag = e->op != GN_COLLECTIVE_UNKNOWN ? e->op : gn_record_short_tag(e->tag);
    const bool two = !both && e->bytes_sent && e->bytes_received;
    unsigned flags = both ? GN_RECORD_BOTH : received ? GN_RECORD_RECEIVED : 0;
    if (e->kind == GN_EVENT_LOST)
        bytes = e->request;
    if (e->request && gn_record_starts(e->kind))
        flags |= GN_RECORD_REQUEST;
    record->word[1] &= ~((uint64_t)63 << 44);
    record->word[1] |= (uint64_t)e->kind << 44 | (uint64_t)flags << 50;
    record->word[2] = gn_record_word2((uint32_t)bytes, e->comm, tag);
    record->word[3] = gn_record_word3(
        e->peer, gn_event_has_number(e->kind) ? gn_record_short_number(e->number) : GN_RECORD_NO_NUMBER);
    if (tracer->held == 2 || bytes > UINT32_MAX || two || (message && tag == GN_RECORD_TAG_WIDE))
        widen(tracer, exit_ticks, bytes, message ? e->tag : e->bytes_received);
}

void gn_tracer_put_note(struct gn_tracer *tracer, const struct gn_call_span *call, const struct gn_note *note)
{
    const bool received = note->kind == GN_EVENT_MPI_RECV || note->kind == GN_EVENT_MPI_IRECV;
    struct gn_event event = gn_event_bare((enum gn_event_kind)note->kind, tracer->location, 0);
    event.comm = note->comm;
    event.peer = note->peer;
    event.tag = note->tag;
    event.request = note->request;
    event.number = note->number;
    event.bytes_sent = received ? 0 : note->bytes;
    event.bytes_received = received ? note->bytes : 0;
    gn_tracer_put(tracer, call, &event);
}

void gn_tracer_put(struct gn_tracer *tracer, const struct gn_call_span *call, const struct gn_event *event)
{
    if (tracer->poll_nodes)
        gn_tracer_end_polls(tracer);
    bool first = !tracer->in_call;
    if (first)
        gn_tracer_open(tracer, call);
    if (!event)
        return;
    bool names = gn_record_names(event->kind);
    if (!first || names || event->kind == GN_EVENT_LOST) {
        gn_tracer_release(tracer, true);
        hold(tracer, names ? event->request : 0, gn_record_word1(0, 0, GN_RECORD_NOTHING, 0));
    }
    fill(tracer, event, call->exit_ticks);
}

uint64_t gn_tracer_next_name(struct gn_tracer *tracer, const struct gn_call_span *call, bool alone)
{
    if (tracer->poll_nodes)
        gn_tracer_end_polls(tracer);
    if (alone && !tracer->in_call)
        gn_tracer_open(tracer, call);
    gn_tracer_release(tracer, true);
    return gn_request_name(tracer->location, tracer->head);
}

void gn_tracer_finish(struct gn_tracer *tracer)
{
    gn_tracer_release(tracer, false);
    tracer->in_call = false;
}

/* ---- calls that found nothing ---- */

/* The node's place in the row; GN_RING_POLL_NODES: it has none, and there is no room. */
static uint32_t place_in_row(struct gn_tracer *tracer, uint32_t node)
{
    struct gn_ring_polls *polls = &tracer->ring->polls;
    for (uint32_t i = 0; i < tracer->poll_nodes; i++)
        if (GN_GET(polls->at[i].node) == node)
            return i;
    return tracer->poll_nodes;
}

/* Whoever reads after we were killed in the middle takes the row without this call. */
static void keep_before(struct gn_ring_polls *polls, uint32_t i, uint32_t nodes)
{
    GN_SET(polls->before.place, i);
    GN_SET(polls->before.nodes, nodes);
    GN_SET(polls->before.last_ticks, GN_GET(polls->last_ticks));
    GN_SET(polls->before.count, GN_GET(polls->at[i].count));
    GN_SET(polls->before.inside_ticks, GN_GET(polls->at[i].inside_ticks));
    atomic_thread_fence(memory_order_release); /* ahead of seq */
}

static void begin_place(struct gn_tracer *tracer, uint32_t i, const struct gn_call_span *call)
{
    struct gn_ring_polls *polls = &tracer->ring->polls;
    if (i == 0) {
        GN_SET(polls->index, tracer->head);
        GN_SET(polls->first_ticks, call->enter_ticks);
    }
    GN_SET(polls->at[i].node, call->node);
    GN_SET(polls->at[i].count, 0);
    GN_SET(polls->at[i].inside_ticks, 0);
    tracer->poll_nodes = i + 1;
    GN_SET(polls->nodes, i + 1);
}

/* Of a row that has both calls between which something is computed and others, nobody could tell any more
 * which of them waited. Calls of the same place change so often at most that a row and what lies ahead of it
 * are long.
 */
static bool is_other_row(const struct gn_tracer *tracer, const struct gn_call_span *call, bool other_place)
{
    enum { LONG_TICKS = 4096, LONG_CALLS = 8, LONG_ROW = 1 << 18 };
    const struct gn_ring_polls *polls = &tracer->ring->polls;
    const uint64_t first_ticks = GN_GET(polls->first_ticks), last_ticks = GN_GET(polls->last_ticks),
                   length = last_ticks - first_ticks,
                   gap = call->enter_ticks > last_ticks ? call->enter_ticks - last_ticks : 0;
    if (!other_place && length + gap < LONG_ROW)
        return false;
    uint64_t inside = 0, count = 0;
    for (uint32_t i = 0; i < tracer->poll_nodes; i++) {
        inside += GN_GET(polls->at[i].inside_ticks);
        count += GN_GET(polls->at[i].count);
    }
    const bool computes = length > 2 * inside && length > LONG_TICKS * count,
               ahead = gap > LONG_TICKS && gap > LONG_CALLS * (inside / count);
    return other_place ? computes || ahead : count > 1 && computes != ahead;
}

void gn_tracer_poll(struct gn_tracer *tracer, const struct gn_call_span *call)
{
    struct gn_ring_polls *polls = &tracer->ring->polls;
    uint32_t i = place_in_row(tracer, call->node);
    if (i == GN_RING_POLL_NODES ||
        (tracer->poll_nodes > 0 && is_other_row(tracer, call, i == tracer->poll_nodes))) {
        gn_tracer_end_polls(tracer);
        i = 0;
    }
    keep_before(polls, i, tracer->poll_nodes);
    gn_seq_begin(&polls->seq);
    if (i == tracer->poll_nodes)
        begin_place(tracer, i, call);
    GN_ADD(polls->at[i].count, 1);
    GN_ADD(polls->at[i].inside_ticks, call->exit_ticks - call->enter_ticks);
    GN_SET(polls->last_ticks, call->exit_ticks);
    gn_seq_end(&polls->seq);
}

/* A single call is one like any other. */
static void hold_polls(struct gn_tracer *tracer, uint32_t i, const struct gn_call_span *row)
{
    const struct gn_ring_poll *at = &tracer->ring->polls.at[i];
    uint64_t count = GN_GET(at->count), length = row->exit_ticks - row->enter_ticks;
    bool single = count == 1 && tracer->poll_nodes == 1;
    hold(tracer, row->enter_ticks,
         gn_record_word1(length, GN_GET(at->node), single ? GN_RECORD_NOTHING : GN_RECORD_POLLS,
                         GN_RECORD_CALL));
    if (!single) {
        tracer->last[0].word[2] = count;
        tracer->last[0].word[3] = GN_GET(at->inside_ticks);
    }
    if (length >= UINT32_MAX)
        widen(tracer, row->exit_ticks, 0, 0);
}

void gn_tracer_end_polls(struct gn_tracer *tracer)
{
    struct gn_ring_polls *polls = &tracer->ring->polls;
    struct gn_call_span row = {GN_GET(polls->first_ticks), GN_GET(polls->last_ticks), 0};
    for (uint32_t i = 0; i < tracer->poll_nodes; i++) {
        hold_polls(tracer, i, &row);
        gn_tracer_release(tracer, false);
        row.enter_ticks = row.exit_ticks;
    }
    tracer->poll_nodes = 0;
}

/* ---- what is no call ---- */

void gn_tracer_late(struct gn_tracer *tracer, uint64_t name, uint64_t number)
{
    if (tracer->poll_nodes)
        gn_tracer_end_polls(tracer);
    struct gn_record record = {{name, gn_record_word1(0, 0, GN_RECORD_LATE, 0), 0,
                                gn_record_word3(GN_NONE, gn_record_short_number(number))}};
    gn_tracer_write(tracer, &record);
}

void gn_tracer_own_work(struct gn_tracer *tracer, uint64_t exit_ticks, uint64_t before_ticks,
                        uint64_t after_ticks)
{
    if (tracer->poll_nodes)
        return;
    struct gn_record record = {
        {exit_ticks, gn_record_word1(0, 0, GN_RECORD_OWN_WORK, 0), before_ticks, after_ticks}};
    gn_tracer_write(tracer, &record);
}

void gn_tracer_control(struct gn_tracer *tracer, unsigned kind, uint64_t ticks, uint32_t node, uint32_t value,
                       uint32_t name)
{
    if (!tracer->ring)
        return;
    if (tracer->poll_nodes)
        gn_tracer_end_polls(tracer);
    struct gn_record record = {{ticks, gn_record_word1(0, node, kind, 0),
                                gn_record_word2(value, GN_NONE, name & 0xffff),
                                gn_record_word3(GN_NONE, GN_RECORD_NO_NUMBER)}};
    gn_tracer_write(tracer, &record);
}

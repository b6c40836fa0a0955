#include "agent/last_calls.h"

#include "base/grow.h"
#include "base/printable.h"
#include "agent/expand.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 2048 }; /* records of a thread, the last ones */

#define MOST_BYTES ((uint64_t)1 << 62)

/* One process; the ring of calls is of the thread at hand. */
struct collector {
    struct gn_tag *tag;
    struct gn_ring_segment *rings;
    uint64_t start_ticks, now_ticks;
    struct gn_last_call ring[GN_LAST_CALLS];
    size_t kept; /* ever */
    struct gn_last_call call;
    bool in_call;
    bool wrong; /* it says something that cannot be */
};

static const struct gn_last_side nothing = {0, GN_LAST_UNKNOWN, GN_LAST_UNKNOWN, 0};

/* ---- communicators ---- */

static bool find_comm(const struct collector *c, uint32_t index, struct gn_ring_comm *comm)
{
    if (index >= GN_RING_COMMS || index >= GN_OBSERVE(c->rings->comm_count))
        return false;
    memcpy(comm, &c->rings->comms[index], sizeof *comm);
    const uint64_t words = 2 * ((uint64_t)comm->ranges + comm->other_ranges);
    return words <= GN_RING_WORDS && comm->first_word + words <= GN_RING_WORDS;
}

static bool is_rma(unsigned kind)
{
    return kind >= GN_EVENT_RMA_WIN_CREATE && kind <= GN_EVENT_RMA_SYNC;
}

static bool comm_of(const struct collector *c, const struct gn_event *e, struct gn_ring_comm *comm,
                    uint32_t *index)
{
    *index = e->comm;
    if (is_rma(e->kind)) {
        if (e->comm >= GN_RING_WINDOWS || e->comm >= GN_OBSERVE(c->rings->window_count))
            return false;
        struct gn_ring_window window;
        memcpy(&window, &c->rings->windows[e->comm], sizeof window);
        *index = window.comm;
    }
    return find_comm(c, *index, comm);
}

/* The rank in MPI_COMM_WORLD of a rank of the group that peers are counted in: of an intercommunicator the
 * other one. GN_LAST_UNKNOWN: there is none. */
static int64_t world_rank(const struct collector *c, const struct gn_ring_comm *comm, uint32_t rank)
{
    const bool inter = comm->other_ranges > 0;
    const uint32_t *range = &c->rings->words[comm->first_word + (inter ? 2 * (size_t)comm->ranges : 0)];
    uint64_t before = 0;
    for (uint32_t i = 0; i < (inter ? comm->other_ranges : comm->ranges); i++, range += 2) {
        const uint64_t first = range[0], count = range[1];
        if (rank < before + count) {
            uint64_t found = first + rank - before;
            return found < (uint64_t)c->tag->world ? (int64_t)found : GN_LAST_UNKNOWN;
        }
        before += count;
    }
    return GN_LAST_UNKNOWN;
}

static int64_t peer_of(struct collector *c, const struct gn_ring_comm *comm, uint32_t peer)
{
    if (peer == GN_ANY)
        return GN_LAST_ANY;
    if (peer >= GN_ROOT_NONE)
        return GN_LAST_UNKNOWN;
    int64_t rank = world_rank(c, comm, peer);
    c->wrong = c->wrong || rank == GN_LAST_UNKNOWN;
    return rank;
}

static void name_comm(struct gn_last_call *call, const struct gn_ring_comm *comm, uint32_t index)
{
    char raw[sizeof comm->name + 1];
    snprintf(raw, sizeof raw, "%.*s", (int)sizeof comm->name, comm->name);
    if (raw[0])
        gn_printable_copy(call->comm, sizeof call->comm, raw);
    else
        snprintf(call->comm, sizeof call->comm, "communicator %u", index);
}

/* ---- what a call did ---- */

static int64_t tag_of(const struct gn_event *e)
{
    return e->tag == GN_ANY                                       ? GN_LAST_ANY
           : e->tag >= GN_ROOT_NONE || e->tag == GN_TAG_NEIGHBOUR ? GN_LAST_UNKNOWN
                                                                  : (int64_t)e->tag;
}

static void add_bytes(struct collector *c, struct gn_last_side *side, uint64_t bytes)
{
    if (bytes == GN_BYTES_UNKNOWN)
        return;
    if (bytes > MOST_BYTES || (uint64_t)side->bytes + bytes > MOST_BYTES)
        c->wrong = true;
    else
        side->bytes += (int64_t)bytes;
}

static void add_messages(struct collector *c, struct gn_last_side *side, int64_t messages, int64_t peer,
                         int64_t tag, uint64_t bytes)
{
    const bool first = side->messages == 0 && side->peer == GN_LAST_UNKNOWN;
    side->peer = first || side->peer == peer ? peer : GN_LAST_UNKNOWN;
    side->tag = first || side->tag == tag ? tag : GN_LAST_UNKNOWN;
    side->messages += messages;
    add_bytes(c, side, bytes);
}

static void add_event(struct collector *c, const struct gn_event *e, int64_t peer)
{
    struct gn_last_call *call = &c->call;
    switch (e->kind) {
    case GN_EVENT_MPI_SEND:
    case GN_EVENT_MPI_ISEND:
        add_messages(c, &call->sent, 1, peer, tag_of(e), e->bytes_sent);
        break;
    case GN_EVENT_MPI_IRECV_REQUEST:
        add_messages(c, &call->received, 0, peer, tag_of(e), 0);
        break;
    case GN_EVENT_MPI_IRECV:
        call->completed++;
        __attribute__((fallthrough));
    case GN_EVENT_MPI_RECV:
        add_messages(c, &call->received, 1, peer, tag_of(e), e->bytes_received);
        break;
    case GN_EVENT_RMA_PUT:
    case GN_EVENT_RMA_ATOMIC:
        add_messages(c, &call->sent, 1, peer, GN_LAST_UNKNOWN, e->bytes_sent);
        break;
    case GN_EVENT_RMA_GET:
        add_messages(c, &call->received, 1, peer, GN_LAST_UNKNOWN, e->bytes_received);
        break;
    case GN_EVENT_NBC_COMPLETE:
    case GN_EVENT_IO_COMPLETE:
        call->completed++;
        __attribute__((fallthrough));
    case GN_EVENT_COLLECTIVE_END:
    case GN_EVENT_RMA_COLLECTIVE_END:
        add_bytes(c, &call->sent, e->bytes_sent);
        add_bytes(c, &call->received, e->bytes_received);
        break;
    case GN_EVENT_MPI_ISEND_COMPLETE:
    case GN_EVENT_RMA_COMPLETE:
    case GN_EVENT_MPI_REQUEST_CANCELLED:
        call->completed++;
        break;
    default:
        break;
    }
}

static bool has_root(unsigned kind)
{
    return kind == GN_EVENT_COLLECTIVE_BEGIN || kind == GN_EVENT_COLLECTIVE_END ||
           kind == GN_EVENT_NBC_REQUEST;
}

static void note(struct collector *c, const struct gn_event *e)
{
    struct gn_ring_comm comm;
    uint32_t index;
    int64_t peer = GN_LAST_UNKNOWN;
    if (e->comm != GN_NONE && comm_of(c, e, &comm, &index)) {
        peer = peer_of(c, &comm, e->peer);
        name_comm(&c->call, &comm, index);
    } else if (e->comm != GN_NONE) {
        c->wrong = true;
    }
    if (has_root(e->kind))
        c->call.root = peer;
    add_event(c, e, peer);
}

/* ---- calls ---- */

static void begin(struct collector *c, uint32_t location, const struct gn_event *enter)
{
    c->in_call = true;
    c->wrong = enter->request > (uint64_t)INT64_MAX;
    c->call = (struct gn_last_call){.thread = location,
                                    .activity = enter->region,
                                    .path = enter->path,
                                    .enter_ticks = enter->ticks,
                                    .calls = enter->request ? (int64_t)enter->request : 1,
                                    .sent = nothing,
                                    .received = nothing,
                                    .root = GN_LAST_UNKNOWN};
}

static bool is_possible(const struct collector *c)
{
    const struct gn_last_call *call = &c->call;
    return gn_activity_is_call(call->activity) && call->path < GN_MAX_FRAMES &&
           call->enter_ticks >= c->start_ticks && call->enter_ticks <= call->leave_ticks &&
           call->leave_ticks <= c->now_ticks &&
           (uint64_t)call->calls <= call->leave_ticks - call->enter_ticks + 1;
}

/* Of a call that is still open nothing but the call itself is certain. */
static void end(struct collector *c, uint64_t ticks, bool open)
{
    c->in_call = false;
    c->call.leave_ticks = ticks;
    c->call.open = open;
    if (c->wrong && open) {
        c->call.sent = c->call.received = nothing;
        c->call.root = GN_LAST_UNKNOWN;
        c->call.comm[0] = '\0';
        c->wrong = false;
    }
    if (!c->wrong && is_possible(c))
        c->ring[c->kept++ % GN_LAST_CALLS] = c->call;
}

static void take_event(void *self, uint32_t location, struct gn_event *e)
{
    struct collector *c = self;
    if (e->kind == GN_EVENT_ENTER)
        begin(c, location, e);
    else if (e->kind == GN_EVENT_LEAVE && c->in_call)
        end(c, e->ticks, false);
    else if (c->in_call)
        note(c, e);
}

/* ---- records ---- */

static bool has_ticks(const struct gn_record *r)
{
    const unsigned kind = gn_record_kind(r);
    return gn_record_flags(r) & GN_RECORD_CALL || kind == GN_EVENT_REGION_BEGIN ||
           kind == GN_EVENT_REGION_END || kind == GN_EVENT_MEASUREMENT;
}

/* One record with a time that is none would move all times behind it. of_call: the one before it is a call's
 * that has its wide one here. */
static bool is_in_time(const struct collector *c, const struct gn_record *r, bool of_call)
{
    if (gn_record_kind(r) == GN_RECORD_WIDE ? !of_call : !has_ticks(r))
        return true;
    return r->word[0] >= c->start_ticks && r->word[0] <= c->now_ticks;
}

static void expand(struct collector *c, struct gn_expand *x, uint32_t location,
                   const struct gn_record *records, size_t count, uint64_t first)
{
    bool of_call = false;
    gn_expand_up_to(x, location, first);
    for (size_t i = 0; i < count; i++) {
        const unsigned flags = gn_record_flags(&records[i]);
        if (is_in_time(c, &records[i], of_call))
            gn_expand_record(x, location, first + i, &records[i]);
        else
            gn_expand_up_to(x, location, first + i + 1);
        of_call = (flags & GN_RECORD_CALL) && (flags & GN_RECORD_IS_WIDE);
    }
    gn_expand_end(x, location);
    if (c->in_call)
        end(c, c->now_ticks, true);
}

/* ---- a process ---- */

static bool keep_thread(struct gn_last_calls *last, const struct collector *c, size_t *capacity)
{
    const size_t count = c->kept < GN_LAST_CALLS ? c->kept : GN_LAST_CALLS;
    for (size_t i = c->kept - count; i < c->kept; i++) {
        if (!gn_grow(&last->calls, capacity, last->count, sizeof *last->calls))
            return false;
        last->calls[last->count++] = c->ring[i % GN_LAST_CALLS];
    }
    return true;
}

static bool take_threads(struct gn_last_calls *last, struct gn_watched *w, struct gn_expand *x,
                         struct collector *c, struct gn_record *records)
{
    size_t capacity = 0;
    uint32_t threads = GN_OBSERVE(w->segment->location_count);
    if (threads > w->rings.locations)
        threads = w->rings.locations;
    for (uint32_t i = 0; i < threads; i++) {
        uint64_t first;
        c->kept = 0;
        c->in_call = false;
        size_t count = gn_rings_last(&w->rings, i, records, LOOKED_AT, &first);
        expand(c, x, i, records, count, first);
        if (!keep_thread(last, c, &capacity))
            return false;
    }
    return true;
}

static uint64_t later_sign(const struct gn_watched *w, uint64_t sign, uint64_t ticks)
{
    return ticks > sign && ticks <= w->seen_ticks ? ticks : sign;
}

/* It lived when we last looked, when one of its threads last said something, and when its exit handlers ran.
 */
static uint64_t last_sign(const struct gn_watched *w, bool one_counter)
{
    uint64_t sign = w->alive_ticks;
    uint32_t threads = GN_OBSERVE(w->segment->location_count);
    if (!one_counter)
        return sign;
    for (uint32_t i = 0; i < threads && i < w->rings.locations; i++)
        sign = later_sign(w, sign, GN_GET(w->segment->locations[i].now_ticks));
    return later_sign(w, sign, GN_GET(w->segment->end_ticks));
}

int gn_last_calls_take(struct gn_last_calls *last, struct gn_watched *w, uint64_t now_ticks, bool one_counter)
{
    *last = (struct gn_last_calls){.before_ticks = w->seen_ticks};
    if (!w->recorded || GN_GET(w->segment->finalized_ticks) != 0)
        return 0;
    if (w->seen_ticks)
        last->after_ticks = last_sign(w, one_counter);
    struct collector c = {.tag = w->segment,
                          .rings = w->rings.segment,
                          .start_ticks = GN_GET(w->segment->start_ticks),
                          .now_ticks = now_ticks};
    struct gn_record *records = malloc(LOOKED_AT * sizeof *records);
    struct gn_expand *x = records ? gn_expand_new(w->segment, w->rings.segment, w->rings.locations,
                                                  w->rings.ring_records, take_event, &c)
                                  : NULL;
    const bool taken = x && take_threads(last, w, x, &c, records);
    gn_expand_free(x);
    free(records);
    return taken ? 0 : -ENOMEM;
}

void gn_last_calls_clear(struct gn_last_calls *last)
{
    free(last->calls);
    *last = (struct gn_last_calls){0};
}

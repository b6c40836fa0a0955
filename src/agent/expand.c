#include "agent/expand.h"

#include "base/grow.h"
#include "calls.h"
#include "event/fields.h"

#include <stdlib.h>
#include <string.h>

/* Records [from, to) of a location. */
struct range {
    uint64_t from, to;
    bool skipped; /* nobody wanted them; else they are lost */
};

struct at {               /* a location */
    uint64_t next;        /* the record that comes next */
    uint64_t last_ticks;  /* of the last event */
    uint64_t lost;        /* records, of which no event has told yet */
    bool skipped;         /* records that nobody wanted, likewise */
    bool cut;             /* no call has begun since then: what comes is of one that was skipped */
    struct range *ranges; /* of them, in their order */
    size_t range_count, range_capacity;
    bool in_call, ends, waits; /* ends: `end` comes before the leave; waits: for main's wide record */
    bool has_left;             /* that was its last event */
    uint64_t enter_ticks, exit_ticks;
    uint32_t region, path;
    struct gn_event end;
    struct gn_record main;
    uint64_t main_index;
};

struct gn_expand {
    struct gn_tag *tag;
    struct gn_ring_segment *rings;
    uint32_t locations, ring_records;
    gn_expand_emit *emit;
    void *self;
    uint64_t garbled;
    struct at at[];
};

struct gn_expand *gn_expand_new(struct gn_tag *tag, struct gn_ring_segment *rings, uint32_t locations,
                                uint32_t ring_records, gn_expand_emit *emit, void *self)
{
    struct gn_expand *x = calloc(1, sizeof *x + locations * sizeof x->at[0]);
    if (!x)
        return NULL;
    x->tag = tag;
    x->rings = rings;
    x->locations = locations;
    x->ring_records = ring_records;
    x->emit = emit;
    x->self = self;
    return x;
}

void gn_expand_free(struct gn_expand *x)
{
    if (!x)
        return;
    for (uint32_t i = 0; i < x->locations; i++)
        free(x->at[i].ranges);
    free(x);
}

uint64_t gn_expand_garbled(const struct gn_expand *x)
{
    return x->garbled;
}

/* ---- loss ---- */

static void tell_lost(struct gn_expand *x, uint32_t location)
{
    struct at *at = &x->at[location];
    for (int on = 0; on <= 1 && at->skipped; on++) {
        struct gn_event event = gn_event_bare(GN_EVENT_MEASUREMENT, location, at->last_ticks);
        event.request = (uint64_t)on;
        x->emit(x->self, location, &event);
    }
    at->skipped = false;
    if (at->lost == 0)
        return;
    struct gn_event event = gn_event_bare(GN_EVENT_LOST, location, at->last_ticks);
    event.request = at->lost;
    at->lost = 0;
    x->emit(x->self, location, &event);
}

static const struct range nowhere = {0, UINT64_MAX, false};

/* NULL: it was taken. */
static const struct range *gone_with(const struct gn_expand *x, uint64_t request)
{
    uint32_t location = gn_request_location(request);
    uint64_t index = gn_request_index(request);
    if (location >= x->locations)
        return &nowhere;
    const struct at *at = &x->at[location];
    size_t low = 0, high = at->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (at->ranges[middle].to <= index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < at->range_count && at->ranges[low].from <= index ? &at->ranges[low] : NULL;
}

static void remember(struct at *at, uint64_t from, uint64_t to, bool skipped)
{
    if (at->range_count > 0 && at->ranges[at->range_count - 1].to == from &&
        at->ranges[at->range_count - 1].skipped == skipped)
        at->ranges[at->range_count - 1].to = to;
    else if (gn_grow(&at->ranges, &at->range_capacity, at->range_count, sizeof *at->ranges))
        at->ranges[at->range_count++] = (struct range){from, to, skipped};
}

/* ---- events ---- */

/* After what was lost; time does not go backward. */
static void emit(struct gn_expand *x, uint32_t location, struct gn_event *event)
{
    struct at *at = &x->at[location];
    tell_lost(x, location);
    if (event->ticks < at->last_ticks)
        event->ticks = at->last_ticks;
    at->last_ticks = event->ticks;
    at->has_left = event->kind == GN_EVENT_LEAVE;
    x->emit(x->self, location, event);
}

static bool is_at_enter(unsigned kind)
{
    return kind == GN_EVENT_MPI_SEND || gn_record_starts(kind);
}

/* wide: NULL where it has none. */
static void set_bytes(struct gn_event *event, const struct gn_record *r, const struct gn_record *wide)
{
    const unsigned flags = gn_record_flags(r);
    const uint64_t bytes = wide ? wide->word[2] : gn_record_bytes(r);
    const bool two = wide && !gn_record_is_message(event->kind);
    event->bytes_sent = flags & GN_RECORD_RECEIVED ? 0 : bytes;
    event->bytes_received = flags & (GN_RECORD_RECEIVED | GN_RECORD_BOTH) ? bytes : two ? wide->word[3] : 0;
}

static struct gn_event event_of(const struct at *at, uint32_t location, uint64_t index,
                                const struct gn_record *r, const struct gn_record *wide)
{
    const unsigned kind = gn_record_kind(r), tag = gn_record_tag(r);
    struct gn_event event = gn_event_bare((enum gn_event_kind)kind, location,
                                          is_at_enter(kind) ? at->enter_ticks : at->exit_ticks);
    event.comm = gn_record_comm(r);
    event.peer = gn_record_peer(r);
    if (gn_event_fields(kind) & GN_FIELD_OP)
        event.op = (uint8_t)tag;
    else
        event.tag =
            tag == GN_RECORD_TAG_WIDE ? wide ? (uint32_t)wide->word[3] : GN_NONE : gn_record_long_tag(tag);
    set_bytes(&event, r, wide);
    if (gn_event_has_number(kind))
        event.number = gn_record_long_number(r);
    if (gn_record_names(kind))
        event.request = r->word[0];
    else if (gn_record_flags(r) & GN_RECORD_REQUEST ||
             (kind == GN_EVENT_MPI_RECV && event.number == GN_NUMBER_LATER))
        event.request = gn_request_name(location, index);
    return event;
}

static void emit_begin(struct gn_expand *x, uint32_t location, const struct gn_event *end)
{
    const bool rma = end->kind == GN_EVENT_RMA_COLLECTIVE_END;
    struct gn_event begin = gn_event_bare(rma ? GN_EVENT_RMA_COLLECTIVE_BEGIN : GN_EVENT_COLLECTIVE_BEGIN,
                                          location, x->at[location].enter_ticks);
    begin.op = end->op;
    begin.peer = end->peer;
    begin.comm = rma && end->op == GN_COLLECTIVE_CREATE_HANDLE ? GN_NONE : end->comm;
    emit(x, location, &begin);
}

/* What a record says was done. */
static void emit_payload(struct gn_expand *x, uint32_t location, uint64_t index, const struct gn_record *r,
                         const struct gn_record *wide)
{
    struct at *at = &x->at[location];
    struct gn_event event = event_of(at, location, index, r, wide);
    if (event.kind == GN_EVENT_LOST) {
        at->lost += gn_record_bytes(r);
        return;
    }
    if (event.kind == GN_EVENT_COLLECTIVE_END || event.kind == GN_EVENT_RMA_COLLECTIVE_END) {
        emit_begin(x, location, &event);
        at->end = event;
        at->ends = true;
        return;
    }
    const struct range *gone = gn_record_names(event.kind) ? gone_with(x, event.request) : NULL;
    if (gone) {
        if (event.kind != GN_EVENT_MPI_IRECV) {
            at->lost += !gone->skipped;
            return;
        }
        event.kind = GN_EVENT_MPI_RECV;
        event.request = event.number == GN_NUMBER_LATER ? event.request : 0;
    }
    emit(x, location, &event);
}

/* ---- calls ---- */

static void enter_node(struct gn_expand *x, uint32_t location, uint32_t node, struct gn_event *event)
{
    const struct gn_location *in = &x->tag->locations[location];
    event->region = event->path = GN_NONE;
    if (node >= GN_OBSERVE(in->node_count) || node >= GN_MAX_NODES ||
        GN_GET(in->nodes[node].activity) >= GN_CALL_COUNT) {
        x->garbled++;
        return;
    }
    event->region = GN_GET(in->nodes[node].activity);
    event->path = GN_GET(in->nodes[node].path);
}

static void leave(struct gn_expand *x, uint32_t location)
{
    struct at *at = &x->at[location];
    if (!at->in_call)
        return;
    if (at->ends)
        emit(x, location, &at->end);
    struct gn_event event = gn_event_bare(GN_EVENT_LEAVE, location, at->exit_ticks);
    event.region = at->region;
    event.path = at->path;
    at->in_call = at->ends = false;
    emit(x, location, &event);
}

static void enter(struct gn_expand *x, uint32_t location, const struct gn_record *r,
                  const struct gn_record *wide)
{
    struct at *at = &x->at[location];
    struct gn_event event = gn_event_bare(GN_EVENT_ENTER, location, r->word[0]);
    enter_node(x, location, gn_record_node(r), &event);
    at->in_call = true;
    at->region = event.region;
    at->path = event.path;
    at->enter_ticks = r->word[0];
    at->exit_ticks = wide ? wide->word[0] : r->word[0] + gn_record_length(r);
    if (gn_record_kind(r) == GN_RECORD_POLLS) {
        event.request = r->word[2];
        event.bytes_sent = r->word[3];
    }
    emit(x, location, &event);
}

static bool is_of_thread(unsigned kind)
{
    return kind == GN_EVENT_THREAD_CREATE || kind == GN_EVENT_THREAD_WAIT || kind == GN_EVENT_THREAD_BEGIN ||
           kind == GN_EVENT_THREAD_END;
}

static void emit_control(struct gn_expand *x, uint32_t location, const struct gn_record *r)
{
    const unsigned kind = gn_record_kind(r);
    struct gn_event event = gn_event_bare((enum gn_event_kind)kind, location, r->word[0]);
    if (kind == GN_EVENT_REGION_BEGIN || kind == GN_EVENT_REGION_END) {
        event.region = GN_REGION_NAME + gn_record_tag(r);
        event.path = gn_record_bytes(r);
    } else if (kind == GN_EVENT_MEASUREMENT || is_of_thread(kind)) {
        event.request = gn_record_bytes(r);
    }
    emit(x, location, &event);
}

static void emit_late(struct gn_expand *x, uint32_t location, const struct gn_record *r)
{
    struct gn_event event = gn_event_bare(GN_EVENT_NUMBER, location, x->at[location].last_ticks);
    event.request = r->word[0];
    event.number = gn_record_long_number(r);
    emit(x, location, &event);
}

static void emit_own_work(struct gn_expand *x, uint32_t location, const struct gn_record *r)
{
    struct gn_event event = gn_event_bare(GN_EVENT_OWN_WORK, location, x->at[location].last_ticks);
    event.request = r->word[2];
    event.bytes_sent = r->word[3];
    emit(x, location, &event);
}

static bool is_control(unsigned kind)
{
    return kind == GN_EVENT_REGION_BEGIN || kind == GN_EVENT_REGION_END || kind == GN_EVENT_MEASUREMENT ||
           kind == GN_EVENT_PROGRAM_BEGIN || kind == GN_EVENT_PROGRAM_END || is_of_thread(kind);
}

/* A record with its wide one, or without. */
static void whole(struct gn_expand *x, uint32_t location, uint64_t index, const struct gn_record *r,
                  const struct gn_record *wide)
{
    struct at *at = &x->at[location];
    const unsigned kind = gn_record_kind(r), flags = gn_record_flags(r);
    at->waits = false;
    if (flags & GN_RECORD_CALL) {
        leave(x, location); /* the end of the one before was lost */
        at->cut = false;
        enter(x, location, r, wide);
    } else if (is_control(kind)) {
        leave(x, location);
        emit_control(x, location, r);
        return;
    } else if (kind == GN_RECORD_LATE) {
        leave(x, location);
        emit_late(x, location, r);
        return;
    } else if (kind == GN_RECORD_OWN_WORK) {
        const bool is_known =
            (at->in_call || (at->has_left && !at->cut)) && at->lost == 0; /* of which call */
        leave(x, location);
        if (is_known)
            emit_own_work(x, location, r);
        return;
    } else if (!at->in_call) { /* of a call of which the beginning is lost */
        at->lost += kind < GN_EVENT_KIND_COUNT && !at->cut;
        return;
    }
    if (kind < GN_EVENT_KIND_COUNT)
        emit_payload(x, location, index, r, wide);
    else if (kind != GN_RECORD_NOTHING && kind != GN_RECORD_POLLS)
        x->garbled++;
    if (!(flags & GN_RECORD_MORE))
        leave(x, location);
}

/* Main's wide record did not come. */
static void give_up_wide(struct gn_expand *x, uint32_t location)
{
    struct at *at = &x->at[location];
    if (at->waits)
        whole(x, location, at->main_index, &at->main, NULL);
}

void gn_expand_begin_at(struct gn_expand *x, uint32_t location, uint64_t index, uint64_t ticks)
{
    x->at[location].next = index;
    x->at[location].last_ticks = ticks;
}

uint64_t gn_expand_next(const struct gn_expand *x, uint32_t location)
{
    return x->at[location].next;
}

uint64_t gn_expand_last_ticks(const struct gn_expand *x, uint32_t location)
{
    return x->at[location].last_ticks;
}

bool gn_expand_is_between(const struct gn_expand *x, uint32_t location)
{
    const struct at *at = &x->at[location];
    return !at->in_call && !at->waits && at->lost == 0;
}

static void pass(struct gn_expand *x, uint32_t location, uint64_t index, bool skipped)
{
    struct at *at = &x->at[location];
    if (index <= at->next)
        return;
    give_up_wide(x, location);
    leave(x, location);
    if (index - at->next <= GN_RING_MOST_LOST) { /* else the ring's head was nonsense */
        remember(at, at->next, index, skipped);
        at->lost += skipped ? 0 : index - at->next;
    }
    at->skipped |= skipped;
    at->cut |= skipped;
    at->next = index;
}

void gn_expand_up_to(struct gn_expand *x, uint32_t location, uint64_t index)
{
    pass(x, location, index, false);
}

void gn_expand_skip(struct gn_expand *x, uint32_t location, uint64_t index)
{
    pass(x, location, index, true);
}

void gn_expand_record(struct gn_expand *x, uint32_t location, uint64_t index, const struct gn_record *r)
{
    struct at *at = &x->at[location];
    const uint64_t generation = index / x->ring_records & 0xff;
    gn_expand_up_to(x, location, index);
    if (gn_record_generation(r) != generation) { /* not written as this record: counts as lost */
        x->garbled++;
        gn_expand_up_to(x, location, index + 1);
        return;
    }
    at->next = index + 1;
    if (at->waits && gn_record_kind(r) == GN_RECORD_WIDE) {
        whole(x, location, at->main_index, &at->main, r);
        return;
    }
    give_up_wide(x, location);
    if (gn_record_flags(r) & GN_RECORD_IS_WIDE) {
        at->main = *r;
        at->main_index = index;
        at->waits = true;
        return;
    }
    if (gn_record_kind(r) != GN_RECORD_WIDE)
        whole(x, location, index, r, NULL);
}

/* ---- the end ---- */

/* The row's first record was written, its wide one not. */
static void end_wide_row(struct gn_expand *x, uint32_t location, const struct gn_ring_row *row)
{
    struct at *at = &x->at[location];
    struct gn_record wide = {{row->last_ticks, 0, 0, 0}};
    if (at->waits && row->first > 0 && at->main_index == row->index && at->next == row->index + 1 &&
        gn_ring_row_is_wide(row))
        whole(x, location, at->main_index, &at->main, &wide);
}

static void end_polls(struct gn_expand *x, uint32_t location, const struct gn_ring_row *row)
{
    struct gn_record wide = {{row->last_ticks, 0, 0, 0}};
    for (uint32_t i = row->first; i < row->nodes; i++) {
        const bool single = row->at[i].count == 1 && row->nodes == 1;
        struct gn_record r = {{i == 0 ? row->first_ticks : row->last_ticks,
                               gn_record_word1(UINT32_MAX, row->at[i].node,
                                               single ? GN_RECORD_NOTHING : GN_RECORD_POLLS, GN_RECORD_CALL),
                               row->at[i].count, row->at[i].inside_ticks}};
        whole(x, location, x->at[location].next, &r, &wide);
    }
}

static void end_call(struct gn_expand *x, uint32_t location, struct gn_ring *ring)
{
    const struct gn_location *in = &x->tag->locations[location];
    const uint64_t ticks = GN_GET(in->now_ticks);
    struct gn_record r = {
        {ticks, gn_record_word1(0, GN_GET(in->now_node), GN_RECORD_NOTHING, GN_RECORD_CALL), 0, 0}};
    uint32_t node = GN_GET(in->now_node);
    if (GN_GET(in->now_inside) != 1 || ticks < x->at[location].last_ticks || node >= GN_MAX_NODES ||
        GN_GET(in->nodes[node].activity) >= GN_CALL_COUNT)
        return;
    enter(x, location, &r, NULL);
    x->at[location].in_call = false; /* never left */
    if (GN_OBSERVE(ring->begun.ticks) != ticks)
        return;
    struct gn_event begin = gn_event_bare(GN_GET(ring->begun.kind) == GN_EVENT_RMA_COLLECTIVE_BEGIN
                                              ? GN_EVENT_RMA_COLLECTIVE_BEGIN
                                              : GN_EVENT_COLLECTIVE_BEGIN,
                                          location, ticks);
    begin.op = (uint8_t)GN_GET(ring->begun.op);
    begin.comm = GN_GET(ring->begun.comm);
    begin.peer = GN_GET(ring->begun.root);
    emit(x, location, &begin);
}

void gn_expand_end(struct gn_expand *x, uint32_t location)
{
    struct gn_ring *ring = gn_ring_of(x->rings, location, x->ring_records);
    const struct gn_ring_row row = gn_ring_row_of(ring);
    end_wide_row(x, location, &row);
    give_up_wide(x, location);
    leave(x, location);
    end_polls(x, location, &row);
    end_call(x, location, ring);
    tell_lost(x, location);
}

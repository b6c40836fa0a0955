#include "agent/sample_moment.h"

#include "base/mix.h"

#include <stddef.h>

/* A record that says when something was passed. */
struct passage {
    uint64_t index; /* of the record */
    uint64_t enter_ticks, leave_ticks;
    uint64_t last_ticks; /* of a row that goes on: when its last call was left */
    uint32_t node;
    bool row;
};

struct looking {
    struct gn_ring *ring;
    struct gn_location *location;
    uint64_t mask, oldest, head;
    uint32_t ring_records;
};

static void read_record(const struct looking *l, uint64_t index, struct gn_record *record)
{
    struct gn_ring_slot *slot = &gn_ring_slots(l->ring)[index & l->mask];
    for (int word = 0; word < 4; word++)
        record->word[word] = GN_GET(slot->word[word]);
}

/* Record i was whole when it was read (R3 to R5 of image/recorder_ring.h). */
static bool is_whole(const struct looking *l, uint64_t index)
{
    atomic_thread_fence(memory_order_acquire);
    return index >= gn_ring_oldest(GN_GET(l->ring->head), l->ring_records);
}

static uint64_t leave_of(const struct looking *l, uint64_t index, const struct gn_record *r)
{
    struct gn_record wide;
    const uint32_t length = gn_record_length(r);
    if (length < UINT32_MAX || index + 1 >= l->head)
        return r->word[0] + length;
    read_record(l, index + 1, &wide);
    return gn_record_kind(&wide) == GN_RECORD_WIDE && wide.word[0] > r->word[0] ? wide.word[0]
                                                                                : r->word[0] + length;
}

/* What a record says that it passed; false: it is of something else. */
static bool is_passage(const struct looking *l, uint64_t index, struct passage *p)
{
    struct gn_record r;
    read_record(l, index, &r);
    const unsigned kind = gn_record_kind(&r);
    *p = (struct passage){index, r.word[0], r.word[0], 0, gn_record_node(&r), kind == GN_RECORD_POLLS};
    if (gn_record_flags(&r) & GN_RECORD_CALL) {
        p->leave_ticks = leave_of(l, index, &r);
        return true;
    }
    if (kind == GN_EVENT_MEASUREMENT && gn_record_bytes(&r) == 0)
        p->leave_ticks = UINT64_MAX; /* until the next one */
    return kind == GN_EVENT_PROGRAM_BEGIN || kind == GN_EVENT_PROGRAM_END ||
           ((kind == GN_EVENT_REGION_BEGIN || kind == GN_EVENT_REGION_END || kind == GN_EVENT_MEASUREMENT) &&
            p->node != 0);
}

/* The last passage in [from, before). */
static bool passage_before(const struct looking *l, uint64_t from, uint64_t before, struct passage *p)
{
    while (before > from)
        if (is_passage(l, --before, p))
            return true;
    return false;
}

static bool passage_from(const struct looking *l, uint64_t from, struct passage *p)
{
    for (; from < l->head; from++)
        if (is_passage(l, from, p))
            return true;
    return false;
}

/* The last passage that was entered by then. */
static bool last_entered(const struct looking *l, uint64_t ticks, struct passage *found)
{
    uint64_t low = l->oldest, high = l->head;
    bool any = false;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        struct passage p;
        if (!passage_before(l, low, middle + 1, &p)) {
            low = middle + 1;
        } else if (p.enter_ticks <= ticks) {
            *found = p;
            any = true;
            low = middle + 1;
        } else {
            high = p.index;
        }
    }
    return any;
}

static bool look(const struct gn_recorded *r, uint32_t location, struct looking *l)
{
    if (location >= r->locations || !r->rings)
        return false;
    l->ring = gn_ring_of(r->rings, location, r->ring_records);
    l->location = &r->tag->locations[location];
    l->mask = r->ring_records - 1;
    l->ring_records = r->ring_records;
    l->head = GN_OBSERVE(l->ring->head);
    l->oldest = gn_ring_oldest(l->head, r->ring_records);
    return true;
}

/* ---- what is not in the ring yet ---- */

/* The row of calls that goes on now; false: none, or it cannot be read now. */
static bool row_now(const struct looking *l, struct passage *p)
{
    struct gn_ring_polls *polls = &l->ring->polls;
    const uint32_t before = gn_seq_read_begin(&polls->seq);
    const uint64_t index = GN_GET(polls->index);
    const uint32_t nodes = GN_GET(polls->nodes);
    *p = (struct passage){
        index, GN_GET(polls->first_ticks), UINT64_MAX, GN_GET(polls->last_ticks), GN_GET(polls->at[0].node),
        true};
    return gn_seq_read_good(&polls->seq, before) && nodes > 0 && index == l->head;
}

/* The call that the thread is in now, or its end. */
static bool call_now(const struct looking *l, struct passage *p)
{
    for (int tries = 0; tries < 10; tries++) {
        const uint32_t before = gn_seq_read_begin(&l->location->seq);
        const uint32_t inside = GN_GET(l->location->now_inside);
        *p = (struct passage){l->head,
                              GN_GET(l->location->now_ticks),
                              UINT64_MAX,
                              0,
                              inside == 2 ? 1 : GN_GET(l->location->now_node),
                              false};
        if (gn_seq_read_good(&l->location->seq, before))
            return inside != 0;
    }
    return false;
}

/* What was entered behind the last record, if nothing has been written since. */
static bool entered_now(const struct looking *l, const struct passage *last, struct passage *p)
{
    const bool found = (row_now(l, p) || call_now(l, p)) && p->enter_ticks >= last->leave_ticks;
    return found && GN_OBSERVE(l->ring->head) == l->head;
}

/* ---- nodes that take turns ---- */

/* Of a row, or a single one. */
struct turns {
    uint32_t count, node[GN_RING_POLL_NODES];
};

static struct turns only(uint32_t node)
{
    return (struct turns){1, {node}};
}

static bool is_among(const struct turns *t, uint32_t node)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (t->node[i] == node)
            return true;
    return false;
}

/* Those of the row that goes on; none: it cannot be read now. */
static struct turns turns_now(const struct looking *l)
{
    struct gn_ring_polls *polls = &l->ring->polls;
    const uint32_t before = gn_seq_read_begin(&polls->seq), nodes = GN_GET(polls->nodes);
    struct turns t = {.count = nodes < GN_RING_POLL_NODES ? nodes : GN_RING_POLL_NODES};
    for (uint32_t i = 0; i < t.count; i++)
        t.node[i] = GN_GET(polls->at[i].node);
    if (GN_GET(polls->index) != l->head || !gn_seq_read_good(&polls->seq, before))
        t.count = 0;
    return t;
}

/* The first one's record has the row's time; those of the others stand at its end, and last for nothing. */
static bool is_later_turn(const struct passage *p, const struct passage *row)
{
    return p->row && p->enter_ticks == row->leave_ticks && p->leave_ticks == row->leave_ticks;
}

static struct turns turns_written(const struct looking *l, const struct passage *of)
{
    struct passage p = *of, row;
    while (p.enter_ticks == p.leave_ticks && passage_before(l, l->oldest, p.index, &row) && row.row &&
           row.leave_ticks == p.enter_ticks)
        p = row;
    struct turns t = only(p.node);
    row = p;
    while (t.count < GN_RING_POLL_NODES && passage_from(l, p.index + 1, &p) && is_later_turn(&p, &row))
        t.node[t.count++] = p.node;
    return t;
}

static struct turns turns_of(const struct looking *l, const struct passage *p)
{
    return !p->row ? only(p->node) : p->leave_ticks == UINT64_MAX ? turns_now(l) : turns_written(l, p);
}

/* Something drawn by chance, each as often as it has weight: one pass over all. */
struct draw {
    double all;
    uint64_t dice;
};

static bool is_drawn(struct draw *d, double weight)
{
    d->all += weight;
    d->dice = gn_mix(d->dice);
    return weight > 0 && gn_mix_unit(d->dice) * d->all < weight;
}

/* Between one of these and one of those; it stays as it is where there is no such edge. */
static void draw_edge(const struct looking *l, const struct turns *from, const struct turns *to,
                      struct gn_sample_moment *m, uint64_t dice)
{
    const uint32_t stored = GN_OBSERVE(l->location->edge_count),
                   count = stored < GN_MAX_EDGES ? stored : GN_MAX_EDGES;
    struct draw draw = {0, dice};
    for (uint32_t i = 0; i < count; i++) {
        struct gn_tag_edge *e = &l->location->edges[i];
        const uint32_t a = GN_GET(e->from), b = GN_GET(e->to);
        if (a < GN_MAX_NODES && b < GN_MAX_NODES && is_among(from, a) && is_among(to, b) &&
            is_drawn(&draw, (double)GN_GET(e->time.total_ticks))) {
            m->from = a;
            m->to = b;
        }
    }
}

static uint32_t draw_node(const struct looking *l, const struct turns *turns, uint32_t node, uint64_t dice)
{
    struct draw draw = {0, dice};
    for (uint32_t i = 0; i < turns->count; i++)
        if (turns->node[i] < GN_MAX_NODES &&
            is_drawn(&draw, (double)GN_GET(l->location->nodes[turns->node[i]].time.total_ticks)))
            node = turns->node[i];
    return node;
}

/* ---- moments ---- */

/* Before the first record of a location: since its start, node 0. */
static const struct passage at_start = {.index = UINT64_MAX};

static struct gn_sample_moment moment(enum gn_moment_kind kind, uint32_t from, uint32_t to)
{
    const bool sane = from < GN_MAX_NODES && to < GN_MAX_NODES;
    return (struct gn_sample_moment){.kind = sane ? kind : GN_MOMENT_UNKNOWN, .from = from, .to = to};
}

/* From one of the calls of a passage to one of another's. */
static struct gn_sample_moment between(const struct looking *l, const struct passage *from,
                                       const struct passage *to, uint64_t ticks)
{
    struct gn_sample_moment m = moment(GN_MOMENT_BETWEEN, from->node, to->node);
    if (from->row || to->row) {
        const struct turns ahead = turns_of(l, from), behind = turns_of(l, to);
        if (ahead.count > 1 || behind.count > 1)
            draw_edge(l, &ahead, &behind, &m, ticks);
    }
    return m;
}

static struct gn_sample_moment inside(const struct looking *l, const struct passage *p, uint64_t ticks)
{
    struct gn_sample_moment m = between(l, p, p, ticks);
    m.within = p->node;
    if (p->row) {
        const struct turns turns = turns_of(l, p);
        m.within = draw_node(l, &turns, p->node, ticks);
    }
    m.kind = m.kind == GN_MOMENT_UNKNOWN ? m.kind : p->row ? GN_MOMENT_ROW : GN_MOMENT_INSIDE;
    return m;
}

/* Which of its nodes was called last: the thread shows what it left. */
static uint32_t last_of_row(const struct looking *l, const struct passage *row)
{
    const struct turns turns = turns_now(l);
    const uint32_t before = gn_seq_read_begin(&l->location->seq), node = GN_GET(l->location->now_node);
    const bool is_left = GN_GET(l->location->now_inside) == 0;
    return gn_seq_read_good(&l->location->seq, before) && is_left && is_among(&turns, node) ? node
                                                                                            : row->node;
}

/* Behind the last call so far of a row that may go on. */
static struct gn_sample_moment since_row(const struct looking *l, const struct passage *row, uint64_t ticks)
{
    struct passage next;
    if (call_now(l, &next) && next.enter_ticks >= row->last_ticks)
        return ticks >= next.enter_ticks ? inside(l, &next, ticks) : between(l, row, &next, ticks);
    struct gn_sample_moment since = moment(GN_MOMENT_SINCE, last_of_row(l, row), 0);
    since.record = row->index;
    since.ticks = row->last_ticks;
    since.in_row = true;
    return since;
}

static struct gn_sample_moment behind(const struct looking *l, const struct passage *last, uint64_t ticks)
{
    struct passage next;
    if (passage_from(l, last->index + 1, &next))
        return between(l, last, &next, ticks);
    if (entered_now(l, last, &next) && next.row && ticks >= next.last_ticks)
        return since_row(l, &next, ticks);
    if (entered_now(l, last, &next))
        return ticks >= next.enter_ticks ? inside(l, &next, ticks) : between(l, last, &next, ticks);
    struct gn_sample_moment since = moment(GN_MOMENT_SINCE, last->node, 0);
    since.record = last->index;
    since.ticks = last->leave_ticks;
    return since;
}

struct gn_sample_moment gn_sample_moment_at(const struct gn_recorded *recorded, uint32_t location,
                                            uint64_t ticks)
{
    const struct gn_sample_moment unknown = {.kind = GN_MOMENT_UNKNOWN};
    struct looking l;
    struct passage last = at_start;
    if (!look(recorded, location, &l) || (!last_entered(&l, ticks, &last) && l.oldest > 0))
        return unknown;
    const struct gn_sample_moment found =
        ticks < last.leave_ticks ? inside(&l, &last, ticks) : behind(&l, &last, ticks);
    return is_whole(&l, last.index) ? found : unknown;
}

/* The row may have gone on, or be written, and something else come behind it. */
static bool row_goes_on(const struct looking *l, struct gn_sample_moment *m)
{
    struct passage row, next = {.node = m->from};
    struct turns turns = only(m->from);
    const bool is_written = l->head > m->record, is_known = m->record >= l->oldest;
    if (!is_written) {
        const bool polled = !row_now(l, &row) || row.index != m->record || row.last_ticks != m->ticks;
        if (!polled && (!call_now(l, &next) || next.enter_ticks < m->ticks))
            return false;
        if (polled)
            turns = turns_now(l);
        if (GN_OBSERVE(l->ring->head) != l->head) /* it was written meanwhile: the next time */
            return false;
    } else if (is_known && is_passage(l, m->record, &row) && row.leave_ticks <= m->ticks) {
        const struct passage last = {m->record, 0, m->ticks, 0, m->from, false};
        struct passage behind = row;
        while (passage_from(l, behind.index + 1, &next) && is_later_turn(&next, &row))
            behind = next;
        next.node = m->from;
        if (!passage_from(l, behind.index + 1, &next) && !entered_now(l, &last, &next))
            return false;
    } else if (is_known) {
        turns = turns_written(l, &row);
    }
    const bool known = !is_written || (is_known && is_whole(l, m->record));
    const struct turns from = only(m->from);
    const uint64_t dice = m->ticks;
    *m = moment(known ? GN_MOMENT_BETWEEN : GN_MOMENT_UNKNOWN, m->from, known ? next.node : 0);
    if (known && turns.count > 1)
        draw_edge(l, &from, &turns, m, dice);
    return true;
}

bool gn_sample_moment_goes_on(const struct gn_recorded *recorded, uint32_t location,
                              struct gn_sample_moment *m)
{
    struct looking l;
    struct passage next = {0};
    const struct passage last = {m->record, 0, m->ticks, 0, m->from, false};
    if (!look(recorded, location, &l))
        return false;
    if (m->in_row)
        return row_goes_on(&l, m);
    const bool recorded_since = m->record + 1 >= l.oldest && passage_from(&l, m->record + 1, &next);
    if (!recorded_since && m->record + 1 >= l.oldest && !entered_now(&l, &last, &next))
        return false;
    const bool known = m->record + 1 >= l.oldest && is_whole(&l, m->record + 1);
    *m = moment(known ? GN_MOMENT_BETWEEN : GN_MOMENT_UNKNOWN, m->from, known ? next.node : 0);
    return true;
}

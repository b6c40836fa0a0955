#include "order_reference.h"

#include "order_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = MAX_LOCATIONS * MAX_EVENTS };

/* One end of a message. number: how many of its channel come before it. */
struct entry {
    struct where where;
    uint32_t comm, source, target, tag; /* processes */
    unsigned number;
    bool known;
};

struct begin {
    struct where where;
    const struct gn_event *first, *last; /* the event that says what it is: its end, once pushed */
    struct where end;
    bool window, known;
    uint32_t comm, rank;
    unsigned number;
};

struct reference_tables {
    struct entry sends[MAX_ENTRIES], receives[MAX_ENTRIES];
    struct begin begins[MAX_ENTRIES];
    unsigned send_count, receive_count, begin_count;
};

int reference_open(struct reference *r, const struct execution *x)
{
    *r = (struct reference){.x = x, .tables = calloc(1, sizeof *r->tables)};
    return r->tables ? 0 : -ENOMEM;
}

void reference_close(struct reference *r)
{
    free(r->tables);
}

static uint32_t process_of(const struct reference *r, uint32_t location)
{
    return r->x->definitions->locations[location].process;
}

static bool process_ended(const struct reference *r, uint32_t process)
{
    for (uint32_t l = 0; l < r->x->location_count; l++)
        if (process_of(r, l) == process && !r->ended[l])
            return false;
    return true;
}

/* ---- messages ---- */

static bool is_receive(const struct gn_event *e)
{
    return e->kind == GN_EVENT_MPI_RECV || e->kind == GN_EVENT_MPI_IRECV;
}

/* Where a receive was posted: its request, or itself. */
static size_t posted_at(const struct reference *r, const struct gn_event *receive, size_t index)
{
    const struct gn_event *events = r->x->events[receive->location];
    if (receive->kind == GN_EVENT_MPI_IRECV)
        for (size_t i = index; i-- > 0;)
            if (events[i].kind == GN_EVENT_MPI_IRECV_REQUEST && events[i].request == receive->request)
                return i;
    return index;
}

static bool is_open(const struct reference *r, const struct gn_event *request, size_t index)
{
    const struct gn_event *events = r->x->events[request->location];
    for (size_t i = index + 1; i < r->pushed[request->location]; i++)
        if (events[i].request == request->request &&
            (events[i].kind == GN_EVENT_MPI_IRECV || events[i].kind == GN_EVENT_MPI_REQUEST_CANCELLED))
            return false;
    return true;
}

static bool might_take(const struct gn_event *request, const struct gn_event *receive)
{
    return request->comm == GN_NONE ||
           (request->comm == receive->comm && (request->peer == GN_ANY || request->peer == receive->peer) &&
            (request->tag == GN_ANY || request->tag == receive->tag));
}

static bool same_channel(const struct entry *a, const struct entry *b)
{
    return a->comm == b->comm && a->source == b->source && a->target == b->target && a->tag == b->tag;
}

static struct entry receive_entry(const struct reference *r, uint32_t l, size_t index)
{
    const struct gn_event *events = r->x->events[l], *e = &events[index];
    uint32_t self = process_of(r, l);
    struct entry entry = {
        .where = {l, (uint32_t)index}, .comm = e->comm, .target = self, .tag = e->tag, .known = true};
    entry.source = gn_comm_peer(r->x->definitions, e->comm, self, e->peer);
    size_t posted = posted_at(r, e, index);
    for (size_t i = 0; i < posted; i++)
        if (events[i].kind == GN_EVENT_MPI_IRECV_REQUEST && is_open(r, &events[i], i) &&
            might_take(&events[i], e))
            entry.known = false;
    for (size_t i = 0; i < r->pushed[l]; i++)
        if (i != index && is_receive(&events[i]) && posted_at(r, &events[i], i) < posted &&
            events[i].comm == e->comm && events[i].peer == e->peer && events[i].tag == e->tag)
            entry.number++;
    return entry;
}

static struct entry send_entry(const struct reference *r, uint32_t l, size_t index)
{
    const struct gn_event *events = r->x->events[l], *e = &events[index];
    uint32_t self = process_of(r, l);
    struct entry entry = {
        .where = {l, (uint32_t)index}, .comm = e->comm, .source = self, .tag = e->tag, .known = true};
    entry.target = gn_comm_peer(r->x->definitions, e->comm, self, e->peer);
    for (size_t i = 0; i < index; i++)
        if ((events[i].kind == GN_EVENT_MPI_SEND || events[i].kind == GN_EVENT_MPI_ISEND) &&
            events[i].comm == e->comm && events[i].peer == e->peer && events[i].tag == e->tag)
            entry.number++;
    return entry;
}

/* The other end of a message in a table, or NULL. */
static const struct entry *partner(const struct entry *entry, const struct entry *table, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (table[i].known && table[i].number == entry->number && same_channel(&table[i], entry))
            return &table[i];
    return NULL;
}

static const struct entry *entry_at(const struct entry *table, unsigned count, uint32_t l, size_t index)
{
    for (unsigned i = 0; i < count; i++)
        if (table[i].where.location == l && table[i].where.index == index)
            return &table[i];
    return NULL;
}

/* ---- collectives ---- */

static bool is_begin(const struct gn_event *e)
{
    return e->kind == GN_EVENT_COLLECTIVE_BEGIN || e->kind == GN_EVENT_NBC_REQUEST ||
           e->kind == GN_EVENT_RMA_COLLECTIVE_BEGIN;
}

static bool ends(const struct gn_event *e, const struct gn_event *begin)
{
    if (begin->kind == GN_EVENT_NBC_REQUEST)
        return e->kind == GN_EVENT_NBC_COMPLETE && e->request == begin->request;
    return e->kind ==
           (begin->kind == GN_EVENT_COLLECTIVE_BEGIN ? GN_EVENT_COLLECTIVE_END : GN_EVENT_RMA_COLLECTIVE_END);
}

/* before: the table's entries for earlier begins of the location. */
static struct begin begin_entry(const struct reference *r, uint32_t l, size_t index)
{
    const struct gn_definitions *d = r->x->definitions;
    const struct gn_event *e = &r->x->events[l][index];
    struct begin b = {.where = {l, (uint32_t)index}, .end = {GN_NONE, 0}, .first = e, .last = e};
    for (size_t i = index + 1; i < r->pushed[l] && b.end.location == GN_NONE; i++)
        if (ends(&r->x->events[l][i], e)) {
            b.last = &r->x->events[l][i];
            b.end = (struct where){l, (uint32_t)i};
        }
    b.window = e->kind == GN_EVENT_RMA_COLLECTIVE_BEGIN;
    b.comm = b.last->comm;
    b.known = b.comm != GN_NONE;
    for (unsigned i = 0; i < r->tables->begin_count; i++) {
        const struct begin *before = &r->tables->begins[i];
        if (before->where.location != l || before->window != b.window)
            continue;
        b.known = b.known && before->known;
        b.number += before->comm == b.comm;
    }
    if (b.comm != GN_NONE)
        b.rank = gn_comm_rank_of(d, b.window ? d->windows[b.comm].comm : b.comm, process_of(r, l), NULL);
    return b;
}

static const struct gn_comm_def *members_of(const struct reference *r, const struct begin *b)
{
    const struct gn_definitions *d = r->x->definitions;
    return &d->comms[b->window ? d->windows[b->comm].comm : b->comm];
}

/* The begin of another member of the same instance, or NULL. */
static const struct begin *other_begin(const struct reference *r, const struct begin *b, uint32_t rank)
{
    for (unsigned i = 0; i < r->tables->begin_count; i++) {
        const struct begin *other = &r->tables->begins[i];
        if (other->known && other->window == b->window && other->comm == b->comm &&
            other->number == b->number && other->rank == rank)
            return other;
    }
    return NULL;
}

static bool sends_nothing(const struct begin *b)
{
    return order_check_partial(b->last->op) && b->first->bytes_sent == 0;
}

static int end_predecessors(const struct reference *r, const struct begin *b, struct where *where,
                            bool *released)
{
    const struct gn_event *end = b->last;
    int count = 0;
    if (order_check_partial(end->op) && end->bytes_received == 0)
        return 0;
    for (uint32_t rank = 0; rank < members_of(r, b)->member_count; rank++) {
        if (!order_check_depends(end->op, end->peer, b->rank, rank))
            continue;
        const struct begin *other = b->known ? other_begin(r, b, rank) : NULL;
        if (other && !sends_nothing(other))
            where[count++] = other->where;
        else if (!other && b->known && process_ended(r, members_of(r, b)->members[rank]))
            *released = true;
        else if (!other)
            return -1;
    }
    return count;
}

/* Whether anybody's end depends on this begin, whichever instance it turns out to be. */
static bool may_be_needed(const struct reference *r, const struct begin *b)
{
    if (b->comm == GN_NONE)
        return true;
    for (uint32_t rank = 0; rank < members_of(r, b)->member_count; rank++)
        if (order_check_depends(b->last->op, b->last->peer, rank, b->rank))
            return true;
    return false;
}

/* Whether an end may still come that depends on this begin. */
static bool begin_needed(const struct reference *r, const struct begin *b)
{
    if (sends_nothing(b))
        return false;
    if (!b->known)
        return may_be_needed(r, b) && !r->ended[b->where.location];
    for (uint32_t rank = 0; rank < members_of(r, b)->member_count; rank++) {
        const struct begin *other = other_begin(r, b, rank);
        if (order_check_depends(b->last->op, b->last->peer, rank, b->rank) &&
            !(other && other->end.location != GN_NONE) && !process_ended(r, members_of(r, b)->members[rank]))
            return true;
    }
    return false;
}

/* ---- all ---- */

int reference_predecessors(const struct reference *r, uint32_t l, size_t index,
                           struct where where[MAX_PROCESSES], bool *released)
{
    const struct reference_tables *t = r->tables;
    *released = false;
    const struct entry *receive = entry_at(t->receives, t->receive_count, l, index);
    if (receive) {
        const struct entry *send = receive->known ? partner(receive, t->sends, t->send_count) : NULL;
        if (send)
            where[0] = send->where;
        *released = !send && receive->known && process_ended(r, receive->source);
        return send ? 1 : *released ? 0 : -1;
    }
    for (unsigned i = 0; i < t->begin_count; i++)
        if (t->begins[i].end.location == l && t->begins[i].end.index == index)
            return end_predecessors(r, &t->begins[i], where, released);
    return 0;
}

static bool ready(const struct reference *r, uint32_t l, size_t index)
{
    struct where where[MAX_PROCESSES];
    bool released;
    int count = reference_predecessors(r, l, index, where, &released);
    for (int i = 0; i < count; i++)
        if (where[i].index >= r->reported[where[i].location])
            return false;
    return count >= 0;
}

/* Whether a successor of this event may still come. */
static bool needed(const struct reference *r, uint32_t l, size_t index)
{
    const struct reference_tables *t = r->tables;
    if (index + 1 == r->pushed[l] && !r->ended[l])
        return true;
    const struct entry *send = entry_at(t->sends, t->send_count, l, index);
    if (send)
        return !partner(send, t->receives, t->receive_count) && !process_ended(r, send->target);
    for (unsigned i = 0; i < t->begin_count; i++)
        if (t->begins[i].where.location == l && t->begins[i].where.index == index)
            return begin_needed(r, &t->begins[i]);
    return false;
}

static void fill_tables(struct reference *r)
{
    struct reference_tables *t = r->tables;
    t->send_count = t->receive_count = t->begin_count = 0;
    for (uint32_t l = 0; l < r->x->location_count; l++)
        for (size_t i = 0; i < r->pushed[l]; i++) {
            const struct gn_event *e = &r->x->events[l][i];
            if (e->kind == GN_EVENT_MPI_SEND || e->kind == GN_EVENT_MPI_ISEND)
                t->sends[t->send_count++] = send_entry(r, l, i);
            else if (is_receive(e))
                t->receives[t->receive_count++] = receive_entry(r, l, i);
            else if (is_begin(e)) {
                t->begins[t->begin_count] = begin_entry(r, l, i);
                t->begin_count++;
            }
        }
}

void reference_compute(struct reference *r)
{
    fill_tables(r);
    memset(r->reported, 0, sizeof r->reported);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t l = 0; l < r->x->location_count; l++)
            while (r->reported[l] < r->pushed[l] && ready(r, l, r->reported[l])) {
                r->reported[l]++;
                more = true;
            }
    }
    r->nodes = r->unreported = 0;
    for (uint32_t l = 0; l < r->x->location_count; l++)
        for (size_t i = 0; i < r->pushed[l]; i++) {
            r->unreported += i >= r->reported[l];
            r->nodes += i >= r->reported[l] || needed(r, l, i);
        }
}

/* Whether all members' ends of this begin's instance are there. */
static bool whole(const struct reference *r, const struct begin *b)
{
    for (uint32_t rank = 0; b->known && rank < members_of(r, b)->member_count; rank++) {
        const struct begin *other = other_begin(r, b, rank);
        if (!other || other->end.location == GN_NONE)
            return false;
    }
    return b->known;
}

/* Whether no entry before it belongs to the same instance. */
static bool first_of_instance(const struct reference *r, const struct begin *b)
{
    for (const struct begin *other = r->tables->begins; other < b; other++)
        if (other->known && other->window == b->window && other->comm == b->comm &&
            other->number == b->number)
            return false;
    return true;
}

struct reference_counts reference_counts(const struct reference *r)
{
    const struct reference_tables *t = r->tables;
    struct reference_counts counts = {0};
    for (unsigned i = 0; i < t->receive_count; i++)
        counts.messages += partner(&t->receives[i], t->sends, t->send_count) != NULL;
    counts.unmatched_sends = t->send_count - counts.messages;
    counts.unmatched_receives = t->receive_count - counts.messages;
    for (unsigned i = 0; i < t->begin_count; i++) {
        if (!t->begins[i].known || !first_of_instance(r, &t->begins[i]))
            continue;
        counts.collectives += whole(r, &t->begins[i]);
        counts.incomplete_collectives += !whole(r, &t->begins[i]);
    }
    return counts;
}

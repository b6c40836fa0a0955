#include "repair/extract_inside.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Instances are numbered in the order in which a process begins them, per group. A trace may say only at its
 * end on which communicator a nonblocking collective was; it and all that began after it wait in a row. Those
 * on windows come one at a time at a location, and are on no communicator: they neither wait nor are waited
 * for, not even where one never ends.
 */

enum { GIVEN_UP_MOST = 65536 };

struct gn_extract_start {
    struct gn_extract_start *next; /* without a number */
    uint64_t request;
    struct gn_extract_location *location;
    struct gn_op *begin, *end; /* NULL: it is nobody's business; its end has not come */
    uint32_t comm, root;
    uint8_t op;
    bool is_window, named, waiting, given_up;
    bool dropped;    /* out of everything but the row, which it leaves when it is its turn */
    bool is_settled; /* it has its number, or is a local matter */
    bool has_ended;
    uint64_t bytes_sent, bytes_received;
};

/* ---- what a part gives and gets ---- */

struct part {
    enum gn_shape shape;
    uint32_t root;
    bool gives, gets;
};

/* Of a root that is none nothing follows. */
static bool is_a_root(const struct gn_comm_def *comm, bool second, uint32_t root)
{
    if (comm->other_count == 0)
        return root < comm->member_count;
    return root == GN_ROOT_SELF || root == GN_ROOT_NONE ||
           root < (second ? comm->member_count : comm->other_count);
}

static struct part part_of(struct gn_extract *x, const struct gn_extract_start *start,
                           const struct gn_extract_group *group)
{
    const struct gn_definitions *d = x->definitions;
    const struct gn_comm_def *comm = &d->comms[start->is_window ? d->windows[start->comm].comm : start->comm];
    const bool is_between = comm->other_count > 0;
    const enum gn_shape shape = gn_collective_shape(start->op, is_between);
    const bool is_rooted = gn_shape_is_rooted(shape);
    if (is_rooted && !is_a_root(comm, group->second, start->root)) {
        x->stats.unfit += start->end != NULL;
        return (struct part){GN_SHAPE_ALL_TO_ALL, GN_NONE, false, false};
    }
    const struct gn_collective_does does =
        gn_collective_does(shape, is_between, group->rank, comm->member_count, start->root);
    return (struct part){shape, is_rooted ? start->root : GN_NONE,
                         does.gives && gn_collective_has_data(start->op, start->bytes_sent),
                         does.takes && gn_collective_has_data(start->op, start->bytes_received)};
}

/* Whether its members may go on without each other, for all that MPI says. */
static bool is_vague(const struct gn_extract_start *start)
{
    return gn_collective_only_may_hold(start->op, start->is_window) ||
           gn_collective_is_empty(start->op, start->bytes_sent, start->bytes_received);
}

static void write_part(struct gn_op *op, const struct part *part, uint8_t flags)
{
    op->shape = (uint8_t)part->shape;
    op->root = part->root;
    op->flags = flags;
}

/* What is known of the collective goes into its ops, but for the number. */
static void describe(struct gn_extract *x, struct gn_extract_start *start)
{
    const struct gn_extract_group *group = &x->group_states[start->begin->link];
    if (start->op == GN_COLLECTIVE_UNKNOWN && !start->end)
        return;
    const struct part part = part_of(x, start, group);
    const uint8_t flags = (uint8_t)((is_vague(start) ? GN_OP_VAGUE : 0) | (group->second ? GN_OP_SECOND : 0));
    write_part(start->begin, &part, (uint8_t)(flags | (part.gives ? GN_OP_GIVES : 0)));
    if (start->end)
        write_part(start->end, &part, (uint8_t)(flags | (part.gets ? GN_OP_GETS : 0)));
}

/* ---- starts ---- */

static struct gn_key request_key(uint64_t request)
{
    return (struct gn_key){request, 0};
}

/* It is nobody's business: its ops mean nothing. */
static void dissolve(struct gn_extract_start *start)
{
    if (start->begin)
        start->begin->kind = GN_OP_LOCAL;
    if (start->end)
        start->end->kind = GN_OP_LOCAL;
    start->begin = start->end = NULL;
    start->is_settled = true;
}

static void unname(struct gn_extract *x, struct gn_extract_start *start)
{
    if (start->named)
        gn_map_remove(&x->collectives.by_request, request_key(start->request));
    start->named = false;
}

static void free_if_over(struct gn_extract *x, struct gn_extract_start *start)
{
    if (!start->waiting && (start->dropped || (start->is_settled && start->has_ended))) {
        x->collectives.given_up -= start->given_up;
        unname(x, start);
        free(start);
    }
}

/* It will not end. When it is known what it was, it has begun nevertheless. */
static void drop(struct gn_extract *x, struct gn_extract_start *start)
{
    if (!start->is_settled && start->comm == GN_NONE)
        dissolve(start);
    unname(x, start);
    start->dropped = true;
    free_if_over(x, start);
}

static void number(struct gn_extract *x, struct gn_extract_start *start)
{
    start->is_settled = true;
    if (!start->begin)
        return;
    start->begin->number = x->group_states[start->begin->link].begun++;
    if (start->end)
        start->end->number = start->begin->number;
}

/* Which group it is of, once its communicator is known. */
static int find_group(struct gn_extract *x, struct gn_extract_start *start)
{
    const int64_t link = gn_extract_group(x, start->comm, start->is_window);
    if (link == GN_LINK_NO_MEMORY)
        return -ENOMEM;
    x->stats.unfit += link == GN_LINK_UNFIT;
    if (link < 0)
        dissolve(start);
    else
        start->begin->link = (uint32_t)link;
    return 0;
}

/* ---- the row ---- */

static struct gn_extract_start *take_first(struct gn_extract_collectives *c)
{
    struct gn_extract_start *start = c->first;
    c->first = start->next;
    c->waiting--;
    start->waiting = false;
    return start;
}

static void drain(struct gn_extract *x)
{
    struct gn_extract_collectives *c = &x->collectives;
    while (c->first) {
        bool is_known = c->first->is_settled || c->first->comm != GN_NONE;
        if (!is_known && c->waiting <= GN_EXTRACT_PATIENCE)
            return;
        struct gn_extract_start *start = take_first(c);
        if (is_known && !start->is_settled) {
            number(x, start);
        } else if (!is_known) { /* counted when its end comes after all, out of order */
            start->given_up = true;
            if (c->given_up++ >= GIVEN_UP_MOST)
                drop(x, start);
        }
        if (is_known)
            free_if_over(x, start);
    }
}

static void append(struct gn_extract *x, struct gn_extract_start *start)
{
    struct gn_extract_collectives *c = &x->collectives;
    start->waiting = true;
    if (c->first)
        c->last->next = start;
    else
        c->first = start;
    c->last = start;
    c->waiting++;
    drain(x);
}

/* ---- events ---- */

static bool is_rma(const struct gn_event *event)
{
    return event->kind == GN_EVENT_RMA_COLLECTIVE_BEGIN || event->kind == GN_EVENT_RMA_COLLECTIVE_END;
}

/* With an op, unless it is nobody's business; the link of one whose communicator is known. */
static bool make_begin(struct gn_extract *x, struct gn_extract_location *l, struct gn_extract_start *start,
                       int64_t link)
{
    start->is_settled = link < 0;
    if (start->is_settled)
        return true;
    start->begin = gn_extract_op(x, l, GN_OP_BEGIN);
    if (!start->begin)
        return false;
    start->begin->link = (uint32_t)link;
    if (start->comm != GN_NONE)
        describe(x, start);
    return true;
}

static struct gn_extract_start *new_start(struct gn_extract *x, struct gn_extract_location *l,
                                          const struct gn_event *event, int64_t link)
{
    struct gn_extract_start *start = malloc(sizeof *start);
    if (!start)
        return NULL;
    *start = (struct gn_extract_start){
        .request = event->request,
        .location = l,
        .comm = event->comm,
        .root = event->peer,
        .op = event->op < GN_COLLECTIVE_COUNT ? event->op : GN_COLLECTIVE_UNKNOWN,
        .is_window = is_rma(event),
        .named = event->kind == GN_EVENT_NBC_REQUEST,
        .bytes_sent = event->bytes_sent,
        .bytes_received = GN_BYTES_UNKNOWN,
    };
    struct gn_map *requests = &x->collectives.by_request;
    if (!start->named || gn_map_add(requests, request_key(event->request), start)) {
        if (make_begin(x, l, start, link))
            return start;
        unname(x, start);
    }
    free(start);
    return NULL;
}

int gn_extract_begun(struct gn_extract *x, struct gn_extract_location *l, const struct gn_event *event)
{
    if (x->is_lost) {
        x->stats.uncounted++;
        return 0;
    }
    struct gn_extract_start *ignored, **slot = is_rma(event) ? &l->blocking_rma : &l->blocking;
    struct gn_extract_start *known = *slot;
    if (event->kind == GN_EVENT_NBC_REQUEST) {
        slot = &ignored;
        known = gn_map_find(&x->collectives.by_request, request_key(event->request));
    }
    if (known) /* it never ended */
        drop(x, known);
    *slot = NULL;
    const int64_t link = event->comm == GN_NONE ? 0 : gn_extract_group(x, event->comm, is_rma(event));
    x->stats.unfit += link == GN_LINK_UNFIT;
    struct gn_extract_start *start = link == GN_LINK_NO_MEMORY ? NULL : new_start(x, l, event, link);
    if (!start)
        return gn_extract_failed();
    x->stats.collectives++;
    *slot = start;
    if (!start->is_window)
        append(x, start);
    else if (!start->is_settled && start->comm != GN_NONE)
        number(x, start);
    return 0;
}

static struct gn_extract_start *start_of(struct gn_extract *x, struct gn_extract_location *l,
                                         const struct gn_event *event)
{
    struct gn_extract_start **blocking = is_rma(event) ? &l->blocking_rma : &l->blocking;
    struct gn_extract_start *start = *blocking;
    if (event->kind == GN_EVENT_NBC_COMPLETE)
        start = gn_map_find(&x->collectives.by_request, request_key(event->request));
    else
        *blocking = NULL;
    if (start)
        unname(x, start);
    return start;
}

/* What the end says and the begin did not. */
static int learn(struct gn_extract *x, struct gn_extract_start *start, const struct gn_event *event)
{
    const bool is_new = start->comm == GN_NONE;
    if (is_new)
        start->comm = event->comm;
    if (start->op == GN_COLLECTIVE_UNKNOWN) {
        start->op = event->op < GN_COLLECTIVE_COUNT ? event->op : GN_COLLECTIVE_UNKNOWN;
        start->root = event->peer;
    }
    if (start->root == GN_NONE)
        start->root = event->peer;
    start->bytes_sent = event->bytes_sent;
    start->bytes_received = event->bytes_received;
    return is_new && start->begin ? find_group(x, start) : 0;
}

int gn_extract_ended(struct gn_extract *x, struct gn_extract_location *l, const struct gn_event *event)
{
    if (x->is_lost)
        return 0;
    struct gn_extract_start *start = start_of(x, l, event);
    if (!start) {
        x->stats.unfit++;
        return 0;
    }
    int code = learn(x, start, event);
    if (code == 0 && start->begin && !(start->end = gn_extract_op(x, l, GN_OP_END)))
        code = gn_extract_failed();
    start->has_ended = true;
    if (code == 0 && start->begin) {
        start->end->link = start->begin->link;
        start->end->number = start->begin->number;
        describe(x, start);
    }
    if (start->given_up && !start->is_settled) {
        x->stats.ambiguous += start->begin != NULL;
        number(x, start);
    }
    if (start->is_window && !start->is_settled)
        number(x, start);
    if (start->waiting)
        drain(x);
    else
        free_if_over(x, start);
    return code;
}

void gn_extract_collectives_end(struct gn_extract *x)
{
    struct gn_extract_collectives *c = &x->collectives;
    while (c->first) {
        struct gn_extract_start *start = take_first(c);
        const bool is_known = start->is_settled || start->comm != GN_NONE;
        start->location->is_blind |= !is_known;
        if (!start->is_settled && start->location->is_blind)
            dissolve(start);
        else if (!start->is_settled)
            number(x, start);
        free_if_over(x, start);
    }
    for (size_t i = 0; i < x->location_count; i++) {
        struct gn_extract_start *in[] = {x->locations[i].blocking, x->locations[i].blocking_rma};
        x->locations[i].blocking = x->locations[i].blocking_rma = NULL;
        for (int k = 0; k < 2; k++)
            if (in[k])
                drop(x, in[k]);
    }
    for (size_t i = 0; i < c->by_request.size; i++) {
        struct gn_extract_start *start = c->by_request.slots[i].value;
        if (start && !start->is_settled)
            dissolve(start);
        free(start);
    }
    gn_map_clear(&c->by_request);
    *c = (struct gn_extract_collectives){.first = NULL};
}

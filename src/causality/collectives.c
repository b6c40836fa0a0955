#include "causality/instances.h"
#include "causality/numbering.h"

#include <stdlib.h>

/*
 * Which instance a location's collectives belong to. A trace may say only at its end which collective a begin
 * was. Until then the begin is a start without a number, and so are those that its location starts after it.
 */

/* A collective that a location has begun. */
struct gn_start {
    struct gn_start *next;     /* among those of its location that have no number yet, or were given up */
    struct gn_start *previous; /* among those given up */
    uint64_t request;
    uint32_t location;
    struct gn_part part; /* its begin: not told to the instance yet */
    bool listed;
    bool named;            /* nonblocking: in the table of requests */
    bool dissolved;        /* it is part of no instance */
    bool given_up;         /* others were numbered before it although it came first */
    bool is_open;          /* … or perhaps */
    bool is_counted;       /* it has its number: numbering.h */
    void *token;           /* of its begin */
    struct gn_vertex *end; /* not told to the instance yet */
    bool has_ended;        /* … with an end that waits for nobody */
    struct gn_instance *instance;
};

static struct gn_key map_key(uint32_t process, uint64_t request)
{
    return (struct gn_key){request, process};
}

/* ---- starts ---- */

/* The begin of the start need not be kept for others. */
static void let_go(struct gn_order *order, struct gn_start *start)
{
    struct gn_vertex *begin = start->part.begin;
    if (order->numbers || !gn_part_is_awaited_by_nobody(order, &start->part))
        return;
    start->part.begin = NULL;
    gn_vertex_noticed(order, begin);
}

/* Whether it can be counted; what it is, nobody needs to know for that. */
static bool is_known(const struct gn_order *order, const struct gn_start *start)
{
    return start->part.comm != GN_NONE && (order->numbers || start->part.op != GN_COLLECTIVE_UNKNOWN);
}

/* Its end has come, or never will: the location's next blocking collective, or the next one with this
 * request, is another one. */
static void unname(struct gn_order *order, struct gn_start *start)
{
    struct gn_location_state *location = &order->locations[start->location];
    if (location->blocking == start)
        location->blocking = NULL;
    if (location->blocking_rma == start)
        location->blocking_rma = NULL;
    if (start->named)
        gn_map_remove(&order->starts, map_key(location->process, start->request));
    start->named = false;
}

static void list_given_up(struct gn_location_state *location, struct gn_start *start)
{
    start->given_up = true;
    start->previous = NULL;
    start->next = location->given_up;
    if (start->next)
        start->next->previous = start;
    location->given_up = start;
}

static void unlist_given_up(struct gn_location_state *location, struct gn_start *start)
{
    if (start->previous)
        start->previous->next = start->next;
    else
        location->given_up = start->next;
    if (start->next)
        start->next->previous = start->previous;
}

static void free_start(struct gn_order *order, struct gn_start *start)
{
    if (start->given_up)
        unlist_given_up(&order->locations[start->location], start);
    unname(order, start);
    free(start);
}

/* ---- numbers alone ---- */

/* Tells what is known of the start now: that it has a number, or none, and of its end, if that is there. */
static int tell(struct gn_order *order, struct gn_start *start, struct gn_vertex *end)
{
    const struct gn_numbering_sink *numbers = order->numbers;
    return numbers->part(numbers->self,
                         &(struct gn_numbered_part){
                             .begin = start->token,
                             .end = end ? end->token : NULL,
                             .comm = start->part.comm,
                             .root = start->part.root,
                             .rank = start->part.member,
                             .op = start->part.op,
                             .is_window = start->part.rma,
                             .number = start->is_counted ? start->part.number : GN_UNNUMBERED,
                             .is_guess = start->given_up || start->is_open,
                             .bytes_sent = start->part.bytes_sent,
                             .bytes_received = end ? end->event.bytes_received : GN_BYTES_UNKNOWN,
                         });
}

static void told(struct gn_order *order, struct gn_vertex *vertex)
{
    if (vertex)
        gn_vertex_settled(order, vertex);
}

static int tell_all(struct gn_order *order, struct gn_start *start)
{
    struct gn_vertex *begin = start->part.begin, *end = start->end;
    int code = tell(order, start, end);
    start->part.begin = NULL;
    told(order, begin);
    told(order, end);
    return code;
}

/* The start has its number, or will have none. Gone when its end was there, too. */
static int count(struct gn_order *order, struct gn_start *start)
{
    int code;
    const struct gn_definitions *d = order->definitions;
    order->stats.contradictions += start->part.comm >= (start->part.rma ? d->window_count : d->comm_count);
    start->is_counted = gn_part_count(order, &start->part, &code);
    start->dissolved = !start->is_counted;
    start->listed = false;
    int failed = tell_all(order, start);
    if (start->end)
        free_start(order, start);
    return code ? code : failed;
}

/* ---- */

/* Without an instance: the begin and the end are local events. */
static void dissolve(struct gn_order *order, struct gn_start *start)
{
    struct gn_vertex *begin = start->part.begin, *end = start->end;
    if (order->numbers && !start->is_counted && !start->dissolved && tell_all(order, start) != 0)
        order->stopped = -ENOMEM;
    start->part.begin = start->end = NULL;
    start->dissolved = true;
    if (order->numbers)
        return;
    if (begin)
        gn_vertex_noticed(order, begin);
    if (end)
        gn_vertex_settled(order, end);
}

/* To be told when it is reported. */
static void tell_instance(const struct gn_order *order, const struct gn_start *start,
                          struct gn_vertex *vertex)
{
    if (!start->instance || order->processes[start->part.process].guesses || vertex->reported ||
        vertex->event.comm != start->part.comm)
        return;
    vertex->place.instance = start->part.number;
    vertex->place.member = start->part.member;
}

/* The start has all it needs to be counted: it becomes part of its instance. Gone when its end was there,
 * too. */
static int join(struct gn_order *order, struct gn_start *start)
{
    if (order->numbers)
        return count(order, start);
    int code;
    struct gn_instance *i = gn_instance_of(order, &start->part, &code);
    struct gn_vertex *begin = start->part.begin, *end = start->end;
    start->instance = i;
    start->listed = false;
    if (!i) {
        if (start->part.comm >= order->definitions->comm_count && !start->part.rma)
            order->stats.contradictions++;
        dissolve(order, start);
    } else {
        gn_instance_begin(order, i, &start->part);
        start->part.begin = NULL;
        if (begin)
            gn_vertex_noticed(order, begin); /* it was kept because nobody knew */
    }
    if (end)
        tell_instance(order, start, end);
    else if (start == order->ended)
        tell_instance(order, start, order->end);
    if (i && end && start->given_up)
        end->place.flags |= GN_PLACE_AMBIGUOUS;
    if (i && (end || start->has_ended))
        gn_instance_end(order, i, start->part.member, end);
    if (end || start->has_ended)
        free_start(order, start);
    return code;
}

/* Numbers what can be numbered, in starting order. */
static int drain(struct gn_order *order, struct gn_location_state *location)
{
    int code = 0;
    while (location->first_start && is_known(order, location->first_start)) {
        struct gn_start *start = location->first_start;
        location->first_start = start->next;
        location->starts_since = location->observed;
        int failed = join(order, start);
        code = code ? code : failed;
    }
    return code;
}

static int append(struct gn_order *order, struct gn_location_state *location, struct gn_start *start)
{
    start->listed = true;
    start->next = NULL;
    if (location->first_start) {
        location->last_start->next = start;
    } else {
        location->first_start = start;
        location->starts_since = location->observed;
    }
    location->last_start = start;
    return drain(order, location);
}

/* A start whose end never came: it will not be heard of again. */
static void forget(struct gn_order *order, struct gn_location_state *location, struct gn_start *start)
{
    if (start->listed) {
        struct gn_start **link = &location->first_start, *previous = NULL;
        while (*link != start) {
            previous = *link;
            link = &previous->next;
        }
        *link = start->next;
        if (location->last_start == start)
            location->last_start = previous;
    }
    dissolve(order, start);
    free_start(order, start);
}

static bool is_loose(const struct gn_order *order, uint32_t process)
{
    return process < order->process_count && order->processes[process].loose;
}

static bool is_rma(const struct gn_event *event)
{
    return event->kind == GN_EVENT_RMA_COLLECTIVE_BEGIN || event->kind == GN_EVENT_RMA_COLLECTIVE_END;
}

int gn_collective_begin(struct gn_order *order, struct gn_vertex *begin)
{
    const struct gn_event *event = &begin->event;
    struct gn_location_state *location = &order->locations[event->location];
    if (location->process >= order->process_count) {
        order->stats.contradictions++;
        return 0;
    }
    if (order->processes[location->process].loose)
        return 0;
    struct gn_start **blocking = is_rma(event) ? &location->blocking_rma : &location->blocking;
    bool nonblocking = event->kind == GN_EVENT_NBC_REQUEST;
    struct gn_start *known =
        nonblocking ? gn_map_find(&order->starts, map_key(location->process, event->request)) : *blocking;
    if (known) /* it never ended */
        forget(order, &order->locations[known->location], known);
    struct gn_start *start = malloc(sizeof *start);
    if (!start)
        return -ENOMEM;
    *start = (struct gn_start){.request = event->request,
                               .location = event->location,
                               .part = {.comm = event->comm,
                                        .root = event->peer,
                                        .op = event->op,
                                        .rma = is_rma(event),
                                        .process = location->process,
                                        .bytes_sent = event->bytes_sent,
                                        .begin = begin},
                               .is_open = begin->is_open,
                               .token = begin->token};
    if (nonblocking && !gn_map_add(&order->starts, map_key(location->process, event->request), start)) {
        free(start);
        return -ENOMEM;
    }
    start->named = nonblocking;
    if (!nonblocking)
        *blocking = start;
    begin->begins = true;
    begin->keeps++; /* until it is known who its successors are */
    begin->waits += order->numbers != NULL;
    let_go(order, start);
    int code = 0;
    if (!start->part.rma)
        code = append(order, location, start);
    else if (is_known(order, start)) /* one at a time: nothing that came before it can be unknown */
        code = join(order, start);
    if (!order->numbers)
        tell_instance(order, start, begin);
    return code;
}

/* What the end says and the begin did not. */
static void learn(struct gn_order *order, struct gn_start *start, const struct gn_event *event)
{
    if (order->numbers) {
        if (start->part.op == GN_COLLECTIVE_UNKNOWN || start->part.root == GN_NONE)
            start->part.root = event->peer;
        if (start->part.op == GN_COLLECTIVE_UNKNOWN)
            start->part.op = event->op;
        if (start->part.comm == GN_NONE)
            start->part.comm = event->comm;
        start->part.bytes_sent = event->bytes_sent;
    } else if (!is_known(order, start)) {
        start->part.comm = event->comm;
        start->part.op = event->op == GN_COLLECTIVE_UNKNOWN ? GN_COLLECTIVE_BARRIER : event->op;
        start->part.root = event->peer;
        start->part.bytes_sent = event->bytes_sent;
        let_go(order, start);
    }
}

int gn_collective_end(struct gn_order *order, struct gn_vertex *end)
{
    const struct gn_event *event = &end->event;
    struct gn_location_state *location = &order->locations[event->location];
    struct gn_start *start = is_rma(event) ? location->blocking_rma : location->blocking;
    if (event->kind == GN_EVENT_NBC_COMPLETE)
        start = gn_map_find(&order->starts, map_key(location->process, event->request));
    if (!start) {
        order->stats.contradictions += !is_loose(order, location->process);
        return 0;
    }
    unname(order, start);
    end->waits++;
    start->end = end;
    if (start->is_open)
        end->place.flags |= GN_PLACE_AMBIGUOUS;
    if (start->instance) {
        tell_instance(order, start, end);
        gn_instance_end(order, start->instance, start->part.member, end);
        free_start(order, start);
        return 0;
    }
    learn(order, start, event);
    if (start->dissolved || start->is_counted) {
        int code = order->numbers ? tell(order, start, end) : 0;
        gn_vertex_settled(order, end);
        free_start(order, start);
        return code;
    }
    if (start->part.comm == GN_NONE) { /* not even its end says on which communicator */
        order->stats.contradictions++;
        struct gn_location_state *home = &order->locations[start->location];
        forget(order, home, start);
        return drain(order, home);
    }
    if (!order->numbers && gn_part_waits_for_nobody(order, &start->part, event->bytes_received)) {
        start->end = NULL;
        start->has_ended = true;
        gn_vertex_settled(order, end);
        order->ended = start;
        order->end = end;
    }
    int code;
    location->waits_elsewhere |= start->location != event->location;
    if (start->given_up || start->part.rma)
        code = join(order, start);
    else
        code = drain(order, &order->locations[start->location]);
    order->ended = NULL;
    return code;
}

/* What is at the front and unknown is counted later, out of order, when its end comes after all. */
static void give_up(struct gn_order *order, struct gn_location_state *location)
{
    while (location->first_start && !is_known(order, location->first_start)) {
        struct gn_start *start = location->first_start;
        order->processes[start->part.process].guesses = true;
        location->first_start = start->next;
        start->listed = false;
        list_given_up(location, start);
    }
    drain(order, location);
}

void gn_collectives_hurry(struct gn_order *order, struct gn_location_state *location)
{
    const uint64_t patience = (order->numbers ? 1ull : 100ull) * order->settings.patience;
    if (location->observed - location->starts_since > patience)
        give_up(order, location);
}

/* The process of a location counts no longer, or the location is over: what it began is not heard of again.
 */
void gn_collectives_end(struct gn_order *order, uint32_t location)
{
    struct gn_location_state *state = &order->locations[location];
    while (state->first_start)
        forget(order, state, state->first_start);
    if (state->blocking)
        forget(order, state, state->blocking);
    if (state->blocking_rma)
        forget(order, state, state->blocking_rma);
    while (state->given_up)
        forget(order, state, state->given_up);
}

static bool belongs_to(void *value, void *with)
{
    const struct gn_start *start = value;
    const struct gn_order *order = ((void **)with)[0];
    const uint32_t *process = ((void **)with)[1];
    if (order->locations[start->location].process != *process)
        return false;
    free(value);
    return true;
}

void gn_collectives_forget(struct gn_order *order, uint32_t process)
{
    for (uint32_t l = gn_process_of(order, process)->last_location; l != GN_NONE;
         l = order->locations[l].next_of_process)
        gn_collectives_end(order, l);
    if (order->starts.count > 0)
        gn_map_sweep(&order->starts, belongs_to, (void *[]){order, &process});
}

void gn_collectives_lose(struct gn_order *order, uint32_t process)
{
    gn_collectives_forget(order, process);
    gn_collectives_leave(order, process);
}

void gn_collectives_close(struct gn_order *order)
{
    for (size_t i = 0; i < order->location_count; i++)
        gn_collectives_end(order, (uint32_t)i);
    for (size_t i = 0; i < order->starts.size; i++)
        free(order->starts.slots[i].value);
    gn_map_clear(&order->starts);
    gn_instances_close(order);
}

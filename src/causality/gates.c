#include "causality/order_inside.h"

#include <stdlib.h>

/*
 * Gates between events of which some come before all others: those that give, and those that wait until all
 * that give, as far as they have come, are reported. causality/teams says which events of a process's threads
 * stand at the same one, epoch_gates.c of processes that complete and await epochs on windows.
 *
 *   thread_fork ──►┌──────┐──► thread_begin
 *                  │ gate │──► thread_begin        open: all givers are reported
 *                  └──────┘──► thread_begin
 *
 * Events of teams take their turn in their process's time (threads.c), so all of an instance that was before
 * a part by that time has come before it. What gives and comes later all the same is waited for by those that
 * still wait. An event may stand at several gates.
 */
struct gn_order_gate {
    struct gn_order_gate *next, *previous; /* of all */
    struct gn_gate_place *givers;          /* not reported */
    struct gn_gate_place *first_waiting, *last_waiting;
    uint64_t final_ticks; /* the latest adjusted time of a giver */
    bool is_complete;     /* no more parts will come */
    bool is_expecting;    /* it is closed until one gives */
};

struct gn_gate_place {
    struct gn_gate_place *of_vertex, *before_of_vertex; /* its next one, and the one before */
    struct gn_gate_place *next, *previous;              /* of the gate, among those that give, or that wait */
    struct gn_vertex *vertex;
    struct gn_order_gate *gate;
    bool gives;
};

/* ---- places ---- */

static struct gn_gate_place *make_place(struct gn_order *order, struct gn_order_gate *gate,
                                        struct gn_vertex *vertex, bool gives)
{
    struct gn_gate_place *place = order->spare_places;
    if (place)
        order->spare_places = place->next;
    else if (!(place = malloc(sizeof *place)))
        return NULL;
    *place =
        (struct gn_gate_place){.of_vertex = vertex->gates, .vertex = vertex, .gate = gate, .gives = gives};
    if (vertex->gates)
        vertex->gates->before_of_vertex = place;
    vertex->gates = place;
    return place;
}

static void free_place(struct gn_order *order, struct gn_gate_place *place)
{
    struct gn_gate_place *before = place->before_of_vertex;
    *(before ? &before->of_vertex : &place->vertex->gates) = place->of_vertex;
    if (place->of_vertex)
        place->of_vertex->before_of_vertex = before;
    place->next = order->spare_places;
    order->spare_places = place;
}

static void unlink_place(struct gn_gate_place *place)
{
    struct gn_order_gate *gate = place->gate;
    struct gn_gate_place **first = place->gives ? &gate->givers : &gate->first_waiting;
    *(place->previous ? &place->previous->next : first) = place->next;
    if (place->next)
        place->next->previous = place->previous;
    else if (!place->gives)
        gate->last_waiting = place->previous;
}

/* ---- gates ---- */

struct gn_order_gate *gn_gate_make(struct gn_order *order, bool is_expecting)
{
    struct gn_order_gate *gate = calloc(1, sizeof *gate);
    if (!gate)
        return NULL;
    gate->is_expecting = is_expecting;
    gate->next = order->gates;
    if (order->gates)
        order->gates->previous = gate;
    return order->gates = gate;
}

static void free_if_over(struct gn_order *order, struct gn_order_gate *gate)
{
    if (!gate->is_complete || gate->givers || gate->first_waiting)
        return;
    *(gate->previous ? &gate->previous->next : &order->gates) = gate->next;
    if (gate->next)
        gate->next->previous = gate->previous;
    free(gate);
}

static void is_after(struct gn_order_gate *gate, const struct gn_vertex *giver)
{
    if (giver->place.ticks > gate->final_ticks)
        gate->final_ticks = giver->place.ticks;
}

static void let_through(struct gn_order *order, struct gn_order_gate *gate)
{
    struct gn_gate_place *place = gate->first_waiting;
    gate->first_waiting = gate->last_waiting = NULL;
    for (struct gn_gate_place *next; place; place = next) {
        struct gn_vertex *getter = place->vertex;
        next = place->next;
        free_place(order, place);
        gn_vertex_after(getter, gate->final_ticks);
        gn_vertex_settled(order, getter);
    }
    free_if_over(order, gate);
}

int gn_gate_give(struct gn_order *order, struct gn_order_gate *gate, struct gn_vertex *giver)
{
    gate->is_expecting = false;
    if (giver->reported) { /* a fork whose team is known only now */
        is_after(gate, giver);
        if (!gate->givers)
            let_through(order, gate);
        return 0;
    }
    struct gn_gate_place *place = make_place(order, gate, giver, true);
    if (!place)
        return -ENOMEM;
    place->next = gate->givers;
    if (gate->givers)
        gate->givers->previous = place;
    gate->givers = place;
    return 0;
}

int gn_gate_wait(struct gn_order *order, struct gn_order_gate *gate, struct gn_vertex *getter)
{
    if (!gate->givers && !gate->is_expecting) {
        gn_vertex_after(getter, gate->final_ticks);
        return 0;
    }
    struct gn_gate_place *place = make_place(order, gate, getter, false);
    if (!place)
        return -ENOMEM;
    getter->waits++;
    place->previous = gate->last_waiting;
    *(gate->first_waiting ? &gate->last_waiting->next : &gate->first_waiting) = place;
    gate->last_waiting = place;
    return 0;
}

void gn_gate_complete(struct gn_order *order, struct gn_order_gate *gate)
{
    gate->is_complete = true;
    gate->is_expecting = false;
    if (gate->givers)
        return;
    let_through(order, gate);
}

void gn_gates_reported(struct gn_order *order, struct gn_vertex *giver)
{
    while (giver->gates) {
        struct gn_gate_place *place = giver->gates;
        struct gn_order_gate *gate = place->gate;
        unlink_place(place);
        free_place(order, place);
        is_after(gate, giver);
        if (!gate->givers)
            let_through(order, gate);
    }
}

static bool is_waiting(const struct gn_gate_place *place)
{
    return !place->gives;
}

bool gn_gates_hold(const struct gn_vertex *vertex)
{
    return vertex->waits > 0 && vertex->gates && is_waiting(vertex->gates);
}

uint32_t gn_gates_blocker(const struct gn_vertex *getter, bool (*counts)(const void *self, uint32_t location),
                          const void *self)
{
    for (const struct gn_gate_place *place = getter->gates; place; place = place->of_vertex)
        for (const struct gn_gate_place *giver = place->gate->givers; giver; giver = giver->next)
            if (counts(self, giver->vertex->event.location))
                return giver->vertex->event.location;
    return GN_NONE;
}

void gn_gates_release(struct gn_order *order, struct gn_vertex *getter)
{
    while (getter->gates) {
        struct gn_gate_place *place = getter->gates;
        struct gn_order_gate *gate = place->gate;
        unlink_place(place);
        free_place(order, place);
        free_if_over(order, gate);
    }
}

/* ---- what the teams tell ---- */

void *gn_gate_token(void *self, const struct gn_event *event)
{
    struct gn_order *order = self;
    (void)event;
    order->gate_vertex->keeps++;
    return order->gate_vertex;
}

void gn_gate_unused(void *self, void *vertex)
{
    gn_vertex_noticed(self, vertex);
}

static int added(void *self, struct gn_team_sync *sync)
{
    struct gn_order *order = self;
    const struct gn_team_part *part = &sync->parts[sync->count - 1];
    if (!sync->user && !(sync->user = gn_gate_make(order, false)))
        return -ENOMEM;
    int code = (part->gives ? gn_gate_give : gn_gate_wait)(order, sync->user, part->token);
    gn_vertex_noticed(order, part->token);
    return code;
}

static int synced(void *self, const struct gn_team_sync *sync)
{
    if (sync->user)
        gn_gate_complete(self, sync->user);
    return 0;
}

/* ---- events ---- */

bool gn_gates_open(struct gn_order *order)
{
    order->teams = gn_teams_new(order->definitions, &(struct gn_teams_sink){.self = order,
                                                                            .token = gn_gate_token,
                                                                            .unused = gn_gate_unused,
                                                                            .added = added,
                                                                            .synced = synced});
    return order->teams != NULL;
}

void gn_gates_close(struct gn_order *order)
{
    gn_teams_free(order->teams);
    gn_epoch_gates_close(order);
    for (struct gn_order_gate *gate = order->gates, *next; gate; gate = next) {
        for (struct gn_gate_place *place = gate->givers, *after; place; place = after) {
            after = place->next;
            free(place);
        }
        for (struct gn_gate_place *place = gate->first_waiting, *after; place; place = after) {
            after = place->next;
            free(place);
        }
        next = gate->next;
        free(gate);
    }
    for (struct gn_gate_place *place = order->spare_places, *next; place; place = next) {
        next = place->next;
        free(place);
    }
}

int gn_gates_take(struct gn_order *order, struct gn_vertex *vertex)
{
    order->gate_vertex = vertex;
    int code = gn_is_of_epoch(order, &vertex->event) ? gn_epoch_gates_take(order, vertex) : 0;
    return code ? code : gn_teams_event(order->teams, &vertex->event);
}

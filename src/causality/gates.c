#include "causality/order_inside.h"

#include <stdlib.h>

/*
 * Forks, joins and barriers of threads in the sort: causality/teams says which events are of the same one,
 * and a gate stands between its parts that give and those that do not. These wait until all that give, as far
 * as they have come, are reported.
 *
 *   thread_fork ──►┌──────┐──► thread_begin
 *                  │ gate │──► thread_begin        open: all givers are reported
 *                  └──────┘──► thread_begin
 *
 * Events of teams take their turn in their process's time (threads.c), so all of an instance that was before
 * a part by that time has come before it. What gives and comes later all the same is waited for by those that
 * still wait.
 */
struct gn_team_gate {
    struct gn_team_gate *next, *previous; /* of all */
    struct gn_vertex *givers;             /* not reported */
    struct gn_vertex *first_waiting, *last_waiting;
    uint64_t final_ticks; /* the latest adjusted time of a giver */
    bool is_complete;     /* no more parts will come */
};

/* ---- gates ---- */

static struct gn_team_gate *make_gate(struct gn_order *order)
{
    struct gn_team_gate *gate = calloc(1, sizeof *gate);
    if (!gate)
        return NULL;
    gate->next = order->gates;
    if (order->gates)
        order->gates->previous = gate;
    return order->gates = gate;
}

static void free_if_over(struct gn_order *order, struct gn_team_gate *gate)
{
    if (!gate->is_complete || gate->givers || gate->first_waiting)
        return;
    *(gate->previous ? &gate->previous->next : &order->gates) = gate->next;
    if (gate->next)
        gate->next->previous = gate->previous;
    free(gate);
}

static void is_after(struct gn_team_gate *gate, const struct gn_vertex *giver)
{
    if (giver->place.ticks > gate->final_ticks)
        gate->final_ticks = giver->place.ticks;
}

static void give(struct gn_team_gate *gate, struct gn_vertex *giver)
{
    if (giver->reported) { /* a fork whose team is known only now */
        is_after(gate, giver);
        return;
    }
    giver->gate = gate;
    gn_vertex_list(&gate->givers, giver);
}

static void wait_at(struct gn_team_gate *gate, struct gn_vertex *getter)
{
    if (!gate->givers) {
        gn_vertex_after(getter, gate->final_ticks);
        return;
    }
    getter->waits++;
    getter->gate = gate;
    getter->after = NULL;
    *(gate->first_waiting ? &gate->last_waiting->after : &gate->first_waiting) = getter;
    gate->last_waiting = getter;
}

static void let_through(struct gn_order *order, struct gn_team_gate *gate)
{
    struct gn_vertex *getter = gate->first_waiting;
    gate->first_waiting = NULL;
    for (struct gn_vertex *next; getter; getter = next) {
        next = getter->after;
        getter->gate = NULL;
        gn_vertex_after(getter, gate->final_ticks);
        gn_vertex_settled(order, getter);
    }
    free_if_over(order, gate);
}

void gn_gate_reported(struct gn_order *order, struct gn_vertex *giver)
{
    struct gn_team_gate *gate = giver->gate;
    giver->gate = NULL;
    gn_vertex_unlist(giver);
    is_after(gate, giver);
    if (!gate->givers)
        let_through(order, gate);
}

uint32_t gn_gate_blocker(const struct gn_vertex *getter)
{
    return getter->gate->givers->event.location;
}

void gn_gate_release(struct gn_order *order, struct gn_vertex *getter)
{
    struct gn_team_gate *gate = getter->gate;
    struct gn_vertex **link = &gate->first_waiting, *previous = NULL;
    for (; *link != getter; link = &previous->after)
        previous = *link;
    *link = getter->after;
    if (gate->last_waiting == getter)
        gate->last_waiting = previous;
    getter->gate = NULL;
    free_if_over(order, gate);
}

/* ---- what the teams tell ---- */

static void *token(void *self, const struct gn_event *event)
{
    struct gn_order *order = self;
    (void)event;
    order->team_vertex->keeps++;
    return order->team_vertex;
}

static void unused(void *self, void *vertex)
{
    gn_vertex_noticed(self, vertex);
}

static int added(void *self, struct gn_team_sync *sync)
{
    struct gn_order *order = self;
    const struct gn_team_part *part = &sync->parts[sync->count - 1];
    if (!sync->user && !(sync->user = make_gate(order)))
        return -ENOMEM;
    (part->gives ? give : wait_at)(sync->user, part->token);
    gn_vertex_noticed(order, part->token);
    return 0;
}

static int synced(void *self, const struct gn_team_sync *sync)
{
    struct gn_team_gate *gate = sync->user;
    if (gate) {
        gate->is_complete = true;
        free_if_over(self, gate);
    }
    return 0;
}

/* ---- events ---- */

bool gn_gates_open(struct gn_order *order)
{
    order->teams =
        gn_teams_new(order->definitions,
                     &(struct gn_teams_sink){
                         .self = order, .token = token, .unused = unused, .added = added, .synced = synced});
    return order->teams != NULL;
}

void gn_gates_close(struct gn_order *order)
{
    gn_teams_free(order->teams);
    for (struct gn_team_gate *gate = order->gates, *next; gate; gate = next) {
        next = gate->next;
        free(gate);
    }
}

int gn_gates_take(struct gn_order *order, struct gn_vertex *vertex)
{
    order->team_vertex = vertex;
    return gn_teams_event(order->teams, &vertex->event);
}

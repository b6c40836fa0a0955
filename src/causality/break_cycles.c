#include "causality/order_inside.h"

#include <stdlib.h>

/*
 * Events that wait for each other in a circle. In a real execution there is no such circle, but a trace may
 * claim more order than there was: a begin of MPI_Alltoallv does not say to whom nothing is sent, and a trace
 * may simply be wrong. Waiting would go on to the end of the stream, and memory with it. So when very many
 * events wait, the locations' heads are followed to what they wait for; a location met twice on one way
 * closes a circle. Ends that wait in the same instance share one look at its members, so that a search takes
 * time in proportion to locations and members.
 */

enum colour { UNSEEN, ON_THE_WAY, DONE };

struct walk {
    struct gn_order *order;
    uint8_t *colours;
    uint32_t *way; /* locations, from the first one to the present one */
    size_t length;
};

/* The next location that the end, which is the head of `location`, waits for a begin of. Once another
 * location has asked, what comes below the present one has been searched; if that location is on the way to
 * here, its present answer is, too, and closes a circle. */
static uint32_t next_member(struct walk *walk, uint32_t location, const struct gn_vertex *end)
{
    struct gn_inquiry *inquiry = gn_collective_inquiry(end);
    if (inquiry->search != walk->order->searches)
        *inquiry = (struct gn_inquiry){.search = walk->order->searches, .by = location};
    if (inquiry->by != location && walk->colours[inquiry->by] == ON_THE_WAY)
        return gn_collective_waits_for(end, inquiry->next - 1) ? inquiry->answer : GN_NONE;
    inquiry->by = location;
    return inquiry->answer = gn_collective_blocker(end, &inquiry->next);
}

static bool is_not_done(const void *walk, uint32_t location)
{
    return ((const struct walk *)walk)->colours[location] != DONE;
}

/* The next location that the head of `location` waits for an observed event of; GN_NONE: no further one. */
static uint32_t next_blocker(struct walk *walk, uint32_t location)
{
    struct gn_vertex *head = walk->order->locations[location].head;
    if (!head || head->waits == 0)
        return GN_NONE;
    if (head->needs_report) {
        const uint32_t sender = head->partner->event.location;
        return walk->colours[sender] == DONE ? GN_NONE : sender;
    }
    if (gn_gates_hold(head))
        return gn_gates_blocker(head, is_not_done, walk);
    return head->instance ? next_member(walk, location, head) : GN_NONE;
}

static void enter(struct walk *walk, uint32_t location)
{
    walk->colours[location] = ON_THE_WAY;
    walk->way[walk->length++] = location;
}

/* Follows one way from `start`; the location at which it closes a circle, or GN_NONE. What is on the way then
 * is not followed again: it need not be in the circle, and what is left of it is found next time. */
static uint32_t find_circle(struct walk *walk, uint32_t start)
{
    uint32_t next = start;
    do {
        if (next != GN_NONE && walk->colours[next] == UNSEEN)
            enter(walk, next);
        else if (next == GN_NONE)
            walk->colours[walk->way[--walk->length]] = DONE;
        next = walk->length ? next_blocker(walk, walk->way[walk->length - 1]) : GN_NONE;
    } while (walk->length && (next == GN_NONE || walk->colours[next] != ON_THE_WAY));
    while (walk->length)
        walk->colours[walk->way[--walk->length]] = DONE;
    return next;
}

void gn_vertex_release(struct gn_order *order, struct gn_vertex *head)
{
    head->place.flags |= GN_PLACE_RELEASED;
    if (head->needs_report || head->needs_end) {
        head->needs_report = head->needs_end = false;
        gn_vertex_parted(head);
    } else if (head->instance) {
        gn_collective_release(order, head);
    } else if (gn_gates_hold(head)) {
        gn_gates_release(order, head);
    }
    head->waits = 1;
    gn_vertex_settled(order, head);
}

void gn_break_cycles(struct gn_order *order)
{
    struct walk walk = {.order = order};
    order->searches++;
    walk.colours = calloc(order->location_count, sizeof *walk.colours);
    walk.way = malloc(order->location_count * sizeof *walk.way);
    for (uint32_t l = 0; walk.colours && walk.way && l < order->location_count; l++)
        if (walk.colours[l] == UNSEEN) {
            uint32_t circle = find_circle(&walk, l);
            if (circle != GN_NONE)
                gn_vertex_release(order, order->locations[circle].head);
        }
    free(walk.colours);
    free(walk.way);
}

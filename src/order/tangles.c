#include "order/inside.h"

#include <stdlib.h>

/*
 * Events that wait for each other in a circle. In a real execution there is no such circle, but a trace may
 * claim more order than there was: a begin of MPI_Alltoallv does not say to whom nothing is sent, and a trace
 * may simply be wrong. Waiting would go on to the end of the stream, and memory with it. So when very many
 * events wait, the locations' heads are followed to what they wait for; a location met twice on one way
 * closes a circle.
 */

enum colour { UNSEEN, ON_THE_WAY, DONE };

struct walk {
    struct gn_order *order;
    uint8_t *colours;
    uint32_t *way;     /* locations, from the first one to the present one */
    uint32_t *members; /* which member of its collective each is asked about next */
};

/* The next location that the head of `location` waits for an observed event of; GN_NONE: no further one. */
static uint32_t next_blocker(struct gn_order *order, uint32_t location, uint32_t *member)
{
    struct gn_vertex *head = order->locations[location].head;
    if (!head || head->waits == 0)
        return GN_NONE;
    if (head->sender)
        return (*member)++ == 0 ? head->sender->event.location : GN_NONE;
    return head->instance ? gn_collective_blocker(head, member) : GN_NONE;
}

/* Follows one way from `start`; the location at which it closes a circle, or GN_NONE. */
static uint32_t find_circle(struct walk *walk, uint32_t start)
{
    size_t depth = 0;
    walk->way[0] = start;
    walk->members[0] = 0;
    walk->colours[start] = ON_THE_WAY;
    for (;;) {
        uint32_t next = next_blocker(walk->order, walk->way[depth], &walk->members[depth]);
        if (next != GN_NONE && walk->colours[next] == ON_THE_WAY)
            return next;
        if (next != GN_NONE && walk->colours[next] == UNSEEN) {
            walk->colours[next] = ON_THE_WAY;
            walk->way[++depth] = next;
            walk->members[depth] = 0;
        } else if (next == GN_NONE) {
            walk->colours[walk->way[depth]] = DONE;
            if (depth-- == 0)
                return GN_NONE;
        }
    }
}

void gn_vertex_release(struct gn_order *order, struct gn_vertex *head)
{
    head->place.flags |= GN_PLACE_RELEASED;
    if (head->sender) {
        head->sender->receiver = NULL;
        head->sender = NULL;
    } else if (head->instance) {
        gn_collective_release(order, head);
    }
    head->waits = 1;
    gn_vertex_settled(order, head);
}

void gn_tangles_cut(struct gn_order *order)
{
    struct walk walk = {.order = order};
    walk.colours = calloc(order->location_count, sizeof *walk.colours);
    walk.way = malloc(order->location_count * sizeof *walk.way);
    walk.members = malloc(order->location_count * sizeof *walk.members);
    for (uint32_t l = 0; walk.colours && walk.way && walk.members && l < order->location_count; l++)
        if (walk.colours[l] == UNSEEN) {
            uint32_t circle = find_circle(&walk, l);
            if (circle != GN_NONE)
                gn_vertex_release(order, order->locations[circle].head);
        }
    free(walk.colours);
    free(walk.way);
    free(walk.members);
}

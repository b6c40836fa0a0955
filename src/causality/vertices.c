#include "causality/order_inside.h"

#include <stdlib.h>

/* Vertices come and go with nearly every event: from slabs, and back into a list. */
enum { SLAB = 512 };

struct slab {
    struct slab *next;
    struct gn_vertex vertices[SLAB];
};

static struct gn_vertex *take_vertex(struct gn_order *order)
{
    if (!order->free_vertices) {
        struct slab *slab = malloc(sizeof *slab);
        if (!slab)
            return NULL;
        slab->next = order->slabs;
        order->slabs = slab;
        for (size_t i = SLAB; i-- > 0;) {
            slab->vertices[i].next = order->free_vertices;
            order->free_vertices = &slab->vertices[i];
        }
    }
    struct gn_vertex *vertex = order->free_vertices;
    order->free_vertices = vertex->next;
    return vertex;
}

struct gn_vertex *gn_vertex_make(struct gn_order *order, const struct gn_event *event)
{
    struct gn_vertex *vertex = take_vertex(order);
    if (!vertex)
        return NULL;
    /* the links to others are written when they are made */
    vertex->partner = NULL;
    vertex->needs_report = vertex->needs_end = false;
    vertex->instance = NULL;
    vertex->gates = NULL;
    vertex->waits = 0;
    vertex->keeps = 1;
    vertex->reported = vertex->queued = vertex->begins = vertex->held = false;
    vertex->in_call = vertex->is_open = vertex->out_of_turn = vertex->is_low = vertex->has_position = false;
    vertex->floor_ticks = 0;
    vertex->number = GN_UNNUMBERED;
    vertex->place = (struct gn_place){.sender = GN_NONE, .instance = GN_NONE};
    vertex->event = *event;
    return vertex;
}

void gn_vertex_drop(struct gn_order *order, struct gn_vertex *vertex)
{
    order->nodes--;
    vertex->next = order->free_vertices;
    order->free_vertices = vertex;
}

void gn_vertex_noticed(struct gn_order *order, struct gn_vertex *vertex)
{
    if (--vertex->keeps == 0 && vertex->reported)
        gn_vertex_drop(order, vertex);
}

void gn_vertex_list(struct gn_vertex **list, struct gn_vertex *vertex)
{
    vertex->reference = list;
    vertex->sibling = *list;
    if (*list)
        (*list)->reference = &vertex->sibling;
    *list = vertex;
}

void gn_vertex_unlist(struct gn_vertex *vertex)
{
    *vertex->reference = vertex->sibling;
    if (vertex->sibling)
        vertex->sibling->reference = vertex->reference;
}

void gn_vertices_close(struct gn_order *order)
{
    for (struct slab *slab = order->slabs, *next; slab; slab = next) {
        next = slab->next;
        free(slab);
    }
}

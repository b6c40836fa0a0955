#include "graph/same.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void join_stats(struct gn_stats *into, const struct gn_stats *from)
{
    if (GN_GET(from->count) == 0)
        return;
    if (GN_GET(into->count) == 0 || GN_GET(from->min_ticks) < GN_GET(into->min_ticks))
        GN_SET(into->min_ticks, GN_GET(from->min_ticks));
    if (GN_GET(from->max_ticks) > GN_GET(into->max_ticks))
        GN_SET(into->max_ticks, GN_GET(from->max_ticks));
    uint64_t low = GN_GET(into->squares_low), new_low = low + GN_GET(from->squares_low);
    GN_SET(into->squares_low, new_low);
    GN_ADD(into->squares_high, GN_GET(from->squares_high) + (new_low < low));
    GN_ADD(into->total_ticks, GN_GET(from->total_ticks));
    GN_ADD(into->count, GN_GET(from->count));
}

/* Adds node b to node a of the private copy and empties it; edges and peers follow in gn_graph_join_same. */
static void join_nodes(struct gn_tag_node *a, struct gn_tag_node *b)
{
    join_stats(&a->time, &b->time);
    GN_ADD(a->errors, GN_GET(b->errors));
    GN_ADD(a->messages, GN_GET(b->messages));
    GN_ADD(a->bytes, GN_GET(b->bytes));
    for (int i = 0; i < GN_BUCKETS; i++) {
        GN_ADD(a->time_log2[i], GN_GET(b->time_log2[i]));
        GN_ADD(a->size_log2[i], GN_GET(b->size_log2[i]));
    }
    memset(b, 0, sizeof *b);
}

static int by_ends(const void *a, const void *b)
{
    const struct gn_tag_edge *x = a, *y = b;
    if (GN_GET(x->from) != GN_GET(y->from))
        return GN_GET(x->from) < GN_GET(y->from) ? -1 : 1;
    return (GN_GET(x->to) > GN_GET(y->to)) - (GN_GET(x->to) < GN_GET(y->to));
}

/* Edges between the same two nodes become one. */
static void join_edges(struct gn_location_copy *l)
{
    uint32_t kept = 0;
    qsort(l->edges, l->edge_count, sizeof *l->edges, by_ends);
    for (uint32_t i = 1; i < l->edge_count; i++) {
        struct gn_tag_edge *last = &l->edges[kept], *next = &l->edges[i];
        if (by_ends(last, next) != 0) {
            memmove(&l->edges[++kept], next, sizeof *next);
            continue;
        }
        join_stats(&last->time, &next->time);
        GN_ADD(last->bytes, GN_GET(next->bytes));
        GN_ADD(last->probe_ticks, GN_GET(next->probe_ticks));
        GN_ADD(last->exact, GN_GET(next->exact));
    }
    if (l->edge_count)
        l->edge_count = kept + 1;
}

struct numbered {
    uint32_t activity;
    uint32_t node;
};

static int by_activity(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->activity != y->activity)
        return x->activity < y->activity ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* representative[i]: the first node of the same activity. False when all are different. */
static bool find_same(const uint32_t *activities, uint32_t count, struct numbered *order,
                      uint32_t *representative)
{
    bool any = false;
    for (uint32_t i = 0; i < count; i++)
        order[i] = (struct numbered){activities[i], i};
    qsort(order, count, sizeof *order, by_activity);
    for (uint32_t i = 0; i < count; i++) {
        bool same = i > 0 && order[i].activity == order[i - 1].activity;
        representative[order[i].node] = same ? representative[order[i - 1].node] : order[i].node;
        any = any || same;
    }
    return any;
}

int gn_graph_join_same(const uint32_t *activities, struct gn_location_copy *l)
{
    uint32_t *to = calloc(l->node_count, sizeof *to);
    struct numbered *order = calloc(l->node_count, sizeof *order);
    if (to && order && find_same(activities, l->node_count, order, to)) {
        for (uint32_t i = 0; i < l->node_count; i++)
            if (to[i] != i)
                join_nodes(&l->nodes[to[i]], &l->nodes[i]);
        for (uint32_t i = 0; i < l->edge_count; i++) {
            GN_SET(l->edges[i].from, to[GN_GET(l->edges[i].from)]);
            GN_SET(l->edges[i].to, to[GN_GET(l->edges[i].to)]);
        }
        for (uint32_t i = 0; i < l->peer_count; i++)
            GN_SET(l->peers[i].node, to[GN_GET(l->peers[i].node)]);
        for (uint32_t i = 0; i < l->completion_count; i++) {
            GN_SET(l->completions[i].from, to[GN_GET(l->completions[i].from)]);
            GN_SET(l->completions[i].to, to[GN_GET(l->completions[i].to)]);
        }
        if (l->head.now_node < l->node_count)
            l->head.now_node = to[l->head.now_node];
    }
    join_edges(l); /* memory that the program scribbled over may name an edge twice */
    const int code = to && order ? 0 : -ENOMEM;
    free(order);
    free(to);
    return code;
}

/*
 * A random graph with a few vertices of very many edges, split over ranks: what pagerank and components work
 * on.
 *
 * R-MAT (Chakrabarti, Zhan, Faloutsos 2004): an edge is a cell of the adjacency matrix, found by choosing one
 * of its quarters again and again, one of them more often than the others. Edge i follows from the seed and i
 * alone. Vertices are renumbered, or those with the most edges would all be the first rank's. Ranks own
 * ranges of vertices with about the same number of edges.
 *
 * Every rank goes through all edges and keeps those that end at its own vertices: twice, to count and to
 * store. The graph is the same for any number of ranks, and so are results made of integers.
 */
#ifndef EXAMPLES_GRAPH_H
#define EXAMPLES_GRAPH_H

#include <stdint.h>
#include <stdlib.h>
#include "random.h"

#define GRAPH_MAX_SCALE 24

struct graph {
    /* options */
    long scale, edges_per_vertex, seed;
    int both_ways; /* an edge can be followed from either end */

    long vertices, first, end; /* of the whole graph; own */
    long *offset;        /* of own vertex v: its neighbours are [offset[v - first], offset[v - first + 1]) */
    int32_t *neighbour;  /* where edges to own vertices come from */
    int32_t *out_degree; /* of all vertices */
    int *count, *start;  /* vertices of each rank, and the first, for MPI_Allgatherv */
};

/* clang-format takes initializers in macros for code. */
/* clang-format off */
#define GRAPH_OPTIONS(graph) \
    {OPTION_NUMBER, "scale", &(graph)->scale, 1, GRAPH_MAX_SCALE, 0, "2 to the power of N vertices"}, \
    {OPTION_NUMBER, "edges", &(graph)->edges_per_vertex, 0, 64, 0, "edges per vertex, on average"}, \
    {OPTION_NUMBER, "seed", &(graph)->seed, 0, 1e6, 0, "another seed, another graph"}
/* clang-format on */

/* Another number for a vertex, one to one: odd factors and shifts can be undone. */
static inline long graph_renumber(const struct graph *g, uint64_t vertex)
{
    uint64_t mask = (uint64_t)g->vertices - 1;
    for (int round = 0; round < 3; round++) {
        vertex = (vertex * 0x9e3779b97f4a7c15u + (uint64_t)g->seed) & mask;
        vertex ^= vertex >> (g->scale / 2 + 1);
    }
    return (long)vertex;
}

/* Edge i, from the quarters' probabilities 0.5, 0.2, 0.2, 0.1 of 2^16. */
static inline void graph_edge(const struct graph *g, long i, long *from, long *to)
{
    uint64_t row = 0, column = 0, random = 0;
    uint64_t position = ((uint64_t)g->seed << 40) + (uint64_t)i * (GRAPH_MAX_SCALE / 4);
    for (long level = 0; level < g->scale; level++) {
        random = level % 4 == 0 ? random_at(position + (uint64_t)level / 4) : random >> 16;
        uint64_t quarter = random & 0xffff;
        row = row << 1 | (quarter >= 45875);
        column = column << 1 | ((quarter >= 32768 && quarter < 45875) || quarter >= 58982);
    }
    *from = graph_renumber(g, row);
    *to = graph_renumber(g, column);
}

/* The first of `count` vertices that belongs to `part` of `parts`, by edges: `offset` as in struct graph. */
static inline long graph_cut(const long *offset, long count, long parts, long part)
{
    long low = 0, high = part == parts ? 0 : count;
    long wanted = offset[0] + (offset[count] - offset[0]) * part / parts;
    while (low < high) {
        long middle = (low + high) / 2;
        if (offset[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return part == parts ? count : low;
}

static inline void graph_destroy(struct graph *g)
{
    free(g->offset);
    free(g->neighbour);
    free(g->out_degree);
    free(g->count);
    free(g->start);
}

/* How many edges end at each vertex: offset[v + 1], summed up. */
static inline void graph_count(struct graph *g, long *offset)
{
    for (long i = 0; i < g->vertices * g->edges_per_vertex; i++) {
        long from, to;
        graph_edge(g, i, &from, &to);
        offset[to + 1]++;
        offset[from + 1] += g->both_ways;
        g->out_degree[from]++;
    }
    for (long v = 0; v < g->vertices; v++)
        offset[v + 1] += offset[v];
}

static inline void graph_split(struct graph *g, const long *offset, int rank, int size)
{
    for (int r = 0; r < size; r++) {
        g->start[r] = (int)graph_cut(offset, g->vertices, size, r);
        g->count[r] = (int)graph_cut(offset, g->vertices, size, r + 1) - g->start[r];
    }
    g->first = g->start[rank];
    g->end = g->first + g->count[rank];
}

static inline void graph_keep(const struct graph *g, long *fill, long from, long to)
{
    if (to >= g->first && to < g->end)
        g->neighbour[fill[to]++] = (int32_t)from;
}

/* `fill`: where the next neighbour of a vertex goes. */
static inline void graph_store(struct graph *g, long *fill)
{
    for (long v = g->first; v <= g->end; v++)
        g->offset[v - g->first] = fill[v] - fill[g->first];
    for (long v = g->end; v-- > g->first;)
        fill[v] = g->offset[v - g->first];
    for (long i = 0; i < g->vertices * g->edges_per_vertex; i++) {
        long from, to;
        graph_edge(g, i, &from, &to);
        graph_keep(g, fill, from, to);
        if (g->both_ways)
            graph_keep(g, fill, to, from);
    }
}

/* Makes this rank's part of the graph that the options ask for. -1: no memory. */
static inline int graph_create(struct graph *g, int rank, int size)
{
    g->vertices = 1L << g->scale;
    long *offset = calloc((size_t)g->vertices + 1, sizeof *offset);
    g->out_degree = calloc((size_t)g->vertices, sizeof *g->out_degree);
    g->count = calloc((size_t)size, sizeof *g->count);
    g->start = calloc((size_t)size, sizeof *g->start);
    if (offset && g->out_degree && g->count && g->start) {
        graph_count(g, offset);
        graph_split(g, offset, rank, size);
        g->offset = calloc((size_t)(g->end - g->first) + 1, sizeof *g->offset);
        g->neighbour = calloc((size_t)(offset[g->end] - offset[g->first]) + 1, sizeof *g->neighbour);
    }
    int complete = g->offset && g->neighbour;
    if (complete)
        graph_store(g, offset);
    else
        graph_destroy(g);
    free(offset);
    return complete ? 0 : -1;
}

/* The range [first, end) of own vertices, counted from 0, that is a thread's share. */
static inline void graph_share(const struct graph *g, long threads, long thread, long *first, long *end)
{
    *first = graph_cut(g->offset, g->end - g->first, threads, thread);
    *end = graph_cut(g->offset, g->end - g->first, threads, thread + 1);
}

#endif

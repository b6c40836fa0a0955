/* graph/process_inside — what process.c and location.c share: a process on its way into a graph. */
#ifndef GNOMON_GRAPH_PROCESS_INSIDE_H
#define GNOMON_GRAPH_PROCESS_INSIDE_H

#include "graph/process.h"
#include "image/snapshot.h"

#include <math.h>

struct gn_graph_adding {
    struct gn_graph *graph;
    const struct gn_process_facts *facts;
    struct gn_snapshot *snapshot;
    uint32_t process;
    uint32_t *modules, *paths; /* rows by index in the snapshot */
    int64_t unattributed;      /* samples that found no place in it */
};

static inline int64_t gn_adding_ns(const struct gn_graph_adding *a, uint64_t ticks)
{
    return (int64_t)llround((double)ticks * a->facts->tick_ns);
}

static inline int64_t gn_adding_between_ns(const struct gn_graph_adding *a, uint64_t from, uint64_t to)
{
    return to > from ? gn_adding_ns(a, to - from) : 0;
}

/* When this process's time ends, as well as is known. */
static inline uint64_t gn_adding_end_ticks(const struct gn_graph_adding *a)
{
    const uint64_t own = GN_GET(a->snapshot->head.end_ticks);
    return own ? own : a->facts->end_ticks;
}

/* The row of a module. */
uint32_t gn_adding_module(const struct gn_graph_adding *adding, const char *path, const uint8_t *build_id,
                          uint32_t build_id_bytes);

/* Of a file of source code. */
uint32_t gn_adding_source(const struct gn_graph_adding *adding, const char *path);

/* What was sampled of the location with that index, which has that row; activities by node. */
void gn_adding_samples(struct gn_graph_adding *adding, uint32_t index, uint32_t location,
                       const uint32_t *activities, uint32_t nodes);

/* How its nodes and edges grew. last: the activities of the edge that was put for what it computed last, and
 * that its image does not have; GN_GRAPH_NONE: there is none. */
void gn_adding_series(struct gn_graph_adding *adding, uint32_t index, uint32_t location,
                      const uint32_t *activities, uint32_t nodes, double probe_ns, const uint32_t last[2]);
/* How the samples with that index did. */
struct gn_graph_bytes gn_adding_sample_series(struct gn_graph_adding *adding, size_t number);

/* All of a thread: its activities, their nodes and edges. 0 or -ENOMEM. */
int gn_adding_location(struct gn_graph_adding *adding, uint32_t index);

#endif

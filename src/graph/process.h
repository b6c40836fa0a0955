/*
 * graph/process — one process's snapshot as rows of a graph: ticks become nanoseconds, indices of its own
 * memory what all processes have in common, and the cost of measuring is taken off.
 */
#ifndef GNOMON_GRAPH_PROCESS_H
#define GNOMON_GRAPH_PROCESS_H

#include "graph/graph.h"

struct gn_launch;
struct gn_last_calls;
struct gn_sampled;
struct gn_series_process;
struct gn_snapshot;

/* What the agent knows about a process besides its snapshot. */
struct gn_process_facts {
    const char *host;
    double tick_ns;      /* length of a tick, measured over the run */
    uint64_t end_ticks;  /* when the agent saw it end, 0: still running */
    int64_t start_ticks; /* when it began, of the counter that the host shows; GN_GRAPH_UNKNOWN */
    int launcher_rank;   /* rank as the launcher said; used when MPI_Init did not get that far; -1 unknown */
    const struct gn_launch
        *launches;     /* GN_LAUNCHES of them, of a process that has no snapshot; NULL: not known */
    bool traced;       /* its events are in the run's trace */
    const char *ended; /* "running", "exit", "signal", "unknown" */
    int exit_status;   /* exit status or signal number, -1 unknown */
    const struct gn_last_calls *last_calls;   /* NULL: not known */
    const struct gn_sampled *sampled;         /* NULL: not known */
    const struct gn_series_process *series;   /* NULL: not known */
    const struct gn_graph_resource *resource; /* for any process; NULL: not known */
};

/* Adds one process; the snapshot is tidied on the way. 0, or -ENOMEM: then it has not been added. */
int gn_graph_add_process(struct gn_graph *graph, const struct gn_process_facts *facts,
                         struct gn_snapshot *snapshot, struct gn_error *err);

/* Adds a rank of which the launcher told but no measurement exists. */
int gn_graph_add_missing(struct gn_graph *graph, const struct gn_process_facts *facts, const char *message,
                         struct gn_error *err);

#endif

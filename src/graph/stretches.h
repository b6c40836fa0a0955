/*
 * graph/stretches — to which step of time it belongs what a thread computes over moments, before it is known
 * where that leads: an edge is counted when the call that it led to has been left.
 *
 *      │ step k      │ k + 1       │ k + 2       │ k + 3   │      open: what it has computed so far, at each
 *      ├──────┬──────┼─────────────┼──┬──────────┼─────┬───┤      moment (k, k + 1); ahead: all that it had
 *      │ call │ computes ──────────│─►│ call ────│────►│   │      computed, as it was in the call (k + 2)
 *      └──────┴──────┴─────────────┴──┴──────────┴─────┴───┘
 *                                entered            left: here the edge has its time at first
 */
#ifndef GNOMON_GRAPH_STRETCHES_H
#define GNOMON_GRAPH_STRETCHES_H

#include "graph/series.h"

/* What a row of a series says of a step, or of all until one. Of edges: count, ticks, … */
typedef int64_t gn_step_values[GN_SERIES_VALUES];

/* One that led into a call that lasted over a moment. */
struct gn_stretch {
    uint32_t from, to;    /* activities; from GN_GRAPH_NONE: not known */
    size_t entered, left; /* the call, in these steps; left: as many as there are, if it was not */
    int64_t ticks;
};

/* What is known of all that a location computes after one activity. */
struct gn_leaving {
    gn_step_values **edges; /* [count] by step: here their time is divided */
    const uint32_t *to;     /* [count] the activities that they lead to */
    size_t count;
    const gn_step_values *open; /* by step: [0] how what is open grew */
    const struct gn_stretch *stretches;
    size_t stretch_count;
    gn_step_values
        *last; /* of the edges the one of its last stretch, which the steps do not have; else NULL */
    size_t steps;
};

/* No memory: nothing is divided. */
void gn_stretches_divide(const struct gn_leaving *leaving);

#endif

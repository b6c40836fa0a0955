/*
 * clock/counter — which counter this host's ticks come from, and what is known of it.
 *
 * The processor's counter where it is invariant (it ticks at one rate whatever the cores do, and the kernel
 * trusts it), CLOCK_MONOTONIC_RAW otherwise. Every process of a host comes to the same choice.
 */
#ifndef GNOMON_CLOCK_COUNTER_H
#define GNOMON_CLOCK_COUNTER_H

#include "clock/clocks.h"

#include <stdbool.h>

struct gn_counter {
    const char *name;    /* "tsc", "cntvct", "monotonic_raw" */
    const char *why_not; /* why the processor's counter is not used; NULL when it is */
    double hz;
    uint64_t granularity_ticks;
    double cost_ns; /* of one reading */
};

/* Measures it: takes a few ms. */
void gn_counter_measure(struct gn_counter *counter);

/* Whether the cores that this process may run on share the counter, by messages through a cache line between
 * the first of them and each other. width_ns: how well that is known. Cores that do not share it are listed
 * as groups: group[core] for core < cores, -1 for cores we may not use. Bounded by patience_ms; cores that
 * could not be tried in time are counted. Errors: negative errno. */
struct gn_core_groups {
    int *group;
    int cores, group_count, tried, untried;
    double width_ns;  /* widest interval of offset between cores of one group */
    double offset_ns; /* largest offset that is certain between groups, 0 with one group */
};
int gn_core_groups_find(struct gn_core_groups *groups, unsigned patience_ms, struct gn_error *err);
void gn_core_groups_clear(struct gn_core_groups *groups);

#endif

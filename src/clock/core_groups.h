/*
 * clock/core_groups — whether the cores that this process may run on share the counter.
 *
 * Two threads, each on a core of its own, throw a cache line to and fro, with their readings in it:
 *
 *   core i   sent s ──────┐              ┌────► received q       D = counter of i − counter of j
 *   core j                └─► received r, sent p
 *
 * Each throw proves one thing and needs nothing of the other: D >= s − r, D <= q − p (up to the counter's
 * granularity). The cores share the counter when D = 0 fits all that was proved in both directions: no
 * reading was received before it was sent. Nothing is assumed of a core that could not be tried in time.
 *
 * The time it takes a line to travel (some 50 ns) is what remains unknown of D. An offset smaller than that
 * can never be seen by cores that talk through memory.
 */
#ifndef GNOMON_CLOCK_CORE_GROUPS_H
#define GNOMON_CLOCK_CORE_GROUPS_H

#include "base/error.h"

enum { GN_CORE_NOT_OURS = -1, GN_CORE_UNTRIED = -2 };

/* group[core] for core < cores: its group, counted from 0, or one of the above. */
struct gn_core_groups {
    int *group;
    int cores, group_count;
    int tried, untried; /* cores that we may use; the first counts as tried */
    double width_ns;  /* widest interval of D between cores of one group: how well it is known that D is 0 */
    double offset_ns; /* largest |D| that is certain between two groups, 0 with one group */
};

/*
 * Takes at most about patience_ms, whatever else runs on the cores; hz: the counter's. The caller's affinity
 * stays as it is. GNOMON_TEST_DOMAIN="1:+5000,3:-20" adds so many ticks to readings on core 1 and core 3, for
 * tests. Errors: -EINVAL (that variable), -ENOMEM, what sched_getaffinity says; groups are empty then.
 */
int gn_core_groups_find(struct gn_core_groups *groups, double hz, unsigned patience_ms, struct gn_error *err);
void gn_core_groups_clear(struct gn_core_groups *groups);

#endif

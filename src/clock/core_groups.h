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

#include <stdbool.h>
#include <stdint.h>

/* A throw between the first group's counter and another's: sent before it left, received after it was there.
 */
struct gn_core_throw {
    uint64_t sent_ticks, received_ticks;
};

enum { GN_CORE_NOT_OURS = -1, GN_CORE_UNTRIED = -2 };

/* group[core] for core < cores: its group, counted from 0, or one of the above. */
struct gn_core_groups {
    int *group;
    int cores, group_count;
    int tried, untried; /* cores that we may use; the first counts as tried */
    double width_ns;  /* widest interval of D between cores of one group: how well it is known that D is 0 */
    double offset_ns; /* largest |D| that is certain between two groups, 0 with one group */
    /* For each group: a core of it; and the throws that tell most of its counter and the first group's. Those
     * of the first group itself are nothing. */
    struct gn_core_group {
        int first;
        struct gn_core_throw to_first, from_first;
    } * groups;
};

/*
 * Takes at most about patience_ms, whatever else runs on the cores; hz: the counter's. The caller's affinity
 * stays as it is. GNOMON_TEST_DOMAIN="1:+5000,3:-20" adds so many ticks to readings on core 1 and core 3, for
 * tests. Errors: -EINVAL (that variable), -ENOMEM, what sched_getaffinity says; groups are empty then.
 */
int gn_core_groups_find(struct gn_core_groups *groups, double hz, unsigned patience_ms, struct gn_error *err);

/* Whether two findings can both be right: cores that share a counter in one and were tried in the other share
 * it there, too, and the other way round. */
bool gn_core_groups_agree(const struct gn_core_groups *a, const struct gn_core_groups *b);

/* The group of all cores on which the threads of a process may run now; GN_CORE_UNTRIED: of several groups,
 * on cores that were not tried, or that cannot be found out; GN_CORE_NOT_OURS: there is no such process. */
int gn_core_groups_of_process(const struct gn_core_groups *groups, int pid);

/* Binds this thread, and those that it starts from now on, to the cores of a group. 0 or a negative errno. */
int gn_core_groups_bind(const struct gn_core_groups *groups, int group);

void gn_core_groups_clear(struct gn_core_groups *groups);

#endif

/*
 * profile/divide — how much of the time between two calls samples account for, and what is left.
 *
 *   an edge's length, exact ──┬─ seen      processor time of the program's own code, by samples
 *                             ├─ taken     ready, and no core to be had: goes with what is seen
 *                             └─ unseen    in the kernel, or on no core: asleep, blocked
 *
 * A sample is taken after each period of a thread's processor time, so what samples stand for may be off: of
 * one stretch by a period at most, of many that are independent of each other by what their number allows.
 * Less than that, and than the process was ready without a core, is no sign of anything. (That is told of
 * processes: of several threads each may have had all of it, and then less is found than there is.)
 *
 * Numbers may be of a damaged profile: whatever they are, what is told lies between 0 and the length.
 */
#ifndef GNOMON_PROFILE_DIVIDE_H
#define GNOMON_PROFILE_DIVIDE_H

#include <stdbool.h>
#include <stdint.h>

/* Of a process. Times in ns. */
struct gn_sampled_process {
    bool is_known;     /* it was sampled, all of the time; else nothing can be said */
    double period_ns;  /* that a sample stands for, in the mean */
    double missed;     /* samples that were lost, or are of no edge, for each one that is of one */
    double cpu_ns;     /* processor time in all */
    bool with_kernel;  /* samples are of what the kernel does, too */
    double kernel_ns;  /* of it in the kernel, at most: no sample is of it; INFINITY: not known */
    double no_core_ns; /* ready, and without one */
};

struct gn_divided {
    int64_t ns;    /* 0 … all */
    double off_ns; /* by which that may be off, and so may the rest, at 99 % */
};

/* A location's time from one activity to the next: `times` stretches that took ns together, of which
 * `samples` stand for sampled_ns; and so often it was found asleep there, for found_ns. */
struct gn_edge_time {
    int64_t ns, times, samples, sampled_ns, found, found_ns;
};

/* All locations' together. Begins as zeros. */
struct gn_edge_sum {
    double ns, seen_ns, taken_ns, no_core_ns, variance, found, found_ns;
    double alone_ns; /* what those have unseen that are told by themselves */
    double parts_ns; /* what others seem to have; chance makes that more, never less than 0 */
};
void gn_edge_sum_add(struct gn_edge_sum *sum, struct gn_edge_time time,
                     const struct gn_sampled_process *process);

/* How much of the location's part of the sum is unseen. Whether there is anything unseen the sum tells, or
 * the location by itself, by what chance does not explain or since it was found asleep: what many have of it
 * is divided in all of them, so that the parts are the whole, and what one has in that one. */
struct gn_divided gn_divide(struct gn_edge_time time, const struct gn_sampled_process *process,
                            const struct gn_edge_sum *sum);

/* Of what is unseen, how much a location was asleep: it was found so `times` times when it was looked at now
 * and then, which stand for found_ns; what it was not is in the kernel, or without a core, and there is no
 * more of that than all of the process has. */
struct gn_divided gn_divide_asleep(int64_t unseen_ns, int64_t found_ns, int64_t times,
                                   const struct gn_sampled_process *process);

#endif

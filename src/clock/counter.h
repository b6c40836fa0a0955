/*
 * clock/counter — which counter this host's ticks come from, and what is known of it.
 *
 * The processor's counter where it is invariant (it ticks at one rate whatever the cores do, and the kernel
 * trusts it), CLOCK_MONOTONIC_RAW otherwise; clock/ticks.h chooses. Every measured process of a host obeys
 * its agent's choice.
 */
#ifndef GNOMON_CLOCK_COUNTER_H
#define GNOMON_CLOCK_COUNTER_H

#include <stddef.h>
#include <stdint.h>

struct gn_counter {
    const char *name;    /* "tsc", "cntvct", "monotonic_raw" */
    const char *why_not; /* why the processor's counter is not used; NULL when it is */
    /* Nominal ticks per second: against CLOCK_MONOTONIC_RAW, over some ms, known to about hz_error_ppb. Two
     * measurements differ, so one process (the agent) measures and tells the others. */
    double hz, hz_error_ppb;
    uint64_t granularity_ticks; /* the true count is less than this ahead of a reading */
    double cost_ns;             /* of one reading */
};

/* Measures it: takes some ms of this thread's time, half of it asleep. */
void gn_counter_measure(struct gn_counter *counter);

/*
 * The granularity that follows from differences of neighbouring readings, taken at all sorts of distances.
 * A counter that counts in steps leaves gaps between the differences that occur: of a step's length when the
 * steps are alike (48, 96, 144), of nearly as much when they are not (41 or 42 ticks, 83 or 84: a counter of
 * 100 MHz that is shown in ticks of 2.6 GHz, or of a virtual machine); one that counts every tick leaves
 * none. The result is never too small when all differences that can occur have, and a few ticks too large
 * where steps are not alike or cannot be told from single ticks. seen[d]: whether difference d occurred, d <
 * count. 0: too few to tell.
 */
uint64_t gn_counter_granularity(const unsigned char *seen, size_t count);

#endif

/*
 * clock/simulated — a clock made up for tests: x = floor(G(t)) of the true counter t, with everything known.
 *
 * GNOMON_TEST_CLOCK="offset=-5s,rate=20ppm,sine=1ppm/30s,ramp=0.1ppm/s,step=1ms@2s,grain=8" on a host makes
 * its agent read the simulated clock in exchanges, and puts its trace's events on it. All machines of a test
 * share the true counter, so the true conversion between any two is known exactly. Never set for users.
 */
#ifndef GNOMON_CLOCK_SIMULATED_H
#define GNOMON_CLOCK_SIMULATED_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct gn_simulated_clock {
    bool active;                 /* false: the identity */
    double offset_ticks;         /* at the origin */
    double rate_ppb;             /* beyond nominal */
    double sine_ppb, sine_ticks; /* rate wanders by ±sine_ppb with this period */
    double ramp_ppb_per_tick;
    double step_ticks, step_at_ticks; /* jumps by step at this true counter, counted from the origin */
    uint64_t grain_ticks;             /* readings are multiples of it */
    uint64_t origin_ticks;            /* true counter at which the simulated clock shows origin + offset */
};

/* spec NULL or empty: the identity. Times in the unit given (ns, us, ms, s) at hz true ticks per second.
 * origin is part of the spec ("origin=123456" true ticks), so that every process that is told the same has
 * the same clock. */
int gn_simulated_parse(struct gn_simulated_clock *clock, const char *spec, double hz, struct gn_error *err);

/* The reading at true counter `ticks`. Monotone except at a step back. Deterministic: tests know the truth.
 */
uint64_t gn_simulated_reading(const struct gn_simulated_clock *clock, uint64_t ticks);

/* Before the floor, to 2^-20 of a tick in 128-bit fixed point, for checks of bounds. */
__int128 gn_simulated_exact(const struct gn_simulated_clock *clock, uint64_t ticks);

#endif

/*
 * exchange/simulated — a clock made up for tests: x = floor(G(t)) of the true counter t, with everything
 * known.
 *
 * GNOMON_TEST_CLOCK="offset=-5s,rate=20ppm,sine=1ppm/30s,ramp=0.1ppm/s,step=1ms@2s,grain=8" on a host makes
 * its agent read the simulated clock in exchanges, and puts its trace's events on it. All machines of a test
 * share the true counter, so the true conversion between any two is known exactly. Never set for users.
 *
 * With u = t − origin, in ticks:
 *
 *   G(t) = origin + offset + u + rate·u + sine·(period/2π)·(1 − cos(2πu/period)) + ramp·u²/2
 *          + step where u >= step_at
 *
 * so the rate beyond nominal is rate + sine·sin(2πu/period) + ramp·u, until the ramp alone has come to 10 %,
 * where it stays (or 2^52 ticks from the origin). This is evaluated in integers but for the cosine, whose
 * amplitude is small: the same everywhere on a machine, exact to 2^-12 of a tick 10^15 ticks from the origin,
 * and rising with t, since the three rates together slow it down by 30 % at most. (A clock is the doubles
 * below; what is rounded on the way from the text to them is not an error.)
 */
#ifndef GNOMON_EXCHANGE_SIMULATED_H
#define GNOMON_EXCHANGE_SIMULATED_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { GN_SIMULATED_FRACTION_BITS = 20 };

struct gn_simulated_clock {
    bool active;                 /* false: the identity */
    double offset_ticks;         /* at the origin */
    double rate_ppb;             /* beyond nominal */
    double sine_ppb, sine_ticks; /* rate wanders by ±sine_ppb with this period, of whole ticks; 0: none */
    double ramp_ppb_per_tick;
    double step_ticks;
    int64_t step_at_ticks; /* jumps by step at this true counter, counted from the origin */
    uint64_t grain_ticks;  /* readings are multiples of it, at least 1 */
    uint64_t origin_ticks; /* true counter at which the simulated clock shows origin + offset */
};

/*
 * spec NULL or empty: the identity. Times in the unit given (ns, us, ms, s) at hz true ticks per second.
 * origin is part of the spec ("origin=123456" true ticks, 0 when left out), so that every process that is
 * told the same has the same clock. offset, rate, ramp and step may have a sign. Errors: -EINVAL, the clock
 * is the identity then.
 */
int gn_simulated_parse(struct gn_simulated_clock *clock, const char *spec, double hz, struct gn_error *err);

/* The reading at true counter `ticks` (below 2^63, as in 97 years at 3 GHz); 0 before the simulated clock's
 * zero. Rises with ticks except at a step back. */
uint64_t gn_simulated_reading(const struct gn_simulated_clock *clock, uint64_t ticks);

/* Before the floor, in 2^-GN_SIMULATED_FRACTION_BITS of a tick, for checks of bounds. */
__int128 gn_simulated_exact(const struct gn_simulated_clock *clock, uint64_t ticks);

#endif

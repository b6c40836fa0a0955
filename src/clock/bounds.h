/*
 * clock/bounds — readings of one clock domain as intervals [lo, hi] of nanoseconds on the reference's time
 * line.
 *
 * A table of breakpoints, each a reading with the bounds that hold for it. Between two breakpoints and
 * outside of them both bounds are straight lines; everything is rounded outward, so that whoever interpolates
 * between breakpoints (another tool, with the table of profile.db or the clock offsets of an archive) is
 * right, too.
 *
 * The interval contains the reference's time of the moment at which the reading was taken. Arithmetic is
 * 64-bit integers with 128-bit products; many at a time are converted in doubles whose error is added
 * outward.
 */
#ifndef GNOMON_CLOCK_BOUNDS_H
#define GNOMON_CLOCK_BOUNDS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Nanoseconds since the reference's epoch; lo_ns <= hi_ns. */
struct gn_interval {
    int64_t lo_ns, hi_ns;
};

struct gn_breakpoint {
    uint64_t ticks;
    int64_t lo_ns, hi_ns;
};

/* How the bounds go on before the first and after the last breakpoint: the rates between which the clock is
 * known to be, ns per tick, 0 <= rate_lo <= rate_hi; rate_hi infinite when no limit is known. */
struct gn_outside {
    double rate_lo, rate_hi;
};

struct gn_bounds;

/*
 * breakpoints: count >= 1 of them, ticks ascending, lo and hi not descending. Copied. Returns NULL when they
 * are not like that or there is no memory, with the reason in err.
 */
struct gn_bounds *gn_bounds_new(const struct gn_breakpoint *breakpoints, size_t count,
                                const struct gn_outside *outside, struct gn_error *err);
void gn_bounds_free(struct gn_bounds *bounds);

/* The identity of a reference with hz ticks per second and this granularity: bounds at most 1 ns and a
 * granularity wide. */
struct gn_bounds *gn_bounds_reference(double hz, uint64_t granularity_ticks, uint64_t epoch_ticks,
                                      struct gn_error *err);

/* What the bounds are made of, for keeping them: gn_bounds_new of the same gives the same. */
size_t gn_bounds_breakpoints(const struct gn_bounds *bounds, const struct gn_breakpoint **breakpoints,
                             struct gn_outside *outside);

/* Saturates at INT64_MIN and INT64_MAX: "nothing is known". */
struct gn_interval gn_bounds_convert(const struct gn_bounds *bounds, uint64_t ticks);

/* What a clock that shows epoch_ticks at 0 ns, and hz ticks a second, shows in the middle of the interval. Of
 * a reading outside of the breakpoints where one end is not known: one tick ahead of the first breakpoint's,
 * or behind the last one's. Never descends. */
uint64_t gn_bounds_placed(const struct gn_bounds *bounds, uint64_t ticks, uint64_t epoch_ticks, double hz);

/* count readings in any order; fastest when they ascend. */
void gn_bounds_convert_all(const struct gn_bounds *bounds, const uint64_t *ticks,
                           struct gn_interval *intervals, size_t count);

enum gn_verdict { GN_UNDECIDABLE, GN_BEFORE, GN_AFTER };

/* Whether the moment in a was before the one in b, whatever they are. */
static inline enum gn_verdict gn_verdict_of(struct gn_interval a, struct gn_interval b)
{
    return a.hi_ns < b.lo_ns ? GN_BEFORE : b.hi_ns < a.lo_ns ? GN_AFTER : GN_UNDECIDABLE;
}

#endif

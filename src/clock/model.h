/*
 * clock/model — the tightest bounds of one clock that follow from points and an assumption on its rate.
 *
 * φ maps a reading x of the clock (ticks, as a real number) to the reference's time (ns). A lower point (x,
 * y) says φ(x) >= y, an upper point φ(x) <= y. With rates within [a, b] (models B and C):
 *
 *      L(x) = max of y + a (X - x) over lower points before X, and y - b (x - X) over those after it
 *      U(x) = min of y + b (X - x) over upper points before X, and y - a (x - X) over those after it
 *
 * and with a constant rate (model A) L runs along the upper hull of the lower points between the points where
 * the two extreme feasible lines touch it, and along those lines outside; U likewise below.
 */
#ifndef GNOMON_CLOCK_MODEL_H
#define GNOMON_CLOCK_MODEL_H

#include "clock/bounds.h"
#include "clock/fixed.h"

#include <stdbool.h>
#include <stddef.h>

struct gn_point {
    uint64_t ticks;
    int64_t ns;
};

/* By ticks; of equal ticks the strongest only. The functions below want them like that. */
struct gn_points {
    struct gn_point *lower, *upper;
    size_t lower_count, upper_count;
};
void gn_points_sort(struct gn_points *points);

/* Keeps of each side those that the others do not imply under the rates. */
void gn_points_prune(struct gn_points *points, const struct gn_rates *rates);

/* rise / run between two points, run > 0. */
struct gn_slope {
    int64_t rise_ns;
    uint64_t run_ticks;
    uint64_t first_ticks; /* where the run begins */
};

/*
 * The average rates that the points allow: over the time from an upper point to a later lower one the rate
 * was at least `least`, from a lower point to a later upper one at most `most`. run_ticks 0: there are no
 * such points. O(n log n).
 */
struct gn_slopes {
    struct gn_slope least, most;
};
/* False: no memory. */
bool gn_points_slopes(const struct gn_points *points, struct gn_slopes *slopes);

/* Which two points contradict rates within [lo, hi], when some do. lower: index of the lower point, upper: of
 * the upper one. For pruned points. */
bool gn_points_contradict(const struct gn_points *points, const struct gn_rates *rates, size_t *lower,
                          size_t *upper);

/* Bounds from pruned points of both sides that do not contradict the rates. granularity_ticks: readings are
 * floored to it. 0; -ERANGE: there is no reading of which they say anything that 64 bits of ns can hold; or
 * -ENOMEM. *bounds is NULL unless it is 0, and the reason in err. Ticks and granularity are below 2^63, ns
 * between -2^62 and 2^62. */
int gn_model_within(struct gn_bounds **bounds, const struct gn_points *points, const struct gn_rates *rates,
                    uint64_t granularity_ticks, struct gn_error *err);

/* Bounds when the rate is constant: slopes as gn_points_slopes gave them, least <= most. */
int gn_model_constant(struct gn_bounds **bounds, const struct gn_points *points,
                      const struct gn_slopes *slopes, uint64_t granularity_ticks, struct gn_error *err);

#endif

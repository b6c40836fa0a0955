/*
 * baselines/corridor — the straight lines that pass above one set of points and below another.
 *
 * Readings of two clocks whose rate against each other does not change lie on a line. Messages one way are
 * points that the line must not be above of, messages the other way points that it must not be below of
 * (clocks.h); the extremes over all such lines are the best bounds there are under that assumption.
 *
 *      y │        above ∘   ∘ ╱        x: the child's reading
 *        │       ∘      ╱╱ ╱           y: the parent's
 *        │      ╱  ╱╱  •
 *        │    ╱ ╱  •        below
 *        └─────────────────────► x
 *
 * A line has two unknowns, so an extreme is a linear program in two variables. It is solved by Seidel's
 * incremental method (Small-dimensional linear programming and convex hulls made easy, 1991): points are
 * added in random order; the optimum stays unless the new point is on its wrong side, and then the new
 * optimum passes through the new point, which leaves one unknown. Expected time is linear in the points.
 * Slopes are quotients of integers and comparisons are exact, so nothing is lost to rounding.
 */
#ifndef GNOMON_BASELINES_CORRIDOR_H
#define GNOMON_BASELINES_CORRIDOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Coordinates are within ±GN_CORRIDOR_REACH of the origin. */
#define GN_CORRIDOR_REACH (INT64_C(1) << 62)

struct gn_corridor_point {
    int64_t x, y;
    bool above; /* of the line; otherwise below it */
};

/* Through (x, y) with slope rise / run, run > 0. */
struct gn_corridor_line {
    int64_t x, y;
    int64_t rise, run;
};

enum gn_corridor_extreme { GN_LOWEST, GN_HIGHEST, GN_FLATTEST, GN_STEEPEST };

/* Leaves of the points those that are corners of the two hulls, and puts them in the order in which
 * gn_corridor_find wants them (random, but the same for the same points). Returns how many are left. */
size_t gn_corridor_hulls(struct gn_corridor_point *points, size_t count);

/* Only puts them in order, all of them. */
void gn_corridor_shuffle(struct gn_corridor_point *points, size_t count);

/*
 * The line that is the lowest or the highest at x, or the flattest or steepest (x is then ignored), of those
 * that rise, or are level, by at most 2^40 per unit. False when there is none, or not at least one point
 * above and one below.
 */
bool gn_corridor_find(const struct gn_corridor_point *points, size_t count, enum gn_corridor_extreme extreme,
                      int64_t x, struct gn_corridor_line *line);

/* y at x in units of 2^-GN_CORRIDOR_BITS, rounded down or up. */
enum { GN_CORRIDOR_BITS = 10 };
__int128 gn_corridor_line_at(const struct gn_corridor_line *line, int64_t x, bool up);

#endif

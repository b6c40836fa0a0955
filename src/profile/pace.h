/*
 * profile/pace — how long an iteration of a loop takes when the loop begins, in its middle and at its end,
 * from the time series of the edges on which iterations are counted (program/iterations.h): the drift of a
 * program's time loop, in constant space.
 *
 *   iterations of all ranks, by step of the series      1 3 4 4 4 3 3 2 2 2 2 2 1
 *   the time that the first tenth of them took          ├───┤
 */
#ifndef GNOMON_PROFILE_PACE_H
#define GNOMON_PROFILE_PACE_H

#include "graph/series.h"
#include "profile/moments.h"

#include <stdbool.h>

/* Of each tenth of a loop's iterations that is looked at: ns of an iteration of one rank. */
struct gn_pace {
    bool is_known; /* there were enough iterations and steps */
    double first_ns, middle_ns, last_ns;
    double off; /* each may be wrong by so much of it: steps are no shorter */
};

/* Iterations by step, of one host; all zero at first. */
struct gn_pace_counts {
    double steps[GN_SERIES_MOST];
};

/* An edge's series, on each passage of which are so many iterations. */
void gn_pace_add(struct gn_pace_counts *counts, const void *series, size_t bytes, double each);

/* ranks: that go round. */
struct gn_pace gn_pace_of(const struct gn_pace_counts *counts, const struct gn_host_moments *moments,
                          double ranks);

#endif

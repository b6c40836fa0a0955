/*
 * trace/placed — events of hosts with counters of their own, all on the trace's clock.
 *
 * Each event keeps its place among those of its location, and gets the tick in the middle of what is known of
 * it. How far off that may be stays known: bounds of the placed ticks, as narrow as those of the clocks were.
 * For those who ask what is in a part of the run's time; the bounds say what is certain.
 */
#ifndef GNOMON_TRACE_PLACED_H
#define GNOMON_TRACE_PLACED_H

#include "clock/bounds.h"
#include "event/stream.h"

#include <stdbool.h>

struct gn_placed;

/* Whether locations of the definitions have several clocks. */
bool gn_placed_is_needed(const struct gn_definitions *definitions);

/* bounds: of each location's clock, in ns since definitions->first_ticks. Source and bounds outlive it. 0,
 * and the caller frees; or a negative errno value with err set: -ENODATA, nothing is known of a clock. */
int gn_placed_new(struct gn_placed **placed, const struct gn_source *source,
                  const struct gn_bounds *const *bounds, struct gn_error *err);
void gn_placed_free(struct gn_placed *placed); /* NULL is allowed */

/* Nobody needs to close it. */
void gn_placed_source(struct gn_placed *placed, struct gn_source *source);
/* [location_count] of the ticks that its events have. */
const struct gn_bounds *const *gn_placed_bounds(const struct gn_placed *placed);

/* From now on they also hold for ticks of a time from which parts were cut out: as wide all of the time as
 * they are at their widest. */
int gn_placed_widen(struct gn_placed *placed, struct gn_error *err);

#endif

/*
 * trace/clock_offsets — bounds of a clock as OTF2's clock offsets, and back.
 *
 * An offset says at one reading of a location's clock how far the trace's clock is ahead of it, with a
 * deviation. OTF2's readers interpolate both in a straight line between two offsets. Here offset ± deviation
 * are bounds, at each reading that has one and on the straight lines in between:
 *
 *   trace's clock
 *         │            ┌ offset + deviation
 *         │       ____─┤            the truth is in between
 *         │   ┌──'     └ offset − deviation
 *         │   └
 *         └───┼────────┼──► reading
 *
 * The trace's clock counts the archive's ticks: epoch_ticks at the reference's 0 ns. Everything is rounded
 * outward.
 */
#ifndef GNOMON_TRACE_CLOCK_OFFSETS_H
#define GNOMON_TRACE_CLOCK_OFFSETS_H

#include "clock/bounds.h"
#include "event/definitions.h"

/* By what share a clock's rate may differ from what is said of it, as the archive's bounds assume; where it
 * does not say that, as gnomon does. */
double gn_nominal_share(const struct gn_definitions *definitions);

/* A deviation of this or more says that nothing is known. */
#define GN_DEVIATION_UNKNOWN 0x1p62

enum { GN_CLOCK_OFFSETS = 1024 }; /* most of them that are worth their place in each location's file */

struct gn_trace_scale {
    uint64_t epoch_ticks; /* of the trace's clock at 0 ns */
    uint64_t ticks_per_second;
};

/* What an archive may know of a host's clock: bounds, and readings between which all its events are. */
struct gn_clock_range {
    const struct gn_bounds *bounds;
    uint64_t first_ticks, last_ticks;
};

/* Offsets at most `most` (at least 2) of them, from the range's first reading to its last. Where breakpoints
 * are left out, those that are kept get wider, so that no line in between is tighter than it was. Returns how
 * many, in *offsets, which the caller frees; 0: no memory. */
size_t gn_clock_offsets(struct gn_clock_offset **offsets, const struct gn_clock_range *range,
                        const struct gn_trace_scale *scale, size_t most);

/* The bounds that the offsets of a clock of the definitions (which has some) stand for, from the trace's
 * begin (definitions->first_ticks is 0 ns), for all of the clock's readings that the offsets cover; whatever
 * is outside is not known better than at the nearest of them. NULL: no memory, or nothing is known, with err
 * set. */
struct gn_bounds *gn_clock_offsets_bounds(const struct gn_definitions *definitions, uint32_t clock,
                                          struct gn_error *err);

#endif

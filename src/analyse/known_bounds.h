/*
 * analyse/known_bounds — what is known of the times of a trace's events: the bounds that the archive carries
 * (trace/clock_offsets.h), or, where it carries none, those that its own messages give
 * (analyse/trace_clocks.h).
 */
#ifndef GNOMON_ANALYSE_KNOWN_BOUNDS_H
#define GNOMON_ANALYSE_KNOWN_BOUNDS_H

#include "analyse/trace_clocks.h"
#include "event/definitions.h"
#include "trace/origin.h"

struct gn_known_bounds {
    struct gn_event_bounds events;
    struct gn_bounds **own; /* [own_count] of the archive, by its clocks */
    size_t own_count;
    struct gn_trace_clocks clocks; /* otherwise */
};

/* path: of the trace with these definitions, as for gn_trace_open. 0, and the caller clears; or a negative
 * errno value with err set. */
int gn_known_bounds(struct gn_known_bounds *known, const char *path, const struct gn_definitions *definitions,
                    struct gn_error *err);
/* Whether the trace's messages or its run's exchanges contradict what was assumed of a clock; its bounds then
 * rest on less. path: as above. */
bool gn_known_bounds_refuted(const struct gn_known_bounds *known, const char *path);
/* Says on standard error, as `gnomon COMMAND`, which clocks nothing is known of, and what was refuted. */
void gn_known_bounds_tell(const struct gn_known_bounds *known, const char *command);
void gn_known_bounds_clear(struct gn_known_bounds *known);

#endif

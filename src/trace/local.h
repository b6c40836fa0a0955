/* trace/local — what the event files of a location have of their own, until an archive has its definitions.
 */
#ifndef GNOMON_TRACE_LOCAL_H
#define GNOMON_TRACE_LOCAL_H

#include "event/definitions.h"

/* [number in events] = number of a definition, for all numbers below count; to = NULL: they are the same. */
struct gn_trace_map {
    const uint32_t *to;
    size_t count;
};

/* What is a location's own: numbers that its events were written with before the definitions were known, or
 * before definitions of several writers were joined; and its clock. All zero: nothing. */
struct gn_trace_local {
    struct gn_trace_map regions, paths, comms, windows;
    const struct gn_clock_offset *offsets;
    size_t offset_count;
};

#endif

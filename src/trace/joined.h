/* trace/joined — several archives that are parts of one run, as one source. */
#ifndef GNOMON_TRACE_JOINED_H
#define GNOMON_TRACE_JOINED_H

#include "event/stream.h"
#include "trace/reader.h"

struct gn_joined;

/*
 * Opens the archives at paths (trace/reader.h says what a path may be). All must have the same definitions:
 * then a location's events are those of the first archive, then of the next, … which must not go back in
 * time. *source is the caller's to close, *joined lives as long as it does, and paths have to. 0 or a
 * negative errno value.
 */
int gn_joined_open(struct gn_source *source, struct gn_joined **joined, char **paths, size_t count,
                   struct gn_error *err);

/* The reports of all archives, added up; the creator is the first one's. */
struct gn_trace_report gn_joined_report(const struct gn_joined *joined);

#endif

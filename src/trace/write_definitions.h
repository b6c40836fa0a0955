/* trace/write_definitions — the anchor and the definitions of an archive whose event files are there. */
#ifndef GNOMON_TRACE_WRITE_DEFINITIONS_H
#define GNOMON_TRACE_WRITE_DEFINITIONS_H

#include "event/definitions.h"
#include "trace/event_file.h"
#include "trace/local.h"

/* summaries: one per location of definitions: what is in its event file. locals likewise: what is its own, or
 * NULL; itself NULL when no location has anything. Returns 0 or a negative errno value.
 */
int gn_write_definitions(const char *folder, const struct gn_definitions *definitions,
                         const struct gn_event_summary *summaries, const struct gn_trace_local *const *locals,
                         struct gn_error *err);

#endif

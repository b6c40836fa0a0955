/*
 * repair/sync_split — the event files of a trace: whether they are those of its definitions, and which rank
 * of a job has which processes of the trace.
 */
#ifndef GNOMON_REPAIR_SYNC_SPLIT_H
#define GNOMON_REPAIR_SYNC_SPLIT_H

#include "base/error.h"
#include "event/definitions.h"

struct gn_sync_split {
    uint64_t *bytes; /* [location_count] of their event files, 0: there is none */
    uint32_t *owner; /* [process_count] rank: ascending, about as many bytes for each */
};

/*
 * path: as for gn_trace_open, of the archive with these definitions. Locations that should have events and
 * have no file, and files of no location, are an error unless keeps_going. 0, and the caller clears; or a
 * negative errno value with err set.
 */
int gn_sync_split(struct gn_sync_split *split, const char *path, const struct gn_definitions *definitions,
                  uint32_t ranks, bool keeps_going, struct gn_error *err);
void gn_sync_split_clear(struct gn_sync_split *split);

#endif

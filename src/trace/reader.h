/*
 * trace/reader — any OTF2 archive as a source of events.
 *
 * Events are read in batches per location as they are asked for: memory is bounded by what is open
 * (locations, definitions, requests), not by the file. References are mapped to dense indices. A
 * collective_begin is held until its end is read, so that it says which collective it is. What an archive
 * gets wrong is repaired where the meaning is clear, and counted in the report; what gnomon does not know is
 * skipped and counted.
 */
#ifndef GNOMON_TRACE_READER_H
#define GNOMON_TRACE_READER_H

#include "event/stream.h"
#include "trace/report.h"

/*
 * Opens the archive whose anchor file (traces.otf2, *.otf2) is at path, or the only one in the folder at path
 * (or in its trace/ subfolder: a run's). The source is the caller's to close. *report stays valid until then.
 * Returns 0 or a negative errno value with err saying what, where, and what to do.
 */
int gn_trace_open(struct gn_source *source, const struct gn_trace_report **report, const char *path,
                  struct gn_error *err);

#endif

/*
 * trace/retime_records — files of definitions and of markers again: each record as it was, changed or left
 * out. Where nothing changes the file is copied as it is.
 */
#ifndef GNOMON_TRACE_RETIME_RECORDS_H
#define GNOMON_TRACE_RETIME_RECORDS_H

#include "base/error.h"
#include "trace/retimer.h"

/* All return 0 or a negative errno value. chunk: the archive's size of the chunks of definitions, in bytes.
 * to must not be there yet. */

/* The global definitions (*.def): the clock's properties say the range, and when its begin was in real time.
 * -EBADMSG: they cannot be understood. */
int gn_retime_definitions(const char *from, const char *to, uint64_t chunk,
                          const struct gn_retime_range *range, struct gn_error *err);

/* A location's own definitions without clock offsets. What cannot be understood is copied as it is: readers
 * leave it alone then, as they did before. */
int gn_retime_without_offsets(const char *from, const char *to, uint64_t chunk, struct gn_error *err);

/* Markers, moved into the range where they are out of it. What cannot be understood is copied as it is. */
int gn_retime_markers(const char *from, const char *to, uint64_t chunk, const struct gn_retime_range *range,
                      struct gn_error *err);

#endif

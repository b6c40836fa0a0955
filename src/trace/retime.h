/*
 * trace/retime — an OTF2 archive again, with other timestamps and everything else as it was.
 *
 * Event files are copied record by record as bytes: kinds of records that nobody here knows, attributes and
 * the order of everything stay. Only timestamps change, and with them where chunks end. Definitions are
 * copied, too, but for what says how to correct clocks (the new times are corrected) and from when to when
 * the trace is.
 *
 * The new archive is made under another name beside its place, and gets its own when it is complete: there is
 * never half an archive. Several processes may write locations of one archive, each its own.
 */
#ifndef GNOMON_TRACE_RETIME_H
#define GNOMON_TRACE_RETIME_H

#include "base/error.h"
#include "trace/retimer.h"

#include <stdbool.h>
#include <stdint.h>

struct gn_retime;

/* Whether gn_retime_open with these can succeed, as far as that can be told without changing anything: early,
 * where much is done before. Its errors. */
int gn_retime_check(const char *path, const char *out, struct gn_error *err);

/*
 * path: as for gn_trace_open (trace/reader.h). out: the folder of the new archive, which must not be there
 * yet (or be empty), nor be inside of the old one's; its anchor gets the name of the old one. maker: whether
 * this process makes the unfinished folder (and later names it); the others find it: they open after it has.
 * 0 or a negative errno value with err set: no archive, compressed or in a container (-ENOTSUP), out exists
 * (-EEXIST), another process is making it (-EBUSY), no permission, no room …
 */
int gn_retime_open(struct gn_retime **retime, const char *path, const char *out, bool maker,
                   struct gn_error *err);

/* Writes the event file of a location (as the archive calls it: gn_location_def.file_id), once. Several
 * threads may do that at the same time. Of a file that was cut off, what is not whole is left out, and it
 * ends in order; one that ends in order and yet has something else in it than records is an error (-EBADMSG),
 * as is one that is no event file. retimer NULL: the same timestamps, the same bytes. *events: how many
 * records that are events. A location without a file gets none. */
int gn_retime_location(struct gn_retime *retime, uint64_t file_id, const struct gn_retimer *retimer,
                       uint64_t *events, struct gn_error *err);

/* Everything but event files: anchor, definitions, markers, whatever else belongs to the archive. Clock
 * offsets are left out when drop_offsets. Markers, snapshots and thumbnails: see docs/repair-archive.md. By
 * one process, the maker. */
int gn_retime_rest(struct gn_retime *retime, const struct gn_retime_range *range, bool drop_offsets,
                   struct gn_error *err);

/* By the maker, after all processes are done: event files that nobody asked for are copied as they are, and
 * the archive gets its name when it is on the disk. */
int gn_retime_finish(struct gn_retime *retime, struct gn_error *err);

/* Unless it was finished, the maker removes what was written. NULL is allowed. */
void gn_retime_close(struct gn_retime *retime);

#endif

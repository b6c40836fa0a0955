/*
 * cli/live_copy — a run that goes on, as it is now: a folder of its own, with what a run has that has ended,
 * for as long as the command lasts. It is removed when the command ends, by a signal, too.
 */
#ifndef GNOMON_CLI_LIVE_COPY_H
#define GNOMON_CLI_LIVE_COPY_H

#include "base/error.h"

#include <sqlite3.h>
#include <stddef.h>

/* Finishes a run that was killed with all of gnomon, and says so (agent/abandoned.h). 0: it has ended, or is
 * no run's folder at all; -EBUSY: it goes on; other negative errno values. */
int gn_live_finish(const char *folder, struct gn_error *err);

/* On standard error, where --live was asked for. */
void gn_live_tell_ended(const char *folder);

/*
 * One of a process; ahead of other threads. folder: the run's. copy: that folder, in $TMPDIR or /tmp; the
 * run's own where it has ended. *db: the profile, which the caller closes. Errors: as gn_peek_copy.
 */
int gn_live_copy(sqlite3 **db, const char *folder, char *copy, size_t size, struct gn_error *err);

#endif

/* cli/locate — the profile of the run that a command names. */
#ifndef GNOMON_CLI_LOCATE_H
#define GNOMON_CLI_LOCATE_H

#include "base/error.h"
#include "profile/period.h"

#include <sqlite3.h>
#include <stdbool.h>

#include <stddef.h>

/*
 * run: a run's folder or its profile.db; NULL: the newest folder here. Waits for the agent of a run that has
 * just ended. The folder (or the profile, when that was named) and the profile's path come back in the
 * caller's buffers. Errors: negative errno.
 */
int gn_locate_profile(const char *run, char *folder, size_t folder_size, char *profile, size_t profile_size,
                      struct gn_error *err);

/* What is wanted of it: all; or of a run that goes on what it has done until now (agent/peek.h); or of a part
 * of it only, where to_s > 0 (profile/period.h). */
struct gn_located_part {
    bool live, with_events; /* windows of its events, too */
    struct gn_period period;
};

/* The same, and opened. The caller closes; *db is NULL after an error. Of a run that goes on the profile's
 * path is where its windows of events are beside it (cli/live_copy.h), if they are wanted. */
int gn_locate_open(sqlite3 **db, const char *run, const struct gn_located_part *part, char *folder,
                   size_t folder_size, char *profile, size_t profile_size, struct gn_error *err);

#endif

#include "cli/locate.h"

#include "cli/live_copy.h"
#include "cli/place.h"
#include "agent/abandoned.h"
#include "agent/folder.h"
#include "agent/peek.h"
#include "profile/profile.h"
#include "profile/world.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int gn_locate_profile(const char *run, char *folder, size_t folder_size, char *profile, size_t profile_size,
                      struct gn_error *err)
{
    struct stat info;
    int code = gn_place_find(run, folder, folder_size, err);
    if (code != 0)
        return code;
    run = folder;
    if (stat(run, &info) != 0)
        return gn_fail(err, -errno, "cannot read the run %s: %s", run, strerror(errno));
    snprintf(profile, profile_size, S_ISDIR(info.st_mode) ? "%s/profile.db" : "%s", run);
    char parts[4200];
    snprintf(parts, sizeof parts, "%s/parts", run);
    gn_place_wait(run);
    if (access(profile, F_OK) == 0 || access(parts, F_OK) != 0)
        return 0;
    struct gn_error reason;
    code = gn_abandoned_finish(run, &reason);
    if (code == -EBUSY)
        return gn_fail(err, code, "the run %s has no profile.db yet: %s", run, reason.text);
    if (code < 0)
        return gn_fail(err, code, "%s", reason.text);
    if (code > 0)
        fprintf(stderr, "gnomon: %s was never finished: done now, with what had been saved\n", run);
    return 0;
}

static int open_run(sqlite3 **db, const char *run, const struct gn_located_part *part, char *folder,
                    size_t folder_size, char *profile, size_t profile_size, struct gn_error *err)
{
    int code;
    *db = NULL;
    if (!part->live) {
        code = gn_locate_profile(run, folder, folder_size, profile, profile_size, err);
        return code == 0 ? gn_profile_open(db, profile, err) : code;
    }
    code = gn_place_find(run, folder, folder_size, err);
    if (code != 0)
        return code;
    char copy[4096];
    if (!part->with_events) {
        snprintf(profile, profile_size, "%s/profile.db", folder);
        return gn_peek(db, folder, err);
    }
    code = gn_live_copy(db, folder, copy, sizeof copy, err);
    snprintf(profile, profile_size, "%s/profile.db", copy);
    return code;
}

int gn_locate_open(sqlite3 **db, const char *run, const struct gn_located_part *part, char *folder,
                   size_t folder_size, char *profile, size_t profile_size, struct gn_error *err)
{
    int code = open_run(db, run, part, folder, folder_size, profile, profile_size, err);
    if (code == 0 && part->period.to_s > 0) {
        code = gn_period_select(*db, &part->period, err);
        if (code == 0)
            code = gn_world_select(*db, 0, err);
        if (code != 0) {
            gn_profile_close(*db);
            *db = NULL;
        }
    }
    return code;
}

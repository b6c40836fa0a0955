#include "cli/locate.h"

#include "cli/live_copy.h"
#include "cli/place.h"
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
    gn_place_wait(run);
    return gn_live_finish(run, err);
}

static int open_run(sqlite3 **db, const char *run, const struct gn_located_part *part, char *folder,
                    size_t folder_size, char *profile, size_t profile_size, struct gn_error *err)
{
    char copy[4096];
    *db = NULL;
    int code = part->live ? gn_place_find(run, folder, folder_size, err) : 0;
    if (code == 0 && part->live)
        code = gn_live_finish(folder, err);
    if (code == 0) {
        code = gn_locate_profile(run, folder, folder_size, profile, profile_size, err);
        code = code == 0 ? gn_profile_open(db, profile, err) : code;
        if (code == 0 && part->live)
            gn_live_tell_ended(folder);
        return code;
    }
    if (code != -EBUSY)
        return code;
    if (!part->with_events) {
        snprintf(profile, profile_size, "%s/profile.db", folder);
        return gn_peek(db, folder, err);
    }
    struct gn_error why;
    code = gn_live_copy(db, folder, copy, sizeof copy, &why);
    snprintf(profile, profile_size, "%s/profile.db", code == 0 ? copy : folder);
    if (code == 0)
        return 0;
    code = gn_peek(db, folder, err); /* without events there is something to say, too */
    if (code == 0)
        gn_profile_set(*db, "windows/all/error", why.text, NULL);
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

#include "agent/abandoned.h"

#include "capture/channel.h"
#include "agent/folder.h"
#include "agent/mark.h"
#include "agent/parts.h"
#include "agent/trace_complete.h"
#include "profile/clock.h"
#include "profile/profile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The host that somebody may still be at work on, in err. */
static int find_living(const char *parts, struct gn_error *err)
{
    int code = 0;
    DIR *folder = opendir(parts);
    for (struct dirent *entry; folder && code == 0 && (entry = readdir(folder));) {
        char path[4600];
        snprintf(path, sizeof path, "%s/%s", parts, entry->d_name);
        if (!gn_part_has_ending(entry->d_name, ".open"))
            continue;
        if (gn_mark_is_alive(path))
            code = gn_fail(err, -EBUSY, "gnomon is still at work on %.*s", (int)strlen(entry->d_name) - 5,
                           entry->d_name);
    }
    if (folder)
        closedir(folder);
    return code;
}

/* What can be read of the trace is in any case more than nothing. */
static void complete_trace(const char *folder, sqlite3 *db)
{
    struct gn_error err;
    if (gn_trace_complete(folder, db, &err) < 0)
        gn_profile_set(db, "trace/all/error", err.text, NULL);
}

static void release(const char *parts)
{
    DIR *folder = opendir(parts);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (gn_part_has_ending(entry->d_name, ".reserve"))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}

static int make_whole(const char *folder, const char *parts, sqlite3 *db, bool *all, struct gn_error *err)
{
    char profile[4200];
    const struct gn_assumption assumption = gn_assumption_default();
    int count = gn_parts_merge(parts, db, all, err);
    int code = count < 0 ? count : 0;
    if (code == 0)
        code = gn_profile_resolve(db, NULL, NULL, err);
    if (code == 0)
        code = gn_profile_solve_clocks(db, &assumption, err);
    if (code != 0)
        return code;
    complete_trace(folder, db);
    gn_windows_complete(folder, db);
    if (count == 0)
        return gn_fail(err, -ENODATA, "%s: gnomon was ended with the run before anything was saved", folder);
    snprintf(profile, sizeof profile, "%s/profile.db", folder);
    release(parts);
    return gn_profile_save(db, profile, err);
}

static int finish(const char *folder, const char *parts, struct gn_error *err)
{
    sqlite3 *db;
    bool all = false;
    int code = find_living(parts, err);
    if (code == 0)
        code = gn_profile_create(&db, ":memory:", err);
    if (code != 0)
        return code;
    code = make_whole(folder, parts, db, &all, err);
    gn_profile_close(db);
    if (code != 0)
        return code;
    if (!all) /* what cannot be read here may be all that there is of it */
        return 2;
    gn_folder_remove_parts(folder);
    return 1;
}

/* The disk was full when the run ended. */
static int finish_trace(const char *folder, const char *profile, struct gn_error *err)
{
    sqlite3 *db;
    int code = gn_profile_create(&db, ":memory:", err);
    if (code != 0)
        return code;
    code = gn_profile_merge(db, profile, err); /* without what was solved of the clocks */
    const struct gn_assumption assumption = gn_profile_assumption(db);
    if (code == 0)
        code = gn_profile_solve_clocks(db, &assumption, err);
    if (code == 0)
        code = gn_trace_complete(folder, db, err);
    if (code > 0)
        code = gn_profile_save(db, profile, err);
    gn_profile_close(db);
    return code < 0 ? code : 1;
}

static int finish_what_is_left(const char *folder, struct gn_error *err)
{
    char profile[4200], parts[4200], path[4300];
    snprintf(profile, sizeof profile, "%s/profile.db", folder);
    snprintf(parts, sizeof parts, "%s/parts", folder);
    snprintf(path, sizeof path, "%s/lock", parts);
    if (access(profile, F_OK) == 0 && access(parts, F_OK) != 0)
        return gn_trace_is_unfinished(folder) ? finish_trace(folder, profile, err) : 0;
    if (access(profile, F_OK) == 0 || access(parts, F_OK) != 0)
        return 0;
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0) {
        close(lock);
        return gn_fail(err, -EBUSY, "somebody else is about to finish %s", folder);
    }
    int code = access(profile, F_OK) == 0 ? 0 : finish(folder, parts, err);
    if (lock >= 0)
        close(lock);
    return code;
}

int gn_abandoned_finish(const char *folder, struct gn_error *err)
{
    struct stat info;
    if (stat(folder, &info) != 0)
        return gn_fail(err, -errno, "cannot read the run %s: %s", folder, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return gn_fail(err, -ENOTDIR, "%s is not the folder of a run", folder);
    const mode_t before = umask(077); /* as in a run: what was measured is nobody else's */
    const int code = finish_what_is_left(folder, err);
    umask(before);
    return code;
}

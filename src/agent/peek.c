#include "agent/peek.h"

#include "agent/mark.h"
#include "agent/part_file.h"
#include "agent/parts.h"
#include "agent/trace_complete.h"
#include "agent/trace_join.h"
#include "agent/trace_part.h"
#include "profile/clock.h"
#include "profile/statement.h"
#include "trace/copy_file.h"
#include "trace/event_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 3000, LOOK_MS = 20 };

static bool is_earlier(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Whether a host that takes part has saved since it was asked. */
static bool has_answered(const char *parts, const char *mark, const struct timespec *asked)
{
    char path[4600];
    struct stat saved;
    snprintf(path, sizeof path, "%s/%.*s.db", parts, (int)(strlen(mark) - strlen(".open")), mark);
    return stat(path, &saved) == 0 && !is_earlier(&saved.st_mtim, asked);
}

static bool all_have_answered(const char *parts, const struct timespec *asked)
{
    bool all = true;
    DIR *folder = opendir(parts);
    for (struct dirent *entry; folder && all && (entry = readdir(folder));)
        if (gn_part_has_ending(entry->d_name, ".open"))
            all = has_answered(parts, entry->d_name, asked);
    if (folder)
        closedir(folder);
    return all;
}

/* A file's time is that of the file system, which the answers have, too. */
static void ask(const char *parts)
{
    char path[4600];
    struct stat asked;
    snprintf(path, sizeof path, "%s/asked", parts);
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return; /* somebody else's run: what was saved has to do */
    const bool is_asked = futimens(file, NULL) == 0 && fstat(file, &asked) == 0;
    close(file);
    for (int ms = 0; is_asked && ms < PATIENCE_MS && !all_have_answered(parts, &asked.st_mtim); ms += LOOK_MS)
        usleep(LOOK_MS * 1000);
}

static int join(sqlite3 *db, const char *parts, struct gn_error *err)
{
    const struct gn_assumption assumption = gn_assumption_default();
    bool all;
    const int count = gn_parts_merge(parts, db, &all, err);
    if (count == 0)
        return gn_fail(err, -ENODATA, "nothing has been saved in %s yet", parts);
    int code = count < 0 ? count : gn_profile_set(db, "live", "1", err);
    if (code == 0) /* who reads a checkpoint of a run that is over learns something else */
        code = gn_sql(db, err,
                      "UPDATE clock_domain SET problem = 'the run goes on: its clock is known until this was "
                      "saved' WHERE problem GLOB 'its agent did not live *'",
                      "");
    if (code == 0)
        code = gn_profile_resolve(db, NULL, NULL, err);
    return code == 0 ? gn_profile_solve_clocks(db, &assumption, err) : code;
}

/* ---- its windows of events ---- */

enum { PATH_BYTES = 4800, LINK_BYTES = 4096 };

/* As much as there is now: they may grow. Events first: of what they refer to there is more and more. */
static int copy_part(const char *from, const char *to, struct gn_error *err)
{
    char old[PATH_BYTES], new[PATH_BYTES];
    int code = mkdir(to, 0700) == 0 ? 0 : gn_fail(err, -errno, "cannot make %s: %s", to, strerror(errno));
    snprintf(old, sizeof old, "%s/" GN_ARCHIVE_NAME, from);
    snprintf(new, sizeof new, "%s/" GN_ARCHIVE_NAME, to);
    if (code == 0)
        code = gn_copy_tree(old, new, err);
    snprintf(old, sizeof old, "%s/" GN_PART_FILE, from);
    snprintf(new, sizeof new, "%s/" GN_PART_FILE, to);
    return code == 0 ? gn_copy_file(old, new, err) : code;
}

static int copy_windows(const char *folder, const char *copy, struct gn_error *err)
{
    static const char name[] = GN_WINDOWS_NAME;
    int code = 0;
    DIR *run = opendir(folder);
    for (struct dirent *entry; run && code == 0 && (entry = readdir(run));) {
        char from[LINK_BYTES + 260], to[LINK_BYTES + 260], part[LINK_BYTES + 280];
        const char *rest = entry->d_name + strlen(name);
        if (strncmp(entry->d_name, name, strlen(name)) != 0 || (*rest && *rest != '-'))
            continue;
        snprintf(from, sizeof from, "%.4000s/%s", folder, entry->d_name);
        snprintf(to, sizeof to, "%.4000s/%s", copy, entry->d_name);
        snprintf(part, sizeof part, "%s/" GN_PART_FILE, from);
        if (access(part, F_OK) == 0)
            code = copy_part(from, to, err);
    }
    if (run)
        closedir(run);
    return code;
}

/* Files are copied ahead of all else that takes long: when the run ends they go. Returns 1 where it has. */
static int peek(sqlite3 **db, const char *folder, const char *copy, struct gn_error *err)
{
    char parts[4200], profile[4200];
    struct gn_error copied = {""};
    snprintf(parts, sizeof parts, "%s/parts", folder);
    snprintf(profile, sizeof profile, "%s/profile.db", folder);
    *db = NULL;
    if (access(profile, F_OK) != 0 && access(parts, F_OK) != 0)
        return gn_fail(err, -errno, "%s is not the folder of a run: %s", folder, strerror(errno));
    int code = 0;
    if (access(profile, F_OK) != 0) {
        ask(parts);
        if (copy)
            copy_windows(folder, copy, &copied);
        code = gn_profile_create(db, ":memory:", err);
        code = code == 0 ? join(*db, parts, err) : code;
    }
    if (access(profile, F_OK) == 0) { /* perhaps only by now */
        gn_profile_close(*db);
        code = gn_profile_open(db, profile, err);
        return code == 0 ? 1 : code;
    }
    if (code == 0 && copy && !copied.text[0])
        gn_windows_complete(copy, *db);
    else if (code == 0)
        gn_windows_forget(*db, copied.text);
    if (code != 0) {
        gn_profile_close(*db);
        *db = NULL;
    }
    return code;
}

int gn_peek(sqlite3 **db, const char *folder, struct gn_error *err)
{
    const int code = peek(db, folder, NULL, err);
    return code > 0 ? 0 : code;
}

int gn_peek_copy(sqlite3 **db, const char *folder, const char *copy, struct gn_error *err)
{
    char profile[LINK_BYTES + 16];
    int code = peek(db, folder, copy, err);
    snprintf(profile, sizeof profile, "%.4000s/profile.db", copy);
    if (code == 0)
        code = gn_profile_save(*db, profile, err);
    if (code < 0) {
        gn_profile_close(*db);
        *db = NULL;
    }
    return code;
}

#include "agent/trace_complete.h"

#include "image/source_line.h"
#include "agent/part_file.h"
#include "agent/trace_join.h"
#include "agent/trace_part.h"
#include "agent/trace_paths.h"
#include "profile/profile.h"
#include "profile/statement.h"
#include "trace/event_file.h"
#include "trace/writer.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int recover(const struct gn_agent_part *part, const char *path, struct gn_error *err)
{
    const struct gn_definitions *d = part->translate->definitions;
    struct gn_trace_local local = {.paths = {part->paths, part->translate->node_count}};
    const struct gn_trace_local **locals = calloc(d->location_count + 1, sizeof *locals);
    if (!locals)
        return gn_fail(err, -ENOMEM, "no memory to complete %s", path);
    for (size_t i = 0; i < d->location_count; i++)
        locals[i] = &local;
    int code = gn_trace_recover_mapped(path, d, locals, err);
    free(locals);
    return code;
}

/* What is in the event files: repairing them once more only says so. */
static uint64_t count_events(const struct gn_definitions *d, const char *path)
{
    uint64_t events = 0;
    for (size_t i = 0; i < d->location_count; i++) {
        struct gn_event_summary summary;
        char *file = gn_event_file_path(path, d->locations[i].file_id);
        if (file && gn_event_file_repair(file, &summary, NULL) == 0)
            events += summary.events;
        free(file);
    }
    return events;
}

static void note(sqlite3 *profile, const char *host, const char *what, const char *value)
{
    char key[256];
    snprintf(key, sizeof key, "trace/%s/%s", host, what);
    gn_profile_set(profile, key, value, NULL);
}

/* The agent has said all but that it is an archive now: what else it had said of it no longer holds. */
static void note_finished(sqlite3 *profile, const char *host)
{
    gn_sql(profile, NULL, "DELETE FROM run WHERE key = 'trace/' || ? || '/error'", "s", host);
    gn_sql(profile, NULL,
           "UPDATE run SET key = 'trace/' || ? || '/error' WHERE key = 'trace/' || ? || '/stopped'", "ss",
           host, host);
}

static bool is_noted(sqlite3 *profile, const char *host, const char *what)
{
    char key[256], value[64];
    snprintf(key, sizeof key, "trace/%s/%s", host, what);
    return gn_profile_get(profile, key, value, sizeof value) > 0;
}

/* As agent/trace_part notes it of one that it has finished. How much is missing nobody knows. */
static void note_all(sqlite3 *profile, const struct gn_translate *t, const char *path)
{
    const struct gn_definitions *d = t->definitions;
    const char *host = gn_string(d, d->system_nodes[t->host].name);
    char events[32];
    snprintf(events, sizeof events, "%" PRIu64, count_events(d, path));
    note(profile, host, "path", strrchr(path, '/') + 1);
    if (is_noted(profile, host, "unwritten")) {
        note_finished(profile, host);
        return;
    }
    note(profile, host, "events", events);
    note(profile, host, "error",
         "gnomon was ended with the run; it holds what had been written, and nothing of what came later");
}

/* Events are younger than the profile that was saved last: it does not know all of their call sites. Those in
 * an interpreted language's sources have their places in the events' definitions alone. */
static int find_places(const struct gn_translate *t, sqlite3 *profile, struct gn_error *err)
{
    int code = 0;
    for (size_t i = 0; i < t->node_count && code == 0; i++) {
        if (t->nodes[i].module == GN_NONE)
            continue;
        const struct gn_trace_module *m = &t->modules[t->nodes[i].module];
        if (strcmp(m->build_id, GN_SOURCE_BUILD_ID) == 0)
            continue;
        code = gn_sql(profile, err, "INSERT OR IGNORE INTO module(path, build_id) VALUES(?, ?)", "ss",
                      m->path, m->build_id);
        if (code == 0)
            code = gn_sql(
                profile, err,
                "INSERT OR IGNORE INTO site(module, offset) SELECT id, ? FROM module WHERE path = ? AND "
                "build_id = ?",
                "iss", (int64_t)t->nodes[i].what, m->path, m->build_id);
    }
    return code == 0 ? gn_profile_resolve(profile, NULL, NULL, err) : code;
}

struct unfinished {
    const char *name; /* "trace": an archive of all events, of which the profile says how many there are */
    char path[4700];
    bool several_hosts; /* its file is needed once more, to join them */
};

static int complete_one(const struct unfinished *u, sqlite3 *profile, struct gn_error *err)
{
    struct gn_agent_part part;
    char file[4800];
    int code = gn_part_load(&part, u->path, err);
    if (code != 0)
        return code;
    snprintf(file, sizeof file, "%s/reserve", u->path);
    unlink(file);
    if (!part.paths)
        code = find_places(part.translate, profile, err);
    if (code == 0 && !part.paths)
        code = gn_trace_paths(part.translate, profile, &part.paths, err);
    if (code == 0)
        code = recover(&part, u->path, err);
    if (code == 0 && strcmp(u->name, GN_TRACE_NAME) == 0)
        note_all(profile, part.translate, u->path);
    snprintf(file, sizeof file, "%s/" GN_PART_FILE, u->path);
    if (code == 0 && u->several_hosts)
        code = gn_part_save(&part, u->path, err);
    else if (code == 0)
        unlink(file);
    gn_part_clear(&part);
    return code;
}

static bool is_unfinished(const char *path)
{
    char file[4800];
    snprintf(file, sizeof file, "%s/" GN_PART_FILE, path);
    if (access(file, F_OK) != 0)
        return false;
    snprintf(file, sizeof file, "%s/traces.otf2", path);
    return access(file, F_OK) != 0;
}

/* The next one of that name in an opened folder. */
static bool find_unfinished(struct unfinished *u, DIR *run, const char *folder, const char *name)
{
    const size_t length = strlen(name);
    *u = (struct unfinished){.name = name};
    for (struct dirent *entry; run && (entry = readdir(run));) {
        u->several_hosts =
            entry->d_name[0] && strncmp(entry->d_name, name, length) == 0 && entry->d_name[length] == '-';
        snprintf(u->path, sizeof u->path, "%s/%s", folder, entry->d_name);
        if ((u->several_hosts || strcmp(entry->d_name, name) == 0) && is_unfinished(u->path))
            return true;
    }
    return false;
}

bool gn_trace_is_unfinished(const char *folder)
{
    struct unfinished u;
    DIR *run = opendir(folder);
    const bool found = find_unfinished(&u, run, folder, GN_TRACE_NAME);
    if (run)
        closedir(run);
    return found;
}

/* How many. */
static int complete(const char *folder, const char *name, sqlite3 *profile, struct gn_error *err)
{
    struct unfinished u;
    int count = 0, code = 0;
    DIR *run = opendir(folder);
    while (code == 0 && find_unfinished(&u, run, folder, name)) {
        code = complete_one(&u, profile, err);
        count += code == 0;
    }
    if (run)
        closedir(run);
    return code < 0 ? code : count;
}

static bool has_archive(const char *folder)
{
    char anchor[4800];
    snprintf(anchor, sizeof anchor, "%s/" GN_WINDOWS_NAME "/" GN_ARCHIVE_NAME ".otf2", folder);
    return access(anchor, F_OK) == 0;
}

void gn_windows_complete(const char *folder, sqlite3 *profile)
{
    struct gn_error err = {""};
    int code = complete(folder, GN_WINDOWS_NAME, profile, &err);
    const bool alone = gn_sql_value(profile, 0,
                                    "SELECT count(*) FROM run WHERE key GLOB '" GN_WINDOWS_NAME
                                    "/*/path' AND value = '" GN_WINDOWS_NAME "'",
                                    "") > 0;
    if (code >= 0 && !alone) {
        gn_trace_join_windows(folder, profile);
        return;
    }
    if (code >= 0 && !has_archive(folder))
        code = gn_fail(&err, -ENOENT, "nothing is left of the windows of events");
    if (code < 0)
        gn_windows_forget(profile, err.text);
    if (code < 0 && !alone)
        gn_trace_join_discard(folder, GN_WINDOWS_NAME);
}

int gn_trace_complete(const char *folder, sqlite3 *profile, struct gn_error *err)
{
    const int count = complete(folder, GN_TRACE_NAME, profile, err);
    int joined = count > 0 ? gn_trace_join(folder, GN_TRACE_NAME, profile, err) : count;
    if (joined > 0)
        gn_sql(profile, NULL, "UPDATE run SET value = 'trace' WHERE key GLOB 'trace/*/path'", "");
    return joined < 0 ? joined : count;
}

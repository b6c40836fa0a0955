#include "cli/history.h"

#include "base/printable.h"
#include "cli/asked_part.h"
#include "cli/place.h"
#include "analyse/trace_worlds.h"
#include "cli/watched_source.h"
#include "event/ahead.h"
#include "agent/folder.h"
#include "profile/profile.h"
#include "profile/summary.h"
#include "trace/archive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- all ---- */

static int read_history(struct gn_cli_history *o, const struct gn_cli_history_settings *settings,
                        struct gn_error *err)
{
    struct gn_source whole = o->source;
    const struct gn_bounds *const *bounds = o->known.events.of;
    int code = 0;
    if (gn_asked_part_is_set() && gn_placed_is_needed(o->source.definitions)) {
        code = gn_placed_new(&o->placed, &o->source, bounds, err);
        if (code != 0)
            return code;
        gn_placed_source(o->placed, &whole);
        bounds = gn_placed_bounds(o->placed);
    }
    const struct gn_history_settings asked = {.bounds = bounds,
                                              .refuted = gn_known_bounds_refuted(&o->known, o->path),
                                              .is_partial =
                                                  gn_asked_part_is_set() || gn_trace_is_partial(o->path),
                                              .longest_ns = settings->longest_ns,
                                              .has_tracks = settings->has_tracks};
    struct gn_watched_source watched;
    struct gn_source seen = gn_watch_source(&watched, &whole, "reading"), part;
    struct gn_windowed *cut = NULL;
    code = gn_asked_part_is_set() ? gn_asked_part_cut(&cut, &part, &seen, o->path, err) : 0;
    if (code == 0)
        code = gn_history_read(&o->history, cut ? &part : &seen, &asked, err);
    gn_windowed_free(cut);
    gn_progress_end(&watched.progress);
    return code;
}

static int read_all(struct gn_cli_history *o, const struct gn_cli_history_settings *settings,
                    struct gn_error *err)
{
    int code = gn_known_bounds(&o->known, o->path, o->source.definitions, err);
    if (code < 0)
        return code;
    gn_source_ahead(&o->source); /* without it, it only takes longer */
    code = read_history(o, settings, err);
    if (code < 0) {
        gn_placed_free(o->placed);
        gn_known_bounds_clear(&o->known);
    }
    return code;
}

/* Whether the windows of a run are all of it; *kept: whether there are any. */
static bool has_whole_windows(const char *profile, bool *kept)
{
    struct gn_windows_facts windows = {.path = ""};
    sqlite3 *db;
    *kept = false;
    if (gn_profile_open(&db, profile, NULL) != 0)
        return false;
    gn_summarise_windows(db, &windows);
    gn_profile_close(db);
    free(windows.kept);
    *kept = windows.count > 0;
    return windows.is_whole && strchr(windows.path, '/') == NULL;
}

/* A run that was measured without a trace has a profile and no archive; but where its only window is all of
 * it, that is as good. */
static int check_run(struct gn_cli_history *o, struct gn_error *err)
{
    struct gn_archive archive;
    char profile[4096 + 16];
    bool kept;
    int code = gn_archive_find(&archive, o->path, err);
    snprintf(profile, sizeof profile, "%s/profile.db", o->path);
    if (code != -ENOENT || access(profile, F_OK) != 0)
        return code;
    const size_t length = strlen(o->path);
    if (has_whole_windows(profile, &kept) && length + sizeof "/windows" <= sizeof o->path) {
        strcpy(o->path + length, "/windows");
        return gn_archive_find(&archive, o->path, err);
    }
    return gn_fail(err, code, "there is no trace in the run %s%s: measure it again with `gnomon run --trace`",
                   o->path, kept ? ", and its windows are not all of it" : "");
}

/* Ranks of different worlds have the same numbers and never wait for each other. */
static int check_worlds(const char *path, struct gn_error *err)
{
    const size_t worlds = gn_trace_worlds(path);
    if (worlds <= 1)
        return 0;
    return gn_fail(
        err, -ENOTSUP,
        "the trace of %s has %zu separate worlds of MPI processes, which have nothing to do with each "
        "other: gnomon report says which, and why",
        path, worlds);
}

static int check_size(const struct gn_cli_history *o, const struct gn_cli_history_settings *settings,
                      struct gn_error *err)
{
    const uint64_t events = gn_defined_events(o->source.definitions);
    if (settings->most_events && events > settings->most_events)
        return gn_fail(err, -EFBIG, "the trace has %" PRIu64 " events, more than %" PRIu64, events,
                       settings->most_events);
    return 0;
}

int gn_cli_history_open(struct gn_cli_history *opened, const char *path,
                        const struct gn_cli_history_settings *settings, struct gn_error *err)
{
    *opened = (struct gn_cli_history){.found = NULL};
    int code = gn_place_find(path, opened->path, sizeof opened->path, err);
    if (code == 0)
        code = check_run(opened, err);
    if (code == 0)
        code = check_worlds(opened->path, err);
    if (code == 0)
        code = gn_trace_open(&opened->source, &opened->found, opened->path, err);
    if (code < 0)
        return code;
    code = check_size(opened, settings, err);
    if (code == 0)
        code = read_all(opened, settings, err);
    if (code < 0)
        opened->source.close(opened->source.self);
    gn_printable(opened->path);
    return code < 0 ? code : 0;
}

void gn_cli_history_close(struct gn_cli_history *opened)
{
    gn_history_clear(&opened->history);
    gn_placed_free(opened->placed);
    gn_known_bounds_clear(&opened->known);
    opened->source.close(opened->source.self);
    *opened = (struct gn_cli_history){.found = NULL};
}

void gn_cli_history_tell(const struct gn_cli_history *opened, const char *command)
{
    const struct gn_trace_report *found = opened->found;
    gn_known_bounds_tell(&opened->known, command);
    gn_trace_worlds_tell(opened->path, command);
    if (opened->known.own && opened->history.refuted)
        fprintf(
            stderr,
            "gnomon %s: the run's exchanges contradict what was assumed of a clock; a weaker assumption is "
            "used for it: gnomon clock %s\n",
            command, opened->path);
    if (found->truncated || found->missing_files)
        fprintf(stderr,
                "gnomon %s: the trace is not whole: %" PRIu64 " locations end early, %" PRIu64
                " have no events file\n",
                command, found->truncated, found->missing_files);
}

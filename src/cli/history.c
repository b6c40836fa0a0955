#include "cli/history.h"

#include "base/printable.h"
#include "cli/asked_part.h"
#include "cli/live_copy.h"
#include "cli/naps.h"
#include "cli/place.h"
#include "analyse/trace_worlds.h"
#include "cli/watched_source.h"
#include "event/ahead.h"
#include "agent/folder.h"
#include "profile/profile.h"
#include "profile/statement.h"
#include "profile/summary.h"
#include "profile/world.h"
#include "trace/archive.h"
#include "trace/run_of_trace.h"
#include "trace/windowed.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- all ---- */

static bool is_cut(const struct gn_cli_history *o)
{
    return gn_asked_part_is_set() || o->kept_count > 0;
}

/* Only what is in the part that is asked for; of a run in windows, what they have of it. */
static int choose(struct gn_cli_history *o, const struct gn_cli_again *again, struct gn_error *err)
{
    const struct gn_definitions *d = o->source.definitions;
    struct gn_kept_window part = {d->first_ticks, d->first_ticks + d->length_ticks};
    uint64_t seen_ticks = 0;
    size_t number = 0; /* among those of the part */
    int code = gn_asked_part_is_set() ? gn_asked_part_find(&part, d, o->path, err) : 0;
    if (code != 0)
        return code;
    const bool has_windows = o->kept_count > 0;
    const struct gn_kept_window *from = has_windows ? o->kept : &part;
    o->chosen = calloc(o->kept_count + 1, sizeof *o->chosen);
    o->cuts = calloc(o->kept_count + 1, sizeof *o->cuts);
    if (!o->chosen || !o->cuts)
        return gn_fail(err, -ENOMEM, "no memory for windows of its events");
    for (size_t i = 0; i < (has_windows ? o->kept_count : 1); i++) {
        struct gn_kept_window w = {from[i].begin_ticks > part.begin_ticks ? from[i].begin_ticks
                                                                          : part.begin_ticks,
                                   from[i].end_ticks < part.end_ticks ? from[i].end_ticks : part.end_ticks};
        if (w.begin_ticks >= w.end_ticks)
            continue;
        if (again && !gn_spread_cut(again->spread, again->round, number++, &w))
            continue;
        o->chosen[o->chosen_count] = w;
        if (o->chosen_count > 0)
            o->cuts[o->chosen_count - 1] = o->chosen[0].begin_ticks + seen_ticks;
        o->chosen_count++;
        seen_ticks += w.end_ticks - w.begin_ticks;
    }
    if (o->chosen_count == 0)
        return gn_fail(err, -ENODATA, "no window of events is in that part of the run");
    double all_ticks = (double)(part.end_ticks - part.begin_ticks);
    if (!gn_asked_part_is_set()) /* what came behind the last event is a part of the run, too */
        all_ticks = fmax(all_ticks, o->run_s * (double)d->ticks_per_second);
    o->part = (struct gn_kept_window){part.begin_ticks, part.begin_ticks + (uint64_t)fmin(all_ticks, 1e18)};
    o->is_whole = (double)seen_ticks >= 0.9995 * all_ticks;
    if (has_windows && !again)
        gn_asked_part_seen(o->chosen_count, (double)seen_ticks / all_ticks);
    return 0;
}

/* One part of the source, of all that is chosen. */
static int cut(struct gn_cli_history *o, struct gn_windowed **windowed, struct gn_source *part,
               struct gn_source *source, struct gn_error *err)
{
    const enum gn_windowed_as as = o->kept_count > 0 ? GN_WINDOWED_JOINED : GN_WINDOWED_PARTS;
    const int code = gn_windowed_read(windowed, source, o->chosen, o->chosen_count, as, err);
    if (code != 0)
        return code;
    const bool is_empty = gn_windowed_events(*windowed, 0) == 0;
    if (!is_empty && gn_windowed_is_numbered(*windowed)) {
        gn_windowed_source(*windowed, 0, part);
        return 0;
    }
    gn_windowed_free(*windowed);
    *windowed = NULL;
    return is_empty ? gn_fail(err, -ENODATA, "there are no events in that part of the run")
                    : gn_fail(err, -ENOTSUP,
                              "the trace does not number its messages and collectives, as those of gnomon "
                              "do: which ones match in a part of it is not known; look at all of it, without "
                              "--between");
}

/* Events of several clocks on one, where parts are to be cut out of them. */
static int place(struct gn_cli_history *o, struct gn_source *source, const struct gn_bounds *const **bounds,
                 struct gn_error *err)
{
    *source = o->source;
    *bounds = o->known.events.of;
    if (!is_cut(o) || !gn_placed_is_needed(o->source.definitions))
        return 0;
    int code = gn_placed_new(&o->placed, &o->source, *bounds, err);
    if (code == 0 && o->kept_count > 0)
        code = gn_placed_widen(o->placed, err);
    if (code != 0)
        return code;
    gn_placed_source(o->placed, source);
    *bounds = gn_placed_bounds(o->placed);
    return 0;
}

static int read_history(struct gn_cli_history *o, const struct gn_cli_history_settings *settings,
                        struct gn_error *err)
{
    char profile[4200];
    struct gn_source whole, part;
    const struct gn_bounds *const *bounds;
    if (gn_run_of_trace(o->path, profile, sizeof profile))
        o->naps = gn_cli_naps(profile, o->source.definitions);
    int code = place(o, &whole, &bounds, err);
    if (code == 0 && is_cut(o))
        code = choose(o, settings->again, err);
    if (code != 0)
        return code;
    const struct gn_history_settings asked = {.bounds = bounds,
                                              .refuted = gn_known_bounds_refuted(&o->known, o->path),
                                              .is_partial = o->is_partial || gn_trace_is_partial(o->path),
                                              .longest_ns = settings->longest_ns,
                                              .is_loose = o->placed && o->chosen_count > 1,
                                              .cuts = o->cuts,
                                              .cut_count = o->chosen_count > 0 ? o->chosen_count - 1 : 0,
                                              .has_tracks = settings->has_tracks,
                                              .naps = o->naps};
    struct gn_watched_source watched;
    struct gn_source seen = gn_watch_source(&watched, &whole, "reading");
    struct gn_windowed *windowed = NULL;
    if (is_cut(o))
        code = cut(o, &windowed, &part, &seen, err);
    if (code == 0)
        code = gn_history_read(&o->history, windowed ? &part : &seen, &asked, err);
    gn_windowed_free(windowed);
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

/* Whether all ranks are of one world: of which one events in windows are is not known. What ended before its
 * time is said, as of a trace. */
static bool look_at_worlds(struct gn_cli_history *o, sqlite3 *db, struct gn_windows_facts *windows)
{
    struct gn_worlds worlds;
    if (gn_worlds_read(db, &worlds, NULL) != 0)
        return true;
    for (size_t i = 0; i < worlds.count; i++)
        o->is_partial |= !worlds.items[i].complete && !gn_asked_part_does_go_on();
    const bool is_one = worlds.count <= 1;
    if (!is_one && windows->count > 0)
        snprintf(windows->error, sizeof windows->error,
                 "of which of its %zu worlds of MPI processes they are is not known", worlds.count);
    gn_worlds_clear(&worlds);
    return is_one;
}

/* Whether a run has windows of events in its folder. Where they are not all of it, o->kept says which. */
static bool has_windows(struct gn_cli_history *o, const char *profile)
{
    struct gn_windows_facts windows = {.path = ""};
    struct gn_error why = {""};
    sqlite3 *db;
    if (gn_profile_open(&db, profile, &why) != 0) {
        snprintf(o->no_windows, sizeof o->no_windows, "%.*s", (int)sizeof o->no_windows - 1, why.text);
        return false;
    }
    gn_summarise_windows(db, &windows);
    o->run_s = (double)gn_sql_value(db, 0, "SELECT max(elapsed_ns) FROM process", "") * 1e-9;
    o->middle = windows.middle;
    memcpy(o->off, windows.off, sizeof o->off);
    o->off_count = windows.off_count;
    o->init_s = windows.init_s;
    o->finalize_s = windows.finalize_s;
    const bool is_one_world = look_at_worlds(o, db, &windows);
    gn_profile_close(db);
    const bool has = is_one_world && windows.count > 0 && strchr(windows.path, '/') == NULL;
    if (has && !windows.is_whole) {
        o->kept = windows.kept;
        o->kept_count = windows.count;
    } else {
        free(windows.kept);
    }
    snprintf(o->no_windows, sizeof o->no_windows, "%s", windows.error);
    return has;
}

static bool is_of_windows(const struct gn_archive *archive)
{
    static const char name[] = "/windows/traces.otf2";
    char *path = realpath(archive->anchor, NULL);
    const size_t length = path ? strlen(path) : 0;
    const bool is = length >= strlen(name) && strcmp(path + length - strlen(name), name) == 0;
    free(path);
    return is;
}

/* A run that was measured without a trace has a profile and no archive, but windows of events. */
static int check_run(struct gn_cli_history *o, const char *named, struct gn_error *err)
{
    struct gn_archive archive;
    char profile[4096 + 16];
    int code = gn_archive_find(&archive, o->path, err);
    if (code == 0 && is_of_windows(&archive) && gn_run_of_trace(o->path, profile, sizeof profile))
        has_windows(o,
                    profile); /* named as answers name it: what is between windows is no time of its ranks */
    snprintf(profile, sizeof profile, "%s/profile.db", o->path);
    if (code != -ENOENT || access(profile, F_OK) != 0)
        return code;
    const size_t length = strlen(o->path);
    if (length + sizeof "/windows" <= sizeof o->path && has_windows(o, profile)) {
        strcpy(o->path + length, "/windows");
        return gn_archive_find(&archive, o->path, err);
    }
    if (gn_asked_part_does_go_on())
        return gn_fail(err, code,
                       "nothing of the events of %s can be looked at now: a run that goes on has windows of "
                       "them once it "
                       "has called MPI_Init; one with --trace or --windows off has none%s%s",
                       named, o->no_windows[0] ? ": " : "", o->no_windows);
    return gn_fail(err, code,
                   "there is no trace in the run %s: measure it again with `gnomon run --trace`%s%s", o->path,
                   o->no_windows[0] ? "; nor windows of events: " : "", o->no_windows);
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

/* The run as it is now; where it has ended, it is like any other. */
static int copy_run(struct gn_cli_history *o, struct gn_error *err)
{
    char copy[sizeof o->path];
    sqlite3 *db;
    const int code = gn_live_copy(&db, o->path, copy, sizeof copy, err);
    gn_profile_close(db);
    if (code == 0 && strcmp(o->path, copy) != 0)
        gn_asked_part_goes_on();
    if (code == 0)
        memcpy(o->path, copy, sizeof o->path);
    return code;
}

/* named: as answers name it. */
static int find_run(struct gn_cli_history *o, const char *path, char named[sizeof o->path],
                    struct gn_error *err)
{
    int code = gn_place_find(path, o->path, sizeof o->path, err);
    memcpy(named, o->path, sizeof o->path);
    if (code == 0)
        gn_place_wait(o->path);
    if (code == 0)
        code = gn_live_finish(o->path, err);
    if (code == -EBUSY && gn_asked_part_is_live())
        code = copy_run(o, err);
    else if (code == 0 && gn_asked_part_is_live())
        gn_live_tell_ended(o->path);
    return code;
}

int gn_cli_history_open(struct gn_cli_history *opened, const char *path,
                        const struct gn_cli_history_settings *settings, struct gn_error *err)
{
    char named[sizeof opened->path];
    *opened = (struct gn_cli_history){.found = NULL};
    int code = settings->again ? 0 : find_run(opened, path, named, err);
    if (settings->again) {
        snprintf(opened->path, sizeof opened->path, "%s", path);
        memcpy(named, opened->path, sizeof named);
    }
    memcpy(opened->files, opened->path, sizeof opened->files);
    if (code == 0)
        code = check_run(opened, named, err);
    if (code == 0)
        code = check_worlds(opened->path, err);
    if (code == 0)
        code = gn_trace_open(&opened->source, &opened->found, opened->path, err);
    if (code < 0) {
        free(opened->kept);
        return code;
    }
    code = check_size(opened, settings, err);
    if (code == 0)
        code = read_all(opened, settings, err);
    if (code < 0) {
        opened->source.close(opened->source.self);
        free(opened->kept);
        free(opened->chosen);
        free(opened->cuts);
        free(opened->naps);
    }
    if (gn_asked_part_does_go_on()) /* the copy means nothing to anybody */
        memcpy(opened->path, named, sizeof named);
    gn_printable(opened->path);
    return code < 0 ? code : 0;
}

void gn_cli_history_close(struct gn_cli_history *opened)
{
    gn_history_clear(&opened->history);
    gn_placed_free(opened->placed);
    free(opened->kept);
    free(opened->chosen);
    free(opened->cuts);
    free(opened->naps);
    gn_known_bounds_clear(&opened->known);
    opened->source.close(opened->source.self);
    *opened = (struct gn_cli_history){.found = NULL};
}

/* Seconds of a profile, which may be anything, as no more than so many ticks. */
static uint64_t ticks_of(double seconds, double hz, uint64_t most)
{
    const double ticks = seconds * hz;
    return ticks >= (double)most ? most : ticks > 0 ? (uint64_t)ticks : 0;
}

struct gn_kept_window gn_cli_history_middle(const struct gn_cli_history *o)
{
    const struct gn_definitions *d = o->source.definitions;
    const double hz = (double)d->ticks_per_second;
    const uint64_t run = ticks_of(o->run_s, hz, UINT64_MAX / 4),
                   whole = run > d->length_ticks ? run : d->length_ticks, last = d->first_ticks + whole;
    uint64_t begin = o->middle.begin_ticks, end = o->middle.end_ticks;
    if (begin == 0 || begin > last)
        begin = d->first_ticks + ticks_of(o->init_s, hz, whole);
    if (end < begin || end > last)
        end = last - ticks_of(o->finalize_s, hz, whole);
    return (struct gn_kept_window){begin > o->part.begin_ticks ? begin : o->part.begin_ticks,
                                   end < o->part.end_ticks ? end : o->part.end_ticks};
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

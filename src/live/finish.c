#include "live/finish.h"

#include "live/last_calls.h"
#include "live/late.h"
#include "live/trace_join.h"
#include "profile/clock.h"
#include "profile/profile.h"
#include "profile/statement.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WAIT_SECONDS = 3600, PATIENCE_MS = 5000, LONGEST_NAP_US = 200000 };

/* Whether the launcher ends within a moment, so that nobody reads the ranks' pipes any more. */
static bool launcher_ends(const struct gn_finish *f)
{
    struct pollfd launcher = {.fd = f->launcher_handle, .events = POLLIN};
    return f->launcher_handle >= 0 && poll(&launcher, 1, 500) == 1;
}

/* Where the report goes: the standard error of the lowest rank, which keeps the launcher waiting for us.
 * After a bad end the launcher may be gone without having waited; then to its own standard error. */
static int report_output(const struct gn_finish *f, bool complete)
{
    int lowest = -1;
    for (size_t i = 0; i < f->watched->count; i++) {
        const struct gn_watched *w = &f->watched->items[i];
        if (w->error_output >= 0 && (lowest < 0 || w->rank < f->watched->items[lowest].rank))
            lowest = (int)i;
    }
    if (lowest < 0 || (!complete && f->launcher_error >= 0 && launcher_ends(f)))
        return f->launcher_error;
    return f->watched->items[lowest].error_output;
}

static void say(const struct gn_finish *f, const char *text)
{
    int output = report_output(f, true);
    if (output >= 0 && (!f->settings->quiet || f->moved))
        dprintf(output, "gnomon: %s\n", text);
}

/* ---- the host's mark in the folder ---- */

static void mark_path(const struct gn_finish *f, const char *suffix, char *path, size_t size)
{
    snprintf(path, size, "%s/parts/%s.%s", f->folder->path, f->host, suffix);
}

void gn_finish_announce(const struct gn_finish *f, const char *state)
{
    char path[4500];
    snprintf(path, sizeof path, "%s/parts", f->folder->path);
    mkdir(path, 0777);
    mark_path(f, "open", path, sizeof path);
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    char socket_name[64];
    gn_job_socket(f->job, socket_name);
    fprintf(file, "state %s\nagent %d\nsocket %s\n", state, (int)getpid(), socket_name);
    fclose(file);
}

void gn_finish_heartbeat(const struct gn_finish *f)
{
    char path[4500];
    mark_path(f, "open", path, sizeof path);
    utimensat(AT_FDCWD, path, NULL, 0);
}

/* ---- this host's profile ---- */

static double tick_length(const struct gn_finish *f)
{
    struct gn_moment now = gn_moment_now();
    return now.ticks > f->first_moment.ticks
               ? (double)(now.ns - f->first_moment.ns) / (double)(now.ticks - f->first_moment.ticks)
               : 1;
}

/* Whether a process reads the counter that we read. */
static bool one_counter(const struct gn_finish *f, const struct gn_watched *w)
{
    return w->core_group == 0 || f->clock->groups.group_count < 2;
}

/* A process whose graph cannot be kept must not cost the others theirs: it is named with the reason. */
static int add_measured(const struct gn_finish *f, struct gn_watched *w, sqlite3 *db,
                        struct gn_process_facts facts, struct gn_error *err)
{
    struct gn_last_calls last;
    struct gn_error reason = {""};
    struct gn_snapshot *snapshot;
    if (!w->end_ticks)
        gn_watched_read_cpu(w);
    int code = gn_snapshot_take(w->segment, w->segment_bytes, w->end_ticks ? 1 : 1000, &snapshot, &reason);
    if (code == 0) {
        if (gn_last_calls_take(&last, w, facts.end_ticks, one_counter(f, w)) == 0)
            facts.last_calls = &last;
        if (last.before_ticks) {
            last.after_ticks = gn_host_clock_shown(f->clock, last.after_ticks);
            last.before_ticks = gn_host_clock_shown(f->clock, last.before_ticks);
        }
        code = gn_profile_add(db, &facts, snapshot, &reason);
        gn_snapshot_free(snapshot);
        gn_last_calls_clear(&last);
    }
    return code == 0 ? 0 : gn_profile_add_missing(db, &facts, reason.text, err);
}

static int add_all(const struct gn_finish *f, sqlite3 *db, struct gn_error *err)
{
    int code = 0;
    struct gn_process_facts facts = {.host = f->host, .tick_ns = tick_length(f)};
    for (size_t i = 0; i < f->watched->count && code == 0; i++) {
        struct gn_watched *w = &f->watched->items[i];
        facts.end_ticks = w->end_ticks ? w->end_ticks : gn_host_clock_now(f->clock, w->core_group);
        facts.launcher_rank = w->rank;
        facts.ended = w->ended;
        facts.exit_status = w->exit_status;
        if (w->segment && GN_GET(w->segment->state) != GN_STATE_EMPTY) {
            code = add_measured(f, w, db, facts, err);
        } else if (w->enlisted && !w->covered) {
            code = gn_profile_add_missing(
                db, &facts,
                "it did not call MPI_Init, or gnomon stepped aside there (then its standard error says why)",
                err);
        }
    }
    return code;
}

/* On which clock the times of each process are. */
static int name_clocks(const struct gn_finish *f, sqlite3 *db, struct gn_error *err)
{
    int code = 0;
    char name[GN_DOMAIN_BYTES];
    for (size_t i = 0; i < f->watched->count && code == 0; i++) {
        const struct gn_watched *w = &f->watched->items[i];
        if (w->segment)
            code = gn_profile_set_process_clock(db, f->host, (int)w->segment->pid,
                                                gn_host_clock_domain(f->clock, w->core_group, name), err);
    }
    return code;
}

static void describe_run(const struct gn_finish *f, sqlite3 *db)
{
    char text[64];
    struct tm utc;
    gn_profile_set(db, "gnomon", GNOMON_VERSION, NULL);
    gn_profile_set(db, "command", f->settings->command, NULL);
    gn_profile_set(db, "program", f->settings->program, NULL);
    gn_profile_set(db, "job", f->job->key, NULL);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&f->started, &utc));
    gn_profile_set(db, "started", text, NULL);
}

void gn_finish_checkpoint(const struct gn_finish *f)
{
    char path[4500];
    sqlite3 *db;
    if (gn_profile_create(&db, ":memory:", NULL) != 0)
        return;
    if (add_all(f, db, NULL) == 0) {
        if (gn_host_clock_checkpoint(f->clock, db, NULL) == 0)
            name_clocks(f, db, NULL);
        describe_run(f, db);
        mark_path(f, "db", path, sizeof path);
        gn_profile_save(db, path, NULL);
    }
    gn_profile_close(db);
}

static bool any_mpi(const struct gn_finish *f)
{
    for (size_t i = 0; i < f->watched->count; i++)
        if (f->watched->items[i].segment && GN_GET(f->watched->items[i].segment->state) != GN_STATE_EMPTY)
            return true;
    return false;
}

/* ---- several hosts ---- */

static sqlite3_int64 ranks_in(sqlite3 *db)
{
    return gn_sql_value(db, 0, "SELECT count(DISTINCT rank) FROM process WHERE rank >= 0", "");
}

static bool all_here(sqlite3 *db)
{
    sqlite3_int64 world = gn_sql_value(db, 0, "SELECT max(world) FROM process", "");
    return world > 0 && ranks_in(db) >= world;
}

static bool all_complete(sqlite3 *db)
{
    return all_here(db) && gn_sql_value(db, 1, "SELECT count(*) FROM process WHERE NOT complete", "") == 0;
}

/* Merges every part there is into a new profile in memory. */
static sqlite3 *merge_parts(const struct gn_finish *f, struct gn_error *err)
{
    char path[4200], part[8400];
    sqlite3 *db;
    if (gn_profile_create(&db, ":memory:", err) != 0)
        return NULL;
    snprintf(path, sizeof path, "%s/parts", f->folder->path);
    DIR *parts = opendir(path);
    for (struct dirent *entry; parts && (entry = readdir(parts));) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 3, ".db") != 0)
            continue;
        snprintf(part, sizeof part, "%s/%s", path, entry->d_name);
        struct gn_error ignored;
        if (gn_profile_merge(db, part, &ignored) != 0)
            say(f, ignored.text);
    }
    if (parts)
        closedir(parts);
    return db;
}

static int lock_folder(const struct gn_finish *f)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/parts/lock", f->folder->path);
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock >= 0)
        flock(lock, LOCK_EX);
    return lock;
}

static bool has_rank_zero(const struct gn_finish *f)
{
    for (size_t i = 0; i < f->watched->count; i++)
        if (f->watched->items[i].rank == 0)
            return true;
    return false;
}

/* Rank 0's host prints the report. When its agent has died, whoever finishes last does. */
static bool prints(const struct gn_finish *f, sqlite3 *whole)
{
    return has_rank_zero(f) ||
           (gn_folder_marks(f->folder->path, f->host, false) > 0 &&
            gn_folder_marks(f->folder->path, f->host, true) == 0 &&
            gn_sql_value(whole, 0, "SELECT count(*) FROM process WHERE rank = 0 AND ended != 'running'",
                         "") == 0);
}

/* When all hosts are here, their traces become one. Whoever comes later finds that done. */
static void join_traces(const struct gn_finish *f, sqlite3 *db)
{
    char joined[4200];
    struct gn_error err = {""};
    snprintf(joined, sizeof joined, "%s/trace/traces.otf2", f->folder->path);
    if (gn_trace_join(f->folder->path, db, &err) < 0)
        gn_profile_set(db, "trace/all/error", err.text, NULL);
    if (access(joined, F_OK) == 0)
        gn_sql(db, NULL, "UPDATE run SET value = 'trace' WHERE key GLOB 'trace/*/path'", "");
}

static void solve_clocks(const struct gn_finish *f, sqlite3 *db)
{
    struct gn_error err = {""};
    struct gn_assumption assumption = gn_assumption_default();
    if (gn_profile_solve_clocks(db, &assumption, &err) != 0)
        say(f, err.text);
}

/* One look at the parts. Our own part is gone when another host has merged all of them and found the run
 * complete: then its profile is the whole. */
static sqlite3 *merge_once(const struct gn_finish *f, const char *profile, struct gn_error *err)
{
    char own[4500];
    sqlite3 *db;
    mark_path(f, "db", own, sizeof own);
    if (access(own, F_OK) != 0)
        return gn_profile_open(&db, profile, err) == 0 ? db : NULL;
    db = merge_parts(f, err);
    if (db && all_here(db))
        join_traces(f, db);
    if (db)
        solve_clocks(f, db);
    if (db && gn_profile_save(db, profile, err) == 0 && all_complete(db))
        gn_folder_remove_parts(f->folder->path);
    return db;
}

/* Every host merges what is there when it finishes, so the last one leaves the whole; the host of rank 0
 * stays until the others have finished or gone silent, because it prints the report. */
static sqlite3 *merge_hosts(const struct gn_finish *f, struct gn_error *err)
{
    char profile[4200];
    snprintf(profile, sizeof profile, "%s/profile.db", f->folder->path);
    time_t deadline = time(NULL) + MAX_WAIT_SECONDS;
    for (unsigned nap_us = 10000;; nap_us = nap_us * 2 < LONGEST_NAP_US ? nap_us * 2 : LONGEST_NAP_US) {
        bool others = gn_folder_marks(f->folder->path, f->host, true) > 0;
        int lock = lock_folder(f);
        sqlite3 *db = merge_once(f, profile, err);
        if (lock >= 0)
            close(lock);
        if (!db || all_here(db) || !others || !has_rank_zero(f) || time(NULL) > deadline)
            return db;
        gn_profile_close(db);
        usleep(nap_us);
    }
}

/* ---- saving ---- */

static void write_config(const struct gn_finish *f)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/config", f->folder->path);
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    fputs(f->settings->config, file);
    fclose(file);
}

/* The run could not be kept where it was: leave that place as it was found. */
static int save_elsewhere(struct gn_finish *f, sqlite3 *db, struct gn_error *err)
{
    struct gn_folder before = *f->folder, after = before;
    char path[4500];
    int code = gn_folder_elsewhere(&after, err);
    if (code != 0)
        return code;
    gn_folder_remove_parts(f->folder->path);
    rmdir(before.path);
    /* events have been written to the first place all the time: a trace stays there */
    gn_sql(db, NULL, "UPDATE run SET value = ? || '/' || value WHERE key GLOB 'trace/*/path'", "s",
           before.path);
    *f->folder = after;
    f->folder->shared = false;
    f->moved = true;
    snprintf(path, sizeof path, "%s/profile.db", f->folder->path);
    return gn_profile_save(db, path, err);
}

/* The own part: under parts/ when hosts share the folder, as the profile itself otherwise. A full or
 * read-only disk moves the run elsewhere. */
static int save_part(struct gn_finish *f, sqlite3 *db, struct gn_error *err)
{
    char path[4500];
    if (f->folder->shared)
        mark_path(f, "db", path, sizeof path);
    else
        snprintf(path, sizeof path, "%s/profile.db", f->folder->path);
    int code = gn_profile_save(db, path, err);
    if (code == 0)
        return 0;
    say(f, err->text);
    return save_elsewhere(f, db, err);
}

/* The profile is complete but for what is known of the trace. */
static void finish_trace(struct gn_finish *f, sqlite3 *db)
{
    f->readers = gn_trace_part_finish(f->trace, db);
    f->trace = NULL;
    if (f->no_trace.text[0] && db) {
        char key[200];
        snprintf(key, sizeof key, "trace/%s/error", f->host);
        gn_profile_set(db, key, f->no_trace.text, NULL);
    }
}

/* Whoever waits for our end, or for the end of what we write to, waits no longer. */
static void let_go(struct gn_finish *f)
{
    for (size_t i = 0; i < f->watched->count; i++)
        if (f->watched->items[i].error_output >= 0) {
            close(f->watched->items[i].error_output);
            f->watched->items[i].error_output = -1;
        }
    if (f->launcher_error >= 0)
        close(f->launcher_error);
    f->launcher_error = -1;
}

static void tell_resolved(void *late, size_t done, size_t all)
{
    gn_late_doing(late, "looking up source lines", done, all);
}

/* Source places; most of them were found while the program ran. */
static void resolve(struct gn_finish *f, sqlite3 *db, struct gn_late *late)
{
    struct gn_error err = {""};
    const struct gn_resolve_progress progress = {tell_resolved, late};
    gn_late_doing(late, "reading debug information", 0, 0);
    gn_finish_heartbeat(f);
    if (gn_profile_resolve(db, gn_look_up_end(f->look_up), &progress, &err) != 0)
        say(f, err.text);
    gn_finish_heartbeat(f);
}

/* Into the run's folder. Returns the whole run's profile, db or another one; NULL: there is none here. */
static sqlite3 *keep(struct gn_finish *f, sqlite3 *db, struct gn_late *late, bool *saved)
{
    struct gn_error err = {""};
    gn_late_doing(late, "saving", 0, 0);
    *saved = save_part(f, db, &err) == 0;
    if (!*saved)
        say(f, err.text);
    write_config(f);
    char mark[4500];
    mark_path(f, "open", mark, sizeof mark);
    unlink(mark);
    sqlite3 *whole = db;
    if (*saved && f->folder->shared) {
        gn_late_doing(late, "waiting for the other hosts", 0, 0);
        whole = merge_hosts(f, &err);
        if (f->folder->link[0])
            unlink(f->folder->link);
    } else if (*saved) {
        gn_folder_remove_parts(f->folder->path); /* all of it is in the profile */
    }
    return whole;
}

static void finish_profile(struct gn_finish *f, sqlite3 *db, struct gn_late *late)
{
    struct gn_error err = {""};
    bool saved;
    describe_run(f, db);
    resolve(f, db, late);
    gn_late_doing(late, "finishing the trace", 0, 0);
    finish_trace(f, db);
    gn_late_doing(late, "comparing clocks", 0, 0);
    if (gn_host_clock_save(f->clock, db, &err) != 0 || name_clocks(f, db, &err) != 0)
        say(f, err.text);
    if (!f->folder->shared)
        solve_clocks(f, db);
    sqlite3 *whole = keep(f, db, late, &saved);
    gn_late_end(late);
    bool quiet = f->settings->quiet && !f->moved; /* whoever asked for silence looks in the first place */
    if (whole && !quiet && (whole == db || prints(f, whole)))
        f->report(whole, saved ? f->folder->path : NULL, report_output(f, all_complete(whole)));
    let_go(f);
    if (whole != db)
        gn_profile_close(whole);
}

void gn_finish_readers(struct gn_finish *f)
{
    if (!f->readers)
        return;
    let_go(f);
    gn_readers_wait(f->readers, PATIENCE_MS);
    gn_readers_free(f->readers);
    f->readers = NULL;
}

void gn_finish(struct gn_finish *f)
{
    struct gn_error err = {""};
    struct gn_late late;
    sqlite3 *db;
    if (f->folder->path[0])
        gn_finish_announce(f, "finishing");
    gn_trace_part_stop(f->trace);
    gn_host_clock_end(f->clock);
    if (!any_mpi(f)) {
        char text[1200];
        snprintf(text, sizeof text,
                 "no MPI was seen in %.200s: it ran as it would without gnomon, and there is nothing to "
                 "report (is it "
                 "an MPI program, linked dynamically?)",
                 f->settings->program);
        say(f, text);
        if (f->folder->path[0]) {
            gn_folder_remove_parts(f->folder->path);
            rmdir(f->folder->path);
        }
        return;
    }
    gn_late_begin(&late, f->settings->quiet ? -1 : report_output(f, true));
    if (gn_profile_create(&db, ":memory:", &err) != 0 || add_all(f, db, &err) != 0) {
        gn_late_end(&late);
        say(f, err.text);
        finish_trace(f, NULL);
        return;
    }
    finish_profile(f, db, &late);
    gn_profile_close(db);
}

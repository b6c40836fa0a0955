#include "agent/finish.h"

#include "agent/keep.h"
#include "agent/last_calls.h"
#include "agent/late.h"
#include "agent/mark.h"
#include "agent/resources.h"
#include "agent/trace_complete.h"
#include "agent/trace_join.h"
#include "graph/process.h"
#include "image/snapshot.h"
#include "profile/clock.h"
#include "profile/profile.h"
#include "profile/statement.h"
#include "profile/kept_windows.h"
#include "profile/world.h"

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

enum { MAX_WAIT_SECONDS = 3600, PATIENCE_MS = 5000, LONGEST_NAP_US = 200000, RESERVE_BYTES = 512 * 1024 };

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

/* Room that the profile will have, even if the disk fills up. */
static void reserve(const struct gn_finish *f, uint64_t bytes)
{
    char path[4500];
    mark_path(f, "reserve", path, sizeof path);
    gn_folder_reserve(path, bytes);
}

static void release(const struct gn_finish *f)
{
    char path[4500];
    mark_path(f, "reserve", path, sizeof path);
    unlink(path);
}

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

static void remove_config(const struct gn_finish *f)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/config", f->folder->path);
    unlink(path);
}

static struct gn_changing changing_of(const struct gn_finish *f)
{
    return (struct gn_changing){f->settings, f->trace, f->no_trace.text, f->sampler};
}

void gn_finish_announce(struct gn_finish *f, const char *state)
{
    char path[4500];
    snprintf(path, sizeof path, "%s/parts", f->folder->path);
    mkdir(path, 0777);
    mark_path(f, "open", path, sizeof path);
    char socket_name[64];
    gn_job_socket(f->job, socket_name);
    struct gn_agent_mark mark = {
        .state = state, .agent = (int)getpid(), .guard = f->guard_pid, .socket = socket_name};
    const struct gn_changing changing = changing_of(f);
    gn_change_state(&f->changes, &changing, &f->told);
    mark.windows = f->told.windows;
    mark.sample = f->told.sample;
    mark.metric = f->told.metric;
    gn_mark_write(path, &mark);
    reserve(f, RESERVE_BYTES);
    write_config(f);
}

void gn_finish_look_for_changes(struct gn_finish *f)
{
    const struct gn_changing changing = changing_of(f);
    const double now_s = (double)(gn_monotonic_ns() - f->first_moment.ns) * 1e-9;
    struct gn_change_texts texts;
    gn_change_look(&f->changes, &changing, f->folder->path, now_s);
    gn_change_state(&f->changes, &changing, &texts);
    if (strcmp(texts.windows, f->told.windows) != 0 || strcmp(texts.sample, f->told.sample) != 0 ||
        strcmp(texts.metric, f->told.metric) != 0)
        gn_finish_announce(f, "running");
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

static const char *why_not_sampled(const struct gn_finish *f)
{
    return f->settings->sample.hz == 0        ? "it was not to be sampled"
           : f->clock->groups.group_count > 1 ? "the cores have counters of their own"
                                              : "its agent found no memory for it";
}

/* A process whose graph cannot be kept must not cost the others theirs: it is named with the reason. */
static int add_measured(const struct gn_finish *f, struct gn_watched *w, struct gn_graph *graph,
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
        struct gn_sampled sampled = {.state = "off", .reason = why_not_sampled(f)};
        const bool looked = gn_sampler_look(f->sampler, (int)w->segment->pid, &sampled);
        facts.sampled = &sampled;
        code = gn_graph_add_process(graph, &facts, snapshot, &reason);
        if (looked)
            gn_sampler_go_on(f->sampler);
        gn_snapshot_free(snapshot);
        gn_last_calls_clear(&last);
    }
    return code == 0 ? 0 : gn_graph_add_missing(graph, &facts, reason.text, err);
}

static int add_processes(const struct gn_finish *f, struct gn_graph *graph, struct gn_error *err)
{
    int code = 0;
    struct gn_process_facts facts = {.host = f->host, .tick_ns = tick_length(f)};
    for (size_t i = 0; i < f->watched->count && code == 0; i++) {
        struct gn_watched *w = &f->watched->items[i];
        facts.end_ticks = w->end_ticks ? w->end_ticks : gn_host_clock_now(f->clock, w->core_group);
        facts.launcher_rank = w->rank;
        facts.launches = w->launches;
        facts.traced = w->traced && f->settings->trace.windows_rate <= 0;
        facts.ended = w->ended;
        facts.exit_status = w->exit_status;
        facts.series = gn_course_of(f->course, i);
        facts.start_ticks = w->segment
                                ? (int64_t)gn_host_clock_shown(f->clock, GN_GET(w->segment->start_ticks))
                                : GN_GRAPH_UNKNOWN;
        if (w->handle >= 0)
            gn_resources_read(w->resources, w->pid);
        facts.resource = gn_resources_told(w->resources, w->end_ns ? w->end_ns : gn_monotonic_ns());
        if (gn_watched_is_measured(w)) {
            code = add_measured(f, w, graph, facts, err);
        } else if (w->enlisted && !gn_watched_is_covered(f->watched, w)) {
            code = gn_graph_add_missing(graph, &facts,
                                        w->unmeasured[0] ? w->unmeasured
                                                         : "it did not call MPI_Init, or gnomon stepped "
                                                           "aside there (then its standard error says why)",
                                        err);
        }
    }
    return code;
}

static int add_all(const struct gn_finish *f, sqlite3 *db, struct gn_error *err)
{
    struct gn_graph *graph = gn_graph_new();
    int code = graph ? gn_course_put_moments(f->course, f->clock, f->host, graph, err)
                     : gn_fail(err, -ENOMEM, "no memory for a profile");
    if (code == 0)
        code = add_processes(f, graph, err);
    if (code == 0)
        code = gn_profile_write(db, graph, err);
    gn_graph_free(graph);
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
    gn_change_note(&f->changes, f->clock, f->host, db);
    if (f->sampler) {
        char key[200];
        snprintf(key, sizeof key, "sampler/%s/cpu_s", f->host);
        snprintf(text, sizeof text, "%.6f", (double)gn_sampler_used_ns(f->sampler) * 1e-9);
        gn_profile_set(db, key, text, NULL);
    }
}

/* Up to when: what came later is not in it. */
static void note_saved(const struct gn_finish *f, sqlite3 *db)
{
    char key[200], text[32];
    snprintf(key, sizeof key, "saved/%s", f->host);
    snprintf(text, sizeof text, "%.3f", (double)(gn_monotonic_ns() - f->first_moment.ns) * 1e-9);
    gn_profile_set(db, key, text, NULL);
}

void gn_finish_checkpoint(const struct gn_finish *f)
{
    char path[4500];
    struct stat saved;
    sqlite3 *db;
    if (gn_profile_create(&db, ":memory:", NULL) != 0)
        return;
    if (add_all(f, db, NULL) == 0) {
        note_saved(f, db);
        if (gn_host_clock_checkpoint(f->clock, db, NULL) == 0)
            name_clocks(f, db, NULL);
        describe_run(f, db);
        gn_trace_part_show_windows(f->trace, db);
        mark_path(f, "db", path, sizeof path);
        if (gn_profile_save(db, path, NULL) == 0 && stat(path, &saved) == 0)
            reserve(f, RESERVE_BYTES + 2 * (uint64_t)saved.st_size); /* with places it is larger */
    }
    gn_profile_close(db);
}

static bool any_mpi(const struct gn_finish *f)
{
    for (size_t i = 0; i < f->watched->count; i++)
        if (gn_watched_is_measured(&f->watched->items[i]))
            return true;
    return false;
}

/* As the first that was not measured has said. */
static void say_nothing(const struct gn_finish *f)
{
    char text[1200];
    const char *why = "";
    for (size_t i = 0; i < f->watched->count && !*why; i++)
        why = f->watched->items[i].unmeasured;
    if (*why)
        snprintf(text, sizeof text, "nothing was measured: %.200s ran as it would without gnomon (%s)",
                 f->settings->program, why);
    else
        snprintf(text, sizeof text,
                 "no MPI was seen in %.200s: it ran as it would without gnomon, and there is nothing to "
                 "report (is it "
                 "an MPI program, linked dynamically?)",
                 f->settings->program);
    say(f, text);
}

/* ---- several hosts ---- */

/* A checkpoint is what its host has to say only if that will not come to say more. */
static bool all_here(sqlite3 *db)
{
    return gn_worlds_here(db, true) &&
           gn_sql_value(db, 0, "SELECT count(*) FROM run WHERE key GLOB 'saved/*' OR key GLOB 'part/*'",
                        "") == 0;
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
    struct gn_graph *graph = gn_graph_new();
    if (!graph || gn_profile_create(&db, ":memory:", err) != 0) {
        if (!graph)
            gn_fail(err, -ENOMEM, "no memory to join what the hosts have measured");
        gn_graph_free(graph);
        return NULL;
    }
    snprintf(path, sizeof path, "%s/parts", f->folder->path);
    DIR *parts = opendir(path);
    for (struct dirent *entry; parts && (entry = readdir(parts));) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 3, ".db") != 0)
            continue;
        snprintf(part, sizeof part, "%s/%s", path, entry->d_name);
        struct gn_error why;
        if (gn_profile_join_or_note(db, graph, part, &why) != 0)
            say(f, why.text);
    }
    if (parts)
        closedir(parts);
    if (gn_profile_write(db, graph, err) != 0) {
        gn_profile_close(db);
        db = NULL;
    }
    gn_graph_free(graph);
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
        if (f->watched->items[i].rank == 0 && !f->watched->items[i].spawner)
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

/* When all hosts are here, their archives become one. Whoever comes later finds that done. */
static void join_traces(const struct gn_finish *f, sqlite3 *db)
{
    char joined[4300];
    struct gn_error err = {""};
    snprintf(joined, sizeof joined, "%s/" GN_TRACE_NAME "/traces.otf2", f->folder->path);
    if (gn_trace_join(f->folder->path, GN_TRACE_NAME, db, &err) < 0)
        gn_profile_set(db, GN_TRACE_NAME "/all/error", err.text, NULL);
    if (access(joined, F_OK) == 0)
        gn_sql(db, NULL, "UPDATE run SET value = 'trace' WHERE key GLOB 'trace/*/path'", "");
    gn_windows_complete(f->folder->path, db);
}

static void solve_clocks(const struct gn_finish *f, sqlite3 *db)
{
    struct gn_error err = {""};
    struct gn_assumption assumption = gn_assumption_default();
    if (gn_profile_solve_clocks(db, &assumption, &err) != 0)
        say(f, err.text);
}

/* One look at the parts. others: hosts that are at work. Our own part is gone when another host has merged
 * all of them and found the run complete: then its profile is the whole. */
static sqlite3 *merge_once(const struct gn_finish *f, const char *profile, bool others, struct gn_error *err)
{
    char own[4500];
    sqlite3 *db;
    mark_path(f, "db", own, sizeof own);
    if (access(own, F_OK) != 0) {
        if (gn_profile_open(&db, profile, err) != 0)
            return NULL;
        if (all_complete(db)) /* our lock may have come while it was removing them */
            gn_folder_remove_parts(f->folder->path);
        return db;
    }
    db = merge_parts(f, err);
    if (db && (others ? all_here(db) : gn_worlds_here(db, false)))
        join_traces(f, db);
    if (db)
        solve_clocks(f, db);
    if (db && gn_profile_save(db, profile, err) == 0 && all_complete(db)) {
        gn_keep_mark(f->guard, GN_KEPT_SAVED); /* a second merge would find our part alone */
        gn_folder_remove_parts(f->folder->path);
    }
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
        sqlite3 *db = merge_once(f, profile, others, err);
        if (lock >= 0)
            close(lock);
        if (!db || all_here(db) || !others || !has_rank_zero(f) || time(NULL) > deadline)
            return db;
        gn_profile_close(db);
        usleep(nap_us);
    }
}

/* ---- saving ---- */

/* The run could not be kept where it was: leave that place as it was found. */
static int save_elsewhere(struct gn_finish *f, sqlite3 *db, struct gn_error *err)
{
    struct gn_folder before = *f->folder, after = before;
    char path[4500];
    int code = gn_folder_elsewhere(&after, err);
    if (code != 0)
        return code;
    gn_folder_remove_parts(f->folder->path);
    remove_config(f);
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
    release(f);
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
        snprintf(key, sizeof key, "%s/%s/error",
                 f->settings->trace.windows_rate > 0 ? GN_WINDOWS_NAME : GN_TRACE_NAME, f->host);
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
    gn_keep_mark(f->guard, GN_KEPT_OVER);
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
        if (!whole)
            say(f, err.text);
        if (f->folder->link[0])
            unlink(f->folder->link);
    } else if (*saved) {
        gn_keep_mark(f->guard, GN_KEPT_SAVED);
        gn_trace_part_saved(f->folder->path);
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

void gn_finish_tell(struct gn_finish *f)
{
    char profile[4200];
    sqlite3 *db;
    snprintf(profile, sizeof profile, "%s/profile.db", f->folder->path);
    if (gn_profile_open(&db, profile, NULL) == 0) {
        gn_folder_remove_parts(f->folder->path);
        if (!f->settings->quiet && (!f->folder->shared || prints(f, db)))
            f->report(db, f->folder->path, report_output(f, all_complete(db)));
        gn_profile_close(db);
    }
    let_go(f);
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
    gn_sampler_end(f->sampler);
    gn_course_end(f->course, f->watched, f->clock, f->sampler);
    gn_trace_part_stop(f->trace);
    gn_host_clock_end(f->clock);
    if (!any_mpi(f)) {
        say_nothing(f);
        if (f->folder->path[0]) {
            gn_folder_remove_parts(f->folder->path);
            remove_config(f);
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

#include "profile/summary.h"

#include "profile/naps.h"
#include "profile/virtual.h"

#include "base/grow.h"
#include "profile/shown.h"
#include "profile/statement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy(const void *text)
{
    return text ? strdup((const char *)text) : NULL;
}

/* Messages are counted where they are known exactly: at the sender; at the receiver when the sender was not
 * measured (its rank has no process here). */
static int collect_pairs(sqlite3 *db, struct gn_summary *s, struct gn_error *err)
{
    int code = s->period.is_set ? gn_period_has_series(db, "peer", "who sent how much to whom", err) : 0;
    if (code != 0)
        return code;
    sqlite3_stmt *q = gn_sql_query(
        db, NULL,
        "SELECT f, t, sum(m), sum(b) FROM (SELECT p.rank AS f, x.peer AS t, x.sent_messages AS m, "
        "x.sent_bytes AS b"
        " FROM peer x JOIN location l ON l.id = x.location JOIN process p ON p.id = l.process WHERE "
        "x.sent_messages > 0"
        " UNION ALL SELECT x.peer, p.rank, x.received_messages, x.received_bytes FROM peer x JOIN location l"
        " ON l.id = x.location JOIN process p ON p.id = l.process JOIN activity a ON a.id = x.activity"
        " WHERE x.received_messages > 0 AND (a.call_group = 'rma' OR x.peer NOT IN (SELECT rank FROM "
        "process)))"
        " GROUP BY f, t ORDER BY sum(b) DESC, f, t",
        "");
    size_t capacity = 0;
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        if (!gn_grow(&s->pairs, &capacity, s->pair_count, sizeof *s->pairs)) {
            sqlite3_finalize(q);
            return gn_fail(err, -ENOMEM, "no memory for the communication matrix");
        }
        s->pairs[s->pair_count++] =
            (struct gn_pair_row){sqlite3_column_int(q, 0), sqlite3_column_int(q, 1),
                                 sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3)};
    }
    sqlite3_finalize(q);
    return 0;
}

static void collect_troubles(sqlite3 *db, struct gn_summary *s)
{
    size_t capacity = (size_t)gn_sql_value(db, 0, "SELECT count(*) FROM process WHERE NOT complete", "");
    s->troubles = calloc(capacity + 1, sizeof *s->troubles);
    sqlite3_stmt *q = gn_sql_query(
        db, NULL,
        "WITH " GN_SHOWN "SELECT p.rank, h.name, p.ended, p.exit_status, p.message, l.last_inside, l.last_ns,"
        " CASE WHEN a.kind = 'mpi' THEN a.name || coalesce(' at ' || s.label, ' at ' || s.function, '') ||"
        " CASE WHEN s.line > 0 THEN ' (' || s.file || ':' || s.line || ')' ELSE '' END ELSE NULL END, a.id, "
        "p.id"
        " FROM process p JOIN host h ON h.id = p.host LEFT JOIN location l ON l.process = p.id AND l.thread "
        "= 0"
        " LEFT JOIN activity a ON a.id = l.last_activity LEFT JOIN shown c ON c.callpath = a.callpath"
        " LEFT JOIN site s ON s.id = c.site WHERE NOT p.complete ORDER BY p.rank",
        "");
    while (q && s->troubles && s->trouble_count < capacity && sqlite3_step(q) == SQLITE_ROW) {
        struct gn_trouble_row *t = &s->troubles[s->trouble_count++];
        t->rank = sqlite3_column_int(q, 0);
        t->host = copy(sqlite3_column_text(q, 1));
        t->ended = copy(sqlite3_column_text(q, 2));
        t->exit_status = sqlite3_column_int(q, 3);
        t->message = copy(sqlite3_column_text(q, 4));
        t->inside = sqlite3_column_int(q, 5) != 0;
        t->last_s = (double)sqlite3_column_int64(q, 6) * 1e-9;
        t->last = copy(sqlite3_column_text(q, 7));
        t->process = sqlite3_column_int64(q, 9);
        char *path = t->last ? gn_summary_path(db, sqlite3_column_int64(q, 8), 0) : NULL, *with_path = NULL;
        if (path && asprintf(&with_path, "%s, call path %s", t->last, path) > 0) {
            free(t->last);
            t->last = with_path;
        }
        free(path);
    }
    sqlite3_finalize(q);
}

static void collect_lost(sqlite3 *db, struct gn_summary *s)
{
    size_t capacity = (size_t)gn_sql_value(db, 0, "SELECT count(DISTINCT what) FROM lost", "");
    s->lost = calloc(capacity + 3, sizeof *s->lost);
    sqlite3_stmt *q =
        gn_sql_query(db, NULL, "SELECT what, sum(count) FROM lost GROUP BY what ORDER BY what", "");
    while (q && s->lost && s->lost_count < capacity && sqlite3_step(q) == SQLITE_ROW)
        s->lost[s->lost_count++] =
            (struct gn_lost_row){copy(sqlite3_column_text(q, 0)), sqlite3_column_int64(q, 1)};
    sqlite3_finalize(q);
    if (s->unclear_regions && s->lost)
        s->lost[s->lost_count++] =
            (struct gn_lost_row){strdup("regions of which the calls do not tell when ranks were in them"),
                                 (int64_t)s->unclear_regions};
}

/* What was started, against what came: children may be on hosts without an agent, and be spawned from where
 * we are not asked. */
static void collect_spawned(sqlite3 *db, struct gn_summary *s)
{
    static const char query[] =
        "SELECT sum(p.spawned) - (SELECT count(*) FROM main.process c JOIN main.world w ON w.id = c.world_id"
        " WHERE c.elapsed_ns IS NOT NULL AND w.spawner IN (SELECT pid FROM process WHERE spawned > 0))"
        " FROM process p";
    if (gn_sql_value(db, 0, "SELECT count(*) FROM sqlite_master WHERE name = 'world'", "") == 0)
        return;
    const int64_t unseen = gn_sql_value(db, 0, query, "");
    if (unseen > 0 && s->lost)
        s->lost[s->lost_count++] =
            (struct gn_lost_row){strdup("processes of MPI_Comm_spawn that were not measured"), unseen};
}

static size_t name_range(struct gn_summary *s, size_t used, int first, int last)
{
    if (first > last || used >= sizeof s->missing_ranks - 32)
        return used;
    return used + (size_t)snprintf(s->missing_ranks + used, sizeof s->missing_ranks - used,
                                   last > first ? "%s%d-%d" : "%s%d", used ? "," : "", first, last);
}

/* "1-3,7": the gaps between the ranks that are here. */
static void list_missing(sqlite3 *db, struct gn_summary *s)
{
    size_t used = 0;
    int next = 0;
    sqlite3_stmt *q =
        gn_sql_query(db, NULL, "SELECT DISTINCT rank FROM process WHERE rank >= 0 AND rank < ? ORDER BY rank",
                     "i", (int64_t)s->world);
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        used = name_range(s, used, next, sqlite3_column_int(q, 0) - 1);
        next = sqlite3_column_int(q, 0) + 1;
    }
    sqlite3_finalize(q);
    name_range(s, used, next, s->world - 1);
}

static void first_text(sqlite3 *db, const char *query, char *text, size_t size)
{
    sqlite3_stmt *q = gn_sql_query(db, NULL, query, "");
    if (q && sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0))
        snprintf(text, size, "%s", (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
}

static double value(sqlite3 *db, const char *query)
{
    double result = 0;
    sqlite3_stmt *q = gn_sql_query(db, NULL, query, "");
    if (q && sqlite3_step(q) == SQLITE_ROW)
        result = sqlite3_column_double(q, 0);
    sqlite3_finalize(q);
    return result;
}

bool gn_summary_is_slowed(const struct gn_summary *s)
{
    static const double worth = 0.005; /* no two runs are alike */
    return s->measured_s - s->elapsed_s >= worth * s->measured_s && s->measured_s > 0;
}

void gn_summary_tidy_library(char *text)
{
    char *version = strstr(text, " Version:");
    if (version) {
        const char *number = version + strlen(" Version:");
        number += strspn(number, " \t");
        version[0] = ' ';
        memmove(version + 1, number, strlen(number) + 1);
    }
}

static void collect_failed(sqlite3 *db, struct gn_summary *s)
{
    sqlite3_stmt *q = gn_sql_query(db, NULL,
                                   "SELECT count(*), min(rank), exit_status FROM process"
                                   " WHERE complete AND ended = 'exit' AND exit_status <> 0",
                                   "");
    if (q && sqlite3_step(q) == SQLITE_ROW && sqlite3_column_int(q, 0) > 0) {
        s->failed = sqlite3_column_int(q, 0);
        s->failed_rank = sqlite3_column_int(q, 1);
        s->failed_status = sqlite3_column_int(q, 2); /* of the row that has the minimum */
    }
    sqlite3_finalize(q);
}

static void describe(sqlite3 *db, struct gn_summary *s)
{
    gn_profile_get(db, "program", s->exe, sizeof s->exe);
    gn_profile_get(db, "command", s->command, sizeof s->command);
    gn_profile_get(db, "gnomon", s->version, sizeof s->version);
    gn_profile_get(db, "started", s->started, sizeof s->started);
    first_text(db, "SELECT flavour FROM process WHERE flavour <> ''", s->flavour, sizeof s->flavour);
    first_text(db, "SELECT library FROM process WHERE library <> ''", s->library, sizeof s->library);
    gn_summary_tidy_library(s->library);
    first_text(
        db,
        "SELECT group_concat(name, ', ') FROM (SELECT name FROM host WHERE id IN (SELECT host FROM process)"
        " ORDER BY name)",
        s->host_names, sizeof s->host_names);
    /* the program itself or a library of the user's: call sites in it, and no lines; Python's are shown */
    first_text(db,
               "SELECT m.path FROM module m JOIN site s ON s.module = m.id JOIN callpath c ON c.site = s.id"
               " WHERE m.has_lines = 0"
               " AND NOT EXISTS (SELECT 1 FROM module WHERE build_id = '" GN_SOURCE_BUILD_ID
               "') GROUP BY m.id ORDER BY count(*) DESC",
               s->no_lines_in, sizeof s->no_lines_in);
    /* one path, two contents: a library that was replaced, or hosts that differ */
    first_text(db,
               "SELECT path FROM module WHERE path <> '' AND build_id NOT IN ('', '" GN_SOURCE_BUILD_ID
               "') GROUP BY path HAVING count(*) > 1 ORDER BY path",
               s->two_builds_of, sizeof s->two_builds_of);
    s->programs = (int)value(db, "SELECT count(DISTINCT exe) FROM process WHERE elapsed_ns IS NOT NULL");
    s->ranks = (int)value(db, "SELECT count(DISTINCT rank) FROM process WHERE elapsed_ns IS NOT NULL");
    s->world = (int)value(db, "SELECT max(world) FROM process");
    s->world = s->world > s->ranks ? s->world : s->ranks;
    s->hosts = (int)value(db, "SELECT count(DISTINCT host) FROM process");
    s->elapsed_s = s->measured_s = value(db, "SELECT max(elapsed_ns) FROM process") * 1e-9;
    s->unmeasured_s = (struct gn_between){s->measured_s, s->measured_s};
    s->complete = s->ranks == s->world && value(db, "SELECT count(*) FROM process WHERE NOT complete") == 0;
    collect_failed(db, s);
    double total_ns = value(db, "SELECT sum(elapsed_ns) FROM location");
    if (gn_profile_is_virtual(db))
        total_ns -= value(db, "SELECT (SELECT sum(total_ns - own_ns) FROM edge) + (SELECT sum(measured_ns - "
                              "total_ns) FROM node)");
    double mpi_ns =
        value(db, "SELECT sum(n.total_ns + n.open_ns) FROM node n JOIN activity a ON a.id = n.activity"
                  " WHERE a.kind = 'mpi'");
    s->mpi_share = total_ns > 0 ? mpi_ns / total_ns : 0;
}

static int64_t sum_of_hosts(sqlite3 *db, const char *what)
{
    return gn_sql_value(db, 0, "SELECT sum(CAST(value AS INTEGER)) FROM run WHERE key GLOB 'trace/*/' || ?",
                        "s", what);
}

static void collect_saved(sqlite3 *db, struct gn_summary *s)
{
    s->is_live = value(db, "SELECT count(*) FROM run WHERE key = 'live'") > 0;
    s->saved_s = value(db, "SELECT min(CAST(value AS REAL)) FROM run WHERE key GLOB 'saved/*'");
    first_text(db, "SELECT group_concat(substr(key, 7), ', ') FROM run WHERE key GLOB 'saved/*'",
               s->saved_hosts, sizeof s->saved_hosts);
    first_text(db, "SELECT group_concat(value, '; ') FROM run WHERE key GLOB 'part/*'", s->refused,
               sizeof s->refused);
    s->complete = s->complete && !s->refused[0];
}

static void collect_trace(sqlite3 *db, struct gn_trace_facts *t)
{
    t->asked = value(db, "SELECT count(*) FROM run WHERE key GLOB 'trace/*'") > 0;
    t->archives = (int)value(db, "SELECT count(DISTINCT value) FROM run WHERE key GLOB 'trace/*/path'");
    first_text(db, "SELECT value FROM run WHERE key GLOB 'trace/*/path' ORDER BY key", t->path,
               sizeof t->path);
    first_text(db, "SELECT value FROM run WHERE key GLOB 'trace/*/error' ORDER BY key", t->error,
               sizeof t->error);
    t->events = sum_of_hosts(db, "events");
    t->bytes = sum_of_hosts(db, "bytes");
    t->dropped = sum_of_hosts(db, "dropped");
    t->unwritten = sum_of_hosts(db, "unwritten");
    t->garbled = sum_of_hosts(db, "garbled");
    t->lost_comms = sum_of_hosts(db, "lost_comms");
}

static int find_one(void *unused, const char *call, const char *file, int line)
{
    (void)unused, (void)call, (void)file, (void)line;
    return 1;
}

static int summarise(sqlite3 *db, enum gn_by by, enum gn_by named, bool raw, struct gn_summary *s,
                     struct gn_error *err)
{
    memset(s, 0, sizeof *s);
    s->period = gn_period_selected(db);
    describe(db, s);
    s->own_share = raw ? 0 : gn_profile_own_share(db);
    int code = by == GN_BY_PAIR      ? collect_pairs(db, s, err)
               : by == GN_BY_REQUEST ? gn_summarise_requests(db, s, err)
                                     : gn_summarise_rows(db, by, named, raw, s, err);
    if (code == 0)
        code = gn_summarise_ranks(db, raw, s, err);
    if (code == 0)
        gn_summarise_cores(s);
    if (code == 0 && by == GN_BY_REGION)
        code = gn_summarise_regions(db, raw, s, err);
    if (code == 0 && by == GN_BY_TREE)
        code = gn_summarise_tree(db, s, err);
    collect_troubles(db, s);
    gn_summarise_fatal(db, s);
    gn_summarise_endings(db, s);
    collect_lost(db, s);
    collect_spawned(db, s);
    collect_saved(db, s);
    collect_trace(db, &s->trace);
    s->has_naps = gn_profile_naps(db, find_one, NULL, NULL) > 0;
    gn_summarise_windows(db, &s->windows);
    gn_summarise_unsampled(db, s);
    gn_summarise_clocks(db, s);
    gn_summarise_cost(db, &s->cost);
    list_missing(db, s);
    if (code != 0)
        gn_summary_clear(s);
    return code;
}

int gn_summarise(sqlite3 *db, enum gn_by by, bool raw, struct gn_summary *s, struct gn_error *err)
{
    return summarise(db, by, by, raw, s, err);
}

int gn_summarise_paths(sqlite3 *db, enum gn_by named, struct gn_summary *s, struct gn_error *err)
{
    return summarise(db, GN_BY_CALLPATH, named, false, s, err);
}

void gn_summary_clear(struct gn_summary *s)
{
    gn_summary_clear_clocks(s);
    gn_summary_clear_tree(s);
    gn_summary_clear_requests(s);
    gn_summary_clear_rows(s);
    gn_summary_clear_ranks(s);
    gn_summary_clear_threads(s);
    for (size_t i = 0; i < s->trouble_count; i++) {
        free(s->troubles[i].host);
        free(s->troubles[i].ended);
        free(s->troubles[i].message);
        free(s->troubles[i].last);
        gn_summary_clear_calls(&s->troubles[i]);
        gn_summary_clear_fatal(&s->troubles[i]);
    }
    for (size_t i = 0; i < s->lost_count; i++)
        free(s->lost[i].what);
    free(s->windows.kept);
    free(s->pairs);
    free(s->troubles);
    free(s->lost);
    memset(s, 0, sizeof *s);
}

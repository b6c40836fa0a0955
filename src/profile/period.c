#include "graph/sampled.h"
#include "profile/period.h"

#include "profile/moments.h"
#include "profile/samples.h"
#include "profile/series.h"
#include "profile/statement.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Which steps of a host are asked for: [first, end). */
struct host {
    const struct gn_host_moments *moments;
    size_t first, end;
};

struct hosts {
    struct gn_moments moments;
    struct host *items;
    size_t count;
};

static void clear(void *self)
{
    struct hosts *all = self;
    gn_moments_clear(&all->moments);
    free(all->items);
    free(all);
}

/* ---- which steps ---- */

static size_t nearest(const struct gn_host_moments *h, double ns)
{
    size_t best = 0;
    for (size_t i = 1; i < h->count; i++)
        if (fabs(h->at_ns[i] - ns) < fabs(h->at_ns[best] - ns))
            best = i;
    return best;
}

/* At least the step that what is asked for begins in. */
static void choose(struct host *h, const struct gn_period *period)
{
    const struct gn_host_moments *m = h->moments;
    h->first = nearest(m, period->from_s * 1e9);
    h->end = isfinite(period->to_s) ? nearest(m, period->to_s * 1e9) : m->count - 1;
    if (h->end > h->first || period->may_be_empty)
        return;
    h->first -= h->first > 0 && (h->first == m->count - 1 || m->at_ns[h->first] > period->from_s * 1e9);
    h->end = h->first + 1;
}

/* ---- for SQL ---- */

static const struct host *host_of(sqlite3_context *context, sqlite3_value *id)
{
    const struct hosts *all = sqlite3_user_data(context);
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].moments->id == sqlite3_value_int64(id))
            return &all->items[i];
    return NULL;
}

/* in_period(host, series, width, value) */
static void in_period(sqlite3_context *context, int count, sqlite3_value **v)
{
    const struct host *h = host_of(context, v[0]);
    (void)count;
    sqlite3_result_int64(context,
                         h ? gn_series_sum(sqlite3_value_blob(v[1]), (size_t)sqlite3_value_bytes(v[1]),
                                           (size_t)sqlite3_value_int64(v[2]),
                                           (size_t)sqlite3_value_int64(v[3]), h->first, h->end)
                           : 0);
}

/* step_behind(host, series, width): the first step behind the period in which there is something; NULL: in
 * none. */
static void step_behind(sqlite3_context *context, int count, sqlite3_value **v)
{
    const struct host *h = host_of(context, v[0]);
    const void *series = sqlite3_value_blob(v[1]);
    const size_t bytes = (size_t)sqlite3_value_bytes(v[1]), width = (size_t)sqlite3_value_int64(v[2]);
    (void)count;
    for (size_t i = h ? h->end : 0; h && i + 1 < h->moments->count; i++)
        if (gn_series_sum(series, bytes, width, 0, i, i + 1) != 0) {
            sqlite3_result_int64(context, (sqlite3_int64)i);
            return;
        }
    sqlite3_result_null(context);
}

/* until_part(host, series, width, end): the first value, summed up to the begin (end 0) or the end (1) of the
 * period. */
static void until_part(sqlite3_context *context, int count, sqlite3_value **v)
{
    const struct host *h = host_of(context, v[0]);
    (void)count;
    sqlite3_result_int64(context,
                         h ? gn_series_sum(sqlite3_value_blob(v[1]), (size_t)sqlite3_value_bytes(v[1]),
                                           (size_t)sqlite3_value_int64(v[2]), 0, 0,
                                           sqlite3_value_int64(v[3]) ? h->end : h->first)
                           : 0);
}

/* ago_ns(host, series, width, end): from the middle of the last step ahead of that moment in which there is
 * something; NULL: there was nothing. */
static void ago_ns(sqlite3_context *context, int count, sqlite3_value **v)
{
    const struct host *h = host_of(context, v[0]);
    const void *series = sqlite3_value_blob(v[1]);
    const size_t bytes = (size_t)sqlite3_value_bytes(v[1]), width = (size_t)sqlite3_value_int64(v[2]);
    (void)count;
    sqlite3_result_null(context);
    if (!h)
        return;
    const double *at_ns = h->moments->at_ns;
    const size_t border = sqlite3_value_int64(v[3]) ? h->end : h->first;
    for (size_t i = border; i-- > 0;)
        if (gn_series_sum(series, bytes, width, 0, i, i + 1) != 0) {
            sqlite3_result_int64(context, llround(at_ns[border] - (at_ns[i] + at_ns[i + 1]) / 2));
            return;
        }
}

/* at_step(series, width, value, step) */
static void at_step(sqlite3_context *context, int count, sqlite3_value **v)
{
    const size_t step = (size_t)sqlite3_value_int64(v[3]);
    (void)count;
    sqlite3_result_int64(context, gn_series_sum(sqlite3_value_blob(v[0]), (size_t)sqlite3_value_bytes(v[0]),
                                                (size_t)sqlite3_value_int64(v[1]),
                                                (size_t)sqlite3_value_int64(v[2]), step, step + 1));
}

/* period_ns(host, start_ticks, tick_ns, ns): what of the first `ns` of a process is in the period. */
static void period_ns(sqlite3_context *context, int count, sqlite3_value **v)
{
    const struct host *h = host_of(context, v[0]);
    (void)count;
    if (!h || sqlite3_value_type(v[3]) == SQLITE_NULL) {
        sqlite3_result_null(context);
        return;
    }
    const double *at_ns = h->moments->at_ns, from = at_ns[h->first], to = at_ns[h->end];
    const int64_t start_ticks = sqlite3_value_int64(v[1]);
    const double start =
        start_ticks > 0 ? at_ns[0] + gn_moments_since(h->moments, start_ticks) * sqlite3_value_double(v[2])
                        : at_ns[0];
    const double end = start + sqlite3_value_double(v[3]);
    const double inside = fmin(fmax(end, from), to) - fmin(fmax(start, from), to);
    sqlite3_result_int64(context, llround(fmin(fmax(inside, 0), 9e18)));
}

/* The hosts are the database's from here on. */
static int define(sqlite3 *db, struct hosts *all, struct gn_error *err)
{
    const struct {
        const char *name;
        int arguments;
        void (*function)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {{"step_behind", 3, step_behind},
                     {"at_step", 4, at_step},
                     {"period_ns", 4, period_ns},
                     {"until_part", 4, until_part},
                     {"ago_ns", 4, ago_ns}};
    int code = sqlite3_create_function_v2(db, "in_period", 4, SQLITE_UTF8 | SQLITE_DETERMINISTIC, all,
                                          in_period, NULL, NULL, clear);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0] && code == SQLITE_OK; i++)
        code = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
                                          SQLITE_UTF8 | SQLITE_DETERMINISTIC, all, functions[i].function,
                                          NULL, NULL, NULL);
    return code == SQLITE_OK
               ? 0
               : gn_fail(err, gn_sql_errno(db), "cannot look at a part of the run: %s", sqlite3_errmsg(db));
}

/* ---- tables ---- */

#define METRIC "16" /* in SQL */
_Static_assert(GN_SAMPLED_METRIC == 16, "as samples have it");

static const char *const tables[] = {
    "CREATE TEMP TABLE in_period_node AS SELECT n.location, n.activity, in_period(p.host, n.series, 4, 0) AS "
    "count,"
    " max(in_period(p.host, n.series, 4, 1), 0) AS total_ns, NULL AS min_ns, NULL AS max_ns, NULL AS "
    "spread_ns,"
    " 0 AS open_ns, 0 AS errors, in_period(p.host, n.series, 4, 2) AS messages,"
    " in_period(p.host, n.series, 4, 3) AS bytes, NULL AS time_log2, NULL AS size_log2, NULL AS series"
    " FROM main.node n JOIN main.location l ON l.id = n.location JOIN main.process p ON p.id = l.process",
    "DELETE FROM temp.in_period_node WHERE count = 0 AND total_ns = 0 AND messages = 0",
    "CREATE TEMP TABLE in_period_edge AS SELECT e.location, e.from_activity, e.to_activity,"
    " in_period(p.host, e.series, 3, 0) AS count, max(in_period(p.host, e.series, 3, 1), 0) AS total_ns,"
    " max(in_period(p.host, e.series, 3, 2), 0) AS own_ns, NULL AS min_ns, NULL AS max_ns, NULL AS spread_ns,"
    " 0 AS bytes, NULL AS series FROM main.edge e JOIN main.location l ON l.id = e.location"
    " JOIN main.process p ON p.id = l.process",
    "DELETE FROM temp.in_period_edge WHERE count = 0 AND total_ns = 0",
    "CREATE INDEX temp.in_period_node_key ON in_period_node(location, activity)",
    "CREATE INDEX temp.in_period_edge_key ON in_period_edge(location, from_activity, to_activity)",
    "CREATE TEMP TABLE in_period_process AS SELECT id, rank, host, pid, exe, flavour, library, world,"
    " thread_level, ended, exit_status, complete, message, tick_ns,"
    " period_ns(host, start_ticks, tick_ns, elapsed_ns) AS elapsed_ns,"
    " period_ns(host, start_ticks, tick_ns, init_ns) AS init_ns,"
    " period_ns(host, start_ticks, tick_ns, finalized_ns) AS finalized_ns, clock_domain, NULL AS cpu_ns,"
    " 0 AS startup_cpu_ns, world_id, traced, spawned, start_ticks FROM main.process",
    "CREATE TEMP TABLE in_period_location AS SELECT l.id, l.process, l.thread, l.thread_id,"
    " CASE WHEN l.thread = 0 THEN p.elapsed_ns ELSE coalesce(e.ns, 0) + coalesce(n.ns, 0) END AS elapsed_ns,"
    " coalesce(n.events, 0) AS events, l.probe_ns_per_event, coalesce(e.probe_ns, 0) AS probe_ns,"
    " l.last_activity, l.last_inside, l.last_ns, 0 AS unwound FROM main.location l"
    " JOIN temp.in_period_process p ON p.id = l.process"
    " LEFT JOIN (SELECT location, sum(total_ns) AS ns, sum(total_ns - own_ns) AS probe_ns"
    "  FROM temp.in_period_edge GROUP BY location) e ON e.location = l.id"
    " LEFT JOIN (SELECT n.location, sum(n.total_ns) AS ns, sum(n.count) AS events FROM temp.in_period_node n"
    "  JOIN main.activity a ON a.id = n.activity WHERE a.kind IN ('mpi', 'off', 'other') GROUP BY "
    "n.location) n"
    "  ON n.location = l.id",
    /* A stretch that lasts beyond the period is sampled, and its samples are counted when it has ended: then
     * as many as its time in the period has. Other threads' are counted when they are taken. */
    "CREATE TEMP TABLE in_period_sample AS WITH asked AS (SELECT s.*,"
    " in_period(p.host, s.series, 2, 0) AS inside, in_period(p.host, s.series, 2, 1) AS inside_ns,"
    " step_behind(p.host, s.series, 2) AS behind, coalesce(e.own_ns, n.total_ns) AS spent_ns"
    " FROM temp.in_period_all_samples s JOIN main.location l ON l.id = s.location JOIN main.process p ON "
    "p.id = l.process"
    " LEFT JOIN temp.in_period_edge e ON e.location = s.location AND e.from_activity = s.from_activity"
    "  AND e.to_activity = s.to_activity"
    " LEFT JOIN temp.in_period_node n ON s.to_activity IS NULL AND n.location = s.location"
    "  AND n.activity = s.from_activity WHERE spent_ns > 0),"
    " chosen AS (SELECT *, max(inside) OVER same AS any_inside, min(behind) OVER same AS next FROM asked"
    "  WINDOW same AS (PARTITION BY location, from_activity, to_activity, other_threads, how)),"
    " counted AS (SELECT *,"
    "  CASE WHEN any_inside > 0 OR other_threads THEN inside WHEN next IS NULL THEN 0"
    "   ELSE at_step(series, 2, 0, next) END AS n,"
    "  CASE WHEN any_inside > 0 OR other_threads THEN inside_ns WHEN next IS NULL THEN 0"
    "   ELSE at_step(series, 2, 1, next) END AS ns FROM chosen),"
    " scaled AS (SELECT *, CASE WHEN other_threads THEN 1.0 WHEN how >= " METRIC
    " THEN min(1.0, spent_ns * 1.0 / "
    "max(sum(CASE WHEN how = 0 THEN ns ELSE 0 END) OVER"
    "  (PARTITION BY location, from_activity, to_activity, other_threads), 1)) ELSE min(1.0, spent_ns * 1.0 "
    "/ "
    "max(sum(ns) OVER"
    "  (PARTITION BY location, from_activity, to_activity, other_threads, how), 1)) END AS part FROM "
    "counted"
    "  WHERE n > 0)"
    " SELECT location, from_activity, to_activity, site, called, other_threads, how,"
    " max(CAST(n * part + 0.5 AS INTEGER), 1) AS count, CAST(ns * part AS INTEGER) AS time_ns, NULL AS series"
    " FROM scaled",
    "CREATE TEMP TABLE in_period_sampling AS SELECT g.process, g.state, g.reason, coalesce(s.ns, 0) AS "
    "time_ns,"
    " coalesce(s.n, 0) AS samples, CAST(g.bursts * min(1.0, coalesce(s.n, 0) * 1.0 / max(g.samples, 1)) AS "
    "INTEGER) AS bursts, 0 AS by_place, 0 AS unattributed, 0 AS lost, g.helpers, 1 AS is_whole,"
    " g.with_kernel FROM temp.in_period_all_sampling g"
    " LEFT JOIN (SELECT l.process, sum(x.count) AS n, sum(x.time_ns) AS ns FROM temp.in_period_sample x"
    "  JOIN main.location l ON l.id = x.location WHERE x.how = 0 GROUP BY l.process) s ON s.process = "
    "g.process",
    "CREATE TEMP TABLE in_period_counter AS SELECT c.process, c.metric, c.name,"
    " CAST(c.total * coalesce(part.ns, 0) * 1.0 / max(coalesce(whole.ns, 0), 1) AS INTEGER) AS total, "
    "coalesce(part.n, 0) "
    "AS"
    " samples, c.is_scaled, coalesce(c.reason, CASE WHEN whole.ns IS NULL AND c.total > 0 THEN"
    " 'no samples of it, and so nothing is known of a part of the run' END) AS reason FROM "
    "temp.in_period_all_counters c"
    " LEFT JOIN (SELECT l.process, x.how, sum(x.count) AS n, sum(x.time_ns) AS ns FROM temp.in_period_sample "
    "x"
    "  JOIN main.location l ON l.id = x.location GROUP BY 1, 2) part"
    "  ON part.process = c.process AND part.how = c.metric + " METRIC
    " LEFT JOIN (SELECT l.process, x.how, sum(x.time_ns) AS ns FROM temp.in_period_all_samples x"
    "  JOIN main.location l ON l.id = x.location GROUP BY 1, 2) whole"
    "  ON whole.process = c.process AND whole.how = c.metric + " METRIC,
    "CREATE TEMP TABLE in_period_resource AS SELECT process, NULL AS peak_bytes, NULL AS peak_age_ns,"
    " NULL AS read_bytes, NULL AS written_bytes, NULL AS storage_read_bytes, NULL AS storage_written_bytes,"
    " NULL AS preempted_ns, cores, cores_quota, NULL AS core_mhz, NULL AS core_most_mhz,"
    " NULL AS resident_bytes, NULL AS remote_bytes FROM main.resource",
    "CREATE TEMP TABLE in_period_peer AS SELECT x.location, x.activity, x.peer,"
    " in_period(p.host, x.series, 4, 0) AS sent_messages, in_period(p.host, x.series, 4, 1) AS sent_bytes,"
    " in_period(p.host, x.series, 4, 2) AS received_messages, in_period(p.host, x.series, 4, 3) AS "
    "received_bytes,"
    " NULL AS series FROM temp.in_period_all_peers x JOIN main.location l ON l.id = x.location"
    " JOIN main.process p ON p.id = l.process",
    "DELETE FROM temp.in_period_peer WHERE sent_messages = 0 AND received_messages = 0",
    /* how long the longest took is not known */
    "CREATE TEMP TABLE in_period_completion AS SELECT c.location, c.from_activity, c.to_activity,"
    " in_period(p.host, c.series, 3, 0) AS count, max(in_period(p.host, c.series, 3, 1), 0) AS total_ns,"
    " max(in_period(p.host, c.series, 3, 2), 0) AS ahead_ns, NULL AS max_ns, NULL AS time_log2, NULL AS "
    "series"
    " FROM temp.in_period_all_completions c JOIN main.location l ON l.id = c.location"
    " JOIN main.process p ON p.id = l.process",
    "DELETE FROM temp.in_period_completion WHERE count <= 0"};

/* What profiles of before do not have, with nothing in its place. */
static const struct {
    const char *name, *table, *column, *without;
} views[] = {{"samples", "sample", "how", NULL}, /* gn_samples_how */
             {"sampling", "sampling", "with_kernel", "*, 0 AS with_kernel FROM main.sampling"},
             {"peers", "peer", "series", "*, NULL AS series FROM main.peer WHERE 0"},
             {"completions", "completion", "series",
              "0 AS location, 0 AS from_activity, 0 AS to_activity, NULL AS series WHERE 0"},
             {"counters", "counter", "metric",
              "0 AS process, 0 AS metric, '' AS name, 0 AS total, 0 AS is_scaled, NULL AS reason WHERE 0"}};

/* Of the part that was selected before. */
static int drop_tables(sqlite3 *db, struct gn_error *err)
{
    static const char *const made[] = {"node",     "edge",    "process",  "location", "sample",
                                       "sampling", "counter", "resource", "peer",     "completion"};
    char text[100];
    gn_sql_forget(db); /* statements that were prepared for them */
    int code = 0;
    for (size_t i = 0; i < sizeof views / sizeof views[0] && code == 0; i++) {
        snprintf(text, sizeof text, "DROP VIEW IF EXISTS temp.in_period_all_%s", views[i].name);
        code = gn_sql(db, err, text, "");
    }
    for (size_t i = 0; i < sizeof made / sizeof made[0] && code == 0; i++) {
        snprintf(text, sizeof text, "DROP TABLE IF EXISTS temp.in_period_%s", made[i]);
        code = gn_sql(db, err, text, "");
    }
    return code == 0 ? gn_sql(db, err, "DROP TABLE IF EXISTS temp.period", "") : code;
}

static int make_view(sqlite3 *db, size_t i, struct gn_error *err)
{
    char text[240], with[80], how[80];
    snprintf(with, sizeof with, "* FROM main.%s", views[i].table);
    snprintf(how, sizeof how, "*, %s AS how FROM main.sample", gn_samples_how(db));
    snprintf(text, sizeof text, "CREATE TEMP VIEW in_period_all_%s AS SELECT %s", views[i].name,
             gn_sql_has_column(db, views[i].table, views[i].column) ? with
             : views[i].without                                     ? views[i].without
                                                                    : how);
    return gn_sql(db, err, text, "");
}

static int make_tables(sqlite3 *db, struct gn_error *err)
{
    int code = 0;
    for (size_t i = 0; i < sizeof views / sizeof views[0] && code == 0; i++)
        code = make_view(db, i, err);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && code == 0; i++)
        if (sqlite3_exec(db, tables[i], NULL, NULL, NULL) != SQLITE_OK)
            code = gn_fail(err, gn_sql_errno(db), "cannot look at a part of the run: %s", sqlite3_errmsg(db));
    return code;
}

/* Its moments are what is told of the part. */
static const struct host *begun_first(const struct hosts *all)
{
    const struct host *first = &all->items[0];
    for (size_t i = 1; i < all->count; i++)
        if (all->items[i].moments->at_ns[0] < first->moments->at_ns[0])
            first = &all->items[i];
    return first;
}

static int note(sqlite3 *db, const struct hosts *all, struct gn_error *err)
{
    const struct host *h = begun_first(all);
    const double from_ns = h->moments->at_ns[h->first], to_ns = h->moments->at_ns[h->end];
    double run_ns = 0, off_ns = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct host *other = &all->items[i];
        const struct gn_host_moments *m = other->moments;
        run_ns = fmax(run_ns, m->at_ns[m->count - 1]);
        off_ns = fmax(off_ns, fabs(m->at_ns[other->first] - from_ns));
        off_ns = fmax(off_ns, fabs(m->at_ns[other->end] - to_ns));
    }
    if (all->moments.are_apart)
        off_ns = INFINITY;
    const struct host *reference =
        all->moments.reference < all->count ? &all->items[all->moments.reference] : NULL;
    int code = gn_sql(db, err,
                      "CREATE TEMP TABLE period(from_s REAL, to_s REAL, off_s REAL, run_s REAL, from_ticks "
                      "INTEGER, to_ticks INTEGER)",
                      "");
    if (code == 0)
        code = gn_sql(db, err, "INSERT INTO temp.period VALUES(?, ?, ?, ?, ?, ?)", "ddddii", from_ns * 1e-9,
                      to_ns * 1e-9, off_ns * 1e-9, run_ns * 1e-9,
                      reference ? reference->moments->ticks[reference->first] : (int64_t)0,
                      reference ? reference->moments->ticks[reference->end] : (int64_t)0);
    return code;
}

/* Where there was no room for a row, its time is missing in every part. */
static int check_rows(sqlite3 *db, struct gn_error *err)
{
    static const char missing[] =
        "SELECT (SELECT coalesce(sum(n.total_ns + n.open_ns), 0) FROM main.node n JOIN main.activity a ON "
        "a.id ="
        " n.activity WHERE a.kind = 'mpi' AND coalesce(length(n.series), 0) = 0) + (SELECT"
        " coalesce(sum(total_ns), 0) FROM main.edge WHERE coalesce(length(series), 0) = 0)";
    const double all_ns = (double)gn_sql_value(db, 0, "SELECT sum(elapsed_ns) FROM main.location", "");
    const double missing_ns = (double)gn_sql_value(db, 0, missing, "");
    if (missing_ns <= 0.01 * all_ns)
        return 0;
    return gn_fail(err, -ENODATA,
                   "its time series lacks %.1f %% of its time: there are too many different calls",
                   missing_ns / all_ns * 100);
}

static int choose_all(struct hosts *all, const struct gn_period *period, struct gn_error *err)
{
    double run_ns = 0;
    for (size_t i = 0; i < all->count; i++)
        run_ns = fmax(run_ns, all->items[i].moments->at_ns[all->items[i].moments->count - 1]);
    if (period->from_s * 1e9 >= run_ns)
        return gn_fail(err, -ERANGE, "the run is known until %.3f s: there is nothing of it behind %.3f s",
                       run_ns * 1e-9, period->from_s);
    for (size_t i = 0; i < all->count; i++)
        choose(&all->items[i], period);
    return 0;
}

int gn_period_select(sqlite3 *db, const struct gn_period *period, struct gn_error *err)
{
    struct hosts *all = calloc(1, sizeof *all);
    if (!all)
        return gn_fail(err, -ENOMEM, "no memory for a part of the run");
    int code = gn_moments_read(db, &all->moments, err);
    if (code == 0 && !(all->items = calloc(all->moments.count, sizeof *all->items)))
        code = gn_fail(err, -ENOMEM, "no memory for a part of the run");
    for (; code == 0 && all->count < all->moments.count; all->count++)
        all->items[all->count].moments = &all->moments.items[all->count];
    if (code == 0)
        code = choose_all(all, period, err);
    if (code == 0)
        code = check_rows(db, err);
    if (code != 0) {
        clear(all);
        return code;
    }
    code = define(db, all, err);
    if (code == 0)
        code = drop_tables(db, err);
    if (code == 0)
        code = make_tables(db, err);
    if (code == 0)
        code = note(db, all, err);
    return code;
}

int gn_period_has_series(sqlite3 *db, const char *table, const char *what, struct gn_error *err)
{
    char text[100];
    if (!gn_sql_has_column(db, table, "series"))
        return gn_fail(err, -ENODATA,
                       "the profile was written by an older gnomon: %s is known of all of the run only",
                       what);
    snprintf(text, sizeof text, "SELECT count(*) FROM main.%s WHERE series IS NULL", table);
    return gn_sql_value(db, 0, text, "") == 0
               ? 0
               : gn_fail(
                     err, -ENODATA,
                     "there was no room for a time series of each pair: %s is known of all of the run only",
                     what);
}

struct gn_period_told gn_period_selected(sqlite3 *db)
{
    struct gn_period_told told = {.is_set = false};
    if (gn_sql_value(db, 0, "SELECT count(*) FROM temp.sqlite_master WHERE name = 'period'", "") == 0)
        return told;
    sqlite3_stmt *q = gn_sql_query(
        db, NULL, "SELECT from_s, to_s, off_s, run_s, from_ticks, to_ticks FROM temp.period", "");
    if (q && sqlite3_step(q) == SQLITE_ROW)
        told = (struct gn_period_told){.is_set = true,
                                       .from_s = sqlite3_column_double(q, 0),
                                       .to_s = sqlite3_column_double(q, 1),
                                       .off_s = sqlite3_column_double(q, 2),
                                       .run_s = sqlite3_column_double(q, 3),
                                       .from_ticks = (uint64_t)sqlite3_column_int64(q, 4),
                                       .to_ticks = (uint64_t)sqlite3_column_int64(q, 5)};
    sqlite3_finalize(q);
    return told;
}

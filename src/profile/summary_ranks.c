/*
 * profile/summary_ranks — rank by rank: time outside of MPI and in it, processor time, waiting for cores,
 * memory, files; and what follows for the run: its efficiency, and what it had and used of its hosts.
 *
 * Efficiency is POP's (docs/report-format.md): of the time from the end of MPI_Init to MPI_Finalize, on the
 * thread that called MPI_Init.
 */
#include "base/grow.h"
#include "profile/naps.h"
#include "profile/statement.h"
#include "profile/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL is not known: not a number. */
static double number(sqlite3_stmt *q, int column)
{
    return sqlite3_column_type(q, column) == SQLITE_NULL ? NAN : sqlite3_column_double(q, column);
}

static char *copy(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return text ? strdup(text) : NULL;
}

/* ---- one by one ---- */

#define SETTING_UP "('MPI_Init', 'MPI_Init_thread', 'MPI_Finalize')"

/* %s: resources, the threads that work, the edges' time column, and what ranks sleep between polls: that is
 * no computing. */
static const char asked_ranks[] =
    "SELECT p.rank, h.name, p.elapsed_ns, p.cpu_ns, coalesce(u.ns, 0) - coalesce(z.ns, 0),"
    " coalesce(m.ns, 0) + coalesce(z.ns, 0), "
    "coalesce(s.messages, 0),"
    " coalesce(s.bytes, 0), coalesce(u.cost, 0), %s, %s, %s FROM process p JOIN host h ON h.id = p.host"
    " LEFT JOIN (SELECT l.process, sum(e.%s) AS ns, sum(e.total_ns - e.%s) AS cost FROM edge e JOIN location "
    "l ON l.id = e.location AND "
    "l.thread = 0"
    "  JOIN process p ON p.id = l.process"
    "  JOIN activity f ON f.id = e.from_activity JOIN activity t ON t.id = e.to_activity WHERE f.kind <> "
    "'start'"
    "  AND t.name NOT IN ('MPI_Init', 'MPI_Init_thread') AND f.name <> 'MPI_Finalize'"
    "  AND NOT (t.kind = 'end' AND p.finalized_ns > 0) GROUP BY l.process) u ON u.process = p.id"
    " LEFT JOIN (SELECT l.process, sum(n.total_ns + n.open_ns) AS ns FROM node n"
    "  JOIN location l ON l.id = n.location AND l.thread = 0 JOIN activity a ON a.id = n.activity"
    "  WHERE a.kind = 'mpi' AND a.name NOT IN " SETTING_UP " GROUP BY l.process) m ON m.process = p.id"
    " LEFT JOIN (%s) z ON z.process = p.id"
    " LEFT JOIN (SELECT l.process, sum(x.sent_messages) AS messages, sum(x.sent_bytes) AS bytes FROM peer x"
    "  JOIN location l ON l.id = x.location GROUP BY l.process) s ON s.process = p.id"
    " %s WHERE p.elapsed_ns IS NOT NULL ORDER BY p.rank, p.id";

static struct gn_rank_row take_rank(sqlite3_stmt *q)
{
    return (struct gn_rank_row){.rank = sqlite3_column_int(q, 0),
                                .host = copy(q, 1),
                                .elapsed_s = sqlite3_column_double(q, 2) * 1e-9,
                                .cpu_s = number(q, 3) * 1e-9,
                                .useful_s = sqlite3_column_double(q, 4) * 1e-9,
                                .mpi_s = sqlite3_column_double(q, 5) * 1e-9,
                                .messages = sqlite3_column_int64(q, 6),
                                .sent_bytes = sqlite3_column_int64(q, 7),
                                .cost_s = sqlite3_column_double(q, 8) * 1e-9,
                                .peak_bytes = number(q, 9),
                                .peak_age_s = number(q, 10) * 1e-9,
                                .read_bytes = number(q, 11),
                                .written_bytes = number(q, 12),
                                .preempted_s = number(q, 13) * 1e-9,
                                .cores = copy(q, 14),
                                .cores_quota = number(q, 15),
                                .core_mhz = number(q, 16),
                                .core_most_mhz = number(q, 17),
                                .resident_bytes = number(q, 18),
                                .remote_bytes = number(q, 19),
                                .helpers = number(q, 20)};
}

static int collect(sqlite3 *db, bool raw, struct gn_summary *s, struct gn_error *err)
{
    const bool told =
        gn_sql_value(db, 0, "SELECT count(*) FROM main.sqlite_master WHERE name = 'resource'", "") > 0;
    const bool with_speed = told && gn_sql_has_column(db, "resource", "core_mhz");
    char text[sizeof asked_ranks + GN_NAPS_QUERY + 500], slept[GN_NAPS_QUERY];
    const char *ns = raw ? "total_ns" : "own_ns";
    size_t room = 0;
    gn_profile_naps_query(db, ns, slept);
    snprintf(text, sizeof text, asked_ranks,
             told ? "r.peak_bytes, r.peak_age_ns, r.read_bytes, r.written_bytes, r.preempted_ns, r.cores, "
                    "r.cores_quota"
                  : "NULL, NULL, NULL, NULL, NULL, NULL, NULL",
             with_speed ? "r.core_mhz, r.core_most_mhz, r.resident_bytes, r.remote_bytes"
                        : "NULL, NULL, NULL, NULL",
             gn_sql_has_column(db, "sampling", "helpers")
                 ? "(SELECT g.helpers FROM sampling g WHERE g.process = p.id)"
                 : "NULL",
             ns, ns, slept, told ? "LEFT JOIN resource r ON r.process = p.id" : "");
    sqlite3_stmt *q = gn_sql_query(db, err, text, "");
    if (!q)
        return -EINVAL;
    while (sqlite3_step(q) == SQLITE_ROW) {
        if (!gn_grow(&s->ranks_told, &room, s->rank_count, sizeof *s->ranks_told)) {
            sqlite3_finalize(q);
            return gn_fail(err, -ENOMEM, "no memory for the ranks of the report");
        }
        s->ranks_told[s->rank_count++] = take_rank(q);
    }
    if (sqlite3_finalize(q) != SQLITE_OK)
        return gn_fail(err, -EINVAL, "the profile cannot be read to its end: %s", sqlite3_errmsg(db));
    return 0;
}

/* ---- efficiency ---- */

struct gn_efficiency gn_efficiency_of(const struct gn_rank_row *ranks, size_t count)
{
    double sum = 0, most = 0, length = 0;
    for (size_t i = 0; i < count; i++) {
        const double all = ranks[i].useful_s + ranks[i].mpi_s;
        sum += ranks[i].useful_s;
        most = fmax(most, ranks[i].useful_s);
        length = fmax(length, all);
    }
    if (count == 0 || most <= 0 || length <= 0)
        return (struct gn_efficiency){.is_known = false};
    const double mean = sum / (double)count;
    return (struct gn_efficiency){true, mean / length, mean / most, most / length, length};
}

/* ---- hosts ---- */

enum { CORES = 4096 };

/* Marks the cores of "0-3,8". */
static void mark_cores(const char *list, bool marked[CORES])
{
    while (list && *list) {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (end == list)
            return;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (long core = first; core >= 0 && core <= last && core < CORES; core++)
            marked[core] = true;
        list = *end == ',' ? end + 1 : NULL;
    }
}

static struct gn_host_row *host_of(struct gn_summary *s, const char *name)
{
    for (size_t i = 0; i < s->host_count; i++)
        if (strcmp(s->hosts_told[i].name, name) == 0)
            return &s->hosts_told[i];
    struct gn_host_row *host = &s->hosts_told[s->host_count++];
    host->name = name;
    return host;
}

/* Of the ranks of a host: which cores they may use between them. 0: not known. */
static double cores_of(const struct gn_summary *s, const struct gn_host_row *host)
{
    static const bool none[CORES];
    bool marked[CORES];
    double quota = 0, cores = 0;
    memcpy(marked, none, sizeof marked);
    for (size_t i = 0; i < s->rank_count; i++) {
        const struct gn_rank_row *r = &s->ranks_told[i];
        if (strcmp(r->host, host->name) != 0)
            continue;
        if (!r->cores)
            return 0;
        mark_cores(r->cores, marked);
        quota = fmax(quota, isfinite(r->cores_quota) ? r->cores_quota : CORES);
    }
    for (int core = 0; core < CORES; core++)
        cores += marked[core];
    return fmin(cores, quota);
}

static int describe_hosts(struct gn_summary *s, struct gn_error *err)
{
    s->hosts_told = calloc(s->rank_count + 1, sizeof *s->hosts_told);
    if (!s->hosts_told)
        return gn_fail(err, -ENOMEM, "no memory for the hosts of the report");
    for (size_t i = 0; i < s->rank_count; i++) {
        struct gn_rank_row *r = &s->ranks_told[i];
        struct gn_host_row *host = host_of(s, r->host);
        host->ranks++;
        host->useful_s += r->useful_s;
        host->elapsed_s += r->elapsed_s;
        host->preempted_s += r->preempted_s; /* not known of one: not known of the host */
        host->cpu_s += r->cpu_s;
    }
    for (size_t i = 0; i < s->host_count; i++)
        s->hosts_told[i].cores = cores_of(s, &s->hosts_told[i]);
    return 0;
}

/* ---- the run ---- */

static int by_number(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void describe_memory(const double *peaks, size_t count, struct gn_resources_told *t)
{
    t->peak_known = count > 0;
    if (count > 0)
        t->peak_median = peaks[(count - 1) / 2] / 2 + peaks[count / 2] / 2;
}

static int describe_resources(struct gn_summary *s, struct gn_error *err)
{
    struct gn_resources_told *t = &s->resources;
    double *peaks = calloc(s->rank_count + 1, sizeof *peaks), ready_s = 0;
    size_t known = 0;
    if (!peaks)
        return gn_fail(err, -ENOMEM, "no memory for the resources of the report");
    for (size_t i = 0; i < s->rank_count; i++) {
        const struct gn_rank_row *r = &s->ranks_told[i];
        t->read_bytes += r->read_bytes;
        t->written_bytes += r->written_bytes;
        t->messages += r->messages;
        t->sent_bytes += r->sent_bytes;
        t->preempted_s += r->preempted_s;
        t->cpu_s += r->cpu_s;
        /* several threads may wait at once: then of the time that they would have run */
        ready_s += fmax(r->elapsed_s, r->cpu_s + r->preempted_s);
        if (!isfinite(r->peak_bytes))
            continue;
        if (known == 0 || r->peak_bytes > t->peak_most) {
            t->peak_most = r->peak_bytes;
            t->peak_rank = r->rank;
            t->peak_age_s = r->peak_age_s;
        }
        peaks[known++] = r->peak_bytes;
    }
    qsort(peaks, known, sizeof *peaks, by_number);
    describe_memory(peaks, known, t);
    free(peaks);
    t->preempted_share = ready_s > 0 ? t->preempted_s / ready_s : NAN;
    for (size_t i = 0; i < s->host_count; i++)
        t->cores += s->hosts_told[i].cores > 0 ? s->hosts_told[i].cores : NAN;
    t->cores_busy = s->elapsed_s > 0 ? t->cpu_s / s->elapsed_s : NAN;
    return 0;
}

/* Half of the messages that were sent to a rank are not larger than bucket's limit, half not smaller than the
 * one's before it (docs/profile-format.md, histograms). */
static void describe_sizes(sqlite3 *db, struct gn_resources_told *t)
{
    enum { BUCKETS = 48 };
    uint64_t counts[BUCKETS] = {0}, all = 0, until = 0;
    sqlite3_stmt *q =
        gn_sql_query(db, NULL,
                     "SELECT n.size_log2 FROM node n WHERE EXISTS (SELECT 1 FROM peer x WHERE"
                     " x.location = n.location AND x.activity = n.activity AND x.sent_messages > 0)",
                     "");
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        uint64_t some[BUCKETS];
        const void *blob = sqlite3_column_blob(q, 0);
        if (!blob || sqlite3_column_bytes(q, 0) != (int)sizeof some)
            continue;
        memcpy(some, blob, sizeof some);
        for (int i = 0; i < BUCKETS; i++) {
            counts[i] += some[i];
            all += some[i];
        }
    }
    sqlite3_finalize(q);
    for (int i = 0; i < BUCKETS && all > 0; i++) {
        until += counts[i];
        if (until * 2 >= all) {
            t->sizes_known = true;
            t->size_low = i == 0 ? 0 : ldexp(1, i - 1);
            t->size_high = i == 0 ? 0 : ldexp(1, i) - 1;
            return;
        }
    }
}

int gn_summarise_ranks(sqlite3 *db, bool raw, struct gn_summary *s, struct gn_error *err)
{
    int code = collect(db, raw, s, err);
    if (code == 0)
        code = describe_hosts(s, err);
    if (code == 0)
        code = describe_resources(s, err);
    if (code != 0)
        return code;
    describe_sizes(db, &s->resources);
    s->efficiency = gn_efficiency_of(s->ranks_told, s->rank_count);
    return 0;
}

void gn_summary_clear_ranks(struct gn_summary *s)
{
    for (size_t i = 0; i < s->rank_count; i++) {
        free(s->ranks_told[i].host);
        free(s->ranks_told[i].cores);
    }
    free(s->ranks_told);
    free(s->hosts_told);
}

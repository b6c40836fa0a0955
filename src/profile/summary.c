#include "profile/summary.h"

#include "base/grow.h"
#include "profile/callers.h"
#include "profile/shown.h"
#include "profile/statement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every stretch of time of every thread, once: what it was, where, on which rank. %s is the edges' time
 * column. */
static const char pieces[] =
    "WITH " GN_SHOWN ", piece AS ("
    " SELECT 'mpi' AS kind, a.name AS name, coalesce(s.label, s.function) AS function, s.file AS file, "
    "s.line AS line,"
    "  a.id AS one, 0 AS two, p.rank AS rank, h.name AS host, n.total_ns + n.open_ns AS ns,"
    "  n.count + (n.open_ns > 0) AS count, n.bytes AS bytes, coalesce(o.callers, 0) AS callers"
    " FROM node n JOIN activity a ON a.id = n.activity LEFT JOIN shown c ON c.callpath = a.callpath"
    " LEFT JOIN caller_of o ON o.activity = a.id"
    " LEFT JOIN site s ON s.id = c.site JOIN location l ON l.id = n.location JOIN process p ON p.id = "
    "l.process"
    " JOIN host h ON h.id = p.host WHERE a.kind = 'mpi'"
    " UNION ALL"
    " SELECT a.kind, a.name, coalesce(s.label, s.function), s.file, s.line, a.id, 0, p.rank, h.name, "
    "n.total_ns + n.open_ns,"
    "  n.count, n.bytes, 0 FROM node n JOIN activity a ON a.id = n.activity LEFT JOIN shown c ON c.callpath "
    "= "
    "a.callpath"
    " LEFT JOIN site s ON s.id = c.site JOIN location l ON l.id = n.location JOIN process p ON p.id = "
    "l.process"
    " JOIN host h ON h.id = p.host WHERE a.kind IN ('off', 'other') AND n.total_ns + n.open_ns > 0"
    " UNION ALL"
    " SELECT 'computation', CASE WHEN f.kind = 'start' AND t.kind = 'mpi' AND t.call_group = 'init'"
    "  THEN 'before MPI_Init' WHEN t.kind = 'end' THEN 'after the last call' ELSE 'computation' END,"
    "  x.function, x.file, x.line, e.from_activity, e.to_activity, p.rank, h.name, e.%s, e.count, 0, 0"
    " FROM edge e JOIN location l ON l.id = e.location JOIN process p ON p.id = l.process JOIN host h ON "
    "h.id = p.host"
    " JOIN activity f ON f.id = e.from_activity JOIN activity t ON t.id = e.to_activity"
    " LEFT JOIN computation x ON x.from_activity = e.from_activity AND x.to_activity = e.to_activity"
    "), region AS ("
    " SELECT 'region' AS kind, a.name AS name, coalesce(s.label, s.function) AS function, s.file AS file, "
    "s.line AS line, a.id "
    "AS one,"
    "  0 AS two, p.rank AS rank, h.name AS host, n.total_ns AS ns, n.count AS count, 0 AS bytes"
    " FROM node n JOIN activity a ON a.id = n.activity LEFT JOIN shown c ON c.callpath = a.callpath"
    " LEFT JOIN site s ON s.id = c.site JOIN location l ON l.id = n.location JOIN process p ON p.id = "
    "l.process"
    " JOIN host h ON h.id = p.host WHERE a.kind = 'region') ";

/* MPI calls at one place that take this share of all time are told apart by their callers. */
#define TOLD_APART 0.01

/* The columns that make a row, by what is asked. */
#define KEYS(kind, name, function, file, line, one, two)                                                     \
#kind " AS k1, " #name " AS k2, " #function " AS k3, " #file " AS k4, " #line " AS k5, " #one            \
          " AS k6, " #two " AS k7"
static const char *const keys[] = {
    [GN_BY_ACTIVITY] = KEYS(kind, name, function, file, line, callers, 0),
    [GN_BY_CALLPATH] = KEYS(kind, name, function, file, line, one, two),
    [GN_BY_REGION] = KEYS(kind, name, NULL, NULL, 0, 0, 0),
    [GN_BY_FUNCTION] = KEYS('function', coalesce(function, '(unknown)'), function, file, 0, 0, 0),
    [GN_BY_LINE] = KEYS('line', coalesce(function, '(unknown)'), function, file, line, 0, 0),
    [GN_BY_RANK] = KEYS('rank', 'rank ' || rank, NULL, NULL, 0, 0, 0),
    [GN_BY_HOST] = KEYS('host', host, NULL, NULL, 0, 0, 0),
};

struct collector {
    struct gn_summary *summary;
    double total_ns; /* of all threads */
    int ranks;
    size_t capacity;
    struct rank_value { /* of the current row, one for each rank seen */
        int rank;
        int64_t ns, waiting_ns;
    } * values;
    bool one_rank; /* a row belongs to one rank or host: nothing to spread over the ranks */
    size_t value_count, value_capacity;
};

static char *copy(const void *text)
{
    return text ? strdup((const char *)text) : NULL;
}

static bool same_text(const char *a, const void *b)
{
    return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = ((const struct rank_value *)a)->ns, y = ((const struct rank_value *)b)->ns;
    return (x > y) - (x < y);
}

/* The i-th smallest of the ranks' values; as many zeros as there are ranks without one come first. */
static int64_t value_at(const struct collector *c, size_t absent, size_t i)
{
    return i < absent || c->value_count == 0 ? 0 : c->values[i - absent].ns;
}

/* See gn_summarise: the largest time outside of waiting calls and the smallest inside of them. */
static int64_t weight(const struct collector *c, size_t absent)
{
    int64_t work = 0, waiting = absent ? 0 : INT64_MAX;
    for (size_t i = 0; i < c->value_count; i++) {
        const struct rank_value *v = &c->values[i];
        work = v->ns - v->waiting_ns > work ? v->ns - v->waiting_ns : work;
        waiting = v->waiting_ns < waiting ? v->waiting_ns : waiting;
    }
    return work + (c->value_count ? waiting : 0);
}

/* All ranks' values of the row are here: the distribution over the ranks. */
static void close_row(struct collector *c)
{
    if (c->summary->row_count == 0)
        return;
    struct gn_activity_row *row = &c->summary->rows[c->summary->row_count - 1];
    size_t ranks = c->one_rank || (size_t)c->ranks < c->value_count ? c->value_count : (size_t)c->ranks;
    size_t absent = ranks - c->value_count;
    row->max_rank = -1;
    for (size_t i = 0; i < c->value_count; i++) {
        row->total_ns += c->values[i].ns;
        if (row->max_rank < 0 || c->values[i].ns > row->max_ns) {
            row->max_ns = c->values[i].ns;
            row->max_rank = c->values[i].rank;
        }
    }
    qsort(c->values, c->value_count, sizeof *c->values, by_value);
    row->min_ns = value_at(c, absent, 0);
    int64_t low = value_at(c, absent, ranks ? (ranks - 1) / 2 : 0), high = value_at(c, absent, ranks / 2);
    row->median_ns = low + (high - low) / 2;
    row->mean_ns = ranks ? row->total_ns / (int64_t)ranks : 0;
    row->weight_ns = c->one_rank ? row->total_ns : weight(c, absent);
    row->share = c->total_ns > 0 ? (double)row->total_ns / c->total_ns : 0;
    c->value_count = 0;
}

static bool belongs(const struct gn_activity_row *row, sqlite3_stmt *q)
{
    return same_text(row->kind, sqlite3_column_text(q, 0)) &&
           same_text(row->name, sqlite3_column_text(q, 1)) &&
           same_text(row->function, sqlite3_column_text(q, 2)) &&
           same_text(row->file, sqlite3_column_text(q, 3)) && row->line == sqlite3_column_int(q, 4);
}

static struct gn_activity_row *new_row(struct collector *c, sqlite3_stmt *q)
{
    struct gn_summary *s = c->summary;
    if (!gn_grow(&s->rows, &c->capacity, s->row_count, sizeof *s->rows))
        return NULL;
    struct gn_activity_row *row = &s->rows[s->row_count++];
    memset(row, 0, sizeof *row);
    row->kind = copy(sqlite3_column_text(q, 0));
    row->name = copy(sqlite3_column_text(q, 1));
    row->function = copy(sqlite3_column_text(q, 2));
    row->file = copy(sqlite3_column_text(q, 3));
    row->line = sqlite3_column_int(q, 4);
    return row;
}

static bool push_value(struct collector *c, const struct rank_value *value)
{
    if (!gn_grow(&c->values, &c->value_capacity, c->value_count, sizeof *c->values))
        return false;
    c->values[c->value_count++] = *value;
    return true;
}

/* "main > step > exchange" for a call path. */
static char *path_text(sqlite3 *db, int64_t activity)
{
    char *text = NULL;
    sqlite3_stmt *q = gn_sql_query(
        db, NULL,
        "WITH RECURSIVE up(id, parent, site, n) AS (SELECT c.id, c.parent, c.site, 0 FROM activity a JOIN "
        "callpath c"
        " ON c.id = a.callpath WHERE a.id = ? UNION ALL SELECT c.id, c.parent, c.site, n + 1 FROM up"
        " JOIN callpath c ON c.id = up.parent) SELECT group_concat(f, ' > ') FROM (SELECT"
        " coalesce(s.label, s.function, '?') || CASE WHEN s.line > 0 THEN ':' || s.line ELSE '' END AS f "
        "FROM up"
        " JOIN site s ON s.id = up.site ORDER BY n DESC)",
        "i", activity);
    if (q && sqlite3_step(q) == SQLITE_ROW)
        text = copy(sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    return text;
}

static char *edge_text(sqlite3 *db, int64_t from, int64_t to)
{
    char *a = path_text(db, from), *b = path_text(db, to), *text = NULL;
    if (!to)
        text = a ? strdup(a) : NULL;
    else if (asprintf(&text, "%s → %s", a ? a : "(start)", b ? b : "(end)") < 0)
        text = NULL;
    free(a);
    free(b);
    return text;
}

static int collect_rows(sqlite3 *db, enum gn_by by, bool raw, struct collector *c,
                        const struct gn_callers *callers, struct gn_error *err)
{
    char head[sizeof pieces + 64], text[sizeof head + 1024];
    snprintf(head, sizeof head, pieces, raw ? "total_ns" : "own_ns");
    snprintf(text, sizeof text,
             "%sSELECT k1, k2, k3, k4, k5, k6, k7, rank, sum(ns), sum(count), sum(bytes), sum(mpi),"
             " sum(waiting) FROM "
             "(SELECT %s,"
             " rank, ns, count, bytes, CASE WHEN kind = 'mpi' THEN ns ELSE 0 END AS mpi, CASE WHEN kind = "
             "'mpi' AND"
             " name NOT LIKE 'MPI_File_%%' THEN ns ELSE 0 END AS waiting FROM %s)"
             " GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8",
             head, keys[by], by == GN_BY_REGION ? "region" : "piece");
    sqlite3_stmt *q = gn_sql_query(db, err, text, "");
    if (!q)
        return -EINVAL;
    int64_t one = 0, two = 0;
    struct gn_activity_row *row = NULL;
    while (sqlite3_step(q) == SQLITE_ROW) {
        int64_t new_one = sqlite3_column_int64(q, 5), new_two = sqlite3_column_int64(q, 6);
        if (!row || !belongs(row, q) || one != new_one || two != new_two) {
            close_row(c);
            row = new_row(c, q);
            one = new_one;
            two = new_two;
            if (row && by == GN_BY_CALLPATH)
                row->path = edge_text(db, one, two);
            else if (row)
                row->callers = copy(gn_callers_text(callers, one));
        }
        struct rank_value value = {sqlite3_column_int(q, 7), sqlite3_column_int64(q, 8),
                                   sqlite3_column_int64(q, 12)};
        if (!row || !push_value(c, &value)) {
            sqlite3_finalize(q);
            return gn_fail(err, -ENOMEM, "no memory for the rows of the report");
        }
        row->count += sqlite3_column_int64(q, 9);
        row->bytes += sqlite3_column_int64(q, 10);
        row->mpi_ns += sqlite3_column_int64(q, 11);
    }
    close_row(c);
    if (sqlite3_finalize(q) != SQLITE_OK) /* a damaged file may fail half way */
        return gn_fail(err, -EINVAL, "the profile cannot be read to its end: %s", sqlite3_errmsg(db));
    return 0;
}

static int order_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int by_weight(const void *a, const void *b)
{
    const struct gn_activity_row *x = a, *y = b;
    if (x->weight_ns != y->weight_ns)
        return x->weight_ns < y->weight_ns ? 1 : -1;
    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? 1 : -1;
    int order = order_text(x->name, y->name);
    order = order ? order : order_text(x->file, y->file);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Messages are counted where they are known exactly: at the sender; at the receiver when the sender was not
 * measured (its rank has no process here). */
static int collect_pairs(sqlite3 *db, struct gn_summary *s, struct gn_error *err)
{
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
        char *path = t->last ? path_text(db, sqlite3_column_int64(q, 8)) : NULL, *with_path = NULL;
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
    s->lost = calloc(capacity + 2, sizeof *s->lost);
    sqlite3_stmt *q =
        gn_sql_query(db, NULL, "SELECT what, sum(count) FROM lost GROUP BY what ORDER BY what", "");
    while (q && s->lost && s->lost_count < capacity && sqlite3_step(q) == SQLITE_ROW)
        s->lost[s->lost_count++] =
            (struct gn_lost_row){copy(sqlite3_column_text(q, 0)), sqlite3_column_int64(q, 1)};
    sqlite3_finalize(q);
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

static void describe(sqlite3 *db, struct gn_summary *s, double *total_ns)
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
               "SELECT m.path FROM module m JOIN site s ON s.module = m.id WHERE m.has_lines = 0"
               " AND NOT EXISTS (SELECT 1 FROM module WHERE build_id = '" GN_SOURCE_BUILD_ID
               "') GROUP BY m.id ORDER BY count(*) DESC",
               s->no_lines_in, sizeof s->no_lines_in);
    s->ranks = (int)value(db, "SELECT count(DISTINCT rank) FROM process WHERE elapsed_ns IS NOT NULL");
    s->world = (int)value(db, "SELECT max(world) FROM process");
    s->world = s->world > s->ranks ? s->world : s->ranks;
    s->hosts = (int)value(db, "SELECT count(DISTINCT host) FROM process");
    s->elapsed_s = value(db, "SELECT max(elapsed_ns) FROM process") * 1e-9;
    s->complete = s->ranks == s->world && value(db, "SELECT count(*) FROM process WHERE NOT complete") == 0;
    *total_ns = value(db, "SELECT sum(elapsed_ns) FROM location");
    double mpi_ns =
        value(db, "SELECT sum(n.total_ns + n.open_ns) FROM node n JOIN activity a ON a.id = n.activity"
                  " WHERE a.kind = 'mpi'");
    s->mpi_share = *total_ns > 0 ? mpi_ns / *total_ns : 0;
}

static int64_t sum_of_hosts(sqlite3 *db, const char *what)
{
    return gn_sql_value(db, 0, "SELECT sum(CAST(value AS INTEGER)) FROM run WHERE key GLOB 'trace/*/' || ?",
                        "s", what);
}

static void collect_saved(sqlite3 *db, struct gn_summary *s)
{
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

int gn_summarise(sqlite3 *db, enum gn_by by, bool raw, struct gn_summary *s, struct gn_error *err)
{
    struct collector c = {.summary = s};
    memset(s, 0, sizeof *s);
    describe(db, s, &c.total_ns);
    c.ranks = s->ranks;
    c.one_rank = by == GN_BY_RANK || by == GN_BY_HOST;
    struct gn_callers *callers = NULL;
    int code = by == GN_BY_PAIR ? collect_pairs(db, s, err)
                                : gn_callers_find(&callers, db, (int64_t)(TOLD_APART * c.total_ns), err);
    if (code == 0 && by != GN_BY_PAIR)
        code = collect_rows(db, by, raw, &c, callers, err);
    gn_callers_free(callers);
    if (s->row_count)
        qsort(s->rows, s->row_count, sizeof *s->rows, by_weight);
    collect_troubles(db, s);
    gn_summarise_fatal(db, s);
    gn_summarise_endings(db, s);
    collect_lost(db, s);
    collect_spawned(db, s);
    collect_saved(db, s);
    collect_trace(db, &s->trace);
    gn_summarise_clocks(db, s);
    gn_summarise_cost(db, &s->cost);
    list_missing(db, s);
    free(c.values);
    if (code != 0)
        gn_summary_clear(s);
    return code;
}

void gn_summary_clear(struct gn_summary *s)
{
    gn_summary_clear_clocks(s);
    for (size_t i = 0; i < s->row_count; i++) {
        free(s->rows[i].kind);
        free(s->rows[i].name);
        free(s->rows[i].function);
        free(s->rows[i].file);
        free(s->rows[i].callers);
        free(s->rows[i].path);
    }
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
    free(s->rows);
    free(s->pairs);
    free(s->troubles);
    free(s->lost);
    memset(s, 0, sizeof *s);
}

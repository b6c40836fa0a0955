/*
 * profile/summary_rows — where all threads' time went: each stretch of it is in one row, so the rows add up
 * to it.
 *
 *   node, edge, location ──► pieces (row, rank, ns) ──sort──► rows, each with its distribution over the ranks
 *                              ▲
 *                    sample ───┘ an edge's time is divided among places as its samples are
 *
 * What no node and no edge has (it was not recorded), and what recording has cost, have rows of their own.
 */
#include "base/grow.h"
#include "base/lookup.h"
#include "base/mix.h"
#include "event/activity.h"
#include "graph/sampled.h"
#include "profile/callers.h"
#include "profile/deal.h"
#include "profile/row_pieces.h"
#include "profile/shown.h"
#include "profile/statement.h"
#include "profile/summary.h"
#include "profile/virtual.h"
#include "profile/samples.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI calls at one place that take one part in so many of all time are told apart by their callers. */
enum { TOLD_APART = 100 };

struct making {
    sqlite3 *db;
    bool raw;
    struct gn_summary *s;
    struct gn_error *err;
    struct gn_callers *callers;
    struct gn_edge_dealer dealer;
    struct gn_row_pieces *pieces;
    struct gn_dealt_edge *things; /* activities (their range is their row), and edges */
    size_t thing_count, thing_room;
    struct gn_lookup by_ids;
};

static char *copy(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return text ? strdup(text) : NULL;
}

static char *copy_text(const char *text)
{
    return text ? strdup(text) : NULL;
}

/* ---- what there is ---- */

static uint64_t hash_of_ids(int64_t from, int64_t to)
{
    return gn_mix(gn_mix((uint64_t)from) + (uint64_t)to);
}

struct ids {
    const struct making *m;
    int64_t from, to;
};

static bool is_thing(const void *context, uint32_t i)
{
    const struct ids *ids = context;
    return ids->m->things[i].range.from == ids->from && ids->m->things[i].range.to == ids->to;
}

static struct gn_dealt_edge *thing_of(const struct making *m, int64_t from, int64_t to)
{
    const struct ids ids = {m, from, to};
    const int64_t i = gn_lookup_find(&m->by_ids, hash_of_ids(from, to), is_thing, &ids);
    return i < 0 ? NULL : &m->things[i];
}

static const struct gn_activity_row *row_of(const struct making *m, int64_t activity)
{
    const struct gn_dealt_edge *thing = thing_of(m, activity, 0);
    return thing ? &thing->range : NULL;
}

static int no_memory(const struct making *m)
{
    return gn_fail(m->err, -ENOMEM, "no memory for the rows of the report");
}

static int add_thing(struct making *m, const struct gn_activity_row *range)
{
    if (!gn_grow(&m->things, &m->thing_room, m->thing_count, sizeof *m->things) ||
        !gn_lookup_add(&m->by_ids, hash_of_ids(range->from, range->to), (uint32_t)m->thing_count))
        return no_memory(m);
    m->things[m->thing_count++] = (struct gn_dealt_edge){.range = *range, .number = -1};
    return 0;
}

static int for_all(struct making *m, const char *text, int (*take)(struct making *m, sqlite3_stmt *q))
{
    int code = 0;
    sqlite3_stmt *q = gn_sql_query(m->db, m->err, text, "");
    if (!q)
        return -EINVAL;
    while (code == 0 && sqlite3_step(q) == SQLITE_ROW)
        code = take(m, q);
    if (sqlite3_finalize(q) != SQLITE_OK && code == 0) /* a damaged file may fail half way */
        return gn_fail(m->err, -EINVAL, "the profile cannot be read to its end: %s", sqlite3_errmsg(m->db));
    return code;
}

static int take_activity(struct making *m, sqlite3_stmt *q)
{
    return add_thing(m, &(struct gn_activity_row){
                            .from = sqlite3_column_int64(q, 0),
                            .how = GN_HOW_CALL,
                            .kind = copy(q, 1),
                            .name = copy(q, 2),
                            .function = copy(q, 3),
                            .file = copy(q, 4),
                            .line = sqlite3_column_int(q, 5),
                            .callers = copy_text(gn_callers_text(m->callers, sqlite3_column_int64(q, 6)))});
}

/* A computation lies between two calls, and that is all that is known of it without samples. */
static int take_edge(struct making *m, sqlite3_stmt *q)
{
    const struct gn_activity_row *from = row_of(m, sqlite3_column_int64(q, 0)),
                                 *to = row_of(m, sqlite3_column_int64(q, 1));
    struct gn_activity_row edge = {
        .from = sqlite3_column_int64(q, 0), .to = sqlite3_column_int64(q, 1), .how = GN_HOW_RANGE};
    const bool told = sqlite3_column_type(q, 5) != SQLITE_NULL || sqlite3_column_type(q, 7) != SQLITE_NULL;
    const bool before_init = from && to && strcmp(from->kind, "start") == 0 && sqlite3_column_int(q, 8) != 0;
    const bool is_all = from && to && strcmp(from->kind, "start") == 0 && strcmp(to->kind, "end") == 0;
    const bool after_last = to && strcmp(to->kind, "end") == 0 && !is_all;
    edge.kind = strdup("computation");
    edge.name = strdup(before_init ? "before MPI_Init" : after_last ? "after the last call" : "computation");
    if (told && !before_init && !after_last) {
        edge.function = copy(q, 2);
        edge.file = copy(q, 3);
        edge.line = sqlite3_column_int(q, 4);
        edge.until_function = copy(q, 5);
        edge.until_file = copy(q, 6);
        edge.until_line = sqlite3_column_int(q, 7);
        return add_thing(m, &edge);
    }
    if (from && !before_init) {
        edge.function = copy_text(from->function);
        edge.file = copy_text(from->file);
        edge.line = from->line;
    }
    if (to && !after_last) {
        edge.until_function = copy_text(to->function);
        edge.until_file = copy_text(to->file);
        edge.until_line = to->line;
    }
    return add_thing(m, &edge);
}

static int name_things(struct making *m)
{
    static const char activities[] =
        "WITH " GN_SHOWN "SELECT a.id, a.kind, a.name, coalesce(s.label, s.function), s.file, "
        "coalesce(s.line, 0), coalesce(o.callers, 0)"
        " FROM activity a LEFT JOIN shown c ON c.callpath = a.callpath LEFT JOIN site s ON s.id = c.site"
        " LEFT JOIN caller_of o ON o.activity = a.id";
    static const char edges[] =
        "SELECT e.from_activity, e.to_activity, x.function, x.file, x.line, %s, t.call_group = 'init'"
        " FROM (SELECT DISTINCT from_activity, to_activity FROM edge) e"
        " JOIN activity t ON t.id = e.to_activity"
        " LEFT JOIN computation x ON x.from_activity = e.from_activity AND x.to_activity = e.to_activity";
    const bool until = gn_sql_has_column(m->db, "computation", "until_line");
    char text[sizeof edges + 64];
    snprintf(text, sizeof text, edges,
             until ? "x.until_function, x.until_file, x.until_line" : "NULL, NULL, NULL");
    int code = for_all(m, activities, take_activity);
    return code == 0 ? for_all(m, text, take_edge) : code;
}

/* ---- pieces ---- */

static int take_node_time(struct making *m, sqlite3_stmt *q)
{
    const struct gn_dealt_edge *thing = thing_of(m, sqlite3_column_int64(q, 0), 0);
    if (!thing)
        return 0;
    const struct gn_row_stretch t = {
        .rank = sqlite3_column_int(q, 2),
        .host = (const char *)sqlite3_column_text(q, 3),
        .ns = sqlite3_column_int64(q, 4),
        .count = sqlite3_column_int64(q, 5),
        .bytes = sqlite3_column_int64(q, 6),
        .cpu_ns = gn_deal_in_call(&m->dealer, thing->range.from, sqlite3_column_int64(q, 1)),
        .open_ns = sqlite3_column_int64(q, 7)};
    return gn_row_pieces_add(m->pieces, &thing->range, &t);
}

/* By all of the run, also of a part of it: then there may be more in the kernel and without a core than the
 * part has, never less. Recording is in no sample that counts, and with --raw in the time. */
static struct gn_sampled_process process_of(const struct making *m, sqlite3_stmt *q)
{
    enum { IS_WHOLE = 7, SAMPLES, TIME_NS, MISSED, CPU_NS, PREEMPTED_NS, IS_START, WITH_KERNEL };
    const double samples = sqlite3_column_double(q, SAMPLES), time_ns = sqlite3_column_double(q, TIME_NS);
    const struct gn_sampling_told *told = &m->s->sampling;
    const bool has_cpu = sqlite3_column_type(q, CPU_NS) != SQLITE_NULL;
    return (struct gn_sampled_process){
        .is_known = !m->raw && sqlite3_column_int(q, IS_WHOLE) && !sqlite3_column_int(q, IS_START) &&
                    sqlite3_column_type(q, PREEMPTED_NS) != SQLITE_NULL,
        .period_ns = samples > 0         ? time_ns / samples
                     : told->samples > 0 ? told->time_s * 1e9 / (double)told->samples
                                         : 0,
        .missed = fmax(sqlite3_column_double(q, MISSED), 0),
        .cpu_ns = has_cpu ? sqlite3_column_double(q, CPU_NS) : time_ns,
        .with_kernel = sqlite3_column_int(q, WITH_KERNEL) != 0,
        .kernel_ns = sqlite3_column_int(q, WITH_KERNEL) ? 0
                     : has_cpu                          ? fmax(sqlite3_column_double(q, CPU_NS) - time_ns, 0)
                                                        : INFINITY,
        .no_core_ns = fmax(sqlite3_column_double(q, PREEMPTED_NS), 0)};
}

static int take_edge_sum(struct making *m, sqlite3_stmt *q)
{
    struct gn_dealt_edge *thing = thing_of(m, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));
    if (!thing)
        return 0;
    const struct gn_sampled_process process = process_of(m, q);
    gn_deal_count(&m->dealer, thing, sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 5),
                  sqlite3_column_int64(q, 6), &process);
    return 0;
}

static int take_edge_time(struct making *m, sqlite3_stmt *q)
{
    struct gn_dealt_edge *thing = thing_of(m, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));
    if (!thing)
        return 0;
    const struct gn_row_stretch t = {.rank = sqlite3_column_int(q, 3),
                                     .host = (const char *)sqlite3_column_text(q, 4),
                                     .ns = sqlite3_column_int64(q, 5),
                                     .count = sqlite3_column_int64(q, 6)};
    const struct gn_sampled_process process = process_of(m, q);
    return gn_deal_time(&m->dealer, thing, sqlite3_column_int64(q, 2), &t, &process);
}

static int take_edge_total(struct making *m, sqlite3_stmt *q)
{
    const struct gn_dealt_edge *edge = thing_of(m, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));
    if (edge)
        gn_deal_uncertainty(&m->dealer, edge, sqlite3_column_int64(q, 2));
    return 0;
}

/* What recording has cost, and what is neither a call nor between two. Ticks that are rounded to nanoseconds
 * one by one leave some over, or take some too many. */
static int take_remainder(struct making *m, sqlite3_stmt *q)
{
    struct gn_row_stretch cost = {.rank = sqlite3_column_int(q, 0),
                                  .host = (const char *)sqlite3_column_text(q, 1),
                                  .ns = sqlite3_column_int64(q, 2),
                                  .cpu_ns = sqlite3_column_int64(q, 2)};
    struct gn_row_stretch gap = {.rank = cost.rank, .host = cost.host, .ns = sqlite3_column_int64(q, 3)};
    /* what regions cost lies between no two events */
    const int64_t more = sqlite3_column_int64(q, 5) - cost.ns, moved = m->raw || more < 0 ? 0
                                                                       : more < gap.ns    ? more
                                                                                          : gap.ns;
    if (moved > 0) {
        cost.ns += moved;
        cost.cpu_ns += moved;
        gap.ns -= moved;
    }
    const int64_t noise = 1000 + sqlite3_column_int64(q, 4) / 1000000;
    int code = 0;
    if (!m->raw && cost.ns > 0)
        code = gn_row_pieces_add(
            m->pieces, &(struct gn_activity_row){.kind = "gnomon", .name = "gnomon's recording"}, &cost);
    if (code == 0 && gap.ns > noise)
        code = gn_row_pieces_add(
            m->pieces, &(struct gn_activity_row){.kind = "unrecorded", .name = "not recorded"}, &gap);
    return code;
}

static int collect_pieces(struct making *m)
{
    static const char nodes[] =
        "SELECT n.activity, l.id, p.rank, h.name, n.total_ns + n.open_ns, n.count + (a.kind = 'mpi' AND "
        "n.open_ns > 0),"
        " n.bytes, n.open_ns FROM node n JOIN activity a ON a.id = n.activity JOIN location l ON l.id = "
        "n.location"
        " JOIN process p ON p.id = l.process JOIN host h ON h.id = p.host"
        " WHERE a.kind = 'mpi' OR (a.kind IN ('off', 'other') AND n.total_ns + n.open_ns > 0)";
    static const char regions[] =
        /* of a part of the run that ends before it does, too */
        "SELECT x.activity, l.id, p.rank, h.name, coalesce(n.total_ns, 0), coalesce(n.count, 0), 0, 0"
        " FROM main.node x JOIN activity a ON a.id = x.activity JOIN location l ON l.id = x.location"
        " JOIN process p ON p.id = l.process JOIN host h ON h.id = p.host"
        " LEFT JOIN node n ON n.location = x.location AND n.activity = x.activity WHERE a.kind = 'region'";
    static const char remainder[] =
        "SELECT p.rank, h.name, coalesce(e.cost, 0) + coalesce(%s, 0), l.elapsed_ns - coalesce(e.total, 0) - "
        "coalesce(n.total, "
        "0),"
        " l.elapsed_ns, l.probe_ns FROM location l JOIN process p ON p.id = l.process JOIN host h ON h.id = "
        "p.host"
        " LEFT JOIN (SELECT location, sum(total_ns) AS total, sum(total_ns - own_ns) AS cost FROM edge"
        "  GROUP BY location) e ON e.location = l.id"
        " LEFT JOIN (SELECT n.location, sum(n.total_ns + n.open_ns) AS total FROM %snode n"
        "  JOIN activity a ON a.id = n.activity WHERE a.kind IN ('mpi', 'off', 'other') GROUP BY n.location) "
        "n"
        " ON n.location = l.id";
    static const char waited[] =
        "(SELECT sum(v.measured_ns - v.total_ns) FROM node v WHERE v.location = l.id)"; /* for others' cost */
    char edges[800], totals[200], rest[sizeof remainder + sizeof waited];
    const char *ns = m->raw ? "total_ns" : "own_ns";
    if (m->pieces->by == GN_BY_REGION)
        return for_all(m, regions, take_node_time);
    const bool is_virtual = gn_profile_is_virtual(m->db); /* then the table as it was measured is behind it */
    snprintf(rest, sizeof rest, remainder, is_virtual ? waited : "0", is_virtual ? "main." : "");
    snprintf(
        edges, sizeof edges,
        "SELECT e.from_activity, e.to_activity, l.id, p.rank, h.name, e.%s, e.count,"
        " g.state = 'sampled' AND %s, g.samples, g.time_ns, (g.lost + g.unattributed) * 1.0 / "
        "max(g.samples - g.unattributed, 1), m.cpu_ns, "
        "r.preempted_ns,"
        " a.kind = 'start', %s FROM edge e JOIN location l ON l.id = e.location JOIN process p ON p.id = "
        "l.process"
        " JOIN host h ON h.id = p.host LEFT JOIN activity a ON a.id = e.from_activity"
        " LEFT JOIN main.process m ON m.id = p.id LEFT JOIN main.sampling g ON g.process = p.id"
        " LEFT JOIN main.resource r ON r.process = p.id",
        ns, gn_sql_has_column(m->db, "sampling", "is_whole") ? "g.is_whole" : "g.reason IS NULL",
        gn_sql_has_column(m->db, "sampling", "with_kernel") ? "g.with_kernel" : "0");
    snprintf(totals, sizeof totals,
             "SELECT from_activity, to_activity, sum(%s) FROM edge GROUP BY from_activity, to_activity", ns);
    int code = for_all(m, nodes, take_node_time);
    code = code == 0 ? for_all(m, edges, take_edge_sum) : code;
    code = code == 0 ? for_all(m, edges, take_edge_time) : code;
    code = code == 0 ? for_all(m, rest, take_remainder) : code;
    const bool divided =
        m->dealer.samples.row_count > 0 && m->pieces->by != GN_BY_RANK && m->pieces->by != GN_BY_HOST;
    return code == 0 && divided ? for_all(m, totals, take_edge_total) : code;
}

/* ---- rows ---- */

void gn_row_at(struct gn_activity_row *row, const struct gn_sample_place *place)
{
    row->how = GN_HOW_SAMPLED;
    row->function = place->function;
    row->file = place->file;
    row->line = place->line;
    row->library = place->library;
    row->called = place->called;
    row->runtime = place->runtime;
    row->until_function = row->until_file = NULL;
    row->until_line = 0;
}

/* Of regions, which contain each other, of what all locations took; of all others of what the rows have. */
static void fill_shares(struct making *m)
{
    struct gn_summary *s = m->s;
    int64_t all = 0;
    for (size_t i = 0; i < s->row_count; i++)
        gn_samples_sum(&all, s->rows[i].total_ns);
    if (m->pieces->by == GN_BY_REGION)
        all = gn_sql_value(m->db, 0, "SELECT sum(elapsed_ns) FROM location", "");
    s->total_ns = all;
    for (size_t i = 0; i < s->row_count && all > 0; i++) {
        struct gn_activity_row *row = &s->rows[i];
        const double off = sqrt(m->pieces->variance[i]) / (double)all;
        row->share = (double)row->total_ns / (double)all;
        row->low = fmax(row->share - off, 0);
        row->high = fmin(row->share + off, 1);
    }
}

/* ---- counters ---- */

static int64_t row_of_counted(const struct making *m, const struct gn_sample_row *r)
{
    const struct gn_dealt_edge *thing = thing_of(m, r->from, r->to);
    if (!thing || gn_deal_is_ours(&m->dealer, r->place))
        return -1;
    const struct gn_activity_row exact =
        r->to == 0 ? thing->range : gn_deal_row(&m->dealer, &thing->range, r->place);
    const int64_t row = gn_row_pieces_row(m->pieces, &exact);
    /* where no time was told at that place, with what else is known from one call to the next */
    static const enum gn_how others[] = {GN_HOW_RANGE, GN_HOW_OTHER_PLACES, GN_HOW_UNSEEN};
    struct gn_activity_row range = thing->range;
    int64_t other = row;
    for (size_t i = 0; i < sizeof others / sizeof others[0] && other < 0; i++) {
        range.how = others[i];
        other = gn_row_pieces_row(m->pieces, &range);
    }
    return other;
}

/* What was counted, dealt to the rows as the samples of it are. What is in none stays with nobody. */
static void deal_counters(struct making *m)
{
    struct gn_summary *s = m->s;
    double sampled[GN_METRICS_AT_A_TIME] = {0};
    const enum gn_by by = m->pieces->by;
    if (by == GN_BY_RANK || by == GN_BY_HOST || by == GN_BY_REGION) /* each rank's is told */
        return;
    for (size_t i = 0; i < m->dealer.counted_count; i++) {
        const struct gn_sample_row *r = &m->dealer.counted[i];
        size_t c = 0;
        while (c < s->counter_count && s->counters[c].metric != (uint32_t)(r->how - GN_SAMPLED_METRIC))
            c++;
        const int64_t row = c < s->counter_count ? row_of_counted(m, r) : -1;
        if (c < s->counter_count)
            sampled[c] += (double)r->time_ns;
        if (row >= 0)
            s->rows[row].amounts[c] += (double)r->time_ns;
    }
    for (size_t i = 0; i < s->row_count; i++)
        for (size_t c = 0; c < s->counter_count; c++)
            s->rows[i].amounts[c] *= sampled[c] > 0 ? (double)s->counters[c].total / sampled[c] : 0;
}

/* ---- call paths ---- */

/* "main:162 > iterate:110" for the call path of an activity. */
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
        text = copy(q, 0);
    sqlite3_finalize(q);
    return text;
}

char *gn_summary_path(sqlite3 *db, int64_t from, int64_t to)
{
    char *a = path_text(db, from), *b = to ? path_text(db, to) : NULL, *text = NULL;
    if (!to)
        return a;
    if (asprintf(&text, "%s → %s", a ? a : "(start)", b ? b : "(end)") < 0)
        text = NULL;
    free(a);
    free(b);
    return text;
}

/* What is done on no call path has an empty one. */
static void name_paths(sqlite3 *db, struct gn_summary *s)
{
    for (size_t i = 0; i < s->row_count; i++) {
        struct gn_activity_row *row = &s->rows[i];
        row->path = row->from ? gn_summary_path(db, row->from, row->to) : NULL;
        if (!row->path)
            row->path = strdup("");
    }
}

/* ---- all of it ---- */

static void clear(struct making *m)
{
    for (size_t i = 0; i < m->thing_count; i++)
        gn_row_clear(&m->things[i].range);
    free(m->things);
    gn_lookup_clear(&m->by_ids);
    gn_callers_free(m->callers);
    gn_deal_clear(&m->dealer);
    gn_row_pieces_clear(m->pieces);
}

/* Of ranks that were sampled, or of the first one that was not. */
static void describe_sampling(const struct gn_samples *samples, struct gn_sampling_told *told)
{
    const struct gn_sampling_row *shown = samples->process_count ? &samples->processes[0] : NULL;
    told->with_kernel = samples->process_count > 0;
    for (size_t i = 0; i < samples->process_count; i++) {
        const struct gn_sampling_row *p = &samples->processes[i];
        if (strcmp(p->state, "sampled") == 0 && strcmp(shown->state, "sampled") != 0)
            shown = p;
        told->with_kernel &= p->with_kernel;
        told->samples += p->samples;
        told->unattributed += p->unattributed;
        told->time_s += (double)p->time_ns * 1e-9;
    }
    if (!shown)
        return;
    snprintf(told->state, sizeof told->state, "%s", shown->state);
    snprintf(told->reason, sizeof told->reason, "%s", shown->reason ? shown->reason : "");
}

static double samples_per_burst(const struct gn_samples *s)
{
    int64_t samples = 0, bursts = 0;
    for (size_t i = 0; i < s->process_count; i++) {
        samples += s->processes[i].samples;
        bursts += s->processes[i].bursts;
    }
    return bursts > 0 ? (double)samples / (double)bursts : 1;
}

/* ---- computations as a whole ---- */

static bool is_between_polls(const struct making *m, const struct gn_dealt_edge *edge)
{
    const struct gn_activity_row *call = row_of(m, edge->range.from);
    const struct gn_activity_def *def = gn_activity_def(
        call && strcmp(call->kind, "mpi") == 0 ? gn_activity_named(call->name) : GN_ACTIVITY_NONE);
    return edge->range.from == edge->range.to && (def->traits & GN_TRAIT_POLLS);
}

static int take_whole_edge(struct making *m, sqlite3_stmt *q)
{
    struct gn_dealt_edge *thing = thing_of(m, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));
    const struct gn_row_stretch t = {.rank = sqlite3_column_int(q, 2),
                                     .host = "",
                                     .ns = sqlite3_column_int64(q, 3),
                                     .count = sqlite3_column_int64(q, 4)};
    if (!thing)
        return 0;
    const int code = gn_row_pieces_add(m->pieces, &thing->range, &t);
    if (code != 0 || thing->number >= 0)
        return code;
    thing->number = gn_row_pieces_row(m->pieces, &thing->range);
    struct gn_activity_row *row = &m->pieces->summary->rows[thing->number];
    row->between_polls |= is_between_polls(m, thing);
    row->preempted_s = row->off_core_s = (struct gn_between){NAN, NAN}; /* only the places say */
    return 0;
}

/* Between which calls, whatever samples say of where: one function may be called from many. */
static int make_ranges(struct making *m, struct gn_row_pieces *ranges)
{
    char edges[300];
    snprintf(edges, sizeof edges,
             "SELECT e.from_activity, e.to_activity, p.rank, e.%s, e.count FROM edge e JOIN location l"
             " ON l.id = e.location JOIN process p ON p.id = l.process",
             m->raw ? "total_ns" : "own_ns");
    struct gn_row_pieces *rows = m->pieces;
    m->pieces = ranges;
    const int code = for_all(m, edges, take_whole_edge);
    m->pieces = rows;
    if (code == 0)
        gn_row_pieces_fill(ranges);
    return code;
}

/* One place of one range, of one rank. */
struct place {
    uint32_t range, row;
    int32_t rank;
    int64_t ns;
};

static int by_range(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->range != b->range)
        return a->range < b->range ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* What the rank takes beyond the mean of the others in the place that begins there; *next: the one behind it.
 */
static double excess_ns(const struct place *places, size_t count, size_t first, int rank, double others,
                        size_t *next)
{
    double own = 0, all = 0;
    for (*next = first; *next < count && by_range(&places[first], &places[*next]) == 0; ++*next) {
        all += (double)places[*next].ns;
        own += places[*next].rank == rank ? (double)places[*next].ns : 0;
    }
    return own - (all - own) / fmax(1, others);
}

/* Each range's leading place, where there is one (or what no sample is of) in which at least half of what its
 * rank takes longer is; and of each place the range in which nearly all of it is. Rows and ranges by number.
 */
static void tell_places(struct gn_summary *s, struct gn_summary *ranges, const struct place *places,
                        size_t count)
{
    static const double half = 0.5, nearly_all = 0.9;
    double leading = 0;
    for (size_t i = 0, next; i < count; i = next) {
        struct gn_activity_row *range = &ranges->rows[places[i].range], *row = &s->rows[places[i].row];
        const double own = excess_ns(places, count, i, range->max_rank, INFINITY, &next),
                     of_row = excess_ns(places, count, i, row->max_rank, INFINITY, &next),
                     excess = excess_ns(places, count, i, range->max_rank, s->ranks - 1, &next);
        if (i == 0 || places[i].range != places[i - 1].range)
            leading = half * (double)(range->max_ns - range->mean_ns);
        if ((row->how == GN_HOW_SAMPLED || row->how == GN_HOW_UNSEEN) && excess > leading) {
            leading = excess;
            range->place = (int)places[i].row;
            range->place_ns = (int64_t)own;
        }
        if (of_row >= nearly_all * (double)row->max_ns)
            row->in_range = (int)places[i].range;
    }
}

static int find_places(struct making *m, struct gn_row_pieces *ranges)
{
    const struct gn_row_pieces *p = m->pieces;
    struct place *places = calloc(p->part_count + 1, sizeof *places);
    if (!places)
        return no_memory(m);
    size_t count = 0;
    for (size_t i = 0; i < p->part_count; i++) {
        const struct gn_row_part *part = &p->parts[i];
        const struct gn_dealt_edge *edge = thing_of(m, part->from, part->to);
        if (edge && edge->number >= 0)
            places[count++] = (struct place){(uint32_t)edge->number, part->row, part->rank, part->ns};
    }
    qsort(places, count, sizeof *places, by_range);
    tell_places(m->s, ranges->summary, places, count);
    free(places);
    return 0;
}

/* Largest first; what is said of each other's numbers is by their new places. */
static int sort_both(struct gn_summary *s, struct gn_error *err)
{
    size_t *row_at = calloc(s->row_count + 1, sizeof *row_at),
           *range_at = calloc(s->range_count + 1, sizeof *range_at);
    if (row_at && range_at) {
        qsort(s->rows, s->row_count, sizeof *s->rows, gn_row_by_total);
        qsort(s->ranges, s->range_count, sizeof *s->ranges, gn_row_by_total);
        for (size_t i = 0; i < s->row_count; i++)
            row_at[s->rows[i].number] = i;
        for (size_t i = 0; i < s->range_count; i++)
            range_at[s->ranges[i].number] = i;
        for (size_t i = 0; i < s->row_count; i++)
            s->rows[i].in_range = s->rows[i].in_range < 0 ? -1 : (int)range_at[s->rows[i].in_range];
        for (size_t i = 0; i < s->range_count; i++)
            s->ranges[i].place = s->ranges[i].place < 0 ? -1 : (int)row_at[s->ranges[i].place];
    }
    const bool room = row_at && range_at;
    free(row_at);
    free(range_at);
    return room ? 0 : gn_fail(err, -ENOMEM, "no memory for the rows of the report");
}

static int collect_ranges(struct making *m)
{
    struct gn_summary *s = m->s, told = {.ranks = s->ranks};
    struct gn_row_pieces ranges = {.by = GN_BY_ACTIVITY, .summary = &told, .err = m->err};
    int code = make_ranges(m, &ranges);
    code = code == 0 ? find_places(m, &ranges) : code;
    gn_row_pieces_clear(&ranges);
    for (size_t i = 0; i < told.row_count && s->total_ns > 0; i++)
        told.rows[i].share = (double)told.rows[i].total_ns / (double)s->total_ns;
    s->ranges = told.rows;
    s->range_count = told.row_count;
    return code == 0 ? sort_both(s, m->err) : code;
}

int gn_summarise_rows(sqlite3 *db, enum gn_by by, enum gn_by named, bool raw, struct gn_summary *s,
                      struct gn_error *err)
{
    struct gn_row_pieces pieces = {.by = by, .summary = s, .err = err, .keeps_parts = by == GN_BY_ACTIVITY};
    struct making m = {.db = db, .raw = raw, .s = s, .err = err, .pieces = &pieces, .dealer = {.raw = raw}};
    struct gn_samples *samples = &m.dealer.samples;
    m.dealer.rows = &pieces;
    int code = gn_samples_read(db,
                               named == GN_BY_FUNCTION ? GN_SAMPLES_OF_FUNCTIONS
                               : named == GN_BY_LINE   ? GN_SAMPLES_OF_LINES
                                                       : GN_SAMPLES_OF_PLACES,
                               samples, err);
    m.dealer.per_burst = samples_per_burst(samples);
    describe_sampling(samples, &s->sampling);
    s->sampling.per_burst = m.dealer.per_burst;
    if (code == 0)
        code = gn_summarise_threads(samples, s, err);
    if (code == 0)
        code = gn_summarise_counters(db, s, err);
    if (code == 0)
        code = gn_deal_sort(&m.dealer);
    if (code == 0)
        code = gn_callers_find(&m.callers, db,
                               gn_sql_value(db, 0, "SELECT sum(elapsed_ns) FROM location", "") / TOLD_APART,
                               err);
    if (code == 0)
        code = name_things(&m);
    if (code == 0)
        code = collect_pieces(&m);
    if (code == 0) {
        gn_row_pieces_fill(&pieces);
        fill_shares(&m);
        deal_counters(&m);
        if (by == GN_BY_CALLPATH)
            name_paths(db, s);
    }
    const bool has_ranges =
        by == GN_BY_ACTIVITY && samples->row_count + m.dealer.asleep_count + m.dealer.line_count > 0;
    if (code == 0 && has_ranges)
        code = collect_ranges(&m);
    else if (code == 0 && s->row_count)
        qsort(s->rows, s->row_count, sizeof *s->rows,
              by == GN_BY_RANK ? gn_row_by_computation : gn_row_by_total);
    if (code == 0 && (by == GN_BY_ACTIVITY || by == GN_BY_PLACE))
        gn_summarise_helped(s);
    clear(&m);
    return code;
}

void gn_summary_clear_rows(struct gn_summary *s)
{
    for (size_t i = 0; i < s->row_count; i++)
        gn_row_clear(&s->rows[i]);
    for (size_t i = 0; i < s->range_count; i++)
        gn_row_clear(&s->ranges[i]);
    free(s->rows);
    free(s->ranges);
}

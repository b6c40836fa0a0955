/*
 * profile/summary_regions — how efficient each region of the user's was: what ranks spent outside of MPI
 * while they were in it.
 *
 * A profile says from which activity a rank went to which, but not in which region. That follows from the
 * graph: behind a region's begin it is inside, behind its end outside, and what is reached from both is not
 * known. Where that is more than a hundredth of the region, on any rank, nothing is said of it. How long
 * ranks were in a region in a part of the run follows from when it began and ended: what a profile has of it
 * comes when it ends.
 *
 *     start ──► MPI_Init ──► begin solve ──► MPI_Send ──► MPI_Recv ──► end solve ──► MPI_Finalize
 *       out        out            in            in           in           out            out
 */
#include "profile/samples.h"
#include "profile/statement.h"
#include "profile/summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 }; /* regions: a bit for each */

/* What an activity is. */
struct place {
    uint64_t begins, ends; /* these regions */
    bool is_mpi, is_init;
    bool is_aside;    /* neither useful nor waiting, as MPI_Init */
    uint64_t in, out; /* ahead of it, the regions that a rank may be in, and may be outside of */
    int64_t ns;       /* in it */
};

struct hop {
    int64_t from, to, ns;
};

struct finding {
    sqlite3 *db;
    struct gn_error *err;
    struct gn_summary *s;
    char *names[MOST];
    size_t count; /* of regions */
    struct place *places;
    int64_t place_count; /* ids of activities are below it */
    struct hop *hops;    /* of one location */
    size_t hop_count;
    int64_t *processes, *locations; /* of all ranks, and of their first threads */
    struct gn_rank_row *ranks;      /* count × all ranks: useful_s and mpi_s of each region */
    bool unclear[MOST];
};

static int region_of(const struct finding *f, const char *name)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->names[i], name) == 0)
            return (int)i;
    return -1;
}

static void name_regions(struct finding *f)
{
    for (size_t i = 0; i < f->s->row_count && f->count < MOST; i++)
        f->names[f->count++] = f->s->rows[i].name;
}

static int read_places(struct finding *f)
{
    f->place_count = gn_sql_value(f->db, 0, "SELECT max(id) + 1 FROM activity", "");
    f->places = calloc((size_t)f->place_count + 1, sizeof *f->places);
    if (!f->places)
        return gn_fail(f->err, -ENOMEM, "no memory for the regions of the report");
    sqlite3_stmt *q = gn_sql_query(f->db, f->err, "SELECT id, kind, name FROM activity", "");
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(q, 0);
        const char *kind = (const char *)sqlite3_column_text(q, 1),
                   *name = (const char *)sqlite3_column_text(q, 2);
        if (id <= 0 || id >= f->place_count || !kind || !name)
            continue;
        struct place *p = &f->places[id];
        const int region = strncmp(kind, "region", 6) == 0 ? region_of(f, name) : -1;
        p->begins = region >= 0 && strcmp(kind, "region_begin") == 0 ? UINT64_C(1) << region : 0;
        p->ends = region >= 0 && !p->begins ? UINT64_C(1) << region : 0;
        p->is_mpi = strcmp(kind, "mpi") == 0;
        p->is_init = strcmp(name, "MPI_Init") == 0 || strcmp(name, "MPI_Init_thread") == 0;
        p->is_aside = p->is_init || strcmp(name, "MPI_Finalize") == 0 || strcmp(kind, "off") == 0 ||
                      strcmp(kind, "other") == 0;
    }
    sqlite3_finalize(q);
    return q ? 0 : -EINVAL;
}

/* From ahead of an activity to behind it. */
static void behind(const struct place *p, uint64_t *in, uint64_t *out)
{
    *in = (p->in & ~p->ends) | p->begins;
    *out = (p->out & ~p->begins) | p->ends;
}

/* Until nothing changes: there are no more rounds than regions and hops, as bits are only added. */
static void spread_states(struct finding *f)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < f->hop_count; i++) {
            struct place *to = &f->places[f->hops[i].to];
            uint64_t in, out;
            behind(&f->places[f->hops[i].from], &in, &out);
            changed = changed || (in & ~to->in) || (out & ~to->out);
            to->in |= in;
            to->out |= out;
        }
    }
}

struct share_of {
    double useful_ns, mpi_ns, unclear_ns;
};

static void add_share(struct share_of shares[MOST], uint64_t in, uint64_t out, double ns, bool is_mpi)
{
    for (int i = 0; i < MOST; i++) {
        if (!(in >> i & 1))
            continue;
        if (out >> i & 1)
            shares[i].unclear_ns += ns;
        else if (is_mpi)
            shares[i].mpi_ns += ns;
        else
            shares[i].useful_ns += ns;
    }
}

/* All hops of a location are there: what it spent in each region. */
static void close_location(struct finding *f, size_t rank)
{
    struct share_of shares[MOST] = {{0}};
    uint64_t in, out, nested = 0;
    spread_states(f);
    for (size_t i = 0; i < f->hop_count; i++) {
        behind(&f->places[f->hops[i].from], &in, &out);
        if (!f->places[f->hops[i].to].is_init)
            add_share(shares, in, out, (double)f->hops[i].ns, false);
    }
    for (int64_t id = 1; id < f->place_count; id++) {
        struct place *p = &f->places[id];
        nested |= p->begins & p->in; /* a region in itself: its first end is not the end */
        if (p->is_mpi && !p->is_aside)
            add_share(shares, p->in, p->out, (double)p->ns, true);
        p->in = p->out = 0;
        p->ns = 0;
    }
    for (size_t i = 0; i < f->count; i++) {
        const double known_ns = shares[i].useful_ns + shares[i].mpi_ns;
        struct gn_rank_row *row = &f->ranks[i * f->s->rank_count + rank];
        row->useful_s = shares[i].useful_ns * 1e-9;
        row->mpi_s = shares[i].mpi_ns * 1e-9;
        f->unclear[i] = f->unclear[i] || shares[i].unclear_ns > 0.01 * known_ns || nested >> i & 1;
    }
    f->hop_count = 0;
}

static int look_at(struct finding *f, int64_t location, size_t rank, bool raw)
{
    const int64_t hops =
        gn_sql_value(f->db, 0, "SELECT count(*) FROM main.edge WHERE location = ?", "i", location);
    f->hops = calloc((size_t)hops + 1, sizeof *f->hops);
    if (!f->hops)
        return gn_fail(f->err, -ENOMEM, "no memory for the regions of the report");
    sqlite3_stmt *q =
        gn_sql_query(f->db, f->err,
                     "SELECT e.from_activity, e.to_activity, coalesce(v.total_ns, 0), coalesce(v.own_ns, 0)"
                     " FROM main.edge e LEFT JOIN edge v ON v.location = e.location"
                     " AND v.from_activity = e.from_activity AND v.to_activity = e.to_activity"
                     " WHERE e.location = ? ORDER BY e.from_activity, e.to_activity",
                     "i", location);
    while (q && sqlite3_step(q) == SQLITE_ROW && (int64_t)f->hop_count < hops) {
        const struct hop hop = {sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
                                sqlite3_column_int64(q, raw ? 2 : 3)};
        if (hop.from > 0 && hop.from < f->place_count && hop.to > 0 && hop.to < f->place_count)
            f->hops[f->hop_count++] = hop;
    }
    sqlite3_finalize(q);
    q = gn_sql_query(f->db, f->err, "SELECT activity, total_ns + open_ns FROM node WHERE location = ?", "i",
                     location);
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(q, 0);
        if (id > 0 && id < f->place_count)
            f->places[id].ns = sqlite3_column_int64(q, 1);
    }
    sqlite3_finalize(q);
    for (size_t i = 0; i < f->hop_count;
         i++) /* where nothing is known to come from, a rank is in no region */
        f->places[f->hops[i].from].out |= UINT64_MAX;
    for (size_t i = 0; i < f->hop_count; i++)
        f->places[f->hops[i].to].out = 0;
    close_location(f, rank);
    free(f->hops);
    f->hops = NULL;
    return 0;
}

/* The ranks, in the order of the summary's. */
static int find_ranks(struct finding *f)
{
    size_t rank = 0;
    f->processes = calloc(f->s->rank_count + 1, sizeof *f->processes);
    f->locations = calloc(f->s->rank_count + 1, sizeof *f->locations);
    if (!f->processes || !f->locations)
        return gn_fail(f->err, -ENOMEM, "no memory for the regions of the report");
    sqlite3_stmt *q = gn_sql_query(f->db, f->err,
                                   "SELECT l.id, p.id FROM location l JOIN process p ON p.id = l.process"
                                   " WHERE l.thread = 0 AND p.elapsed_ns IS NOT NULL ORDER BY p.rank, p.id",
                                   "");
    while (q && rank < f->s->rank_count && sqlite3_step(q) == SQLITE_ROW) {
        f->locations[rank] = sqlite3_column_int64(q, 0);
        f->processes[rank++] = sqlite3_column_int64(q, 1);
    }
    sqlite3_finalize(q);
    return q ? 0 : -EINVAL;
}

static int look_at_all(struct finding *f, bool raw)
{
    int code = 0;
    f->ranks = calloc(f->count * f->s->rank_count + 1, sizeof *f->ranks);
    if (!f->ranks)
        return gn_fail(f->err, -ENOMEM, "no memory for the regions of the report");
    for (size_t rank = 0; rank < f->s->rank_count && f->locations[rank] && code == 0; rank++)
        code = look_at(f, f->locations[rank], rank, raw);
    return code;
}

static void tell(struct gn_activity_row *row, const struct gn_rank_row *ranks, size_t rank_count)
{
    double mpi_s = 0;
    for (size_t i = 0; i < rank_count; i++)
        mpi_s += ranks[i].mpi_s;
    /* what a region took is without gnomon's own cost, and calls in it may have waited for that */
    row->mpi_ns = (int64_t)fmin(fmax(mpi_s * 1e9, 0), (double)row->total_ns);
    row->efficiency = gn_efficiency_of(ranks, rank_count);
}

static int by_time(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Into times: how long threads of each rank were in each region, by its begins and ends, as the steps of the
 * series tell them. -1: they do not. */
static int find_times(struct finding *f, int64_t *times)
{
    static const char query[] =
        "WITH passes AS (SELECT a.name, l.process, max(p.elapsed_ns) AS part_ns,"
        " sum(CASE a.kind WHEN 'region' THEN max(in_period(p.host, x.series, 4, 1), 0) ELSE 0 END) AS ended,"
        " sum(CASE a.kind WHEN 'region' THEN -1 ELSE 1 END * until_part(p.host, x.series, 4, 0)) AS ahead,"
        " sum(CASE a.kind WHEN 'region' THEN -1 ELSE 1 END * until_part(p.host, x.series, 4, 1)) AS behind,"
        " min(CASE a.kind WHEN 'region_begin' THEN ago_ns(p.host, x.series, 4, 0) END) AS ahead_ns,"
        " min(CASE a.kind WHEN 'region_begin' THEN ago_ns(p.host, x.series, 4, 1) END) AS behind_ns"
        " FROM main.node x JOIN activity a ON a.id = x.activity JOIN location l ON l.id = x.location"
        " JOIN process p ON p.id = l.process WHERE a.kind IN ('region', 'region_begin')"
        " GROUP BY a.name, x.location),"
        " times AS (SELECT name, process, CASE WHEN ahead NOT IN (0, 1) OR behind NOT IN (0, 1) THEN -1"
        " ELSE max(min(ended - ahead * coalesce(ahead_ns, 0) + behind * coalesce(behind_ns, 0), part_ns), 0) "
        "END"
        " AS ns FROM passes)"
        " SELECT name, process, CASE WHEN min(ns) < 0 THEN -1 ELSE sum(ns) END FROM times"
        " GROUP BY name, process ORDER BY name";
    const struct gn_summary *s = f->s;
    size_t row = 0;
    sqlite3_stmt *q = gn_sql_query(f->db, f->err, query, "");
    while (q && sqlite3_step(q) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(q, 0);
        size_t rank = 0;
        while (rank < s->rank_count && f->processes[rank] != sqlite3_column_int64(q, 1))
            rank++;
        if (!name || rank == s->rank_count)
            continue;
        if (row >= s->row_count || strcmp(s->rows[row].name, name) != 0)
            for (row = 0; row < s->row_count && strcmp(s->rows[row].name, name) != 0;)
                row++;
        if (row < s->row_count)
            times[row * s->rank_count + rank] = sqlite3_column_int64(q, 2);
    }
    sqlite3_finalize(q);
    return q ? 0 : -EINVAL;
}

/* ns: of all ranks; sorted then. False: it is not known of all. */
static bool tell_times(const struct gn_summary *s, struct gn_activity_row *row, double elapsed_ns,
                       int64_t *ns)
{
    const size_t count = s->rank_count;
    row->total_ns = row->max_ns = 0;
    for (size_t i = 0; i < count; i++) {
        if (ns[i] < 0)
            return false;
        gn_samples_sum(&row->total_ns, ns[i]);
        if (i == 0 || ns[i] > row->max_ns) {
            row->max_ns = ns[i];
            row->max_rank = s->ranks_told[i].rank;
        }
    }
    if (count == 0)
        return false;
    qsort(ns, count, sizeof *ns, by_time);
    row->min_ns = ns[0];
    row->median_ns = ns[(count - 1) / 2] + (ns[count / 2] - ns[(count - 1) / 2]) / 2;
    row->mean_ns = row->total_ns / (int64_t)count;
    row->share = row->low = row->high = elapsed_ns > 0 ? (double)row->total_ns / elapsed_ns : 0;
    return true;
}

static int by_total(const void *left, const void *right)
{
    const struct gn_activity_row *a = left, *b = right;
    return a->total_ns != b->total_ns ? (a->total_ns < b->total_ns) - (a->total_ns > b->total_ns)
                                      : strcmp(a->name, b->name);
}

/* Rows of what ranks were in, in the part of the run, the longest first; the others are freed. */
static int tell_part(struct finding *f)
{
    struct gn_summary *s = f->s;
    const double elapsed_ns = (double)gn_sql_value(f->db, 0, "SELECT sum(elapsed_ns) FROM location", "");
    int64_t *times = calloc(s->row_count * s->rank_count + 1, sizeof *times);
    size_t kept = 0;
    int code =
        times ? find_times(f, times) : gn_fail(f->err, -ENOMEM, "no memory for the regions of the report");
    for (size_t i = 0; i < s->row_count && code == 0; i++) {
        struct gn_activity_row *row = &s->rows[i];
        const bool is_known = tell_times(s, row, elapsed_ns, &times[i * s->rank_count]);
        if (is_known && row->total_ns > 0) {
            s->rows[kept++] = *row;
        } else {
            s->unclear_regions += !is_known;
            gn_row_clear(row);
        }
    }
    if (code == 0)
        s->row_count = kept;
    if (code == 0 && kept > 0)
        qsort(s->rows, kept, sizeof *s->rows, by_total);
    free(times);
    return code;
}

int gn_summarise_regions(sqlite3 *db, bool raw, struct gn_summary *s, struct gn_error *err)
{
    struct finding f = {.db = db, .err = err, .s = s};
    for (size_t i = 0; i < s->row_count; i++)
        s->rows[i].mpi_ns = GN_MPI_UNKNOWN;
    int code = find_ranks(&f);
    if (code == 0 && s->period.is_set) /* those in which ranks are for longest come first then */
        code = tell_part(&f);
    name_regions(&f);
    if (code == 0)
        code = read_places(&f);
    if (code == 0)
        code = look_at_all(&f, raw);
    for (size_t i = 0; i < f.count && code == 0; i++)
        if (!f.unclear[i])
            tell(&s->rows[i], &f.ranks[i * s->rank_count], s->rank_count);
    free(f.places);
    free(f.hops);
    free(f.ranks);
    free(f.processes);
    free(f.locations);
    return code;
}

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
#include "profile/callers.h"
#include "profile/divide.h"
#include "profile/samples.h"
#include "program/names.h"
#include "program/runtime.h"
#include "profile/shown.h"
#include "profile/statement.h"
#include "profile/summary.h"
#include "profile/virtual.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI calls at one place that take one part in so many of all time are told apart by their callers. */
enum { TOLD_APART = 100 };

/* What an activity is, or an edge: what its rows are called. Texts are the thing's, NULL: not known. */
struct thing {
    int64_t from, to; /* activities; to 0: from itself */
    char *kind, *name, *function, *file, *until_function, *until_file, *callers;
    int line, until_line;
    struct gn_edge_sum sum; /* of an edge */
    int64_t unseen_ns;      /* … that no sample is of */
};

struct piece {
    uint32_t row;
    int32_t rank;
    int64_t ns, count, bytes, mpi_ns, cpu_ns, asleep_ns;
};

struct making {
    sqlite3 *db;
    enum gn_by by;
    bool raw;
    struct gn_summary *s;
    struct gn_error *err;
    struct gn_callers *callers;
    struct gn_samples samples;
    struct gn_sample_row *added_up; /* samples over all locations */
    struct gn_sample_row *in_calls; /* samples of what locations did inside of calls */
    struct gn_sample_row *asleep;   /* where they were found asleep */
    size_t added_up_count, in_call_count, asleep_count;
    double per_burst; /* samples */
    struct thing *things;
    size_t thing_count, thing_room;
    struct gn_lookup by_ids, by_key; /* of things, of rows */
    size_t row_room;
    struct piece *pieces;
    size_t piece_count, piece_room;
    double *variance; /* of each row's share of the time, from samples: (ns)² */
    size_t variance_room;
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

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : !a && !b;
}

/* Of a profile made of memory that the program has scribbled over sums may have no end. */
static void add_to(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = more > 0 ? INT64_MAX : INT64_MIN;
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
    return ids->m->things[i].from == ids->from && ids->m->things[i].to == ids->to;
}

static struct thing *thing_of(const struct making *m, int64_t from, int64_t to)
{
    const struct ids ids = {m, from, to};
    const int64_t i = gn_lookup_find(&m->by_ids, hash_of_ids(from, to), is_thing, &ids);
    return i < 0 ? NULL : &m->things[i];
}

static int no_memory(const struct making *m)
{
    return gn_fail(m->err, -ENOMEM, "no memory for the rows of the report");
}

static int add_thing(struct making *m, const struct thing *thing)
{
    if (!gn_grow(&m->things, &m->thing_room, m->thing_count, sizeof *m->things) ||
        !gn_lookup_add(&m->by_ids, hash_of_ids(thing->from, thing->to), (uint32_t)m->thing_count))
        return no_memory(m);
    m->things[m->thing_count++] = *thing;
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
    return add_thing(
        m, &(struct thing){.from = sqlite3_column_int64(q, 0),
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
    const struct thing *from = thing_of(m, sqlite3_column_int64(q, 0), 0),
                       *to = thing_of(m, sqlite3_column_int64(q, 1), 0);
    struct thing edge = {.from = sqlite3_column_int64(q, 0), .to = sqlite3_column_int64(q, 1)};
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

/* ---- rows ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return gn_mix(hash + (text != NULL));
}

static uint64_t hash_of_row(const struct gn_activity_row *r)
{
    uint64_t hash = hash_text(hash_text(hash_text(1, r->kind), r->name), r->function);
    hash = hash_text(hash_text(hash_text(hash, r->file), r->until_function), r->until_file);
    hash = hash_text(hash_text(hash_text(hash_text(hash, r->library), r->called), r->runtime), r->callers);
    return gn_mix(hash + hash_of_ids(r->from, r->to) + (uint64_t)r->line * 31 + (uint64_t)r->until_line * 7 +
                  (uint64_t)r->how);
}

struct sought {
    const struct making *m;
    const struct gn_activity_row *row;
};

static bool is_row(const void *context, uint32_t i)
{
    const struct sought *sought = context;
    const struct gn_activity_row *a = &sought->m->s->rows[i], *b = sought->row;
    return a->line == b->line && a->until_line == b->until_line && a->how == b->how && a->from == b->from &&
           a->to == b->to && same_text(a->kind, b->kind) && same_text(a->name, b->name) &&
           same_text(a->function, b->function) && same_text(a->file, b->file) &&
           same_text(a->until_function, b->until_function) && same_text(a->until_file, b->until_file) &&
           same_text(a->library, b->library) && same_text(a->called, b->called) &&
           same_text(a->runtime, b->runtime) && same_text(a->callers, b->callers);
}

struct gn_activity_row gn_row_copied(const struct gn_activity_row *r)
{
    struct gn_activity_row own = *r;
    own.kind = copy_text(r->kind);
    own.name = copy_text(r->name);
    own.function = copy_text(r->function);
    own.file = copy_text(r->file);
    own.until_function = copy_text(r->until_function);
    own.until_file = copy_text(r->until_file);
    own.library = copy_text(r->library);
    own.called = copy_text(r->called);
    own.runtime = copy_text(r->runtime);
    own.callers = copy_text(r->callers);
    return own;
}

/* The row of what is asked for that a stretch of `row` belongs to. Texts of *row are not kept. Its number, or
 * -ENOMEM. */
static int64_t find_row(struct making *m, const struct gn_activity_row *row)
{
    const uint64_t hash = hash_of_row(row);
    const struct sought sought = {m, row};
    const int64_t found = gn_lookup_find(&m->by_key, hash, is_row, &sought);
    if (found >= 0)
        return found;
    struct gn_summary *s = m->s;
    if (!gn_grow(&s->rows, &m->row_room, s->row_count, sizeof *s->rows) ||
        !gn_grow(&m->variance, &m->variance_room, s->row_count, sizeof *m->variance) ||
        !gn_lookup_add(&m->by_key, hash, (uint32_t)s->row_count))
        return no_memory(m);
    s->rows[s->row_count] = gn_row_copied(row);
    m->variance[s->row_count] = 0;
    return (int64_t)s->row_count++;
}

/* The same row under what the rows are by. */
static int64_t row_by(struct making *m, const struct gn_activity_row *exact, int rank, const char *host)
{
    char name[32];
    struct gn_activity_row row = *exact;
    char *function = exact->function ? exact->function : exact->until_function;
    switch (m->by) {
    case GN_BY_CALLPATH:
    case GN_BY_TREE:
        row.callers = NULL;
        break;
    case GN_BY_ACTIVITY:
    case GN_BY_TIME:
        break;
    case GN_BY_REGION:
        row = (struct gn_activity_row){.kind = exact->kind, .name = exact->name};
        break;
    case GN_BY_FUNCTION:
    case GN_BY_LINE:
    case GN_BY_PLACE:
        row.callers = NULL;
        row.kind = m->by == GN_BY_FUNCTION ? "function" : m->by == GN_BY_LINE ? "line" : "place";
        row.name = function ? function : "(unknown)";
        if (m->by == GN_BY_FUNCTION)
            row.line = row.until_line = 0;
        if (row.how == GN_HOW_CALL) {
            row.how = GN_HOW_SAMPLED;
            row.called = exact->name;
        }
        if (m->by != GN_BY_PLACE)
            row.library = row.called = row.runtime = NULL;
        break;
    case GN_BY_RANK:
        snprintf(name, sizeof name, "rank %d", rank);
        row = (struct gn_activity_row){.kind = "rank", .name = name};
        break;
    case GN_BY_HOST:
        row = (struct gn_activity_row){.kind = "host", .name = (char *)(uintptr_t)host};
        break;
    case GN_BY_PAIR:
    case GN_BY_REQUEST:
        break;
    }
    if (m->by != GN_BY_CALLPATH && m->by != GN_BY_TREE)
        row.from = row.to = 0;
    return find_row(m, &row);
}

/* Whose a stretch of time is, and how long. */
struct stretch {
    int rank;
    const char *host;
    int64_t ns, count, bytes;
    int64_t cpu_ns; /* by samples */
    int64_t open_ns;
    int64_t asleep_ns;
};

static int add_piece(struct making *m, const struct gn_activity_row *exact, const struct stretch *t)
{
    const int64_t row = row_by(m, exact, t->rank, t->host);
    if (row < 0)
        return (int)row;
    m->s->rows[row].open_ns += t->open_ns;
    if (!gn_grow(&m->pieces, &m->piece_room, m->piece_count, sizeof *m->pieces))
        return no_memory(m);
    m->pieces[m->piece_count++] = (struct piece){.row = (uint32_t)row,
                                                 .rank = t->rank,
                                                 .ns = t->ns,
                                                 .count = t->count,
                                                 .bytes = t->bytes,
                                                 .cpu_ns = t->cpu_ns,
                                                 .asleep_ns = t->asleep_ns,
                                                 .mpi_ns = strcmp(exact->kind, "mpi") == 0 ? t->ns : 0};
    return 0;
}

/* ---- samples ---- */

static int by_location(const void *left, const void *right)
{
    const struct gn_sample_row *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->location != b->location)
        return a->location < b->location ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* Recording: what it takes is taken off already. Nor are marks of regions anything of the program's. */
static bool is_ours(const struct making *m, int place)
{
    if (place != GN_SAMPLE_OTHER_PLACES && gn_name_is_region_mark(m->samples.places[place].function))
        return true;
    const char *library = place == GN_SAMPLE_OTHER_PLACES ? NULL : m->samples.places[place].library;
    const char *slash = library ? strrchr(library, '/') : NULL;
    return slash && strncmp(slash + 1, "libgnomon", strlen("libgnomon")) == 0;
}

/* Samples of what locations did themselves, ordered by edge and location; and likewise added up over all of
 * these, as of location 0. */
static int sort_samples(struct making *m)
{
    struct gn_samples *s = &m->samples;
    size_t used = 0;
    m->added_up = calloc(s->row_count + 1, sizeof *m->added_up);
    m->in_calls = calloc(s->row_count + 1, sizeof *m->in_calls);
    m->asleep = calloc(s->row_count + 1, sizeof *m->asleep);
    if (!m->added_up || !m->in_calls || !m->asleep)
        return no_memory(m);
    for (size_t i = 0; i < s->row_count; i++) { /* by edge and place */
        const struct gn_sample_row *r = &s->rows[i];
        if (r->asleep && (r->other_threads || r->to == 0 || is_ours(m, r->place)))
            continue;
        if (r->asleep) {
            m->asleep[m->asleep_count++] = *r;
            continue;
        }
        struct gn_sample_row *last = m->added_up_count ? &m->added_up[m->added_up_count - 1] : NULL;
        m->s->sampling.has_others |= r->other_threads;
        if (m->raw && !r->other_threads && is_ours(m, r->place))
            m->s->sampling.ours_s += (double)r->time_ns * 1e-9;
        if (r->to == 0 && !r->other_threads)
            m->in_calls[m->in_call_count++] = *r;
        if (r->other_threads || r->to == 0 || is_ours(m, r->place))
            continue;
        s->rows[used++] = *r;
        if (last && last->from == r->from && last->to == r->to && last->place == r->place) {
            last->count += r->count;
            last->time_ns += r->time_ns;
        } else {
            m->added_up[m->added_up_count] = *r;
            m->added_up[m->added_up_count++].location = 0;
        }
    }
    s->row_count = used;
    if (used)
        qsort(s->rows, used, sizeof *s->rows, by_location);
    if (m->in_call_count)
        qsort(m->in_calls, m->in_call_count, sizeof *m->in_calls, by_location);
    if (m->asleep_count)
        qsort(m->asleep, m->asleep_count, sizeof *m->asleep, by_location);
    return 0;
}

/* Rows of one edge and location. */
struct some {
    const struct gn_sample_row *rows;
    size_t count;
    int64_t samples, time_ns; /* of processor time, that they stand for */
};

static struct some samples_of(const struct gn_sample_row *rows, size_t count, int64_t from, int64_t to,
                              int64_t location)
{
    const struct gn_sample_row sought = {.from = from, .to = to, .location = location, .place = INT32_MIN};
    struct some some = {.rows = rows};
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_location(&rows[middle], &sought) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (some.rows = &rows[low];
         low < count && rows[low].from == from && rows[low].to == to && rows[low].location == location;
         low++, some.count++) {
        add_to(&some.samples, rows[low].count);
        add_to(&some.time_ns, rows[low].time_ns);
    }
    return some;
}

static struct some samples_of_all(const struct making *m, int64_t from, int64_t to)
{
    return samples_of(m->added_up, m->added_up_count, from, to, 0);
}

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

/* How the row of a place of an edge is called. */
static struct gn_activity_row sampled_row(const struct making *m, const struct gn_activity_row *range,
                                          int place)
{
    struct gn_activity_row row = *range;
    if (place == GN_SAMPLE_OTHER_PLACES) {
        row.how = GN_HOW_OTHER_PLACES;
        return row;
    }
    gn_row_at(&row, &m->samples.places[place]);
    return row;
}

static struct gn_activity_row range_of(const struct thing *edge)
{
    return (struct gn_activity_row){.kind = edge->kind,
                                    .name = edge->name,
                                    .function = edge->function,
                                    .file = edge->file,
                                    .line = edge->line,
                                    .until_function = edge->until_function,
                                    .until_file = edge->until_file,
                                    .until_line = edge->until_line,
                                    .from = edge->from,
                                    .to = edge->to,
                                    .how = GN_HOW_RANGE};
}

/* By how much a row's time may be off, for whatever reason: reasons are independent of each other. */
static int add_off(struct making *m, const struct gn_activity_row *exact, double off_ns, int64_t samples)
{
    if (m->by == GN_BY_RANK || m->by == GN_BY_HOST) /* whose time is what it is */
        return 0;
    const int64_t row = row_by(m, exact, 0, NULL);
    if (row < 0)
        return (int)row;
    m->variance[row] += off_ns * off_ns;
    m->s->rows[row].samples += samples;
    return 0;
}

/* Samples of one kind of a location on an edge, and the row of each. */
struct dealt {
    struct some some;
    bool is_asleep, is_own; /* found asleep; else whether they are the location's */
    int64_t ns;             /* to be divided as they are */
    double off_ns;          /* by which that may be off */
};

static struct gn_activity_row dealt_row(const struct making *m, const struct gn_activity_row *range,
                                        const struct dealt *d, int place)
{
    struct gn_activity_row row = sampled_row(m, range, place);
    if (d->is_asleep && place == GN_SAMPLE_OTHER_PLACES)
        row.how = GN_HOW_UNSEEN;
    else if (d->is_asleep && !row.runtime)
        row.runtime = (char *)(uintptr_t)gn_runtime_text(GN_RUNTIME_ASLEEP);
    return row;
}

/* Adds pieces that add up to d->ns. The first one has what else *part has (its count), which is then 0. */
static int deal(struct making *m, const struct gn_activity_row *range, const struct dealt *d,
                struct stretch *part)
{
    int64_t given = 0, passed = 0;
    int code = 0;
    for (size_t i = 0; code == 0 && i < d->some.count; i++) {
        const struct gn_sample_row *r = &d->some.rows[i];
        const double share = (double)r->time_ns / (double)d->some.time_ns;
        const struct gn_activity_row row = dealt_row(m, range, d, r->place);
        double off = d->off_ns * share;
        add_to(&passed, r->time_ns);
        const double until = (double)d->ns * ((double)passed / (double)d->some.time_ns);
        part->ns = (passed >= d->some.time_ns ? d->ns : (int64_t)until) - given;
        part->cpu_ns = d->is_own ? r->time_ns : 0;
        part->asleep_ns = d->is_asleep ? part->ns : 0;
        given += part->ns;
        if (d->is_asleep) { /* shares of the others are those of the whole edge */
            const struct gn_samples_share found = gn_samples_share(r->count, d->some.samples, 1);
            off = hypot(off, fmax(found.high - found.share, found.share - found.low) * (double)d->ns);
        }
        code = add_piece(m, &row, part);
        code = code == 0 ? add_off(m, &row, off, d->is_asleep ? r->count : 0) : code;
        part->count = 0;
    }
    return code;
}

static int add_rest(struct making *m, const struct gn_activity_row *range, enum gn_how how, int64_t ns,
                    double off_ns, struct stretch *part)
{
    struct gn_activity_row row = *range;
    row.how = how;
    part->ns = ns;
    part->cpu_ns = part->asleep_ns = 0;
    const int code = add_piece(m, &row, part);
    part->count = 0;
    return code == 0 ? add_off(m, &row, off_ns, 0) : code;
}

/* What no sample is of: at places where the location was found asleep, for as long as it was; and what is
 * left of it. */
static int add_unseen(struct making *m, const struct gn_activity_row *range, int64_t location, int64_t ns,
                      double off_ns, const struct gn_sampled_process *process, struct stretch *part)
{
    struct dealt d = {.some = samples_of(m->asleep, m->asleep_count, range->from, range->to, location),
                      .is_asleep = true};
    const struct gn_divided asleep = gn_divide_asleep(ns, d.some.time_ns, d.some.samples, process);
    int code = 0;
    d.ns = asleep.ns;
    d.off_ns = off_ns = hypot(off_ns, asleep.off_ns);
    if (d.ns > 0)
        code = deal(m, range, &d, part);
    return code == 0 && ns > d.ns ? add_rest(m, range, GN_HOW_UNSEEN, ns - d.ns, off_ns, part) : code;
}

static struct gn_edge_time time_of(const struct making *m, const struct some *seen, const struct thing *edge,
                                   int64_t location, int64_t ns, int64_t times)
{
    const struct some asleep = samples_of(m->asleep, m->asleep_count, edge->from, edge->to, location);
    return (struct gn_edge_time){ns, times, seen->samples, seen->time_ns, asleep.samples, asleep.time_ns};
}

/* A location's time on an edge, divided as its samples there are; as those of all locations where it has
 * none. What no sample is of has a row of its own. */
static int add_divided(struct making *m, struct thing *edge, int64_t location, const struct stretch *whole,
                       const struct gn_sampled_process *process)
{
    const struct gn_activity_row range = range_of(edge);
    struct dealt d = {.some =
                          samples_of(m->samples.rows, m->samples.row_count, edge->from, edge->to, location)};
    const struct gn_edge_time time = time_of(m, &d.some, edge, location, whole->ns, whole->count);
    const struct gn_divided unseen = gn_divide(time, process, &edge->sum);
    struct stretch part = *whole;
    int code = 0;
    d.is_own = d.some.time_ns > 0;
    d.ns = whole->ns - unseen.ns;
    d.off_ns = unseen.off_ns;
    if (!d.is_own)
        d.some = samples_of_all(m, edge->from, edge->to);
    if (unseen.ns > 0) {
        edge->unseen_ns += unseen.ns;
        code = add_unseen(m, &range, location, unseen.ns, unseen.off_ns, process, &part);
    }
    if (code != 0 || (unseen.ns > 0 && d.ns == 0 && !d.is_own))
        return code;
    return d.some.time_ns > 0 ? deal(m, &range, &d, &part)
                              : add_rest(m, &range, GN_HOW_RANGE, d.ns, unseen.off_ns, &part);
}

/* How far the shares of places on an edge may be off, as it goes into their rows: edges are sampled
 * independently of each other, so squares add up. */
static int add_uncertainty(struct making *m, const struct thing *edge, int64_t edge_ns)
{
    const struct gn_activity_row range = range_of(edge);
    const struct some some = samples_of_all(m, edge->from, edge->to);
    for (size_t i = 0; i < some.count; i++) {
        const int64_t count = some.rows[i].count;
        const struct gn_samples_share share = gn_samples_share(count, some.samples, m->per_burst);
        const struct gn_activity_row exact = sampled_row(m, &range, some.rows[i].place);
        const double off = fmax(share.high - share.share, share.share - share.low) * (double)edge_ns;
        const int code = add_off(m, &exact, off, count);
        if (code < 0)
            return code;
    }
    return 0;
}

static int take_edge_total(struct making *m, sqlite3_stmt *q)
{
    const struct thing *edge = thing_of(m, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));
    return edge ? add_uncertainty(m, edge, sqlite3_column_int64(q, 2) - edge->unseen_ns) : 0;
}

/* ---- pieces ---- */

static int take_node_time(struct making *m, sqlite3_stmt *q)
{
    const struct thing *thing = thing_of(m, sqlite3_column_int64(q, 0), 0);
    if (!thing)
        return 0;
    const struct gn_activity_row row = {.kind = thing->kind,
                                        .name = thing->name,
                                        .function = thing->function,
                                        .file = thing->file,
                                        .line = thing->line,
                                        .callers = thing->callers,
                                        .from = thing->from,
                                        .how = GN_HOW_CALL};
    const struct some some =
        samples_of(m->in_calls, m->in_call_count, thing->from, 0, sqlite3_column_int64(q, 1));
    const struct stretch t = {sqlite3_column_int(q, 2),   (const char *)sqlite3_column_text(q, 3),
                              sqlite3_column_int64(q, 4), sqlite3_column_int64(q, 5),
                              sqlite3_column_int64(q, 6), some.time_ns,
                              sqlite3_column_int64(q, 7), 0};
    return add_piece(m, &row, &t);
}

/* By all of the run, also of a part of it: then there may be more in the kernel and without a core than the
 * part has, never less. Recording is in no sample that counts, and with --raw in the time. */
static struct gn_sampled_process process_of(const struct making *m, sqlite3_stmt *q)
{
    enum { IS_WHOLE = 7, SAMPLES, TIME_NS, MISSED, CPU_NS, PREEMPTED_NS, IS_START };
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
        .kernel_ns = has_cpu ? fmax(sqlite3_column_double(q, CPU_NS) - time_ns, 0) : INFINITY,
        .no_core_ns = fmax(sqlite3_column_double(q, PREEMPTED_NS), 0)};
}

static int take_edge_sum(struct making *m, sqlite3_stmt *q)
{
    struct thing *thing = thing_of(m, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));
    if (!thing)
        return 0;
    const struct some some =
        samples_of(m->samples.rows, m->samples.row_count, thing->from, thing->to, sqlite3_column_int64(q, 2));
    const struct gn_sampled_process process = process_of(m, q);
    const struct gn_edge_time time = time_of(m, &some, thing, sqlite3_column_int64(q, 2),
                                             sqlite3_column_int64(q, 5), sqlite3_column_int64(q, 6));
    gn_edge_sum_add(&thing->sum, time, &process);
    return 0;
}

static int take_edge_time(struct making *m, sqlite3_stmt *q)
{
    struct thing *thing = thing_of(m, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));
    if (!thing)
        return 0;
    const struct stretch t = {sqlite3_column_int(q, 3),
                              (const char *)sqlite3_column_text(q, 4),
                              sqlite3_column_int64(q, 5),
                              sqlite3_column_int64(q, 6),
                              0,
                              0,
                              0,
                              0};
    const struct gn_sampled_process process = process_of(m, q);
    return add_divided(m, thing, sqlite3_column_int64(q, 2), &t, &process);
}

/* What recording has cost, and what is neither a call nor between two. Ticks that are rounded to nanoseconds
 * one by one leave some over, or take some too many. */
static int take_remainder(struct making *m, sqlite3_stmt *q)
{
    struct stretch cost = {.rank = sqlite3_column_int(q, 0),
                           .host = (const char *)sqlite3_column_text(q, 1),
                           .ns = sqlite3_column_int64(q, 2),
                           .cpu_ns = sqlite3_column_int64(q, 2)};
    struct stretch gap = {.rank = cost.rank, .host = cost.host, .ns = sqlite3_column_int64(q, 3)};
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
        code = add_piece(m, &(struct gn_activity_row){.kind = "gnomon", .name = "gnomon's recording"}, &cost);
    if (code == 0 && gap.ns > noise)
        code = add_piece(m, &(struct gn_activity_row){.kind = "unrecorded", .name = "not recorded"}, &gap);
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
        "SELECT n.activity, l.id, p.rank, h.name, n.total_ns, n.count, 0, 0 FROM node n"
        " JOIN activity a ON a.id = n.activity JOIN location l ON l.id = n.location"
        " JOIN process p ON p.id = l.process JOIN host h ON h.id = p.host WHERE a.kind = 'region'";
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
    if (m->by == GN_BY_REGION)
        return for_all(m, regions, take_node_time);
    const bool is_virtual = gn_profile_is_virtual(m->db); /* then the table as it was measured is behind it */
    snprintf(rest, sizeof rest, remainder, is_virtual ? waited : "0", is_virtual ? "main." : "");
    snprintf(edges, sizeof edges,
             "SELECT e.from_activity, e.to_activity, l.id, p.rank, h.name, e.%s, e.count,"
             " g.state = 'sampled' AND %s, g.samples, g.time_ns, (g.lost + g.unattributed) * 1.0 / "
             "max(g.samples - g.unattributed, 1), m.cpu_ns, "
             "r.preempted_ns,"
             " a.kind = 'start' FROM edge e JOIN location l ON l.id = e.location JOIN process p ON p.id = "
             "l.process"
             " JOIN host h ON h.id = p.host LEFT JOIN activity a ON a.id = e.from_activity"
             " LEFT JOIN main.process m ON m.id = p.id LEFT JOIN main.sampling g ON g.process = p.id"
             " LEFT JOIN main.resource r ON r.process = p.id",
             ns, gn_sql_has_column(m->db, "sampling", "is_whole") ? "g.is_whole" : "g.reason IS NULL");
    snprintf(totals, sizeof totals,
             "SELECT from_activity, to_activity, sum(%s) FROM edge GROUP BY from_activity, to_activity", ns);
    int code = for_all(m, nodes, take_node_time);
    code = code == 0 ? for_all(m, edges, take_edge_sum) : code;
    code = code == 0 ? for_all(m, edges, take_edge_time) : code;
    code = code == 0 ? for_all(m, rest, take_remainder) : code;
    const bool divided = m->samples.row_count > 0 && m->by != GN_BY_RANK && m->by != GN_BY_HOST;
    return code == 0 && divided ? for_all(m, totals, take_edge_total) : code;
}

/* ---- from pieces to rows ---- */

static int by_row_and_rank(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static int by_time(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

/* The i-th smallest of the ranks' times; as many zeros as there are ranks without one come first. */
static int64_t time_at(const struct piece *pieces, size_t count, size_t absent, size_t i)
{
    return i < absent || count == 0 ? 0 : pieces[i - absent].ns;
}

/* All pieces of the row, one for each rank that has any. */
static void spread(struct gn_activity_row *row, struct piece *pieces, size_t count, size_t ranks)
{
    const size_t all = ranks < count ? count : ranks, absent = all - count;
    row->max_rank = -1;
    for (size_t i = 0; i < count; i++) {
        add_to(&row->total_ns, pieces[i].ns);
        add_to(&row->mpi_ns, pieces[i].mpi_ns);
        add_to(&row->count, pieces[i].count);
        add_to(&row->bytes, pieces[i].bytes);
        add_to(&row->cpu_ns, pieces[i].cpu_ns);
        add_to(&row->asleep_ns, pieces[i].asleep_ns);
        if (row->max_rank < 0 || pieces[i].ns > row->max_ns) {
            row->max_ns = pieces[i].ns;
            row->max_rank = pieces[i].rank;
        }
    }
    qsort(pieces, count, sizeof *pieces, by_time);
    row->min_ns = time_at(pieces, count, absent, 0);
    const int64_t low = time_at(pieces, count, absent, all ? (all - 1) / 2 : 0),
                  high = time_at(pieces, count, absent, all / 2);
    row->median_ns = low + (high - low) / 2;
    row->mean_ns = all ? row->total_ns / (int64_t)all : 0;
}

/* Pieces of one row and rank become one. Their number. */
static size_t join_ranks(struct piece *pieces, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct piece *last = used ? &pieces[used - 1] : NULL;
        if (last && last->row == pieces[i].row && last->rank == pieces[i].rank) {
            add_to(&last->ns, pieces[i].ns);
            add_to(&last->mpi_ns, pieces[i].mpi_ns);
            add_to(&last->count, pieces[i].count);
            add_to(&last->bytes, pieces[i].bytes);
            add_to(&last->cpu_ns, pieces[i].cpu_ns);
            add_to(&last->asleep_ns, pieces[i].asleep_ns);
        } else {
            pieces[used++] = pieces[i];
        }
    }
    return used;
}

static void fill_rows(struct making *m)
{
    const bool one_rank = m->by == GN_BY_RANK || m->by == GN_BY_HOST;
    if (m->piece_count)
        qsort(m->pieces, m->piece_count, sizeof *m->pieces, by_row_and_rank);
    m->piece_count = join_ranks(m->pieces, m->piece_count);
    for (size_t i = 0, next; i < m->piece_count; i = next) {
        for (next = i; next < m->piece_count && m->pieces[next].row == m->pieces[i].row;)
            next++;
        spread(&m->s->rows[m->pieces[i].row], &m->pieces[i], next - i, one_rank ? 0 : (size_t)m->s->ranks);
    }
}

/* Of regions, which contain each other, of what all locations took; of all others of what the rows have. */
static void fill_shares(struct making *m)
{
    struct gn_summary *s = m->s;
    int64_t all = 0;
    for (size_t i = 0; i < s->row_count; i++)
        add_to(&all, s->rows[i].total_ns);
    if (m->by == GN_BY_REGION)
        all = gn_sql_value(m->db, 0, "SELECT sum(elapsed_ns) FROM location", "");
    s->total_ns = all;
    for (size_t i = 0; i < s->row_count && all > 0; i++) {
        struct gn_activity_row *row = &s->rows[i];
        const double off = sqrt(m->variance[i]) / (double)all;
        row->share = (double)row->total_ns / (double)all;
        row->low = fmax(row->share - off, 0);
        row->high = fmin(row->share + off, 1);
    }
}

static int order_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int by_total(const void *left, const void *right)
{
    const struct gn_activity_row *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    int order = order_text(a->name, b->name);
    order = order ? order : order_text(a->file, b->file);
    order = order ? order : (a->line > b->line) - (a->line < b->line);
    order = order ? order : order_text(a->until_file, b->until_file);
    order = order ? order : (a->until_line > b->until_line) - (a->until_line < b->until_line);
    order = order ? order : order_text(a->function, b->function);
    return order ? order : (a->from > b->from) - (a->from < b->from);
}

/* Who computes longest comes first: all ranks take about as long. */
static int by_computation(const void *left, const void *right)
{
    const struct gn_activity_row *a = left, *b = right;
    const int64_t x = a->total_ns - a->mpi_ns, y = b->total_ns - b->mpi_ns;
    return x != y ? (x < y ? 1 : -1) : by_total(left, right);
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
    for (size_t i = 0; i < m->thing_count; i++) {
        struct thing *t = &m->things[i];
        free(t->kind);
        free(t->name);
        free(t->function);
        free(t->file);
        free(t->until_function);
        free(t->until_file);
        free(t->callers);
    }
    free(m->things);
    free(m->pieces);
    free(m->variance);
    free(m->added_up);
    free(m->in_calls);
    free(m->asleep);
    gn_lookup_clear(&m->by_ids);
    gn_lookup_clear(&m->by_key);
    gn_callers_free(m->callers);
    gn_samples_clear(&m->samples);
}

/* Of ranks that were sampled, or of the first one that was not. */
static void describe_sampling(const struct gn_samples *samples, struct gn_sampling_told *told)
{
    const struct gn_sampling_row *shown = samples->process_count ? &samples->processes[0] : NULL;
    for (size_t i = 0; i < samples->process_count; i++) {
        const struct gn_sampling_row *p = &samples->processes[i];
        if (strcmp(p->state, "sampled") == 0 && strcmp(shown->state, "sampled") != 0)
            shown = p;
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

static int take_whole_edge(struct making *m, sqlite3_stmt *q)
{
    const struct thing *thing = thing_of(m, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));
    const struct stretch t = {.rank = sqlite3_column_int(q, 2),
                              .host = "",
                              .ns = sqlite3_column_int64(q, 3),
                              .count = sqlite3_column_int64(q, 4)};
    const struct gn_activity_row row = thing ? range_of(thing) : (struct gn_activity_row){0};
    return thing ? add_piece(m, &row, &t) : 0;
}

/* Between which calls, whatever samples say of where: one function may be called from many. */
static int collect_ranges(struct making *m)
{
    char edges[300];
    struct gn_summary *s = m->s, ranges = {.ranks = s->ranks};
    snprintf(edges, sizeof edges,
             "SELECT e.from_activity, e.to_activity, p.rank, e.%s, e.count FROM edge e JOIN location l"
             " ON l.id = e.location JOIN process p ON p.id = l.process",
             m->raw ? "total_ns" : "own_ns");
    gn_lookup_clear(&m->by_key);
    m->by_key = (struct gn_lookup){0};
    m->piece_count = m->row_room = 0;
    m->s = &ranges;
    int code = for_all(m, edges, take_whole_edge);
    if (code == 0)
        fill_rows(m);
    m->s = s;
    for (size_t i = 0; i < ranges.row_count && s->total_ns > 0; i++)
        ranges.rows[i].share = (double)ranges.rows[i].total_ns / (double)s->total_ns;
    s->ranges = ranges.rows;
    s->range_count = ranges.row_count;
    if (s->range_count)
        qsort(s->ranges, s->range_count, sizeof *s->ranges, by_total);
    return code;
}

int gn_summarise_rows(sqlite3 *db, enum gn_by by, bool raw, struct gn_summary *s, struct gn_error *err)
{
    struct making m = {.db = db, .by = by, .raw = raw, .s = s, .err = err};
    int code = gn_samples_read(db, &m.samples, err);
    m.per_burst = samples_per_burst(&m.samples);
    describe_sampling(&m.samples, &s->sampling);
    s->sampling.per_burst = m.per_burst;
    if (code == 0)
        code = gn_summarise_threads(&m.samples, s, err);
    if (code == 0)
        code = sort_samples(&m);
    if (code == 0)
        code = gn_callers_find(&m.callers, db,
                               gn_sql_value(db, 0, "SELECT sum(elapsed_ns) FROM location", "") / TOLD_APART,
                               err);
    if (code == 0)
        code = name_things(&m);
    if (code == 0)
        code = collect_pieces(&m);
    if (code == 0) {
        fill_rows(&m);
        fill_shares(&m);
        if (by == GN_BY_CALLPATH)
            name_paths(db, s);
        if (s->row_count)
            qsort(s->rows, s->row_count, sizeof *s->rows, by == GN_BY_RANK ? by_computation : by_total);
    }
    if (code == 0 && by == GN_BY_ACTIVITY && m.samples.row_count + m.asleep_count > 0)
        code = collect_ranges(&m);
    clear(&m);
    return code;
}

void gn_row_clear(struct gn_activity_row *row)
{
    free(row->kind);
    free(row->name);
    free(row->function);
    free(row->file);
    free(row->until_function);
    free(row->until_file);
    free(row->library);
    free(row->called);
    free(row->runtime);
    free(row->callers);
    free(row->path);
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

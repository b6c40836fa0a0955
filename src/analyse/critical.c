#include "analyse/critical.h"

#include "analyse/ranges.h"
#include "base/grow.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So many things' ranges are followed exactly at a time, and so many of each set: those that may have most.
 * Of the others, what is on all paths and what is on any of them has to do. */
enum { AT_A_TIME = 64, FOLLOWED = 1024 };

struct find {
    const struct gn_history *history;
    struct gn_tight tight;
    struct gn_critical *critical;
    struct gn_map rows; /* key → its index + 1 */
    size_t row_capacity;
    bool is_by_process;           /* rows are of all of a process */
    uint32_t *of_call, *of_piece; /* rows of a process */
    uint32_t *whole_of;           /* [rows of each process] row of the same, of all processes */
    uint32_t *process_of;         /* … of all of the same process */
};

/* Rows that say the same of something else: first … end − 1; of: which of them a row of a process is part of,
 * NULL: it is itself. */
struct set {
    size_t first, end;
    const uint32_t *of;
};

/* ---- rows ---- */

/* A call of which neither path nor region is known looks like all of its process. */
static struct gn_key key_of(const struct find *f, const struct gn_critical_row *row)
{
    const bool is_call = row->activity == GN_NONE;
    const uint64_t kind = f->is_by_process         ? 4
                          : !is_call               ? 0
                          : row->path != GN_NONE   ? 1
                          : row->region != GN_NONE ? 2
                                                   : 3;
    const uint32_t what = !is_call ? row->activity : row->path != GN_NONE ? row->path : row->region;
    return (struct gn_key){kind << 32 | what, row->process};
}

static uint32_t row_of(struct find *f, struct gn_critical_row row)
{
    struct gn_critical *c = f->critical;
    const struct gn_key key = key_of(f, &row);
    const uintptr_t found = (uintptr_t)gn_map_find(&f->rows, key);
    if (found)
        return (uint32_t)(found - 1);
    if (!gn_grow(&c->rows, &f->row_capacity, c->count, sizeof *c->rows) ||
        !gn_map_add(&f->rows, key, (void *)(c->count + 1)))
        return GN_NONE;
    c->rows[c->count] = row;
    return (uint32_t)c->count++;
}

static uint32_t process_at(const struct find *f, const struct gn_call *call)
{
    return f->history->definitions->locations[call->location].process;
}

static bool note_pieces(struct find *f, const struct gn_call *call, bool is_certain)
{
    for (uint32_t i = call->first_piece; i < call->first_piece + call->piece_count; i++) {
        const struct gn_piece *piece = &f->history->pieces[i];
        const uint32_t row = row_of(
            f, (struct gn_critical_row){piece->activity, GN_NONE, GN_NONE, process_at(f, call), 0, 0, false});
        if (row == GN_NONE)
            return false;
        f->of_piece[i] = row;
        f->critical->rows[row].lo_ns += is_certain ? piece->lo_ns : 0;
        f->critical->rows[row].hi_ns += piece->hi_ns;
    }
    return true;
}

static bool note_call(struct find *f, uint32_t index, bool is_certain)
{
    const struct gn_call *call = &f->history->calls[index];
    f->of_call[index] = GN_NONE;
    if (call->flags & (GN_CALL_BEGIN | GN_CALL_END))
        return true;
    const uint32_t row = row_of(
        f, (struct gn_critical_row){GN_NONE, call->path, call->region, process_at(f, call), 0, 0, false});
    if (row == GN_NONE)
        return false;
    const size_t count = gn_tight_edges(&f->tight, index << 1 | 1);
    double lo_ns = f->tight.edges[0].lo_ns, hi_ns = 0;
    for (size_t i = 0; i < count; i++) {
        lo_ns = f->tight.edges[i].lo_ns < lo_ns ? f->tight.edges[i].lo_ns : lo_ns;
        hi_ns = f->tight.edges[i].hi_ns > hi_ns ? f->tight.edges[i].hi_ns : hi_ns;
    }
    f->of_call[index] = row;
    f->critical->rows[row].lo_ns += is_certain ? lo_ns : 0;
    f->critical->rows[row].hi_ns += hi_ns;
    f->critical->unsure += (call->flags & GN_CALL_UNSURE) != 0;
    if (call->flags & GN_CALL_UNTOLD) {
        f->critical->untold++;
        f->critical->untold_ns += hi_ns;
    }
    return true;
}

static bool note_all(struct find *f)
{
    for (size_t i = 0; i < f->tight.count; i++) {
        const uint32_t vertex = f->tight.vertices[i];
        const bool is_certain = (f->tight.marks[vertex] & GN_TIGHT_CERTAIN) != 0;
        if (vertex >= f->tight.first_hub)
            continue;
        if (vertex & 1 ? !note_call(f, vertex >> 1, is_certain)
                       : !note_pieces(f, &f->history->calls[vertex >> 1], is_certain))
            return false;
    }
    return true;
}

/* Sums of rows of processes, as a first word; which[i]: row that the i-th is part of. */
static bool add_up(struct find *f, uint32_t **which, bool is_whole)
{
    const size_t count = f->critical->first_whole;
    *which = malloc((count + 1) * sizeof **which);
    for (size_t i = 0; *which && i < count; i++) {
        const struct gn_critical_row row = f->critical->rows[i];
        struct gn_critical_row sum = {GN_NONE, GN_NONE, GN_NONE, row.process, 0, 0, false};
        if (is_whole)
            sum = (struct gn_critical_row){row.activity, row.path, row.region, GN_NONE, 0, 0, false};
        const uint32_t index = row_of(f, sum);
        if (index == GN_NONE)
            return false;
        (*which)[i] = index;
        f->critical->rows[index].lo_ns += row.lo_ns;
        f->critical->rows[index].hi_ns += row.hi_ns;
    }
    return *which != NULL;
}

static bool add_all_up(struct find *f)
{
    f->critical->first_whole = f->critical->count;
    const bool has_wholes = add_up(f, &f->whole_of, true);
    f->critical->first_process = f->critical->count;
    f->is_by_process = true;
    return has_wholes && add_up(f, &f->process_of, false);
}

/* ---- the exact ranges of those that may have most ---- */

static int by_most(const void *a, const void *b, void *self)
{
    const struct gn_critical_row *rows = self;
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const double x = rows[i].hi_ns, y = rows[j].hi_ns;
    return x != y ? (x < y) - (x > y) : (i > j) - (i < j);
}

/* Into picked: rows of the set, those first that may have most. How many are followed. */
static size_t pick(struct gn_critical *c, const struct set *set, uint32_t *picked)
{
    size_t count = 0;
    for (size_t i = set->first; i < set->end; i++)
        picked[count++] = (uint32_t)i;
    qsort_r(picked, count, sizeof *picked, by_most, c->rows);
    return count < FOLLOWED ? count : FOLLOWED;
}

static void narrow(double *lo_ns, double *hi_ns, const struct gn_range *range)
{
    *lo_ns = range->lo_ns > *lo_ns ? range->lo_ns : *lo_ns;
    *hi_ns = range->hi_ns < *hi_ns ? range->hi_ns : *hi_ns;
    *lo_ns = *lo_ns < *hi_ns ? *lo_ns : *hi_ns; /* sums of the same in another order */
}

struct numbers {
    uint32_t *picked, *key_of; /* [rows] */
    uint32_t *keys;            /* [rows of each process] */
};

static int follow_some(struct find *f, const struct set *set, const uint32_t *picked, size_t count,
                       const struct numbers *n)
{
    struct gn_critical *c = f->critical;
    struct gn_range ranges[AT_A_TIME + 1];
    for (size_t i = set->first; i < set->end; i++)
        n->key_of[i] = GN_NONE;
    for (size_t i = 0; i < count; i++)
        n->key_of[picked[i]] = (uint32_t)i;
    for (size_t i = 0; i < c->first_whole; i++)
        n->keys[i] = n->key_of[set->of ? set->of[i] : i];
    const struct gn_ranges_of of = {f->of_call, f->of_piece, n->keys, count};
    if (gn_ranges_find(ranges, &f->tight, &of) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        narrow(&c->rows[picked[i]].lo_ns, &c->rows[picked[i]].hi_ns, &ranges[i]);
        c->rows[picked[i]].is_followed = true;
    }
    c->transfer_lo_ns = ranges[count].lo_ns;
    c->transfer_hi_ns = ranges[count].hi_ns;
    return 0;
}

static int follow_set(struct find *f, const struct set *set, const struct numbers *n)
{
    const size_t count = pick(f->critical, set, n->picked);
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i += AT_A_TIME)
        code = follow_some(f, set, n->picked + i, count - i < AT_A_TIME ? count - i : AT_A_TIME, n);
    return code;
}

static int follow_all(struct find *f)
{
    const struct gn_critical *c = f->critical;
    const struct set sets[] = {{0, c->first_whole, NULL},
                               {c->first_whole, c->first_process, f->whole_of},
                               {c->first_process, c->count, f->process_of}};
    const struct numbers n = {malloc((c->count + 1) * sizeof *n.picked),
                              malloc((c->count + 1) * sizeof *n.key_of),
                              malloc((c->first_whole + 1) * sizeof *n.keys)};
    int code = n.picked && n.key_of && n.keys ? 0 : -ENOMEM;
    for (size_t i = 0; i < sizeof sets / sizeof *sets && code == 0; i++)
        code = follow_set(f, &sets[i], &n);
    free(n.picked);
    free(n.key_of);
    free(n.keys);
    return code;
}

/* ---- the result ---- */

static int by_least(const void *a, const void *b)
{
    const struct gn_critical_row *x = a, *y = b;
    if (x->lo_ns != y->lo_ns)
        return x->lo_ns < y->lo_ns ? 1 : -1;
    if (x->hi_ns != y->hi_ns)
        return x->hi_ns < y->hi_ns ? 1 : -1;
    if (x->activity != y->activity)
        return x->activity < y->activity ? -1 : 1;
    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

/* No path is longer than the run. */
static size_t keep(const struct find *f, size_t first, size_t end, size_t to)
{
    struct gn_critical_row *rows = f->critical->rows;
    const size_t begin = to;
    const double most_ns = (double)f->history->length.hi_ns;
    for (size_t i = first; i < end; i++) {
        struct gn_critical_row row = rows[i];
        row.hi_ns = row.hi_ns < most_ns ? row.hi_ns : most_ns;
        row.lo_ns = row.lo_ns < row.hi_ns ? row.lo_ns : row.hi_ns;
        if (row.hi_ns > 0)
            rows[to++] = row;
    }
    if (to > begin)
        qsort(rows + begin, to - begin, sizeof *rows, by_least);
    return to;
}

/* The path may have gone elsewhere in calls of which nothing tells whom they waited for, and been elsewhere
 * before. */
static void allow_for_untold(struct find *f)
{
    static const double noted = 0.01;
    struct gn_critical *c = f->critical;
    for (size_t i = 0; i < c->count && c->untold_ns > noted * (double)f->history->length.hi_ns; i++)
        c->rows[i].lo_ns = 0;
}

static void arrange(struct find *f)
{
    struct gn_critical *c = f->critical;
    allow_for_untold(f);
    const size_t wholes = c->first_whole, processes = c->first_process, end = c->count;
    c->first_whole = keep(f, 0, wholes, 0);
    c->first_process = keep(f, wholes, processes, c->first_whole);
    c->count = keep(f, processes, end, c->first_process);
    c->branches = f->tight.branches;
}

static int find_rows(struct find *f)
{
    const struct gn_history *h = f->history;
    f->of_call = malloc((h->call_count + 1) * sizeof *f->of_call);
    f->of_piece = malloc((h->piece_count + 1) * sizeof *f->of_piece);
    if (!f->of_call || !f->of_piece || !note_all(f) || !add_all_up(f))
        return -ENOMEM;
    const int code = follow_all(f);
    if (code == 0)
        arrange(f);
    return code;
}

int gn_critical_find(struct gn_critical *critical, const struct gn_history *history, struct gn_error *err)
{
    struct find f = {.history = history, .critical = critical};
    *critical = (struct gn_critical){.rows = NULL};
    int code = gn_tight_find(&f.tight, history, err);
    if (code < 0)
        return code;
    code = find_rows(&f);
    gn_map_clear(&f.rows);
    free(f.of_call);
    free(f.of_piece);
    free(f.whole_of);
    free(f.process_of);
    gn_tight_clear(&f.tight);
    if (code == 0)
        return 0;
    gn_critical_clear(critical);
    return gn_fail(err, code, "no memory for the critical path of %zu calls", history->call_count);
}

void gn_critical_clear(struct gn_critical *critical)
{
    free(critical->rows);
    *critical = (struct gn_critical){.rows = NULL};
}

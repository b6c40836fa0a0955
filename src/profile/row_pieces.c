#include "profile/row_pieces.h"

#include "base/grow.h"
#include "base/mix.h"
#include "profile/samples.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text)
{
    return text ? strdup(text) : NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : !a && !b;
}

static int no_memory(const struct gn_row_pieces *p)
{
    return gn_fail(p->err, -ENOMEM, "no memory for the rows of the report");
}

/* ---- rows ---- */

enum { NOT_THERE = -1 };

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
    return gn_mix(hash + gn_mix(gn_mix((uint64_t)r->from) + (uint64_t)r->to) + (uint64_t)r->line * 31 +
                  (uint64_t)r->until_line * 7 + (uint64_t)r->how);
}

struct sought {
    const struct gn_row_pieces *p;
    const struct gn_activity_row *row;
};

static bool is_row(const void *context, uint32_t i)
{
    const struct sought *sought = context;
    const struct gn_activity_row *a = &sought->p->summary->rows[i], *b = sought->row;
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
 * -ENOMEM; without adds, NOT_THERE. */
static int64_t find_row(struct gn_row_pieces *p, const struct gn_activity_row *row, bool adds)
{
    const uint64_t hash = hash_of_row(row);
    const struct sought sought = {p, row};
    const int64_t found = gn_lookup_find(&p->by_key, hash, is_row, &sought);
    if (found >= 0 && adds) /* of all of it */
        p->summary->rows[found].on_no_core &= row->on_no_core;
    if (found >= 0 || !adds)
        return found >= 0 ? found : NOT_THERE;
    struct gn_summary *s = p->summary;
    if (!gn_grow(&s->rows, &p->row_room, s->row_count, sizeof *s->rows) ||
        !gn_grow(&p->variance, &p->variance_room, s->row_count, sizeof *p->variance) ||
        !gn_lookup_add(&p->by_key, hash, (uint32_t)s->row_count))
        return no_memory(p);
    s->rows[s->row_count] = gn_row_copied(row);
    s->rows[s->row_count].number = s->row_count;
    s->rows[s->row_count].place = s->rows[s->row_count].in_range = -1;
    p->variance[s->row_count] = 0;
    return (int64_t)s->row_count++;
}

/* The same row under what the rows are by. */
static int64_t row_by(struct gn_row_pieces *p, const struct gn_activity_row *exact, int rank,
                      const char *host, bool adds)
{
    char name[32];
    struct gn_activity_row row = *exact;
    char *function = exact->function ? exact->function : exact->until_function;
    switch (p->by) {
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
        row.kind = p->by == GN_BY_FUNCTION ? "function" : p->by == GN_BY_LINE ? "line" : "place";
        row.name = function ? function : "(unknown)";
        if (p->by == GN_BY_FUNCTION)
            row.line = row.until_line = 0;
        if (row.how == GN_HOW_CALL) {
            row.how = GN_HOW_SAMPLED;
            row.called = exact->name;
        }
        if (p->by != GN_BY_PLACE)
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
    if (p->by != GN_BY_CALLPATH && p->by != GN_BY_TREE)
        row.from = row.to = 0;
    return find_row(p, &row, adds);
}

int64_t gn_row_pieces_row(struct gn_row_pieces *p, const struct gn_activity_row *exact)
{
    return row_by(p, exact, 0, NULL, false);
}

int gn_row_pieces_add(struct gn_row_pieces *p, const struct gn_activity_row *exact,
                      const struct gn_row_stretch *t)
{
    const int64_t row = row_by(p, exact, t->rank, t->host, true);
    if (row < 0)
        return (int)row;
    p->summary->rows[row].open_ns += t->open_ns;
    if (!gn_grow(&p->pieces, &p->piece_room, p->piece_count, sizeof *p->pieces) ||
        !gn_grow(&p->parts, &p->part_room, p->part_count, sizeof *p->parts))
        return no_memory(p);
    if (p->keeps_parts && strcmp(exact->kind, "computation") == 0)
        p->parts[p->part_count++] =
            (struct gn_row_part){exact->from, exact->to, t->ns, (uint32_t)row, t->rank};
    p->pieces[p->piece_count++] =
        (struct gn_row_piece){.row = (uint32_t)row,
                              .rank = t->rank,
                              .ns = t->ns,
                              .count = t->count,
                              .bytes = t->bytes,
                              .cpu_ns = t->cpu_ns,
                              .asleep_ns = t->asleep_ns,
                              .mpi_ns = strcmp(exact->kind, "mpi") == 0 ? t->ns : 0};
    return 0;
}

void gn_row_pieces_add_off(struct gn_row_pieces *p, const struct gn_activity_row *exact, double off_ns,
                           int64_t samples)
{
    const bool is_exact = p->by == GN_BY_RANK || p->by == GN_BY_HOST; /* whose time is what it is */
    const int64_t row = is_exact ? NOT_THERE : row_by(p, exact, 0, NULL, false);
    if (row < 0) /* or nothing of it was dealt */
        return;
    p->variance[row] += off_ns * off_ns;
    p->summary->rows[row].samples += samples;
}

/* ---- from pieces to rows ---- */

static int by_row_and_rank(const void *left, const void *right)
{
    const struct gn_row_piece *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static int by_time(const void *left, const void *right)
{
    const struct gn_row_piece *a = left, *b = right;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

/* The i-th smallest of the ranks' times; as many zeros as there are ranks without one come first. */
static int64_t time_at(const struct gn_row_piece *pieces, size_t count, size_t absent, size_t i)
{
    return i < absent || count == 0 ? 0 : pieces[i - absent].ns;
}

/* All pieces of the row, one for each rank that has any. */
static void spread(struct gn_activity_row *row, struct gn_row_piece *pieces, size_t count, size_t ranks)
{
    const size_t all = ranks < count ? count : ranks, absent = all - count;
    row->max_rank = -1;
    for (size_t i = 0; i < count; i++) {
        gn_samples_sum(&row->total_ns, pieces[i].ns);
        gn_samples_sum(&row->mpi_ns, pieces[i].mpi_ns);
        gn_samples_sum(&row->count, pieces[i].count);
        gn_samples_sum(&row->bytes, pieces[i].bytes);
        gn_samples_sum(&row->cpu_ns, pieces[i].cpu_ns);
        gn_samples_sum(&row->asleep_ns, pieces[i].asleep_ns);
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
static size_t join_ranks(struct gn_row_piece *pieces, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct gn_row_piece *last = used ? &pieces[used - 1] : NULL;
        if (last && last->row == pieces[i].row && last->rank == pieces[i].rank) {
            gn_samples_sum(&last->ns, pieces[i].ns);
            gn_samples_sum(&last->mpi_ns, pieces[i].mpi_ns);
            gn_samples_sum(&last->count, pieces[i].count);
            gn_samples_sum(&last->bytes, pieces[i].bytes);
            gn_samples_sum(&last->cpu_ns, pieces[i].cpu_ns);
            gn_samples_sum(&last->asleep_ns, pieces[i].asleep_ns);
        } else {
            pieces[used++] = pieces[i];
        }
    }
    return used;
}

void gn_row_pieces_fill(struct gn_row_pieces *p)
{
    const bool one_rank = p->by == GN_BY_RANK || p->by == GN_BY_HOST;
    if (p->piece_count)
        qsort(p->pieces, p->piece_count, sizeof *p->pieces, by_row_and_rank);
    p->piece_count = join_ranks(p->pieces, p->piece_count);
    for (size_t i = 0, next; i < p->piece_count; i = next) {
        for (next = i; next < p->piece_count && p->pieces[next].row == p->pieces[i].row;)
            next++;
        spread(&p->summary->rows[p->pieces[i].row], &p->pieces[i], next - i,
               one_rank ? 0 : (size_t)p->summary->ranks);
    }
}

static int order_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

int gn_row_by_total(const void *left, const void *right)
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
int gn_row_by_computation(const void *left, const void *right)
{
    const struct gn_activity_row *a = left, *b = right;
    const int64_t x = a->total_ns - a->mpi_ns, y = b->total_ns - b->mpi_ns;
    return x != y ? (x < y ? 1 : -1) : gn_row_by_total(left, right);
}

/* ---- ends ---- */

void gn_row_pieces_clear(struct gn_row_pieces *p)
{
    free(p->pieces);
    free(p->parts);
    free(p->variance);
    gn_lookup_clear(&p->by_key);
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

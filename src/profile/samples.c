#include "profile/samples.h"

#include "base/grow.h"
#include "graph/sampled.h"
#include "profile/statement.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What Python calls the code of a file outside of functions: that is no place, but its lines are. */
#define SCRIPT "<module>"

/* What is asked of a site: its place, that is its loop, or what stands outside of loops; or the function that
 * is written there, inlined or not, but for what others wrote (a container's); or likewise each line. */
#define IN_LOOP "coalesce(s.loop_line, 0) > 0"
#define OTHERS(file)                                                                                         \
    "(" file " GLOB '/usr/include/*' OR " file " GLOB '/usr/lib/*' OR " file " GLOB '/usr/lib64/*')"
#define ONES_OWN(what)                                                                                       \
    "coalesce(CASE WHEN " OTHERS("s.file") " THEN (SELECT i." what                                           \
                                           " FROM inlined i WHERE i.site = s.id AND "                        \
                                           "i.function IS NOT NULL AND NOT " OTHERS(                         \
                                               "i.file") " ORDER BY i.depth LIMIT 1) END, s." what ")"
static const struct source {
    const char *function, *file, *line, *is_apart; /* apart: each line is a place of its own */
} sources[] = {
    [GN_SAMPLES_OF_PLACES] = {"CASE WHEN " IN_LOOP " THEN s.loop_function ELSE s.function END",
                              "CASE WHEN " IN_LOOP " THEN s.loop_file ELSE s.file END",
                              "coalesce(s.loop_line, s.line, 0)", IN_LOOP},
    [GN_SAMPLES_OF_FUNCTIONS] = {ONES_OWN("function"), ONES_OWN("file"), "coalesce(" ONES_OWN("line") ", 0)",
                                 "0"},
    [GN_SAMPLES_OF_LINES] = {ONES_OWN("function"), ONES_OWN("file"), "coalesce(" ONES_OWN("line") ", 0)",
                             "coalesce(" ONES_OWN("line") ", 0) > 0"},
};

/* Lines of one place follow each other. %s: of a source; what the function does that was called there, where
 * it is told; how it is known, likewise. */
static const char asked_rows[] =
    "WITH x AS (SELECT a.*, s.id AS at, coalesce(%s, s.label) AS function, %s AS file, %s AS "
    "line,"
    " %s AS is_apart, s.module FROM sample a LEFT JOIN site s ON s.id = a.site LIMIT -1)"
    " SELECT x.from_activity, coalesce(x.to_activity, 0), x.function, x.file, coalesce(x.line, 0),"
    " coalesce(x.is_apart, 0), m.path, lm.path, coalesce((SELECT i.function FROM inlined i"
    " WHERE i.site = ls.id ORDER BY i.depth DESC LIMIT 1), ls.function, ls.label), x.location, l.process,"
    " p.rank, x.other_threads, sum(x.count), x.site IS NULL, sum(x.time_ns), %s, %s FROM x"
    " JOIN location l ON l.id = x.location JOIN process p ON p.id = l.process"
    " LEFT JOIN site s ON s.id = x.at LEFT JOIN module m ON m.id = x.module LEFT JOIN site ls ON ls.id = "
    "x.called"
    " LEFT JOIN module lm ON lm.id = ls.module GROUP BY 15, 3, 4, 6, 7, 8, 9, 17, 5, 1, 2, 10, 13, 18"
    " ORDER BY 15, 3, 4, 6, CASE WHEN x.is_apart OR x.function = '" SCRIPT
    "' THEN x.line ELSE 0 END, 7, 8, 9,"
    " 17, 5";

struct reader {
    struct gn_samples *samples;
    size_t place_room, row_room, process_room;
    int line; /* the one at hand of the last place, and what it has of its time; and what the largest has */
    int64_t line_ns, most_ns;
};

void gn_samples_sum(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = more > 0 ? INT64_MAX : INT64_MIN;
}

static char *copy(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return text ? strdup(text) : NULL;
}

static bool same_text(const char *a, sqlite3_stmt *q, int column)
{
    const char *b = (const char *)sqlite3_column_text(q, column);
    return a && b ? strcmp(a, b) == 0 : !a && !b;
}

static bool is_place(const struct gn_sample_place *p, sqlite3_stmt *q)
{
    return same_text(p->function, q, 2) && same_text(p->file, q, 3) &&
           (!(p->in_loop || (p->function && strcmp(p->function, SCRIPT) == 0)) ||
            p->line == sqlite3_column_int(q, 4)) &&
           p->in_loop == (sqlite3_column_int(q, 5) != 0) && same_text(p->module, q, 6) &&
           same_text(p->library, q, 7) && same_text(p->called, q, 8) && same_text(p->runtime, q, 16);
}

/* Outside of loops, a place is all of its function's lines, and called by the one that takes most. */
static void weigh_line(struct reader *r, struct gn_sample_place *place, sqlite3_stmt *q)
{
    const int line = sqlite3_column_int(q, 4);
    if (sqlite3_column_int(q, 17) >= GN_SAMPLED_METRIC)
        return;
    r->line_ns = (line == r->line ? r->line_ns : 0) + sqlite3_column_int64(q, 15);
    r->line = line;
    if (r->line_ns > r->most_ns) {
        r->most_ns = r->line_ns;
        place->line = line;
    }
}

/* Rows of one place follow each other. -1: no memory. */
static int place_of(struct reader *r, sqlite3_stmt *q)
{
    struct gn_samples *s = r->samples;
    if (s->place_count && is_place(&s->places[s->place_count - 1], q)) {
        weigh_line(r, &s->places[s->place_count - 1], q);
        return (int)s->place_count - 1;
    }
    if (!gn_grow(&s->places, &r->place_room, s->place_count, sizeof *s->places))
        return -1;
    s->places[s->place_count] = (struct gn_sample_place){.function = copy(q, 2),
                                                         .file = copy(q, 3),
                                                         .line = sqlite3_column_int(q, 4),
                                                         .in_loop = sqlite3_column_int(q, 5) != 0,
                                                         .module = copy(q, 6),
                                                         .library = copy(q, 7),
                                                         .called = copy(q, 8),
                                                         .runtime = copy(q, 16)};
    r->line_ns = r->most_ns = 0;
    weigh_line(r, &s->places[s->place_count], q);
    return (int)s->place_count++;
}

static bool take_row(struct reader *r, sqlite3_stmt *q)
{
    struct gn_samples *s = r->samples;
    const bool other = sqlite3_column_int(q, 14) != 0;
    const int place = other ? GN_SAMPLE_OTHER_PLACES : place_of(r, q);
    const int64_t count_there = sqlite3_column_int64(q, 13), time_ns = sqlite3_column_int64(q, 15);
    const int how = sqlite3_column_int(q, 17);
    if (count_there <= 0 || time_ns < 0 || how < 0 || (how >= GN_SAMPLED_HOWS && how < GN_SAMPLED_METRIC) ||
        (time_ns == 0 && !gn_sampled_is_counted(how))) /* nonsense */
        return true;
    if ((!other && place < 0) || !gn_grow(&s->rows, &r->row_room, s->row_count, sizeof *s->rows))
        return false;
    s->rows[s->row_count++] = (struct gn_sample_row){.location = sqlite3_column_int64(q, 9),
                                                     .process = sqlite3_column_int64(q, 10),
                                                     .rank = sqlite3_column_int(q, 11),
                                                     .from = sqlite3_column_int64(q, 0),
                                                     .to = sqlite3_column_int64(q, 1),
                                                     .place = place,
                                                     .other_threads = sqlite3_column_int(q, 12) != 0,
                                                     .how = how,
                                                     .count = count_there,
                                                     .time_ns = time_ns};
    return true;
}

static bool take_process(struct reader *r, sqlite3_stmt *q)
{
    struct gn_samples *s = r->samples;
    if (!gn_grow(&s->processes, &r->process_room, s->process_count, sizeof *s->processes))
        return false;
    s->processes[s->process_count++] =
        (struct gn_sampling_row){.process = sqlite3_column_int64(q, 0),
                                 .rank = sqlite3_column_int(q, 1),
                                 .state = copy(q, 2),
                                 .reason = copy(q, 3),
                                 .time_ns = sqlite3_column_int64(q, 4),
                                 .samples = sqlite3_column_int64(q, 5),
                                 .bursts = sqlite3_column_int64(q, 6),
                                 .by_place = sqlite3_column_int64(q, 7),
                                 .unattributed = sqlite3_column_int64(q, 8),
                                 .lost = sqlite3_column_int64(q, 9),
                                 .helpers = sqlite3_column_int64(q, 10),
                                 .with_kernel = sqlite3_column_int(q, 11) != 0};
    return true;
}

static int read_all(struct reader *r, sqlite3 *db, const char *text,
                    bool (*take)(struct reader *r, sqlite3_stmt *q), struct gn_error *err)
{
    bool taken = true;
    sqlite3_stmt *q = gn_sql_query(db, err, text, "");
    if (!q)
        return -EINVAL;
    while (taken && sqlite3_step(q) == SQLITE_ROW)
        taken = take(r, q);
    if (sqlite3_finalize(q) != SQLITE_OK && taken)
        return gn_fail(err, -EINVAL, "the profile cannot be read to its end: %s", sqlite3_errmsg(db));
    return taken ? 0 : gn_fail(err, -ENOMEM, "no memory for samples");
}

static int by_edge(const void *left, const void *right)
{
    const struct gn_sample_row *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->location != b->location)
        return a->location < b->location ? -1 : 1;
    if (a->other_threads != b->other_threads)
        return a->other_threads - b->other_threads;
    return a->how - b->how;
}

/* Lines of one place are one. */
static void join_rows(struct gn_samples *s)
{
    size_t kept = 0;
    if (s->row_count == 0)
        return;
    qsort(s->rows, s->row_count, sizeof *s->rows, by_edge);
    for (size_t i = 1; i < s->row_count; i++)
        if (by_edge(&s->rows[kept], &s->rows[i]) == 0) {
            gn_samples_sum(&s->rows[kept].count, s->rows[i].count);
            gn_samples_sum(&s->rows[kept].time_ns, s->rows[i].time_ns);
        } else {
            s->rows[++kept] = s->rows[i];
        }
    s->row_count = kept + 1;
}

const char *gn_samples_how(sqlite3 *db)
{
    return gn_sql_has_column(db, "sample", "how")      ? "how"
           : gn_sql_has_column(db, "sample", "asleep") ? "asleep"
                                                       : "0";
}

static const char asked_processes[] =
    "SELECT p.id, p.rank, x.state, x.reason, x.time_ns, x.samples, x.bursts, x.by_place, x.unattributed, "
    "x.lost, %s, %s"
    " FROM sampling x JOIN process p ON p.id = x.process ORDER BY p.rank, p.id";

int gn_samples_read(sqlite3 *db, enum gn_samples_of of, struct gn_samples *samples, struct gn_error *err)
{
    struct reader r = {.samples = samples};
    *samples = (struct gn_samples){0};
    if (gn_sql_value(db, 0, "SELECT count(*) FROM main.sqlite_master WHERE name = 'sample'", "") == 0)
        return 0;
    const struct source *source = &sources[of];
    char rows[sizeof asked_rows + 4096], processes[sizeof asked_processes + 60];
    snprintf(rows, sizeof rows, asked_rows, source->function, source->file, source->line, source->is_apart,
             gn_sql_has_column(db, "site", "runtime") ? "coalesce(ls.runtime, s.runtime)" : "NULL",
             gn_samples_how(db));
    int code = read_all(&r, db, rows, take_row, err);
    snprintf(processes, sizeof processes, asked_processes,
             gn_sql_has_column(db, "sampling", "helpers") ? "x.helpers" : "0",
             gn_sql_has_column(db, "sampling", "with_kernel") ? "x.with_kernel" : "0");
    if (code == 0)
        code = read_all(&r, db, processes, take_process, err);
    join_rows(samples);
    return code;
}

void gn_samples_clear(struct gn_samples *s)
{
    for (size_t i = 0; i < s->place_count; i++) {
        free(s->places[i].function);
        free(s->places[i].file);
        free(s->places[i].module);
        free(s->places[i].library);
        free(s->places[i].called);
        free(s->places[i].runtime);
    }
    for (size_t i = 0; i < s->process_count; i++) {
        free(s->processes[i].state);
        free(s->processes[i].reason);
    }
    free(s->places);
    free(s->rows);
    free(s->processes);
    *s = (struct gn_samples){0};
}

/* Wilson's interval, of as many samples as there would be if each stood for itself. Samples of one burst may
 * all be of one stretch of time: then a burst says as much as one sample. */
struct gn_samples_share gn_samples_share(int64_t count, int64_t all, double samples_per_burst)
{
    static const double z = 2.576; /* 99 % */
    if (all <= 0)
        return (struct gn_samples_share){0, 0, 1};
    const double n = (double)all / (samples_per_burst > 1 ? samples_per_burst : 1);
    const double p = (double)count / (double)all, zz = z * z / n;
    const double middle = (p + zz / 2) / (1 + zz);
    const double half = z / (1 + zz) * sqrt(p * (1 - p) / n + zz / (4 * n));
    const double low = middle - half, high = middle + half;
    return (struct gn_samples_share){p, low > 0 && count > 0 ? low : 0, high < 1 && count < all ? high : 1};
}

/*
 * What threads of ranks did that are in no row, since they made no call: OpenMP's helpers, threads of the
 * program's own. Samples stand for processor time, so there is no telling how long they were asleep.
 */
#include "graph/sampled.h"
#include "profile/samples.h"
#include "profile/statement.h"
#include "profile/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TOLD_MOST = 64 };

static int by_time(const void *left, const void *right)
{
    const struct gn_activity_row *a = left, *b = right;
    return (a->total_ns < b->total_ns) - (a->total_ns > b->total_ns);
}

int gn_summarise_threads(const struct gn_samples *samples, struct gn_summary *s, struct gn_error *err)
{
    const size_t places = samples->place_count + 1; /* the first one: more than were kept apart */
    struct gn_activity_row *rows = calloc(places, sizeof *rows);
    if (!rows)
        return gn_fail(err, -ENOMEM, "no memory for what other threads did");
    for (size_t i = 0; i < places; i++)
        rows[i].from = (int64_t)i - 1;
    for (size_t i = 0; i < samples->process_count; i++)
        if (samples->processes[i].helpers > 0)
            s->helpers += (double)samples->processes[i].helpers;
    for (size_t i = 0; i < samples->row_count; i++) {
        const struct gn_sample_row *r = &samples->rows[i];
        if (!r->other_threads || r->how != GN_SAMPLED_RUNNING)
            continue;
        struct gn_activity_row *row = &rows[r->place == GN_SAMPLE_OTHER_PLACES ? 0 : r->place + 1];
        row->total_ns += r->time_ns;
        row->samples += r->count;
        s->others_s += (double)r->time_ns * 1e-9;
        s->others_samples += r->count;
    }
    qsort(rows, places, sizeof *rows, by_time);
    for (size_t i = 0; i < places && i < TOLD_MOST && rows[i].total_ns > 0; i++) {
        struct gn_activity_row named = rows[i];
        named.kind = named.name = "computation";
        named.how = GN_HOW_OTHER_PLACES;
        if (rows[i].from >= 0)
            gn_row_at(&named, &samples->places[rows[i].from]);
        named.from = 0;
        rows[i] = gn_row_copied(&named);
        rows[i].share = (double)rows[i].total_ns * 1e-9 / s->others_s;
        s->other_count++;
    }
    s->others = rows;
    return 0;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same_place(const struct gn_activity_row *a, const struct gn_activity_row *b)
{
    return a->line == b->line && same_text(a->function, b->function) && same_text(a->file, b->file) &&
           same_text(a->library, b->library) && same_text(a->called, b->called) &&
           same_text(a->runtime, b->runtime);
}

/* A place of several rows (ahead of all calls, and between them) is told of the largest, which comes first.
 */
void gn_summarise_helped(struct gn_summary *s)
{
    for (size_t i = 0; i < s->other_count; i++)
        for (size_t row = 0; s->others[i].how == GN_HOW_SAMPLED && row < s->row_count; row++)
            if (s->rows[row].how == GN_HOW_SAMPLED && s->rows[row].samples > 0 &&
                is_same_place(&s->rows[row], &s->others[i])) {
                s->rows[row].others_ns = s->others[i].total_ns;
                break;
            }
}

/* All of a process's processor time is known, and samples stand for theirs: what is missing, but for what
 * came before anybody sampled, was used by threads that were over when they were looked for. Not where
 * samples are not of the kernel, or a program does much before anybody samples, perhaps with many threads;
 * and no tenth of it: samples are that sure. */
void gn_summarise_unsampled(sqlite3 *db, struct gn_summary *s)
{
    static const char left[] =
        "SELECT total(left) FROM (SELECT p.cpu_ns AS all_ns, p.cpu_ns - g.time_ns * (1 + 1.0 * g.lost / "
        "max(g.samples, 1)) - p.init_ns AS left FROM process p JOIN sampling g ON g.process = p.id WHERE "
        "g.state = 'sampled' AND g.is_whole AND "
        "g.with_kernel AND p.init_ns < 2e8) WHERE left > 3e8 AND left > 0.1 * all_ns";
    s->unsampled_s = (double)gn_sql_value(db, 0, left, "") * 1e-9;
}

void gn_summary_clear_threads(struct gn_summary *s)
{
    for (size_t i = 0; i < s->other_count; i++)
        gn_row_clear(&s->others[i]);
    free(s->others);
}

/*
 * What threads of ranks did that are in no row, since they made no call: OpenMP's helpers, threads of the
 * program's own. Samples stand for processor time, so there is no telling how long they were asleep.
 */
#include "profile/samples.h"
#include "profile/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TOLD_MOST = 64 };

static char *copy_text(const char *text)
{
    return text ? strdup(text) : NULL;
}

static int by_time(const void *left, const void *right)
{
    const struct gn_activity_row *a = left, *b = right;
    return (a->total_ns < b->total_ns) - (a->total_ns > b->total_ns);
}

static void name_row(struct gn_activity_row *row, const struct gn_sample_place *place)
{
    row->how = place ? GN_HOW_SAMPLED : GN_HOW_OTHER_PLACES;
    row->kind = strdup("computation");
    row->name = strdup("computation");
    if (!place)
        return;
    row->function = copy_text(place->function);
    row->file = copy_text(place->file);
    row->line = place->line;
    row->library = copy_text(place->library);
    row->called = copy_text(place->called);
    row->runtime = copy_text(place->runtime);
}

static void clear_row(struct gn_activity_row *row)
{
    free(row->kind);
    free(row->name);
    free(row->function);
    free(row->file);
    free(row->library);
    free(row->called);
    free(row->runtime);
}

int gn_summarise_threads(const struct gn_samples *samples, struct gn_summary *s, struct gn_error *err)
{
    const size_t places = samples->place_count + 1; /* the first one: more than were kept apart */
    struct gn_activity_row *rows = calloc(places, sizeof *rows);
    if (!rows)
        return gn_fail(err, -ENOMEM, "no memory for what other threads did");
    for (size_t i = 0; i < places; i++)
        rows[i].from = (int64_t)i - 1;
    for (size_t i = 0; i < samples->row_count; i++) {
        const struct gn_sample_row *r = &samples->rows[i];
        if (!r->other_threads)
            continue;
        struct gn_activity_row *row = &rows[r->place == GN_SAMPLE_OTHER_PLACES ? 0 : r->place + 1];
        row->total_ns += r->time_ns;
        row->samples += r->count;
        s->others_s += (double)r->time_ns * 1e-9;
    }
    qsort(rows, places, sizeof *rows, by_time);
    for (size_t i = 0; i < places && i < TOLD_MOST && rows[i].total_ns > 0; i++) {
        name_row(&rows[i], rows[i].from < 0 ? NULL : &samples->places[rows[i].from]);
        rows[i].from = 0;
        rows[i].share = (double)rows[i].total_ns * 1e-9 / s->others_s;
        s->other_count++;
    }
    s->others = rows;
    return 0;
}

void gn_summary_clear_threads(struct gn_summary *s)
{
    for (size_t i = 0; i < s->other_count; i++)
        clear_row(&s->others[i]);
    free(s->others);
}

#include "answer/frames_report.h"

#include "answer/assumptions.h"
#include "answer/fit.h"
#include "answer/quantities.h"
#include "answer/spans.h"
#include "answer/group_name.h"
#include "answer/rests_on.h"
#include "answer/whole_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_time(const void *a, const void *b)
{
    const struct gn_frames_row *l = a, *r = b;
    if (l->time.lo_ns != r->time.lo_ns)
        return l->time.lo_ns < r->time.lo_ns ? 1 : -1;
    if (l->time.hi_ns != r->time.hi_ns)
        return l->time.hi_ns < r->time.hi_ns ? 1 : -1;
    return (l->group > r->group) - (l->group < r->group);
}

static uint64_t length_of(const struct gn_held_period *p)
{
    return (uint64_t)p->to_ns - (uint64_t)p->from_ns;
}

static int by_length(const void *a, const void *b)
{
    const struct gn_held_period *l = a, *r = b;
    if (l->certain_ns != r->certain_ns)
        return l->certain_ns < r->certain_ns ? 1 : -1;
    if (length_of(l) != length_of(r))
        return length_of(l) < length_of(r) ? 1 : -1;
    return (l->from_ns > r->from_ns) - (l->from_ns < r->from_ns);
}

static int rank_periods(struct gn_frames_report *r, struct gn_error *err)
{
    r->period_count = r->held ? r->held->period_count : 0;
    r->periods = calloc(r->period_count + 1, sizeof *r->periods);
    if (!r->periods) {
        free(r->rows);
        r->rows = NULL;
        return gn_fail(err, -ENOMEM, "no memory for the answer");
    }
    if (r->period_count) {
        memcpy(r->periods, r->held->periods, r->period_count * sizeof *r->periods);
        qsort(r->periods, r->period_count, sizeof *r->periods, by_length);
    }
    return 0;
}

int gn_frames_rank(struct gn_frames_report *r, struct gn_error *err)
{
    r->rows = calloc(r->frames->count + 1, sizeof *r->rows);
    r->row_count = 0;
    if (!r->rows)
        return gn_fail(err, -ENOMEM, "no memory for the answer");
    for (uint32_t g = 0; r->names_one && g < r->frames->count; g++)
        if (r->frames->location[g].hi_ns > 0)
            r->rows[r->row_count++] = (struct gn_frames_row){g, r->frames->location[g]};
    if (r->row_count)
        qsort(r->rows, r->row_count, sizeof *r->rows, by_time);
    return rank_periods(r, err);
}

/* Of the run: outward, at most all of it. */
static struct gn_score share_of(const struct gn_history *h, const struct gn_frame_time *time)
{
    const double least = (double)h->length.lo_ns, most = (double)h->length.hi_ns;
    const double lo = most > 0 ? time->lo_ns / most : 0,
                 hi = least > 0 ? time->hi_ns / least : time->hi_ns > 0;
    return (struct gn_score){lo < 1 ? lo : 1, hi < 1 ? hi : 1};
}

/* ---- rows ---- */

enum { SHARE, OF_RUN, SECONDS, WHO };

static void fill(const struct gn_frames_report *r, const struct gn_frame_time *time, struct gn_cell *share,
                 struct gn_cell *seconds)
{
    const struct gn_score of_run = share_of(r->history, time);
    gn_cell_bounds(share, of_run.lo, of_run.hi);
    gn_cell_bounds(seconds, time->lo_ns, time->hi_ns);
}

static void fill_row(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_frames_report *r = self;
    fill(r, &r->rows[i].time, &cells[SHARE], &cells[SECONDS]);
    gn_group_name(r->history, r->groups, r->by, r->rows[i].group, cells[WHO].buffer, GN_CELL_BUFFER);
    gn_cell_text(&cells[WHO], cells[WHO].buffer);
}

/* The first one is of all of them. */
static void fill_text(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_frames_report *r = self;
    if (i > 0) {
        fill_row(self, i - 1, cells);
        return;
    }
    fill(r, &r->frames->all, &cells[SHARE], &cells[SECONDS]);
    gn_cell_text(&cells[WHO], r->held ? "as asked" : r->is_all ? "all" : "whoever it is");
}

static void fill_aggregated(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_frames_report *r = self;
    (void)i;
    fill(r, &r->aggregated->all, &cells[SHARE], &cells[SECONDS]);
    gn_cell_text(&cells[WHO], r->held ? "as asked" : "whoever it is");
}

static struct gn_table table_of(const struct gn_frames_report *r, size_t rows,
                                void (*fill_with)(const void *, size_t, struct gn_cell *))
{
    static const struct gn_column columns[] = {
        {.title = "of the run", .name = "percent", .kind = GN_CELL_PERCENTAGES, .flags = GN_COLUMN_SEEN},
        {.title = GN_OF_RUN, .name = "run_percent", .kind = GN_CELL_PERCENTAGES, .flags = GN_COLUMN_RUN},
        {.title = "at the same time", .name = "seconds", .kind = GN_CELL_DURATIONS},
        {.title = "who", .name = "who", .flags = GN_COLUMN_KEY, .least = 16},
    };
    return (struct gn_table){.columns = columns,
                             .column_count = sizeof columns / sizeof *columns,
                             .row_count = rows,
                             .fill = fill_with,
                             .self = r,
                             .indent = 2,
                             .whole = gn_whole_run(fill_with == fill_aggregated ? NULL : r->spread, false)};
}

struct gn_table gn_frames_table(const struct gn_frames_report *r)
{
    return table_of(r, 1 + r->row_count, fill_text);
}

/* ---- periods ---- */

/* Since the run began, which is known as an interval, too. */
static struct gn_frame_time since_begin(const struct gn_history *h, int64_t at_ns)
{
    const double lo = (double)at_ns - (double)h->first.hi_ns, hi = (double)at_ns - (double)h->first.lo_ns;
    return (struct gn_frame_time){lo > 0 ? lo : 0, hi > 0 ? hi : 0};
}

static void fill_period(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_frames_report *r = self;
    const struct gn_held_period *p = &r->periods[i];
    const struct gn_frame_time time = gn_frame_time_of(p->certain_ns, length_of(p)),
                               from = since_begin(r->history, p->from_ns),
                               to = since_begin(r->history, p->to_ns);
    fill(r, &time, &cells[0], &cells[1]);
    gn_cell_bounds(&cells[2], from.lo_ns, from.hi_ns);
    gn_cell_bounds(&cells[3], to.lo_ns, to.hi_ns);
}

static struct gn_table table_of_periods(const struct gn_frames_report *r, size_t rows)
{
    static const struct gn_column columns[] = {
        {.title = "of the run", .name = "percent", .kind = GN_CELL_PERCENTAGES, .goes = 1},
        {.title = "without a break", .name = "seconds", .kind = GN_CELL_DURATIONS},
        {.title = "from", .name = "from", .kind = GN_CELL_DURATIONS},
        {.title = "to", .name = "to", .kind = GN_CELL_DURATIONS},
    };
    return (struct gn_table){.columns = columns,
                             .column_count = sizeof columns / sizeof *columns,
                             .row_count = rows,
                             .left_out = r->period_count - rows,
                             .fill = fill_period,
                             .self = r,
                             .indent = 2};
}

static size_t periods_shown(const struct gn_frames_report *r)
{
    return r->top && r->top < r->period_count ? r->top : r->period_count;
}

static size_t shown(const struct gn_frames_report *r)
{
    return r->top && r->top < r->row_count ? r->top : r->row_count;
}

int gn_frames_csv(const struct gn_frames_report *r, FILE *out)
{
    const struct gn_table table =
        r->held ? table_of_periods(r, periods_shown(r)) : table_of(r, shown(r), fill_row);
    return gn_table_csv(&table, out);
}

/* ---- text ---- */

static void print_aggregated(const struct gn_frames_report *r, const struct gn_terminal *terminal, FILE *out)
{
    const struct gn_table table = table_of(r, 1, fill_aggregated);
    const double wide = r->aggregated->all.hi_ns - r->aggregated->all.lo_ns,
                 narrow = r->frames->all.hi_ns - r->frames->all.lo_ns;
    char events[GN_QUANTITY_TEXT], most[GN_QUANTITY_TEXT];
    int64_t count = 0, largest = 0;
    for (int i = 0; i < GN_FRAMES_SIZES; i++) {
        count += (int64_t)r->sizes[i];
        largest = r->sizes[i] ? 1ll << i : largest;
    }
    fprintf(out, "\nby aggregated events (%s, of which the largest has %s or more):\n",
            gn_count_text(count, events), gn_count_text(largest, most));
    gn_table_text(&table, terminal, out);
    if (narrow > 0)
        fprintf(out, "  %.2f times as wide\n", wide / narrow);
}

static void print_periods(const struct gn_frames_report *r, const struct gn_terminal *terminal, FILE *out)
{
    const struct gn_table table = table_of_periods(r, periods_shown(r));
    char lo[GN_QUANTITY_TEXT], hi[GN_QUANTITY_TEXT];
    gn_count_text((int64_t)r->held->times_lo, lo);
    gn_count_text((int64_t)r->held->times_hi, hi);
    if (r->held->times_lo == r->held->times_hi)
        fprintf(out, "\n%s %s\n", lo, r->held->times_lo == 1 ? "time" : "times");
    else
        fprintf(out, "\n%s to %s times\n", lo, hi);
    if (r->period_count)
        gn_table_text(&table, terminal, out);
}

static void print_all(const struct gn_frames_report *r, const struct gn_terminal *terminal, FILE *out)
{
    const struct gn_history *h = r->history;
    struct gn_table table = table_of(r, 1 + shown(r), fill_text);
    char length[GN_SPAN_TEXT], frames[GN_QUANTITY_TEXT];
    table.left_out = r->row_count - shown(r);
    fprintf(out, "gnomon frames %s: %s\n%zu %ss, %s frames, %s\n\n", r->path, r->question, r->groups->count,
            gn_scored_name(r->by), gn_count_text((int64_t)r->frames->frames, frames),
            gn_span_time((double)h->length.lo_ns, (double)h->length.hi_ns, length));
    gn_table_text(&table, terminal, out);
    if (r->held)
        print_periods(r, terminal, out);
    if (r->aggregated)
        print_aggregated(r, terminal, out);
    gn_assumptions_text(h, GN_ASSUMES_OF_STATES, terminal, out);
    gn_rests_on_text(h, terminal, out);
}

void gn_frames_text(const struct gn_frames_report *r, const struct gn_terminal *terminal, FILE *out)
{
    struct gn_page page;
    gn_page_open(&page, terminal, out);
    print_all(r, terminal, page.out);
    gn_page_close(&page);
}

/* ---- JSON ---- */

static json_t *time_json(const struct gn_frames_report *r, const struct gn_frame_time *time)
{
    const struct gn_score share = share_of(r->history, time);
    return json_pack("{s:o?,s:o?}", "seconds", gn_span_json(time->lo_ns, time->hi_ns, 1e-9), "percent",
                     gn_span_json(share.lo, share.hi, 100));
}

/* The same, and what is in all of the run; row: of gn_frames_table. */
static json_t *seen_json(const struct gn_frames_report *r, const struct gn_frame_time *time, size_t row)
{
    const struct gn_table rows = gn_frames_table(r);
    json_t *json = time_json(r, time);
    json_object_set_new(json, "run_percent", gn_table_of_run(&rows, row));
    return json;
}

static json_t *rows_json(const struct gn_frames_report *r)
{
    char who[128];
    json_t *list = json_array();
    for (size_t i = 0; i < r->row_count && list; i++) {
        gn_group_name(r->history, r->groups, r->by, r->rows[i].group, who, sizeof who);
        json_t *row = json_pack("{s:s,s:o?}", "who", who, "time", seen_json(r, &r->rows[i].time, i + 1));
        if (json_array_append_new(list, row) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static json_t *aggregated_json(const struct gn_frames_report *r)
{
    if (!r->aggregated)
        return json_null();
    json_t *sizes = json_array();
    for (int i = 0; i < GN_FRAMES_SIZES; i++)
        json_array_append_new(sizes, json_integer((json_int_t)r->sizes[i]));
    return json_pack("{s:o?,s:o?}", "all", time_json(r, &r->aggregated->all), "sizes_log2", sizes);
}

static json_t *times_json(const struct gn_frames_report *r)
{
    if (!r->held)
        return json_null();
    return json_pack("{s:I,s:I}", "lo", (json_int_t)r->held->times_lo, "hi", (json_int_t)r->held->times_hi);
}

static json_t *periods_json(const struct gn_frames_report *r)
{
    const struct gn_table table = table_of_periods(r, periods_shown(r));
    return r->held ? gn_table_json(&table) : json_null();
}

json_t *gn_frames_json(const struct gn_frames_report *r)
{
    const struct gn_history *h = r->history;
    return json_pack(
        "{s:s,s:s,s:s,s:I,s:o?,s:o?,s:o?,s:o?,s:o?,s:o?,s:o?,s:o?,s:o?}", "trace", r->path, "question",
        r->question, "by", gn_scored_name(r->by), "frames", (json_int_t)r->frames->frames, "length_s",
        gn_span_json((double)h->length.lo_ns, (double)h->length.hi_ns, 1e-9), "all",
        seen_json(r, &r->frames->all, 0), "rows", rows_json(r), "times", times_json(r), "periods",
        periods_json(r), "is_narrowest", r->held ? json_boolean(r->held->is_narrowest) : json_null(),
        "aggregated", aggregated_json(r), "rests_on", gn_rests_on_json(h), "assumptions",
        gn_assumptions_json(h, GN_ASSUMES_OF_STATES));
}

#include "answer/report_table.h"

#include "base/printable.h"

#include <string.h>

const char *const gn_by_names[] = {"activity", "callpath", "region", "function", "line",
                                   "rank",     "host",     "pair",   NULL};

enum {
    RUN,
    KIND,
    NAME,
    FUNCTION,
    SOURCE,
    LINE,
    PATH,
    COUNT,
    BYTES,
    TOTAL,
    SHARE,
    WEIGHT,
    MIN,
    MEDIAN,
    MEAN,
    MAX,
    RANK,
    MPI,
    CALLERS,
    OTHER,
    IMBALANCE,
    WHAT
};

/* CSV has all of them, whatever the rows are. */
static const struct gn_column all[] = {
    [RUN] = {.kind = GN_CELL_SHARE},
    [KIND] = {.name = "kind"},
    [NAME] = {.name = "name"},
    [FUNCTION] = {.name = "function"},
    [SOURCE] = {.name = "file"},
    [LINE] = {.name = "line", .kind = GN_CELL_NUMBER, .flags = GN_COLUMN_ZERO},
    [PATH] = {.name = "callpath"},
    [COUNT] = {.name = "count", .kind = GN_CELL_COUNT, .goes = 1},
    [BYTES] = {.name = "bytes", .kind = GN_CELL_BYTES},
    [TOTAL] = {.name = "total_s", .kind = GN_CELL_DURATION, .digits = 9},
    [SHARE] = {.name = "share", .kind = GN_CELL_SHARE, .digits = 6, .goes = 1},
    [WEIGHT] = {.name = "weight_s", .kind = GN_CELL_DURATION, .digits = 9},
    [MIN] = {.name = "min_s", .kind = GN_CELL_DURATION, .digits = 9, .goes = 3},
    [MEDIAN] = {.name = "median_s", .kind = GN_CELL_DURATION, .digits = 9},
    [MEAN] = {.name = "mean_s", .kind = GN_CELL_DURATION, .digits = 9},
    [MAX] = {.name = "max_s", .kind = GN_CELL_DURATION, .digits = 9},
    [RANK] = {.name = "max_rank", .kind = GN_CELL_RANK, .flags = GN_COLUMN_LEFT},
    [MPI] = {.name = "mpi_s", .kind = GN_CELL_DURATION, .digits = 9},
    [CALLERS] = {.name = "callers"},
    [OTHER] = {.kind = GN_CELL_DURATION},
    [IMBALANCE] = {.kind = GN_CELL_DURATION, .goes = 2},
    [WHAT] = {.least = 30, .is_middle = true},
};

double gn_report_imbalance_ns(const struct gn_activity_row *row)
{
    return strcmp(row->kind, "computation") == 0 ? (double)(row->max_ns - row->mean_ns) : 0;
}

static void what_and_where(struct gn_cell *cell, const struct gn_activity_row *row)
{
    char place[256];
    gn_place_text(place, sizeof place, row->file, row->line);
    const bool named = row->function && strcmp(row->function, row->name) != 0;
    if (row->path)
        gn_cell_print(cell, "%s  %s", row->name, row->path);
    else
        gn_cell_print(cell, "%s%s%s%s%s%s%s", row->name, named ? " in " : "", named ? row->function : "",
                      row->callers ? " ← " : "", row->callers ? row->callers : "", place[0] ? "  " : "",
                      place);
}

static const char *shade_of(double share)
{
    return share >= 0.25 ? GN_RED : share >= 0.05 ? GN_YELLOW : NULL;
}

static void fill_row(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_summary *s = ((const struct gn_report_table *)self)->summary;
    const struct gn_activity_row *row = &s->rows[i];
    const double of_run = s->elapsed_s > 0 ? (double)row->weight_ns * 1e-9 / s->elapsed_s : 0;
    gn_cell_real(&cells[RUN], of_run);
    cells[RUN].code = shade_of(of_run);
    gn_cell_text(&cells[KIND], row->kind);
    gn_cell_text(&cells[NAME], row->name);
    gn_cell_text(&cells[FUNCTION], row->function);
    gn_cell_text(&cells[SOURCE], row->file);
    if (row->line > 0)
        gn_cell_number(&cells[LINE], row->line);
    gn_cell_text(&cells[PATH], row->path);
    gn_cell_number(&cells[COUNT], row->count);
    gn_cell_number(&cells[BYTES], row->bytes);
    gn_cell_real(&cells[TOTAL], (double)row->total_ns);
    gn_cell_real(&cells[SHARE], row->share);
    gn_cell_real(&cells[WEIGHT], (double)row->weight_ns);
    gn_cell_real(&cells[MIN], (double)row->min_ns);
    gn_cell_real(&cells[MEDIAN], (double)row->median_ns);
    gn_cell_real(&cells[MEAN], (double)row->mean_ns);
    gn_cell_real(&cells[MAX], (double)row->max_ns);
    gn_cell_number(&cells[RANK], row->max_rank);
    gn_cell_real(&cells[MPI], (double)row->mpi_ns);
    gn_cell_text(&cells[CALLERS], row->callers);
    gn_cell_real(&cells[OTHER], (double)(row->total_ns - row->mpi_ns));
    if (gn_report_imbalance_ns(row) > 0)
        gn_cell_real(&cells[IMBALANCE], gn_report_imbalance_ns(row));
    what_and_where(&cells[WHAT], row);
}

static void titles_of_activities(struct gn_column *columns, enum gn_by by)
{
    columns[RUN].title = "run";
    columns[RUN].meaning =
        "of the run's length (a computation's slowest rank; an MPI call's fastest, the rest waits)";
    columns[SHARE].title = "share";
    columns[SHARE].meaning = "of all ranks' time";
    columns[MIN].title = "min";
    columns[MEDIAN].title = "median";
    columns[MAX].title = "max";
    columns[RANK].title = "rank";
    columns[IMBALANCE].title = "imbal.";
    columns[IMBALANCE].meaning = "the slowest rank over the mean";
    columns[WHAT].title =
        by == GN_BY_REGION ? "region (with all that is nested in it)" : "activity and place";
    columns[MPI].flags |= GN_COLUMN_NO_JSON;
    if (by != GN_BY_ACTIVITY)
        columns[CALLERS].flags |= GN_COLUMN_NO_JSON;
    if (by == GN_BY_CALLPATH)
        columns[WHAT].flags |= GN_COLUMN_FOLD; /* a call path is shown whole */
    else
        columns[PATH].flags |= GN_COLUMN_NO_JSON;
}

static void titles_of_totals(struct gn_column *columns, enum gn_by by)
{
    columns[COUNT].title = "count";
    columns[TOTAL].title = "total";
    columns[SHARE].title = "share";
    columns[MPI].title = "MPI";
    columns[OTHER].title = "other";
    columns[WHAT].title = by == GN_BY_HOST ? "host" : "rank";
    columns[PATH].flags |= GN_COLUMN_NO_JSON;
    columns[CALLERS].flags |= GN_COLUMN_NO_JSON;
}

static size_t shown(size_t count, const struct gn_report_options *o)
{
    return o->top > 0 && (size_t)o->top < count ? (size_t)o->top : count;
}

void gn_report_rows(struct gn_report_table *rows, const struct gn_summary *s,
                    const struct gn_report_options *o)
{
    _Static_assert(sizeof all == sizeof rows->columns, "each column has its place");
    memcpy(rows->columns, all, sizeof all);
    rows->summary = s;
    if (o->by == GN_BY_RANK || o->by == GN_BY_HOST)
        titles_of_totals(rows->columns, o->by);
    else
        titles_of_activities(rows->columns, o->by);
    rows->table = (struct gn_table){.columns = rows->columns,
                                    .column_count = GN_REPORT_COLUMNS,
                                    .row_count = shown(s->row_count, o),
                                    .fill = fill_row,
                                    .self = rows};
}

/* ---- pairs ---- */

static void fill_pair(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_pair_row *pair = &((const struct gn_report_table *)self)->summary->pairs[i];
    gn_cell_number(&cells[0], pair->from);
    gn_cell_number(&cells[1], pair->to);
    gn_cell_number(&cells[2], pair->messages);
    gn_cell_number(&cells[3], pair->bytes);
}

void gn_report_pairs(struct gn_report_table *pairs, const struct gn_summary *s,
                     const struct gn_report_options *o)
{
    static const struct gn_column columns[] = {
        {.title = "from", .name = "from", .kind = GN_CELL_NUMBER},
        {.title = "to", .name = "to", .kind = GN_CELL_NUMBER},
        {.title = "messages", .name = "messages", .kind = GN_CELL_COUNT},
        {.title = "bytes", .name = "bytes", .kind = GN_CELL_BYTES},
    };
    const size_t count = shown(s->pair_count, o);
    pairs->summary = s;
    pairs->table = (struct gn_table){.columns = columns,
                                     .column_count = sizeof columns / sizeof *columns,
                                     .row_count = count,
                                     .left_out = s->pair_count - count,
                                     .fill = fill_pair,
                                     .self = pairs};
}

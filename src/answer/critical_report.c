#include "answer/critical_report.h"

#include "answer/assumptions.h"
#include "answer/fit.h"
#include "answer/quantities.h"
#include "base/printable.h"
#include "answer/process_name.h"
#include "answer/rests_on.h"
#include "answer/spans.h"
#include "answer/whole_run.h"

struct rows {
    size_t first, end;
};

/* Those that are shown. */
static struct rows rows_of(const struct gn_critical_report *r)
{
    const struct gn_critical *c = r->critical;
    const bool is_rank = r->by == GN_CRITICAL_BY_RANK;
    const struct rows all = {is_rank ? c->first_process : c->first_whole,
                             is_rank ? c->count : c->first_process};
    if (r->top && all.end - all.first > r->top)
        return (struct rows){all.first, all.first + r->top};
    return all;
}

static size_t left_out(const struct gn_critical_report *r)
{
    const struct gn_critical *c = r->critical;
    const size_t end = r->by == GN_CRITICAL_BY_RANK ? c->count : c->first_process;
    return end - rows_of(r).end;
}

/* "MPI_Allreduce at kmeans.c:85"; where the call path is not known, its name alone. */
static void call_text(const struct gn_history *h, const struct gn_critical_row *row, char *text, size_t size)
{
    const struct gn_definitions *d = h->definitions;
    const char *name =
        row->region < d->region_count ? gn_string(d, d->regions[row->region].name) : "an MPI call";
    char place[256];
    gn_path_place(d, row->path, place, sizeof place);
    snprintf(text, size, "in %s%s%s", name, place[0] ? " at " : "", place);
    gn_printable(text);
}

static void row_text(const struct gn_critical_report *r, const struct gn_critical_row *row, char *text,
                     size_t size)
{
    if (r->by == GN_CRITICAL_BY_RANK)
        gn_process_name(r->history->definitions, row->process, text, size);
    else if (row->activity != GN_NONE)
        gn_activity_text(r->history, row->activity, text, size);
    else
        call_text(r->history, row, text, size);
}

static void row_place(const struct gn_critical_report *r, const struct gn_critical_row *row, char *text,
                      size_t size)
{
    text[0] = '\0';
    if (row->activity != GN_NONE)
        gn_activity_place(r->history, row->activity, text, size);
    else if (row->path != GN_NONE)
        gn_path_place(r->history->definitions, row->path, text, size);
}

/* Of the run's length, which is not known exactly, either; never more than all of it. */
struct share {
    double lo, hi;
};

static struct share share_of(const struct gn_history *h, double lo_ns, double hi_ns)
{
    const double most_ns = (double)h->length.hi_ns, least_ns = (double)h->length.lo_ns;
    const double hi = least_ns > 0 ? hi_ns / least_ns : 1;
    return (struct share){most_ns > 0 ? lo_ns / most_ns : 0, hi < 1 ? hi : 1};
}

/* ---- rows ---- */

static void fill_row(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_critical_report *r = self;
    const struct gn_critical_row *row = &r->critical->rows[rows_of(r).first + i];
    const struct share share = share_of(r->history, row->lo_ns, row->hi_ns);
    row_text(r, row, cells[0].buffer, GN_CELL_BUFFER);
    row_place(r, row, cells[2].buffer, GN_CELL_BUFFER);
    gn_cell_text(&cells[0], cells[0].buffer);
    gn_cell_text(&cells[1], r->by == GN_CRITICAL_BY_RANK ? "rank"
                            : row->activity != GN_NONE   ? "activity"
                                                         : "call");
    gn_cell_text(&cells[2], cells[2].buffer);
    if (row->process != GN_NONE)
        gn_cell_number(&cells[3], r->history->definitions->processes[row->process].rank);
    gn_cell_bounds(&cells[4], row->lo_ns, row->hi_ns);
    gn_cell_bounds(&cells[5], share.lo, share.hi);
    gn_cell_text(&cells[7], cells[0].buffer);
    gn_cell_number(&cells[8],
                   row->activity != GN_NONE ? r->history->activities[row->activity].path : row->path);
}

struct gn_table gn_critical_table(const struct gn_critical_report *report)
{
    static const struct gn_column columns[] = {
        {.name = "name", .flags = GN_COLUMN_KEY},
        {.name = "kind", .flags = GN_COLUMN_KEY},
        {.name = "place", .flags = GN_COLUMN_EMPTY | GN_COLUMN_KEY},
        {.name = "rank", .kind = GN_CELL_NUMBER},
        {.title = "on the path", .name = "on_path_s", .kind = GN_CELL_DURATIONS},
        {.title = "of the run",
         .name = "share_percent",
         .kind = GN_CELL_PERCENTAGES,
         .flags = GN_COLUMN_SEEN},
        {.title = GN_OF_RUN, .name = "run_percent", .kind = GN_CELL_PERCENTAGES, .flags = GN_COLUMN_RUN},
        {.title = "by activity, rank or call", .least = 24, .is_middle = true},
        {.kind = GN_CELL_NUMBER, .flags = GN_COLUMN_KEY}, /* several may have one name */
    };
    const struct rows rows = rows_of(report);
    return (struct gn_table){.columns = columns,
                             .column_count = sizeof columns / sizeof *columns,
                             .row_count = rows.end - rows.first,
                             .left_out = left_out(report),
                             .fill = fill_row,
                             .self = report,
                             .indent = 2,
                             .whole = gn_whole_run(report->spread, false)};
}

/* ---- text ---- */

static void print_rest(const struct gn_critical_report *r, FILE *out)
{
    const struct gn_critical *c = r->critical;
    const struct share share = share_of(r->history, c->transfer_lo_ns, c->transfer_hi_ns);
    char text[GN_SPAN_TEXT], count[GN_QUANTITY_TEXT];
    fprintf(out, "\nof the calls' time, on the way between processes: %s\n",
            gn_span_share(share.lo, share.hi, text));
    if (c->untold)
        fprintf(out,
                "calls on it that may have waited for others, and nothing tells for whom: %s; ahead of each "
                "the path may "
                "be another one, whose rows may be missing here\n",
                gn_count_text((int64_t)c->untold, count));
    if (c->branches)
        fprintf(
            out,
            "places where the clocks do not tell where the path goes on: %s; certain is what all possible "
            "paths have\n",
            gn_count_text((int64_t)c->branches, count));
    else if (!c->untold)
        fprintf(out, "only one path is possible\n");
    if (c->unsure)
        fprintf(out, "calls on it that may have waited for something else, as events are missing: %s\n",
                gn_count_text((int64_t)c->unsure, count));
}

static void print_all(const struct gn_critical_report *r, const struct gn_terminal *terminal, FILE *out)
{
    const struct gn_table table = gn_critical_table(r);
    const struct gn_history *h = r->history;
    char length[GN_SPAN_TEXT];
    fprintf(out, "%sgnomon critical%s %s: the chain of causes that makes the run as long as it is, %s\n\n",
            gn_shade(terminal, GN_BOLD), gn_shade(terminal, GN_PLAIN), r->path,
            gn_span_time((double)h->length.lo_ns, (double)h->length.hi_ns, length));
    gn_table_text(&table, terminal, out);
    print_rest(r, out);
    gn_assumptions_text(h, GN_ASSUMES_OF_PATHS, terminal, out);
    gn_rests_on_text(h, terminal, out);
}

void gn_critical_text(const struct gn_critical_report *r, const struct gn_terminal *terminal, FILE *out)
{
    struct gn_page page;
    gn_page_open(&page, terminal, out);
    print_all(r, terminal, page.out);
    gn_page_close(&page);
}

/* ---- JSON ---- */

json_t *gn_critical_json(const struct gn_critical_report *r)
{
    const struct gn_critical *c = r->critical;
    const struct gn_history *h = r->history;
    const struct gn_table table = gn_critical_table(r);
    return json_pack("{s:i, s:s, s:I, s:o, s:s, s:o, s:o, s:I, s:I, s:I, s:o, s:o?}", "version", 1, "trace",
                     r->path, "events", (json_int_t)h->events, "length_s",
                     gn_span_json((double)h->length.lo_ns, (double)h->length.hi_ns, 1e-9), "by",
                     r->by == GN_CRITICAL_BY_RANK ? "rank" : "activity", "rows", gn_table_json(&table),
                     "between_processes_s", gn_span_json(c->transfer_lo_ns, c->transfer_hi_ns, 1e-9),
                     "branches", (json_int_t)c->branches, "untold", (json_int_t)c->untold, "unsure",
                     (json_int_t)c->unsure, "rests_on", gn_rests_on_json(h), "assumptions",
                     gn_assumptions_json(h, GN_ASSUMES_OF_PATHS));
}

/* ---- the largest one ---- */

bool gn_critical_first_text(const struct gn_critical_report *r, FILE *out)
{
    const struct rows rows = rows_of(r);
    char text[1024], time[GN_SPAN_TEXT], shown[GN_SPAN_TEXT];
    if (rows.first == rows.end)
        return false;
    const struct gn_critical_row *row = &r->critical->rows[rows.first];
    const struct share share = share_of(r->history, row->lo_ns, row->hi_ns);
    row_text(r, row, text, sizeof text);
    fprintf(out, "%s: %s of the run, %s", text, gn_span_share(share.lo, share.hi, shown),
            gn_span_time(row->lo_ns, row->hi_ns, time));
    return true;
}

json_t *gn_critical_first_json(const struct gn_critical_report *r)
{
    struct gn_table table = gn_critical_table(r);
    table.row_count = table.row_count ? 1 : 0;
    json_t *rows = gn_table_json(&table), *first = json_array_get(rows, 0);
    json_incref(first);
    json_decref(rows);
    return first ? first : json_null();
}

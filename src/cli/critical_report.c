#include "cli/critical_report.h"

#include "base/printable.h"
#include "cli/process_name.h"
#include "cli/rests_on.h"
#include "cli/spans.h"

#include <inttypes.h>

struct rows {
    size_t first, end;
};

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

/* ---- text ---- */

static void print_row(const struct gn_critical_report *r, const struct gn_critical_row *row, FILE *out)
{
    const struct share share = share_of(r->history, row->lo_ns, row->hi_ns);
    char text[1024], shown[GN_SPAN_TEXT], time[GN_SPAN_TEXT];
    row_text(r, row, text, sizeof text);
    fprintf(out, "  %20s %26s  %s\n", gn_span_share(share.lo, share.hi, shown),
            gn_span_time(row->lo_ns, row->hi_ns, time), text);
}

static void print_rest(const struct gn_critical_report *r, FILE *out)
{
    const struct gn_critical *c = r->critical;
    const struct share share = share_of(r->history, c->transfer_lo_ns, c->transfer_hi_ns);
    char text[GN_SPAN_TEXT];
    fprintf(out, "\nof the calls' time, on the way between processes: %s\n",
            gn_span_share(share.lo, share.hi, text));
    if (c->branches)
        fprintf(out,
                "places where the clocks do not tell where the path goes on: %" PRIu64
                "; certain is what all possible paths have\n",
                c->branches);
    else
        fprintf(out, "the path is certain\n");
    if (c->unsure)
        fprintf(out,
                "calls on it that may have waited for something else, as events are missing: %" PRIu64 "\n",
                c->unsure);
}

void gn_critical_text(const struct gn_critical_report *r, const struct gn_terminal *terminal, FILE *out)
{
    const struct gn_history *h = r->history;
    const char *bold = terminal->color ? GN_BOLD : "", *dim = terminal->color ? GN_DIM : "",
               *plain = terminal->color ? GN_PLAIN : "";
    const struct rows rows = rows_of(r);
    char length[GN_SPAN_TEXT];
    fprintf(out, "%sgnomon critical%s %s: the chain of causes that makes the run as long as it is, %s\n\n",
            bold, plain, r->path, gn_span_time((double)h->length.lo_ns, (double)h->length.hi_ns, length));
    fprintf(out, "%s  %20s %26s  %s%s\n", dim, "of the run", "on the path",
            r->by == GN_CRITICAL_BY_RANK ? "by" : "activity or call", plain);
    for (size_t i = rows.first; i < rows.end; i++)
        print_row(r, &r->critical->rows[i], out);
    if (left_out(r))
        fprintf(out, "  %zu more: --top 0\n", left_out(r));
    print_rest(r, out);
    gn_rests_on_text(h, terminal, out);
}

/* ---- JSON ---- */

static json_t *row_json(const struct gn_critical_report *r, const struct gn_critical_row *row)
{
    const struct gn_definitions *d = r->history->definitions;
    const struct share share = share_of(r->history, row->lo_ns, row->hi_ns);
    char text[1024], place[256];
    row_text(r, row, text, sizeof text);
    row_place(r, row, place, sizeof place);
    return json_pack("{s:s, s:s?, s:s, s:o, s:o, s:o}", "name", text, "kind",
                     r->by == GN_CRITICAL_BY_RANK ? "rank"
                     : row->activity != GN_NONE   ? "activity"
                                                  : "call",
                     "place", place, "rank",
                     row->process == GN_NONE ? json_null() : json_integer(d->processes[row->process].rank),
                     "on_path_s", gn_span_json(row->lo_ns, row->hi_ns, 1e-9), "share_percent",
                     gn_span_json(share.lo, share.hi, 100));
}

json_t *gn_critical_json(const struct gn_critical_report *r)
{
    const struct gn_critical *c = r->critical;
    const struct gn_history *h = r->history;
    const struct rows rows = rows_of(r);
    json_t *list = json_array();
    for (size_t i = rows.first; i < rows.end; i++)
        json_array_append_new(list, row_json(r, &c->rows[i]));
    return json_pack("{s:i, s:s, s:I, s:o, s:s, s:o, s:o, s:I, s:I, s:o}", "version", 1, "trace", r->path,
                     "events", (json_int_t)h->events, "length_s",
                     gn_span_json((double)h->length.lo_ns, (double)h->length.hi_ns, 1e-9), "by",
                     r->by == GN_CRITICAL_BY_RANK ? "rank" : "activity", "rows", list, "between_processes_s",
                     gn_span_json(c->transfer_lo_ns, c->transfer_hi_ns, 1e-9), "branches",
                     (json_int_t)c->branches, "unsure", (json_int_t)c->unsure, "rests_on",
                     gn_rests_on_json(h));
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
    const struct rows rows = rows_of(r);
    return rows.first == rows.end ? json_null() : row_json(r, &r->critical->rows[rows.first]);
}

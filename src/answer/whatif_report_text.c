#include "answer/assumptions.h"
#include "answer/fit.h"
#include "answer/quantities.h"
#include "answer/process_name.h"
#include "answer/rests_on.h"
#include "answer/spans.h"
#include "answer/whatif_report.h"
#include "answer/whole_run.h"

#include <inttypes.h>
#include <math.h>

struct page {
    const struct gn_history *history;
    const struct gn_terminal *terminal;
    FILE *out;
};

static const char *shade(const struct page *p, const char *code)
{
    return gn_shade(p->terminal, code);
}

static void header(const struct page *p, const char *path)
{
    const struct gn_history *h = p->history;
    char length[GN_SPAN_TEXT], events[GN_QUANTITY_TEXT];
    fprintf(p->out, "%sgnomon whatif%s %s: %s, %s events\n\n", shade(p, GN_BOLD), shade(p, GN_PLAIN), path,
            gn_span_time((double)h->length.lo_ns, (double)h->length.hi_ns, length),
            gn_count_text((int64_t)h->events, events));
}

/* What every answer rests on. */
static void footer(const struct page *p)
{
    fputc('\n', p->out);
    gn_assumptions_text(p->history, GN_ASSUMES_OF_CHANGES, p->terminal, p->out);
    gn_rests_on_text(p->history, p->terminal, p->out);
}

static double positive(double ns)
{
    return ns > 0 ? ns : 0;
}

/* ---- one change ---- */

static void print_where(const struct gn_whatif_report *r, FILE *out)
{
    const struct gn_definitions *d = r->history->definitions;
    const char *between = " at ";
    char name[256];
    for (uint32_t i = 0; r->processes && i < d->process_count; i++)
        if (r->processes[i]) {
            gn_process_name(d, i, name, sizeof name);
            fprintf(out, "%s%s", between, name);
            between = ", ";
        }
    fputc('\n', out);
}

static void print_activities(const struct gn_whatif_report *r, FILE *out)
{
    enum { SHOWN = 10 };
    size_t count = 0;
    char text[1024];
    for (uint32_t i = 0; i < r->history->activity_count; i++) {
        if (!r->chosen[i] || count++ >= SHOWN)
            continue;
        gn_activity_text(r->history, i, text, sizeof text);
        fprintf(out, "    %s\n", text);
    }
    if (count == 0)
        fprintf(out, "    nothing is computed there\n");
    if (count > SHOWN)
        fprintf(out, "    and %zu more\n", count - SHOWN);
}

static void print_change(const struct page *p, const struct gn_whatif_report *r)
{
    char share[GN_SPAN_TEXT], name[256];
    if (r->straggler != GN_NONE) {
        gn_process_name(r->history->definitions, r->straggler, name, sizeof name);
        fprintf(p->out, "  straggler  %s, busy while all others waited for %s of the run\n", name,
                gn_span_share(r->score_lo / 100, r->score_hi / 100, share));
    }
    if (r->region)
        fprintf(p->out, "  region     what %s computes, what it calls included\n", r->region);
    if (r->part_lo < 1) /* by samples, which do not say when: taken to be alike at each step */
        fprintf(p->out, "  that is    %s of what each rank computes up to the same calls, by samples\n",
                gn_span_share(r->part_lo, r->part_hi, share));
    fprintf(p->out, "  faster by  %s", gn_span_share(r->share_lo, r->share_hi, share));
    print_where(r, p->out);
    print_activities(r, p->out);
}

static void print_result(const struct page *p, const struct gn_whatif_report *r)
{
    const struct gn_whatif_result *n = &r->result;
    const struct gn_table row = gn_whatif_table(r);
    char length[GN_SPAN_TEXT], speedup[GN_SPAN_TEXT], gain[GN_SPAN_TEXT];
    fprintf(p->out, "  %snew length%s %s\n", shade(p, GN_BOLD), shade(p, GN_PLAIN),
            gn_span_time(positive((double)n->length.lo_ns), positive((double)n->length.hi_ns), length));
    fprintf(p->out, "  %sspeedup%s    %s of the run, %s\n", shade(p, GN_BOLD), shade(p, GN_PLAIN),
            gn_span_share(n->speedup_lo, n->speedup_hi, speedup),
            gn_span_time(n->reduction_lo_ns, n->reduction_hi_ns, gain));
    if (r->spread) {
        fprintf(p->out, "  in all of it (95 %%): ");
        gn_table_of_run_text(&row, 0, p->out);
        fputc('\n', p->out);
    }
    if (n->may_reorder)
        fprintf(p->out,
                "  %spossible%s   receives from anybody may take other messages than they did"
                "\n",
                shade(p, GN_YELLOW), shade(p, GN_PLAIN));
}

void gn_whatif_text(const struct gn_whatif_report *r, const struct gn_terminal *terminal, FILE *out)
{
    struct gn_page folded;
    gn_page_open(&folded, terminal, out);
    const struct page page = {r->history, terminal, folded.out};
    header(&page, r->path);
    print_change(&page, r);
    print_result(&page, r);
    footer(&page);
    gn_page_close(&folded);
}

static void fill_change(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_whatif_report *r = self;
    const struct gn_whatif_result *n = &r->result;
    (void)i;
    gn_cell_bounds(&cells[0], r->share_lo, r->share_hi);
    gn_cell_bounds(&cells[1], n->speedup_lo, n->speedup_hi);
    gn_cell_bounds(&cells[3], n->reduction_lo_ns, n->reduction_hi_ns);
    gn_cell_bounds(&cells[4], (double)n->length.lo_ns, (double)n->length.hi_ns);
    gn_cell_number(&cells[5], r->straggler);
}

struct gn_table gn_whatif_table(const struct gn_whatif_report *report)
{
    static const struct gn_column columns[] = {
        {.name = "faster_percent", .kind = GN_CELL_PERCENTAGES},
        {.name = "speedup_percent", .kind = GN_CELL_PERCENTAGES, .flags = GN_COLUMN_SEEN},
        {.name = "run_speedup_percent", .kind = GN_CELL_PERCENTAGES, .flags = GN_COLUMN_RUN},
        {.name = "reduction_s", .kind = GN_CELL_DURATIONS},
        {.name = "new_length_s", .kind = GN_CELL_DURATIONS},
        {.kind = GN_CELL_NUMBER, .flags = GN_COLUMN_KEY}, /* of a straggler, which may be another one */
    };
    return (struct gn_table){.columns = columns,
                             .column_count = sizeof columns / sizeof *columns,
                             .row_count = 1,
                             .fill = fill_change,
                             .self = report,
                             .whole = gn_whole_run(report->spread, true)};
}

/* ---- the best of many ---- */

const char *gn_sweep_to_name(enum gn_sweep_to to)
{
    return to == GN_SWEEP_TO_MEAN ? "to_mean" : to == GN_SWEEP_TO_MEDIAN ? "to_median" : "faster";
}

struct answer_texts {
    char change[GN_QUANTITY_TEXT + 20], what[1024], where[256];
};

static void describe(const struct gn_history *h, const struct gn_answer *a, struct answer_texts *t)
{
    static const char *const tos[] = {"", ", to the mean", ", to the median"};
    char share[GN_QUANTITY_TEXT];
    snprintf(t->where, sizeof t->where, "all ranks");
    if (a->process != GN_NONE)
        gn_process_name(h->definitions, a->process, t->where, sizeof t->where);
    gn_activity_text(h, a->activity, t->what, sizeof t->what);
    snprintf(t->change, sizeof t->change, "%s%s", gn_share_text(a->share, share), tos[a->to]);
}

void gn_sweep_answer_text(const struct gn_history *h, const struct gn_answer *a, FILE *out)
{
    struct answer_texts t;
    char speedup[GN_SPAN_TEXT], length[GN_SPAN_TEXT];
    describe(h, a, &t);
    fprintf(out, "%s at %s, faster by %s: speedup %s, to %s", t.what, t.where, t.change,
            gn_span_share(a->result.speedup_lo, a->result.speedup_hi, speedup),
            gn_span_time(positive((double)a->result.length.lo_ns), positive((double)a->result.length.hi_ns),
                         length));
}

enum { SPEEDUP, RUN_SPEEDUP, LENGTH, WHERE, RANK, BY, CHANGE, FASTER, ACTIVITY, PATH };

static void fill_answer(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_sweep_report *r = self;
    const struct gn_answer *a = &r->sweep->answers[i];
    struct answer_texts t;
    describe(r->history, a, &t);
    gn_cell_bounds(&cells[SPEEDUP], a->result.speedup_lo, a->result.speedup_hi);
    gn_cell_bounds(&cells[LENGTH], positive((double)a->result.length.lo_ns),
                   positive((double)a->result.length.hi_ns));
    gn_cell_print(&cells[WHERE], "%s%s", t.where, a->is_start_or_end ? " *" : "");
    if (a->process != GN_NONE)
        gn_cell_number(&cells[RANK], r->history->definitions->processes[a->process].rank);
    gn_cell_print(&cells[BY], "%s", t.change);
    gn_cell_text(&cells[CHANGE], gn_sweep_to_name(a->to));
    gn_cell_real(&cells[FASTER], 100 * a->share);
    gn_cell_print(&cells[ACTIVITY], "%s", t.what);
    gn_cell_number(&cells[PATH], r->history->activities[a->activity].path);
}

struct gn_table gn_sweep_table(const struct gn_sweep_report *r)
{
    static const struct gn_column columns[] = {
        [SPEEDUP] = {.title = "speedup",
                     .name = "speedup_percent",
                     .kind = GN_CELL_PERCENTAGES,
                     .flags = GN_COLUMN_SEEN},
        [RUN_SPEEDUP] = {.title = GN_OF_RUN,
                         .name = "run_speedup_percent",
                         .kind = GN_CELL_PERCENTAGES,
                         .flags = GN_COLUMN_RUN},
        [LENGTH] = {.title = "new length", .name = "new_length_s", .kind = GN_CELL_DURATIONS, .goes = 1},
        [WHERE] = {.title = "where"},
        [RANK] = {.name = "rank", .kind = GN_CELL_NUMBER, .flags = GN_COLUMN_KEY},
        [BY] = {.title = "faster by"},
        [CHANGE] = {.name = "change", .flags = GN_COLUMN_KEY},
        [FASTER] = {.name = "faster_percent", .kind = GN_CELL_REAL},
        [ACTIVITY] = {.title = "activity",
                      .name = "activity",
                      .flags = GN_COLUMN_FOLD | GN_COLUMN_KEY,
                      .least = 16},
        [PATH] = {.kind = GN_CELL_NUMBER, .flags = GN_COLUMN_KEY}, /* several may have one name */
    };
    return (struct gn_table){.columns = columns,
                             .column_count = sizeof columns / sizeof *columns,
                             .row_count = r->sweep->count,
                             .fill = fill_answer,
                             .self = r,
                             .indent = 2,
                             .whole = gn_whole_run(r->spread, true)};
}

static void print_answers(const struct page *p, const struct gn_sweep_report *r)
{
    const struct gn_table table = gn_sweep_table(r);
    char candidates[GN_QUANTITY_TEXT], tried[GN_QUANTITY_TEXT];
    const bool has_any = r->sweep->count > 0,
               is_marked = has_any && r->sweep->answers[r->sweep->count - 1].is_start_or_end;
    if (!has_any || r->sweep->answers[0].is_start_or_end)
        fprintf(p->out, "nothing that was tried makes the run shorter%s\n",
                is_marked ? ", but for how it starts and ends" : "");
    if (has_any)
        gn_table_text(&table, p->terminal, p->out);
    if (is_marked)
        fprintf(p->out, "* how the program starts and ends MPI: no remedy, and listed last\n");
    for (size_t i = 0; i < r->sweep->count; i++)
        if (r->sweep->answers[i].result.reduction_lo_ns < 0) {
            fprintf(p->out, "receives from anybody may take other messages than they did: where a speedup "
                            "may be negative, "
                            "the run may also take longer\n");
            break;
        }
    fprintf(p->out, "\nof %s changes %s were tried: the others cannot be among the best\n",
            gn_count_text((int64_t)r->sweep->candidates, candidates),
            gn_count_text((int64_t)r->sweep->tried, tried));
}

void gn_sweep_text(const struct gn_sweep_report *r, const struct gn_terminal *terminal, FILE *out)
{
    struct gn_page folded;
    gn_page_open(&folded, terminal, out);
    const struct page page = {r->history, terminal, folded.out};
    header(&page, r->path);
    print_answers(&page, r);
    footer(&page);
    gn_page_close(&folded);
}

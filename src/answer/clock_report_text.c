/* answer/clock_report_text — the clocks of a run for a person: the answer first, then what it rests on, then
 * what is wrong and what can be done about it. */
#include "answer/fit.h"
#include "answer/quantities.h"
#include "answer/table.h"
#include "base/printable.h"
#include "answer/clock_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_PAIRS = 10, FEW_CLOCKS = 8, FEW_NOTES = 8 };

struct page {
    const struct gn_clock_report *r;
    const struct gn_clock_report_options *o;
    FILE *out;
};

static const char *shade(const struct page *p, const char *code)
{
    return gn_shade(&p->o->terminal, code);
}

/* Out of a profile: may be anything. */
static void print_name(const struct page *p, const char *name)
{
    char text[512];
    fputs(gn_printable_copy(text, sizeof text, name), p->out);
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- the answer ---- */

static bool kernels_clock(const struct gn_clock_row *row)
{
    return strncmp(row->counter, "monotonic_raw", 13) == 0;
}

static void shared_answer(const struct page *p)
{
    const struct gn_clock_row *row = p->r->hosts[0].row;
    char width[GN_QUANTITY_TEXT];
    if (p->r->missing_ranks > 0)
        fprintf(p->out, "Of one host only there is a clock: nothing can be compared with it\n");
    else if (p->r->from_trace)
        fprintf(p->out, "All of this trace is on one clock: there is nothing to compare\n");
    else if (row->shared)
        fprintf(p->out,
                "There is one host, and its %u core%s share one counter: times can be compared to ± %s\n",
                row->cores, plural(row->cores), gn_width_text(row->shared_width_ns / 2, width));
    else if (row->cores == 1)
        fprintf(p->out, "There is one host, and one core: there is nothing to compare\n");
    else if (kernels_clock(row))
        fprintf(p->out, "There is one host: times are the kernel's, the same on all of its cores\n");
    else
        fprintf(p->out, "There is one host; that its cores share one counter could not be verified\n");
}

/* "4 hosts"; where a host's cores do not share a counter, "6 clocks of 4 hosts" */
static const char *what(const struct gn_clock_report *r, uint32_t clocks, char text[64])
{
    if (r->count == r->machines)
        snprintf(text, 64, "%u host%s", clocks, plural(clocks));
    else
        snprintf(text, 64, "%u clocks of %u host%s", clocks, r->machines, plural(r->machines));
    return text;
}

static void answer(const struct page *p)
{
    const struct gn_clock_report *r = p->r;
    uint32_t reached = r->count - r->unreached;
    char most[GN_QUANTITY_TEXT], mean[GN_QUANTITY_TEXT], clocks[64];
    fputs(shade(p, GN_BOLD), p->out);
    if (r->count == 1)
        shared_answer(p);
    else if (!gn_clock_report_comparable(r))
        fprintf(p->out, "Times of these %s cannot be compared\n", what(r, r->count, clocks));
    else
        fprintf(p->out, "Times of %s can be compared to ± %s at any moment, ± %s on average\n",
                what(r, reached, clocks), gn_width_text(r->most_ns, most), gn_width_text(r->mean_ns, mean));
    fputs(shade(p, GN_PLAIN), p->out);
    if (r->unreached > 0)
        fprintf(p->out, "%sNOT REACHED: %u of %u%s: their times cannot be compared with anybody's\n",
                shade(p, GN_RED), r->unreached, r->count, shade(p, GN_PLAIN));
    if (r->missing_ranks > 0)
        fprintf(p->out,
                "%sMISSING: the clocks of %" PRId64 " ranks%s: nothing of them is in the run's folder\n",
                shade(p, GN_RED), r->missing_ranks, shade(p, GN_PLAIN));
}

/* ---- the table of clocks ---- */

enum { CLOCK, AHEAD, FASTER, LEAST, MEAN, MOST, FLOOR, RATIO, ANSWERED, STAMPED, REMARK };

static const struct gn_column clock_columns[] = {
    [CLOCK] = {.title = "clock", .least = 12},
    [AHEAD] = {.title = "ahead by", .flags = GN_COLUMN_RIGHT},
    [FASTER] = {.title = "faster by", .flags = GN_COLUMN_RIGHT},
    [LEAST] = {.title = "least", .kind = GN_CELL_WIDTH, .goes = 2},
    [MEAN] = {.title = "mean", .kind = GN_CELL_WIDTH, .goes = 1},
    [MOST] = {.title = "most", .kind = GN_CELL_WIDTH},
    [FLOOR] = {.title = "floor", .kind = GN_CELL_WIDTH, .goes = 3},
    [RATIO] = {.title = "/", .kind = GN_CELL_REAL, .goes = 4},
    [ANSWERED] = {.title = "answered", .flags = GN_COLUMN_RIGHT, .goes = 5},
    [STAMPED] = {.title = "stamped", .kind = GN_CELL_COUNT, .goes = 6},
    [REMARK] = {.title = ""},
};

static void fill_bounds(const struct gn_clock_host *h, struct gn_cell *cells)
{
    gn_cell_text(&cells[AHEAD], gn_offset_text(h->offset_ns.lo, h->offset_ns.hi, cells[AHEAD].buffer));
    gn_cell_text(&cells[FASTER], gn_rate_text(h->rate_ppb.lo, h->rate_ppb.hi, cells[FASTER].buffer));
    gn_cell_real(&cells[LEAST], h->least_ns);
    gn_cell_real(&cells[MEAN], h->mean_ns);
    gn_cell_real(&cells[MOST], h->most_ns);
    if (h->floor_ns > 0) {
        gn_cell_real(&cells[FLOOR], h->floor_ns);
        gn_cell_real(&cells[RATIO], h->least_ns / h->floor_ns);
    }
}

static void fill_clock(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_clock_report *r = self;
    const struct gn_clock_host *h = &r->hosts[i];
    gn_cell_text(&cells[CLOCK], h->row->domain);
    if (h->state->refuted_count)
        gn_cell_text(&cells[REMARK], "REFUTED");
    if (i == 0) {
        gn_cell_text(&cells[AHEAD], "the reference");
        return;
    }
    if (h->state->reached)
        fill_bounds(h, cells);
    else
        gn_cell_text(&cells[AHEAD], "not reached");
    cells[AHEAD].code = h->state->reached ? NULL : GN_RED;
    if (!r->from_trace && h->row->asked) {
        gn_cell_print(&cells[ANSWERED], "%" PRIu64 "/%" PRIu64, h->row->answered, h->row->asked);
        gn_cell_number(&cells[STAMPED], (int64_t)h->row->narrowed);
    }
}

static void clock_table(const struct page *p)
{
    const struct gn_clock_report *r = p->r;
    const uint32_t most = p->o->pairs || r->count <= 2 * FEW_CLOCKS ? r->count : 2 * FEW_CLOCKS;
    const struct gn_table table = {.columns = clock_columns,
                                   .column_count = sizeof clock_columns / sizeof *clock_columns,
                                   .row_count = most,
                                   .fill = fill_clock,
                                   .self = r,
                                   .indent = 2};
    fputc('\n', p->out);
    gn_table_text(&table, &p->o->terminal, p->out);
    if (most < r->count)
        fprintf(p->out, "%s  … and %u more (--pairs shows all)%s\n", shade(p, GN_DIM), r->count - most,
                shade(p, GN_PLAIN));
}

static void one_clock(const struct page *p)
{
    const struct gn_clock_row *row = p->r->hosts[0].row;
    char tick[GN_QUANTITY_TEXT];
    fprintf(p->out, "%scounter%s: %s, %.6g GHz, steps of %s\n", shade(p, GN_DIM), shade(p, GN_PLAIN),
            row->counter, row->def.hz / 1e9,
            gn_duration_text((double)row->def.granularity_ticks * 1e9 / row->def.hz, tick));
}

/* ---- pairs ---- */

static void pair_table(const struct page *p)
{
    const struct gn_clock_report *r = p->r;
    if (!p->o->pairs && (r->count < 3 || r->count > FEW_CLOCKS)) {
        if (r->count > FEW_CLOCKS)
            fprintf(p->out, "\n%s%zu pairs: --pairs shows them, the worst first%s\n", shade(p, GN_DIM),
                    r->pair_count, shade(p, GN_PLAIN));
        return;
    }
    const size_t shown = p->o->pairs || r->pair_count <= FEW_PAIRS ? r->pair_count : FEW_PAIRS;
    struct gn_table table = gn_clock_pairs(r);
    table.row_count = shown;
    if (shown == 0)
        return;
    fputc('\n', p->out);
    gn_table_text(&table, &p->o->terminal, p->out);
    if (shown < r->pair_count)
        fprintf(p->out, "%s  … and %zu pairs that are better (--pairs shows all)%s\n", shade(p, GN_DIM),
                r->pair_count - shown, shade(p, GN_PLAIN));
}

/* ---- what it rests on ---- */

static void assumption_words(const struct gn_assumption *a, enum gn_assumption_kind kind, char *text,
                             size_t size)
{
    double nominal = a->nominal_ppb / 1e3, wander = a->wander_ppb / 1e3;
    if (kind == GN_RATE_CONSTANT)
        snprintf(text, size, "the rate between two clocks does not change");
    else if (kind == GN_RATE_WITHIN)
        snprintf(text, size, "rates stay within %g ppm of what the frequencies say", nominal);
    else if (kind == GN_RATE_WANDERS)
        snprintf(text, size, "the rate of a clock stays within %g ppm of one value", wander);
    else
        snprintf(text, size, "clocks never go back");
}

static void from_messages(const struct page *p)
{
    const struct gn_clock_report *r = p->r;
    if (r->from_trace && r->count > 1)
        fprintf(p->out,
                "\n%sfrom%s the program's own communication between them: %" PRIu64 " messages, %" PRIu64
                " collective calls; %" PRIu64 " left out as uncertain\n",
                shade(p, GN_DIM), shade(p, GN_PLAIN), r->messages, r->collectives, r->uncertain);
    if (r->from_trace && r->exchanged > 0)
        fprintf(p->out, "and from %" PRIu64 " messages that gnomon exchanged while it ran\n", r->exchanged);
}

static void assumption(const struct page *p)
{
    const struct gn_clock_report *r = p->r;
    char words[160];
    if (r->count < 2)
        return;
    assumption_words(&r->assumption, r->assumption.kind, words, sizeof words);
    fprintf(p->out, "\n%sassumed%s: %s; ", shade(p, GN_DIM), shade(p, GN_PLAIN), words);
    if (r->refuted)
        fprintf(p->out, "%srefuted for %u clock%s%s\n", shade(p, GN_RED), r->refuted, plural(r->refuted),
                shade(p, GN_PLAIN));
    else
        fprintf(p->out, "nothing contradicts it\n");
}

static void refutation(const struct page *p, const struct gn_clock_host *h, const struct gn_refutation *f)
{
    char words[160], instead[160];
    double hz = h->row->def.hz, first = (double)h->first_ticks;
    assumption_words(&p->r->assumption, f->kind, words, sizeof words);
    assumption_words(&p->r->assumption, h->state->rests_on, instead, sizeof instead);
    fprintf(p->out, "%sREFUTED%s ", shade(p, GN_RED), shade(p, GN_PLAIN));
    print_name(p, h->row->domain);
    fprintf(p->out, ": not true that %s.\n", words);
    fprintf(p->out,
            "  Between %.3f s and %.3f s of the run it differs by %.4g ppm at least, %.4g ppm are allowed.\n",
            ((double)f->first_ticks - first) / hz, ((double)f->last_ticks - first) / hz,
            fabs(f->seen_ppb) / 1e3, f->allowed_ppb / 1e3);
    fprintf(p->out, "  Its bounds rest on this instead: %s.\n", instead);
}

static void advise_on_refuted(const struct page *p)
{
    if (p->r->refuted)
        fprintf(p->out,
                "  → `--wander PPM` with more than was seen; a rate that jumps is that of a machine that was "
                "suspended, moved, or whose clock was stepped.\n");
}

static void refutations(const struct page *p)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < p->r->count; i++) {
        const struct gn_clock_host *h = &p->r->hosts[i];
        for (int k = 0; k < h->state->refuted_count && shown < FEW_NOTES; k++, shown++)
            refutation(p, h, &h->state->refuted[k]);
    }
    advise_on_refuted(p);
}

/* ---- what is wrong, and what to do ---- */

__attribute__((format(printf, 3, 4))) static void note(const struct page *p, const struct gn_clock_host *h,
                                                       const char *format, ...)
{
    va_list arguments;
    fprintf(p->out, "%snote%s ", shade(p, GN_YELLOW), shade(p, GN_PLAIN));
    print_name(p, h->row->domain);
    fputs(": ", p->out);
    va_start(arguments, format);
    vfprintf(p->out, format, arguments);
    va_end(arguments);
    fputc('\n', p->out);
}

static void advise_on_unreached(const struct page *p, const struct gn_clock_host *h)
{
    if (p->r->from_trace)
        note(p, h, "no messages in both directions connect it with the reference");
    else if (h->row->asked == 0)
        note(p, h, "it has not asked anybody for the time");
    else if (h->row->answered == 0)
        note(p, h,
             "none of %" PRIu64
             " questions was answered.\n  → gnomon's agents speak UDP with each other, on ports "
             "that the system chooses: a firewall between the hosts must let that pass "
             "(/proc/sys/net/ipv4/ip_local_port_range).",
             h->row->asked);
    else
        note(p, h, "the host that it asks is not connected with the reference itself");
}

static bool was_unanswered(const struct gn_clock_host *h)
{
    return h->row->asked > 0 && h->row->answered * 2 < h->row->asked && h->row->answered > 0;
}

/* Returns how many lines were needed. */
static int notes_of(const struct page *p, const struct gn_clock_host *h)
{
    const struct gn_clock_row *row = h->row;
    int lines = 0;
    if (row->problem && row->problem[0] && ++lines) {
        fprintf(p->out, "%snote%s ", shade(p, GN_YELLOW), shade(p, GN_PLAIN));
        print_name(p, row->domain);
        fputs(": ", p->out);
        print_name(p, row->problem);
        fputc('\n', p->out);
    }
    if (!h->state->reached && ++lines)
        advise_on_unreached(p, h);
    if (was_unanswered(h) && ++lines)
        note(p, h,
             "only %" PRIu64 " of %" PRIu64 " questions were answered: the network loses packets or is full",
             row->answered, row->asked);
    if (kernels_clock(row) && ++lines)
        note(
            p, h,
            "its times are readings of the kernel's clock, which takes longer than the processor's counter.\n"
            "  → `gnomon doctor` on that host says why");
    if (!row->shared && row->cores > 1 && !kernels_clock(row) && ++lines)
        note(p, h,
             "that its %u cores share one counter is not certain: times of its own ranks may differ, too.\n"
             "  → `gnomon doctor` on that host says more",
             row->cores + row->untried);
    if (row->shared && row->untried > 0 && ++lines)
        note(p, h,
             "%u of its %u cores could not be tried in time: whether they share the counter is not known",
             row->untried, row->cores + row->untried);
    if (row->refused > 0 && ++lines)
        note(p, h, "%" PRIu64 " packets were not of this run or came twice; they changed nothing",
             row->refused);
    return lines;
}

static void notes(const struct page *p)
{
    int lines = 0;
    uint32_t i = 0;
    for (; i < p->r->count && lines < FEW_NOTES; i++)
        lines += notes_of(p, &p->r->hosts[i]);
    if (lines >= FEW_NOTES && i < p->r->count)
        fprintf(p->out, "… more notes may follow for the other %u clocks: --format json has all\n",
                p->r->count - i);
    if (p->r->missing_ranks > 0)
        fprintf(p->out,
                "  → hosts meet in the run's folder, in the working directory: start where all of them have "
                "the same one\n");
}

static void legend(const struct page *p)
{
    if (p->r->count < 2)
        return;
    fprintf(p->out,
            "%sahead, faster: its counter against the reference's, in the middle of the run · least, mean, "
            "most: the width, during the run, of the interval that surely holds a reading's true time · "
            "floor: what the fastest messages there and back allow; / least by floor",
            shade(p, GN_DIM));
    if (!p->r->from_trace)
        fprintf(p->out, " · answered: its questions to its parent; stamped: those that time stamps of the "
                        "kernel have narrowed");
    fprintf(p->out, "%s\n", shade(p, GN_PLAIN));
}

static void print_all(const struct page *p)
{
    answer(p);
    if (p->r->count == 0)
        return;
    if (p->r->count > 1)
        clock_table(p);
    else if (!p->r->from_trace)
        one_clock(p);
    pair_table(p);
    from_messages(p);
    assumption(p);
    refutations(p);
    legend(p);
    notes(p);
    if (p->o->kept)
        fprintf(p->out, GN_AS_IT_IS "%snext%s: gnomon clock %s\n", shade(p, GN_DIM), shade(p, GN_PLAIN),
                p->r->folder);
}

void gn_clock_report_text(const struct gn_clock_report *r, const struct gn_clock_report_options *o, FILE *out)
{
    struct gn_page folded;
    gn_page_open(&folded, &o->terminal, out);
    const struct page page = {r, o, folded.out};
    print_all(&page);
    gn_page_close(&folded);
}

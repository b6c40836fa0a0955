/* cli/clock_report_text — the clocks of a run for a person: the answer first, then what it rests on, then
 * what is wrong and what can be done about it. */
#include "cli/clock_report.h"

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
    int name_columns, offset_columns, rate_columns; /* of the tables */
};

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define YELLOW "\033[33m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

static const char *shade(const struct page *p, const char *code)
{
    return p->o->color ? code : "";
}

/* ---- quantities ---- */

/* Three significant digits with a unit. */
static const char *duration(double ns, char text[16])
{
    double size = fabs(ns);
    const char *unit = size >= 999.5e6 ? "s" : size >= 999.5e3 ? "ms" : size >= 999.5 ? "us" : "ns";
    double shown = size >= 999.5e6 ? ns / 1e9 : size >= 999.5e3 ? ns / 1e6 : size >= 999.5 ? ns / 1e3 : ns;
    int digits = fabs(shown) >= 99.95 || *unit == 'n' ? 0 : fabs(shown) >= 9.995 ? 1 : 2;
    if (isfinite(ns))
        snprintf(text, 16, "%.*f %s", digits, shown, unit);
    else
        snprintf(text, 16, "unknown");
    return text;
}

/* "-3.213456789 s ± 155 ns" */
static const char *offset(struct gn_range r, char text[64])
{
    char half[16];
    double middle = r.lo / 2 + r.hi / 2, size = fabs(middle);
    if (!isfinite(middle))
        return strcpy(text, "unknown");
    middle = size < 0.5 ? 0 : middle; /* no "-0" */
    duration(ceil((r.hi - r.lo) / 2), half);
    if (size >= 1e9)
        snprintf(text, 64, "%+.9f s ± %s", middle / 1e9, half);
    else if (size >= 1e6)
        snprintf(text, 64, "%+.6f ms ± %s", middle / 1e6, half);
    else if (size >= 1e4)
        snprintf(text, 64, "%+.3f us ± %s", middle / 1e3, half);
    else
        snprintf(text, 64, middle == 0 ? "%.0f ns ± %s" : "%+.0f ns ± %s", middle, half);
    return text;
}

/* "+12.345 ± 0.021 ppm" */
static const char *rate(struct gn_range ppb, char text[64])
{
    double middle = (ppb.lo + ppb.hi) / 2e3, half = (ppb.hi - ppb.lo) / 2e3;
    int digits = half >= 10 ? 0 : half >= 1 ? 1 : half >= 0.1 ? 2 : 3;
    if (!isfinite(middle) || half > 1e5)
        return strcpy(text, "unknown");
    double last = pow(10, -digits);
    bool zero = fabs(middle) < last / 2; /* no "-0" */
    snprintf(text, 64, zero ? "%.*f ± %.*f ppm" : "%+.*f ± %.*f ppm", digits, zero ? 0 : middle, digits,
             half + last / 2);
    return text;
}

/* Prints text, which may hold sequences of UTF-8, in at least that many columns; what a terminal would take
 * for a command is shown as "?". */
static void cell(FILE *out, int columns, const char *text)
{
    bool left = columns < 0;
    int used = 0, wanted = left ? -columns : columns;
    for (const char *c = text; *c; c++)
        used += ((unsigned char)*c & 0xc0) != 0x80;
    if (!left)
        fprintf(out, "%*s", wanted > used ? wanted - used : 0, "");
    for (const char *c = text; *c; c++)
        fputc((unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c, out);
    if (left)
        fprintf(out, "%*s", wanted > used ? wanted - used : 0, "");
}

static int columns_of(const char *text)
{
    int used = 0;
    for (; *text; text++)
        used += ((unsigned char)*text & 0xc0) != 0x80;
    return used;
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
    char width[16];
    if (p->r->missing_ranks > 0)
        fprintf(p->out, "Of one host only there is a clock: nothing can be compared with it\n");
    else if (p->r->from_trace)
        fprintf(p->out, "All of this trace is on one clock: there is nothing to compare\n");
    else if (row->shared)
        fprintf(p->out,
                "There is one host, and its %u core%s share one counter: times can be compared to ± %s\n",
                row->cores, plural(row->cores), duration(ceil(row->shared_width_ns / 2), width));
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
    char most[16], mean[16], clocks[64];
    fputs(shade(p, BOLD), p->out);
    if (r->count == 1)
        shared_answer(p);
    else if (!gn_clock_report_comparable(r))
        fprintf(p->out, "Times of these %s cannot be compared\n", what(r, r->count, clocks));
    else
        fprintf(p->out, "Times of %s can be compared to ± %s at any moment, ± %s on average\n",
                what(r, reached, clocks), duration(ceil(r->most_ns), most), duration(ceil(r->mean_ns), mean));
    fputs(shade(p, PLAIN), p->out);
    if (r->unreached > 0)
        fprintf(p->out, "%sNOT REACHED: %u of %u%s: their times cannot be compared with anybody's\n",
                shade(p, RED), r->unreached, r->count, shade(p, PLAIN));
    if (r->missing_ranks > 0)
        fprintf(p->out,
                "%sMISSING: the clocks of %" PRId64 " ranks%s: nothing of them is in the run's folder\n",
                shade(p, RED), r->missing_ranks, shade(p, PLAIN));
}

/* ---- the table of clocks ---- */

static void exchanges(const struct page *p, const struct gn_clock_row *row)
{
    if (p->r->from_trace)
        return;
    char answered[48], narrowed[24];
    snprintf(answered, sizeof answered, "%" PRIu64 "/%" PRIu64, row->answered, row->asked);
    snprintf(narrowed, sizeof narrowed, "%" PRIu64, row->narrowed);
    cell(p->out, 12, row->asked ? answered : "-");
    cell(p->out, 9, row->asked ? narrowed : "-");
}

static const char *against_floor(const struct gn_clock_host *h, char text[16])
{
    if (h->floor_ns > 0)
        snprintf(text, 16, "%.2f", h->least_ns / h->floor_ns);
    else
        snprintf(text, 16, "-");
    return text;
}

static void clock_line(const struct page *p, const struct gn_clock_host *h)
{
    char off[64], speed[64], least[16], mean[16], most[16], floor[16], ratio[16];
    fputs("  ", p->out);
    cell(p->out, -p->name_columns, h->row->domain);
    if (h == p->r->hosts) {
        fputs("  the reference", p->out);
    } else if (h->state->reached) {
        cell(p->out, p->offset_columns, offset(h->offset_ns, off));
        cell(p->out, p->rate_columns, rate(h->rate_ppb, speed));
        cell(p->out, 10, duration(h->least_ns, least));
        cell(p->out, 9, duration(h->mean_ns, mean));
        cell(p->out, 9, duration(h->most_ns, most));
        cell(p->out, 9, h->floor_ns > 0 ? duration(h->floor_ns, floor) : "-");
        cell(p->out, 6, against_floor(h, ratio));
        exchanges(p, h->row);
    } else {
        fprintf(p->out, "  %s", shade(p, RED));
        cell(p->out, -(p->offset_columns + p->rate_columns + 43 - 2), "not reached");
        exchanges(p, h->row);
        fputs(shade(p, PLAIN), p->out);
    }
    fprintf(p->out, "%s\n", h->state->refuted_count ? "  REFUTED" : "");
}

static int longer(int columns, const char *text)
{
    return columns_of(text) > columns ? columns_of(text) : columns;
}

/* As wide as what stands in them: counters of hosts can be days apart or nanoseconds. */
static void measure_columns(struct page *p)
{
    const struct gn_clock_report *r = p->r;
    char text[64];
    p->name_columns = columns_of("clock");
    p->offset_columns = columns_of(r->pair_count > 1 ? "second ahead by" : "ahead by");
    p->rate_columns = columns_of("faster by");
    for (uint32_t i = 0; i < r->count; i++) {
        p->name_columns = longer(p->name_columns, r->hosts[i].row->domain);
        if (i > 0 && r->hosts[i].state->reached) {
            p->offset_columns = longer(p->offset_columns, offset(r->hosts[i].offset_ns, text));
            p->rate_columns = longer(p->rate_columns, rate(r->hosts[i].rate_ppb, text));
        }
    }
    for (size_t i = 0; i < r->pair_count; i++) {
        p->offset_columns = longer(p->offset_columns, offset(r->pairs[i].offset_ns, text));
        p->rate_columns = longer(p->rate_columns, rate(r->pairs[i].rate_ppb, text));
    }
    p->name_columns = p->name_columns < 40 ? p->name_columns : 40;
    p->offset_columns += 2;
    p->rate_columns += 2;
}

static void clock_table(const struct page *p)
{
    const struct gn_clock_report *r = p->r;
    uint32_t most = p->o->pairs || r->count <= 2 * FEW_CLOCKS ? r->count : 2 * FEW_CLOCKS;
    fprintf(p->out, "\n%s  %*s%*s%*s%10s%9s%9s%9s%6s", shade(p, DIM), -p->name_columns, "clock",
            p->offset_columns, "ahead by", p->rate_columns, "faster by", "least", "mean", "most", "floor",
            "/");
    if (!r->from_trace)
        fprintf(p->out, "%12s%9s", "answered", "stamped");
    fprintf(p->out, "%s\n", shade(p, PLAIN));
    for (uint32_t i = 0; i < most; i++)
        clock_line(p, &r->hosts[i]);
    if (most < r->count)
        fprintf(p->out, "%s  … and %u more (--pairs shows all)%s\n", shade(p, DIM), r->count - most,
                shade(p, PLAIN));
}

static void one_clock(const struct page *p)
{
    const struct gn_clock_row *row = p->r->hosts[0].row;
    char tick[16];
    fprintf(p->out, "%scounter%s: %s, %.6g GHz, steps of %s\n", shade(p, DIM), shade(p, PLAIN), row->counter,
            row->def.hz / 1e9, duration((double)row->def.granularity_ticks * 1e9 / row->def.hz, tick));
}

/* ---- pairs ---- */

static void pair_line(const struct page *p, const struct gn_clock_pair *pair)
{
    char off[64], speed[64], mean[16], most[16];
    fputs("  ", p->out);
    cell(p->out, -p->name_columns, p->r->hosts[pair->a].row->domain);
    fputs("  ", p->out);
    cell(p->out, -p->name_columns, p->r->hosts[pair->b].row->domain);
    cell(p->out, p->offset_columns, offset(pair->offset_ns, off));
    cell(p->out, p->rate_columns, rate(pair->rate_ppb, speed));
    cell(p->out, 10, duration(ceil(pair->mean_ns / 2), mean));
    cell(p->out, 9, duration(ceil(pair->most_ns / 2), most));
    fputc('\n', p->out);
}

static void pair_table(const struct page *p)
{
    const struct gn_clock_report *r = p->r;
    if (!p->o->pairs && (r->count < 3 || r->count > FEW_CLOCKS)) {
        if (r->count > FEW_CLOCKS)
            fprintf(p->out, "\n%s%zu pairs: --pairs shows them, the worst first%s\n", shade(p, DIM),
                    r->pair_count, shade(p, PLAIN));
        return;
    }
    size_t shown = p->o->pairs || r->pair_count <= FEW_PAIRS ? r->pair_count : FEW_PAIRS;
    if (shown > 0)
        fprintf(p->out, "\n%s  %*s  %*s%*s%*s%10s%9s%s\n", shade(p, DIM), -p->name_columns, "pair",
                -p->name_columns, "", p->offset_columns, "second ahead by", p->rate_columns, "faster by",
                "± mean", "± most", shade(p, PLAIN));
    for (size_t i = 0; i < shown; i++)
        pair_line(p, &r->pairs[i]);
    if (shown < r->pair_count)
        fprintf(p->out, "%s  … and %zu pairs that are better (--pairs shows all)%s\n", shade(p, DIM),
                r->pair_count - shown, shade(p, PLAIN));
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
                shade(p, DIM), shade(p, PLAIN), r->messages, r->collectives, r->uncertain);
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
    fprintf(p->out, "\n%sassumed%s: %s; ", shade(p, DIM), shade(p, PLAIN), words);
    if (r->refuted)
        fprintf(p->out, "%srefuted for %u clock%s%s\n", shade(p, RED), r->refuted, plural(r->refuted),
                shade(p, PLAIN));
    else
        fprintf(p->out, "nothing contradicts it\n");
}

static void refutation(const struct page *p, const struct gn_clock_host *h, const struct gn_refutation *f)
{
    char words[160], instead[160];
    double hz = h->row->def.hz, first = (double)h->first_ticks;
    assumption_words(&p->r->assumption, f->kind, words, sizeof words);
    assumption_words(&p->r->assumption, h->state->rests_on, instead, sizeof instead);
    fprintf(p->out, "%sREFUTED%s ", shade(p, RED), shade(p, PLAIN));
    cell(p->out, 0, h->row->domain);
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
    fprintf(p->out, "%snote%s ", shade(p, YELLOW), shade(p, PLAIN));
    cell(p->out, 0, h->row->domain);
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
        fprintf(p->out, "%snote%s ", shade(p, YELLOW), shade(p, PLAIN));
        cell(p->out, 0, row->domain);
        fputs(": ", p->out);
        cell(p->out, 0, row->problem);
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

/* ---- other methods ---- */

static void compared_line(const struct page *p, const struct gn_comparison *c)
{
    char width[16], error[16], most[16];
    fputs("  ", p->out);
    cell(p->out, -28, c->method);
    if (c->failed) {
        fprintf(p->out, "  no result: %s\n", c->problem.text);
        return;
    }
    cell(p->out, 10, c->bounded ? duration(c->width_ns, width) : "-");
    cell(p->out, 11, c->truth_known ? duration(c->error_ns, error) : "-");
    cell(p->out, 11, c->truth_known ? duration(c->error_max_ns, most) : "-");
    fprintf(p->out, "%11" PRIu64 "%12" PRIu64 "%10.1f%s%s\n", c->fast, c->inverted, c->ns_per_reading,
            c->problem.text[0] ? "  " : "", c->problem.text);
}

static void comparison(const struct page *p, const struct gn_clock_host *h)
{
    fputc('\n', p->out);
    cell(p->out, 0, h->row->domain);
    fprintf(p->out, " against %s, by the same exchanges:\n", h->row->parent);
    fprintf(p->out, "%s  %-28s%10s%11s%11s%11s%12s%10s%s\n", shade(p, DIM), "method", "width", "error",
            "most", "fast sends", "inversions", "ns each", shade(p, PLAIN));
    for (int i = 0; i < GN_COMPARED_METHODS; i++)
        compared_line(p, &h->compared[i]);
}

static void comparisons(const struct page *p)
{
    for (uint32_t i = 0; i < p->r->count; i++)
        if (p->r->hosts[i].compared)
            comparison(p, &p->r->hosts[i]);
}

static void legend(const struct page *p)
{
    if (p->r->count < 2)
        return;
    fprintf(p->out,
            "%sahead, faster: its counter against the reference's, in the middle of the run · least, mean, "
            "most: the\n"
            "width, during the run, of the interval that surely holds a reading's true time · floor: what "
            "the fastest\n"
            "messages there and back allow; / least by floor",
            shade(p, DIM));
    if (!p->r->from_trace)
        fprintf(p->out, " · answered: its questions to its parent; stamped: those\n"
                        "that time stamps of the kernel have narrowed");
    fprintf(p->out, "%s\n", shade(p, PLAIN));
}

void gn_clock_report_text(const struct gn_clock_report *r, const struct gn_clock_report_options *o, FILE *out)
{
    struct page page = {.r = r, .o = o, .out = out}, *p = &page;
    measure_columns(&page);
    answer(p);
    if (r->count == 0)
        return;
    if (r->count > 1)
        clock_table(p);
    else if (!r->from_trace)
        one_clock(p);
    pair_table(p);
    from_messages(p);
    assumption(p);
    refutations(p);
    legend(p);
    notes(p);
    comparisons(p);
    if (o->kept)
        fprintf(out, "%snext%s: gnomon clock %s\n", shade(p, DIM), shade(p, PLAIN), r->folder);
}

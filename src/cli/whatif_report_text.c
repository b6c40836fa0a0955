#include "cli/process_name.h"
#include "cli/rests_on.h"
#include "cli/spans.h"
#include "cli/whatif_report.h"

#include <inttypes.h>
#include <math.h>

struct page {
    const struct gn_history *history;
    const struct gn_terminal *terminal;
    FILE *out;
};

static const char *shade(const struct page *p, const char *code)
{
    return p->terminal->color ? code : "";
}

static void header(const struct page *p, const char *path)
{
    const struct gn_history *h = p->history;
    char length[GN_SPAN_TEXT];
    fprintf(p->out, "%sgnomon whatif%s %s: %s, %" PRIu64 " events\n\n", shade(p, GN_BOLD), shade(p, GN_PLAIN),
            path, gn_span_time((double)h->length.lo_ns, (double)h->length.hi_ns, length), h->events);
}

/* What every answer rests on. */
static void footer(const struct page *p)
{
    char longest[GN_SPAN_TEXT];
    fprintf(p->out,
            "\n%sassumed%s: the program does the same; what a call costs after the last it waited for stays",
            shade(p, GN_DIM), shade(p, GN_PLAIN));
    if (p->history->longest_ns > 0 && isfinite(p->history->longest_ns))
        fprintf(p->out, ";\n  no message that was there when it was asked for had taken longer than %s",
                gn_span_time(p->history->longest_ns, p->history->longest_ns, longest));
    fputc('\n', p->out);
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
    fprintf(p->out, "  faster by  %s", gn_span_share(r->share_lo, r->share_hi, share));
    print_where(r, p->out);
    print_activities(r, p->out);
}

void gn_whatif_text(const struct gn_whatif_report *r, const struct gn_terminal *terminal, FILE *out)
{
    const struct page page = {r->history, terminal, out};
    const struct gn_whatif_result *n = &r->result;
    char length[GN_SPAN_TEXT], speedup[GN_SPAN_TEXT], gain[GN_SPAN_TEXT];
    header(&page, r->path);
    print_change(&page, r);
    fprintf(out, "  %snew length%s %s\n", shade(&page, GN_BOLD), shade(&page, GN_PLAIN),
            gn_span_time(positive((double)n->length.lo_ns), positive((double)n->length.hi_ns), length));
    fprintf(out, "  %sspeedup%s    %s of the run, %s\n", shade(&page, GN_BOLD), shade(&page, GN_PLAIN),
            gn_span_share(n->speedup_lo, n->speedup_hi, speedup),
            gn_span_time(n->reduction_lo_ns, n->reduction_hi_ns, gain));
    footer(&page);
}

/* ---- the best of many ---- */

const char *gn_sweep_to_name(enum gn_sweep_to to)
{
    return to == GN_SWEEP_TO_MEAN ? "to_mean" : to == GN_SWEEP_TO_MEDIAN ? "to_median" : "faster";
}

struct answer_texts {
    char speedup[GN_SPAN_TEXT], length[GN_SPAN_TEXT], change[GN_SPAN_TEXT], what[1024], where[256];
};

static void describe(const struct gn_history *h, const struct gn_answer *a, struct answer_texts *t)
{
    static const char *const whats[] = {"", ", to the mean", ", to the median"};
    snprintf(t->where, sizeof t->where, "all ranks");
    if (a->process != GN_NONE)
        gn_process_name(h->definitions, a->process, t->where, sizeof t->where);
    gn_activity_text(h, a->activity, t->what, sizeof t->what);
    snprintf(t->change, sizeof t->change, "%.3g %% faster%s", 100 * a->share, whats[a->to]);
    gn_span_share(a->result.speedup_lo, a->result.speedup_hi, t->speedup);
    gn_span_time(positive((double)a->result.length.lo_ns), positive((double)a->result.length.hi_ns),
                 t->length);
}

void gn_answer_text(const struct gn_history *h, const struct gn_answer *a, FILE *out)
{
    struct answer_texts t;
    describe(h, a, &t);
    fprintf(out, "%s at %s, %s: speedup %s, to %s", t.what, t.where, t.change, t.speedup, t.length);
}

static void print_answer(const struct page *p, const struct gn_answer *a)
{
    struct answer_texts t;
    describe(p->history, a, &t);
    fprintf(p->out, "  %20s %26s  %-10s %-26s %s\n", t.speedup, t.length, t.where, t.change, t.what);
}

void gn_sweep_text(const struct gn_sweep_report *r, const struct gn_terminal *terminal, FILE *out)
{
    const struct page page = {r->history, terminal, out};
    header(&page, r->path);
    if (r->sweep->count == 0)
        fprintf(out, "nothing that was tried makes the run shorter\n");
    else
        fprintf(out, "%s  %20s %26s  %-10s %-26s %s%s\n", shade(&page, GN_DIM), "speedup", "new length",
                "where", "change", "activity", shade(&page, GN_PLAIN));
    for (size_t i = 0; i < r->sweep->count; i++)
        print_answer(&page, &r->sweep->answers[i]);
    fprintf(out, "\nof %" PRIu64 " changes %" PRIu64 " were tried: the others cannot be among the best\n",
            r->sweep->candidates, r->sweep->tried);
    footer(&page);
}

#include "base/printable.h"
#include "cli/rests_on.h"
#include "cli/spans.h"
#include "cli/stragglers_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct page {
    const struct gn_stragglers_report *r;
    const struct gn_terminal *t;
    FILE *out;
};

static const char *shade(const struct page *p, const char *code)
{
    return p->t->color ? code : "";
}

static const char *score_text(struct gn_score score, char text[GN_SPAN_TEXT])
{
    return gn_span_share(score.lo / 100, score.hi / 100, text);
}

static const char *blame_text(struct gn_blame blame, char text[GN_SPAN_TEXT])
{
    return gn_span_time(blame.lo_ns, blame.hi_ns, text);
}

static const char *time_text(double ns, char text[GN_SPAN_TEXT])
{
    return gn_span_time(ns, ns, text);
}

/* Bytes of `text` that fill at most so many columns. */
static void print_cut(FILE *out, const char *text, int columns)
{
    int used = 0;
    for (const char *c = text; *c; c++) {
        const bool continues = ((unsigned char)*c & 0xc0) == 0x80;
        if (!continues && used++ >= columns - 1 && c[1]) {
            fputs("…", out);
            return;
        }
        fputc(*c, out);
    }
}

static void line(const struct page *p, const char *label, const char *text)
{
    fprintf(p->out, "  %s%-9s%s ", shade(p, GN_DIM), label, shade(p, GN_PLAIN));
    print_cut(p->out, text, p->t->width - 12);
    fputc('\n', p->out);
}

/* ---- the first one ---- */

static void header(const struct page *p)
{
    const struct gn_history *h = p->r->history;
    char length[GN_SPAN_TEXT];
    fprintf(p->out, "%sgnomon stragglers%s %s: %zu %ss, %s, %" PRIu64 " events\n\n", shade(p, GN_BOLD),
            shade(p, GN_PLAIN), p->r->path, p->r->groups->count, gn_scored_name(p->r->by),
            time_text((double)h->length.hi_ns, length), h->events);
}

static size_t as_much(const struct gn_stragglers_report *r)
{
    const struct gn_score first = gn_straggler_measure(r, &r->list[0]);
    size_t count = 0;
    for (size_t i = 1; i < r->groups->count; i++)
        count += gn_straggler_measure(r, &r->list[i]).hi >= first.lo &&
                 gn_straggler_measure(r, &r->list[i]).hi >= GN_STRAGGLER_PERCENT;
    return count;
}

static void nobody(const struct page *p)
{
    const struct gn_stragglers_report *r = p->r;
    fprintf(p->out, "%snobody holds the others up%s: ", shade(p, GN_BOLD), shade(p, GN_PLAIN));
    if (r->groups->count < 2)
        fprintf(p->out, "there are no others\n");
    else if (gn_straggler_measure(r, &r->list[0]).hi < GN_STRAGGLER_PERCENT)
        fprintf(p->out, "balanced, nobody %s for %.0f %% of the time or more\n",
                r->is_annotated ? "was busy while all others waited" : "made them wait",
                GN_STRAGGLER_PERCENT);
    else
        fprintf(p->out, "balanced, they wait for each other about evenly, now for one, now for another\n");
}

static void verdict(const struct page *p)
{
    char name[128];
    const struct gn_stragglers_report *r = p->r;
    if (r->verdict == GN_STRAGGLER_NOBODY) {
        nobody(p);
        return;
    }
    gn_straggler_name(r, r->list[0].group, name, sizeof name);
    const size_t others = as_much(r);
    if (r->verdict == GN_STRAGGLER_CERTAIN)
        fprintf(p->out, "%s%s holds the others up%s: certain\n", shade(p, GN_BOLD), name, shade(p, GN_PLAIN));
    else if (r->verdict == GN_STRAGGLER_POSSIBLE && others)
        fprintf(p->out,
                "%s%s holds the others up%s; whether most of all is not certain: %zu more may as much\n",
                shade(p, GN_BOLD), name, shade(p, GN_PLAIN), others);
    else if (r->verdict == GN_STRAGGLER_POSSIBLE)
        fprintf(p->out, "%s%s may hold the others up%s: possible, not certain\n", shade(p, GN_BOLD), name,
                shade(p, GN_PLAIN));
    else
        fprintf(p->out,
                "%swho holds the others up is undecidable%s: it may be %s, or one of %zu more; the clocks "
                "cannot tell who came last\n",
                shade(p, GN_BOLD), shade(p, GN_PLAIN), name, others);
}

static void score_line(const struct page *p, const struct gn_straggler *s)
{
    const struct gn_context *context = &p->r->scores->contexts[s->group];
    const struct gn_definitions *d = p->r->history->definitions;
    char text[512], score[GN_SPAN_TEXT];
    snprintf(text, sizeof text, "%s of the run: busy while all others waited",
             score_text(p->r->scores->scores[s->group], score));
    line(p, "score", text);
    if (context->comm == GN_NONE || context->score.hi <= p->r->scores->scores[s->group].lo)
        return;
    snprintf(text, sizeof text, "%s while the other members of %s (%u ranks) waited in its %u collectives",
             score_text(context->score, score), gn_string(d, d->comms[context->comm].name), context->expected,
             context->instances);
    line(p, "", gn_printable(text));
}

static void when_line(const struct page *p, const struct gn_straggler *s)
{
    char text[256];
    if (s->parts == 0)
        return;
    snprintf(text, sizeof text, "%s: most of the waiting in %u of %u parts of the run",
             gn_straggler_is_persistent(s) ? "persistent" : "changing", s->parts_first, s->parts);
    line(p, "when", text);
}

static void first(const struct page *p)
{
    const struct gn_stragglers_report *r = p->r;
    const struct gn_straggler *s = &r->list[0];
    char text[1024], caused[GN_SPAN_TEXT], share[GN_SPAN_TEXT];
    score_line(p, s);
    snprintf(text, sizeof text, "%s of the ranks' time went by waiting for it, %s of it",
             blame_text(s->caused, caused), score_text(s->share, share));
    line(p, "cost", text);
    if (s->cause != GN_NONE) {
        const struct gn_cause *cause = &r->waits->causes[s->cause];
        gn_straggler_work(r, cause, text, sizeof text);
        if (text[0])
            line(p, cause->activity == GN_NONE ? "inside" : "work", text);
        gn_straggler_call(r, cause, text, sizeof text);
        if (text[0])
            line(p, "waited in", text);
    }
    when_line(p, s);
}

/* ---- all ---- */

static void row(const struct page *p, const struct gn_straggler *s)
{
    char name[128], score[GN_SPAN_TEXT], share[GN_SPAN_TEXT], caused[GN_SPAN_TEXT], waited[GN_SPAN_TEXT],
        work[512] = "";
    gn_straggler_name(p->r, s->group, name, sizeof name);
    if (s->cause != GN_NONE)
        gn_straggler_work(p->r, &p->r->waits->causes[s->cause], work, sizeof work);
    fprintf(p->out, "  %-18s %16s %16s %22s %22s  ", name, score_text(p->r->scores->scores[s->group], score),
            score_text(s->share, share), blame_text(s->caused, caused), blame_text(s->waited, waited));
    print_cut(p->out, work, p->t->width > 111 ? p->t->width - 103 : 8);
    fputc('\n', p->out);
}

static void table(const struct page *p)
{
    const struct gn_stragglers_report *r = p->r;
    fprintf(p->out, "\n%s  %-18s %16s %16s %22s %22s  %s%s\n", shade(p, GN_DIM), "", "score", "caused",
            "made others wait", "waited", "work", shade(p, GN_PLAIN));
    for (size_t i = 0; i < r->groups->count && (r->top == 0 || i < r->top); i++)
        row(p, &r->list[i]);
    if (r->top && r->groups->count > r->top)
        fprintf(p->out, "  %zu more: --top 0\n", r->groups->count - r->top);
}

static const char *region_name(const struct gn_definitions *d, uint32_t region)
{
    return gn_string(d, d->regions[region].name);
}

static size_t best_of(const struct gn_phase *phase, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (phase->scores[i].lo > phase->scores[best].lo ||
            (phase->scores[i].lo == phase->scores[best].lo && phase->scores[i].hi > phase->scores[best].hi))
            best = i;
    return best;
}

static void phases(const struct page *p)
{
    const struct gn_scores *s = p->r->scores;
    char name[128], what[128], from[GN_SPAN_TEXT], to[GN_SPAN_TEXT], score[GN_SPAN_TEXT];
    if (s->phase_count == 0 || s->count == 0)
        return;
    fprintf(p->out, "\n%s  %-34s %16s  %s%s\n", shade(p, GN_DIM), "phase", "score", "first",
            shade(p, GN_PLAIN));
    for (size_t i = 0; i < s->phase_count; i++) {
        const struct gn_phase *phase = &s->phases[i];
        const double begin_ns = phase->begin_ns - (double)p->r->history->first.lo_ns,
                     end_ns = phase->end_ns - (double)p->r->history->first.lo_ns;
        const size_t best = best_of(phase, s->count);
        if (phase->region != GN_NONE)
            gn_printable_copy(what, sizeof what, region_name(p->r->history->definitions, phase->region));
        else
            snprintf(what, sizeof what, "%s to %s", time_text(begin_ns, from), time_text(end_ns, to));
        gn_straggler_name(p->r, (uint32_t)best, name, sizeof name);
        fprintf(p->out, "  %-34s %16s  %s\n", what, score_text(phase->scores[best], score),
                phase->scores[best].hi > 0 ? name : "nobody");
    }
}

static void sureness(const struct page *p)
{
    char mean[GN_SPAN_TEXT], most[GN_SPAN_TEXT];
    fputc('\n', p->out);
    if (isinf(p->r->most_width_ns))
        fprintf(p->out, "%sclocks%s: of some nothing is known\n", shade(p, GN_YELLOW), shade(p, GN_PLAIN));
    else
        fprintf(p->out, "%sclocks%s: times are known to within %s on average, %s at worst\n",
                shade(p, GN_DIM), shade(p, GN_PLAIN), time_text(p->r->mean_width_ns, mean),
                time_text(p->r->most_width_ns, most));
    fprintf(p->out, "%swaits%s: of %" PRIu64 " it is certain for whom, of %" PRIu64 " it is only possible\n",
            shade(p, GN_DIM), shade(p, GN_PLAIN), p->r->waits->last_certain, p->r->waits->last_possible);
    gn_rests_on_text(p->r->history, p->t, p->out);
}

void gn_stragglers_text(const struct gn_stragglers_report *report, const struct gn_terminal *terminal,
                        FILE *out)
{
    const struct page page = {report, terminal, out};
    header(&page);
    verdict(&page);
    if (report->verdict != GN_STRAGGLER_NOBODY)
        first(&page);
    if (report->groups->count)
        table(&page);
    phases(&page);
    sureness(&page);
}

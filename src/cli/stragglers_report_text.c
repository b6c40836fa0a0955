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

/* ---- numbers ---- */

/* Three significant digits with a unit. */
static const char *time_text(double ns, char text[24])
{
    const char *unit = ns >= 999.5e6 ? "s" : ns >= 999.5e3 ? "ms" : ns >= 999.5 ? "us" : "ns";
    const double shown = ns >= 999.5e6 ? ns / 1e9 : ns >= 999.5e3 ? ns / 1e6 : ns >= 999.5 ? ns / 1e3 : ns;
    const int digits = shown >= 99.95 || shown == 0 ? 0 : shown >= 9.995 ? 1 : 2;
    snprintf(text, 24, "%.*f %s", digits, shown, unit);
    return text;
}

/* Rounded outward; one number where both are the same. */
static const char *score_text(struct gn_score s, char text[32])
{
    const double lo = floor(s.lo * 100) / 100, hi = fmin(ceil(s.hi * 100) / 100, 100);
    if (lo == hi)
        snprintf(text, 32, "%.2f", lo);
    else
        snprintf(text, 32, "%.2f-%.2f", lo, hi);
    return text;
}

static const char *blame_text(struct gn_blame b, char text[64])
{
    char lo[24], hi[24];
    time_text(b.lo_ns, lo);
    time_text(b.hi_ns, hi);
    if (strcmp(lo, hi) == 0)
        snprintf(text, 64, "%s", lo);
    else
        snprintf(text, 64, "%s to %s", lo, hi);
    return text;
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
    char length[24];
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

static void verdict(const struct page *p)
{
    char name[128];
    const struct gn_stragglers_report *r = p->r;
    if (r->verdict == GN_STRAGGLER_NOBODY) {
        fprintf(p->out,
                "%snobody holds the others up%s: nobody made them wait for %.0f %% of their time or more\n",
                shade(p, GN_BOLD), shade(p, GN_PLAIN), GN_STRAGGLER_PERCENT);
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
    char text[512], score[32];
    snprintf(text, sizeof text, "%s %% of the run: busy while all others waited",
             score_text(p->r->scores->scores[s->group], score));
    line(p, "score", text);
    if (context->comm == GN_NONE || context->score.hi <= p->r->scores->scores[s->group].lo)
        return;
    snprintf(text, sizeof text, "%s %% while the other members of %s (%u ranks) waited in its %u collectives",
             score_text(context->score, score), gn_string(d, d->comms[context->comm].name), context->expected,
             context->instances);
    line(p, "", text);
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
    char text[1024], caused[64], share[32];
    score_line(p, s);
    snprintf(text, sizeof text, "%s of the %ss' time waited for it, %s %% of it",
             blame_text(s->caused, caused), gn_scored_name(r->by), score_text(s->share, share));
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
    char name[128], score[32], share[32], caused[64], waited[64], work[512] = "";
    gn_straggler_name(p->r, s->group, name, sizeof name);
    if (s->cause != GN_NONE)
        gn_straggler_work(p->r, &p->r->waits->causes[s->cause], work, sizeof work);
    fprintf(p->out, "  %-18s %13s %13s %20s %20s  ", name, score_text(p->r->scores->scores[s->group], score),
            score_text(s->share, share), blame_text(s->caused, caused), blame_text(s->waited, waited));
    print_cut(p->out, work, p->t->width > 100 ? p->t->width - 93 : 8);
    fputc('\n', p->out);
}

static void table(const struct page *p)
{
    const struct gn_stragglers_report *r = p->r;
    fprintf(p->out, "\n%s  %-18s %13s %13s %20s %20s  %s%s\n", shade(p, GN_DIM), "", "score %", "caused %",
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
    char name[128], what[128], from[24], to[24], score[32];
    if (s->phase_count == 0 || s->count == 0)
        return;
    fprintf(p->out, "\n%s  %-34s %13s  %s%s\n", shade(p, GN_DIM), "phase", "score %", "first",
            shade(p, GN_PLAIN));
    for (size_t i = 0; i < s->phase_count; i++) {
        const struct gn_phase *phase = &s->phases[i];
        const double begin_ns = phase->begin_ns - (double)p->r->history->first.lo_ns,
                     end_ns = phase->end_ns - (double)p->r->history->first.lo_ns;
        const size_t best = best_of(phase, s->count);
        if (phase->region != GN_NONE)
            snprintf(what, sizeof what, "%s", region_name(p->r->history->definitions, phase->region));
        else
            snprintf(what, sizeof what, "%s to %s", time_text(begin_ns, from), time_text(end_ns, to));
        gn_straggler_name(p->r, (uint32_t)best, name, sizeof name);
        fprintf(p->out, "  %-34s %13s  %s\n", what, score_text(phase->scores[best], score),
                phase->scores[best].hi > 0 ? name : "nobody");
    }
}

static void counted(const struct page *p, uint64_t count, const char *what)
{
    if (count)
        fprintf(p->out, "%s%" PRIu64 " %s%s\n", shade(p, GN_YELLOW), count, what, shade(p, GN_PLAIN));
}

static void sureness(const struct page *p)
{
    const struct gn_history *h = p->r->history;
    char mean[24], most[24];
    fputc('\n', p->out);
    if (h->refuted)
        fprintf(p->out,
                "%srefuted%s: what was assumed of the clocks contradicts the messages; these bounds may be "
                "wrong\n",
                shade(p, GN_RED), shade(p, GN_PLAIN));
    if (isinf(p->r->most_width_ns))
        fprintf(p->out, "%sclocks%s: of some nothing is known\n", shade(p, GN_YELLOW), shade(p, GN_PLAIN));
    else
        fprintf(p->out, "%sclocks%s: times are known to within %s on average, %s at worst\n",
                shade(p, GN_DIM), shade(p, GN_PLAIN), time_text(p->r->mean_width_ns, mean),
                time_text(p->r->most_width_ns, most));
    fprintf(p->out, "%swaits%s: %" PRIu64 " with a certain cause, %" PRIu64 " with several possible ones\n",
            shade(p, GN_DIM), shade(p, GN_PLAIN), p->r->waits->last_certain, p->r->waits->last_possible);
    counted(p, h->unbounded, "locations whose clock nothing is known of");
    counted(p, h->unmatched, "receives whose send is not in the trace");
    counted(p, h->ambiguous, "receives or collectives of which it is not certain what belongs together");
    counted(p, h->lost, "events are missing: what depends on them is not certain");
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

#include "answer/assumptions.h"
#include "answer/fit.h"
#include "answer/quantities.h"
#include "base/printable.h"
#include "answer/rests_on.h"
#include "answer/spans.h"
#include "answer/stragglers_report.h"
#include "answer/whole_run.h"

#include <math.h>
#include <string.h>

struct page {
    const struct gn_stragglers_report *r;
    const struct gn_terminal *t;
    FILE *out;
};

static const char *shade(const struct page *p, const char *code)
{
    return gn_shade(p->t, code);
}

static const char *score_text(struct gn_score score, char text[GN_SPAN_TEXT])
{
    return gn_span_share(score.lo / 100, score.hi / 100, text);
}

static const char *blame_text(struct gn_blame blame, char text[GN_SPAN_TEXT])
{
    return gn_span_time(blame.lo_ns, blame.hi_ns, text);
}

static void line(const struct page *p, const char *label, const char *text)
{
    fprintf(p->out, "  %s%-9s%s %s\n", shade(p, GN_DIM), label, shade(p, GN_PLAIN), text);
}

/* ---- the first one ---- */

static void header(const struct page *p)
{
    const struct gn_history *h = p->r->history;
    char length[GN_QUANTITY_TEXT], events[GN_QUANTITY_TEXT];
    fprintf(p->out, "%sgnomon stragglers%s %s: %zu %ss, %s, %s events\n\n", shade(p, GN_BOLD),
            shade(p, GN_PLAIN), p->r->path, p->r->groups->count, gn_scored_name(p->r->by),
            gn_width_text((double)h->length.hi_ns, length), gn_count_text((int64_t)h->events, events));
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

static double most_caused(const struct gn_stragglers_report *r)
{
    double most = 0;
    for (size_t i = 0; i < r->groups->count; i++)
        most = fmax(most, r->list[i].share.lo);
    return most;
}

static void nobody(const struct page *p)
{
    const struct gn_stragglers_report *r = p->r;
    fprintf(p->out, "%snobody holds the others up%s: ", shade(p, GN_BOLD), shade(p, GN_PLAIN));
    if (r->groups->count < 2)
        fprintf(p->out, "there are no others\n");
    else if (!r->is_annotated && r->list[0].own.hi < GN_STRAGGLER_PERCENT &&
             most_caused(r) >= GN_STRAGGLER_PERCENT)
        fprintf(p->out,
                "they wait for each other in turn, and none is busy for longer than the others are\n");
    else if (gn_straggler_measure(r, &r->list[0]).hi < GN_STRAGGLER_PERCENT)
        fprintf(p->out, "balanced, nobody %s for %.0f %% of the time or more\n",
                r->is_annotated ? "was busy while all others waited" : "made them wait",
                GN_STRAGGLER_PERCENT);
    else
        fprintf(p->out, "balanced, they wait for each other about evenly, now for one, now for another\n");
}

/* Events tell of nobody that he holds the others up, and of some calls they do not tell. */
static bool is_untold(const struct gn_stragglers_report *r)
{
    return r->verdict == GN_STRAGGLER_UNDECIDABLE &&
           gn_straggler_measure(r, &r->list[0]).hi < GN_STRAGGLER_PERCENT && r->history->untold > 0;
}

static void verdict(const struct page *p)
{
    char name[128], time[GN_QUANTITY_TEXT], count[GN_QUANTITY_TEXT];
    const struct gn_stragglers_report *r = p->r;
    if (r->verdict == GN_STRAGGLER_NOBODY) {
        nobody(p);
        return;
    }
    if (is_untold(r)) {
        fprintf(p->out,
                "%swho holds the others up is not known%s: ranks may have waited in %s calls (locks and "
                "epochs of "
                "windows, files), %s in all, and nothing tells for whom\n",
                shade(p, GN_BOLD), shade(p, GN_PLAIN), gn_count_text((int64_t)r->history->untold, count),
                gn_duration_text(r->history->untold_ns, time));
        return;
    }
    gn_straggler_name(r, r->list[0].group, name, sizeof name);
    const size_t others = as_much(r);
    if (r->waited_for == GN_STRAGGLER_CERTAIN)
        fprintf(p->out, "%s%s holds the others up%s: that they wait for it is certain\n", shade(p, GN_BOLD),
                name, shade(p, GN_PLAIN));
    else if (r->verdict == GN_STRAGGLER_POSSIBLE && others)
        fprintf(p->out,
                "%s%s holds the others up%s; whether most of all is not certain: %zu more may as much\n",
                shade(p, GN_BOLD), name, shade(p, GN_PLAIN), others);
    else if (r->verdict == GN_STRAGGLER_POSSIBLE)
        fprintf(p->out, "%s%s may hold the others up%s: possible, not certain\n", shade(p, GN_BOLD), name,
                shade(p, GN_PLAIN));
    else
        fprintf(p->out,
                "%swho holds the others up is undecidable%s: it may be %s, or one of %zu more; who came "
                "last cannot be told\n",
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
    const char *name = gn_string(d, d->comms[context->comm].name);
    snprintf(text, sizeof text, "%s while the other members of %s (%u ranks) waited in its %u collectives",
             score_text(context->score, score), name[0] ? name : "a communicator", context->expected,
             context->instances);
    line(p, "", gn_printable(text));
}

static void slow_line(const struct page *p, const struct gn_straggler *s)
{
    char text[256], extra[GN_SPAN_TEXT];
    if (s->extra.hi_ns <= 0)
        return;
    snprintf(text, sizeof text,
             "possible, not certain: it was busy %s longer than the others in the mean, or had no core",
             gn_span_time(fmax(s->extra.lo_ns, 0), s->extra.hi_ns, extra));
    line(p, "slow", text);
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
    slow_line(p, s);
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

static void fill_row(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_stragglers_report *r = self;
    const struct gn_straggler *s = &r->list[i];
    const struct gn_score score = r->scores->scores[s->group];
    char *name = cells[0].buffer, *work = cells[6].buffer;
    gn_straggler_name(r, s->group, name, GN_CELL_BUFFER);
    gn_cell_text(&cells[0], name);
    gn_cell_bounds(&cells[1], score.lo / 100, score.hi / 100);
    gn_cell_bounds(&cells[3], s->share.lo / 100, s->share.hi / 100);
    gn_cell_bounds(&cells[4], s->caused.lo_ns, s->caused.hi_ns);
    gn_cell_bounds(&cells[5], s->waited.lo_ns, s->waited.hi_ns);
    if (s->cause == GN_NONE)
        return;
    gn_straggler_work(r, &r->waits->causes[s->cause], work, GN_CELL_BUFFER);
    gn_cell_text(&cells[6], work);
}

struct gn_table gn_stragglers_table(const struct gn_stragglers_report *r)
{
    static const struct gn_column columns[] = {
        {.title = "", .name = "name", .flags = GN_COLUMN_KEY, .least = 16},
        {.title = "score",
         .name = "score_percent",
         .kind = GN_CELL_PERCENTAGES,
         .flags = GN_COLUMN_SEEN,
         .goes = 1},
        {.title = GN_OF_RUN,
         .name = "run_score_percent",
         .kind = GN_CELL_PERCENTAGES,
         .flags = GN_COLUMN_RUN,
         .goes = 1},
        {.title = "caused", .name = "caused_percent", .kind = GN_CELL_PERCENTAGES, .goes = 3},
        {.title = "made others wait", .name = "caused_s", .kind = GN_CELL_DURATIONS},
        {.title = "waited", .name = "waited_s", .kind = GN_CELL_DURATIONS, .goes = 2},
        {.title = "work", .name = "work", .least = 20, .is_middle = true},
    };
    const size_t count = r->groups->count, shown = r->top && r->top < count ? r->top : count;
    return (struct gn_table){.columns = columns,
                             .column_count = sizeof columns / sizeof *columns,
                             .row_count = shown,
                             .left_out = count - shown,
                             .fill = fill_row,
                             .self = r,
                             .indent = 2,
                             .whole = gn_whole_run(r->spread, false)};
}

static void print_table(const struct page *p, const struct gn_table *table)
{
    fputc('\n', p->out);
    gn_table_text(table, p->t, p->out);
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

static void fill_phase(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_stragglers_report *r = self;
    const struct gn_phase *phase = &r->scores->phases[i];
    const size_t best = best_of(phase, r->scores->count);
    char from[GN_QUANTITY_TEXT], to[GN_QUANTITY_TEXT];
    const double first_ns = (double)r->history->first.lo_ns;
    if (phase->region != GN_NONE)
        gn_cell_text(&cells[0], region_name(r->history->definitions, phase->region));
    else
        gn_cell_print(&cells[0], "%s to %s", gn_duration_text(phase->begin_ns - first_ns, from),
                      gn_duration_text(phase->end_ns - first_ns, to));
    gn_cell_bounds(&cells[1], phase->scores[best].lo / 100, phase->scores[best].hi / 100);
    gn_straggler_name(r, (uint32_t)best, cells[2].buffer, GN_CELL_BUFFER);
    gn_cell_text(&cells[2], phase->scores[best].hi > 0 ? cells[2].buffer : "nobody");
}

static void phases(const struct page *p)
{
    static const struct gn_column columns[] = {
        {.title = "phase", .least = 20},
        {.title = "score", .kind = GN_CELL_PERCENTAGES},
        {.title = "first"},
    };
    const struct gn_scores *s = p->r->scores;
    const struct gn_table table = {.columns = columns,
                                   .column_count = sizeof columns / sizeof *columns,
                                   .row_count = s->phase_count,
                                   .fill = fill_phase,
                                   .self = p->r,
                                   .indent = 2};
    if (s->phase_count && s->count)
        print_table(p, &table);
}

static void sureness(const struct page *p)
{
    char mean[GN_QUANTITY_TEXT], most[GN_QUANTITY_TEXT], certain[GN_QUANTITY_TEXT],
        possible[GN_QUANTITY_TEXT];
    fputc('\n', p->out);
    if (isinf(p->r->most_width_ns))
        fprintf(p->out, "%sclocks%s: of some nothing is known\n", shade(p, GN_YELLOW), shade(p, GN_PLAIN));
    else
        fprintf(p->out, "%sclocks%s: times are known to within %s on average, %s at worst\n",
                shade(p, GN_DIM), shade(p, GN_PLAIN), gn_width_text(p->r->mean_width_ns, mean),
                gn_width_text(p->r->most_width_ns, most));
    fprintf(p->out, "%swaits%s: of %s it is certain for whom, of %s it is only possible\n", shade(p, GN_DIM),
            shade(p, GN_PLAIN), gn_count_text((int64_t)p->r->waits->last_certain, certain),
            gn_count_text((int64_t)p->r->waits->last_possible, possible));
    gn_assumptions_text(p->r->history, GN_ASSUMES_OF_WAITS, p->t, p->out);
    gn_rests_on_text(p->r->history, p->t, p->out);
}

void gn_stragglers_text(const struct gn_stragglers_report *report, const struct gn_terminal *terminal,
                        FILE *out)
{
    struct gn_page folded;
    gn_page_open(&folded, terminal, out);
    const struct page page = {report, terminal, folded.out};
    const struct gn_table rows = gn_stragglers_table(report);
    header(&page);
    verdict(&page);
    if (report->verdict != GN_STRAGGLER_NOBODY && !is_untold(report))
        first(&page);
    if (report->groups->count)
        print_table(&page, &rows);
    phases(&page);
    sureness(&page);
    gn_page_close(&folded);
}

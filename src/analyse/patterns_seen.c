#include "analyse/patterns_seen.h"

#include "analyse/patterns_look.h"
#include "analyse/patterns_rank.h"
#include "analyse/wrong_order.h"
#include "event/activity.h"
#include "profile/virtual.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what of calls is waiting ---- */

/* Whether calls of a row were seen often enough to know what of them is waiting. */
static bool is_seen(const struct gn_look *l, const struct gn_activity_row *row)
{
    const struct gn_seen *seen = l->seen;
    if (seen->is_whole)
        return true;
    for (size_t i = 0; i < seen->site_count && seen->count > 1; i++)
        if (seen->sites[i].sizes.count > 1 && gn_is_row_of(row, gn_call_place_of(seen, &seen->sites[i])))
            return true;
    return false;
}

static void see_collective(const struct gn_look *l, struct gn_problem *p)
{
    struct gn_span waited = {0, 0};
    if (!is_seen(l, p->row))
        return;
    for (size_t i = 0; i < l->seen->site_count; i++) {
        if (!gn_is_row_of(p->row, gn_call_place_of(l->seen, &l->seen->sites[i])))
            continue;
        double most_likely;
        const struct gn_span here = gn_seen_waited(l->seen, &l->seen->sites[i], &most_likely);
        waited.lo_ns += here.lo_ns;
        waited.hi_ns += here.hi_ns;
    }
    const double mean_s = (double)p->row->mean_ns * 1e-9, ranks = fmax(1, l->s->ranks);
    p->lost_low_s = fmax(0, mean_s - waited.hi_ns * 1e-9 / ranks);
    p->gain_high_s = p->lost_high_s = fmin(p->lost_high_s, fmax(0, mean_s - waited.lo_ns * 1e-9 / ranks));
    p->lost_low_s = fmin(p->lost_low_s, p->lost_high_s);
    p->assumes = (p->assumes & ~(unsigned)GN_PROBLEM_TURNS) | gn_look_assumed(l);
    gn_look_tell_gain(l, p,
                      (struct gn_problem_gain){GN_PROBLEM_HALF, 0, p->lost_low_s / 2, p->lost_high_s / 2});
}

/* What calls for messages take beside all that may be waiting in them, of a rank: of each, in the mean; s. */
static struct gn_between beside_waiting(const struct gn_look *l)
{
    struct gn_between beside = {0, 0};
    double waited_s = 0;
    for (size_t i = 0; i < l->s->row_count; i++) {
        const struct gn_activity_row *row = &l->s->rows[i];
        if (gn_problem_is_of_messages(row) && !gn_problem_is_polling(row) && is_seen(l, row)) {
            beside.low += (double)row->min_ns * 1e-9;
            beside.high += (double)row->mean_ns * 1e-9;
        }
    }
    for (size_t i = 0; i < l->seen->site_count; i++) {
        double most_likely;
        const struct gn_activity_row *row = gn_look_row(l->s, gn_call_place_of(l->seen, &l->seen->sites[i]));
        if (row && gn_problem_is_of_messages(row))
            waited_s += gn_seen_waited(l->seen, &l->seen->sites[i], &most_likely).hi_ns * 1e-9;
    }
    return (struct gn_between){fmax(0, beside.low - waited_s),
                               fmax(0, beside.high - waited_s / fmax(1, l->s->ranks))};
}

/* Messages cost what is not waiting for them. Where ranks hardly wait at all, nobody is late in turn: with
 * calls twice as fast the run is shorter by half of what each rank has in them at least, and at most by all
 * that ranks wait more than by half of the mean. */
static void see_messages(const struct gn_look *l, struct gn_problem *p)
{
    static const double hardly = 0.25; /* of what is no waiting */
    const struct gn_between beside = beside_waiting(l);
    const double ranks = fmax(1, l->s->ranks);
    double waited_s = 0;
    for (size_t i = 0; i < l->edge_count; i++)
        if (l->edges[i].edge.kind == GN_WAIT_LATE_SENDER || l->edges[i].edge.kind == GN_WAIT_LATE_RECEIVER)
            waited_s += l->edges[i].waited.lo_ns * 1e-9;
    p->lost_high_s = p->gain_high_s = fmax(0, p->lost_high_s - waited_s / ranks);
    p->lost_low_s = fmin(beside.high, p->lost_high_s);
    p->assumes |= gn_look_assumed(l);
    const double waits_s = l->problems->seen.waited_high_s / ranks;
    if (waits_s < hardly * beside.low) {
        p->gain_high_s = p->lost_high_s + waits_s;
        p->assumes |= GN_PROBLEM_TURNS;
        gn_look_tell_gain(
            l, p, (struct gn_problem_gain){GN_PROBLEM_HALF, 0, beside.low / 2, p->lost_high_s / 2 + waits_s});
    }
}

static void see_cores(const struct gn_look *l, struct gn_problem *p)
{
    p->gain_high_s = p->lost_high_s = fmin(p->lost_high_s, gn_look_without_core_s(l));
    p->assumes |= gn_look_assumed(l);
}

static void see_calls(const struct gn_look *l)
{
    for (size_t i = 0; i < l->problems->count; i++)
        if (l->problems->items[i].is_of_all && l->problems->items[i].row)
            see_collective(l, &l->problems->items[i]);
        else if (l->problems->items[i].is_of_messages)
            see_messages(l, &l->problems->items[i]);
        else if (l->problems->items[i].is_of_cores)
            see_cores(l, &l->problems->items[i]);
}

/* ---- all ---- */

static bool starts_or_ends(const struct gn_look *l, uint32_t region)
{
    return gn_activity_starts_or_ends(gn_region_activity(l->seen->definitions, region));
}

static bool may_wait(const struct gn_activity_row *row)
{
    const uint32_t call = strcmp(row->kind, "mpi") == 0 ? gn_activity_named(row->name) : GN_ACTIVITY_NONE;
    return call != GN_ACTIVITY_NONE && gn_activity_may_wait(call) && !gn_activity_starts_or_ends(call);
}

static void tell_seen(const struct gn_look *l)
{
    struct gn_problems_seen *told = &l->problems->seen;
    *told = (struct gn_problems_seen){.parts = l->seen->windows ? l->seen->windows : l->seen->count,
                                      .is_whole = l->seen->is_whole,
                                      .share = fmin(1, l->seen->covered_ns / l->seen->run_ns),
                                      .off_s = l->seen->off_ns * 1e-9};
    struct gn_span waited = {0, 0};
    for (size_t i = 0; i < l->seen->site_count; i++)
        if (!starts_or_ends(l, l->seen->sites[i].region)) {
            double most_likely;
            const struct gn_span here = gn_seen_waited(l->seen, &l->seen->sites[i], &most_likely);
            waited.lo_ns += here.lo_ns;
            waited.hi_ns += here.hi_ns;
            told->waited_s += most_likely * 1e-9;
        }
    for (size_t i = 0; i < l->s->row_count; i++) /* what was never seen, or left, may all be waiting */
        if (may_wait(&l->s->rows[i]))
            waited.hi_ns +=
                (double)(is_seen(l, &l->s->rows[i]) ? l->s->rows[i].open_ns : l->s->rows[i].total_ns);
    told->waited_low_s = waited.lo_ns * 1e-9;
    told->waited_high_s = waited.hi_ns * 1e-9;
}

void gn_seen_tell_totals(struct gn_seen *seen, const struct gn_summary *s)
{
    for (size_t i = 0; i < seen->site_count; i++) {
        struct gn_seen_site *site = &seen->sites[i];
        const struct gn_call_place place = gn_call_place_of(seen, site);
        site->total_ns = 0;
        for (size_t k = 0; k < s->row_count; k++)
            site->total_ns += gn_is_row_of(&s->rows[k], place) ? (double)s->rows[k].total_ns : 0;
    }
}

/* The only row of calls of a site; NULL: there is none, or several that differ by who calls them. */
static struct gn_activity_row *only_row(struct gn_summary *s, struct gn_call_place place)
{
    struct gn_activity_row *only = NULL;
    for (size_t i = 0; i < s->row_count; i++)
        if (gn_is_row_of(&s->rows[i], place)) {
            if (only)
                return NULL;
            only = &s->rows[i];
        }
    return only;
}

void gn_seen_tell_waited(const struct gn_seen *seen, struct gn_summary *s)
{
    for (size_t i = 0; i < seen->site_count; i++) {
        struct gn_activity_row *row = only_row(s, gn_call_place_of(seen, &seen->sites[i]));
        double most_likely;
        const struct gn_span waited = gn_seen_waited(seen, &seen->sites[i], &most_likely);
        /* what polls wait for is told of the call that ends them */
        if (!row || !may_wait(row) || seen->sites[i].is_polled || !isfinite(waited.hi_ns))
            continue;
        const double all_s = (double)row->total_ns * 1e-9, low_s = fmin(waited.lo_ns * 1e-9, all_s);
        const double high_s = (waited.hi_ns + (double)row->open_ns) * 1e-9; /* for whom is not known */
        row->waited_s = (struct gn_between){low_s, fmax(low_s, fmin(high_s, all_s))};
    }
}

/* What follows from times as if measuring had cost nothing. What else it has done to the run it has done to
 * the one that is mended, too. */
static void allow_for_own_cost(const struct gn_look *l)
{
    static const double too_much = 0.02;
    const double share = gn_seen_is_virtual(l->seen) ? gn_seen_own_share(l->seen) : l->s->own_share;
    const double gone_ns = l->seen->gone_ns; /* most likely: somewhere between the two */
    const double both = 2; /* a gain is the difference of two lengths, each of which may be wrong by itself */
    const double unsure_s = (both * fmax(l->seen->gone.hi_ns - gone_ns, gone_ns - l->seen->gone.lo_ns) +
                             GN_OWN_COST_BESIDE * gone_ns) *
                            1e-9;
    const double beside = GN_OWN_COST_BESIDE * share; /* what is computed longer is measured, too */
    if (share < GN_PROBLEM_REPEATED_SHARE)            /* it changes no more than runs differ by */
        return;
    for (size_t i = 0; i < l->problems->count; i++) {
        struct gn_problem *p = &l->problems->items[i];
        if (!(p->gain_high_s > 0)) /* it turned out to be none */
            continue;
        p->assumes |= GN_PROBLEM_OWN_COST;
        p->sure = GN_PROBLEM_POSSIBLE;
        p->gain_low_s = fmax(0, p->gain_low_s * (1 - beside) - unsure_s);
        p->gain_high_s = p->gain_high_s * (1 + beside) + unsure_s;
        if (share >= too_much) /* what one way gains, and what another one, is not known so closely */
            p->gain_count = 0;
        for (size_t k = 0; k < p->gain_count; k++) {
            p->gains[k].low_s = p->gains[k].low_s * (1 - beside) - unsure_s;
            p->gains[k].high_s = p->gains[k].high_s * (1 + beside) + unsure_s;
        }
        if (p->even_high_s > 0) {
            p->even_low_s = p->even_low_s * (1 - beside) - unsure_s;
            p->even_high_s = p->even_high_s * (1 + beside) + unsure_s;
        }
        gn_problem_limit(p, l->s);
    }
}

/* Whether computing needs most of the cores; where nobody took samples, whether all are busy with something.
 */
static bool are_cores_needed(const struct gn_summary *s)
{
    static const double most = 0.5, nearly_all = 0.85;
    double computed_s = s->others_s;
    if (strcmp(s->sampling.state, "sampled") != 0 || s->sampling.reason[0]) /* or not all are */
        return s->resources.cores_busy >= nearly_all * s->resources.cores;
    for (size_t i = 0; i < s->row_count; i++)
        computed_s += strcmp(s->rows[i].kind, "computation") == 0 ? (double)s->rows[i].cpu_ns * 1e-9 : 0;
    return !(computed_s < most * s->resources.cores * s->elapsed_s);
}

/* Who does less lets others have more of cores that all need; and where ranks do not go on when what they
 * wait for has come, others have their cores. Ranks that wait and give way keep nobody from a core. */
static bool are_cores_kept(const struct gn_look *l)
{
    static const double goes_on_late = 0.015, nearly_all = 0.85;
    const struct gn_between own = gn_look_own_mpi(l);
    const bool are_busy = !(l->s->resources.cores_busy < nearly_all * l->s->resources.cores);
    return gn_problems_lack_cores(l->s) &&
           (are_cores_needed(l->s) || (are_busy ? own.high : own.low) >= goes_on_late * l->s->elapsed_s);
}

/* A way that may gain nothing says nothing. */
static void forget_unsure(const struct gn_look *l)
{
    for (size_t i = 0; i < l->problems->count; i++) {
        struct gn_problem *p = &l->problems->items[i];
        size_t kept = 0;
        for (size_t k = 0; k < p->gain_count; k++)
            if (p->gains[k].low_s > 0)
                p->gains[kept++] = p->gains[k];
        p->gain_count = kept;
    }
}

static void allow_for_polls(const struct gn_look *l)
{
    uint64_t rows = 0;
    for (size_t p = 0; p < l->seen->count; p++)
        rows += l->seen->parts[p].history.idle_rows;
    for (size_t i = 0; i < l->problems->count && rows > 0; i++) {
        l->problems->items[i].assumes |= GN_PROBLEM_POLLS;
        l->problems->items[i].sure = GN_PROBLEM_POSSIBLE;
    }
}

int gn_problems_see(struct gn_problems *problems, const struct gn_summary *summary,
                    const struct gn_seen *seen, struct gn_error *err)
{
    struct gn_look l = {.problems = problems,
                        .s = summary,
                        .seen = seen,
                        .late = calloc(seen->definitions->process_count + 1, sizeof *l.late),
                        .each = calloc(GN_LOOKS * seen->count + 1, sizeof *l.each)};
    const bool has_memory = l.late && l.each && gn_sections_find(&l.sections, seen) == 0;
    const int64_t edges = has_memory ? gn_seen_edges(seen, &l.edges) : -ENOMEM;
    const int64_t causes = edges >= 0 ? gn_seen_causes(seen, &l.causes) : -ENOMEM;
    int code = causes >= 0 ? 0 : gn_fail(err, -ENOMEM, "no memory for who waited for whom");
    if (code == 0) {
        l.edge_count = (size_t)edges;
        l.cause_count = (size_t)causes;
        tell_seen(&l);
        gn_late_phases_find(&l.phases, seen);
        code = gn_look_at_ranks(&l, err);
        see_calls(&l);
        code = code == 0 ? gn_look_at_growth(&l, err) : code;
        code = code == 0 ? gn_look_at_overlap(&l, err) : code;
        code = code == 0 ? gn_wrong_order_find(&l.avoidable, seen, err) : code;
        code = code == 0 ? gn_look_at_waits(&l, err) : code;
        allow_for_own_cost(&l);
        allow_for_polls(&l);
        problems->are_cores_kept = are_cores_kept(&l);
        forget_unsure(&l);
    }
    gn_site_tally_clear(&l.avoidable);
    gn_sections_clear(&l.sections);
    free(l.late);
    free(l.each);
    free(l.edges);
    free(l.causes);
    return code;
}

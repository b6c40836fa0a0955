#include "seen_checks.h"

#include "analyse/levelled.h"
#include "analyse/meanwhile.h"
#include "analyse/overlap.h"
#include "analyse/patterns_seen.h"
#include "analyse/sooner.h"
#include "analyse/wrong_order.h"
#include "history_checks.h"

#include <math.h>
#include <stdlib.h>

enum { SITES = 6, PROCESSES = 4 }; /* as many are looked at */
static const double nearly = 1e-6;

static void check_reduction(const struct gn_whatif_result *r)
{
    history_must(isfinite(r->reduction_lo_ns) && isfinite(r->reduction_hi_ns) &&
                     r->reduction_lo_ns <= r->reduction_hi_ns,
                 "a reduction is an interval");
    history_must(r->may_reorder || r->reduction_lo_ns >= 0, "nothing becomes slower");
}

static void check_levels(const struct gn_sections *s, bool *late)
{
    struct gn_error err = {""};
    for (uint32_t p = 0; p < s->process_count && p < PROCESSES; p++) {
        struct gn_whatif_result r[GN_LEVELS];
        struct gn_levels levels;
        late[p] = true;
        history_must(gn_levels_open(&levels, s, late, &err) == 0, "levels");
        history_must(gn_levels_replay(&levels, 0, r, &err) == 0, "a replay");
        gn_levels_close(&levels);
        for (int k = 0; k < GN_LEVELS; k++)
            check_reduction(&r[k]);
        history_must(r[GN_LEVEL_GONE].may_reorder ||
                         r[GN_LEVEL_GONE].reduction_hi_ns >=
                             r[GN_LEVEL_FASTEST].reduction_hi_ns * (1 - nearly) - 1,
                     "less to do gains no less");
        late[p] = false;
        const int64_t longest = gn_sections_longest(s, p);
        if (longest >= 0) {
            const struct gn_section_difference d = gn_sections_differ_one(s, (size_t)longest, p);
            history_must(d.own_ns > d.others_ns, "where it takes longest, it takes longer");
        }
    }
}

static void check_growth(const struct gn_sections *s)
{
    struct gn_error err = {""};
    for (size_t i = 0; i < s->site_count && i < SITES; i++) {
        const struct gn_section_growth g = gn_sections_growth(s, i);
        struct gn_whatif_result r;
        history_must(g.factor == 0 ||
                         (g.factor > 1 && g.begin_ns <= g.first_ns && g.most_ns <= g.all_ns * (1 + nearly)),
                     "what grows was less");
        history_must(gn_levelled_to(&r, s, 0, i, g.first_ns, &err) == 0, "a replay");
        check_reduction(&r);
    }
}

static void check_tally(const struct gn_site_tally *t)
{
    for (size_t i = 0; i < t->seen->site_count; i++) {
        const struct gn_tallied told = gn_site_tally_of(t, i);
        history_must(told.span.lo_ns >= 0 && told.span.lo_ns <= told.span.hi_ns,
                     "what is found is an interval");
        history_must((told.times > 0) == (told.process != GN_NONE), "it is somebody's");
    }
}

static void check_parts(const struct gn_meanwhile_parts *parts)
{
    double low = 0, high = 0;
    for (size_t k = 0; k < parts->count; k++) {
        const struct gn_meanwhile_part *part = &parts->items[k];
        history_must(part->low >= 0 && part->low <= part->high && part->high <= 1, "a share is an interval");
        history_must((part->process == GN_NONE) == (part->doing == GN_DOING_OTHER), "it is somebody's");
        low += part->low;
        high += part->high;
    }
    history_must(parts->count == 0 || (low <= 1 + nearly && high >= 1 - nearly), "shares add up to all");
}

static void check_meanwhile(const struct gn_seen *seen)
{
    struct gn_error err = {""};
    for (size_t i = 0; i < seen->parts[0].waits.edges.count && i < SITES; i++) {
        const struct gn_wait_edge *edge = &seen->parts[0].waits.edges.items[i];
        struct gn_meanwhile m;
        if (edge->giver == GN_NONE)
            continue;
        const uint32_t process = seen->definitions->locations[edge->giver].process;
        history_must(gn_meanwhile_find(&m, seen, edge->region, edge->path, process, &err) == 0,
                     "what is done meanwhile");
        check_parts(&m.direct);
        check_parts(&m.roots);
    }
}

static void check_sooner(const struct gn_seen *seen)
{
    struct gn_error err = {""};
    for (size_t i = 0; i < seen->site_count && i < SITES; i++)
        for (int are_receives = 0; are_receives <= 1; are_receives++) {
            struct gn_whatif_result r;
            history_must(gn_sooner_find(&r, seen, 0, i, are_receives, &err) == 0, "a replay");
            check_reduction(&r);
        }
}

/* What explain makes of it, with nothing known but the events. */
static void check_problems(const struct gn_seen *seen)
{
    static struct gn_problems problems;
    struct gn_summary summary = {.ranks = (int)seen->definitions->process_count,
                                 .world = (int)seen->definitions->process_count,
                                 .elapsed_s = seen->run_ns * 1e-9};
    struct gn_error err = {""};
    gn_problems_find(&problems, &summary);
    history_must(gn_problems_see(&problems, &summary, seen, &err) == 0, "problems");
    gn_problems_rank(&problems, &summary);
    for (size_t i = 0; i < problems.count; i++) {
        const struct gn_problem *p = &problems.items[i];
        history_must(p->gain_low_s >= 0 && p->gain_low_s <= p->gain_high_s &&
                         p->gain_high_s <= summary.elapsed_s,
                     "a gain is within the run");
    }
}

void seen_check(const struct gn_history *history)
{
    struct gn_seen_part part = {.history = *history};
    struct gn_seen seen = {.definitions = history->definitions,
                           .parts = &part,
                           .count = 1,
                           .is_whole = true,
                           .measured_ns = fmax(1, (double)history->length.hi_ns)};
    struct gn_sections sections;
    struct gn_overlap overlap;
    struct gn_site_tally avoidable;
    struct gn_error err = {""};
    bool *late = calloc(history->definitions->process_count + 1, sizeof *late);
    history_must(late && gn_waits_find(&part.waits, history, NULL, &err) == 0, "waits");
    gn_seen_set_window(&part, seen.definitions, NULL);
    history_must(gn_seen_measure(&seen) == 0, "sites");
    history_must(gn_sections_find(&sections, &seen) == 0, "sections");
    check_levels(&sections, late);
    check_growth(&sections);
    gn_sections_clear(&sections);
    history_must(gn_overlap_find(&overlap, &seen, &err) == 0, "overlap");
    check_tally(&overlap.stalled);
    check_tally(&overlap.moved);
    gn_overlap_clear(&overlap);
    history_must(gn_wrong_order_find(&avoidable, &seen, &err) == 0, "the order of receives");
    check_tally(&avoidable);
    gn_site_tally_clear(&avoidable);
    check_meanwhile(&seen);
    check_sooner(&seen);
    check_problems(&seen);
    free(late);
    part.history = (struct gn_history){.definitions = NULL}; /* whoever gave it clears it */
    seen.parts = NULL;
    seen.count = 0;
    gn_waits_clear(&part.waits);
    gn_seen_clear(&seen);
}

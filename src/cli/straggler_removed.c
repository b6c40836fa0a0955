#include "cli/straggler_removed.h"

#include "analyse/names.h"
#include "analyse/scores.h"
#include "answer/stragglers_report.h"
#include "cli/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- a change ---- */

struct attempt {
    struct gn_whatif_pass *pass;
    float *share;
    bool *at_location;
};

static struct gn_whatif_result try_share(const struct gn_whatif_report *r, const struct attempt *a,
                                         double share)
{
    const struct gn_definitions *d = r->history->definitions;
    const struct gn_whatif what = {.share = a->share, .at_location = r->processes ? a->at_location : NULL};
    for (size_t i = 0; i < r->history->activity_count; i++)
        a->share[i] = r->chosen[i] ? (float)share : 0;
    for (size_t l = 0; l < d->location_count && r->processes; l++)
        a->at_location[l] = r->processes[d->locations[l].process];
    return gn_whatif(a->pass, &what);
}

/* A larger share gains no less: what holds at both ends holds between them; but where the order changes,
 * either may be the longer run. */
static struct gn_whatif_result around(const struct gn_whatif_result *less,
                                      const struct gn_whatif_result *more)
{
    struct gn_whatif_result all = *more;
    if (less->length.hi_ns > all.length.hi_ns || !more->may_reorder) {
        all.length.hi_ns = less->length.hi_ns;
        all.reduction_lo_ns = less->reduction_lo_ns;
        all.speedup_lo = less->speedup_lo;
    }
    if (less->length.lo_ns < all.length.lo_ns) {
        all.length.lo_ns = less->length.lo_ns;
        all.reduction_hi_ns = less->reduction_hi_ns;
        all.speedup_hi = less->speedup_hi;
    }
    all.may_reorder = less->may_reorder || more->may_reorder;
    return all;
}

int gn_change_try(struct gn_whatif_report *r, struct gn_error *err)
{
    struct attempt a = {gn_whatif_pass_new(r->history),
                        calloc(r->history->activity_count + 1, sizeof *a.share),
                        calloc(r->history->definitions->location_count + 1, sizeof *a.at_location)};
    const bool has_memory = a.pass && a.share && a.at_location;
    if (has_memory) {
        const struct gn_whatif_result less = try_share(r, &a, r->share_lo);
        const struct gn_whatif_result more = r->share_hi > r->share_lo ? try_share(r, &a, r->share_hi) : less;
        r->result = around(&less, &more);
    }
    gn_whatif_pass_free(a.pass);
    free(a.share);
    free(a.at_location);
    return has_memory ? 0 : gn_fail(err, -ENOMEM, "no memory for %zu calls", r->history->call_count);
}

/* ---- the straggler ---- */

struct work {
    double lo_ns, hi_ns;
};

/* What the process computes in the chosen activities. Threads that go along with others do so beside them. */
static struct work work_of(const struct gn_whatif_report *r, uint32_t process)
{
    const struct gn_history *h = r->history;
    struct work work = {0, 0};
    for (size_t c = 0; c < h->call_count; c++) {
        const struct gn_call *call = &h->calls[c];
        if (h->definitions->locations[call->location].process != process || h->is_carried[call->location])
            continue;
        for (uint32_t i = call->first_piece; i < call->first_piece + call->piece_count; i++)
            if (r->chosen[h->pieces[i].activity] && h->pieces[i].kind != GN_PIECE_JOIN) {
                work.lo_ns += h->pieces[i].lo_ns;
                work.hi_ns += h->pieces[i].hi_ns;
            }
    }
    return work;
}

static double at_most_1(double share)
{
    return share < 1 ? share : 1;
}

/* What goes, ns: from so much of its work. */
static void apply(struct gn_whatif_report *r, uint32_t process, struct gn_score score, struct work goes)
{
    const struct work work = work_of(r, process);
    r->straggler = process;
    r->score_lo = score.lo;
    r->score_hi = score.hi;
    r->share_lo = work.hi_ns > 0 && goes.lo_ns > 0 ? at_most_1(goes.lo_ns / work.hi_ns) : 0;
    r->share_hi = work.lo_ns > 0 && goes.hi_ns > 0 ? at_most_1(goes.hi_ns / work.lo_ns) : 0;
}

static uint32_t process_of(const struct gn_whatif_report *r, const struct gn_groups *groups, uint32_t group)
{
    return r->history->definitions->locations[groups->first[group]].process;
}

/* Of those who are in a region the one with the largest score goes, as `stragglers --busy` says. */
static uint32_t first_of(const struct gn_scores *scores)
{
    uint32_t best = GN_NONE;
    for (uint32_t i = 0; i < scores->count; i++)
        if (scores->scores[i].hi > 0 && (best == GN_NONE || scores->scores[i].lo > scores->scores[best].lo ||
                                         (scores->scores[i].lo == scores->scores[best].lo &&
                                          scores->scores[i].hi > scores->scores[best].hi)))
            best = i;
    return best;
}

static int find_among(struct gn_whatif_report *r, const struct gn_groups *groups, const struct gn_named *busy,
                      bool *processes, struct gn_error *err)
{
    const struct gn_scores_settings settings = {.busy = busy};
    struct gn_scores scores;
    int code = gn_scores_find(&scores, r->history, groups, &settings, err);
    if (code < 0)
        return code;
    const uint32_t first = first_of(&scores);
    if (first == GN_NONE) {
        code = gn_fail(err, -ENOENT, "there is no straggler: no rank was ever busy while all others waited");
    } else {
        const uint32_t process = process_of(r, groups, first);
        const struct gn_score score = scores.scores[first];
        apply(r, process, score,
              (struct work){score.lo / 100 * (double)r->history->length.lo_ns,
                            score.hi / 100 * (double)r->history->length.hi_ns});
        processes[process] = true;
    }
    gn_scores_clear(&scores);
    return code;
}

static int remove_first(struct gn_whatif_report *r, struct gn_stragglers_report *named, bool *processes,
                        struct gn_error *err)
{
    int code = gn_stragglers_rank(named, err);
    if (code < 0)
        return code;
    if (named->verdict == GN_STRAGGLER_NOBODY) {
        code = gn_fail(err, -ENOENT, "there is no straggler: nobody holds the others up");
    } else {
        const struct gn_straggler *first = &named->list[0];
        const uint32_t process = process_of(r, named->groups, first->group);
        apply(r, process, named->scores->scores[first->group],
              (struct work){first->extra.lo_ns, first->extra.hi_ns});
        processes[process] = true;
    }
    free(named->list);
    return code;
}

/* The one that `stragglers` names. What goes is what it was busy beyond the others' mean. */
static int find_named(struct gn_whatif_report *r, const struct gn_groups *groups, bool *processes,
                      struct gn_error *err)
{
    const struct gn_scores_settings settings = {.busy = NULL};
    struct gn_scores scores;
    struct gn_waits waits;
    int code = gn_scores_find(&scores, r->history, groups, &settings, err);
    if (code < 0)
        return code;
    code = gn_waits_find(&waits, r->history, NULL, err);
    if (code == 0) {
        struct gn_stragglers_report named = {.path = r->path,
                                             .history = r->history,
                                             .groups = groups,
                                             .waits = &waits,
                                             .scores = &scores,
                                             .by = GN_SCORED_RANK};
        code = remove_first(r, &named, processes, err);
        gn_waits_clear(&waits);
    }
    gn_scores_clear(&scores);
    return code;
}

int gn_straggler_find(struct gn_whatif_report *r, const char *region, bool *processes, struct gn_error *err)
{
    struct gn_named busy;
    struct gn_groups groups;
    if (!gn_named_open(&busy, r->history->definitions))
        return gn_fail(err, -ENOMEM, "no memory for the trace's names");
    const bool is_entered = region && gn_named_add(&busy, r->history, region) > 0;
    int code = gn_groups_make(&groups, r->history, GN_SCORED_RANK, err);
    if (code == 0) {
        code = is_entered ? find_among(r, &groups, &busy, processes, err)
                          : find_named(r, &groups, processes, err);
        gn_groups_clear(&groups);
    }
    gn_named_clear(&busy);
    return code;
}

static void show_progress(void *self, double share)
{
    gn_progress_show(self, "trying changes", share);
}

int gn_changes_tried(struct gn_sweep *sweep, const struct gn_history *history,
                     const struct gn_critical *critical, size_t most, struct gn_error *err)
{
    struct gn_progress progress = gn_progress_begin(true);
    const struct gn_sweep_settings settings = {
        .best = most ? most : SIZE_MAX, .progress = show_progress, .self = &progress};
    const int code = gn_sweep(sweep, history, critical, &settings, err);
    gn_progress_end(&progress);
    return code;
}

/* Ranks that are late beside others: of which one alone gains nothing, that gain something together, and
 * those behind the longest. */
#include "analyse/patterns_rank.h"

#include "analyse/levelled.h"

#include <math.h>

/* Whether it is longer than others that do the same (rows end by calls, and may only seem so), and nothing is
 * gained when it is not. */
static int see_slack(const struct gn_look *l, struct gn_problem_slack *slack, struct gn_error *err)
{
    const uint32_t process = gn_process_of_rank(l->seen->definitions, slack->rank);
    const int64_t section = process == GN_NONE ? -1 : gn_sections_longest(&l->sections, process);
    const struct gn_section_difference d =
        section < 0 ? (struct gn_section_difference){0}
                    : gn_sections_differ_one(&l->sections, (size_t)section, process);
    const bool was_sure = slack->is_sure;
    slack->longer_s = (d.own_ns - d.others_ns) * 1e-9;
    slack->is_sure = d.others_ns > 0 && slack->longer_s >= GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s;
    if (!slack->is_sure || was_sure)
        return 0;
    slack->is_sure = false;
    /* of calls in which nothing is known to be waited for replay knows nothing: messages may move only inside
     * of them */
    if (gn_look_own_mpi(l).high > 0.1 * slack->longer_s)
        return 0;
    for (size_t i = 0; i < l->seen->definitions->process_count; i++)
        l->late[i] = i == process;
    struct gn_levels levels;
    struct gn_whatif_result replayed[GN_LEVELS];
    int code = gn_levels_open(&levels, &l->sections, l->late, err);
    if (code == 0)
        code = gn_levels_replay(&levels, 0, replayed, err);
    gn_levels_close(&levels);
    slack->is_sure = code == 0 && replayed[GN_LEVEL_GONE].reduction_hi_ns * 1e-9 <
                                      GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s;
    return code;
}

/* Those that do less elsewhere: whether nothing is gained by them, only replay can tell. */
static int see_slacks(const struct gn_look *l, struct gn_error *err)
{
    struct gn_problems *all = l->problems;
    size_t kept = 0;
    int code = 0;
    for (size_t i = 0; i < all->slack_count && code == 0; i++) {
        if (l->seen->is_whole && l->sections.site_count > 0)
            code = see_slack(l, &all->slacks[i], err);
        if (all->slacks[i].is_sure)
            all->slacks[kept++] = all->slacks[i];
    }
    all->slack_count = kept;
    return code;
}

static bool has_slack_of(const struct gn_problems *all, int rank)
{
    for (size_t i = 0; i < all->slack_count; i++)
        if (all->slacks[i].rank == rank)
            return true;
    return false;
}

/* Ranks of which none gains anything alone may gain it together: those that are as late as each other. */
static int join_slacks(const struct gn_look *l, struct gn_error *err)
{
    struct gn_problems *all = l->problems;
    struct gn_replayed r;
    if (all->slack_count < 2 || !l->seen->is_whole || l->sections.site_count == 0)
        return 0;
    struct gn_problem p = gn_problem_of_slack(&all->slacks[0]);
    for (uint32_t i = 0; i < l->seen->definitions->process_count; i++) {
        l->late[i] = false;
        for (size_t k = 0; k < all->slack_count; k++)
            l->late[i] |= all->slacks[k].rank == gn_look_rank(l, i);
    }
    const int code = gn_look_replay(l, &r, err);
    if (code < 0 || r.like.hi_ns * 1e-9 < GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s)
        return code;
    uint32_t latest = gn_process_of_rank(l->seen->definitions, p.rank);
    const int64_t section = gn_sections_longest(&l->sections, latest);
    if (section >= 0) {
        const struct gn_section_difference d = gn_sections_differ(&l->sections, (size_t)section, l->late);
        p.own_s = d.own_ns * 1e-9;
        p.others_s = d.others_ns * 1e-9;
    }
    gn_look_tell_late(l, &p);
    gn_look_tell_times(l, &p, &latest);
    p.assumes = GN_PROBLEM_SAME | GN_PROBLEM_ALONE;
    const struct gn_span like = gn_look_by_chance(&r, r.like), even = gn_look_by_chance(&r, r.even);
    p.lost_low_s = r.like.lo_ns * 1e-9;
    p.gain_low_s = like.lo_ns * 1e-9;
    p.gain_high_s = p.lost_high_s = like.hi_ns * 1e-9;
    p.even_low_s = even.lo_ns * 1e-9;
    p.even_high_s = even.hi_ns * 1e-9;
    p.is_replayed = true;
    gn_look_allow_for_repeats(l, &p);
    gn_look_tell_gains(l, &p, &r);
    gn_look_tell_chain(l, &p, latest, NULL, GN_PROBLEM_HOPS);
    const int told = gn_look_tell_meanwhile(l, &p, err);
    gn_problems_add(all, l->s, p);
    all->slack_count = 0;
    return told;
}

/* Ranks that are late in a section by themselves, though another one is so for longer where the profile has
 * it. */
static int add_late_ones(const struct gn_look *l, struct gn_error *err)
{
    enum { MOST = 4 };
    const double least_ns = 2 * GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s * 1e9;
    int code = 0, added = 0;
    for (uint32_t i = 0;
         i < l->sections.process_count && l->sections.site_count > 0 && code == 0 && added < MOST; i++) {
        const int64_t section = gn_sections_longest(&l->sections, i);
        const int rank = gn_look_rank(l, i);
        const struct gn_section_difference d = section < 0
                                                   ? (struct gn_section_difference){0}
                                                   : gn_sections_differ_one(&l->sections, (size_t)section, i);
        if (d.others_ns <= 0 || d.own_ns - d.others_ns < least_ns || gn_look_has_problem(l, rank) ||
            has_slack_of(l->problems, rank) || gn_look_caused_ns(l, i, GN_NONE, GN_NONE) < least_ns ||
            gn_look_evens_out(l, i, d))
            continue;
        const struct gn_call_place after = gn_call_place_of(l->seen, &l->seen->sites[section]);
        const struct gn_activity_row *row = gn_look_computation_after(l->s, after, d.own_ns, rank);
        if (!row)
            continue;
        struct gn_problem p = gn_problem_of_slack(
            &(struct gn_problem_slack){rank, row, d.own_ns * 1e-9, d.others_ns * 1e-9, 0, false});
        gn_look_tell_place(l->s, &p, after);
        gn_problem_is_alone(&p, d.others_ns * 1e-9 * fmax(0, l->s->ranks - 1));
        p.gain_high_s = p.lost_high_s = (d.own_ns - d.others_ns) * 1e-9;
        code = gn_look_see_rank(l, &p, err);
        gn_problems_add(l->problems, l->s, p);
        added++;
    }
    return code;
}

int gn_look_at_late_ones(const struct gn_look *l, struct gn_error *err)
{
    int code = see_slacks(l, err);
    code = code == 0 ? join_slacks(l, err) : code;
    code = code == 0 ? gn_look_add_group(l, err) : code;
    return code == 0 ? add_late_ones(l, err) : code;
}

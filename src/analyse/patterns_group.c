/* Ranks that do other parts of the program than the others (a model of several components): a part that only
 * they do tells none of them from each other, and together they are late by all that they compute. */
#include "analyse/patterns_rank.h"

#include <math.h>

/* Those that are as late as the process, by all that they compute in the run. */
struct group {
    double late_s, others_s; /* in the mean */
    size_t late, others;
};

static double useful_s(const struct gn_look *l, uint32_t process)
{
    const int rank = gn_look_rank(l, process);
    if (rank >= 0 && (size_t)rank < l->s->rank_count && l->s->ranks_told[rank].rank == rank) /* mostly */
        return l->s->ranks_told[rank].useful_s;
    for (size_t i = 0; i < l->s->rank_count; i++)
        if (l->s->ranks_told[i].rank == rank)
            return l->s->ranks_told[i].useful_s;
    return NAN;
}

/* Of a rank that is not told nobody is late with the process. */
static struct group find_group(const struct gn_look *l, uint32_t process)
{
    const size_t count = l->sections.process_count;
    struct group g = {.late = 0};
    double mean = 0;
    for (uint32_t i = 0; i < count; i++)
        mean += useful_s(l, i) / (double)count;
    const double least = mean + GN_PROBLEM_AS_LATE * (useful_s(l, process) - mean);
    for (uint32_t i = 0; i < count; i++) {
        const double s = useful_s(l, i);
        const bool is_late = i == process || (least > mean && s >= least);
        *(is_late ? &g.late_s : &g.others_s) += s;
        *(is_late ? &g.late : &g.others) += 1;
        l->late[i] = is_late;
    }
    g.late_s /= fmax(1, (double)g.late);
    g.others_s /= fmax(1, (double)g.others);
    return g;
}

/* Nothing between polls, where ranks wait. */
static struct gn_section_difference differ(const struct gn_look *l, size_t site)
{
    return l->seen->sites[site].is_polled ? (struct gn_section_difference){.own_ns = 0}
                                          : gn_sections_differ(&l->sections, site, l->late);
}

/* What they compute where nobody else computes anything; of each, in the mean. */
static double alone_s(const struct gn_look *l)
{
    double ns = 0;
    for (size_t i = 0; i < l->sections.site_count; i++) {
        const struct gn_section_difference d = differ(l, i);
        ns += d.others_ns > 0 ? 0 : d.own_ns;
    }
    return ns * 1e-9;
}

/* What the process computes longer than those of them that do the same. */
static double beyond_peers_s(const struct gn_look *l, uint32_t process)
{
    double ns = 0;
    for (size_t i = 0; i < l->sections.site_count; i++) {
        const struct gn_section_difference d = gn_sections_differ_one(&l->sections, i, process);
        ns += l->seen->sites[i].is_polled || d.others_ns <= 0 ? 0 : fmax(0, d.own_ns - d.others_ns);
    }
    return ns * 1e-9;
}

bool gn_look_is_in_group(const struct gn_look *l, uint32_t process)
{
    static const double half = 0.5, /* of what they are late by */
        a_part = 0.25;              /* who hardly computes has another role */
    const struct group g = find_group(l, process);
    const double longer_s = g.late_s - g.others_s;
    return g.late > 1 && g.others > 0 && (l->seen->is_whole || l->seen->after) &&
           gn_problems_can_compare(l->s) && !l->s->has_naps && g.others_s >= a_part * g.late_s &&
           longer_s >= GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s && alone_s(l) >= half * longer_s &&
           beyond_peers_s(l, process) <= half * longer_s;
}

/* In which they take longer than the others, who may not do it at all, by most; below 0: there is none. */
static int64_t longest_of(const struct gn_look *l)
{
    int64_t longest = -1;
    double most_ns = 0;
    for (size_t i = 0; i < l->sections.site_count; i++) {
        const struct gn_section_difference d = differ(l, i);
        if (d.own_ns - d.others_ns > most_ns) {
            most_ns = d.own_ns - d.others_ns;
            longest = (int64_t)i;
        }
    }
    return longest;
}

int64_t gn_look_tell_group(const struct gn_look *l, struct gn_problem *p, uint32_t process)
{
    const struct group g = find_group(l, process);
    const int64_t section = longest_of(l);
    gn_look_tell_late(l, p);
    if (section < 0)
        return section;
    const struct gn_section_difference d = differ(l, (size_t)section);
    const struct gn_call_place after = gn_call_place_of(l->seen, &l->seen->sites[section]);
    const struct gn_activity_row *row = gn_look_computation_after(l->s, after, d.own_ns, p->rank);
    p->is_group = p->is_everywhere = true;
    gn_problem_is_shared(p);
    if (row && row != p->row) {
        p->pattern = gn_problem_of_slack(&(struct gn_problem_slack){.rank = p->rank}).pattern;
        p->is_preempted = false;
        p->preempted_s = 0;
        p->row = row;
        gn_look_tell_place(l->s, p, after);
    }
    p->range = NULL;
    p->more_places = 0;
    p->own_s = g.late_s;
    p->others_s = g.others_s;
    p->lost_low_s = p->gain_low_s = 0;
    p->lost_high_s = p->gain_high_s = p->own_s - p->others_s;
    p->even_s = p->lost_high_s * (double)g.others / (double)(g.late + g.others);
    return section;
}

/* Whether a problem is about one of those that are late. */
static bool is_told(const struct gn_look *l)
{
    for (size_t i = 0; i < l->problems->count; i++) {
        const struct gn_problem *p = &l->problems->items[i];
        const uint32_t process =
            gn_problem_is_of_rank(p) ? gn_process_of_rank(l->seen->definitions, p->rank) : GN_NONE;
        if (process != GN_NONE && l->late[process])
            return true;
    }
    return false;
}

int gn_look_add_group(const struct gn_look *l, struct gn_error *err)
{
    const double least_ns = 2 * GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s * 1e9;
    uint32_t latest = 0;
    if (l->sections.site_count == 0)
        return 0;
    for (uint32_t i = 1; i < l->sections.process_count; i++)
        latest = useful_s(l, i) > useful_s(l, latest) ? i : latest;
    const int rank = gn_look_rank(l, latest);
    if (!gn_look_is_in_group(l, latest) || is_told(l) ||
        gn_look_caused_ns(l, latest, GN_NONE, GN_NONE) < least_ns)
        return 0;
    const int64_t section = longest_of(l);
    const struct gn_activity_row *row =
        section < 0 ? NULL
                    : gn_look_computation_after(l->s, gn_call_place_of(l->seen, &l->seen->sites[section]),
                                                least_ns, rank);
    if (!row)
        return 0;
    struct gn_problem p = gn_problem_of_slack(&(struct gn_problem_slack){rank, row, 0, 0, 0, false});
    const int code = gn_look_see_rank(l, &p, err);
    gn_problems_add(l->problems, l->s, p);
    return code;
}

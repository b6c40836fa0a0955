/* Ranks that do other parts of the program than the others (a model of several components): a part that only
 * they do tells none of them from each other, and together they are late by all that they compute. */
#include "analyse/patterns_rank.h"

#include <math.h>

/* In all sections, so much; but between polls, where it may wait. */
static double all_ns(const struct gn_look *l, uint32_t process)
{
    double ns = 0;
    for (size_t i = 0; i < l->sections.site_count; i++)
        ns += l->seen->sites[i].is_polled ? 0 : l->sections.sums[i * l->sections.process_count + process].ns;
    return ns;
}

/* Those that are as late as the process, in all. */
struct group {
    double late_ns, others_ns; /* in the mean */
    size_t late, others;
};

static struct group find_group(const struct gn_look *l, uint32_t process)
{
    const size_t count = l->sections.process_count;
    struct group g = {.late = 0};
    double mean = 0;
    for (uint32_t i = 0; i < count; i++)
        mean += all_ns(l, i) / (double)count;
    const double least = mean + GN_PROBLEM_AS_LATE * (all_ns(l, process) - mean);
    for (uint32_t i = 0; i < count; i++) {
        const double ns = all_ns(l, i);
        const bool is_late = i == process || (least > mean && ns >= least);
        *(is_late ? &g.late_ns : &g.others_ns) += ns;
        *(is_late ? &g.late : &g.others) += 1;
        l->late[i] = is_late;
    }
    g.late_ns /= fmax(1, (double)g.late);
    g.others_ns /= fmax(1, (double)g.others);
    return g;
}

/* What they compute longer where others do the same. */
static double longer_alike_ns(const struct gn_look *l)
{
    double ns = 0;
    for (size_t i = 0; i < l->sections.site_count; i++) {
        const struct gn_section_difference d = gn_sections_differ(&l->sections, i, l->late);
        ns += d.others_ns > 0 ? fmax(0, d.own_ns - d.others_ns) : 0;
    }
    return ns;
}

bool gn_look_is_in_group(const struct gn_look *l, uint32_t process)
{
    static const double most = 0.5; /* of what they are late by */
    const struct group g = find_group(l, process);
    const double longer_ns = g.late_ns - g.others_ns;
    return g.late > 1 && g.others > 0 && longer_ns >= GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s * 1e9 &&
           longer_alike_ns(l) < most * longer_ns;
}

/* In which they take longer than the others, who may not do it at all, by most; below 0: there is none. */
static int64_t longest_of(const struct gn_look *l)
{
    int64_t longest = -1;
    double most_ns = 0;
    for (size_t i = 0; i < l->sections.site_count; i++) {
        const struct gn_section_difference d = gn_sections_differ(&l->sections, i, l->late);
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
    const struct gn_section_difference d = gn_sections_differ(&l->sections, (size_t)section, l->late);
    const struct gn_call_place after = gn_call_place_of(l->seen, &l->seen->sites[section]);
    const struct gn_activity_row *row = gn_look_computation_after(l->s, after, d.own_ns, p->rank);
    p->is_group = p->is_everywhere = true;
    gn_problem_is_shared(p);
    if (row) {
        p->row = row;
        gn_look_tell_place(l->s, p, after);
        p->range = NULL;
    }
    p->more_places = 0;
    p->own_s = g.late_ns * 1e-9;
    p->others_s = g.others_ns * 1e-9;
    p->lost_low_s = p->gain_low_s = 0;
    p->lost_high_s = p->gain_high_s = p->own_s - p->others_s;
    p->even_s = p->lost_high_s * (double)g.others / (double)(g.late + g.others);
    return section;
}

int gn_look_add_group(const struct gn_look *l, struct gn_error *err)
{
    const double least_ns = 2 * GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s * 1e9;
    uint32_t latest = 0;
    for (uint32_t i = 1; i < l->sections.process_count; i++)
        latest = all_ns(l, i) > all_ns(l, latest) ? i : latest;
    const int rank = gn_look_rank(l, latest);
    if (l->sections.site_count == 0 || gn_look_has_problem(l, rank) || !gn_look_is_in_group(l, latest) ||
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

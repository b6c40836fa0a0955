/* What takes longer and longer while the run goes on. */
#include "analyse/patterns_look.h"

#include <math.h>
#include <string.h>

static const struct gn_problem_pattern growth = {.name = "growth over time",
                                                 .remedy =
                                                     "each time takes longer than the one before: look for "
                                                     "what gathers (lists, fragments, files, memory)"};
static const double of_one_rank = 0.8; /* of what is grown: then it is that rank's matter */

/* The profile's computation after a call: by its range, or, where samples name it, the only one that is as
 * long. NULL: nobody knows. */
static const struct gn_activity_row *computation_after(const struct gn_summary *s, struct gn_call_place place,
                                                       double all_ns)
{
    const struct gn_activity_row *longest = NULL;
    for (size_t i = 0; i < s->row_count; i++) {
        const struct gn_activity_row *row = &s->rows[i];
        if (strcmp(row->kind, "computation") != 0)
            continue;
        if (row->how == GN_HOW_RANGE && row->line == place.line && row->file &&
            strcmp(row->file, place.file) == 0)
            return row;
        if (row->how == GN_HOW_SAMPLED && (!longest || row->total_ns > longest->total_ns))
            longest = row;
    }
    return longest && (double)longest->total_ns >= all_ns / 2 ? longest : NULL;
}

static void add_growth(const struct gn_look *l, size_t section, const struct gn_section_growth *g)
{
    const size_t processes = l->sections.process_count;
    const struct gn_call_place place = gn_call_place_of(l->seen, &l->seen->sites[section]);
    double all_ns = 0;
    for (size_t p = 0; p < processes; p++)
        all_ns += l->sections.sums[section * processes + p].ns;
    const double high = g->more_ns * 1e-9;
    gn_problems_add(
        l->problems, l->s,
        (struct gn_problem){
            .pattern = &growth,
            .row = computation_after(l->s, place, all_ns),
            .rank = -1,
            .differs = {.call = place.call,
                        .function = place.function,
                        .file = place.file,
                        .line = place.line,
                        .times = NAN,
                        .each = NAN},
            .grows = g->factor,
            .lost_low_s = g->least_ns * 1e-9,
            .lost_high_s = high,
            .gain_low_s = fmax(0, g->least_ns * 1e-9 - GN_PROBLEM_REPEATED_SHARE * l->s->elapsed_s),
            .gain_high_s = high + GN_PROBLEM_REPEATED_SHARE * l->s->elapsed_s,
            .sure = GN_PROBLEM_POSSIBLE,
            .assumes = GN_PROBLEM_SAME | GN_PROBLEM_REPEATS | GN_PROBLEM_FIRST_FIFTH | gn_look_assumed(l)});
}

void gn_look_at_growth(const struct gn_look *l)
{
    for (size_t i = 0; i < l->sections.site_count; i++) {
        const struct gn_section_growth g = gn_sections_growth(&l->sections, i);
        const double processes = fmax(1, (double)l->sections.process_count);
        if (g.factor > 0 && (processes < 2 || g.most_ns < of_one_rank * g.mean_ns * processes) &&
            g.mean_ns * 1e-9 >= GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s)
            add_growth(l, i, &g);
    }
}

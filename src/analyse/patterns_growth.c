/* What takes longer and longer while the run goes on. */
#include "analyse/levelled.h"
#include "analyse/patterns_look.h"

#include <math.h>
#include <string.h>

static const struct gn_problem_pattern growth = {
    .name = "growth over time",
    .replay = "with each time as long as in the first fifth of the run, or as at its begin",
    .remedy = "each time takes longer than the one before: look for "
              "what gathers (lists, fragments, files, memory)"};
static const double of_one_rank = 0.8; /* of what is grown: then it is that rank's matter */

/* What is gained when each time takes so long at most. */
static int replay(const struct gn_look *l, size_t section, double base_ns, struct gn_span *gain,
                  struct gn_error *err)
{
    for (size_t i = 0; i < l->seen->count; i++) {
        struct gn_whatif_result r;
        const int code = gn_levelled_to(&r, &l->sections, i, section, base_ns, err);
        if (code < 0)
            return code;
        l->each[i] = (struct gn_span){fmax(0, r.reduction_lo_ns), fmax(0, r.reduction_hi_ns)};
    }
    *gain = gn_seen_total(l->seen, l->each);
    return 0;
}

static int add_growth(const struct gn_look *l, size_t section, const struct gn_section_growth *g,
                      struct gn_error *err)
{
    const size_t processes = l->sections.process_count;
    const struct gn_call_place place = gn_call_place_of(l->seen, &l->seen->sites[section]);
    struct gn_span first, begin = {0, 0};
    double all_ns = 0;
    int code = replay(l, section, g->first_ns, &first, err);
    if (code == 0)
        code = replay(l, section, g->begin_ns, &begin, err);
    if (code < 0)
        return code;
    for (size_t p = 0; p < processes; p++)
        all_ns += l->sections.sums[section * processes + p].ns;
    struct gn_problem p = {.pattern = &growth,
                           .row = gn_look_computation_after(l->s, place, all_ns, -1),
                           .rank = -1,
                           .differs = {.call = place.call,
                                       .function = place.function,
                                       .file = place.file,
                                       .line = place.line,
                                       .times = NAN,
                                       .each = NAN},
                           .grows = g->factor,
                           .is_replayed = true,
                           .lost_low_s = first.lo_ns * 1e-9,
                           .lost_high_s = fmin(begin.hi_ns * 1e-9, l->s->elapsed_s),
                           .gain_low_s = first.lo_ns * 1e-9,
                           .gain_high_s = fmin(begin.hi_ns * 1e-9, l->s->elapsed_s),
                           .sure = GN_PROBLEM_POSSIBLE,
                           .assumes = GN_PROBLEM_SAME | GN_PROBLEM_FIRST_FIFTH | gn_look_assumed(l)};
    gn_look_allow_for_repeats(l, &p);
    gn_problems_add(l->problems, l->s, p);
    return 0;
}

int gn_look_at_growth(const struct gn_look *l, struct gn_error *err)
{
    int code = 0;
    for (size_t i = 0; i < l->sections.site_count && code == 0; i++) {
        const struct gn_section_growth g = gn_sections_growth(&l->sections, i);
        const bool is_of_all =
            g.processes < 2 ? l->sections.process_count == 1 : g.most_ns < of_one_rank * g.all_ns;
        if (g.factor > 0 && is_of_all &&
            g.all_ns * 1e-9 >= GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s * (double)g.processes)
            code = add_growth(l, i, &g, err);
    }
    return code;
}

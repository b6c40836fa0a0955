/*
 * The what-if against the truth: a synthetic program is looked at through wrong clocks, and then run again
 * with a computation really made faster, everything else (and all random numbers) being the same. Its length
 * is within what was foretold.
 *
 * test_whatif_truth [-n CASES] [-s SEED] [-v]
 */
#include "analyse/names.h"
#include "analyse/whatif.h"
#include "base/mix.h"
#include "synth/patterns.h"
#include "synth/skew.h"
#include "synth/synth.h"
#include "synth_history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int cases = 150;
static uint64_t seed = 1;
static bool verbose;

static struct gn_whatif_result foretell(const struct synth_history *s, const char *region, uint32_t rank,
                                        double percent)
{
    const struct gn_history *h = &s->h;
    const size_t locations = h->definitions->location_count;
    bool *chosen = calloc(h->activity_count + 1, sizeof *chosen), *at = calloc(locations + 1, sizeof *at);
    float *share = calloc(h->activity_count + 1, sizeof *share);
    assert_true(gn_activities_named(h, region, chosen) > 0);
    for (size_t a = 0; a < h->activity_count; a++)
        share[a] = chosen[a] ? (float)(percent / 100) : 0;
    for (size_t l = 0; l < locations; l++)
        at[l] = rank == GN_NONE || l == rank;
    struct gn_whatif_pass *pass = gn_whatif_pass_new(h);
    const struct gn_whatif what = {.share = share, .at_location = at};
    struct gn_whatif_result result = gn_whatif(pass, &what);
    gn_whatif_pass_free(pass);
    free(chosen);
    free(at);
    free(share);
    return result;
}

/* ---- random programs ---- */

static double between(uint64_t *random, double low, double high)
{
    return low + (high - low) * gn_mix_unit(gn_mix_next(random));
}

static size_t pattern_count(void)
{
    size_t count = 0;
    while (gn_synth_patterns()[count].name)
        count++;
    return count;
}

static struct gn_synth_settings any_program(uint64_t *random)
{
    static const enum gn_wander wanders[] = {GN_WANDER_NONE, GN_WANDER_SINE, GN_WANDER_RAMP, GN_WANDER_STEP};
    struct gn_synth_settings s = gn_synth_defaults();
    do
        s.pattern = gn_synth_patterns()[gn_mix_next(random) % pattern_count()].name;
    while (strcmp(s.pattern, "lost") == 0 ||
           strcmp(s.pattern, "master") == 0); /* who is served first changes */
    s.locations = 2 + (uint32_t)(gn_mix_next(random) % 9);
    s.iterations = 2 + gn_mix_next(random) % 40;
    s.event_ns = 1; /* what recording takes does not become faster with the computation */
    s.seed = gn_mix_next(random) % 1000000;
    s.domains = 1 + (uint32_t)(gn_mix_next(random) % s.locations);
    s.offset_ns = between(random, 0, 1e6);
    s.rate_ppm = between(random, 0, 50);
    s.wander = wanders[gn_mix_next(random) % 4];
    s.wander_ppm = s.wander == GN_WANDER_NONE ? 0 : pow(10, between(random, -2, 1.5));
    s.wander_period_s = pow(10, between(random, -4, 1));
    s.compute_ns = pow(10, between(random, 3.5, 6));
    s.latency_ns = pow(10, between(random, 2.5, 5));
    s.imbalance = between(random, 0, 1);
    s.measured = true;
    s.measure_error_ns = between(random, 0, 20000);
    s.measure_period_s = 0.001;
    return s;
}

/* How wide the answers are, as shares of the runs' lengths, by pattern. */
static struct widths {
    double sum, most;
    int count;
} widths[64];

static void note_width(const struct gn_synth_settings *s, const struct gn_whatif_result *told,
                       double length_ns)
{
    size_t pattern = 0;
    while (strcmp(gn_synth_patterns()[pattern].name, s->pattern) != 0)
        pattern++;
    const double width = (told->reduction_hi_ns - told->reduction_lo_ns) / length_ns;
    widths[pattern].sum += width;
    widths[pattern].most = fmax(widths[pattern].most, width);
    widths[pattern].count++;
}

static void print_widths(void)
{
    for (size_t i = 0; i < pattern_count(); i++)
        if (widths[i].count)
            printf("%-12s answers are %.2f %% of the run wide, at most %.2f %%\n",
                   gn_synth_patterns()[i].name, 100 * widths[i].sum / widths[i].count, 100 * widths[i].most);
}

static int check(const struct gn_synth_settings *s, const struct synth_history *subject, double length_ns,
                 const char *region, uint32_t rank, double percent)
{
    struct gn_synth_settings faster = *s;
    faster.fast_region = region;
    faster.fast_rank = rank;
    faster.fast_percent = percent;
    const double truth_ns = synth_length(&faster);
    const struct gn_whatif_result told = foretell(subject, region, rank, percent);
    note_width(s, &told, length_ns);
    /* of recording, and whole ticks; and the reference's rate when it is another time */
    const double event_ns =
        2 + 4 * s->event_ns * (double)s->iterations + 2e-6 * s->wander_ppm * fmax(length_ns, truth_ns);
    const bool is_right = truth_ns >= (double)told.length.lo_ns - event_ns &&
                          truth_ns <= (double)told.length.hi_ns + event_ns &&
                          length_ns - truth_ns >= told.reduction_lo_ns - event_ns &&
                          length_ns - truth_ns <= told.reduction_hi_ns + event_ns;
    if (!is_right && subject->h.any_source &&
        strcmp(s->pattern, "master") == 0) /* who comes first has changed: the history says that it may */
        return 0;
    if (!is_right || verbose)
        fprintf(stderr,
                "%s %s -n %u --iterations %lu --seed %lu --domains %u: rank %d, %.0f %% of %s: %.0f → "
                "%.0f ns (%.0f "
                "earlier); told %ld … %ld (%.0f … %.0f earlier)\n",
                is_right ? "right" : "WRONG", s->pattern, s->locations, (unsigned long)s->iterations,
                (unsigned long)s->seed, s->domains, (int)rank, percent, region, length_ns, truth_ns,
                length_ns - truth_ns, (long)told.length.lo_ns, (long)told.length.hi_ns, told.reduction_lo_ns,
                told.reduction_hi_ns);
    return !is_right;
}

static void faster_programs_are_as_foretold(void **state)
{
    (void)state;
    uint64_t random = seed;
    int wrong = 0;
    for (int i = 0; i < cases; i++) {
        const struct gn_synth_settings s = any_program(&random);
        struct synth_history subject;
        synth_history_open(&subject, &s, false);
        const double length_ns = synth_length(&s);
        assert_true(subject.h.unmatched == 0 || strcmp(s.pattern, "unmatched") == 0);
        const struct gn_whatif_result same = foretell(&subject, "compute", GN_NONE, 0);
        assert_int_equal(same.length.lo_ns, subject.h.length.lo_ns);
        assert_int_equal(same.length.hi_ns, subject.h.length.hi_ns);
        if (length_ns < (double)same.length.lo_ns - 4 || length_ns > (double)same.length.hi_ns + 4)
            fail_msg("%s -n %u --iterations %lu --seed %lu --domains %u: %.0f ns are not within %ld … %ld",
                     s.pattern, s.locations, (unsigned long)s.iterations, (unsigned long)s.seed, s.domains,
                     length_ns, (long)same.length.lo_ns, (long)same.length.hi_ns);
        for (int k = 0; k < 3; k++) {
            const uint32_t rank = k == 0 ? GN_NONE : (uint32_t)(gn_mix_next(&random) % s.locations);
            const char *other = gn_pattern_find(s.pattern)->computes;
            const char *region = other && gn_mix_next(&random) % 2 ? other : "compute";
            wrong += check(&s, &subject, length_ns, region, rank, floor(between(&random, 1, 101)));
        }
        synth_history_close(&subject);
    }
    print_widths();
    assert_int_equal(wrong, 0);
}

/* ---- virtual time ---- */

static double middle(struct gn_interval i)
{
    return ((double)i.lo_ns + (double)i.hi_ns) / 2;
}

/* Who measures has made the program longer, and tells it as if not: of what it has become longer, nearly all
 * is taken away. What is left is by chance: a message that would have been waited for takes as long as others
 * do. */
static void what_measuring_costs_goes(void **state)
{
    (void)state;
    uint64_t random = seed + 1;
    double longer[2] = {0, 0}, off[2] = {0, 0}, wide[2] = {0, 0};
    int wrong = 0;
    for (int i = 0; i < cases; i++) {
        struct gn_synth_settings s = any_program(&random);
        s.domains = i % 2 ? s.domains : 1;
        struct gn_synth_settings dear = s;
        struct synth_history subject;
        dear.own_work_ns = s.compute_ns * between(&random, 0.01, 1);
        const double free_ns = synth_length(&s), dear_ns = synth_length(&dear);
        synth_history_open(&subject, &dear, true);
        const double told_ns = middle(subject.h.length);
        if (verbose)
            fprintf(stderr,
                    "%-12s %2u ranks %2lu steps: %8.0f us, measured %+6.1f %%, told %+6.2f %%; share %.3f\n",
                    s.pattern, s.locations, (unsigned long)s.iterations, free_ns * 1e-3,
                    100 * (dear_ns / free_ns - 1), 100 * (told_ns / free_ns - 1), subject.h.own_work_share);
        wide[i % 2] += (double)(subject.h.unmeasured.hi_ns - subject.h.unmeasured.lo_ns) / free_ns;
        const double rounding_ns = 2 * s.event_ns * (double)subject.h.call_count;
        const bool is_right =
            subject.h.gone_ns == NULL || (free_ns >= (double)subject.h.unmeasured.lo_ns - rounding_ns &&
                                          free_ns <= (double)subject.h.unmeasured.hi_ns + rounding_ns);
        if (!is_right) {
            fprintf(stderr, "WRONG: %s -n %u --iterations %lu --seed %lu: %.0f ns, not %ld to %ld\n",
                    s.pattern, s.locations, (unsigned long)s.iterations, (unsigned long)s.seed, free_ns,
                    (long)subject.h.unmeasured.lo_ns, (long)subject.h.unmeasured.hi_ns);
            wrong++;
        }
        longer[i % 2] += fabs(dear_ns / free_ns - 1);
        off[i % 2] += fabs(told_ns / free_ns - 1);
        synth_history_close(&subject);
    }
    for (int k = 0; k < 2; k++)
        printf("%s: measured %.2f %% longer in the mean, told within %.2f %%, as an interval %.2f %% wide\n",
               k == 0 ? "one clock" : "several clocks", 200 * longer[k] / cases, 200 * off[k] / cases,
               200 * wide[k] / cases);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "n:s:v")) != -1) {
        if (option == 'n')
            cases = atoi(optarg);
        else if (option == 's')
            seed = strtoull(optarg, NULL, 10);
        else if (option == 'v')
            verbose = true;
        else
            return 2;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(faster_programs_are_as_foretold),
                                       cmocka_unit_test(what_measuring_costs_goes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

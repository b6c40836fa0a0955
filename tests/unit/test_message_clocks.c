/* Clocks that were never compared, bounded by a program's own messages: the truth of every event of every
 * simulated program is inside. */
#include "clock/clocks.h"
#include "causality/clock_facts.h"
#include "synth/skew.h"
#include "synth/synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LOCATIONS = 12, DOMAINS = 4 };

static struct gn_synth_settings skewed(const char *pattern, enum gn_wander wander, double wander_ppm)
{
    struct gn_synth_settings s = gn_synth_defaults();
    s.pattern = pattern;
    s.locations = LOCATIONS;
    s.events = 20000;
    s.domains = DOMAINS;
    s.offset_ns = 1e9;
    s.rate_ppm = 50;
    s.wander = wander;
    s.wander_ppm = wander_ppm;
    s.wander_period_s = 0.01;
    return s;
}

static uint32_t domain_of(const struct gn_synth_settings *settings, uint32_t location)
{
    return location * settings->domains / LOCATIONS;
}

static void open_synth(struct gn_source *source, const struct gn_synth_settings *settings)
{
    struct gn_error err = {""};
    assert_int_equal(gn_synth_open(source, settings, &err), 0);
}

/* 0 ns is the reference's GN_SKEW_BASE_TICKS. */
static struct gn_clocks *solve(const struct gn_synth_settings *settings,
                               const struct gn_assumption *assumption)
{
    struct gn_clocks *clocks = gn_clocks_new(0);
    struct gn_clock_facts_stats stats;
    struct gn_source source;
    struct gn_error err = {""};
    uint32_t domains[LOCATIONS];
    for (uint32_t i = 0; i < settings->domains; i++)
        assert_int_equal(gn_clocks_add(clocks, &(struct gn_clock_def){1e9, 1}), i);
    for (uint32_t i = 0; i < LOCATIONS; i++)
        domains[i] = domain_of(settings, i);
    gn_clocks_set_epoch(clocks, GN_SKEW_BASE_TICKS);
    open_synth(&source, settings);
    assert_int_equal(gn_clock_facts(&source, domains, clocks, &stats, &err), 0);
    source.close(source.self);
    assert_int_equal(gn_clocks_solve(clocks, assumption, &err), 0);
    return clocks;
}

/* How many events are outside of their bounds; *bounded: how many have some. The reference showed `shown`
 * when an event happened, so its time is between that and the next ns. */
static uint64_t count_wrong(const struct gn_synth_settings *settings, const struct gn_clocks *clocks,
                            uint64_t *bounded)
{
    const struct gn_skew reference = gn_skew_of(settings, 0);
    struct gn_source source;
    struct gn_error err = {""};
    uint64_t wrong = 0;
    *bounded = 0;
    open_synth(&source, settings);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        const struct gn_bounds *bounds = gn_clocks_state(clocks, domain_of(settings, l))->bounds;
        const struct gn_event *events;
        int64_t count;
        while (bounds && (count = source.pull(source.self, l, &events, &err)) > 0) {
            const double *truth = gn_synth_truth(&source, l);
            for (int64_t i = 0; i < count; i++) {
                struct gn_interval is = gn_bounds_convert(bounds, events[i].ticks);
                int64_t shown = (int64_t)(gn_skew_ticks(&reference, truth[i]) - GN_SKEW_BASE_TICKS);
                wrong += shown + 1 < is.lo_ns || shown > is.hi_ns;
                ++*bounded;
            }
        }
    }
    source.close(source.self);
    return wrong;
}

static void check(const struct gn_synth_settings *settings, const struct gn_assumption *assumption)
{
    struct gn_clocks *clocks = solve(settings, assumption);
    uint64_t bounded, wrong = count_wrong(settings, clocks, &bounded);
    if (wrong || !bounded)
        fail_msg("%s, wander %d, seed %llu: %llu of %llu events are outside of their bounds",
                 settings->pattern, settings->wander, (unsigned long long)settings->seed,
                 (unsigned long long)wrong, (unsigned long long)bounded);
    for (uint32_t i = 0; i < DOMAINS; i++)
        assert_int_equal(gn_clocks_state(clocks, i)->refuted_count, 0);
    gn_clocks_free(clocks);
}

static void the_truth_of_every_event_is_inside(void **state)
{
    (void)state;
    const struct gn_assumption wanders = gn_assumption_default();
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++)
        for (enum gn_wander wander = GN_WANDER_NONE; wander <= GN_WANDER_STEP; wander++)
            for (uint64_t seed = 1; seed <= 3; seed++) {
                struct gn_synth_settings settings = skewed(p->name, wander, 2);
                settings.seed = seed;
                check(&settings, &wanders);
            }
}

static void of_constant_rates_the_strongest_assumption_holds(void **state)
{
    (void)state;
    const struct gn_assumption constant = {GN_RATE_CONSTANT, GN_NOMINAL_PPB, 0};
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++) {
        struct gn_synth_settings settings = skewed(p->name, GN_WANDER_NONE, 0);
        check(&settings, &constant);
    }
}

static void rates_within_a_limit_are_enough(void **state)
{
    (void)state;
    const struct gn_assumption within = {GN_RATE_WITHIN, GN_NOMINAL_PPB, 0};
    struct gn_synth_settings settings = skewed("stencil2", GN_WANDER_SINE, 2);
    check(&settings, &within);
}

static void with_messages_both_ways_all_events_have_bounds(void **state)
{
    (void)state;
    const struct gn_assumption wanders = gn_assumption_default();
    const char *const patterns[] = {"stencil2", "wavefront", "master", "collectives", "nbc"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct gn_synth_settings settings = skewed(patterns[i], GN_WANDER_SINE, 2);
        struct gn_clocks *clocks = solve(&settings, &wanders);
        for (uint32_t d = 0; d < DOMAINS; d++)
            assert_true(gn_clocks_state(clocks, d)->reached);
        gn_clocks_free(clocks);
    }
}

/* Rates that differ by some 700 ppm, where 200 are assumed; and one that steps where it is to be constant.
 * The bounds that are left hold all the same. */
static void a_violated_assumption_is_refuted(void **state)
{
    (void)state;
    struct gn_synth_settings fast = skewed("stencil2", GN_WANDER_NONE, 0);
    struct gn_synth_settings steps = skewed("stencil2", GN_WANDER_STEP, 20000);
    fast.domains = steps.domains = 2;
    fast.rate_ppm = 3000;
    fast.compute_ns = steps.compute_ns = 1e6; /* 70 ms, against bounds of some µs */
    steps.wander_period_s = 0.03;
    const struct gn_assumption within = {GN_RATE_WITHIN, GN_NOMINAL_PPB, 0};
    const struct gn_assumption constant = {GN_RATE_CONSTANT, 100000000, 0};
    const struct gn_synth_settings *const settings[] = {&fast, &steps};
    const struct gn_assumption *const assumptions[] = {&within, &constant};
    for (int i = 0; i < 2; i++) {
        struct gn_clocks *clocks = solve(settings[i], assumptions[i]);
        uint64_t bounded, wrong = count_wrong(settings[i], clocks, &bounded);
        int refuted = 0;
        for (uint32_t d = 0; d < settings[i]->domains; d++)
            refuted += gn_clocks_state(clocks, d)->refuted_count;
        assert_true(refuted > 0);
        assert_int_equal(wrong, 0);
        gn_clocks_free(clocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_truth_of_every_event_is_inside),
        cmocka_unit_test(of_constant_rates_the_strongest_assumption_holds),
        cmocka_unit_test(rates_within_a_limit_are_enough),
        cmocka_unit_test(with_messages_both_ways_all_events_have_bounds),
        cmocka_unit_test(a_violated_assumption_is_refuted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The generator: the same trace however it is pulled, a possible execution, and clocks as the settings say.
 */
#include "synth_stream.h"
#include "synth/skew.h"
#include "repeated.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct gn_synth_settings settings_of(const char *pattern, uint32_t locations, uint64_t events)
{
    struct gn_synth_settings settings = gn_synth_defaults();
    settings.pattern = pattern;
    settings.locations = locations;
    settings.events = events;
    return settings;
}

static bool same_stream(const struct stream *a, const struct stream *b)
{
    return a->count == b->count && memcmp(a->events, b->events, a->count * sizeof *a->events) == 0 &&
           memcmp(a->truth, b->truth, a->count * sizeof *a->truth) == 0;
}

static bool same_trace(const struct gn_synth_settings *settings, const struct trace *known,
                       enum pull_order order)
{
    struct trace trace = trace_open(settings, order);
    bool same = true;
    for (uint32_t i = 0; i < settings->locations; i++)
        same = same && same_stream(&trace.streams[i], &known->streams[i]);
    trace_close(&trace);
    return same;
}

static void test_order_of_pulls_changes_nothing(void **state)
{
    (void)state;
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++) {
        struct gn_synth_settings settings = settings_of(p->name, 13, 20000);
        settings.domains = 3;
        settings.offset_ns = 1e6;
        settings.unmatched = 0.05;
        settings.lost = 0.01;
        struct trace known = trace_open(&settings, IN_TURN);
        for (int order = 0; order < PULL_ORDERS; order++)
            assert_true(same_trace(&settings, &known, (enum pull_order)order));
        settings.seed++;
        assert_false(same_trace(&settings, &known, IN_TURN));
        trace_close(&known);
    }
}

static void check_execution(const char *pattern, uint32_t locations, uint64_t seed)
{
    struct gn_synth_settings settings = settings_of(pattern, locations, 40 * locations + 10000);
    settings.seed = seed;
    settings.imbalance = seed % 2 ? 0.1 : 1;
    settings.compute_ns = seed % 3 ? 20000 : 100;
    if (strcmp(pattern, "lost") == 0)
        return; /* what is left when events are lost: test_losses_are_gaps */
    struct trace trace = trace_open(&settings, IN_TURN);
    check_well_formed(&trace);
    check_messages(&trace);
    check_collectives(&trace);
    trace_close(&trace);
}

static void test_traces_are_possible_executions(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 6, 64};
    (void)state;
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (uint64_t seed = 1; seed <= 3; seed++)
                check_execution(p->name, sizes[i], seed);
}

static void test_a_thousand_locations(void **state)
{
    (void)state;
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++)
        check_execution(p->name, 1000, 1);
}

static void test_unmatched_share(void **state)
{
    static const char *const patterns[] = {"ring", "stencil2", "wavefront", "master", "persistent"};
    (void)state;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct gn_synth_settings settings = settings_of(patterns[i], 8, 50000);
        settings.unmatched = 0.2;
        struct trace trace = trace_open(&settings, IN_TURN);
        check_well_formed(&trace);
        check_messages(&trace);
        trace_close(&trace);
    }
}

/* ---- losses ---- */

static uint64_t check_gaps(const struct stream *lossy, const struct stream *whole)
{
    uint64_t lost = 0;
    size_t place = 0;
    for (size_t i = 0; i < lossy->count; i++) {
        const struct gn_event *event = &lossy->events[i];
        if (event->kind == GN_EVENT_LOST) {
            assert_true(event->request > 0);
            lost += event->request;
            place += event->request;
            continue;
        }
        assert_true(place < whole->count);
        assert_memory_equal(event, &whole->events[place++], sizeof *event);
        assert_true(i == 0 || event->ticks >= event[-1].ticks);
    }
    assert_int_equal(place, whole->count);
    return lost;
}

static void test_losses_are_gaps(void **state)
{
    (void)state;
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++) {
        struct gn_synth_settings settings = settings_of(p->name, 5, 100000);
        bool losing = strcmp(p->name, "lost") == 0;
        settings.pattern = losing ? "stencil2" : p->name;
        struct trace whole = trace_open(&settings, IN_TURN);
        uint64_t lost = 0, events = 0;
        settings.pattern = p->name;
        settings.lost = losing ? 0 : 0.05;
        struct trace lossy = trace_open(&settings, IN_TURN);
        for (uint32_t i = 0; i < settings.locations; i++) {
            lost += check_gaps(&lossy.streams[i], &whole.streams[i]);
            events += whole.streams[i].count;
        }
        double share = (double)lost / (double)events, wanted = losing ? 0.01 : 0.05;
        assert_true(share > wanted / 2 && share < wanted * 2);
        trace_close(&whole);
        trace_close(&lossy);
    }
}

/* ---- clocks ---- */

static void test_a_perfect_clock_shows_the_truth(void **state)
{
    (void)state;
    struct gn_synth_settings settings = settings_of("ring", 4, 10000);
    struct trace trace = trace_open(&settings, IN_TURN);
    for (uint32_t i = 0; i < 4; i++)
        for (size_t k = 0; k < trace.streams[i].count; k++)
            assert_int_equal(trace.streams[i].events[k].ticks,
                             GN_SKEW_BASE_TICKS + (uint64_t)floor(trace.streams[i].truth[k]));
    trace_close(&trace);
}

static void check_clock(const struct gn_synth_settings *s, const struct stream *stream)
{
    double ppm = (s->rate_ppm + s->wander_ppm) * 1e-6;
    for (size_t i = 0; i < stream->count; i++) {
        double ns = stream->truth[i];
        double error = (double)(int64_t)(stream->events[i].ticks - GN_SKEW_BASE_TICKS) - ns;
        assert_true(fabs(error) <= s->offset_ns + ppm * ns + 1);
        if (i == 0)
            continue;
        double passed = ns - stream->truth[i - 1];
        double shown = (double)(stream->events[i].ticks - stream->events[i - 1].ticks);
        assert_true(fabs(shown - passed) <= ppm * passed + 2);
    }
}

struct instant {
    double ns;
    uint64_t ticks;
};

static int by_time(const void *a, const void *b)
{
    const struct instant *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* The locations 2d and 2d + 1 are in domain d: one clock for both. */
static void check_shared(const struct stream *streams)
{
    size_t count = streams[0].count + streams[1].count;
    struct instant *all = malloc(count * sizeof *all), *next = all;
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < streams[i].count; k++)
            *next++ = (struct instant){streams[i].truth[k], streams[i].events[k].ticks};
    qsort(all, count, sizeof *all, by_time);
    for (size_t i = 1; i < count; i++)
        assert_true(all[i].ticks + 1 >= all[i - 1].ticks);
    free(all);
}

static void test_wrong_clocks_are_as_wrong_as_said(void **state)
{
    (void)state;
    for (int wander = GN_WANDER_NONE; wander <= GN_WANDER_STEP; wander++) {
        struct gn_synth_settings settings = settings_of("stencil1", 6, 60000);
        settings.domains = 3;
        settings.offset_ns = 5e6;
        settings.rate_ppm = 50;
        settings.wander = (enum gn_wander)wander;
        settings.wander_ppm = wander == GN_WANDER_NONE ? 0 : 200;
        settings.wander_period_s = 0.01;
        struct trace trace = trace_open(&settings, IN_TURN);
        for (uint32_t i = 0; i < 6; i++) {
            assert_int_equal(trace.source.definitions->locations[i].domain, i / 2);
            check_clock(&settings, &trace.streams[i]);
        }
        for (uint32_t d = 0; d < 3; d++)
            check_shared(&trace.streams[2 * d]);
        double first = (double)trace.streams[0].events[0].ticks - trace.streams[0].truth[0];
        double other = (double)trace.streams[5].events[0].ticks - trace.streams[5].truth[0];
        assert_true(fabs(first - other) > 1000);
        trace_close(&trace);
    }
}

/* Wander is the integral of the rate's deviation, which reaches the amplitude and never exceeds it. */
static void test_wander_has_its_amplitude(void **state)
{
    (void)state;
    for (int wander = GN_WANDER_SINE; wander <= GN_WANDER_STEP; wander++) {
        struct gn_skew skew = {
            .wander = (enum gn_wander)wander, .amplitude = 1e-4, .period_ns = 1e6, .phase = 0.3};
        double most = 0;
        assert_true(fabs(gn_skew_wandered(&skew, 0)) < 1e-9);
        for (double ns = 0; ns < 3e6; ns += 1e3)
            most = fmax(most, fabs(gn_skew_wandered(&skew, ns + 1e3) - gn_skew_wandered(&skew, ns)) / 1e3);
        assert_true(most > 0.99e-4 && most < 1.0001e-4);
    }
}

/* Within a domain messages take less; between domains and in collectives they do not. */
static void test_messages_within_a_domain_may_be_faster(void **state)
{
    (void)state;
    struct gn_synth_settings settings = settings_of("multigrid", 16, 40000);
    settings.domains = 4;
    settings.latency_ns = 50000;
    struct trace slow = trace_open(&settings, IN_TURN);
    settings.within_latency_ns = 500;
    struct trace fast = trace_open(&settings, IN_TURN);
    check_messages(&fast);
    check_collectives(&fast);
    double slow_ns = slow.streams[0].truth[slow.streams[0].count - 1];
    double fast_ns = fast.streams[0].truth[fast.streams[0].count - 1];
    assert_true(fast_ns < 0.95 * slow_ns);
    trace_close(&slow);
    trace_close(&fast);
}

static void test_the_program_may_sleep_at_both_ends(void **state)
{
    (void)state;
    const double quiet_ns = 600e9;
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++) {
        if (strcmp(p->name, "lost") == 0)
            continue;
        struct gn_synth_settings settings = settings_of(p->name, 5, 5000);
        settings.quiet_ns = quiet_ns;
        struct trace trace = trace_open(&settings, IN_TURN);
        check_well_formed(&trace);
        check_messages(&trace);
        for (uint32_t i = 0; i < 5; i++) {
            const struct stream *s = &trace.streams[i];
            int slept = 0;
            for (size_t k = 1; k < s->count; k++)
                slept += s->truth[k] - s->truth[k - 1] >= quiet_ns;
            assert_int_equal(slept, 2);
            assert_true(s->truth[s->count - 1] < 2 * quiet_ns + 10e9);
        }
        trace_close(&trace);
    }
}

/* ---- measured offsets ---- */

static struct gn_synth_settings wandering(enum gn_wander wander)
{
    struct gn_synth_settings settings = settings_of("multigrid", 8, 20000);
    settings.domains = 4;
    settings.quiet_ns = 100e9;
    settings.offset_ns = 1e6;
    settings.rate_ppm = 20;
    settings.wander = wander;
    settings.wander_ppm = wander == GN_WANDER_NONE ? 0 : 0.5;
    settings.wander_period_s = 170;
    settings.measured = true;
    settings.measure_error_ns = 700;
    return settings;
}

static struct trace measured_trace(const struct gn_synth_settings *settings)
{
    struct gn_error err = {""};
    struct trace trace = trace_open(settings, IN_TURN);
    assert_int_equal(gn_synth_measure(&trace.source, &err), 0);
    return trace;
}

static const struct gn_offsets_def *offsets_of(const struct trace *trace, uint32_t location)
{
    const struct gn_definitions *d = trace->source.definitions;
    return &d->clocks[d->locations[location].clock];
}

/* Two of them for each clock, at its domain's first and last event, wrong by at most what is said. */
static void test_offsets_are_measured_at_both_ends(void **state)
{
    (void)state;
    struct gn_synth_settings settings = wandering(GN_WANDER_SINE);
    struct trace trace = measured_trace(&settings);
    struct gn_skew reference = gn_skew_of(&settings, 0);
    double worst_ns = 0;
    assert_int_equal(trace.source.definitions->clock_bounds, 0);
    for (uint32_t i = 0; i < 8; i++) {
        const struct gn_offsets_def *clock = offsets_of(&trace, i);
        struct gn_skew skew = gn_skew_of(&settings, i / 2);
        uint32_t first = i & ~1u, second = first + 1;
        double begin_ns = fmin(trace.streams[first].truth[0], trace.streams[second].truth[0]);
        double end_ns = fmax(trace.streams[first].truth[trace.streams[first].count - 1],
                             trace.streams[second].truth[trace.streams[second].count - 1]);
        assert_int_equal(clock->count, 2);
        for (int k = 0; k < 2; k++) {
            double ns = k ? end_ns : begin_ns;
            assert_int_equal(clock->offsets[k].ticks, gn_skew_ticks(&skew, ns));
            double error = (double)(clock->offsets[k].offset_ticks + (int64_t)gn_skew_ticks(&skew, ns) -
                                    (int64_t)gn_skew_ticks(&reference, ns));
            worst_ns = fmax(worst_ns, fabs(error));
            assert_true(fabs(error) <= clock->offsets[k].deviation_ticks);
        }
    }
    assert_true(worst_ns > 100 && worst_ns <= 702);
    trace_close(&trace);
}

/* Where an offset and its deviation are at a reading: on a straight line. */
static void interpolate(const struct gn_offsets_def *clock, uint64_t ticks, double *offset, double *deviation)
{
    size_t i = 0;
    while (i + 2 < clock->count && clock->offsets[i + 1].ticks <= ticks)
        i++;
    const struct gn_clock_offset *a = &clock->offsets[i], *b = a + 1;
    double part = (double)(int64_t)(ticks - a->ticks) / (double)(b->ticks - a->ticks);
    *offset = (double)a->offset_ticks + part * (double)(b->offset_ticks - a->offset_ticks);
    *deviation = a->deviation_ticks + part * (b->deviation_ticks - a->deviation_ticks);
}

/* Readings all over the run, not only those of events: the largest miss, as a share of what is allowed. */
static double largest_miss(const struct trace *trace, uint32_t location)
{
    const struct gn_synth_settings *s = &trace->settings;
    const struct gn_offsets_def *clock = offsets_of(trace, location);
    struct gn_skew skew = gn_skew_of(s, location / 2), reference = gn_skew_of(s, 0);
    double end_ns = trace->streams[location].truth[trace->streams[location].count - 1], largest = 0;
    for (double ns = trace->streams[location].truth[0]; ns < end_ns; ns += end_ns / 100000) {
        double offset, deviation;
        uint64_t ticks = gn_skew_ticks(&skew, ns);
        interpolate(clock, ticks, &offset, &deviation);
        double miss = fabs(offset - (double)(int64_t)(gn_skew_ticks(&reference, ns) - ticks));
        if (location >= 2)
            largest = fmax(largest, miss / deviation);
        else
            assert_true(miss < 1e-9 && deviation < 1e-9);
    }
    return largest;
}

static void test_offsets_with_a_period_are_bounds(void **state)
{
    (void)state;
    for (int wander = GN_WANDER_NONE; wander <= GN_WANDER_STEP; wander++)
        for (double period_s = 3; period_s < 300; period_s *= 4) {
            struct gn_synth_settings settings = wandering((enum gn_wander)wander);
            settings.measure_period_s = period_s;
            struct trace trace = measured_trace(&settings);
            const struct gn_definitions *d = trace.source.definitions;
            double largest = 0;
            assert_true(strncmp(gn_string(d, d->clock_bounds), "within nominal_ppb=4", 20) == 0);
            for (uint32_t i = 0; i < 8; i++) {
                assert_in_range(offsets_of(&trace, i)->count, 2 + 190 / (size_t)period_s, 2 + 201 / period_s);
                largest = fmax(largest, largest_miss(&trace, i));
            }
            assert_true(largest > 0.05 && largest <= 1);
            trace_close(&trace);
        }
}

static void test_there_are_not_too_many_bounds(void **state)
{
    (void)state;
    struct gn_synth_settings settings = wandering(GN_WANDER_STEP);
    settings.measure_period_s = 0.001;
    struct trace trace = measured_trace(&settings);
    assert_int_equal(offsets_of(&trace, 7)->count, 1024);
    assert_true(largest_miss(&trace, 7) <= 1);
    trace_close(&trace);
}

/* ---- memory and size ---- */

static void test_pulls_in_turn_bound_what_waits(void **state)
{
    (void)state;
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++) {
        struct gn_synth_settings settings = settings_of(p->name, 16, 20000);
        struct trace small = trace_open(&settings, IN_TURN);
        settings.events = 300000;
        struct trace large = trace_open(&settings, IN_TURN);
        assert_true(small.most_waiting < 16 * 1000);
        assert_true(large.most_waiting < 16 * 1000);
        trace_close(&small);
        trace_close(&large);
    }
}

static uint64_t drain(const struct gn_synth_settings *settings)
{
    struct gn_error err = {""};
    struct gn_source source;
    uint64_t events = 0;
    bool more = true;
    if (gn_synth_open(&source, settings, &err) != 0)
        fail_msg("%s", err.text);
    while (more) {
        more = false;
        for (uint32_t i = 0; i < settings->locations; i++) {
            const struct gn_event *batch;
            int64_t count = source.pull(source.self, i, &batch, &err);
            assert_true(count >= 0);
            more |= count > 0;
            events += (uint64_t)count;
        }
    }
    source.close(source.self);
    return events;
}

static void test_a_hundred_thousand_locations(void **state)
{
    static const char *const patterns[] = {"ring", "stencil3", "master", "nbc"};
    (void)state;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct gn_synth_settings settings = settings_of(patterns[i], REPEATED(100000), 1);
        assert_true(drain(&settings) > 10 * REPEATED(100000));
    }
}

static void test_about_as_many_events_as_wanted(void **state)
{
    (void)state;
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++) {
        struct gn_synth_settings settings = settings_of(p->name, 4, 1000000);
        uint64_t events = drain(&settings);
        assert_true(events > 980000 && events < 1010000);
    }
}

/* ---- settings ---- */

static void expect_bad(struct gn_synth_settings settings, const char *word)
{
    struct gn_error err = {""};
    struct gn_source source;
    assert_int_equal(gn_synth_open(&source, &settings, &err), -EINVAL);
    if (!strstr(err.text, word))
        fail_msg("\"%s\" does not speak of \"%s\"", err.text, word);
}

#define BAD(field, value, word)                                                                              \
    do {                                                                                                     \
        struct gn_synth_settings bad = gn_synth_defaults();                                                  \
        bad.field = value;                                                                                   \
        expect_bad(bad, word);                                                                               \
    } while (0)

static void test_bad_settings_are_told(void **state)
{
    (void)state;
    BAD(pattern, "rings", "rings");
    BAD(pattern, NULL, "pattern");
    BAD(locations, 0, "locations");
    BAD(locations, 100001, "locations");
    BAD(domains, 0, "domains");
    BAD(domains, 5, "domains");
    BAD(latency_ns, -1, "latency");
    BAD(compute_ns, NAN, "computation");
    BAD(within_latency_ns, -1, "within a domain");
    BAD(quiet_ns, NAN, "quiet");
    BAD(event_ns, 0, "between events");
    BAD(measure_error_ns, -1, "measured");
    BAD(measure_period_s, 1e-9, "measured");
    BAD(compute_ns, INFINITY, "computation");
    BAD(offset_ns, -5, "offset");
    BAD(offset_ns, 1e300, "offset");
    BAD(rate_ppm, 2e6, "rate");
    BAD(wander_ppm, 2e6, "wander");
    BAD(wander, (enum gn_wander)9, "wander");
    BAD(imbalance, 1.5, "imbalance");
    BAD(unmatched, 0.6, "unmatched");
    BAD(unmatched, NAN, "unmatched");
    BAD(lost, 1, "lost");
    BAD(fast_percent, 101, "faster");
    BAD(fast_rank, 4, "rank 4");
    BAD(fast_region, "MPI_Send", "compute");
    BAD(fast_region, "check", "compute"); /* only a master checks */
    struct gn_synth_settings still = gn_synth_defaults();
    still.wander = GN_WANDER_SINE;
    still.wander_period_s = 0;
    expect_bad(still, "period");
}

static double computing_ns(const struct gn_synth_settings *settings, uint32_t location)
{
    struct trace trace = trace_open(settings, IN_TURN);
    const struct gn_definitions *d = trace.source.definitions;
    const struct stream *stream = &trace.streams[location];
    double sum = 0;
    for (size_t i = 0; i + 1 < stream->count; i++)
        if (stream->events[i].kind == GN_EVENT_ENTER &&
            strcmp(gn_string(d, d->regions[stream->events[i].region].name), "compute") == 0)
            sum += stream->truth[i + 1] - stream->truth[i];
    trace_close(&trace);
    return sum;
}

static void test_a_region_can_be_faster(void **state)
{
    (void)state;
    struct gn_synth_settings slow = settings_of("ring", 3, 3000), fast = slow;
    fast.fast_region = "compute";
    fast.fast_rank = 1;
    fast.fast_percent = 50;
    double ratio = computing_ns(&fast, 1) / computing_ns(&slow, 1);
    assert_true(ratio > 0.49 && ratio < 0.51);
    ratio = computing_ns(&fast, 2) / computing_ns(&slow, 2);
    assert_true(ratio > 0.999999 && ratio < 1.000001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_pulls_changes_nothing),
        cmocka_unit_test(test_traces_are_possible_executions),
        cmocka_unit_test(test_a_thousand_locations),
        cmocka_unit_test(test_unmatched_share),
        cmocka_unit_test(test_losses_are_gaps),
        cmocka_unit_test(test_a_perfect_clock_shows_the_truth),
        cmocka_unit_test(test_wrong_clocks_are_as_wrong_as_said),
        cmocka_unit_test(test_wander_has_its_amplitude),
        cmocka_unit_test(test_messages_within_a_domain_may_be_faster),
        cmocka_unit_test(test_the_program_may_sleep_at_both_ends),
        cmocka_unit_test(test_offsets_are_measured_at_both_ends),
        cmocka_unit_test(test_offsets_with_a_period_are_bounds),
        cmocka_unit_test(test_there_are_not_too_many_bounds),
        cmocka_unit_test(test_pulls_in_turn_bound_what_waits),
        cmocka_unit_test(test_a_hundred_thousand_locations),
        cmocka_unit_test(test_about_as_many_events_as_wanted),
        cmocka_unit_test(test_bad_settings_are_told),
        cmocka_unit_test(test_a_region_can_be_faster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

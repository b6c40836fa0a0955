/* Clock fits against a known truth: what each of them promises, and where its known flaw shows. */
#include "clock_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { EXCHANGES = 300, SAMPLES = 4000 };
static const int64_t second = 1000000000;

/* 60 s; the child is 20 ppm fast, its counter at 2.1 GHz and large numbers, the parent's at 2.9 GHz. */
static struct world usual(void)
{
    return (struct world){.child_hz = 2.1e9,
                          .parent_hz = 2.9e9,
                          .child_base = 1000000000000000,
                          .parent_base = 7000000000,
                          .rate_ppb = 20000,
                          .there_ns = 20000,
                          .back_ns = 20000,
                          .noise_ns = 5000,
                          .seed = 1};
}

static struct gn_fit *fit_of(struct world w, enum gn_fit_kind kind)
{
    struct gn_error err;
    struct gn_exchange *exchanges = exchanges_between(&w, second, 61 * second, EXCHANGES);
    struct gn_fit_pair pair = pair_of(&w, exchanges, EXCHANGES);
    struct gn_fit *fit = gn_fit_new(kind, &pair, &err);
    if (!fit)
        print_message("%s: %s\n", gn_fit_name(kind), err.text);
    free(exchanges);
    return fit;
}

struct outcome {
    int outside;                        /* samples whose truth is outside */
    int turned;                         /* with lo > hi */
    double error_ns, mean_ns, width_ns; /* largest |midpoint − truth|, mean of midpoint − truth, mean width */
};

static struct outcome outcome_of(const struct world *w, const struct gn_fit *fit, int64_t from, int64_t to)
{
    struct outcome o = {0, 0, 0, 0, 0};
    assert_non_null(fit);
    for (int i = 0; i < SAMPLES; i++) {
        int64_t t = from + (int64_t)((__int128)(to - from) * i / (SAMPLES - 1));
        struct gn_interval at = gn_fit_convert(fit, child_reading(w, t));
        double error = 0.5 * ((double)(at.lo_ns - t) + (double)(at.hi_ns - t));
        o.turned += at.lo_ns > at.hi_ns;
        o.outside += t < at.lo_ns || t > at.hi_ns;
        o.error_ns = fmax(o.error_ns, fabs(error));
        o.mean_ns += error / SAMPLES;
        o.width_ns += (double)(at.hi_ns - at.lo_ns) / SAMPLES;
    }
    return o;
}

/* Of the exchanges' minute, or of the half hour around it. */
static struct outcome within(struct world w, enum gn_fit_kind kind)
{
    struct gn_fit *fit = fit_of(w, kind);
    struct outcome o = outcome_of(&w, fit, second, 61 * second);
    gn_fit_free(fit);
    return o;
}

static struct outcome around(struct world w, enum gn_fit_kind kind)
{
    struct gn_fit *fit = fit_of(w, kind);
    struct outcome o = outcome_of(&w, fit, -900 * second, 900 * second);
    gn_fit_free(fit);
    return o;
}

static struct world lopsided(void)
{
    struct world w = usual();
    w.back_ns = 220000;
    return w;
}

static struct world wandering(void)
{
    struct world w = usual();
    w.sine_ns = 300000; /* ±60 ppm in half a minute: no straight line anywhere */
    w.sine_period_ns = 31e9;
    return w;
}

/* ---- points ---- */

static void regression_is_right_when_delays_are_alike(void **state)
{
    (void)state;
    assert_true(within(usual(), GN_FIT_REGRESSION).error_ns < 2500);
}

static void regression_is_off_by_half_of_what_delays_differ(void **state)
{
    (void)state;
    struct outcome o = within(lopsided(), GN_FIT_REGRESSION);
    assert_true(fabs(o.mean_ns - -100000) < 2500); /* (there − back) / 2 */
}

static void two_points_are_right_when_delays_are_alike(void **state)
{
    (void)state;
    assert_true(within(usual(), GN_FIT_TWO_POINTS).error_ns < 2500);
}

static void two_points_are_off_by_half_of_what_delays_differ(void **state)
{
    (void)state;
    assert_true(fabs(within(lopsided(), GN_FIT_TWO_POINTS).mean_ns - -100000) < 2500);
}

/* A whole number of periods between the ends: both offsets are right, all between are not. */
static void two_points_are_blind_between_the_ends(void **state)
{
    (void)state;
    struct world w = usual();
    w.sine_ns = 300000;
    w.sine_period_ns = 30e9;
    struct gn_exchange *e = exchanges_between(&w, second, 61 * second, EXCHANGES);
    struct gn_fit_pair pair = pair_of(&w, e, EXCHANGES);
    pair.burst = 1;
    struct gn_fit *fit = gn_fit_new(GN_FIT_TWO_POINTS, &pair, NULL);
    assert_true(outcome_of(&w, fit, second, second + second / 100).error_ns < 10000);
    assert_true(outcome_of(&w, fit, 61 * second, 61 * second + second / 100).error_ns < 10000);
    assert_true(outcome_of(&w, fit, second, 61 * second).error_ns > 290000);
    gn_fit_free(fit);
    free(e);
}

/* ---- hulls ---- */

static void hull_stays_in_the_corridor(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct world w = lopsided();
        w.seed = seed;
        struct gn_exchange *e = exchanges_between(&w, second, 61 * second, EXCHANGES);
        struct gn_fit_pair pair = pair_of(&w, e, EXCHANGES);
        struct gn_fit *fit = gn_fit_new(GN_FIT_HULL, &pair, NULL);
        assert_non_null(fit);
        for (int i = 0; i < EXCHANGES; i++) {
            struct gn_interval asked = gn_fit_convert(fit, e[i].asked_ticks);
            struct gn_interval received = gn_fit_convert(fit, e[i].received_ticks);
            assert_true((double)asked.lo_ns <= (double)(e[i].heard_ticks - w.parent_base) / 2.9 + 1);
            assert_true((double)received.lo_ns >= (double)(e[i].answered_ticks - w.parent_base) / 2.9 - 1);
        }
        gn_fit_free(fit);
        free(e);
    }
}

static void hull_says_when_there_is_no_line(void **state)
{
    (void)state;
    struct gn_error err;
    struct world w = wandering();
    struct gn_exchange *e = exchanges_between(&w, second, 61 * second, EXCHANGES);
    struct gn_fit_pair pair = pair_of(&w, e, EXCHANGES);
    for (int kind = GN_FIT_HULL; kind <= GN_FIT_HULL_LP; kind++) {
        assert_null(gn_fit_new(kind, &pair, &err));
        assert_non_null(strstr(err.text, "the rate between the clocks changed"));
    }
    free(e);
}

static void bounds_by_program_contain_the_truth(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct world w = seed % 2 ? usual() : lopsided();
        w.seed = seed;
        w.rate_ppb = (int64_t)seed * 40000 - 180000;
        assert_int_equal(around(w, GN_FIT_HULL_LP).outside, 0);
    }
}

/* No line of the corridor is outside of the bounds: the hull's least of all. */
static void bounds_by_program_contain_the_hull(void **state)
{
    (void)state;
    struct world w = lopsided();
    struct gn_fit *hull = fit_of(w, GN_FIT_HULL), *bounds = fit_of(w, GN_FIT_HULL_LP);
    for (int64_t t = -900 * second; t < 900 * second; t += second) {
        struct gn_interval line = gn_fit_convert(hull, child_reading(&w, t));
        struct gn_interval at = gn_fit_convert(bounds, child_reading(&w, t));
        assert_true(at.lo_ns <= line.lo_ns && line.lo_ns <= at.hi_ns);
    }
    gn_fit_free(hull);
    gn_fit_free(bounds);
}

/* ---- FreeZer ---- */

/* The exchange with the shortest round trip is where the noise put it, so the zero is somewhere between. */
static void published_freezer_is_wrong_before_its_zero(void **state)
{
    (void)state;
    struct outcome o = around(usual(), GN_FIT_FREEZER_AS_PUBLISHED);
    assert_true(o.outside > SAMPLES / 4);
    assert_true(o.turned > SAMPLES / 4); /* far enough before, its bounds have changed places */
}

static void mended_freezer_is_right_before_its_zero(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct world w = seed % 2 ? usual() : lopsided();
        w.seed = seed;
        w.rate_ppb = (int64_t)seed * 40000 - 180000;
        assert_int_equal(around(w, GN_FIT_FREEZER).outside, 0);
    }
}

/* All of the noise is in the other exchanges: the first one is the zero, and no reading is before it. A
 * parent that ticks ten times as fast makes the zero's interval ten times too short. */
static struct world zero_first(double parent_hz, struct gn_exchange **exchanges)
{
    struct world w = usual();
    w.parent_hz = parent_hz;
    w.back_ns = 220000;
    w.noise_ns = 0;
    struct gn_exchange zero = exchange_at(&w, second);
    w.there_ns = w.back_ns = 400000;
    *exchanges = exchanges_between(&w, second, 61 * second, EXCHANGES);
    (*exchanges)[0] = zero;
    return w;
}

static int outside_after_zero(double parent_hz, enum gn_fit_kind kind)
{
    struct gn_exchange *exchanges;
    struct world w = zero_first(parent_hz, &exchanges);
    struct gn_fit_pair pair = pair_of(&w, exchanges, EXCHANGES);
    struct gn_fit *fit = gn_fit_new(kind, &pair, NULL);
    struct outcome o = outcome_of(&w, fit, second + 300000, second + second / 100);
    gn_fit_free(fit);
    free(exchanges);
    return o.outside;
}

static void published_zero_is_in_the_ticks_of_the_wrong_clock(void **state)
{
    (void)state;
    assert_int_equal(outside_after_zero(2.1e9, GN_FIT_FREEZER_AS_PUBLISHED), 0);
    assert_int_equal(outside_after_zero(21e9, GN_FIT_FREEZER_AS_PUBLISHED), SAMPLES);
    assert_int_equal(outside_after_zero(21e9, GN_FIT_FREEZER), 0);
}

static void mended_freezer_is_wrong_when_the_rate_wanders(void **state)
{
    (void)state;
    assert_true(within(wandering(), GN_FIT_FREEZER).outside > SAMPLES / 4);
}

static void mended_freezer_is_never_tighter_than_the_program(void **state)
{
    (void)state;
    struct world w = usual();
    struct gn_fit *freezer = fit_of(w, GN_FIT_FREEZER), *program = fit_of(w, GN_FIT_HULL_LP);
    for (int64_t t = -900 * second; t < 900 * second; t += second) {
        struct gn_interval f = gn_fit_convert(freezer, child_reading(&w, t));
        struct gn_interval p = gn_fit_convert(program, child_reading(&w, t));
        assert_true(f.lo_ns <= p.lo_ns + 1 && p.hi_ns - 1 <= f.hi_ns);
    }
    gn_fit_free(freezer);
    gn_fit_free(program);
}

/* ---- numbers ---- */

/* The same clocks, with readings that a double does not hold: the same results. */
static void large_readings_lose_nothing(void **state)
{
    (void)state;
    struct world small = usual(), large = usual();
    small.child_base = small.parent_base = UINT64_C(1) << 45;
    large.child_base = large.parent_base = (UINT64_C(1) << 63) - 12345;
    for (int kind = 0; kind < GN_FIT_KINDS; kind++) {
        struct gn_fit *a = fit_of(small, kind), *b = fit_of(large, kind);
        assert_non_null(a);
        assert_non_null(b);
        for (int64_t t = -900 * second; t < 900 * second; t += second) {
            struct gn_interval at_a = gn_fit_convert(a, child_reading(&small, t));
            struct gn_interval at_b = gn_fit_convert(b, child_reading(&large, t));
            assert_int_equal(at_a.lo_ns, at_b.lo_ns);
            assert_int_equal(at_a.hi_ns, at_b.hi_ns);
        }
        gn_fit_free(a);
        gn_fit_free(b);
    }
}

/* An hour at 10^6 ns apart is 10^15 and more: bounds of readings that far from any exchange still hold. */
static void bounds_hold_after_twelve_days(void **state)
{
    (void)state;
    struct world w = usual();
    for (int kind = GN_FIT_HULL_LP; kind <= GN_FIT_FREEZER; kind++) {
        struct gn_fit *fit = fit_of(w, kind);
        if (kind == GN_FIT_HULL_LP || kind == GN_FIT_FREEZER)
            assert_int_equal(outcome_of(&w, fit, 1000000 * second, 1000100 * second).outside, 0);
        gn_fit_free(fit);
    }
}

static void readings_out_of_reach_are_not_known(void **state)
{
    (void)state;
    struct gn_fit *fit = fit_of(usual(), GN_FIT_HULL_LP);
    struct gn_interval at = gn_fit_convert(fit, UINT64_C(1) << 63);
    assert_true(at.lo_ns == INT64_MIN && at.hi_ns == INT64_MAX);
    gn_fit_free(fit);
}

/* Messages that take no time leave nothing between the bounds but the grain of the readings: a tick that is
 * dropped, or rounded inward, shows. */
static void bounds_hold_to_the_last_tick(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct world w = usual();
        w.there_ns = w.back_ns = w.noise_ns = 0;
        w.rate_ppb = (int64_t)seed * 40000 - 180000;
        w.child_hz = seed % 3 ? 2.1e9 : 1e7; /* or a grain of 100 ns */
        for (int kind = GN_FIT_HULL_LP; kind <= GN_FIT_FREEZER; kind += GN_FIT_FREEZER - GN_FIT_HULL_LP) {
            struct outcome o = within(w, kind);
            assert_int_equal(o.outside, 0);
            assert_true(o.width_ns < (seed % 3 ? 10 : 400));
        }
    }
}

/* Two clocks of 3 GHz that agree, with grains of 5 and 7 ticks: at the zero the lower bound is that of a
 * grain of the child's before, the upper one that of both grains later, which is seldom a whole ns. */
static void bounds_are_rounded_outward(void **state)
{
    (void)state;
    for (uint64_t tick = 0; tick < 6; tick++) {
        const uint64_t a = 3000000 + tick, b = a + 600000000;
        const struct gn_exchange e[] = {{a, a, a, a, true, true, false}, {b, b, b, b, true, true, false}};
        struct gn_fit_pair pair = {e, 2, {3e9, 5}, {3e9, 7}, 3000000, 0};
        struct gn_fit *fit = gn_fit_new(GN_FIT_FREEZER, &pair, NULL);
        struct gn_interval at = gn_fit_convert(fit, a);
        assert_true(3 * at.lo_ns <= (int64_t)tick - 5);
        assert_true(3 * at.hi_ns >= (int64_t)tick + 12);
        assert_true(3 * (at.hi_ns - at.lo_ns) <= 17 + 6);
        gn_fit_free(fit);
    }
}

/* ---- what there is no fit of ---- */

static void half_an_exchange_is_a_message(void **state)
{
    (void)state;
    struct world w = usual();
    struct gn_exchange *e = exchanges_between(&w, second, 61 * second, EXCHANGES);
    for (int i = 1; i < EXCHANGES - 1;
         i++) { /* answers are lost, and what they would have said is nonsense */
        e[i].back = false;
        e[i].answered_ticks = e[i].received_ticks = 0;
    }
    struct gn_fit_pair pair = pair_of(&w, e, EXCHANGES);
    for (int kind = 0; kind < GN_FIT_KINDS; kind++) {
        struct gn_fit *fit = gn_fit_new(kind, &pair, NULL);
        assert_true(outcome_of(&w, fit, second, 61 * second).error_ns < 50000);
        gn_fit_free(fit);
    }
    free(e);
}

static void no_fit_of_too_little(void **state)
{
    (void)state;
    struct gn_error err;
    struct world w = usual();
    struct gn_exchange e[] = {exchange_at(&w, second), exchange_at(&w, 2 * second)};
    for (int kind = 0; kind < GN_FIT_KINDS; kind++) {
        struct gn_fit_pair none = pair_of(&w, e, 0), far = pair_of(&w, e, 2);
        assert_null(gn_fit_new(kind, &none, &err));
        assert_non_null(strstr(err.text, "not one exchange"));
        e[1].asked_ticks += UINT64_C(1) << 62;
        assert_null(gn_fit_new(kind, &far, &err));
        assert_non_null(strstr(err.text, "2^61"));
        e[1].asked_ticks -= UINT64_C(1) << 62;
    }
    struct gn_fit_pair one = pair_of(&w, e, 1);
    assert_null(gn_fit_new(GN_FIT_FREEZER, &one, &err));
    assert_null(gn_fit_new(GN_FIT_TWO_POINTS, &one, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regression_is_right_when_delays_are_alike),
        cmocka_unit_test(regression_is_off_by_half_of_what_delays_differ),
        cmocka_unit_test(two_points_are_right_when_delays_are_alike),
        cmocka_unit_test(two_points_are_off_by_half_of_what_delays_differ),
        cmocka_unit_test(two_points_are_blind_between_the_ends),
        cmocka_unit_test(hull_stays_in_the_corridor),
        cmocka_unit_test(hull_says_when_there_is_no_line),
        cmocka_unit_test(bounds_by_program_contain_the_truth),
        cmocka_unit_test(bounds_by_program_contain_the_hull),
        cmocka_unit_test(published_freezer_is_wrong_before_its_zero),
        cmocka_unit_test(mended_freezer_is_right_before_its_zero),
        cmocka_unit_test(published_zero_is_in_the_ticks_of_the_wrong_clock),
        cmocka_unit_test(mended_freezer_is_wrong_when_the_rate_wanders),
        cmocka_unit_test(mended_freezer_is_never_tighter_than_the_program),
        cmocka_unit_test(large_readings_lose_nothing),
        cmocka_unit_test(bounds_hold_after_twelve_days),
        cmocka_unit_test(readings_out_of_reach_are_not_known),
        cmocka_unit_test(bounds_hold_to_the_last_tick),
        cmocka_unit_test(bounds_are_rounded_outward),
        cmocka_unit_test(half_an_exchange_is_a_message),
        cmocka_unit_test(no_fit_of_too_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

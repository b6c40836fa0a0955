/* What messages prove about clocks: bounds.h, pair.h, clocks.h. Whether no bound is ever wrong is tried at
 * large by tests/soundness; here is one fact per test, with numbers that can be checked by hand. */
#include "base/mix.h"
#include "clock/clocks.h"
#include "clock/model.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct gn_clock_def ghz = {1e9, 1}; /* a tick is a nanosecond */

static struct gn_clocks *clocks_of(uint32_t count, size_t capacity)
{
    struct gn_clocks *clocks = gn_clocks_new(capacity);
    assert_non_null(clocks);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(gn_clocks_add(clocks, &ghz), i);
    return clocks;
}

static void solve(struct gn_clocks *clocks, enum gn_assumption_kind kind, uint32_t nominal_ppb,
                  uint32_t wander_ppb)
{
    struct gn_assumption assumption = {kind, nominal_ppb, wander_ppb};
    struct gn_error err;
    assert_int_equal(gn_clocks_solve(clocks, &assumption, &err), 0);
}

static struct gn_interval bounds_at(const struct gn_clocks *clocks, uint32_t domain, uint64_t ticks)
{
    const struct gn_clock_state *state = gn_clocks_state(clocks, domain);
    assert_true(state->reached);
    return gn_bounds_convert(state->bounds, ticks);
}

static void assert_interval(struct gn_interval got, int64_t lo, int64_t hi)
{
    if (got.lo_ns != lo || got.hi_ns != hi)
        fail_msg("[%lld, %lld], not [%lld, %lld]", (long long)got.lo_ns, (long long)got.hi_ns, (long long)lo,
                 (long long)hi);
}

/* ---- bounds ---- */

static void test_lines_between_breakpoints_are_rounded_outward(void **state)
{
    (void)state;
    struct gn_breakpoint points[] = {{100, 0, 10}, {103, 1, 11}, {110, 21, 40}};
    struct gn_outside outside = {0.5, 2};
    struct gn_bounds *bounds = gn_bounds_new(points, 3, &outside, NULL);
    assert_non_null(bounds);
    assert_interval(gn_bounds_convert(bounds, 100), 0, 10);
    assert_interval(gn_bounds_convert(bounds, 101), 0, 11); /* 1/3 down, 10 1/3 up */
    assert_interval(gn_bounds_convert(bounds, 109), 18, 36);
    struct gn_interval outer = gn_bounds_convert(bounds, 120);
    assert_in_range(outer.lo_ns, 25, 26);
    assert_in_range(outer.hi_ns, 60, 61);
    outer = gn_bounds_convert(bounds, 90);
    assert_in_range(-outer.lo_ns, 20, 21);
    assert_in_range(outer.hi_ns, 5, 6);
    gn_bounds_free(bounds);
}

static void test_disorderly_breakpoints_are_refused(void **state)
{
    (void)state;
    struct gn_outside outside = {1, 1};
    struct gn_breakpoint back[] = {{10, 0, 1}, {10, 5, 6}}, crossed[] = {{10, 5, 4}},
                         falling[] = {{10, 5, 6}, {20, 4, 7}};
    struct gn_error err;
    assert_null(gn_bounds_new(back, 2, &outside, &err));
    assert_null(gn_bounds_new(crossed, 1, &outside, &err));
    assert_null(gn_bounds_new(falling, 2, &outside, &err));
    assert_null(gn_bounds_new(crossed, 0, &outside, &err));
    outside.rate_hi = NAN;
    assert_null(gn_bounds_new(falling, 1, &outside, &err));
}

static void test_far_readings_saturate(void **state)
{
    (void)state;
    struct gn_breakpoint point = {UINT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2};
    struct gn_outside outside = {900, 1000};
    struct gn_bounds *bounds = gn_bounds_new(&point, 1, &outside, NULL);
    assert_interval(gn_bounds_convert(bounds, UINT64_MAX), INT64_MAX, INT64_MAX);
    assert_interval(gn_bounds_convert(bounds, 0), INT64_MIN, INT64_MIN);
    gn_bounds_free(bounds);
}

/* The batch may widen by its rounding, and must never narrow. */
static void test_a_batch_contains_the_single_conversion(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    struct gn_breakpoint points[50];
    uint64_t random = 7, *ticks = malloc(COUNT * sizeof *ticks);
    struct gn_interval *batch = malloc(COUNT * sizeof *batch);
    points[0] = (struct gn_breakpoint){1000000, -5, 12345};
    for (int i = 1; i < 50; i++) {
        uint64_t run = 1 + (gn_mix_next(&random) >> (random % 50 + 10)) % 100000000;
        points[i] = points[i - 1];
        points[i].ticks += run;
        points[i].lo_ns += (int64_t)((double)run * 0.3333333);
        points[i].hi_ns += (int64_t)((double)run * 0.3333334) + 1;
    }
    struct gn_outside outside = {0.333333, 0.333334};
    struct gn_bounds *bounds = gn_bounds_new(points, 50, &outside, NULL);
    assert_non_null(bounds);
    uint64_t span = points[49].ticks - points[0].ticks;
    for (int i = 0; i < COUNT; i++)
        ticks[i] = points[0].ticks - 1000 +
                   (i < COUNT / 2 ? span / COUNT * 2 * (uint64_t)i : gn_mix_next(&random) % (span + 100000));
    gn_bounds_convert_all(bounds, ticks, batch, COUNT);
    for (int i = 0; i < COUNT; i++) {
        struct gn_interval one = gn_bounds_convert(bounds, ticks[i]);
        assert_true(batch[i].lo_ns <= one.lo_ns && batch[i].lo_ns >= one.lo_ns - 2);
        assert_true(batch[i].hi_ns >= one.hi_ns && batch[i].hi_ns <= one.hi_ns + 2);
    }
    gn_bounds_free(bounds);
    free(ticks);
    free(batch);
}

/* The lower bound may rise where the upper one does not: it decides how far doubles reach, too. */
static void test_a_batch_counts_on_neither_bound_being_the_flatter(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    struct gn_breakpoint points[] = {{0, 0, INT64_C(1) << 53},
                                     {UINT64_C(1) << 51, INT64_C(1) << 53, INT64_C(1) << 53}};
    struct gn_outside outside = {0, 4};
    struct gn_bounds *bounds = gn_bounds_new(points, 2, &outside, NULL);
    uint64_t ticks[COUNT];
    struct gn_interval all[COUNT];
    assert_non_null(bounds);
    for (int i = 0; i < COUNT; i++)
        ticks[i] = (UINT64_C(1) << 51) - 1000 + (uint64_t)i;
    gn_bounds_convert_all(bounds, ticks, all, COUNT);
    for (int i = 0; i < COUNT; i++) {
        struct gn_interval one = gn_bounds_convert(bounds, ticks[i]);
        assert_in_range(one.lo_ns - all[i].lo_ns, 0, 2);
        assert_in_range(all[i].hi_ns - one.hi_ns, 0, 2);
    }
    gn_bounds_free(bounds);
}

/* As a damaged profile may have them. */
/* A table may say that nothing is known. */
static void test_a_batch_of_what_is_not_known_saturates(void **state)
{
    (void)state;
    struct gn_breakpoint points[] = {{0, INT64_MIN, INT64_MAX}, {1000, INT64_MIN, INT64_MAX}};
    struct gn_bounds *bounds = gn_bounds_new(points, 2, &(struct gn_outside){0, (double)INFINITY}, NULL);
    uint64_t ticks[64];
    struct gn_interval all[64];
    for (uint64_t i = 0; i < 64; i++)
        ticks[i] = i;
    gn_bounds_convert_all(bounds, ticks, all, 64);
    for (int i = 0; i < 64; i++)
        assert_interval(all[i], INT64_MIN, INT64_MAX);
    gn_bounds_free(bounds);
}

static void test_rates_beyond_all_clocks_are_refused(void **state)
{
    (void)state;
    struct gn_breakpoint one[] = {{10, 0, 1}};
    struct gn_outside endless = {(double)INFINITY, (double)INFINITY}, huge = {1e300, (double)INFINITY},
                      nothing = {(double)NAN, 1};
    struct gn_error err;
    assert_null(gn_bounds_new(one, 1, &endless, &err));
    assert_null(gn_bounds_new(one, 1, &huge, &err));
    assert_null(gn_bounds_new(one, 1, &nothing, &err));
}

static void test_the_reference_is_its_own_time(void **state)
{
    (void)state;
    struct gn_bounds *bounds = gn_bounds_reference(3e9, 1, 3000, NULL);
    assert_interval(gn_bounds_convert(bounds, 3000), 0, 1);
    struct gn_interval before = gn_bounds_convert(bounds, 0);
    assert_in_range(-before.lo_ns, 1000, 1001);
    assert_in_range(-before.hi_ns, 998, 999);
    /* an hour at 3 GHz, to a nanosecond or two */
    struct gn_interval hour = gn_bounds_convert(bounds, 3000 + 3600ull * 3000000000);
    assert_in_range(hour.lo_ns, 3599999999999, 3600000000000);
    assert_in_range(hour.hi_ns, 3600000000001, 3600000000002);
    gn_bounds_free(bounds);
}

/* ---- one pair of clocks ---- */

/* The child shows the reference's time and 1000000. Delays: 100 there, 200 back. */
static void exchange_at(struct gn_clocks *clocks, uint64_t t, uint64_t there, uint64_t back)
{
    assert_int_equal(gn_clocks_message(clocks, 1, t + 1000000, 0, t + there), 0);
    assert_int_equal(gn_clocks_message(clocks, 0, t + there + 10, 1, t + there + 10 + back + 1000000), 0);
}

static void test_at_an_exchange_the_bounds_are_as_wide_as_its_delays(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(2, 0);
    exchange_at(clocks, 50000, 100, 200);
    solve(clocks, GN_RATE_WITHIN, 100000, 0);
    struct gn_interval at = bounds_at(clocks, 1, 1050000);
    assert_in_range(50000 - at.lo_ns, 200, 206); /* a tick's floor and outward rounding */
    assert_in_range(at.hi_ns - 50000, 100, 106);
    gn_clocks_free(clocks);
}

static void test_between_exchanges_the_rate_widens_them(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(2, 0);
    exchange_at(clocks, 0, 100, 100);
    exchange_at(clocks, 2000000000, 100, 100);
    solve(clocks, GN_RATE_WITHIN, 1000, 0); /* 1 ppm: 1000 ns a second */
    struct gn_interval middle = bounds_at(clocks, 1, 1001000000);
    assert_in_range(1000000000 - middle.lo_ns, 1100, 1106);
    assert_in_range(middle.hi_ns - 1000000000, 1100, 1106);
    struct gn_interval after = bounds_at(clocks, 1, 5001000000);
    assert_in_range(5000000000 - after.lo_ns, 3100, 3106);
    struct gn_interval before = bounds_at(clocks, 1, 0);
    assert_in_range(-1000000 - before.lo_ns, 100, 106);
    gn_clocks_free(clocks);
}

static void test_a_constant_rate_is_bounded_by_the_hulls(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(2, 0);
    exchange_at(clocks, 0, 100, 100);
    exchange_at(clocks, 1000000000, 5000, 9000); /* a bad one: implied by the others */
    exchange_at(clocks, 2000000000, 100, 100);
    solve(clocks, GN_RATE_CONSTANT, 100000, 0);
    assert_int_equal(gn_clocks_state(clocks, 1)->rests_on, GN_RATE_CONSTANT);
    struct gn_interval middle = bounds_at(clocks, 1, 1001000000);
    assert_in_range(1000000000 - middle.lo_ns, 100, 106);
    assert_in_range(middle.hi_ns - 1000000000, 100, 106);
    /* as far beyond as the exchanges are apart: three times as wide */
    struct gn_interval after = bounds_at(clocks, 1, 4001000000);
    assert_in_range(after.hi_ns - after.lo_ns, 596, 620);
    gn_clocks_free(clocks);
}

static void test_wander_is_allowed_for_twice(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(2, 0);
    for (uint64_t s = 0; s <= 1000; s += 100)
        exchange_at(clocks, s * 1000000000, 100, 100);
    solve(clocks, GN_RATE_WANDERS, 200000, 1000);
    const struct gn_clock_state *known = gn_clocks_state(clocks, 1);
    assert_int_equal(known->rests_on, GN_RATE_WANDERS);
    assert_true(known->rate_lo_ppb < -2000 && known->rate_lo_ppb > -2001);
    assert_true(known->rate_hi_ppb > 2000 && known->rate_hi_ppb < 2001);
    gn_clocks_free(clocks);
}

/* Rates from 500 to 1500 ns a tick: from reading 100 on 1500 for 3.1 ticks, then 500. */
static void test_corners_of_wide_rates_stay_outside(void **state)
{
    (void)state;
    struct gn_point lower[] = {{100, 0}}, upper[] = {{100, 0}, {105, 5600}};
    struct gn_points points = {lower, upper, 1, 2};
    struct gn_rates rates = {500, 1500, 0, false};
    struct gn_bounds *bounds;
    struct gn_error err;
    assert_int_equal(gn_model_within(&bounds, &points, &rates, 1, &err), 0);
    assert_true(gn_bounds_convert(bounds, 102).hi_ns >= 4500); /* it may be as late as reading 103 */
    gn_bounds_free(bounds);
}

/* What is no clock's: frequencies and readings as far apart as the numbers go. */
static void test_extremes_are_survived(void **state)
{
    (void)state;
    static const double hz[] = {1, 1e9, 1e12};
    static const uint64_t ticks[] = {
        0, 1, INT64_MAX - 1, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX};
    uint64_t seed = 5;
    for (int i = 0; i < 3000; i++) {
        struct gn_clocks *clocks = gn_clocks_new(16);
        for (int k = 0; k < 3; k++) {
            struct gn_clock_def def = {hz[gn_mix_next(&seed) % 3],
                                       1 + (gn_mix_next(&seed) >> gn_mix_next(&seed) % 64)};
            gn_clocks_add(clocks, &def);
        }
        gn_clocks_set_epoch(clocks, gn_mix_next(&seed) % 2 ? ticks[gn_mix_next(&seed) % 7] : 0);
        for (int k = 0; k < 40; k++) {
            uint32_t from = (uint32_t)(gn_mix_next(&seed) % 3);
            uint64_t sent = ticks[gn_mix_next(&seed) % 7] - gn_mix_next(&seed) % 3;
            gn_clocks_message(clocks, from, sent, (from + 1 + (uint32_t)(gn_mix_next(&seed) % 2)) % 3,
                              gn_mix_next(&seed) >> gn_mix_next(&seed) % 64);
        }
        solve(clocks, (enum gn_assumption_kind)(gn_mix_next(&seed) % 4), GN_NOMINAL_PPB, GN_WANDER_PPB);
        for (uint32_t k = 0; k < 3; k++)
            if (gn_clocks_state(clocks, k)->reached)
                for (int t = 0; t < 7; t++) {
                    struct gn_interval at = bounds_at(clocks, k, ticks[t]);
                    assert_true(at.lo_ns <= at.hi_ns);
                }
        gn_clocks_free(clocks);
    }
}

static void test_a_step_refutes_and_is_told_where(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(2, 0);
    for (uint64_t s = 0; s < 20; s++) {
        uint64_t t = s * 1000000000, step = s >= 10 ? 5000000 : 0; /* 5 ms in a second: 5000 ppm */
        gn_clocks_message(clocks, 1, t + step, 0, t + 100);
        gn_clocks_message(clocks, 0, t + 110, 1, t + 210 + step);
    }
    solve(clocks, GN_RATE_WANDERS, 200000, 5000);
    const struct gn_clock_state *known = gn_clocks_state(clocks, 1);
    assert_int_equal(known->refuted_count, 2);
    assert_int_equal(known->refuted[0].kind, GN_RATE_WANDERS);
    assert_int_equal(known->refuted[1].kind, GN_RATE_WITHIN);
    assert_true(known->refuted[1].first_ticks <= 10005000000 && known->refuted[1].last_ticks >= 9000000000);
    assert_true(known->refuted[1].allowed_ppb == 200000);
    assert_int_equal(known->rests_on, GN_RATE_UNKNOWN);
    struct gn_interval at = bounds_at(clocks, 1, 5000000000);
    assert_true(at.lo_ns <= 5000000000 && at.hi_ns >= 5000000000);
    gn_clocks_free(clocks);
}

static void test_a_rate_beyond_nominal_refutes_it(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(2, 0);
    for (uint64_t s = 0; s < 20; s++) {
        uint64_t t = s * 1000000000, x = t + t / 2000; /* 500 ppm */
        gn_clocks_message(clocks, 1, x, 0, t + 100);
        gn_clocks_message(clocks, 0, t, 1, x + 100);
    }
    solve(clocks, GN_RATE_WANDERS, 200000, 5000);
    const struct gn_clock_state *known = gn_clocks_state(clocks, 1);
    assert_int_equal(known->refuted[0].kind, GN_RATE_WANDERS);
    assert_true(fabs(known->refuted[0].seen_ppb) > 490000);
    assert_int_equal(known->rests_on, GN_RATE_UNKNOWN);
    solve(clocks, GN_RATE_WANDERS, 600000, 5000);
    assert_int_equal(gn_clocks_state(clocks, 1)->refuted_count, 0);
    gn_clocks_free(clocks);
}

static void test_one_direction_alone_reaches_nothing(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(2, 0);
    gn_clocks_message(clocks, 0, 10, 1, 20);
    solve(clocks, GN_RATE_WITHIN, 100000, 0);
    assert_false(gn_clocks_state(clocks, 1)->reached);
    assert_null(gn_clocks_state(clocks, 1)->bounds);
    gn_clocks_free(clocks);
}

static void test_messages_of_no_domain_are_refused(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(2, 0);
    assert_int_equal(gn_clocks_message(clocks, 0, 1, 0, 2), -EINVAL);
    assert_int_equal(gn_clocks_message(clocks, 0, 1, 2, 2), -EINVAL);
    assert_int_equal(gn_clocks_message(clocks, 7, 1, 1, 2), -EINVAL);
    gn_clocks_free(clocks);
}

static void test_order_of_arrival_changes_nothing(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    struct gn_clocks *in_order = clocks_of(2, 0), *shuffled = clocks_of(2, 0);
    uint64_t random = 3, there[COUNT], back[COUNT];
    int order[COUNT];
    for (int i = 0; i < COUNT; i++) {
        there[i] = 100 + gn_mix_next(&random) % 1000;
        back[i] = 100 + gn_mix_next(&random) % 1000;
        order[i] = i;
        exchange_at(in_order, (uint64_t)i * 1000000, there[i], back[i]);
    }
    for (int i = COUNT - 1; i > 0; i--) {
        int k = (int)(gn_mix_next(&random) % (uint64_t)(i + 1)), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (int i = 0; i < COUNT; i++)
        exchange_at(shuffled, (uint64_t)order[i] * 1000000, there[order[i]], back[order[i]]);
    solve(in_order, GN_RATE_WANDERS, 200000, 1000);
    solve(shuffled, GN_RATE_WANDERS, 200000, 1000);
    for (uint64_t x = 0; x < 600000000; x += 777777) {
        struct gn_interval a = bounds_at(in_order, 1, x), b = bounds_at(shuffled, 1, x);
        assert_interval(a, b.lo_ns, b.hi_ns);
    }
    gn_clocks_free(in_order);
    gn_clocks_free(shuffled);
}

struct counted {
    size_t count;
    uint64_t last;
};

static void count_kept(void *context, uint64_t sent_ticks, uint64_t received_ticks)
{
    struct counted *c = context;
    (void)sent_ticks;
    assert_true(c->count == 0 || received_ticks > c->last);
    c->last = received_ticks;
    c->count++;
}

static void test_memory_is_bounded_and_spread_over_the_run(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(2, 64);
    uint64_t random = 5;
    for (uint64_t i = 0; i < 100000; i++)
        exchange_at(clocks, i * 100000000, 100 + gn_mix_next(&random) % 1000,
                    100 + gn_mix_next(&random) % 1000);
    struct counted kept = {0, 0};
    gn_clocks_each_kept(clocks, 0, 1, count_kept, &kept);
    assert_in_range(kept.count, 16, 64);
    assert_int_equal(gn_clocks_messages(clocks, 0, 1), 100000);
    solve(clocks, GN_RATE_WANDERS, 200000, 1000);
    /* a cell of the thinned run is at most 10,000 s / 16 long, a gap two of them; 4 us a second from a point
     */
    for (uint64_t s = 0; s < 10000; s += 50) {
        struct gn_interval at = bounds_at(clocks, 1, s * 1000000000 + 1000000);
        assert_true(at.lo_ns <= (int64_t)s * 1000000000 && at.hi_ns >= (int64_t)s * 1000000000);
        assert_true(at.hi_ns - at.lo_ns < 4 * 1000 * 1300);
    }
    gn_clocks_free(clocks);
}

/* What was kept, told to other clocks, makes the same bounds: that is how a profile keeps them. */
static void tell(void *context, uint64_t sent_ticks, uint64_t received_ticks)
{
    gn_clocks_message(context, 0, sent_ticks, 1, received_ticks);
}

static void tell_back(void *context, uint64_t sent_ticks, uint64_t received_ticks)
{
    gn_clocks_message(context, 1, sent_ticks, 0, received_ticks);
}

static void test_what_is_kept_is_all_that_is_needed(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(2, 0), *again = clocks_of(2, 0);
    uint64_t random = 9;
    for (uint64_t i = 0; i < 3000; i++)
        exchange_at(clocks, i * 1000000, 100 + gn_mix_next(&random) % 1000,
                    100 + gn_mix_next(&random) % 1000);
    gn_clocks_each_kept(clocks, 0, 1, tell, again);
    gn_clocks_each_kept(clocks, 1, 0, tell_back, again);
    solve(clocks, GN_RATE_WANDERS, 200000, 1000);
    solve(again, GN_RATE_WANDERS, 200000, 1000);
    for (uint64_t x = 0; x < 4000000000; x += 7777777) {
        struct gn_interval a = bounds_at(clocks, 1, x), b = bounds_at(again, 1, x);
        assert_interval(a, b.lo_ns, b.hi_ns);
    }
    gn_clocks_free(clocks);
    gn_clocks_free(again);
}

/* ---- several ---- */

static void test_widths_add_up_along_a_chain(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(3, 0);
    for (uint64_t t = 0; t <= 1000000; t += 1000) {
        gn_clocks_message(clocks, 1, t + 500, 0, t + 100);
        gn_clocks_message(clocks, 0, t, 1, t + 500 + 100);
        gn_clocks_message(clocks, 2, t + 77, 1, t + 500 + 30);
        gn_clocks_message(clocks, 1, t + 500, 2, t + 77 + 30);
    }
    solve(clocks, GN_RATE_WITHIN, 100, 0);
    struct gn_interval at = bounds_at(clocks, 2, 500077);
    assert_in_range(500000 - at.lo_ns, 130, 142);
    assert_in_range(at.hi_ns - 500000, 130, 142);
    gn_clocks_free(clocks);
}

/* 0 → 1 → 2 → 0: no two of them talk both ways, and still each is bounded from both sides. */
static void test_a_ring_of_one_way_messages_bounds_all(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(3, 0);
    for (uint64_t t = 1000; t <= 1000000; t += 1000) {
        gn_clocks_message(clocks, 0, t, 1, t + 5000 + 10);
        gn_clocks_message(clocks, 1, t + 5000, 2, t + 9000 + 20);
        gn_clocks_message(clocks, 2, t + 9000, 0, t + 30);
    }
    solve(clocks, GN_RATE_WITHIN, 100, 0);
    struct gn_interval one = bounds_at(clocks, 1, 505000), two = bounds_at(clocks, 2, 509000);
    assert_in_range(500000 - one.lo_ns, 10, 16);
    assert_in_range(one.hi_ns - 500000, 50, 62);
    assert_in_range(500000 - two.lo_ns, 30, 42);
    assert_in_range(two.hi_ns - 500000, 30, 36);
    gn_clocks_free(clocks);
}

/* A second way to a domain tightens what the first one said. */
/* 2 steps, 1 talks with it and with the reference: 1 is none the worse for it. */
static void test_a_step_elsewhere_in_a_mesh_refutes_nothing_here(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(3, 0);
    for (uint64_t t = 1000000; t < 20000000; t += 100000) {
        uint64_t step = t < 10000000 ? 0 : 1000000;
        for (uint32_t i = 0; i < 3; i++)
            for (uint32_t k = 0; k < 3; k++)
                if (i != k)
                    gn_clocks_message(clocks, i, t + (i == 2 ? step : 0), k, t + 100 + (k == 2 ? step : 0));
    }
    solve(clocks, GN_RATE_WANDERS, GN_NOMINAL_PPB, GN_WANDER_PPB);
    assert_true(gn_clocks_state(clocks, 2)->refuted_count > 0);
    assert_int_equal(gn_clocks_state(clocks, 1)->refuted_count, 0);
    assert_int_equal(gn_clocks_state(clocks, 1)->rests_on, GN_RATE_WANDERS);
    struct gn_interval at = bounds_at(clocks, 1, 10000000);
    assert_in_range(at.hi_ns - at.lo_ns, 190, 210);
    gn_clocks_free(clocks);
}

static void test_a_better_way_around_is_used(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(3, 0);
    for (uint64_t t = 1000; t <= 1000000; t += 1000) {
        gn_clocks_message(clocks, 0, t, 1, t + 900);
        gn_clocks_message(clocks, 1, t, 0, t + 900);
        gn_clocks_message(clocks, 0, t, 2, t + 5);
        gn_clocks_message(clocks, 2, t, 0, t + 5);
        gn_clocks_message(clocks, 1, t, 2, t + 5);
        gn_clocks_message(clocks, 2, t, 1, t + 5);
    }
    solve(clocks, GN_RATE_WITHIN, 100, 0);
    struct gn_interval one = bounds_at(clocks, 1, 500000);
    assert_in_range(one.hi_ns - one.lo_ns, 20, 36);
    gn_clocks_free(clocks);
}

/* The reference steps. Host 2 has too few messages with it to show that, but what host 1 has seen is enough:
 * host 2 is not known as if nothing had happened. */
static void test_a_reference_that_steps_is_trusted_by_none(void **state)
{
    (void)state;
    struct gn_clocks *clocks = clocks_of(3, 0);
    for (uint64_t s = 0; s < 20; s++) {
        uint64_t t = s * 1000000000, step = s >= 10 ? 5000000 : 0;
        gn_clocks_message(clocks, 1, t, 0, t + 100 + step);
        gn_clocks_message(clocks, 0, t + 110 + step, 1, t + 210);
        gn_clocks_message(clocks, 2, t, 1, t + 100);
        gn_clocks_message(clocks, 1, t + 110, 2, t + 210);
        if (s < 2) {
            gn_clocks_message(clocks, 2, t, 0, t + 100);
            gn_clocks_message(clocks, 0, t + 110, 2, t + 210);
        }
    }
    solve(clocks, GN_RATE_WANDERS, 200000, 1000);
    assert_int_equal(gn_clocks_state(clocks, 1)->refuted[0].kind, GN_RATE_WANDERS);
    assert_int_equal(gn_clocks_state(clocks, 2)->rests_on, GN_RATE_UNKNOWN);
    struct gn_interval at = bounds_at(clocks, 2, 15000000000);
    assert_true(at.lo_ns <= 15005000000 && at.hi_ns >= 15005000000);
    gn_clocks_free(clocks);
}

static void test_verdicts(void **state)
{
    (void)state;
    struct gn_interval a = {10, 20}, touching = {20, 30}, later = {21, 30};
    assert_int_equal(gn_verdict_of(a, later), GN_BEFORE);
    assert_int_equal(gn_verdict_of(later, a), GN_AFTER);
    assert_int_equal(gn_verdict_of(a, touching), GN_UNDECIDABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_between_breakpoints_are_rounded_outward),
        cmocka_unit_test(test_disorderly_breakpoints_are_refused),
        cmocka_unit_test(test_far_readings_saturate),
        cmocka_unit_test(test_a_batch_contains_the_single_conversion),
        cmocka_unit_test(test_a_batch_counts_on_neither_bound_being_the_flatter),
        cmocka_unit_test(test_rates_beyond_all_clocks_are_refused),
        cmocka_unit_test(test_a_batch_of_what_is_not_known_saturates),
        cmocka_unit_test(test_the_reference_is_its_own_time),
        cmocka_unit_test(test_at_an_exchange_the_bounds_are_as_wide_as_its_delays),
        cmocka_unit_test(test_between_exchanges_the_rate_widens_them),
        cmocka_unit_test(test_a_constant_rate_is_bounded_by_the_hulls),
        cmocka_unit_test(test_wander_is_allowed_for_twice),
        cmocka_unit_test(test_corners_of_wide_rates_stay_outside),
        cmocka_unit_test(test_extremes_are_survived),
        cmocka_unit_test(test_a_step_refutes_and_is_told_where),
        cmocka_unit_test(test_a_rate_beyond_nominal_refutes_it),
        cmocka_unit_test(test_one_direction_alone_reaches_nothing),
        cmocka_unit_test(test_messages_of_no_domain_are_refused),
        cmocka_unit_test(test_order_of_arrival_changes_nothing),
        cmocka_unit_test(test_memory_is_bounded_and_spread_over_the_run),
        cmocka_unit_test(test_what_is_kept_is_all_that_is_needed),
        cmocka_unit_test(test_widths_add_up_along_a_chain),
        cmocka_unit_test(test_a_ring_of_one_way_messages_bounds_all),
        cmocka_unit_test(test_a_step_elsewhere_in_a_mesh_refutes_nothing_here),
        cmocka_unit_test(test_a_better_way_around_is_used),
        cmocka_unit_test(test_a_reference_that_steps_is_trusted_by_none),
        cmocka_unit_test(test_verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

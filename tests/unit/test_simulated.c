/* exchange/simulated: the clock is what its formula says, to a fraction of a tick, 10^15 ticks from the
 * origin.
 */
#include "base/mix.h"
#include "exchange/simulated.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const double HZ = 2.6e9;
static const uint64_t FAR = 1000000000000000u;

static struct gn_simulated_clock parsed(const char *spec)
{
    struct gn_simulated_clock clock;
    struct gn_error err;
    if (gn_simulated_parse(&clock, spec, HZ, &err) != 0)
        fail_msg("%s: %s", spec, err.text);
    return clock;
}

/* How far the simulated clock is ahead of the true counter, in ticks. */
static long double ahead(const struct gn_simulated_clock *clock, uint64_t ticks)
{
    __int128 ahead = gn_simulated_exact(clock, ticks) - ((__int128)ticks << GN_SIMULATED_FRACTION_BITS);
    return ldexpl((long double)ahead, -GN_SIMULATED_FRACTION_BITS);
}

static void assert_ahead(const struct gn_simulated_clock *clock, uint64_t ticks, long double expected)
{
    long double got = ahead(clock, ticks);
    if (!(fabsl(got - expected) < 0x1p-12L))
        fail_msg("ahead by %.6Lf ticks at %llu instead of %.6Lf", got, (unsigned long long)ticks, expected);
}

static void no_words_are_the_identity(void **state)
{
    (void)state;
    struct gn_simulated_clock none = parsed(NULL), empty = parsed("");
    assert_false(none.active);
    assert_false(empty.active);
    assert_int_equal(gn_simulated_reading(&none, FAR + 1), FAR + 1);
    assert_true(gn_simulated_exact(&empty, FAR + 1) == (__int128)(FAR + 1) << GN_SIMULATED_FRACTION_BITS);
}

static void offset_is_added(void **state)
{
    (void)state;
    struct gn_simulated_clock back = parsed("offset=-5s"), forth = parsed("offset=+250ns");
    assert_ahead(&back, FAR, -5 * 2.6e9L);
    assert_ahead(&forth, FAR, 650);
}

static void rate_grows_with_distance(void **state)
{
    (void)state;
    struct gn_simulated_clock fast = parsed("rate=20ppm"), slow = parsed("rate=-0.3ppm");
    assert_ahead(&fast, FAR + 7, (long double)(fast.rate_ppb * 1e-9) * (FAR + 7));
    assert_ahead(&slow, FAR + 7, (long double)(slow.rate_ppb * 1e-9) * (FAR + 7));
    assert_true(fabs(fast.rate_ppb - 20000) < 1e-9 && fabs(slow.rate_ppb + 300) < 1e-9);
}

static void sine_wanders(void **state)
{
    (void)state;
    struct gn_simulated_clock c = parsed("sine=1ppm/30s");
    const long double period = 30 * 2.6e9L, turn = 2 * acosl(-1);
    assert_ahead(&c, 0, 0);
    assert_ahead(&c, (uint64_t)(period / 2), 1e-6L * period * 2 / turn);
    assert_ahead(&c, (uint64_t)period, 0);
    for (uint64_t i = 1; i < 100; i++) {
        uint64_t ticks = FAR + i * 1234567890;
        long double angle = turn * (fmodl((long double)ticks, period) / period);
        assert_ahead(&c, ticks, 1e-6L * period / turn * (1 - cosl(angle)));
    }
}

static void ramp_grows_with_the_square(void **state)
{
    (void)state;
    struct gn_simulated_clock c = parsed("ramp=0.1ppm/s,origin=1000"), down = parsed("ramp=-0.1ppm/s");
    long double ramp = c.ramp_ppb_per_tick * 1e-9;
    assert_true(fabsl(ramp * 2.6e9L - 1e-7L) < 1e-20L);
    for (uint64_t since = 1; since < FAR / 100; since *= 7) {
        assert_ahead(&c, 1000 + since, ramp / 2 * since * since);
        assert_ahead(&down, since, -ramp / 2 * since * since);
    }
    assert_true(ahead(&c, 0) >= 0 && ahead(&c, 0) < 1); /* even: before the origin, too */
}

static void ramp_ends_at_ten_percent(void **state)
{
    (void)state;
    struct gn_simulated_clock c = parsed("ramp=10%/s"); /* after one second */
    assert_ahead(&c, 2600000000u, 0.05L * 2.6e9L);
    long double at = ahead(&c, 26000000000u), later = ahead(&c, 26000001000u);
    assert_true(fabsl(later - at - 100) < 1e-3L);
}

static void step_happens_at_its_tick(void **state)
{
    (void)state;
    struct gn_simulated_clock c = parsed("step=-1ms@2s,origin=500");
    uint64_t at = 500 + 5200000000u;
    assert_ahead(&c, at - 1, 0);
    assert_ahead(&c, at, -2.6e6L);
}

static void origin_is_where_the_offset_holds(void **state)
{
    (void)state;
    struct gn_simulated_clock c = parsed("rate=-100ppm,sine=5ppm/1s,offset=2us,origin=999999999999999");
    assert_ahead(&c, 999999999999999u, 5200);
    assert_true(ahead(&c, 999999999000000u) > 5200); /* slow: it was further ahead before */
}

static void terms_add_up(void **state)
{
    (void)state;
    struct gn_simulated_clock all = parsed("offset=-5s,rate=20ppm,sine=1ppm/30s,ramp=0.001ppm/s,step=1ms@2s");
    static const char *const parts[] = {"offset=-5s", "rate=20ppm", "sine=1ppm/30s", "ramp=0.001ppm/s",
                                        "step=1ms@2s"};
    long double sum = 0;
    for (size_t i = 0; i < 5; i++) {
        struct gn_simulated_clock part = parsed(parts[i]);
        sum += ahead(&part, FAR);
    }
    assert_ahead(&all, FAR, sum);
}

static void reading_is_the_floor_to_the_grain(void **state)
{
    (void)state;
    struct gn_simulated_clock c = parsed("offset=-123ns,rate=33ppm,sine=2ppm/3s,grain=26");
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t ticks = FAR + gn_mix(i) % FAR, reading = gn_simulated_reading(&c, ticks);
        __int128 exact = gn_simulated_exact(&c, ticks);
        assert_int_equal(reading % 26, 0);
        assert_true((__int128)reading << GN_SIMULATED_FRACTION_BITS <= exact);
        assert_true(exact < (__int128)(reading + 26) << GN_SIMULATED_FRACTION_BITS);
    }
}

static void it_rises(void **state)
{
    (void)state;
    struct gn_simulated_clock c = parsed("offset=1ms,rate=-10%,sine=10%/1us,ramp=-10%/s");
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t ticks = gn_mix(i) % FAR;
        for (uint64_t end = ticks + 1000; ticks < end; ticks++)
            assert_true(gn_simulated_exact(&c, ticks) < gn_simulated_exact(&c, ticks + 1));
    }
}

static void there_is_nothing_below_zero(void **state)
{
    (void)state;
    struct gn_simulated_clock c = parsed("offset=-1s");
    assert_int_equal(gn_simulated_reading(&c, 2600000000u - 1), 0);
    assert_int_equal(gn_simulated_reading(&c, 2600000000u + 1), 1);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const specs[] = {"offset",
                                        "offset=",
                                        "offset=5",
                                        "offset=5ppm",
                                        "offset=--5s",
                                        "offset=nan",
                                        "rate=20",
                                        "rate=20s",
                                        "rate=11%",
                                        "rate=-11%",
                                        "sine=1ppm",
                                        "sine=1ppm/",
                                        "sine=1ppm/0s",
                                        "sine=1ppm/-3s",
                                        "ramp=1ppm",
                                        "ramp=1ppm/ms",
                                        "step=1ms",
                                        "step=1ms@",
                                        "step=@2s",
                                        "grain=0",
                                        "grain=-1",
                                        "grain=1.5",
                                        "grain=8x",
                                        "origin=-1",
                                        "origin=",
                                        "origin=1e9",
                                        "drift=1ppm",
                                        "=",
                                        ",",
                                        "offset=1s,",
                                        "offset=1s rate",
                                        "offsets=1s",
                                        "offset=1s,ra=1",
                                        "offset=9999999999s",
                                        "origin=18446744073709551616"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct gn_simulated_clock clock;
        struct gn_error err = {""};
        if (gn_simulated_parse(&clock, specs[i], HZ, &err) != -EINVAL || !strstr(err.text, "expected"))
            fail_msg("%s was taken, or refused without a word: %s", specs[i], err.text);
        assert_false(clock.active);
        assert_int_equal(gn_simulated_reading(&clock, 77), 77);
    }
}

static void long_words_are_refused(void **state)
{
    (void)state;
    char spec[2000];
    struct gn_simulated_clock clock;
    memset(spec, '1', sizeof spec - 1);
    spec[sizeof spec - 1] = '\0';
    assert_int_equal(gn_simulated_parse(&clock, spec, HZ, NULL), -EINVAL);
    memcpy(spec, "offset=", 7);
    spec[300] = '\0';
    assert_int_equal(gn_simulated_parse(&clock, spec, HZ, NULL), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_words_are_the_identity),
        cmocka_unit_test(offset_is_added),
        cmocka_unit_test(rate_grows_with_distance),
        cmocka_unit_test(sine_wanders),
        cmocka_unit_test(ramp_grows_with_the_square),
        cmocka_unit_test(ramp_ends_at_ten_percent),
        cmocka_unit_test(step_happens_at_its_tick),
        cmocka_unit_test(origin_is_where_the_offset_holds),
        cmocka_unit_test(terms_add_up),
        cmocka_unit_test(reading_is_the_floor_to_the_grain),
        cmocka_unit_test(it_rises),
        cmocka_unit_test(there_is_nothing_below_zero),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(long_words_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* exchange/kernel_clock — the kernel's time of day in ticks, against clocks whose rate is known, and the real
 * one. */
#include "exchange/kernel_clock.h"

#include "base/mix.h"
#include "clock/counter.h"
#include "clock/ticks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

#include <cmocka.h>

enum { CASES = 20000 };
static const int64_t FIRST_NS = 1700000000000000000;
static const uint64_t FIRST_TICKS = 1000000000000;

/* A clock of day that runs at 1 + rate. */
static int64_t day_ns(double ticks, double ticks_per_ns, double rate)
{
    return FIRST_NS + (int64_t)floor((ticks - (double)FIRST_TICKS) / ticks_per_ns * (1 + rate));
}

static double between(uint64_t *seed, double lo, double hi)
{
    return lo + (hi - lo) * gn_mix_unit(gn_mix_next(seed));
}

/* A stamp at a random moment up to 100 ms before or after a bracket. */
static void check_located(uint64_t *seed)
{
    double slack = between(seed, 1e-6, 2e-3), rate = between(seed, -slack, slack) * 0.999;
    struct gn_steering steering = {between(seed, 0.02, 5), slack};
    double read = (double)FIRST_TICKS + floor(between(seed, 0, 1e9));
    double stamped = read + floor(between(seed, -1e8, 1e8) * steering.ticks_per_ns);
    struct gn_bracket bracket = {(uint64_t)(read - floor(between(seed, 0, 100))),
                                 (uint64_t)(read + floor(between(seed, 0, 100))),
                                 day_ns(read, steering.ticks_per_ns, rate)};
    struct gn_tick_range range;
    assert_true(gn_bracket_locate(&bracket, day_ns(stamped, steering.ticks_per_ns, rate), &steering, &range));
    assert_true((double)range.lo_ticks <= stamped && stamped <= (double)range.hi_ticks);
}

static void stamps_are_where_they_were_taken(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (int i = 0; i < CASES; i++)
        check_located(&seed);
}

static void a_bracket_next_to_a_stamp_tells_nearly_all(void **state)
{
    struct gn_steering steering = {1, 1e-4};
    struct gn_bracket bracket = {5000, 5040, FIRST_NS};
    struct gn_tick_range range;
    (void)state;
    assert_true(gn_bracket_locate(&bracket, FIRST_NS - 1000, &steering, &range));
    assert_in_range(range.lo_ticks, 5000 - 1000 - 3, 5000 - 1000);
    assert_in_range(range.hi_ticks, 5040 - 1000, 5040 - 1000 + 3);
}

static void stamps_far_away_tell_nothing(void **state)
{
    struct gn_steering steering = {1, 1e-4};
    struct gn_bracket bracket = {5000, 5040, 0};
    struct gn_tick_range range;
    (void)state;
    assert_false(gn_bracket_locate(&bracket, INT64_MIN, &steering, &range));
    assert_false(gn_bracket_locate(&bracket, INT64_MAX, &steering, &range));
}

/* 40 ms at 500 ppm are 20 µs: a step of 30 µs is no steering. */
static void steps_contradict_brackets(void **state)
{
    struct gn_steering steering = {2.5, 500e-6};
    struct gn_bracket a = {100000, 100100, FIRST_NS};
    struct gn_bracket b = {a.before_ticks + 100000000, a.after_ticks + 100000000, FIRST_NS + 40000000};
    (void)state;
    assert_true(gn_brackets_agree(&a, &b, &steering));
    b.real_ns += 19000;
    assert_true(gn_brackets_agree(&a, &b, &steering));
    b.real_ns += 11000;
    assert_false(gn_brackets_agree(&a, &b, &steering));
    b.real_ns -= 60000;
    assert_false(gn_brackets_agree(&a, &b, &steering));
}

/* What the kernel says of its clock, when a test says it. */
static bool scripted;
static struct timex said;
static long said_once;

int adjtimex(struct timex *t)
{
    if (!scripted)
        return (int)syscall(SYS_adjtimex, t);
    if (t->modes == ADJ_OFFSET_SS_READ)
        t->offset = said_once;
    else
        *t = said;
    return 0;
}

/* Nothing has been steered for long. */
static void open_steady(struct gn_kernel_clock *clock)
{
    scripted = true;
    said = (struct timex){.tick = 10000, .status = STA_NANO, .constant = 0};
    said_once = 0;
    gn_kernel_clock_open(clock, 1e9, 0);
    clock->same_since_ticks = clock->offset_since_ticks = 0;
    gn_kernel_clock_check(clock);
    assert_true(clock->steering.slack < 20e-6);
}

static bool loses_faith(struct gn_kernel_clock *clock)
{
    uint64_t before_ticks = gn_ticks_ordered();
    gn_kernel_clock_check(clock);
    return clock->since_ticks >= before_ticks;
}

static int no_script(void **state)
{
    (void)state;
    scripted = false;
    return 0;
}

static void the_same_steering_is_believed(void **state)
{
    struct gn_kernel_clock clock;
    (void)state;
    open_steady(&clock);
    assert_false(loses_faith(&clock));
    said.freq = 1;
    assert_true(loses_faith(&clock));
    assert_false(loses_faith(&clock));
    gn_kernel_clock_close(&clock);
}

/* adjtime() changes neither frequency nor tick. */
static void what_was_narrowed_when_slewing_began_is_not_used(void **state)
{
    struct gn_kernel_clock clock;
    (void)state;
    open_steady(&clock);
    said_once = 300;
    assert_true(loses_faith(&clock));
    assert_true(clock.steering.slack >= 500e-6);
    gn_kernel_clock_close(&clock);
}

static void what_was_narrowed_when_an_offset_came_is_not_used(void **state)
{
    struct gn_kernel_clock clock;
    (void)state;
    open_steady(&clock);
    said.offset = 4000000; /* ns: a quarter of it in the next second */
    assert_true(loses_faith(&clock));
    assert_true(clock.steering.slack >= 1000e-6);
    gn_kernel_clock_close(&clock);
}

/* The kernel takes a second's worth of what is left, and says that nothing is left while that goes on. */
static void the_last_of_an_offset_goes_on(void **state)
{
    struct gn_kernel_clock clock;
    (void)state;
    open_steady(&clock);
    said_once = 300;
    gn_kernel_clock_check(&clock);
    said_once = 0;
    gn_kernel_clock_check(&clock);
    assert_true(clock.steering.slack >= 500e-6);
    clock.same_since_ticks = 0;
    said.offset = 4000000;
    gn_kernel_clock_check(&clock);
    said.offset = 0;
    gn_kernel_clock_check(&clock);
    assert_true(clock.steering.slack >= 1000e-6);
    clock.offset_since_ticks = 0; /* long ago */
    gn_kernel_clock_check(&clock);
    assert_true(clock.steering.slack < 20e-6);
    gn_kernel_clock_close(&clock);
}

/* What the clock of day showed between two readings of the counter is located there. */
static void the_real_clock_is_located(void **state)
{
    struct gn_counter counter;
    struct gn_kernel_clock clock;
    struct gn_tick_range range;
    (void)state;
    gn_counter_measure(&counter);
    gn_kernel_clock_open(&clock, counter.hz, counter.hz_error_ppb);
    for (int i = 0, located = 0; i < 2000 || located == 0; i++) {
        uint64_t before_ticks = gn_ticks_ordered();
        int64_t stamp_ns = (int64_t)gn_clock_ns(CLOCK_REALTIME);
        uint64_t after_ticks = gn_ticks_ordered();
        gn_kernel_clock_bracket(&clock);
        bool told = gn_kernel_clock_locate(&clock, stamp_ns, &range);
        gn_kernel_clock_check(&clock);
        if (!told || clock.since_ticks > before_ticks)
            continue; /* somebody sets the clock just now */
        assert_true(range.lo_ticks <= after_ticks && range.hi_ticks >= before_ticks);
        located++;
    }
    gn_kernel_clock_close(&clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_are_where_they_were_taken),
        cmocka_unit_test(a_bracket_next_to_a_stamp_tells_nearly_all),
        cmocka_unit_test(stamps_far_away_tell_nothing),
        cmocka_unit_test(steps_contradict_brackets),
        cmocka_unit_test_teardown(the_same_steering_is_believed, no_script),
        cmocka_unit_test_teardown(what_was_narrowed_when_slewing_began_is_not_used, no_script),
        cmocka_unit_test_teardown(what_was_narrowed_when_an_offset_came_is_not_used, no_script),
        cmocka_unit_test_teardown(the_last_of_an_offset_goes_on, no_script),
        cmocka_unit_test(the_real_clock_is_located),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

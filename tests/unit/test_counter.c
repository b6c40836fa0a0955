/* clock/ticks, clock/counter: one counter for all readings, and what it is worth. Run with and without
 * GNOMON_COUNTER, which must be there before main. */
#include "base/mix.h"
#include "clock/counter.h"
#include "clock/ticks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *wish(void)
{
    const char *text = getenv("GNOMON_COUNTER");
    return text ? text : "";
}

static void the_choice_is_what_is_read(void **state)
{
    (void)state;
    uint64_t before = gn_monotonic_ns(), ticks = gn_ticks(), ordered = gn_ticks_ordered();
    bool kernel = ticks >= before && ordered <= gn_monotonic_ns();
    if (kernel != (gn_tick_source() == GN_TICKS_KERNEL))
        fail_msg("%llu is not a reading of that counter", (unsigned long long)ticks);
}

static void a_wish_is_obeyed(void **state)
{
    (void)state;
    if (strcmp(wish(), "monotonic_raw") == 0)
        assert_int_equal(gn_tick_source(), GN_TICKS_KERNEL);
#ifdef GN_PROCESSOR_COUNTER
    if (strcmp(wish(), GN_PROCESSOR_COUNTER) == 0)
        assert_int_equal(gn_tick_source(), GN_TICKS_PROCESSOR);
#endif
}

static void nonsense_is_told(void **state)
{
    (void)state;
    if (strcmp(wish(), "sundial") == 0)
        assert_non_null(strstr(gn_ticks_problem(), "is expected"));
    else
        assert_null(gn_ticks_problem());
}

static void there_is_a_reason_against_the_processor(void **state)
{
    (void)state;
    assert_true((gn_ticks_why_not() != NULL) == (gn_tick_source() == GN_TICKS_KERNEL));
}

static void ordered_readings_do_not_go_back(void **state)
{
    (void)state;
    uint64_t last = gn_ticks_ordered();
    for (int i = 0; i < 100000; i++) {
        uint64_t now = gn_ticks_ordered();
        assert_true(now >= last);
        last = now;
    }
}

static void a_moment_is_between_two_readings(void **state)
{
    (void)state;
    uint64_t before_ns = gn_monotonic_ns(), before = gn_ticks_ordered();
    struct gn_moment moment = gn_moment_now();
    assert_true(moment.ticks >= before && moment.ticks <= gn_ticks_ordered());
    assert_true(moment.ns >= before_ns && moment.ns <= gn_monotonic_ns());
    if (gn_tick_source() == GN_TICKS_KERNEL)
        assert_int_equal(moment.ticks, moment.ns);
}

static void the_counter_is_measured(void **state)
{
    (void)state;
    struct gn_counter counter;
    gn_counter_measure(&counter);
    assert_true((strcmp(counter.name, "monotonic_raw") == 0) == (gn_tick_source() == GN_TICKS_KERNEL));
    assert_ptr_equal(counter.why_not, gn_ticks_why_not());
    assert_true(counter.granularity_ticks >= 1);
    assert_true(counter.cost_ns > 0);
    assert_true(counter.hz > 1e6);
    if (gn_tick_source() == GN_TICKS_KERNEL)
        assert_true(counter.hz == 1e9 && counter.hz_error_ppb == 0);
    else
        assert_true(counter.hz_error_ppb > 0);
}

/* What differences a counter shows that stands still for `step` true ticks, then jumps to the whole ticks
 * that it should show. */
enum { COUNT = 4096 };

static uint64_t steps_of(double step, uint64_t span)
{
    static unsigned char seen[COUNT];
    memset(seen, 0, sizeof seen);
    for (uint64_t i = 0; i < 100000; i++) {
        double begin = gn_mix_unit(gn_mix_at(1, 0, i)) * 1e6,
               end = begin + (double)(gn_mix_at(1, 1, i) % span);
        uint64_t first = (uint64_t)((double)(uint64_t)(begin / step) * step);
        uint64_t last = (uint64_t)((double)(uint64_t)(end / step) * step);
        if (last - first < COUNT)
            seen[last - first] = 1;
    }
    return gn_counter_granularity(seen, COUNT);
}

static void single_ticks_are_few(void **state)
{
    (void)state;
    assert_int_equal(steps_of(1, 500), 4); /* as far as can be told, they might be steps of less than 3 */
}

static void equal_steps_are_their_length(void **state)
{
    (void)state;
    assert_int_equal(steps_of(2, 500), 2);
    assert_int_equal(steps_of(48, 500), 48);
    assert_int_equal(steps_of(250, 500), 250);
}

/* The true count gets ahead of a reading by a step and what was rounded off. */
static void unequal_steps_are_not_too_short(void **state)
{
    (void)state;
    static const double steps[] = {1.5, 2.005, 2.25, 3.1, 25.96, 41.1, 41.6667, 69.84, 250.3};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        double got = (double)steps_of(steps[i], 500);
        if (got < steps[i] + 1 || got > steps[i] + 4)
            fail_msg("steps of %g ticks: granularity %g", steps[i], got);
    }
}

static void too_little_is_nothing(void **state)
{
    (void)state;
    static unsigned char seen[COUNT];
    assert_int_equal(gn_counter_granularity(seen, COUNT), 0);
    seen[30] = 1;
    assert_int_equal(gn_counter_granularity(seen, COUNT), 0);
    assert_int_equal(steps_of(100000, 50), 0); /* none of its steps is among the differences */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_choice_is_what_is_read),
        cmocka_unit_test(a_wish_is_obeyed),
        cmocka_unit_test(nonsense_is_told),
        cmocka_unit_test(there_is_a_reason_against_the_processor),
        cmocka_unit_test(ordered_readings_do_not_go_back),
        cmocka_unit_test(a_moment_is_between_two_readings),
        cmocka_unit_test(the_counter_is_measured),
        cmocka_unit_test(single_ticks_are_few),
        cmocka_unit_test(equal_steps_are_their_length),
        cmocka_unit_test(unequal_steps_are_not_too_short),
        cmocka_unit_test(too_little_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

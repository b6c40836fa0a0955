/* analyse/estimate — totals from parts: what they are of parts that are alike, that change, that are few; and
 * how often the interval holds the truth. */
#include "analyse/estimate.h"
#include "base/mix.h"

#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

struct total {
    double lo, hi;
};

static struct total of(const struct gn_estimate *e, const struct gn_sizes *s, double all)
{
    struct total t;
    gn_estimate_total(e, s, all, 2, &t.lo, &t.hi);
    return t;
}

static void parts_that_are_alike_differ_from_the_rest_a_little(void **state)
{
    (void)state;
    struct gn_estimate e = {.lo = 0};
    struct gn_sizes s = {.count = 0};
    for (int i = 0; i < 10; i++) {
        gn_estimate_add(&e, 3, 3, 10, 5);
        gn_sizes_add(&s, 10, 5);
    }
    const struct total t = of(&e, &s, 500);
    assert_true(fabs(t.lo - 300 * (1 - .05 * .9)) < 1e-6 && fabs(t.hi - 300 * (1 + .05 * .9)) < 1e-6);
    assert_true(fabs(gn_estimate_middle(&e, &s, 500) - 300) < 1e-6);
    const struct total all = of(&e, &s, 50); /* nothing else is there */
    assert_true(fabs(all.lo - 30) < 1e-6 && fabs(all.hi - 30) < 1e-6);
}

static void of_one_part_nobody_knows_the_rest(void **state)
{
    (void)state;
    struct gn_estimate e = {.lo = 0};
    struct gn_sizes s = {.count = 0};
    gn_estimate_add(&e, 3, 4, 10, 5);
    gn_sizes_add(&s, 10, 5);
    gn_estimate_add(&e, 0, 0, 10, 0); /* a part that has none of it says nothing */
    gn_sizes_add(&s, 10, 0);
    const struct total t = of(&e, &s, 500);
    assert_true(t.lo == 3 && t.hi == 4 + 495 * 2); /* nothing, or all that may be */
    const struct gn_estimate no = {.lo = 0};
    const struct gn_sizes none = {.count = 0};
    assert_true(isinf(of(&no, &none, 500).hi));
}

static void it_is_no_less_than_what_was_seen(void **state)
{
    (void)state;
    struct gn_estimate e = {.lo = 0};
    struct gn_sizes s = {.count = 0};
    gn_estimate_add(&e, 100, 100, 1, 100);
    gn_sizes_add(&s, 1, 100);
    gn_estimate_add(&e, 0, 0, 1, 100);
    gn_sizes_add(&s, 1, 100);
    const struct total t = of(&e, &s, 1000);
    assert_true(t.lo >= 100 && t.hi >= t.lo);
}

/* A run of 3600 s, looked at for a tenth of a second at a time, with gaps that double every 10 minutes. What
 * is waited in a second changes with time. Whether the interval holds it. */
static bool holds(double early, double late, double change_s, uint64_t seed)
{
    struct gn_estimate e = {.lo = 0};
    struct gn_sizes s = {.count = 0};
    double truth = change_s * early + (3600 - change_s) * late;
    for (double at = 0; at < 3600;) {
        const double gap = 2 * exp2(at / 600) * (0.5 + gn_mix_unit(gn_mix_next(&seed)));
        const double x = 0.1 * (at < change_s ? early : late) * (0.5 + gn_mix_unit(gn_mix_next(&seed)));
        const double stretch = fmin(0.1 + gap, 3600 - at);
        gn_estimate_add(&e, x, x, stretch / 0.1, 0.1);
        gn_sizes_add(&s, stretch / 0.1, 0.1);
        at += 0.1 + gap;
    }
    const struct total t = of(&e, &s, 3600);
    return t.lo <= truth && t.hi >= truth;
}

static void runs_that_change_are_held(void **state)
{
    (void)state;
    static const double runs[][3] = {{0.8, 0.05, 300}, {0.05, 0.5, 1800}, {0.3, 0.3, 1000}, {0.1, 0.9, 3000}};
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        int held = 0;
        for (uint64_t seed = 1; seed <= 200; seed++)
            held += holds(runs[r][0], runs[r][1], runs[r][2], seed);
        assert_true(held >= 180); /* of 95 % */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_that_are_alike_differ_from_the_rest_a_little),
        cmocka_unit_test(of_one_part_nobody_knows_the_rest),
        cmocka_unit_test(it_is_no_less_than_what_was_seen),
        cmocka_unit_test(runs_that_change_are_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

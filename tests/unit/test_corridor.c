/* The corridor's extremes, against all pairs of points. */
#include "baselines/corridor.h"

#include "base/mix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { SETS = 400, MOST = 40 };

/* Points around y = 3/2 x, above and below it, by up to `late`; x ascending within ±2^reach. */
static size_t make_points(uint64_t seed, int64_t late, int reach, struct gn_corridor_point points[MOST])
{
    uint64_t state = seed;
    size_t count = 4 + gn_mix_next(&state) % (MOST - 4);
    for (size_t i = 0; i < count; i++) {
        int64_t x = (int64_t)(gn_mix_next(&state) >> (63 - reach)) - (INT64_C(1) << reach);
        int64_t d = (int64_t)(gn_mix_next(&state) % (uint64_t)late);
        points[i] = (struct gn_corridor_point){x, x + x / 2 + (i % 2 ? d : -d), i % 2};
    }
    return count;
}

static bool fits(const struct gn_corridor_line *line, const struct gn_corridor_point *p)
{
    __int128 there = (__int128)line->rise * (p->x - line->x), point = (__int128)(p->y - line->y) * line->run;
    return p->above ? there <= point : there >= point;
}

static bool all_fit(const struct gn_corridor_line *line, const struct gn_corridor_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!fits(line, &points[i]))
            return false;
    return true;
}

static double at(const struct gn_corridor_line *line, int64_t x)
{
    return (double)line->y + (double)line->rise / (double)line->run * (double)(x - line->x);
}

/* The extreme among the lines through two of the points: an extreme that is not level is one of them. */
static double extreme_of_pairs(const struct gn_corridor_point *points, size_t count, bool highest, int64_t x)
{
    double best = highest ? -INFINITY : INFINITY;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            struct gn_corridor_line line = {points[i].x, points[i].y, points[k].y - points[i].y,
                                            points[k].x - points[i].x};
            if (line.run > 0 && line.rise >= 0 && all_fit(&line, points, count))
                best = highest ? fmax(best, at(&line, x)) : fmin(best, at(&line, x));
        }
    return best;
}

static void extremes_are_those_of_all_pairs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SETS; seed++) {
        struct gn_corridor_point points[MOST], hulls[MOST];
        size_t count = make_points(seed, 1000, 12, points), corners = count;
        for (size_t i = 0; i < count; i++)
            hulls[i] = points[i];
        corners = gn_corridor_hulls(hulls, corners);
        gn_corridor_shuffle(points, count);
        for (int64_t x = -10000; x <= 10000; x += 2500)
            for (int highest = 0; highest < 2; highest++) {
                double expected = extreme_of_pairs(points, count, highest, x);
                struct gn_corridor_line a, b;
                if (isinf(expected))
                    continue; /* bounded by a level line: the next test's */
                assert_true(gn_corridor_find(points, count, highest ? GN_HIGHEST : GN_LOWEST, x, &a));
                assert_true(gn_corridor_find(hulls, corners, highest ? GN_HIGHEST : GN_LOWEST, x, &b));
                assert_true(all_fit(&a, points, count) && all_fit(&b, points, count));
                if (a.rise > 0 && a.rise < INT64_C(1) << 40) {
                    assert_true(fabs(at(&a, x) - expected) < 1e-6 * (1 + fabs(expected)));
                    assert_true(fabs(at(&b, x) - expected) < 1e-6 * (1 + fabs(expected)));
                }
            }
    }
}

/* No line of the corridor is flatter or steeper, none is lower or higher anywhere. */
static void every_line_lies_between_the_extremes(void **state)
{
    (void)state;
    struct gn_corridor_point points[MOST];
    size_t count = gn_corridor_hulls(points, make_points(7, 5000, 50, points));
    const struct gn_corridor_line truth = {0, 0, 3, 2};
    const int64_t xs[] = {-(INT64_C(1) << 55), -5, 0, 123456789, INT64_C(1) << 56};
    assert_true(all_fit(&truth, points, count));
    for (size_t i = 0; i < sizeof xs / sizeof *xs; i++) {
        struct gn_corridor_line lowest, highest, flat, steep;
        assert_true(gn_corridor_find(points, count, GN_LOWEST, xs[i], &lowest));
        assert_true(gn_corridor_find(points, count, GN_HIGHEST, xs[i], &highest));
        assert_true(gn_corridor_find(points, count, GN_FLATTEST, 0, &flat));
        assert_true(gn_corridor_find(points, count, GN_STEEPEST, 0, &steep));
        __int128 y = gn_corridor_line_at(&truth, xs[i], false);
        assert_true(gn_corridor_line_at(&lowest, xs[i], false) <= y);
        assert_true(gn_corridor_line_at(&highest, xs[i], true) >= y);
        assert_true((__int128)flat.rise * 2 <= (__int128)flat.run * 3);
        assert_true((__int128)steep.rise * 2 >= (__int128)steep.run * 3);
    }
}

/* At 2^61 from the origin one unit too high is still told from just right. */
static void comparisons_are_exact(void **state)
{
    (void)state;
    const int64_t far = INT64_C(1) << 61;
    struct gn_corridor_point points[] = {{-far, -far, true}, {far, far, true}, {1, 1, false}};
    struct gn_corridor_line line;
    assert_true(gn_corridor_find(points, gn_corridor_hulls(points, 3), GN_HIGHEST, 0, &line));
    struct gn_corridor_point over[] = {{-far, -far, true}, {far, far, true}, {1, 2, false}};
    assert_false(gn_corridor_find(over, gn_corridor_hulls(over, 3), GN_HIGHEST, 0, &line));
}

static void there_is_no_line_without_both_sides(void **state)
{
    (void)state;
    struct gn_corridor_point points[] = {{0, 0, true}, {5, 5, true}};
    struct gn_corridor_line line;
    assert_false(gn_corridor_find(points, 2, GN_LOWEST, 0, &line));
    assert_false(gn_corridor_find(points, 0, GN_LOWEST, 0, &line));
}

static void fractions_are_rounded_outward(void **state)
{
    (void)state;
    struct gn_corridor_line third = {0, 0, 1, 3};
    const __int128 one = (__int128)1 << GN_CORRIDOR_BITS;
    for (int64_t x = -7; x <= 7; x++) {
        assert_true(gn_corridor_line_at(&third, x, false) * 3 <= one * x);
        assert_true(gn_corridor_line_at(&third, x, true) * 3 >= one * x);
        assert_true(gn_corridor_line_at(&third, x, true) - gn_corridor_line_at(&third, x, false) ==
                    (x % 3 != 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extremes_are_those_of_all_pairs),
        cmocka_unit_test(every_line_lies_between_the_extremes),
        cmocka_unit_test(comparisons_are_exact),
        cmocka_unit_test(there_is_no_line_without_both_sides),
        cmocka_unit_test(fractions_are_rounded_outward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

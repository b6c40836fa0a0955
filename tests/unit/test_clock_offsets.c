/* clock_offsets: bounds as OTF2's clock offsets and back; no line between two offsets is tighter than the
 * bounds were. */
#include "base/mix.h"
#include "trace/clock_offsets.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { POINTS = 400, EPOCH = 5000000 };

static const struct gn_trace_scale scale = {EPOCH, 2500000000};

/* Bounds that wave, between readings 10^6 and about 10^6 + POINTS × 5000 of a clock at 2.5 GHz. */
static struct gn_bounds *wave(uint64_t seed, struct gn_outside outside)
{
    struct gn_breakpoint points[POINTS];
    uint64_t random = seed, ticks = 1000000;
    for (int i = 0; i < POINTS; i++) {
        int64_t middle = (int64_t)ticks * 2 / 5 - 300000;
        points[i] = (struct gn_breakpoint){ticks, middle - 100 - (int64_t)(gn_mix_next(&random) % 300),
                                           middle + 100 + (int64_t)(gn_mix_next(&random) % 300)};
        ticks += 2000 + gn_mix_next(&random) % 6000;
    }
    struct gn_bounds *bounds = gn_bounds_new(points, POINTS, &outside, NULL);
    assert_non_null(bounds);
    return bounds;
}

static struct gn_bounds *known_wave(uint64_t seed)
{
    return wave(seed, (struct gn_outside){0.3, 0.5});
}

/* What anybody makes of the offsets at a reading: straight lines, in ticks of the trace's clock. */
static void interpolate(const struct gn_clock_offset *o, size_t count, uint64_t ticks, long double *lo,
                        long double *hi)
{
    size_t i = 0;
    while (i + 2 < count && o[i + 1].ticks < ticks)
        i++;
    long double part = (long double)(ticks - o[i].ticks) / (long double)(o[i + 1].ticks - o[i].ticks);
    long double middle = (long double)ticks + o[i].offset_ticks +
                         part * (long double)(o[i + 1].offset_ticks - o[i].offset_ticks);
    long double deviation = o[i].deviation_ticks + part * (o[i + 1].deviation_ticks - o[i].deviation_ticks);
    *lo = middle - deviation;
    *hi = middle + deviation;
}

/* In ticks of the trace's clock. */
static long double ticks_of(int64_t ns)
{
    return EPOCH + (long double)ns * 2.5L;
}

/* The widest that the offsets are beyond the bounds; fails where they are tighter. Bounds round a ns. */
static long double compare(const struct gn_bounds *bounds, const struct gn_clock_offset *o, size_t count)
{
    long double most = 0, lo, hi;
    for (uint64_t ticks = o[0].ticks; ticks <= o[count - 1].ticks; ticks += 97) {
        struct gn_interval was = gn_bounds_convert(bounds, ticks);
        interpolate(o, count, ticks, &lo, &hi);
        assert_true(lo <= ticks_of(was.lo_ns + 1) && hi >= ticks_of(was.hi_ns - 1));
        most = fmaxl(most, fmaxl(ticks_of(was.lo_ns) - lo, hi - ticks_of(was.hi_ns)));
    }
    return most;
}

static size_t make(struct gn_clock_offset **offsets, const struct gn_bounds *bounds, uint64_t first,
                   uint64_t last, size_t most)
{
    const struct gn_clock_range range = {bounds, first, last};
    size_t count = gn_clock_offsets(offsets, &range, &scale, most);
    assert_true(count >= 1);
    assert_int_equal((*offsets)[0].ticks, first);
    assert_int_equal((*offsets)[count - 1].ticks, last);
    return count;
}

static void offsets_are_the_bounds(void **state)
{
    (void)state;
    struct gn_bounds *bounds = known_wave(1);
    struct gn_clock_offset *o;
    size_t count = make(&o, bounds, 900000, 4000000, 2 * POINTS);
    assert_true(compare(bounds, o, count) < 8); /* a ns each way for rounding */
    free(o);
    gn_bounds_free(bounds);
}

static void fewer_offsets_are_never_tighter(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct gn_bounds *bounds = known_wave(seed);
        for (size_t most = 2; most < POINTS; most = most * 3 / 2 + 1) {
            struct gn_clock_offset *o;
            size_t count = make(&o, bounds, 1100000, 2500000, most);
            assert_true(count <= most);
            compare(bounds, o, count);
            free(o);
        }
        gn_bounds_free(bounds);
    }
}

/* The waves are 300 ns high: with a tenth of the points the bounds need not grow by more than that. */
static void thinning_costs_no_more_than_the_waves(void **state)
{
    (void)state;
    struct gn_bounds *bounds = known_wave(7);
    struct gn_clock_offset *o;
    size_t count = make(&o, bounds, 1100000, 2500000, POINTS / 10);
    assert_true(compare(bounds, o, count) < 2 * 2.5L * 310);
    free(o);
    gn_bounds_free(bounds);
}

static void one_reading_has_one_offset(void **state)
{
    (void)state;
    struct gn_bounds *bounds = known_wave(1);
    struct gn_clock_offset *o;
    assert_int_equal(make(&o, bounds, 1500000, 1500000, 100), 1);
    free(o);
    gn_bounds_free(bounds);
}

/* Without a limit on the rate nothing is known from the first reading on that no breakpoint covers. */
static void what_is_not_known_is_called_so(void **state)
{
    (void)state;
    struct gn_bounds *bounds = wave(1, (struct gn_outside){0, INFINITY});
    const struct gn_breakpoint *points;
    struct gn_outside outside;
    size_t known = gn_bounds_breakpoints(bounds, &points, &outside);
    struct gn_clock_offset *o;
    size_t count = make(&o, bounds, 10, 100000000, 50);
    assert_true(o[0].deviation_ticks >= GN_DEVIATION_UNKNOWN);
    assert_true(o[1].deviation_ticks >= GN_DEVIATION_UNKNOWN);
    assert_int_equal(o[1].ticks, points[0].ticks - 1);
    assert_true(o[2].deviation_ticks < 1e6);
    assert_int_equal(o[count - 2].ticks, points[known - 1].ticks + 1);
    assert_true(o[count - 2].deviation_ticks >= GN_DEVIATION_UNKNOWN);
    assert_true(count <= 50);
    free(o);
    gn_bounds_free(bounds);
}

/* ---- back ---- */

static struct gn_definitions *define(const struct gn_clock_offset *offsets, size_t count)
{
    struct gn_definitions *d = gn_definitions_new();
    d->ticks_per_second = scale.ticks_per_second;
    d->first_ticks = EPOCH;
    assert_int_equal(gn_define_clock(d, &(struct gn_offsets_def){(struct gn_clock_offset *)offsets, count}),
                     1);
    return d;
}

static void read_back_they_are_no_tighter(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct gn_bounds *bounds = known_wave(seed);
        struct gn_clock_offset *o;
        size_t count = make(&o, bounds, 900000, 3000000, 2 * POINTS);
        struct gn_definitions *d = define(o, count);
        struct gn_bounds *back = gn_clock_offsets_bounds(d, 1, NULL);
        assert_non_null(back);
        for (uint64_t ticks = 900000; ticks <= 3000000; ticks += 61) {
            struct gn_interval was = gn_bounds_convert(bounds, ticks), is = gn_bounds_convert(back, ticks);
            assert_true(is.lo_ns <= was.lo_ns + 1 && is.hi_ns >= was.hi_ns - 1);
            assert_true(is.hi_ns - is.lo_ns < was.hi_ns - was.lo_ns + 10);
        }
        gn_bounds_free(back);
        gn_definitions_free(d);
        free(o);
        gn_bounds_free(bounds);
    }
}

/* After the last exchange of a clock whose rate has no limit, only that it does not go back is known. */
static void a_clock_does_not_go_back(void **state)
{
    (void)state;
    struct gn_bounds *bounds = wave(3, (struct gn_outside){0, INFINITY});
    struct gn_clock_offset *o;
    size_t count = make(&o, bounds, 10, 100000000, 64);
    struct gn_definitions *d = define(o, count);
    struct gn_bounds *back = gn_clock_offsets_bounds(d, 1, NULL);
    struct gn_interval early = gn_bounds_convert(back, 500000), late = gn_bounds_convert(back, 90000000);
    assert_non_null(back);
    assert_true(early.lo_ns <= gn_bounds_convert(bounds, 500000).lo_ns);
    assert_true(early.hi_ns >= gn_bounds_convert(bounds, 1000000).hi_ns - 1);
    assert_int_equal(late.hi_ns, INT64_MAX);
    assert_true(late.lo_ns > INT64_MIN);
    gn_bounds_free(back);
    gn_definitions_free(d);
    free(o);
    gn_bounds_free(bounds);
}

static void coarse_offsets_are_no_bounds(void **state)
{
    (void)state;
    const struct gn_clock_offset coarse[] = {{10, 5, GN_DEVIATION_UNKNOWN}, {20, 5, GN_DEVIATION_UNKNOWN}};
    struct gn_definitions *d = define(coarse, 2);
    assert_null(gn_clock_offsets_bounds(d, 1, NULL));
    gn_definitions_free(d);
}

/* An archive may say anything. */
static void nonsense_is_refused(void **state)
{
    (void)state;
    const struct gn_clock_offset backward[] = {{20, 5, 1}, {10, 5, 1}};
    const struct gn_clock_offset none[] = {{10, INT64_MAX, NAN}, {20, INT64_MIN, -1}, {30, 0, INFINITY}};
    struct gn_definitions *d = define(backward, 2);
    struct gn_definitions *e = define(none, 3);
    assert_null(gn_clock_offsets_bounds(d, 1, NULL));
    assert_null(gn_clock_offsets_bounds(e, 1, NULL));
    gn_definitions_free(d);
    gn_definitions_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_are_the_bounds),
        cmocka_unit_test(fewer_offsets_are_never_tighter),
        cmocka_unit_test(thinning_costs_no_more_than_the_waves),
        cmocka_unit_test(one_reading_has_one_offset),
        cmocka_unit_test(what_is_not_known_is_called_so),
        cmocka_unit_test(read_back_they_are_no_tighter),
        cmocka_unit_test(a_clock_does_not_go_back),
        cmocka_unit_test(coarse_offsets_are_no_bounds),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* trace/placed: events of several counters on the trace's clock; their order stays, and so does what is
 * known. */
#include "base/mix.h"
#include "event/definitions.h"
#include "trace/placed.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { POINTS = 200, EVENTS = 5000, AT_ONCE = 700, STEP_NS = 1000000 };

static const uint64_t FIRST = 1ull << 56; /* of a machine that has run for a year */

struct given {
    struct gn_event events[2][EVENTS];
    size_t pulled[2];
};

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct given *g = self;
    const size_t from = g->pulled[location], count = EVENTS - from < AT_ONCE ? EVENTS - from : AT_ONCE;
    (void)err;
    *events = &g->events[location][from];
    g->pulled[location] += count;
    return (int64_t)count;
}

/* Of a counter at hz that shows first_ticks at 0 ns, known to some hundred ns, more or less, for 0.3 s. */
static struct gn_bounds *bounds_of(uint64_t seed, double hz, uint64_t first_ticks, struct gn_outside outside)
{
    struct gn_breakpoint points[POINTS];
    uint64_t random = seed;
    int64_t at_ns = 0;
    for (int i = 0; i < POINTS; i++) {
        points[i] = (struct gn_breakpoint){first_ticks + (uint64_t)((double)at_ns * hz * 1e-9),
                                           at_ns - 100 - (int64_t)(gn_mix_next(&random) % 300),
                                           at_ns + 100 + (int64_t)(gn_mix_next(&random) % 300)};
        at_ns += STEP_NS + (int64_t)(gn_mix_next(&random) % STEP_NS);
    }
    struct gn_bounds *bounds = gn_bounds_new(points, POINTS, &outside, NULL);
    assert_non_null(bounds);
    return bounds;
}

static struct gn_definitions *two_locations(uint32_t domain)
{
    struct gn_definitions *d = gn_definitions_new();
    d->ticks_per_second = 2500000000;
    d->first_ticks = FIRST;
    gn_define_location(d, &(struct gn_location_def){.name = gn_define_string(d, "left")});
    gn_define_location(d, &(struct gn_location_def){.name = gn_define_string(d, "right"), .domain = domain});
    return d;
}

static void fill(struct given *g, uint64_t seed, uint32_t location, uint64_t first_ticks)
{
    uint64_t ticks = first_ticks, random = seed;
    for (size_t i = 0; i < EVENTS; i++) {
        g->events[location][i] = gn_event_bare(GN_EVENT_ENTER, location, ticks);
        ticks += gn_mix_next(&random) % 500000; /* in the end beyond what is known */
    }
}

static void check_location(struct gn_placed *placed, const struct given *g, uint32_t location,
                           const struct gn_bounds *known, double hz, uint64_t begin_ticks)
{
    const struct gn_bounds *told = gn_placed_bounds(placed)[location];
    const struct gn_breakpoint *points;
    struct gn_outside outside;
    const size_t count_of = gn_bounds_breakpoints(known, &points, &outside);
    struct gn_source source;
    struct gn_error err;
    const struct gn_event *events;
    uint64_t last = 0;
    size_t i = 0, beyond = 0;
    int64_t count;
    gn_placed_source(placed, &source);
    while ((count = source.pull(source.self, location, &events, &err)) > 0)
        for (int64_t k = 0; k < count; k++, i++) {
            const struct gn_interval was = gn_bounds_convert(known, g->events[location][i].ticks),
                                     is = gn_bounds_convert(told, events[k].ticks);
            const double ns = (double)(int64_t)(events[k].ticks - FIRST) / 2.5;
            assert_int_equal(events[k].kind, GN_EVENT_ENTER);
            assert_true(events[k].ticks >= last);
            if (was.hi_ns < INT64_MAX) {
                assert_true(ns >= (double)was.lo_ns - 1 && ns <= (double)was.hi_ns + 1);
                assert_true(is.lo_ns <= was.lo_ns && is.hi_ns >= was.hi_ns);
                if (g->events[location][i].ticks <= points[count_of - 1].ticks)
                    assert_true(is.hi_ns - is.lo_ns <= was.hi_ns - was.lo_ns + 20);
            } else {
                const double truth_ns =
                    (double)(int64_t)(g->events[location][i].ticks - begin_ticks) * 1e9 / hz;
                assert_true(is.lo_ns <= truth_ns && is.hi_ns >= truth_ns);
                beyond++;
            }
            last = events[k].ticks;
        }
    assert_int_equal(i, EVENTS);
    assert_true(beyond == 0 || hz != 2.5e9);
}

static void they_are_where_they_may_have_been(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct given *g = calloc(1, sizeof *g);
        struct gn_definitions *d = two_locations(1);
        const struct gn_outside outside =
            seed % 2 ? (struct gn_outside){0, INFINITY} : (struct gn_outside){0.3999, 0.4001};
        struct gn_bounds *left = bounds_of(seed, 2.5e9, FIRST, (struct gn_outside){0.3999, 0.4001}),
                         *right = bounds_of(seed + 100, 2.5e9 * 1.00005, 1ull << 60, outside);
        const struct gn_bounds *bounds[] = {left, right};
        const struct gn_source source = {g, d, pull, NULL};
        struct gn_placed *placed;
        struct gn_error err;
        fill(g, seed, 0, FIRST);
        fill(g, seed + 7, 1, 1ull << 60);
        assert_true(gn_placed_is_needed(d));
        assert_int_equal(gn_placed_new(&placed, &source, bounds, &err), 0);
        check_location(placed, g, 0, left, 2.5e9, FIRST);
        check_location(placed, g, 1, right, 2.5e9 * 1.00005, 1ull << 60);
        gn_placed_free(placed);
        gn_bounds_free(left);
        gn_bounds_free(right);
        gn_definitions_free(d);
        free(g);
    }
}

/* What a clock that never goes back shows, and no more is known of it. */
static void steps_are_no_clock(void **state)
{
    (void)state;
    const struct gn_breakpoint steps[] = {
        {1000, 0, 5000000}, {2000000, 0, 5000000}, {2000001, 5000000, 9000000}, {3000000, 5000000, 9000000}};
    struct gn_bounds *left = bounds_of(1, 2.5e9, FIRST, (struct gn_outside){0.3999, 0.4001}),
                     *right = gn_bounds_new(steps, 4, &(struct gn_outside){0, INFINITY}, NULL),
                     *nothing = gn_bounds_new(&(struct gn_breakpoint){5, INT64_MIN, INT64_MIN}, 1,
                                              &(struct gn_outside){0, INFINITY}, NULL);
    struct gn_definitions *d = two_locations(1);
    assert_non_null(right);
    assert_non_null(nothing);
    for (int i = 0; i < 2; i++) {
        const struct gn_bounds *bounds[] = {left, i == 0 ? right : nothing};
        const struct gn_source source = {NULL, d, pull, NULL};
        struct gn_placed *placed;
        struct gn_error err;
        assert_int_equal(gn_placed_new(&placed, &source, bounds, &err), -ENODATA);
        assert_null(placed);
    }
    /* a moment alone is beside what is known, on its side */
    const uint64_t first = gn_bounds_placed(right, 1000, FIRST, 2.5e9),
                   last = gn_bounds_placed(right, 3000000, FIRST, 2.5e9);
    assert_int_equal(gn_bounds_placed(right, 999, FIRST, 2.5e9), first - 1);
    assert_int_equal(gn_bounds_placed(right, 3000001, FIRST, 2.5e9), last + 1);
    assert_true(first < last);
    gn_bounds_free(left);
    gn_bounds_free(right);
    gn_bounds_free(nothing);
    gn_definitions_free(d);
}

static void a_clock_of_which_nothing_is_known_is_an_error(void **state)
{
    (void)state;
    struct gn_definitions *d = two_locations(1);
    const struct gn_bounds *bounds[] = {NULL, NULL};
    const struct gn_source source = {NULL, d, pull, NULL};
    struct gn_placed *placed;
    struct gn_error err;
    assert_int_equal(gn_placed_new(&placed, &source, bounds, &err), -ENODATA);
    assert_null(placed);
    gn_definitions_free(d);
    d = two_locations(0);
    assert_false(gn_placed_is_needed(d));
    gn_definitions_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_where_they_may_have_been),
        cmocka_unit_test(steps_are_no_clock),
        cmocka_unit_test(a_clock_of_which_nothing_is_known_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

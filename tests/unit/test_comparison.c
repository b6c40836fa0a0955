/* The table of methods: every column against what it has to be. */
#include "clock_world.h"
#include "baselines/comparison.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { EXCHANGES = 200, MESSAGES = 100, FITS = GN_COMPARED_METHODS - GN_FIT_KINDS, CONSTANT = FITS - 1 };
static const int64_t second = 1000000000;

static struct world usual(void)
{
    return (struct world){.child_hz = 2e9,
                          .parent_hz = 3e9,
                          .child_base = 1000000000000000,
                          .parent_base = 5000000000,
                          .rate_ppb = -15000,
                          .there_ns = 10000,
                          .back_ns = 10000,
                          .noise_ns = 3000,
                          .seed = 3};
}

static struct gn_interval truth(void *context, uint64_t ticks)
{
    const struct world *w = context;
    long double tick_ns = 1e9L / (long double)w->child_hz / (1 + (long double)w->rate_ppb * 1e-9L);
    long double ns = (long double)(int64_t)(ticks - w->child_base) * tick_ns;
    return (struct gn_interval){(int64_t)floorl(ns), (int64_t)ceill(ns + tick_ns)};
}

struct setting {
    struct world world;
    struct gn_exchange *exchanges;
    struct gn_comparison_input input;
};

static void make(struct setting *s, struct world w)
{
    s->world = w;
    s->exchanges = exchanges_between(&s->world, second, 31 * second, EXCHANGES);
    s->input = (struct gn_comparison_input){.pair = pair_of(&s->world, s->exchanges, EXCHANGES),
                                            .assumption = gn_assumption_default(),
                                            .truth = truth,
                                            .truth_context = &s->world,
                                            .least_ns = -1};
}

static void compare(struct setting *s, struct gn_comparison rows[GN_COMPARED_METHODS])
{
    struct gn_error err;
    assert_int_equal(gn_compare(&s->input, rows, &err), 0);
}

/* MESSAGES of them in both directions, each of which takes delay_ns. */
static void add_messages(struct setting *s, struct gn_compared_message messages[MESSAGES], int64_t delay_ns)
{
    for (int i = 0; i < MESSAGES; i++) {
        int64_t t = 2 * second + i * (second / 4);
        bool up = i % 2;
        messages[i] = (struct gn_compared_message){
            up ? child_reading(&s->world, t) : parent_reading(&s->world, t),
            up ? parent_reading(&s->world, t + delay_ns) : child_reading(&s->world, t + delay_ns), up};
    }
    s->input.messages = messages;
    s->input.message_count = MESSAGES;
}

static void every_method_has_its_row(void **state)
{
    (void)state;
    struct setting s;
    struct gn_comparison rows[GN_COMPARED_METHODS];
    make(&s, usual());
    compare(&s, rows);
    for (int i = 0; i < GN_COMPARED_METHODS; i++) {
        assert_non_null(rows[i].method);
        assert_false(rows[i].failed);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(rows[i].method, rows[k].method);
    }
    assert_string_equal(rows[FITS + GN_FIT_FREEZER].method, gn_fit_name(GN_FIT_FREEZER));
    free(s.exchanges);
}

/* All but the published FreeZer, whose zero is somewhere in the middle. */
static void bounds_contain_the_truth(void **state)
{
    (void)state;
    struct setting s;
    struct gn_comparison rows[GN_COMPARED_METHODS];
    make(&s, usual());
    compare(&s, rows);
    for (int i = 0; i < GN_COMPARED_METHODS; i++) {
        assert_true(rows[i].truth_known);
        if (rows[i].bounded && i != FITS + GN_FIT_FREEZER_AS_PUBLISHED)
            assert_true(rows[i].outside == 0);
    }
    assert_true(rows[FITS + GN_FIT_FREEZER_AS_PUBLISHED].outside > 0.1);
    free(s.exchanges);
}

static void a_point_is_wrong_almost_everywhere(void **state)
{
    (void)state;
    struct setting s;
    struct gn_comparison rows[GN_COMPARED_METHODS];
    make(&s, usual());
    s.world.back_ns = 110000;
    free(s.exchanges);
    make(&s, s.world);
    compare(&s, rows);
    const struct gn_comparison *regression = &rows[FITS + GN_FIT_REGRESSION];
    assert_true(regression->width_ns == 0 && regression->exchange_width_ns == 0);
    assert_true(regression->outside == 1);
    assert_true(fabs(regression->error_ns - 50000) < 2000); /* half of what delays differ */
    assert_true(regression->error_max_ns >= regression->error_ns);
    free(s.exchanges);
}

/* A reading at an exchange is known to within there and back; between exchanges less well. */
static void widths_are_at_least_the_floor(void **state)
{
    (void)state;
    struct setting s;
    struct gn_comparison rows[GN_COMPARED_METHODS];
    make(&s, usual());
    compare(&s, rows);
    const struct gn_comparison *freezer = &rows[FITS + GN_FIT_FREEZER], *lp = &rows[FITS + GN_FIT_HULL_LP];
    assert_true(lp->exchange_width_ns >= 20000);
    assert_true(lp->exchange_width_ns < freezer->exchange_width_ns);
    assert_true(lp->width_ns < freezer->width_ns);
    free(s.exchanges);
}

/* The program is the best there is for a constant rate; the model with hulls and tangents has to come to the
 * same, but for its roundings. */
static void the_constant_model_is_as_tight_as_the_program(void **state)
{
    (void)state;
    struct gn_comparison rows[GN_COMPARED_METHODS];
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct setting s;
        struct world w = usual();
        w.seed = seed;
        w.noise_ns = seed % 2 ? 3000 : 300000;
        make(&s, w);
        compare(&s, rows);
        const struct gn_comparison *model = &rows[CONSTANT], *program = &rows[FITS + GN_FIT_HULL_LP];
        assert_string_equal(model->method, "gnomon, rate constant");
        assert_true(model->width_ns >= program->width_ns - 1);
        assert_true(model->width_ns <= program->width_ns + 5);
        free(s.exchanges);
    }
}

static void width_is_infinite_where_nothing_is_known(void **state)
{
    (void)state;
    struct setting s;
    struct gn_comparison rows[GN_COMPARED_METHODS];
    make(&s, usual());
    const uint64_t readings[] = {s.exchanges[0].asked_ticks,
                                 s.exchanges[0].asked_ticks + (UINT64_C(1) << 63)};
    s.input.readings = readings;
    s.input.reading_count = 2;
    s.input.truth = NULL;
    compare(&s, rows);
    assert_true(isinf(rows[FITS + GN_FIT_HULL_LP].width_ns));
    assert_false(rows[FITS + GN_FIT_HULL_LP].truth_known);
    s.input.reading_count = 1;
    compare(&s, rows);
    assert_true(isfinite(rows[FITS + GN_FIT_HULL_LP].width_ns));
    free(s.exchanges);
}

/* The exchanges' way back is congested: points are 50 µs early, and messages that take 30 µs in either
 * direction arrive before they were sent when they go to the child. */
static void early_points_invert_messages(void **state)
{
    (void)state;
    struct setting s;
    struct gn_comparison rows[GN_COMPARED_METHODS];
    struct gn_compared_message messages[MESSAGES];
    struct world w = usual();
    w.back_ns = 110000;
    make(&s, w);
    s.input.least_ns = 10000;
    add_messages(&s, messages, 30000);
    compare(&s, rows);
    assert_int_equal(rows[FITS + GN_FIT_REGRESSION].inverted, MESSAGES / 2);
    assert_int_equal(rows[FITS + GN_FIT_REGRESSION].fast, MESSAGES / 2);
    s.input.least_ns = 200000;
    compare(&s, rows);
    assert_int_equal(rows[FITS + GN_FIT_REGRESSION].fast, MESSAGES);
    free(s.exchanges);
}

static void a_fast_send_need_not_be_an_inversion(void **state)
{
    (void)state;
    struct setting s;
    struct gn_comparison rows[GN_COMPARED_METHODS];
    struct gn_compared_message messages[MESSAGES];
    struct world w = usual();
    w.back_ns = 22000; /* 6 µs early */
    make(&s, w);
    s.input.least_ns = 10000;
    add_messages(&s, messages, 12000);
    compare(&s, rows);
    assert_int_equal(rows[FITS + GN_FIT_REGRESSION].fast, MESSAGES / 2);
    assert_int_equal(rows[FITS + GN_FIT_REGRESSION].inverted, 0);
    free(s.exchanges);
}

static void half_of_the_shortest_round_trip_is_the_least(void **state)
{
    (void)state;
    struct setting s;
    struct gn_comparison rows[GN_COMPARED_METHODS];
    struct gn_compared_message messages[MESSAGES];
    struct world w = usual();
    w.noise_ns = 0; /* so that all points are exact, and half a round trip is 10 µs */
    make(&s, w);
    add_messages(&s, messages, 10100);
    compare(&s, rows);
    assert_int_equal(rows[FITS + GN_FIT_REGRESSION].fast, 0);
    add_messages(&s, messages, 9900);
    compare(&s, rows);
    assert_int_equal(rows[FITS + GN_FIT_REGRESSION].fast, MESSAGES);
    free(s.exchanges);
}

static void a_method_that_fails_says_why(void **state)
{
    (void)state;
    struct setting s;
    struct gn_comparison rows[GN_COMPARED_METHODS];
    struct world w = usual();
    w.sine_ns = 300000;
    w.sine_period_ns = 16e9;
    make(&s, w);
    s.input.truth = NULL;
    compare(&s, rows);
    assert_true(rows[FITS + GN_FIT_HULL].failed);
    assert_non_null(strstr(rows[FITS + GN_FIT_HULL].problem.text, "changed"));
    assert_false(rows[FITS + GN_FIT_REGRESSION].failed);
    assert_string_equal(rows[FITS + GN_FIT_REGRESSION].problem.text, "");
    free(s.exchanges);
}

static void nothing_to_compare_is_an_error(void **state)
{
    (void)state;
    struct setting s;
    struct gn_error err;
    struct gn_comparison rows[GN_COMPARED_METHODS];
    make(&s, usual());
    s.input.readings = &s.exchanges[0].asked_ticks;
    s.input.reading_count = 0;
    assert_int_equal(gn_compare(&s.input, rows, &err), -EINVAL);
    s.input.readings = NULL;
    s.input.pair.count = 0;
    assert_int_equal(gn_compare(&s.input, rows, &err), -EINVAL);
    assert_non_null(strstr(err.text, "not one exchange"));
    free(s.exchanges);
}

/* Mostly plausible readings, some that are anything. */
static uint64_t some_reading(uint64_t *seed, uint64_t at)
{
    uint64_t bits = gn_mix_next(seed);
    return bits % 16 == 0 ? gn_mix_next(seed) : bits % 16 == 1 ? at << bits % 64 : at + (bits >> 40);
}

/* What comes from a file may be anything: no method may trip over it. */
static void nonsense_is_harmless(void **state)
{
    (void)state;
    struct gn_comparison rows[GN_COMPARED_METHODS];
    struct gn_exchange e[12];
    for (uint64_t seed = 0; seed < 300; seed++) {
        uint64_t s = seed;
        for (size_t i = 0; i < sizeof e / sizeof *e; i++)
            e[i] = (struct gn_exchange){some_reading(&s, i << 30),
                                        some_reading(&s, i << 30),
                                        some_reading(&s, i << 30),
                                        some_reading(&s, i << 30),
                                        gn_mix_next(&s) % 8 > 0,
                                        gn_mix_next(&s) % 8 > 0,
                                        false};
        struct gn_compared_message messages[] = {{some_reading(&s, 0), some_reading(&s, 0), true},
                                                 {some_reading(&s, 0), some_reading(&s, 0), false}};
        struct gn_comparison_input input = {
            .pair = {e, 1 + seed % 12, {1e9, 1}, {1e9, 1 + seed % 5}, e[0].heard_ticks, 0},
            .assumption = gn_assumption_default(),
            .readings = &e[0].asked_ticks,
            .reading_count = 1,
            .messages = messages,
            .message_count = 2,
            .least_ns = -1};
        if (gn_compare(&input, rows, NULL) == 0)
            assert_non_null(rows[GN_COMPARED_METHODS - 1].method);
        input.readings = NULL;
        if (seed % 10 == 0)
            gn_compare(&input, rows, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_has_its_row),
        cmocka_unit_test(bounds_contain_the_truth),
        cmocka_unit_test(a_point_is_wrong_almost_everywhere),
        cmocka_unit_test(widths_are_at_least_the_floor),
        cmocka_unit_test(the_constant_model_is_as_tight_as_the_program),
        cmocka_unit_test(width_is_infinite_where_nothing_is_known),
        cmocka_unit_test(early_points_invert_messages),
        cmocka_unit_test(a_fast_send_need_not_be_an_inversion),
        cmocka_unit_test(half_of_the_shortest_round_trip_is_the_least),
        cmocka_unit_test(a_method_that_fails_says_why),
        cmocka_unit_test(nothing_to_compare_is_an_error),
        cmocka_unit_test(nonsense_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

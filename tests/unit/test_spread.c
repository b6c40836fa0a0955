/* analyse/spread — what shares found in windows are in all of the run: of what is alike everywhere, of what
 * happens once, of few windows; and how often the interval holds the truth. */
#include "analyse/spread.h"
#include "base/mix.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

enum { STEPS = 1000, STEP = 1000, MOST = 64 };

/* A run of steps, of each of which a share is looked for; and what windows there are of it. */
struct made {
    double of[STEPS];
    struct gn_kept_window windows[MOST], off;
    size_t count;
};

static const struct gn_kept_window run = {0, STEPS *STEP};

static double sum(const struct made *m, uint64_t begin, uint64_t end)
{
    double all = 0;
    for (uint64_t at = begin; at < end;) {
        const uint64_t next = (at / STEP + 1) * STEP < end ? (at / STEP + 1) * STEP : end;
        all += m->of[at / STEP] * (double)(next - at);
        at = next;
    }
    return all;
}

static double share_in(const struct made *m, const struct gn_kept_window *windows, size_t count)
{
    double found = 0, length = 0;
    for (size_t i = 0; i < count; i++) {
        found += sum(m, windows[i].begin_ticks, windows[i].end_ticks);
        length += (double)(windows[i].end_ticks - windows[i].begin_ticks);
    }
    return length > 0 ? found / length : 0;
}

static struct gn_spread *look(const struct made *m, const struct gn_kept_window *middle)
{
    const struct gn_spread_settings settings = {.windows = m->windows,
                                                .count = m->count,
                                                .run = run,
                                                .middle = *middle,
                                                .off = &m->off,
                                                .off_count = m->off.end_ticks > 0};
    struct gn_spread *s = gn_spread_new(&settings);
    assert_non_null(s);
    for (size_t round = 0; round < gn_spread_rounds(s); round++) {
        struct gn_kept_window of_round[MOST];
        size_t count = 0;
        gn_spread_begin(s, round);
        assert_true(gn_spread_is_in_round(s));
        for (size_t i = 0; i < m->count; i++) {
            of_round[count] = m->windows[i];
            count += gn_spread_cut(s, round, i, &of_round[count]);
        }
        const double share = share_in(m, of_round, count);
        if (share > 0) /* what is nowhere has no row */
            assert_int_equal(gn_spread_add(s, "it", share, share), 0);
    }
    gn_spread_begin(s, GN_SPREAD_NO_ROUND);
    assert_false(gn_spread_is_in_round(s));
    return s;
}

static bool holds(const struct made *m, const struct gn_kept_window *middle, double *width)
{
    struct gn_spread *s = look(m, middle);
    const double seen = share_in(m, m->windows, m->count), true_share = share_in(m, &run, 1);
    double lo, hi;
    gn_spread_of_run(s, "it", false, seen, seen, &lo, &hi);
    gn_spread_free(s);
    assert_true(lo <= hi && hi <= 1);
    *width = hi - lo;
    return lo <= true_share + 1e-9 && true_share <= hi + 1e-9;
}

static void spaced(struct made *m, size_t count, uint64_t length)
{
    m->count = count;
    for (size_t i = 0; i < count; i++)
        m->windows[i] =
            (struct gn_kept_window){i * (STEPS * STEP / count), i * (STEPS * STEP / count) + length};
}

static void what_is_alike_everywhere_is_so_in_the_rest(void **state)
{
    (void)state;
    static struct made m;
    double width;
    for (int i = 0; i < STEPS; i++)
        m.of[i] = 0.3;
    spaced(&m, 10, 20 * STEP);
    assert_true(holds(&m, &run, &width));
    assert_true(width > 0.01 && width < 0.05);
}

static void what_happens_once_counts_once(void **state)
{
    (void)state;
    static struct made m;
    const struct gn_kept_window middle = {50 * STEP, STEPS * STEP};
    struct gn_spread *s;
    double lo, hi;
    for (int i = 0; i < STEPS; i++)
        m.of[i] = i < 50;
    spaced(&m, 10, 60 * STEP);
    s = look(&m, &middle);
    gn_spread_of_run(s, "it", false, 50. / 600, 50. / 600, &lo, &hi);
    assert_true(fabs(lo - .05) < 1e-6 && fabs(hi - .05) < 1e-6);
    gn_spread_of_run(s, "what is in no round", false, 50. / 600, 50. / 600, &lo, &hi);
    assert_true(fabs(lo - .05) < 1e-6 && fabs(hi - .05) < 1e-6);
    gn_spread_free(s);
}

static void a_beginning_that_was_not_seen_may_be_anything(void **state)
{
    (void)state;
    static struct made m;
    const struct gn_kept_window middle = {50 * STEP, STEPS * STEP};
    double lo, hi;
    for (int i = 0; i < STEPS; i++)
        m.of[i] = 0.5;
    spaced(&m, 10, 20 * STEP);
    m.windows[0] = (struct gn_kept_window){60 * STEP, 80 * STEP};
    struct gn_spread *s = look(&m, &middle);
    gn_spread_of_run(s, "it", false, .5, .5, &lo, &hi);
    assert_true(lo < .5 * .95 + 1e-9 && hi > .5 * .95 + .05);
    gn_spread_free(s);
}

static void of_few_windows_only_what_was_seen_is_known(void **state)
{
    (void)state;
    static struct made m;
    double lo, hi;
    spaced(&m, 2, 100 * STEP);
    struct gn_spread *s = look(&m, &run);
    assert_int_equal(gn_spread_rounds(s), 0);
    gn_spread_of_run(s, "it", false, .5, .6, &lo, &hi);
    assert_true(fabs(lo - .1) < 1e-9 && fabs(hi - .92) < 1e-9);
    gn_spread_free(s);
    spaced(&m, 10, 20 * STEP);
    s = look(&m, &run);
    gn_spread_give_up(s);
    gn_spread_of_run(s, "it", false, .5, .5, &lo, &hi);
    assert_true(fabs(lo - .1) < 1e-9 && fabs(hi - .9) < 1e-9);
    gn_spread_free(s);
}

/* Two rows that are called the same, and what may not have been among the best that a round told. */
static void of_what_is_not_told_apart_only_what_was_seen_is_known(void **state)
{
    (void)state;
    static struct made m;
    double lo, hi;
    for (int i = 0; i < STEPS; i++)
        m.of[i] = 0.3;
    spaced(&m, 10, 20 * STEP);
    struct gn_spread *s = look(&m, &run);
    gn_spread_of_run(s, "it", true, .3, .3, &lo, &hi);
    assert_true(hi - lo < .05);
    gn_spread_of_run(s, "not among the best", true, .3, .3, &lo, &hi);
    assert_true(fabs(lo - .06) < 1e-6 && fabs(hi - .86) < 1e-6);
    gn_spread_begin(s, 0);
    assert_int_equal(gn_spread_add(s, "it", .01, .01), 0);
    gn_spread_of_run(s, "it", false, .3, .3, &lo, &hi);
    assert_true(fabs(lo - .06) < 1e-6 && fabs(hi - .86) < 1e-6);
    gn_spread_free(s);
}

/* Of a time for which nobody wanted windows nothing is said. */
static void where_windows_were_off_it_may_be_anything(void **state)
{
    (void)state;
    static struct made m;
    double lo, hi;
    for (int i = 0; i < STEPS; i++)
        m.of[i] = i < STEPS / 2 ? 0.3 : 0.9;
    spaced(&m, 20, 20 * STEP);
    m.count = 10;
    m.off = (struct gn_kept_window){STEPS / 2 * STEP, UINT64_MAX};
    struct gn_spread *s = look(&m, &run);
    gn_spread_of_run(s, "it", false, .3, .3, &lo, &hi);
    assert_true(lo < .15 && lo > .13 && hi > .64 && hi < .67);
    gn_spread_free(s);
    m.off.end_ticks = 0;
}

/* Windows that lie in MPI_Init only are no sample of the middle. */
static void windows_outside_of_the_middle_count_for_nothing(void **state)
{
    (void)state;
    static struct made m;
    const struct gn_kept_window middle = {300 * STEP, STEPS * STEP};
    spaced(&m, 6, 20 * STEP); /* two of them ahead of the middle */
    struct gn_spread *s = look(&m, &middle);
    assert_int_equal(gn_spread_rounds(s), 4 + 3);
    gn_spread_free(s);
    spaced(&m, 5, 20 * STEP);
    s = look(&m, &middle);
    assert_int_equal(gn_spread_rounds(s), 0);
    gn_spread_free(s);
}

/* Windows as an agent has them: at random, and further apart later. Each kind of run is tried so often. */
static void the_interval_holds_the_truth(void **state)
{
    (void)state;
    enum { TRIALS = 400 };
    static struct made m;
    for (int kind = 0; kind < 4; kind++) {
        int held = 0;
        double widths = 0;
        for (uint64_t trial = 0; trial < TRIALS; trial++) {
            uint64_t dice = gn_mix(trial * 4 + (uint64_t)kind + 1);
            for (int i = 0; i < STEPS; i++) {
                const double chance = gn_mix_unit(dice = gn_mix(dice));
                m.of[i] = kind == 0   ? chance
                          : kind == 1 ? (chance < .1) /* now and then, and all of it */
                          : kind == 2 ? (double)i / STEPS
                                      : chance * (i < STEPS / 2 ? .2 : .8);
            }
            m.count = 0;
            for (double at = 0; at < STEPS * STEP && m.count < MOST;) {
                const double length = (10 + 10 * gn_mix_unit(dice = gn_mix(dice))) * STEP,
                             end = fmin(at + length, STEPS * STEP);
                m.windows[m.count++] = (struct gn_kept_window){(uint64_t)at, (uint64_t)end};
                at = end + length * (1 + 6 * at / (STEPS * STEP)) * (.5 + gn_mix_unit(dice = gn_mix(dice)));
            }
            double width;
            held += holds(&m, &run, &width);
            widths += width;
        }
        if (held < TRIALS * 92 / 100 || widths / TRIALS > .5)
            fail_msg("kind %d: %d of %d hold, %.3f wide", kind, held, TRIALS, widths / TRIALS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_alike_everywhere_is_so_in_the_rest),
        cmocka_unit_test(what_happens_once_counts_once),
        cmocka_unit_test(a_beginning_that_was_not_seen_may_be_anything),
        cmocka_unit_test(of_few_windows_only_what_was_seen_is_known),
        cmocka_unit_test(of_what_is_not_told_apart_only_what_was_seen_is_known),
        cmocka_unit_test(where_windows_were_off_it_may_be_anything),
        cmocka_unit_test(windows_outside_of_the_middle_count_for_nothing),
        cmocka_unit_test(the_interval_holds_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

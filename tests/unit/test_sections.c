/* What processes compute after calls (analyse/sections.h), of a profile where windows have not seen it, and
 * who does the same as those that are late. */
#include "analyse/sections.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SITES = 3, PROCESSES = 4 };

/* Rank 0 and 1 do the same; rank 2 does that and as much again; rank 3 something else. Windows have missed
 * what rank 1 does after the first call. All of them poll in the last. */
static const struct gn_seen_after after[SITES][PROCESSES] = {
    {{100, 10}, {80, 10}, {90, 10}, {0, 0}},
    {{40, 2}, {60, 3}, {200, 2}, {0, 0}},
    {{5000, 1}, {5000, 1}, {5000, 1}, {300, 1}},
};

static struct gn_sections found_of(const struct gn_definitions *definitions)
{
    static struct gn_seen_site sites[SITES];
    static struct gn_seen_part part;
    static struct gn_seen seen;
    struct gn_sections sections;
    sites[2].is_polled = true;
    part.history.definitions = definitions;
    seen = (struct gn_seen){.definitions = definitions,
                            .parts = &part,
                            .count = 1,
                            .sites = sites,
                            .site_count = SITES,
                            .after = (struct gn_seen_after *)&after[0][0]};
    assert_int_equal(gn_sections_find(&sections, &seen), 0);
    return sections;
}

static void what_windows_have_missed_is_known(void **state)
{
    (void)state;
    const struct gn_definitions definitions = {.process_count = PROCESSES};
    struct gn_sections s = found_of(&definitions);
    assert_int_equal(s.site_count, SITES);
    assert_float_equal(s.sums[1].ns, 80, 0);
    assert_float_equal(s.sums[PROCESSES + 2].times, 2, 0);
    assert_float_equal(s.sums[2 * PROCESSES].ns, 0, 0); /* there it may have waited */
    const struct gn_section_difference d = gn_sections_differ_one(&s, 0, 0);
    assert_float_equal(d.own_ns, 100, 0);
    assert_float_equal(d.others_ns, 85, 1e-9); /* of those that do it */
    assert_float_equal(d.times, 1, 1e-9);
    gn_sections_clear(&s);
}

static void who_does_the_same_is_a_peer(void **state)
{
    (void)state;
    const struct gn_definitions definitions = {.process_count = PROCESSES};
    struct gn_sections s = found_of(&definitions);
    struct gn_sections_in_all *in_all;
    /* between polls it may wait, however long that is */
    for (int p = 0; p < PROCESSES; p++)
        s.sums[2 * PROCESSES + p] = (struct gn_section_sum){5000, 1};
    assert_int_equal(gn_sections_add_up(&s, (const bool[PROCESSES]){true}, &in_all), 0);
    assert_float_equal(in_all[0].all_ns, 5140, 1e-9);
    assert_float_equal(in_all[2].all_ns, 5290, 1e-9);
    assert_false(in_all[0].is_peer); /* it is the one */
    assert_true(in_all[1].is_peer);
    assert_true(in_all[2].is_peer);
    assert_false(in_all[3].is_peer);
    free(in_all);
    /* who computes nothing has none */
    assert_int_equal(gn_sections_add_up(&s, (const bool[PROCESSES]){false, false, false, true}, &in_all), 0);
    for (int p = 0; p < PROCESSES; p++)
        assert_false(in_all[p].is_peer);
    free(in_all);
    gn_sections_clear(&s);
}

/* Two processes, of which the second one takes five times as long; each time longer than the one before, the
 * last ones of the run grows times as long as the first. Slices have ever fewer, as they are of equal time.
 * In the first half windows have mostly seen the one, then the other, and some of them none of it. */
static struct gn_sections grown(double grows, bool has_gaps)
{
    struct gn_sections s = {.site_count = 1, .process_count = 2, .has_slices = true};
    double all = 0, done = 0;
    s.sums = calloc(2, sizeof *s.sums);
    s.slices_ns = calloc(2 * GN_SECTIONS_SLICES, sizeof(double));
    s.slices_times = calloc(2 * GN_SECTIONS_SLICES, sizeof(double));
    for (size_t k = 0; k < GN_SECTIONS_SLICES; k++)
        all += 30 - (double)k;
    for (size_t k = 0; k < GN_SECTIONS_SLICES; k++) {
        const double here = 30 - (double)k, longer = 1 + (grows - 1) * (done + here / 2) / all;
        for (size_t p = 0; p < 2; p++) {
            const bool is_first = (p == 0) == (k < GN_SECTIONS_SLICES / 2);
            const double times = has_gaps && k % 3 == p ? 0 : here * (is_first ? 0.9 : 0.1);
            s.slices_times[p * GN_SECTIONS_SLICES + k] = times;
            s.slices_ns[p * GN_SECTIONS_SLICES + k] = times * (p == 0 ? 100 : 500) * longer;
        }
        done += here;
    }
    s.sums[0].times = s.sums[1].times = all / 2;
    return s;
}

static void who_is_seen_when_is_no_growth(void **state)
{
    (void)state;
    for (int gaps = 0; gaps < 2; gaps++) {
        struct gn_sections s = grown(1, gaps);
        assert_float_equal(gn_sections_growth(&s, 0).factor, 0, 0);
        gn_sections_clear(&s);
    }
}

static void growth_has_its_begin(void **state)
{
    (void)state;
    struct gn_sections s = grown(4, false);
    const struct gn_section_growth growth = gn_sections_growth(&s, 0);
    assert_true(growth.begin_ns > 270 && growth.begin_ns < 303); /* 300: of both in the mean */
    assert_true(growth.factor > 2 && growth.factor < 4);
    /* one slow slice does not make it the least */
    s.slices_ns[0] *= 3;
    s.slices_ns[GN_SECTIONS_SLICES] *= 3;
    assert_true(gn_sections_growth(&s, 0).begin_ns < growth.begin_ns * 1.1);
    gn_sections_clear(&s);
}

static void growth_is_found_where_little_is_seen(void **state)
{
    (void)state;
    struct gn_sections whole = grown(4, false), s = grown(4, true);
    const struct gn_section_growth all = gn_sections_growth(&whole, 0), growth = gn_sections_growth(&s, 0);
    assert_true(growth.factor > all.factor * 0.8 && growth.factor < all.factor * 1.25);
    assert_true(growth.begin_ns < all.begin_ns * 1.1);
    gn_sections_clear(&s);
    gn_sections_clear(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_windows_have_missed_is_known), cmocka_unit_test(who_does_the_same_is_a_peer),
        cmocka_unit_test(who_is_seen_when_is_no_growth), cmocka_unit_test(growth_has_its_begin),
        cmocka_unit_test(growth_is_found_where_little_is_seen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

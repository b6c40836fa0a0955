/* analyse/states and scores — who is busy while all others wait, on histories by hand. */
#include "analyse/scores.h"
#include "made_history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

struct scored {
    struct made *m;
    struct gn_groups groups;
    struct gn_scores scores;
};

static struct scored scored(struct made *m, double end_ms, enum gn_scored by,
                            const struct gn_scores_settings *settings)
{
    static const struct gn_scores_settings plain;
    struct scored s = {.m = m};
    struct gn_error err = {""};
    struct gn_history *h = made_end(m, end_ms);
    assert_int_equal(gn_groups_make(&s.groups, h, by, &err), 0);
    assert_int_equal(gn_scores_find(&s.scores, h, &s.groups, settings ? settings : &plain, &err), 0);
    return s;
}

static void done(struct scored *s)
{
    gn_scores_clear(&s->scores);
    gn_groups_clear(&s->groups);
    made_free(s->m);
}

static void assert_score(struct gn_score score, double percent)
{
    assert_true(score.lo <= score.hi);
    assert_true(fabs(score.lo - percent) < 1e-3 && fabs(score.hi - percent) < 1e-3);
}

/* Iterations of 25 ms: rank 1 works 20, the others 10; then all leave. */
static void iterate(struct made *m, uint32_t iterations, uint32_t ranks)
{
    for (uint32_t i = 0; i < iterations; i++) {
        uint32_t calls[MADE_LOCATIONS];
        for (uint32_t r = 0; r < ranks; r++)
            calls[r] = made_call(m, r, 25 * i + (r == 1 ? 20 : 10), 25 * (i + 1), 0);
        made_collective(m, GN_NONE, GN_SHAPE_ALL_TO_ALL, 0, calls, ranks);
    }
}

static void the_straggler_has_the_score(void **state)
{
    (void)state;
    struct made *m = made_new(3, NULL);
    iterate(m, 4, 3);
    struct scored s = scored(m, 100, GN_SCORED_RANK, NULL);
    assert_int_equal(s.scores.count, 3);
    assert_score(s.scores.scores[1], 40);
    assert_score(s.scores.scores[0], 0);
    assert_score(s.scores.scores[2], 0);
    assert_score(s.scores.all, 40);
    done(&s);
}

static void bounds_make_it_an_interval(void **state)
{
    (void)state;
    const uint32_t domains[] = {0, 1, 0};
    struct made *m = made_new(3, domains);
    m->wide_ms[1] = 0.5;
    iterate(m, 4, 3);
    struct scored s = scored(m, 100, GN_SCORED_RANK, NULL);
    assert_true(s.scores.scores[1].lo <= 40 && s.scores.scores[1].hi >= 40);
    assert_true(s.scores.scores[1].lo >= 36 && s.scores.scores[1].hi <= 44);
    assert_true(s.scores.scores[1].hi > s.scores.scores[1].lo);
    done(&s);
}

/* A second thread of rank 0 has no MPI calls; it has no say by rank, and is nobody by thread. */
static void threads_without_calls_have_no_say(void **state)
{
    struct made *m = made_new(3, NULL);
    gn_define_location(m->d, &(struct gn_location_def){.process = 0, .domain = 0});
    iterate(m, 4, 3);
    const uint32_t begin = made_call(m, 3, 0, 0, 0); /* only to open it: it becomes its first event */
    m->calls[begin].flags = GN_CALL_BEGIN;
    m->calls[begin].before = GN_NONE;
    m->first_call[3] = begin;
    struct scored s = scored(m, 100, *(const enum gn_scored *)*state, NULL);
    assert_score(s.scores.scores[1], 40);
    done(&s);
}

static void named_regions_say_who_is_busy(void **state)
{
    (void)state;
    struct made *m = made_new(2, NULL);
    const uint32_t work = made_region(m, "work", GN_ROLE_USER), hold = made_region(m, "hold", GN_ROLE_USER);
    made_call(m, 0, 0, 0, 0);
    made_call(m, 1, 0, 0, 0);
    made_change(m, 0, 10, hold, true);
    made_change(m, 0, 60, hold, false);
    made_change(m, 1, 40, work, true);
    made_change(m, 1, 90, work, false);
    bool busy[8] = {false}, waiting[8] = {false}, nowhere[8] = {false};
    busy[work] = waiting[hold] = true;
    const struct gn_named in_busy = {busy, nowhere}, in_waiting = {waiting, nowhere};
    const struct gn_scores_settings settings = {.waiting = &in_waiting, .busy = &in_busy};
    struct scored s = scored(m, 100, GN_SCORED_RANK, &settings);
    assert_score(s.scores.scores[1], 20); /* 40 to 60 */
    assert_score(s.scores.scores[0], 0);
    done(&s);
}

/* Two halves, each with a communicator of its own: in the one half rank 1 is late, in the other nobody ever
 * waits. All others never wait. */
static void smaller_communicators_have_scores_of_their_own(void **state)
{
    (void)state;
    static const uint32_t left[] = {0, 1}, right[] = {2, 3};
    struct made *m = made_new(4, NULL);
    const uint32_t a = made_comm(m, 2, left), b = made_comm(m, 2, right);
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t one[] = {made_call(m, 0, 25 * i + 10, 25 * (i + 1), 0),
                                made_call(m, 1, 25 * i + 20, 25 * (i + 1), 0)},
                       two[] = {made_call(m, 2, 25 * i + 25, 25 * (i + 1), 0),
                                made_call(m, 3, 25 * i + 25, 25 * (i + 1), 0)};
        made_collective(m, a, GN_SHAPE_ALL_TO_ALL, 0, one, 2);
        made_collective(m, b, GN_SHAPE_ALL_TO_ALL, 0, two, 2);
    }
    struct scored s = scored(m, 100, GN_SCORED_RANK, NULL);
    for (int i = 0; i < 4; i++)
        assert_score(s.scores.scores[i], 0);
    assert_int_equal(s.scores.contexts[1].comm, a);
    assert_int_equal(s.scores.contexts[1].expected, 2);
    assert_int_equal(s.scores.contexts[1].instances, 4);
    assert_score(s.scores.contexts[1].score, 40);
    assert_score(s.scores.contexts[2].score, 0);
    done(&s);
}

/* Slices of time: the straggler changes in the middle. The scores of the slices are those of the run. */
static void slices_add_up(void **state)
{
    (void)state;
    struct made *m = made_new(3, NULL);
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t calls[3];
        for (uint32_t r = 0; r < 3; r++)
            calls[r] = made_call(m, r, 25 * i + (r == i / 4 ? 20 : 10), 25 * (i + 1), 0);
        made_collective(m, GN_NONE, GN_SHAPE_ALL_TO_ALL, 0, calls, 3);
    }
    const struct gn_scores_settings settings = {.has_phases = true};
    struct scored s = scored(m, 200, GN_SCORED_RANK, &settings);
    assert_int_equal(s.scores.phase_count, GN_PHASE_SLICES);
    for (int r = 0; r < 3; r++) {
        double lo = 0, hi = 0;
        for (size_t i = 0; i < s.scores.phase_count; i++) {
            lo += s.scores.phases[i].scores[r].lo;
            hi += s.scores.phases[i].scores[r].hi;
        }
        assert_true(fabs(lo - s.scores.scores[r].lo) < 1e-6 && fabs(hi - s.scores.scores[r].hi) < 1e-6);
    }
    assert_true(s.scores.phases[0].scores[0].lo > 0 && s.scores.phases[0].scores[1].hi == 0);
    assert_true(s.scores.phases[9].scores[1].lo > 0 && s.scores.phases[9].scores[0].hi == 0);
    done(&s);
}

static void phases_are_the_outermost_named_regions(void **state)
{
    (void)state;
    struct made *m = made_new(2, NULL);
    const uint32_t one = made_region(m, "one", GN_ROLE_USER), two = made_region(m, "two", GN_ROLE_USER);
    for (uint32_t r = 0; r < 2; r++) {
        const double late = r ? 20 : 0;
        const uint32_t phases[] = {one, two};
        for (uint32_t i = 0; i < 2; i++) {
            made_change(m, r, 50 * i, phases[i], true);
            made_change(m, r, 50 * i + 5, two, true); /* inside: not the outermost */
            made_change(m, r, 50 * i + 6, two, false);
            made_change(m, r, 50 * (i + 1), phases[i], false);
        }
        made_call(m, r, 10 + late, 50, 0);
        made_call(m, r, 90 + late / 4, 100, 0);
    }
    for (uint32_t c = 0; c < m->h.call_count; c++)
        m->calls[c].flags |= m->calls[c].flags ? 0 : GN_CALL_POLL; /* it waits, for whatever */
    const struct gn_scores_settings settings = {.has_phases = true};
    struct scored s = scored(m, 100, GN_SCORED_RANK, &settings);
    assert_int_equal(s.scores.phase_count, 2);
    assert_int_equal(s.scores.phases[0].region, one);
    assert_int_equal(s.scores.phases[1].region, two);
    assert_score(s.scores.phases[0].scores[1], 20);
    assert_score(s.scores.phases[1].scores[1], 5);
    assert_score(s.scores.scores[1], 25);
    done(&s);
}

static void one_alone_has_no_others(void **state)
{
    (void)state;
    struct made *m = made_new(1, NULL);
    made_call(m, 0, 10, 20, 0);
    struct scored s = scored(m, 100, GN_SCORED_RANK, NULL);
    assert_score(s.scores.scores[0], 0);
    done(&s);
}

int main(void)
{
    static enum gn_scored by_rank = GN_SCORED_RANK, by_thread = GN_SCORED_THREAD;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_straggler_has_the_score),
        cmocka_unit_test(bounds_make_it_an_interval),
        {"threads without calls, by rank", threads_without_calls_have_no_say, NULL, NULL, &by_rank},
        {"threads without calls, by thread", threads_without_calls_have_no_say, NULL, NULL, &by_thread},
        cmocka_unit_test(named_regions_say_who_is_busy),
        cmocka_unit_test(smaller_communicators_have_scores_of_their_own),
        cmocka_unit_test(slices_add_up),
        cmocka_unit_test(phases_are_the_outermost_named_regions),
        cmocka_unit_test(one_alone_has_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

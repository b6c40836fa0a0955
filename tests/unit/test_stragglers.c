/* answer/stragglers_report — who is named, and how sure that is, on histories by hand. */
#include "answer/stragglers_report.h"
#include "made_history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

struct judged {
    enum gn_straggler_verdict verdict, waited_for;
    uint32_t first;
};

static struct judged judged(struct made *m, double end_ms)
{
    static const struct gn_scores_settings plain;
    struct gn_error err = {""};
    struct gn_history *h = made_end(m, end_ms);
    struct gn_groups groups;
    struct gn_scores scores;
    struct gn_waits waits;
    assert_int_equal(gn_groups_make(&groups, h, GN_SCORED_RANK, &err), 0);
    assert_int_equal(gn_scores_find(&scores, h, &groups, &plain, &err), 0);
    assert_int_equal(gn_waits_find(&waits, h, NULL, &err), 0);
    struct gn_stragglers_report r = {.path = "",
                                     .history = h,
                                     .groups = &groups,
                                     .waits = &waits,
                                     .scores = &scores,
                                     .by = GN_SCORED_RANK};
    assert_int_equal(gn_stragglers_rank(&r, &err), 0);
    const struct judged judged = {r.verdict, r.waited_for, r.list[0].group};
    free(r.list);
    gn_waits_clear(&waits);
    gn_scores_clear(&scores);
    gn_groups_clear(&groups);
    made_free(m);
    return judged;
}

/* Each of `ranks` works for 10 ms when the one before it has, `slow` for so much longer; then all meet. */
static struct made *wavefront(uint32_t ranks, uint32_t slow, double extra_ms, double *end_ms)
{
    struct made *m = made_new(ranks, NULL);
    double t = 0;
    for (int sweep = 0; sweep < 5; sweep++) {
        const double began = t;
        uint32_t all[MADE_LOCATIONS], sent = GN_NONE;
        double done[MADE_LOCATIONS];
        for (uint32_t r = 0; r < ranks; r++) {
            if (sent != GN_NONE)
                made_takes_message(m, made_call(m, r, began, t, 0), sent);
            t += 10 + (r == slow ? extra_ms : 0);
            sent = made_call(m, r, t, t, 1);
            done[r] = t;
        }
        for (uint32_t r = 0; r < ranks; r++)
            all[r] = made_call(m, r, done[r], t, 0);
        made_collective(m, 0, GN_SHAPE_ALL_TO_ALL, 0, all, ranks);
    }
    *end_ms = t;
    return m;
}

/* The same from one end to the other and back, again and again, without meeting before the end. */
static struct made *swept(uint32_t ranks, uint32_t slow, double extra_ms, double *end_ms)
{
    enum { TURNS = 6 };
    struct made *m = made_new(ranks, NULL);
    double t = 0, done[MADE_LOCATIONS] = {0};
    uint32_t sent = GN_NONE;
    for (uint32_t step = 0; step < TURNS * ranks; step++) {
        const uint32_t turn = step / ranks, at = step % ranks, r = turn % 2 ? ranks - 1 - at : at;
        if (sent != GN_NONE && m->calls[sent].location != r)
            made_takes_message(m, made_call(m, r, done[r], t, 0), sent);
        t += 10 + (r == slow ? extra_ms : 0);
        sent = made_call(m, r, t, t, 1);
        done[r] = t;
    }
    uint32_t all[MADE_LOCATIONS];
    for (uint32_t r = 0; r < ranks; r++)
        all[r] = made_call(m, r, done[r], t, 0);
    made_collective(m, 0, GN_SHAPE_ALL_TO_ALL, 0, all, ranks);
    *end_ms = t;
    return m;
}

static void nobody_is_to_blame_for_a_wavefront(void **state)
{
    (void)state;
    for (uint32_t ranks = 3; ranks <= 9; ranks++) {
        double end_ms;
        struct made *m = wavefront(ranks, GN_NONE, 0, &end_ms);
        assert_int_equal(judged(m, end_ms).verdict, GN_STRAGGLER_NOBODY);
        m = swept(ranks, GN_NONE, 0, &end_ms);
        assert_int_equal(judged(m, end_ms).verdict, GN_STRAGGLER_NOBODY);
    }
}

static void who_does_more_in_a_wavefront_is_found(void **state)
{
    (void)state;
    for (uint32_t slow = 0; slow < 6; slow++) {
        double end_ms;
        struct made *m = wavefront(6, slow, 20, &end_ms);
        const struct judged j = judged(m, end_ms);
        assert_int_equal(j.waited_for, GN_STRAGGLER_CERTAIN);
        assert_int_equal(j.first, slow);
    }
}

/* From end to end and back, each passes on as much waiting as the others, the slow one as well. */
static void who_does_more_where_all_wait_in_turn_is_possible(void **state)
{
    (void)state;
    for (uint32_t ranks = 3; ranks <= 9; ranks++)
        for (uint32_t slow = 0; slow < ranks; slow++) {
            double end_ms;
            struct made *m = swept(ranks, slow, 5, &end_ms);
            const struct judged j = judged(m, end_ms);
            assert_int_equal(j.verdict, GN_STRAGGLER_POSSIBLE);
            assert_int_equal(j.first, slow);
        }
}

/* That all wait for it is seen. Whether it computed meanwhile, or had no core, is not. */
static void that_a_rank_is_slow_is_only_possible(void **state)
{
    (void)state;
    struct made *m = made_new(3, NULL);
    for (uint32_t i = 0; i < 4; i++) {
        const double t = 31 * i;
        const uint32_t calls[] = {made_call(m, 0, t + 10, t + 31, 0), made_call(m, 1, t + 30, t + 31, 1),
                                  made_call(m, 2, t + 10, t + 31, 0)};
        made_collective(m, 0, GN_SHAPE_ALL_TO_ALL, 0, calls, 3);
    }
    const struct judged j = judged(m, 124);
    assert_int_equal(j.waited_for, GN_STRAGGLER_CERTAIN);
    assert_int_equal(j.verdict, GN_STRAGGLER_POSSIBLE);
    assert_int_equal(j.first, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_to_blame_for_a_wavefront),
        cmocka_unit_test(who_does_more_in_a_wavefront_is_found),
        cmocka_unit_test(who_does_more_where_all_wait_in_turn_is_possible),
        cmocka_unit_test(that_a_rank_is_slow_is_only_possible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

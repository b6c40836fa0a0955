/* analyse/waits — on histories by hand: who is named, how much, and how sure. */
#include "analyse/waits.h"
#include "analyse/whatif.h"
#include "made_history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const double MS = 1e6;

static struct gn_waits found(struct made *m, double end_ms)
{
    struct gn_waits w;
    struct gn_error err = {""};
    assert_int_equal(gn_waits_find(&w, made_end(m, end_ms), NULL, &err), 0);
    return w;
}

/* The reference's rate is known to ±200 ppm where nothing else bounds it. */
static void assert_about(struct gn_blame blame, double ms)
{
    assert_true(blame.lo_ns <= blame.hi_ns);
    assert_true(blame.lo_ns <= ms * MS + 1 && blame.hi_ns >= ms * MS - 1);
    assert_true(blame.hi_ns - blame.lo_ns <= fmax(ms, 1) * MS * 1e-3);
}

static void assert_nothing(struct gn_blame blame)
{
    assert_true(blame.hi_ns == 0);
}

static void the_longest_work_is_named(void **state)
{
    (void)state;
    struct made *m = made_new(3, NULL);
    for (uint32_t i = 0; i < 4; i++) { /* rank 1 works 30 ms, the others 10; all leave together */
        const double t = 31 * i;
        const uint32_t calls[] = {made_call(m, 0, t + 10, t + 31, 0), made_call(m, 1, t + 30, t + 31, 1),
                                  made_call(m, 2, t + 10, t + 31, 0)};
        made_collective(m, 0, GN_SHAPE_ALL_TO_ALL, 0, calls, 3);
    }
    struct gn_waits w = found(m, 124);
    assert_about(w.caused[1], 4 * 2 * 20);
    assert_nothing(w.caused[0]);
    assert_nothing(w.caused[2]);
    assert_about(w.waited[0], 80);
    assert_nothing(w.waited[1]);
    assert_int_equal(w.cause_count, 1);
    assert_int_equal(w.causes[0].location, 1);
    assert_int_equal(w.causes[0].activity, 1);
    assert_int_equal(w.causes[0].times, 4); /* instances, not members */
    assert_int_equal(w.last_certain, 8);
    assert_int_equal(w.last_possible, 0);
    double all_ns = 0;
    for (int i = 0; i < GN_WAITS_SLICES; i++)
        all_ns += w.slices[GN_WAITS_SLICES + i];
    assert_true(fabs(all_ns - w.caused[1].lo_ns) < 1);
    gn_waits_clear(&w);
    made_free(m);
}

static void a_message_that_was_there_is_not_waited_for(void **state)
{
    (void)state;
    struct made *m = made_new(2, NULL);
    const uint32_t sent = made_call(m, 0, 5, 6, 0), received = made_call(m, 1, 20, 21, 0);
    made_takes_message(m, received, sent);
    struct gn_waits w = found(m, 30);
    assert_nothing(w.caused[0]);
    assert_nothing(w.waited[1]);
    gn_waits_clear(&w);
    made_free(m);
}

static void the_last_of_several_messages_is_the_cause(void **state)
{
    (void)state;
    struct made *m = made_new(3, NULL);
    const uint32_t early = made_call(m, 0, 15, 16, 0), late = made_call(m, 1, 25, 26, 0),
                   all = made_call(m, 2, 10, 27, 0);
    made_takes_message(m, all, early);
    made_takes_message(m, all, late);
    struct gn_waits w = found(m, 30);
    assert_about(w.caused[1], 15);
    assert_nothing(w.caused[0]);
    gn_waits_clear(&w);
    made_free(m);
}

/* 2 works for 40 ms, 1 waits for it and works for 10 more, 0 waits for 1: 10 of its 40 ms are 1's own. */
static void a_culprit_that_waited_passes_it_on(void **state)
{
    (void)state;
    struct made *m = made_new(3, NULL);
    const uint32_t first = made_call(m, 2, 40, 41, 2), taken = made_call(m, 1, 0, 41, 0),
                   second = made_call(m, 1, 51, 52, 1), last = made_call(m, 0, 10, 52, 0);
    made_takes_message(m, taken, first);
    made_takes_message(m, last, second);
    struct gn_waits w = found(m, 60);
    assert_about(w.waited[0], 41);
    assert_about(w.waited[1], 40);
    assert_about(w.caused[1], 1); /* 10 of work and 1 in the call, but 0 worked 10, too */
    assert_about(w.caused[2], 40 + 40);
    assert_int_equal(w.causes[0].location, 2);
    assert_int_equal(w.causes[0].activity, 2);
    gn_waits_clear(&w);
    made_free(m);
}

/* What both waited for before they were level is not the later one's excuse. */
static void waits_before_a_common_collective_do_not_count(void **state)
{
    (void)state;
    struct made *m = made_new(3, NULL);
    const uint32_t one[] = {made_call(m, 0, 10, 51, 0), made_call(m, 1, 10, 51, 0),
                            made_call(m, 2, 50, 51, 2)};
    made_collective(m, 0, GN_SHAPE_ALL_TO_ALL, 0, one, 3);
    const uint32_t two[] = {made_call(m, 0, 61, 82, 0), made_call(m, 1, 81, 82, 1),
                            made_call(m, 2, 61, 82, 0)};
    made_collective(m, 0, GN_SHAPE_ALL_TO_ALL, 0, two, 3);
    struct gn_waits w = found(m, 90);
    assert_about(w.caused[2], 80);
    assert_about(w.caused[1], 40);
    gn_waits_clear(&w);
    made_free(m);
}

/* A token goes round: each works as long as all the others, and nobody is late because of itself. */
static void nobody_holds_itself_up(void **state)
{
    (void)state;
    enum { RANKS = 4, ROUNDS = 5 };
    struct made *m = made_new(RANKS, NULL);
    uint32_t sent = GN_NONE;
    double left[RANKS] = {0}, now = 0;
    for (uint32_t i = 0; i < RANKS * ROUNDS; i++) {
        const uint32_t rank = i % RANKS;
        if (sent != GN_NONE)
            made_takes_message(m, made_call(m, rank, left[rank], now, 0), sent);
        now += 10;
        sent = made_call(m, rank, now, now, 1);
        left[rank] = now;
    }
    struct gn_waits w = found(m, now);
    double caused_ns = 0, waited_ns = 0;
    for (uint32_t r = 0; r < RANKS; r++) {
        caused_ns += w.caused[r].lo_ns;
        waited_ns += w.waited[r].lo_ns;
    }
    assert_true(waited_ns > 0 && fabs(caused_ns - waited_ns) < waited_ns * 1e-3);
    for (uint32_t r = 1; r < RANKS; r++)
        assert_true(w.caused[r].lo_ns > waited_ns / RANKS / 2 && w.caused[r].lo_ns < waited_ns / RANKS * 2);
    gn_waits_clear(&w);
    made_free(m);
}

/* 1 and 2 come 1 ms apart; their clocks are known to ±2 ms, the first one's exactly. */
static void overlapping_bounds_make_it_possible_for_each(void **state)
{
    (void)state;
    const uint32_t domains[] = {0, 1, 2};
    struct made *m = made_new(3, domains);
    m->wide_ms[1] = m->wide_ms[2] = 2;
    const uint32_t calls[] = {made_call(m, 0, 10, 35, 0), made_call(m, 1, 30, 35, 0),
                              made_call(m, 2, 31, 35, 0)};
    made_collective(m, 0, GN_SHAPE_ALL_TO_ALL, 0, calls, 3);
    struct gn_waits w = found(m, 40);
    for (uint32_t l = 1; l < 3; l++) {
        assert_true(w.caused[l].lo_ns == 0);
        assert_true(w.caused[l].hi_ns >= (20 + l - 1) * MS);
    }
    assert_nothing(w.caused[0]);
    assert_true(w.waited[0].lo_ns >= 19 * MS - 1 && w.waited[0].lo_ns <= 21 * MS);
    assert_true(w.waited[0].hi_ns >= 21 * MS && w.waited[0].hi_ns <= 23 * MS + 1);
    assert_true(w.last_certain == 0 && w.last_possible > 0);
    gn_waits_clear(&w);
    made_free(m);
}

/* The same with one clock: its readings tell them apart, however little its time is known. */
static void readings_of_one_clock_compare_exactly(void **state)
{
    (void)state;
    const uint32_t domains[] = {0, 1, 1};
    struct made *m = made_new(3, domains);
    m->wide_ms[1] = m->wide_ms[2] = 2;
    const uint32_t calls[] = {made_call(m, 0, 10, 35, 0), made_call(m, 1, 30, 35, 0),
                              made_call(m, 2, 31, 35, 0)};
    made_collective(m, 0, GN_SHAPE_ALL_TO_ALL, 0, calls, 3);
    struct gn_waits w = found(m, 40);
    assert_nothing(w.caused[1]);
    assert_true(w.caused[2].lo_ns >= 19.99 * MS && w.caused[2].hi_ns <= 24.01 * MS);
    assert_int_equal(w.causes[0].location, 2);
    assert_int_equal(w.causes[0].times, 1);
    gn_waits_clear(&w);
    made_free(m);
}

static void a_broadcast_is_waited_for_at_its_root_only(void **state)
{
    (void)state;
    struct made *m = made_new(3, NULL);
    const uint32_t calls[] = {made_call(m, 0, 20, 21, 0), made_call(m, 1, 10, 21, 0),
                              made_call(m, 2, 50, 51, 0)};
    made_collective(m, 0, GN_SHAPE_ONE_TO_ALL, 0, calls, 3);
    struct gn_waits w = found(m, 60);
    assert_about(w.caused[0], 10);
    assert_nothing(w.caused[2]);
    gn_waits_clear(&w);
    made_free(m);
}

static void a_scan_waits_for_lower_ranks_only(void **state)
{
    (void)state;
    struct made *m = made_new(3, NULL);
    const uint32_t calls[] = {made_call(m, 0, 10, 11, 0), made_call(m, 1, 30, 31, 0),
                              made_call(m, 2, 20, 31, 0)};
    made_collective(m, 0, GN_SHAPE_PREFIX, 0, calls, 3);
    struct gn_waits w = found(m, 40);
    assert_about(w.caused[1], 10);
    assert_nothing(w.caused[0]);
    gn_waits_clear(&w);
    made_free(m);
}

static const uint32_t EVERYBODY[] = {0, 1, 2};

/* 2 works for 30 ms and the root of the reduction waits for it; 1 gave its part long ago. That the root sends
 * the result around late is 2's doing: what 1 gave has not made it and the root level. */
static void a_reduction_to_a_root_levels_nobody(void **state)
{
    (void)state;
    static const enum gn_shape shapes[] = {GN_SHAPE_ALL_TO_ONE, GN_SHAPE_ONE_TO_ALL};
    struct made *m = made_new(3, NULL);
    const uint32_t comm = made_comm(m, 3, EVERYBODY);
    for (uint32_t i = 0; i < 5; i++) {
        const double t = 33 * i;
        const uint32_t reduce[] = {made_call(m, 0, t + 10, t + 31, 0), made_call(m, 1, t + 10, t + 11, 1),
                                   made_call(m, 2, t + 30, t + 31, 2)},
                       bcast[] = {made_call(m, 0, t + 31, t + 33, 3), made_call(m, 1, t + 11, t + 33, 3),
                                  made_call(m, 2, t + 31, t + 33, 3)};
        made_collective(m, comm, shapes[0], 0, reduce, 3);
        made_collective(m, comm, shapes[1], 0, bcast, 3);
    }
    struct gn_waits w = found(m, 165);
    assert_about(w.caused[2], 5 * 40);
    assert_true(w.caused[0].lo_ns < 5 * 1.1 * MS && w.caused[1].lo_ns < 5 * 1.1 * MS);
    assert_int_equal(w.causes[0].location, 2);
    assert_int_equal(w.causes[0].activity, 2);
    gn_waits_clear(&w);
    made_free(m);
}

/* 1's message was there long before 0 asked for it: what 0 waited for before that is why it answers late. */
static void a_message_that_lay_there_is_no_new_start(void **state)
{
    (void)state;
    struct made *m = made_new(3, NULL);
    const uint32_t asked = made_call(m, 1, 1, 1, 0), third = made_call(m, 2, 20, 21, 2),
                   waited = made_call(m, 0, 0, 21, 0), received = made_call(m, 0, 30, 30, 1),
                   answered = made_call(m, 0, 31, 31, 1), got = made_call(m, 1, 1, 32, 0);
    made_takes_message(m, waited, third);
    made_takes_message(m, received, asked);
    made_takes_message(m, got, answered);
    struct gn_waits w = found(m, 40);
    assert_about(w.caused[2], 20 + 19);
    assert_about(w.caused[0], 11);
    gn_waits_clear(&w);
    made_free(m);
}

/* MPI does not say that this one synchronises: whether the two were level at it, nobody knows. */
static void what_perhaps_levels_leaves_both_open(void **state)
{
    (void)state;
    struct made *m = made_new(3, NULL);
    made_takes_message(m, made_call(m, 0, 0, 21, 0), made_call(m, 2, 20, 21, 2));
    const uint32_t dup[] = {made_call(m, 0, 21, 22, 0), made_call(m, 1, 20, 22, 0),
                            made_call(m, 2, 21, 22, 0)};
    m->gatherings[made_collective(m, 0, GN_SHAPE_ALL_TO_ALL, 0, dup, 3)].is_vague = true;
    made_takes_message(m, made_call(m, 1, 22, 43, 0), made_call(m, 0, 42, 43, 1));
    struct gn_waits w = found(m, 50);
    assert_true(w.caused[0].lo_ns < 1.1 * MS && w.caused[0].hi_ns > 19 * MS);
    assert_true(w.caused[2].hi_ns > 39 * MS);
    gn_waits_clear(&w);
    made_free(m);
}

static void what_is_uncertain_is_never_certain(void **state)
{
    (void)state;
    struct made *m = made_new(2, NULL);
    const uint32_t calls[] = {made_call(m, 0, 10, 31, 0), made_call(m, 1, 30, 31, 0)};
    made_collective(m, 0, GN_SHAPE_ALL_TO_ALL, 0, calls, 2);
    m->takes[0].is_certain = m->takes[1].is_certain = false;
    struct gn_waits w = found(m, 40);
    assert_true(w.caused[1].lo_ns == 0 && w.caused[1].hi_ns >= 19 * MS);
    gn_waits_clear(&w);
    made_free(m);
}

/* Time in a call that waits for nobody (a file is written) is what made it late. */
static void time_in_a_call_of_its_own_is_named(void **state)
{
    (void)state;
    struct made *m = made_new(2, NULL);
    const uint32_t written = made_call(m, 1, 5, 45, 0);
    m->calls[written].path = 7;
    const uint32_t calls[] = {made_call(m, 0, 10, 51, 0), made_call(m, 1, 50, 51, 1)};
    made_collective(m, 0, GN_SHAPE_ALL_TO_ALL, 0, calls, 2);
    struct gn_waits w = found(m, 60);
    assert_about(w.caused[1], 40);
    assert_int_equal(w.causes[0].activity, GN_NONE);
    assert_int_equal(w.causes[0].inside_path, 7);
    gn_waits_clear(&w);
    made_free(m);
}

/* The call to look at is the one in which somebody waits, not that in which the other one gives. */
static void where_is_waited_is_the_call_that_waits(void **state)
{
    (void)state;
    struct made *m = made_new(2, NULL);
    const uint32_t received = made_call(m, 0, 10, 31, 0), sent = made_call(m, 1, 30, 31, 1);
    m->calls[received].path = 7;
    m->calls[sent].path = 8;
    made_takes_message(m, received, sent);
    struct gn_waits w = found(m, 40);
    assert_int_equal(w.causes[0].location, 1);
    assert_int_equal(w.causes[0].call_path, 7);
    gn_waits_clear(&w);
    made_free(m);
}

static void polls_are_waiting(void **state)
{
    (void)state;
    struct made *m = made_new(2, NULL);
    const uint32_t poll = made_call(m, 0, 10, 11, 0), received = made_call(m, 0, 29, 31, 0),
                   sent = made_call(m, 1, 30, 31, 0);
    m->calls[poll].flags = GN_CALL_POLL;
    m->calls[received].waits_from = poll;
    made_takes_message(m, received, sent);
    struct gn_waits w = found(m, 40);
    assert_about(w.caused[1], 20);
    gn_waits_clear(&w);
    made_free(m);
}

/* Rank 0 is in a call that others may hold up, and nothing tells who: all of it may be waiting, for nobody
 * that could be named; and when rank 1 is faster, it may be as much shorter. */
static void nothing_tells_for_whom(void **state)
{
    (void)state;
    struct made *m = made_new(2, NULL);
    const uint32_t lock = made_call(m, 0, 10, 100, 0);
    const uint32_t calls[] = {made_call(m, 0, 101, 102, 0), made_call(m, 1, 101, 102, 1)};
    made_collective(m, 0, GN_SHAPE_ALL_TO_ALL, 0, calls, 2);
    m->calls[lock].flags |= GN_CALL_UNTOLD;
    m->h.untold = 1;
    struct gn_waits w = found(m, 103);
    assert_true(w.waited[0].lo_ns <= 1.001 * MS && w.waited[0].hi_ns >= 90 * MS);
    assert_true(w.caused[1].hi_ns <= 1.001 * MS);
    bool carried[MADE_LOCATIONS] = {false};
    double rate[MADE_LOCATIONS] = {1, 1};
    m->h.is_carried = carried;
    for (int i = 0; i < 2; i++) /* which of the two came last is not known */
        m->parts[i].is_tight = m->takes[i].is_tight = m->calls[calls[i]].is_tight = true;
    m->h.rate_lo = m->h.rate_hi = rate;
    struct gn_whatif_pass *pass = gn_whatif_pass_new(&m->h);
    assert_non_null(pass);
    for (int is_untold = 0; is_untold <= 1; is_untold++) {
        const float share[16] = {[1] = 0.5f}, none[16] = {0};
        m->h.untold = (uint64_t)is_untold;
        m->calls[lock].flags = is_untold ? GN_CALL_UNTOLD : 0;
        struct gn_whatif_result half = gn_whatif(pass, &(struct gn_whatif){.share = share});
        assert_true(half.reduction_lo_ns <= 1.001 * MS);
        assert_true(is_untold ? half.reduction_hi_ns >= 50 * MS : half.reduction_hi_ns <= 1.001 * MS);
        struct gn_whatif_result same = gn_whatif(pass, &(struct gn_whatif){.share = none});
        assert_true(same.reduction_lo_ns <= 0 && same.reduction_hi_ns < 1);
    }
    gn_whatif_pass_free(pass);
    gn_waits_clear(&w);
    made_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_work_is_named),
        cmocka_unit_test(a_message_that_was_there_is_not_waited_for),
        cmocka_unit_test(the_last_of_several_messages_is_the_cause),
        cmocka_unit_test(a_culprit_that_waited_passes_it_on),
        cmocka_unit_test(waits_before_a_common_collective_do_not_count),
        cmocka_unit_test(nobody_holds_itself_up),
        cmocka_unit_test(overlapping_bounds_make_it_possible_for_each),
        cmocka_unit_test(readings_of_one_clock_compare_exactly),
        cmocka_unit_test(a_broadcast_is_waited_for_at_its_root_only),
        cmocka_unit_test(a_scan_waits_for_lower_ranks_only),
        cmocka_unit_test(a_reduction_to_a_root_levels_nobody),
        cmocka_unit_test(a_message_that_lay_there_is_no_new_start),
        cmocka_unit_test(what_perhaps_levels_leaves_both_open),
        cmocka_unit_test(what_is_uncertain_is_never_certain),
        cmocka_unit_test(time_in_a_call_of_its_own_is_named),
        cmocka_unit_test(where_is_waited_is_the_call_that_waits),
        cmocka_unit_test(polls_are_waiting),
        cmocka_unit_test(nothing_tells_for_whom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

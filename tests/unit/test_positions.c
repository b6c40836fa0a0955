/* causality/positions: random calls of threads, whose true order of messages is known. */
#include "base/mix.h"
#include "causality/positions.h"
#include "event/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CALLS_MOST = 40, WORLDS = 20000 };

/* A call's moments, ascending: its event's, counting begins, it gets its number and MPI takes the message (in
 * any order), counting ends, its other event's. */
struct call {
    double begin, counted_from, numbered, taken, counted_until, end;
    uint64_t number, rank; /* by `numbered` and by `taken` */
    bool is_certain;
};

static uint64_t mix;

static double fraction(void)
{
    return gn_mix_unit(gn_mix_next(&mix));
}

static unsigned below(unsigned n)
{
    return (unsigned)(fraction() * n);
}

static int by_taken(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    return (x->taken > y->taken) - (x->taken < y->taken);
}

static int by_numbered(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    return (x->numbered > y->numbered) - (x->numbered < y->numbered);
}

static int by_begin(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int by_end(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    return (x->end > y->end) - (x->end < y->end);
}

static double a_while(void)
{
    return fraction() < 0.7 ? 0.1 * fraction() : fraction() < 0.9 ? fraction() : 8 * fraction();
}

static unsigned make_calls(struct call *calls)
{
    double now[4] = {0};
    const unsigned count = 1 + below(CALLS_MOST), threads = 1 + below(4);
    for (unsigned i = 0; i < count; i++) {
        double *at = &now[below(threads)];
        struct call *c = &calls[i];
        *c = (struct call){.begin = *at += a_while()};
        c->counted_from = *at += a_while();
        c->numbered = *at += a_while();
        c->taken = *at += a_while();
        if (below(2)) {
            const double swapped = c->numbered;
            c->numbered = c->taken;
            c->taken = swapped;
        }
        c->counted_until = *at += a_while();
        c->end = *at += a_while();
    }
    for (unsigned i = 0; i < count; i++) {
        calls[i].is_certain = true;
        for (unsigned j = 0; j < count; j++)
            calls[i].is_certain &= i == j || calls[j].counted_until < calls[i].counted_from ||
                                   calls[i].counted_until < calls[j].counted_from;
    }
    qsort(calls, count, sizeof *calls, by_numbered);
    for (unsigned i = 0; i < count; i++)
        calls[i].number = i;
    qsort(calls, count, sizeof *calls, by_taken);
    for (unsigned i = 0; i < count; i++)
        calls[i].rank = i;
    return count;
}

/* Positions of all, in their present order; each is had by one. says: the probability that an uncertain one
 * says its number. Returns how many certain ones have not their own. */
static unsigned take_all(const struct call *calls, unsigned count, double says, uint64_t *positions)
{
    bool is_taken[CALLS_MOST] = {false};
    struct gn_positions side = {.next = 0};
    unsigned others = 0;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t number = calls[i].is_certain || fraction() < says ? calls[i].number : GN_UNNUMBERED;
        assert_int_equal(gn_position_take(&side, number, calls[i].is_certain, &positions[i]), 0);
        assert_true(positions[i] < count);
        assert_false(is_taken[positions[i]]);
        is_taken[positions[i]] = true;
        if (calls[i].is_certain)
            assert_int_equal(calls[i].number, calls[i].rank);
        others += calls[i].is_certain && positions[i] != calls[i].number;
    }
    assert_int_equal(side.gap_count, 0);
    assert_int_equal(side.next, count);
    gn_positions_clear(&side);
    return others;
}

static void nobody_receives_before_it_was_sent(void **state)
{
    (void)state;
    struct call calls[CALLS_MOST];
    double taken[CALLS_MOST];
    uint64_t positions[CALLS_MOST];
    unsigned certain = 0, others = 0;
    mix = 1;
    for (int world = 0; world < WORLDS; world++) {
        const unsigned count = make_calls(calls);
        for (unsigned i = 0; i < count; i++) {
            taken[i] = calls[i].taken;
            certain += calls[i].is_certain;
        }
        qsort(calls, count, sizeof *calls, by_begin);
        others += take_all(calls, count, 1, positions);
        for (unsigned i = 0; i < count; i++)
            assert_true(calls[i].begin <= taken[positions[i]]);
        qsort(calls, count, sizeof *calls, by_end);
        others += take_all(calls, count, 0.7, positions);
        for (unsigned i = 0; i < count; i++)
            assert_true(calls[i].end >= taken[positions[i]]);
    }
    printf("%u certain, of these %u of 2 sides at another position\n", certain, others);
    assert_true(certain > 0 && others * 20 < certain);
}

static uint64_t at(struct gn_positions *side, uint64_t number, bool is_certain)
{
    uint64_t position = 0;
    assert_int_equal(gn_position_take(side, number, is_certain, &position), 0);
    return position;
}

static void gaps_are_filled_from_below(void **state)
{
    (void)state;
    struct gn_positions side = {.next = 0};
    assert_int_equal(at(&side, 0, true), 0);
    assert_int_equal(at(&side, 6, true), 6);
    assert_int_equal(at(&side, 3, true), 3);
    assert_int_equal(at(&side, 5, false), 4); /* behind 3, which is certain */
    assert_int_equal(at(&side, 8, false), 7); /* … and 6 */
    assert_int_equal(at(&side, 2, false), 1);
    assert_int_equal(at(&side, 7, true), 8); /* somebody has its own */
    assert_int_equal(at(&side, GN_UNNUMBERED, false), 2);
    assert_int_equal(at(&side, GN_UNNUMBERED, false), 5);
    assert_int_equal(at(&side, GN_UNNUMBERED, false), 9);
    assert_int_equal(side.gap_count, 0);
    gn_positions_clear(&side);
}

static void what_is_missing_takes_no_memory(void **state)
{
    (void)state;
    struct gn_positions side = {.next = 0};
    for (uint64_t n = 1; n < 100000; n += 2)
        assert_int_equal(at(&side, n, true), n);
    assert_in_range(side.gap_count, 1, 1000);
    assert_int_equal(at(&side, 99998, true), 99998);
    assert_in_range(at(&side, 0, false), 90000, 99999); /* what was low has been given up */
    for (uint64_t n = 99996; n > 99900; n -= 2)
        assert_int_equal(at(&side, n, true), n);
    gn_positions_clear(&side);
    assert_int_equal(at(&side, 5, false), GN_UNNUMBERED); /* forgotten: who knows */
    assert_int_equal(at(&side, 7, true), 7);
    assert_int_equal(at(&side, GN_UNNUMBERED, false), 8);
    gn_positions_clear(&side);
}

static void splits_of_too_many_gaps(void **state)
{
    (void)state;
    mix = 2;
    for (int round = 0; round < 200; round++) {
        struct gn_positions side = {.next = 0};
        static bool is_taken[1 << 16];
        memset(is_taken, 0, sizeof is_taken);
        for (int i = 0; i < 3000; i++) {
            const uint64_t number = below(1 << 14);
            const uint64_t position = at(&side, number, below(2));
            assert_true(position < sizeof is_taken);
            assert_false(is_taken[position]);
            is_taken[position] = true;
            for (size_t g = 1; g < side.gap_count; g++)
                assert_true(side.gaps[g - 1].to <= side.gaps[g].from);
        }
        gn_positions_clear(&side);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_receives_before_it_was_sent),
        cmocka_unit_test(gaps_are_filled_from_below),
        cmocka_unit_test(what_is_missing_takes_no_memory),
        cmocka_unit_test(splits_of_too_many_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

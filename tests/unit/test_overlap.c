/* A message that its receiver waits for, and that its sender does not move while it computes. Times in ms. */
#include "analyse/overlap.h"
#include "made_history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Rank 1 posts a receive at 0, and waits for it from 10 on. Rank 0 began to send, and was in another call
 * after that; then it computes until 25, and is in MPI_Wait until 26, when rank 1's is left. Returns how long
 * it stood still. */
static double stalled_ms(double began_ms, double other_ms, double other_left_ms, double wide_ms)
{
    struct made *m = made_new(2, (const uint32_t[]){0, 1});
    struct gn_error err = {""};
    m->wide_ms[0] = wide_ms;
    const uint32_t sent = made_call(m, 0, began_ms, began_ms + 0.1, 0), posted = made_call(m, 1, 0, 0.1, 0);
    made_call(m, 0, other_ms, other_left_ms, 0);
    made_call(m, 0, 25, 26, 0);
    const uint32_t waits = made_call(m, 1, 10, 26, 0);
    made_takes_message(m, waits, sent);
    made_takes_message(m, waits, posted);
    m->takes[m->h.take_count - 1].kind = GN_TAKE_BEGUN;
    struct gn_seen_part part = {.history = *made_end(m, 30)};
    struct gn_seen seen = {
        .definitions = m->d, .parts = &part, .count = 1, .is_whole = true, .measured_ns = 30e6};
    struct gn_overlap overlap;
    double ns = 0;
    assert_int_equal(gn_waits_find(&part.waits, &part.history, NULL, &err), 0);
    gn_seen_set_window(&part, seen.definitions, NULL);
    assert_int_equal(gn_seen_measure(&seen), 0);
    assert_int_equal(gn_overlap_find(&overlap, &seen, &err), 0);
    for (size_t i = 0; i < seen.site_count; i++)
        ns += gn_site_tally_of(&overlap.stalled, i).span.lo_ns;
    gn_overlap_clear(&overlap);
    gn_waits_clear(&part.waits);
    seen.parts = NULL;
    seen.count = 0;
    gn_seen_clear(&seen);
    made_free(m);
    return ns * 1e-6;
}

static void it_stands_still_while_its_sender_computes(void **state)
{
    (void)state;
    assert_true(fabs(stalled_ms(1, 2, 3, 0) - 15) < 1e-6);
}

static void the_end_of_a_call_moves_nothing(void **state)
{
    (void)state;
    assert_true(fabs(stalled_ms(1, 2, 10.5, 0) - 14.5) < 1e-6);
}

/* Its sender was in MPI for a good part of the wait, or has begun only then. */
static void else_something_may_have_moved(void **state)
{
    (void)state;
    assert_true(stalled_ms(1, 2, 14, 0) <= 0);
    assert_true(stalled_ms(12, 13, 14, 0) <= 0);
}

/* How long it computes is known to its own clock, however wide the other's bounds are. */
static void bounds_count_once(void **state)
{
    (void)state;
    assert_true(fabs(stalled_ms(1, 2, 3, 1) - 14) < 1e-6);
    assert_true(fabs(stalled_ms(1, 2, 9, 1) - 14) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_stands_still_while_its_sender_computes),
                                       cmocka_unit_test(the_end_of_a_call_moves_nothing),
                                       cmocka_unit_test(else_something_may_have_moved),
                                       cmocka_unit_test(bounds_count_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* analyse/pieces — what is counted of a window's pieces lies side by side, and nothing is counted twice. */
#include "analyse/pieces.h"
#include "analyse/seen.h"
#include "base/mix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* As analyse/seen.h counts, without virtual time. */
static struct gn_kept_window counted(struct gn_kept_window piece, struct gn_kept_window run)
{
    const uint64_t margin = (piece.end_ticks - piece.begin_ticks) / GN_SEEN_MARGIN;
    return (struct gn_kept_window){piece.begin_ticks + (piece.begin_ticks > run.begin_ticks ? margin : 0),
                                   piece.end_ticks - (piece.end_ticks < run.end_ticks ? margin : 0)};
}

static void check(struct gn_kept_window window, struct gn_kept_window run)
{
    struct gn_kept_window pieces[GN_PIECES_OF_RUN];
    const size_t count = gn_pieces_cut(window, run, run.end_ticks - run.begin_ticks, 1000000, 1000, pieces);
    const struct gn_kept_window whole = counted(window, run);
    uint64_t sum = 0, last = 0;
    assert_in_range(count, 1, GN_PIECES_OF_RUN);
    for (size_t i = 0; i < count; i++) {
        const struct gn_kept_window c = counted(pieces[i], run);
        assert_true(pieces[i].begin_ticks >= window.begin_ticks && pieces[i].end_ticks <= window.end_ticks);
        assert_true(c.begin_ticks >= last && c.end_ticks > c.begin_ticks);
        last = c.end_ticks;
        sum += c.end_ticks - c.begin_ticks;
    }
    /* more than of the window in one, but for the small gaps between them */
    assert_true((double)sum >= 0.98 * (double)(whole.end_ticks - whole.begin_ticks));
    assert_true(sum <= window.end_ticks - window.begin_ticks);
    if (count > 4)
        assert_true((double)sum > 0.85 * (double)(window.end_ticks - window.begin_ticks));
}

static void counted_parts_lie_side_by_side(void **state)
{
    (void)state;
    uint64_t random = 7;
    const struct gn_kept_window run = {1000000, 1000000 + 4000000000};
    for (int i = 0; i < 20000; i++) {
        const double a = gn_mix_unit(gn_mix_next(&random)), b = gn_mix_unit(gn_mix_next(&random));
        const uint64_t at = i % 4 == 0 ? 0 : (uint64_t)((a < b ? a : b) * 4e9),
                       end = i % 8 < 2 ? 4000000000 : (uint64_t)((a < b ? b : a) * 4e9);
        if (end > at + 1000)
            check((struct gn_kept_window){run.begin_ticks + at, run.begin_ticks + end}, run);
    }
}

static void few_events_are_not_cut(void **state)
{
    (void)state;
    const struct gn_kept_window run = {0, 1000000}, window = {100000, 900000};
    struct gn_kept_window pieces[GN_PIECES_OF_RUN];
    assert_int_equal(gn_pieces_cut(window, run, 1000000, 1999, 1000, pieces), 1);
    assert_memory_equal(&pieces[0], &window, sizeof window);
    assert_int_equal(gn_pieces_cut(window, run, 1000000, 3000, 1000, pieces), 3);
    assert_int_equal(gn_pieces_cut(window, run, 100000000, 1000000, 1000, pieces),
                     1); /* a small part of it */
    assert_int_equal(gn_pieces_cut((struct gn_kept_window){5, 5}, run, 0, 0, 1000, pieces), 1);
    assert_int_equal(gn_pieces_cut((struct gn_kept_window){9, 5}, run, 1000000, 9000, 0, pieces), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted_parts_lie_side_by_side),
        cmocka_unit_test(few_events_are_not_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

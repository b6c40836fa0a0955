/* capture/partitioned: channels of pairs of partitioned requests. */
#include "capture/partitioned.h"
#include "event/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { WORLD, OTHER, PEER = 3, TAG = 7 };

/* What both sides count in the same order gets the same channel, whatever else each of them makes in between.
 */
static void both_sides_agree(void **state)
{
    (void)state;
    uint32_t sent[3], received[3];
    for (int i = 0; i < 3; i++) {
        sent[i] = gn_partitioned_tag(WORLD, PEER, TAG, false);
        gn_partitioned_tag(WORLD, PEER, TAG + 1 + i, false);
    }
    for (int i = 0; i < 3; i++)
        received[i] = gn_partitioned_tag(WORLD, PEER, TAG, true);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sent[i], received[i]);
        assert_int_equal(sent[i], GN_TAG_PARTITIONED + ((uint32_t)i << 24) + TAG);
    }
}

static void others_count_apart(void **state)
{
    (void)state;
    assert_int_equal(gn_partitioned_tag(OTHER, PEER, TAG, false), GN_TAG_PARTITIONED + TAG);
    assert_int_equal(gn_partitioned_tag(WORLD, PEER + 1, TAG, false), GN_TAG_PARTITIONED + TAG);
}

/* Rather none than one that another pair has, or a neighbourhood collective. */
static void none_is_given_twice(void **state)
{
    (void)state;
    uint32_t last = 0;
    for (int i = 0; i < 62; i++) {
        uint32_t channel = gn_partitioned_tag(WORLD, PEER, (1 << 24) - 1, false);
        assert_true(channel > last && channel < GN_TAG_NEIGHBOUR && channel >= GN_TAG_PARTITIONED);
        last = channel;
    }
    assert_int_equal(gn_partitioned_tag(WORLD, PEER, (1 << 24) - 1, false), GN_NONE);
    assert_int_equal(gn_partitioned_tag(WORLD, PEER, 1 << 24, false), GN_NONE);
}

static void the_table_fills_up(void **state)
{
    (void)state;
    uint32_t told = 0;
    for (int tag = 0; tag < 10000; tag++)
        told += gn_partitioned_tag(OTHER, PEER + 2, tag, true) != GN_NONE;
    assert_true(told > 3000 && told < 4096);
    assert_int_equal(gn_partitioned_tag(OTHER, PEER, TAG, false), GN_TAG_PARTITIONED + (1u << 24) + TAG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_agree), cmocka_unit_test(others_count_apart),
        cmocka_unit_test(none_is_given_twice), cmocka_unit_test(the_table_fills_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

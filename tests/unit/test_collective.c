/* event/collective: the table against docs/collectives.md, and what follows from it. */
#include "event/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const shapes[] = {[GN_SHAPE_ALL_TO_ALL] = "all to all",
                                     [GN_SHAPE_ONE_TO_ALL] = "root to all",
                                     [GN_SHAPE_ALL_TO_ONE] = "all to root",
                                     [GN_SHAPE_PREFIX] = "lower to higher ranks"};
static const char *const lengths[] = {[GN_LENGTHS_NONE] = "none",
                                      [GN_LENGTHS_EQUAL] = "equal",
                                      [GN_LENGTHS_GIVEN] = "of givers",
                                      [GN_LENGTHS_TAKEN] = "of takers",
                                      [GN_LENGTHS_PAIRS] = "of pairs"};
static const char *const holds[] = {
    [GN_HOLDS_ALWAYS] = "always", [GN_HOLDS_DATA] = "on data", [GN_HOLDS_MAYBE] = "perhaps"};
static const char *const amounts[] = {
    [GN_AMOUNT_NOTHING] = "nothing", [GN_AMOUNT_ONE] = "one",
    [GN_AMOUNT_SAME] = "the same",   [GN_AMOUNT_EACH] = "each",
    [GN_AMOUNT_COUNTS] = "counts",   [GN_AMOUNT_MINE] = "own count",
    [GN_AMOUNT_MEMBERS] = "members", [GN_AMOUNT_MEMBER_COUNTS] = "members' counts"};

static void the_documented_table_is_the_one(void **state)
{
    (void)state;
    FILE *file = fopen(DOCUMENT, "r");
    char line[512], wanted[512];
    unsigned op = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        const struct gn_collective_rule r = gn_collective_rule(op);
        if (strncmp(line, "| `", 3) != 0)
            continue;
        snprintf(wanted, sizeof wanted, "| `%s` | %s | %s | %s | %s | %s |\n", gn_collective_name(op),
                 shapes[r.shape], lengths[r.lengths], holds[r.holds], amounts[r.sent], amounts[r.received]);
        assert_string_equal(line, wanted);
        op++;
    }
    fclose(file);
    assert_int_equal(op, GN_COLLECTIVE_COUNT);
}

static void only_the_barrier_synchronises(void **state)
{
    (void)state;
    for (unsigned op = 0; op <= GN_COLLECTIVE_COUNT; op++) {
        assert_int_equal(gn_collective_is_empty(op, 0, 0), op != GN_COLLECTIVE_BARRIER);
        assert_false(gn_collective_is_empty(op, 1, 0));
        assert_false(gn_collective_is_empty(op, 0, 1));
        assert_true(gn_collective_only_may_hold(op, true));
    }
    assert_false(gn_collective_only_may_hold(GN_COLLECTIVE_BARRIER, false));
}

static void what_nobody_knows_only_may_hold(void **state)
{
    (void)state;
    assert_true(gn_collective_only_may_hold(GN_COLLECTIVE_UNKNOWN, false));
    assert_true(gn_collective_only_may_hold(GN_COLLECTIVE_COUNT, false));
    assert_int_equal(gn_collective_shape(GN_COLLECTIVE_UNKNOWN, false), GN_SHAPE_ALL_TO_ALL);
    assert_string_equal(gn_collective_name(GN_COLLECTIVE_COUNT), "unknown");
}

static void assert_does(struct gn_collective_does does, bool gives, bool takes)
{
    assert_int_equal(does.gives, gives);
    assert_int_equal(does.takes, takes);
}

static void roots_and_scans(void **state)
{
    (void)state;
    assert_does(gn_collective_does(GN_SHAPE_ONE_TO_ALL, false, 2, 4, 2), true, false);
    assert_does(gn_collective_does(GN_SHAPE_ONE_TO_ALL, false, 1, 4, 2), false, true);
    assert_does(gn_collective_does(GN_SHAPE_ALL_TO_ONE, false, 2, 4, 2), false, true);
    assert_does(gn_collective_does(GN_SHAPE_ALL_TO_ONE, false, 1, 4, 2), true, false);
    assert_does(gn_collective_does(GN_SHAPE_PREFIX, false, 0, 4, GN_NONE), true, false);
    assert_does(gn_collective_does(GN_SHAPE_PREFIX, false, 1, 4, GN_NONE), true, true);
    assert_does(gn_collective_does(GN_SHAPE_PREFIX, false, 3, 4, GN_NONE), false, true);
    assert_does(gn_collective_does(GN_SHAPE_ALL_TO_ALL, false, 0, 4, GN_NONE), true, true);
}

/* Rank 1 of the other group is the root, which is no rank of the own one. */
static void roots_between_groups(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_does(gn_collective_does(GN_SHAPE_ONE_TO_ALL, true, rank, 4, 1), false, true);
        assert_does(gn_collective_does(GN_SHAPE_ALL_TO_ONE, true, rank, 4, 1), true, false);
        assert_does(gn_collective_does(GN_SHAPE_ONE_TO_ALL, true, rank, 4, GN_ROOT_NONE), false, false);
        assert_does(gn_collective_does(GN_SHAPE_ALL_TO_ONE, true, rank, 4, GN_ROOT_NONE), false, false);
        assert_does(gn_collective_does(GN_SHAPE_ONE_TO_ALL, true, rank, 4, GN_ROOT_SELF), true, false);
        assert_does(gn_collective_does(GN_SHAPE_ALL_TO_ONE, true, rank, 4, GN_ROOT_SELF), false, true);
    }
    assert_int_equal(gn_collective_shape(GN_COLLECTIVE_SCAN, true), GN_SHAPE_ALL_TO_ALL);
}

static void lengths_say_who_takes_part(void **state)
{
    (void)state;
    assert_true(gn_collective_has_data(GN_COLLECTIVE_GATHERV, 1));
    assert_false(gn_collective_has_data(GN_COLLECTIVE_GATHERV, 0));
    assert_false(gn_collective_has_data(GN_COLLECTIVE_GATHERV, GN_BYTES_UNKNOWN));
    assert_true(gn_collective_has_data(GN_COLLECTIVE_GATHER, 0));
    assert_true(gn_collective_has_data(GN_COLLECTIVE_BARRIER, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_documented_table_is_the_one),
                                       cmocka_unit_test(only_the_barrier_synchronises),
                                       cmocka_unit_test(what_nobody_knows_only_may_hold),
                                       cmocka_unit_test(roots_and_scans),
                                       cmocka_unit_test(roots_between_groups),
                                       cmocka_unit_test(lengths_say_who_takes_part)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

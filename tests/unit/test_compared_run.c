/* The comparison of all methods on a run's own exchanges, of a profile made by hand: b asks a. */
#include "baselines/compared_run.h"
#include "profile/profile.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { EXCHANGES = 101 };

/* 1 GHz; b's is 10 ppm faster and 5 s ahead. */
static uint64_t a_shows(double t)
{
    return 40000000000 + (uint64_t)floor(t);
}

static uint64_t b_shows(double t)
{
    return 45000000000 + (uint64_t)floor(t * (1 + 10e-6));
}

static void add(sqlite3 *db, const char *name, const char *parent, uint64_t epoch_ticks,
                const struct gn_exchange *kept)
{
    struct gn_error err = {""};
    struct gn_clock_row row = {.domain = name,
                               .host = name,
                               .parent = parent,
                               .def = {1e9, 1},
                               .epoch_ticks = epoch_ticks,
                               .last_ticks = epoch_ticks + 1000000000,
                               .counter = "tsc"};
    assert_int_equal(gn_profile_add_clock(db, &row, NULL, &err), 0);
    if (kept)
        assert_int_equal(gn_profile_add_exchanges(db, name, kept, EXCHANGES, &err), 0);
}

static sqlite3 *made(bool is_kept)
{
    struct gn_error err = {""};
    struct gn_exchange kept[EXCHANGES];
    sqlite3 *db;
    for (int i = 0; i < EXCHANGES; i++) {
        const double t = i * 1e7, slow = i % 10 ? 3000 : 0;
        kept[i] = (struct gn_exchange){.asked_ticks = b_shows(t),
                                       .heard_ticks = a_shows(t + 500 + slow),
                                       .answered_ticks = a_shows(t + 10000),
                                       .received_ticks = b_shows(t + 10700 + slow),
                                       .there = true,
                                       .back = true};
    }
    assert_int_equal(gn_profile_create(&db, ":memory:", &err), 0);
    add(db, "a", NULL, a_shows(0), NULL);
    add(db, "b", "a", b_shows(0), is_kept ? kept : NULL);
    return db;
}

static void all_methods_are_there(void **state)
{
    struct gn_compared_run run;
    struct gn_error err = {""};
    sqlite3 *db = made(true);
    (void)state;
    assert_int_equal(gn_compared_run(&run, db, false, &err), 0);
    assert_int_equal(run.count, 1);
    assert_string_equal(run.clocks[0].clock, "b");
    assert_string_equal(run.clocks[0].parent, "a");
    for (int i = 0; i < GN_COMPARED_METHODS; i++) {
        assert_non_null(run.clocks[0].methods[i].method);
        assert_false(run.clocks[0].methods[i].failed);
        assert_false(run.clocks[0].methods[i].truth_known);
    }
    gn_compared_run_clear(&run);
    gn_profile_close(db);
}

/* Said to be one counter, which they are not: that is seen. */
static void the_truth_is_that_of_one_counter(void **state)
{
    struct gn_compared_run run;
    struct gn_error err = {""};
    sqlite3 *db = made(true);
    (void)state;
    assert_int_equal(gn_compared_run(&run, db, true, &err), 0);
    assert_true(run.clocks[0].methods[0].truth_known);
    assert_true(run.clocks[0].methods[0].outside == 1);
    gn_compared_run_clear(&run);
    gn_profile_close(db);
}

static void exchanges_have_to_be_kept(void **state)
{
    struct gn_compared_run run;
    struct gn_error err = {""};
    sqlite3 *db = made(false);
    (void)state;
    assert_int_equal(gn_compared_run(&run, db, false, &err), -ENODATA);
    assert_non_null(strstr(err.text, "--keep"));
    gn_profile_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_methods_are_there),
        cmocka_unit_test(the_truth_is_that_of_one_counter),
        cmocka_unit_test(exchanges_have_to_be_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

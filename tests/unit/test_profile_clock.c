/* profile/clock: what is written of clocks is read again, merged, solved; what makes no sense is refused. */
#include "profile/clock.h"
#include "profile/profile.h"
#include "profile/statement.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { HZ = 1000000000, EPOCH = 1000000, ROUNDS = 50, DELAY = 400, OFFSET = 123456789 };

static char folder[] = "/tmp/gnomon-profile-clock.XXXXXX";

static struct gn_clock_row row_of(const char *name, const char *parent)
{
    return (struct gn_clock_row){.domain = name,
                                 .parent = parent,
                                 .host = name,
                                 .def = {HZ, 1},
                                 .epoch_ticks = EPOCH + (parent ? OFFSET : 0),
                                 .last_ticks = EPOCH + (parent ? OFFSET : 0) + ROUNDS * 1000000ull,
                                 .counter = "tsc",
                                 .asked = parent ? ROUNDS : 0,
                                 .answered = parent ? ROUNDS : 0};
}

/* The child's counter is OFFSET ahead of its parent's. */
static struct gn_clocks *talk(void)
{
    struct gn_clock_def def = {HZ, 1};
    struct gn_clocks *clocks = gn_clocks_new(0);
    gn_clocks_add(clocks, &def);
    gn_clocks_add(clocks, &def);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t now = EPOCH + i * 1000000;
        assert_int_equal(gn_clocks_message(clocks, 1, now + OFFSET, 0, now + DELAY), 0);
        assert_int_equal(gn_clocks_message(clocks, 0, now + DELAY, 1, now + OFFSET + 2 * DELAY), 0);
    }
    return clocks;
}

static void add(sqlite3 *db, const char *name, const char *parent)
{
    struct gn_clock_row row = row_of(name, parent);
    struct gn_clocks *clocks = parent ? talk() : NULL;
    struct gn_error err = {""};
    assert_int_equal(gn_profile_add_clock(db, &row, clocks, &err), 0);
    gn_clocks_free(clocks);
}

static sqlite3 *create(void)
{
    sqlite3 *db = NULL;
    assert_int_equal(gn_profile_create(&db, ":memory:", NULL), 0);
    return db;
}

static sqlite3 *two_hosts(void)
{
    sqlite3 *db = create();
    add(db, "right", "left"); /* whoever comes first */
    add(db, "left", NULL);
    return db;
}

static int solve(sqlite3 *db)
{
    struct gn_assumption assumption = gn_assumption_default();
    return gn_profile_solve_clocks(db, &assumption, NULL);
}

static sqlite3_int64 value(sqlite3 *db, const char *query)
{
    return gn_sql_value(db, -1, query, "");
}

/* ---- reading ---- */

static void rows_come_back(void **state)
{
    (void)state;
    sqlite3 *db = two_hosts();
    struct gn_profile_clocks list;
    struct gn_error err = {""};
    assert_int_equal(gn_profile_read_clocks(db, &list, &err), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.rows[0].domain, "left");
    assert_null(list.rows[0].parent);
    assert_string_equal(list.rows[1].domain, "right");
    assert_string_equal(list.rows[1].parent, "left");
    assert_int_equal(list.rows[1].answered, ROUNDS);
    assert_int_equal(list.rows[1].epoch_ticks, EPOCH + OFFSET);
    assert_true(gn_clocks_messages(list.clocks, 1, 0) > 0);
    assert_true(gn_clocks_messages(list.clocks, 0, 1) > 0);
    gn_profile_clocks_clear(&list);
    gn_profile_close(db);
}

static void far_hosts_come_last(void **state)
{
    (void)state;
    sqlite3 *db = create();
    add(db, "third", "second");
    add(db, "second", "first");
    add(db, "stranger", "nobody");
    add(db, "first", NULL);
    struct gn_profile_clocks list;
    assert_int_equal(gn_profile_read_clocks(db, &list, NULL), 0);
    const char *const order[] = {"first", "second", "third", "stranger"};
    for (int i = 0; i < 4; i++)
        assert_string_equal(list.rows[i].domain, order[i]);
    gn_profile_clocks_clear(&list);
    gn_profile_close(db);
}

static void exchanges_keep_their_halves(void **state)
{
    (void)state;
    sqlite3 *db = two_hosts();
    struct gn_exchange exchanges[] = {{1, 2, 3, 4, true, true, true}, {5, 6, 7, 8, true, false, false}};
    assert_int_equal(gn_profile_add_exchanges(db, "right", exchanges, 2, NULL), 0);
    assert_int_equal(value(db, "SELECT count(*) FROM clock_exchange"), 2);
    assert_int_equal(value(db, "SELECT asked_ticks FROM clock_exchange WHERE number = 1"), 5);
    assert_int_equal(value(db, "SELECT received_ticks IS NULL FROM clock_exchange WHERE number = 1"), 1);
    assert_int_equal(gn_profile_add_exchanges(db, "nobody", exchanges, 2, NULL), -ENOENT);

    struct gn_exchange *read;
    size_t count;
    assert_int_equal(gn_profile_read_exchanges(db, "right", &read, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_true(read[0].there && read[0].back && read[0].kernel);
    assert_int_equal(read[0].asked_ticks, 1);
    assert_int_equal(read[0].heard_ticks, 2);
    assert_int_equal(read[0].answered_ticks, 3);
    assert_int_equal(read[0].received_ticks, 4);
    assert_true(read[1].there && !read[1].back && !read[1].kernel);
    assert_int_equal(read[1].asked_ticks, 5);
    assert_int_equal(read[1].heard_ticks, 6);
    free(read);
    assert_int_equal(gn_profile_read_exchanges(db, "left", &read, &count, NULL), 0);
    assert_true(count == 0 && !read);
    gn_profile_close(db);
}

/* ---- bounds ---- */

static void bounds_contain_the_truth(void **state)
{
    (void)state;
    sqlite3 *db = two_hosts();
    struct gn_error err = {""};
    assert_int_equal(solve(db), 0);
    struct gn_bounds *bounds = gn_profile_bounds(db, "right", &err);
    assert_non_null(bounds);
    for (int64_t ns = -5000000; ns < 60000000; ns += 12345) {
        struct gn_interval is = gn_bounds_convert(bounds, (uint64_t)(EPOCH + OFFSET + ns));
        assert_true(is.lo_ns <= ns && ns <= is.hi_ns);
    }
    gn_bounds_free(bounds);
    assert_true(value(db, "SELECT width_ns FROM clock_domain WHERE name = 'right'") >= 2 * DELAY);
    gn_profile_close(db);
}

static void bounds_are_those_of_the_clocks(void **state)
{
    (void)state;
    sqlite3 *db = two_hosts();
    struct gn_profile_clocks list;
    struct gn_assumption assumption = gn_assumption_default();
    assert_int_equal(solve(db), 0);
    assert_int_equal(gn_profile_read_clocks(db, &list, NULL), 0);
    assert_int_equal(gn_clocks_solve(list.clocks, &assumption, NULL), 0);
    struct gn_bounds *bounds = gn_profile_bounds(db, "right", NULL);
    for (uint64_t ticks = OFFSET; ticks < OFFSET + 100000000; ticks += 99991) {
        struct gn_interval kept = gn_bounds_convert(bounds, ticks),
                           made = gn_bounds_convert(gn_clocks_state(list.clocks, 1)->bounds, ticks);
        assert_int_equal(kept.lo_ns, made.lo_ns);
        assert_int_equal(kept.hi_ns, made.hi_ns);
    }
    gn_bounds_free(bounds);
    gn_profile_clocks_clear(&list);
    gn_profile_close(db);
}

static void solved_again_is_the_same(void **state)
{
    (void)state;
    sqlite3 *db = two_hosts();
    assert_int_equal(solve(db), 0);
    sqlite3_int64 rows = value(db, "SELECT count(*) FROM clock_bound");
    assert_true(rows > 0);
    assert_int_equal(solve(db), 0);
    assert_int_equal(value(db, "SELECT count(*) FROM clock_bound"), rows);
    gn_profile_close(db);
}

static void the_assumption_is_kept(void **state)
{
    (void)state;
    sqlite3 *db = two_hosts();
    struct gn_assumption within = {GN_RATE_WITHIN, 12345, 678};
    assert_int_equal(gn_profile_assumption(db).kind, GN_RATE_WANDERS);
    assert_int_equal(gn_profile_solve_clocks(db, &within, NULL), 0);
    assert_int_equal(gn_profile_assumption(db).kind, GN_RATE_WITHIN);
    assert_int_equal(gn_profile_assumption(db).nominal_ppb, 12345);
    assert_int_equal(gn_profile_assumption(db).wander_ppb, 678);
    gn_profile_close(db);
}

static void a_host_without_messages_has_no_bounds(void **state)
{
    (void)state;
    sqlite3 *db = create();
    struct gn_error err = {""};
    add(db, "left", NULL);
    struct gn_clock_row row = row_of("right", "left");
    row.problem = "unreachable";
    assert_int_equal(gn_profile_add_clock(db, &row, NULL, &err), 0);
    assert_int_equal(solve(db), 0);
    assert_int_equal(value(db, "SELECT reached FROM clock_domain WHERE name = 'right'"), 0);
    assert_null(gn_profile_bounds(db, "right", &err));
    assert_non_null(strstr(err.text, "right"));
    gn_profile_close(db);
}

/* ---- merging ---- */

static void merged_parts_are_solved(void **state)
{
    (void)state;
    char left[100], right[100];
    snprintf(left, sizeof left, "%s/left.db", folder);
    snprintf(right, sizeof right, "%s/right.db", folder);
    sqlite3 *part = create(), *whole = create();
    add(part, "right", "left");
    struct gn_exchange exchange = {1, 2, 3, 4, true, true, false};
    assert_int_equal(gn_profile_add_exchanges(part, "right", &exchange, 1, NULL), 0);
    assert_int_equal(solve(part), 0); /* the reference is missing: nothing to say */
    assert_int_equal(value(part, "SELECT count(*) FROM clock_bound"), 0);
    assert_int_equal(gn_profile_save(part, right, NULL), 0);
    gn_profile_close(part);
    part = create();
    add(part, "left", NULL);
    assert_int_equal(solve(part), 0);
    assert_int_equal(gn_profile_save(part, left, NULL), 0);
    gn_profile_close(part);
    assert_int_equal(gn_profile_merge(whole, right, NULL), 0);
    assert_int_equal(gn_profile_merge(whole, left, NULL), 0);
    assert_int_equal(solve(whole), 0);
    sqlite3 *direct = two_hosts();
    assert_int_equal(solve(direct), 0);
    assert_int_equal(value(whole, "SELECT count(*) FROM clock_exchange"), 1);
    static const char sum[] = "SELECT sum(lo_ns) + sum(hi_ns) FROM clock_bound";
    assert_int_equal(value(whole, sum), value(direct, sum));
    gn_profile_close(direct);
    gn_profile_close(whole);
}

static void of_two_references_the_lowest_rank_counts(void **state)
{
    (void)state;
    sqlite3 *db = create();
    add(db, "a", NULL);
    add(db, "b", NULL);
    gn_sql(db, NULL, "INSERT INTO process(rank, host, ended, complete) VALUES(1, 1, 'exit', 1)", "");
    gn_sql(db, NULL, "INSERT INTO process(rank, host, ended, complete) VALUES(0, 2, 'exit', 1)", "");
    struct gn_profile_clocks list;
    assert_int_equal(gn_profile_read_clocks(db, &list, NULL), 0);
    assert_string_equal(list.rows[0].domain, "b");
    gn_profile_clocks_clear(&list);
    gn_profile_close(db);
}

/* The domain with that name has read nobody knows which counter: nothing follows, however it is connected. */
static void mix(sqlite3 *db, const char *name)
{
    gn_sql(db, NULL, "UPDATE clock_domain SET mixed = 1 WHERE name = ?", "s", name);
    assert_int_equal(solve(db), 0);
}

static void a_mixed_child_is_not_compared(void **state)
{
    (void)state;
    sqlite3 *db = two_hosts();
    add(db, "third", "right");
    mix(db, "right");
    assert_int_equal(value(db, "SELECT reached FROM clock_domain WHERE name = 'left'"), 1);
    assert_int_equal(value(db, "SELECT sum(reached) FROM clock_domain WHERE name != 'left'"), 0);
    assert_null(gn_profile_bounds(db, "right", NULL));
    assert_null(gn_profile_bounds(db, "third", NULL));
    gn_profile_close(db);
}

static void nothing_is_compared_with_a_mixed_reference(void **state)
{
    (void)state;
    sqlite3 *db = two_hosts();
    mix(db, "left");
    assert_int_equal(value(db, "SELECT sum(reached) FROM clock_domain"), 0);
    assert_int_equal(value(db, "SELECT count(*) FROM clock_bound"), 0);
    gn_profile_close(db);
}

static void merged_processes_keep_their_clocks(void **state)
{
    (void)state;
    char path[100];
    snprintf(path, sizeof path, "%s/processes.db", folder);
    sqlite3 *part = create(), *db = create();
    for (int i = 0; i < 2; i++)
        add(part, i ? "right/2" : "right", i ? "right" : NULL);
    gn_sql(part, NULL, "INSERT INTO process(rank, pid, host, ended, complete) VALUES(0, 10, 1, 'exit', 1)",
           "");
    gn_sql(part, NULL, "INSERT INTO process(rank, pid, host, ended, complete) VALUES(1, 11, 1, 'exit', 1)",
           "");
    gn_sql(part, NULL, "INSERT INTO process(rank, pid, host, ended, complete) VALUES(2, 12, 1, 'exit', 1)",
           "");
    assert_int_equal(gn_profile_set_process_clock(part, "right", 10, "right", NULL), 0);
    assert_int_equal(gn_profile_set_process_clock(part, "right", 11, "right/2", NULL), 0);
    assert_int_equal(gn_profile_set_process_clock(part, "left", 12, "left", NULL), 0); /* another's */
    assert_int_equal(gn_profile_save(part, path, NULL), 0);
    add(db, "left", NULL);
    gn_sql(db, NULL, "INSERT INTO process(rank, pid, host, ended, complete) VALUES(7, 10, 1, 'exit', 1)", "");
    assert_int_equal(gn_profile_set_process_clock(db, "left", 10, "left", NULL), 0);
    assert_int_equal(gn_profile_merge(db, path, NULL), 0);
    assert_int_equal(value(db, "SELECT count(*) FROM process WHERE (rank, clock_domain) IN"
                               " (VALUES(0, 'right'), (1, 'right/2'), (7, 'left'))"),
                     3);
    assert_int_equal(value(db, "SELECT clock_domain IS NULL FROM process WHERE rank = 2"), 1);
    gn_profile_close(part);
    gn_profile_close(db);
}

static void format_1_has_no_clocks(void **state)
{
    (void)state;
    char path[100];
    snprintf(path, sizeof path, "%s/old.db", folder);
    sqlite3 *old = create(), *db = two_hosts();
    static const char *const tables[] = {"clock_domain", "clock_message", "clock_refuted", "clock_bound",
                                         "clock_exchange"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char drop[64];
        snprintf(drop, sizeof drop, "DROP TABLE %s", tables[i]);
        assert_int_equal(sqlite3_exec(old, drop, NULL, NULL, NULL), SQLITE_OK);
    }
    assert_int_equal(sqlite3_exec(old, "ALTER TABLE process DROP COLUMN clock_domain", NULL, NULL, NULL), 0);
    struct gn_profile_clocks list;
    assert_int_equal(gn_profile_read_clocks(old, &list, NULL), -ENODATA);
    assert_int_equal(solve(old), 0);
    assert_null(gn_profile_bounds(old, "left", NULL));
    assert_int_equal(gn_profile_save(old, path, NULL), 0);
    assert_int_equal(gn_profile_merge(db, path, NULL), 0);
    gn_profile_close(old);
    gn_profile_close(db);
}

/* ---- damage ---- */

static void refused(const char *damage)
{
    sqlite3 *db = two_hosts();
    struct gn_profile_clocks list;
    struct gn_error err = {""};
    assert_int_equal(sqlite3_exec(db, damage, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(gn_profile_read_clocks(db, &list, &err), -EINVAL);
    assert_non_null(strstr(err.text, "damaged"));
    gn_profile_close(db);
}

static void damaged_rows_are_refused(void **state)
{
    (void)state;
    refused("UPDATE clock_domain SET hz = 0");
    refused("UPDATE clock_domain SET hz = 'fast'");
    refused("UPDATE clock_domain SET hz = 9e999");
    refused("UPDATE clock_domain SET granularity_ticks = 0");
    refused("UPDATE clock_domain SET epoch_ticks = -1");
    refused("UPDATE clock_domain SET last_ticks = epoch_ticks - 1");
    refused("UPDATE clock_domain SET host = 77");
    refused("UPDATE clock_domain SET asked = -1");
    refused("UPDATE clock_domain SET shared_width_ns = 9e999");
    refused("UPDATE clock_message SET sent_ticks = -sent_ticks");
    refused("UPDATE clock_domain SET parent = 'right' WHERE name = 'right'");
}

static void a_ring_of_parents_ends(void **state)
{
    (void)state;
    sqlite3 *db = two_hosts();
    struct gn_profile_clocks list;
    gn_sql(db, NULL, "UPDATE clock_domain SET parent = 'right' WHERE name = 'left'", "");
    assert_int_equal(gn_profile_read_clocks(db, &list, NULL), -ENODATA);
    gn_profile_close(db);
}

static void damaged_bounds_are_refused(void **state)
{
    (void)state;
    static const char *const damages[] = {
        "UPDATE clock_bound SET lo_ns = hi_ns + 1",
        "UPDATE clock_bound SET lo_ns = -lo_ns, hi_ns = -hi_ns",
        "INSERT INTO clock_bound SELECT id, -5, 0, 0 FROM clock_domain WHERE name = 'right'",
        "UPDATE clock_domain SET outside_lo_ns_per_tick = -1",
        "UPDATE clock_domain SET outside_hi_ns_per_tick = 0",
        "UPDATE clock_domain SET outside_lo_ns_per_tick = 9e999, outside_hi_ns_per_tick = NULL"};
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        sqlite3 *db = two_hosts();
        struct gn_error err = {""};
        assert_int_equal(solve(db), 0);
        assert_int_equal(sqlite3_exec(db, damages[i], NULL, NULL, NULL), SQLITE_OK);
        assert_null(gn_profile_bounds(db, "right", &err));
        assert_true(err.text[0] != '\0');
        gn_profile_close(db);
    }
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(far_hosts_come_last),
        cmocka_unit_test(exchanges_keep_their_halves),
        cmocka_unit_test(bounds_contain_the_truth),
        cmocka_unit_test(bounds_are_those_of_the_clocks),
        cmocka_unit_test(solved_again_is_the_same),
        cmocka_unit_test(the_assumption_is_kept),
        cmocka_unit_test(a_host_without_messages_has_no_bounds),
        cmocka_unit_test(merged_parts_are_solved),
        cmocka_unit_test(of_two_references_the_lowest_rank_counts),
        cmocka_unit_test(a_mixed_child_is_not_compared),
        cmocka_unit_test(nothing_is_compared_with_a_mixed_reference),
        cmocka_unit_test(merged_processes_keep_their_clocks),
        cmocka_unit_test(format_1_has_no_clocks),
        cmocka_unit_test(damaged_rows_are_refused),
        cmocka_unit_test(a_ring_of_parents_ends),
        cmocka_unit_test(damaged_bounds_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

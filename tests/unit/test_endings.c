/* profile/summary_endings — in which order a report tells how processes ended that did not end well. */
#include "profile/statement.h"
#include "profile/summary.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct end {
    const char *how;
    int status;
    int64_t after, before; /* ticks of 1 ns; before 0: not known */
};

static void add(sqlite3 *db, int rank, const struct end *end)
{
    assert_int_equal(gn_sql(db, NULL,
                            "INSERT INTO process(id, rank, host, ended, exit_status, complete, tick_ns,"
                            " elapsed_ns) VALUES(?, ?, 1, ?, ?, 0, 1, 1000)",
                            "iisi", (int64_t)rank + 1, (int64_t)rank, end->how, (int64_t)end->status),
                     0);
    if (end->before)
        assert_int_equal(gn_sql(db, NULL, "INSERT INTO ending VALUES(?, ?, ?)", "iii", (int64_t)rank + 1,
                                end->after, end->before),
                         0);
}

/* "2 0 1": the ranks, as they are told. Rank i has the i-th end; `aborts` was in MPI_Abort, -1: none. */
static void order_of(const struct end *ends, int count, int aborts, char *order, size_t size)
{
    struct gn_summary s;
    struct gn_error err = {""};
    sqlite3 *db;
    size_t used = 0;
    assert_int_equal(gn_profile_create(&db, ":memory:", &err), 0);
    gn_sql(db, NULL, "INSERT INTO host VALUES(1, 'here')", "");
    for (int i = 0; i < count; i++)
        add(db, i, &ends[i]);
    if (aborts >= 0) {
        gn_sql(db, NULL, "INSERT INTO activity VALUES(1, 'mpi', 'MPI_Abort', 'env', 0)", "");
        gn_sql(db, NULL,
               "INSERT INTO location(process, thread, elapsed_ns, events, probe_ns_per_event, probe_ns,"
               " last_activity, last_inside, last_ns) VALUES(?, 0, 1, 1, 0, 0, 1, 1, 1)",
               "i", (int64_t)aborts + 1);
    }
    assert_int_equal(gn_summarise(db, GN_BY_ACTIVITY, false, &s, &err), 0);
    for (size_t i = 0; i < s.trouble_count; i++)
        used += (size_t)snprintf(order + used, size - used, "%s%d", i ? " " : "", s.troubles[i].rank);
    gn_summary_clear(&s);
    gn_profile_close(db);
}

#define ASSERT_ORDER(expected, aborts, ...)                                                                  \
    do {                                                                                                     \
        const struct end ends[] = {__VA_ARGS__};                                                             \
        char order[64];                                                                                      \
        order_of(ends, (int)(sizeof ends / sizeof ends[0]), aborts, order, sizeof order);                    \
        assert_string_equal(order, expected);                                                                \
    } while (0)

/* Which of the two was first is not known; launchers kill, programs do not kill themselves. */
static void who_was_taken_down_is_not_the_first(void **state)
{
    (void)state;
    ASSERT_ORDER("1 0", -1, {"signal", SIGKILL, 100, 200}, {"signal", SIGSEGV, 150, 300});
    ASSERT_ORDER("1 0", -1, {"signal", SIGTERM, 100, 200}, {"signal", SIGSEGV, 150, 300});
    ASSERT_ORDER("2 1 0", -1, {"signal", SIGKILL, 100, 250}, {"signal", SIGTERM, 100, 200},
                 {"exit", 3, 150, 300});
}

/* It was dead before anything else can have happened. */
static void who_surely_was_first_is_though_killed(void **state)
{
    (void)state;
    ASSERT_ORDER("1 0", -1, {"signal", SIGSEGV, 250, 300}, {"signal", SIGKILL, 100, 200});
}

static void of_those_that_may_be_first_the_earliest(void **state)
{
    (void)state;
    ASSERT_ORDER("1 0", -1, {"signal", SIGSEGV, 100, 300}, {"signal", SIGABRT, 150, 250});
    ASSERT_ORDER("1 0", -1, {"signal", SIGKILL, 100, 300}, {"signal", SIGKILL, 150, 250});
    ASSERT_ORDER("0 1", -1, {"signal", SIGSEGV, 100, 300}, {"signal", SIGSEGV, 100, 300});
}

/* Behind the first ones it no longer counts who sent a signal. */
static void later_ones_by_time(void **state)
{
    (void)state;
    ASSERT_ORDER("2 1 0", -1, {"signal", SIGSEGV, 600, 700}, {"signal", SIGKILL, 400, 500},
                 {"signal", SIGSEGV, 100, 200});
}

static void unknown_ends_come_last(void **state)
{
    (void)state;
    ASSERT_ORDER("1 0", -1, {"signal", SIGSEGV, 0, 0}, {"signal", SIGKILL, 100, 200});
}

static void who_called_mpi_abort_is_the_first(void **state)
{
    (void)state;
    ASSERT_ORDER("1 0", 1, {"signal", SIGSEGV, 100, 200}, {"signal", SIGKILL, 600, 700});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_taken_down_is_not_the_first),
        cmocka_unit_test(who_surely_was_first_is_though_killed),
        cmocka_unit_test(of_those_that_may_be_first_the_earliest),
        cmocka_unit_test(later_ones_by_time),
        cmocka_unit_test(unknown_ends_come_last),
        cmocka_unit_test(who_called_mpi_abort_is_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

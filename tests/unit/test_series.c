/* graph/series and profile/series: however many moments there are, sums are right at each that is kept; few
 * of them are, in bounded memory; bytes that make no sense do no harm. */
#include "graph/packed_steps.h"
#include "graph/series.h"
#include "profile/series.h"

#include "base/mix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 40, MOMENTS = 3000 };

typedef int64_t values[GN_SERIES_VALUES];

static values sums[MOMENTS][ROWS]; /* as of each moment */

/* Rows that begin late, stand still for long, go back (estimates do), or say anything. */
static void grow(uint64_t seed, size_t moment, size_t row)
{
    const uint64_t random = gn_mix_at(seed, row, moment);
    for (size_t v = 0; v < GN_SERIES_VALUES; v++) {
        const int64_t before = moment ? sums[moment - 1][row][v] : 0;
        int64_t more = (int64_t)(random >> (8 * v) & 0xffff);
        if (row % 5 == 1)
            more -= 0x8000;
        if (row % 5 == 2)
            more = (int64_t)gn_mix_at(random, v, 1);
        const bool still = (row % 5 == 3 && moment % 100 != 7) || moment < row * 10;
        sums[moment][row][v] = still ? before : (int64_t)((uint64_t)before + (uint64_t)more);
    }
}

static void check_kept(const struct gn_series *s, const uint32_t *rows)
{
    static values steps[GN_SERIES_MOST];
    size_t count;
    const uint64_t *moments = gn_series_moments(s, &count);
    assert_in_range(count, 1, GN_SERIES_MOST);
    for (size_t r = 0; r < ROWS; r++) {
        values sum = {0};
        memset(steps, 0, sizeof steps);
        gn_series_add(s, rows[r], steps);
        for (size_t i = 0; i < count; i++) {
            for (size_t v = 0; v < GN_SERIES_VALUES; v++)
                sum[v] = (int64_t)((uint64_t)sum[v] + (uint64_t)steps[i][v]);
            assert_memory_equal(sum, sums[moments[i]][r], sizeof sum);
        }
    }
}

static void sums_are_right_at_kept_moments(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct gn_series *s = gn_series_new(1 << 20);
        uint32_t rows[ROWS];
        for (size_t r = 0; r < ROWS; r++)
            rows[r] = gn_series_row(s);
        for (size_t i = 0; i < MOMENTS; i++) {
            for (size_t r = 0; r < ROWS; r++) {
                grow(seed, i, r);
                gn_series_put(s, rows[r], sums[i][r]);
            }
            gn_series_close(s, i);
            if (i < 3 || i % 97 == 0 || i == MOMENTS - 1)
                check_kept(s, rows);
        }
        gn_series_free(s);
    }
}

static void little_memory_keeps_few_moments(void **state)
{
    enum { LITTLE = 32768 };
    (void)state;
    struct gn_series *s = gn_series_new(LITTLE);
    uint32_t rows[ROWS];
    size_t count;
    for (size_t r = 0; r < ROWS; r++)
        rows[r] = gn_series_row(s);
    for (size_t i = 0; i < MOMENTS; i++) {
        for (size_t r = 0; r < ROWS; r++) {
            grow(7, i, r);
            gn_series_put(s, rows[r], sums[i][r]);
        }
        gn_series_close(s, i);
    }
    check_kept(s, rows);
    gn_series_moments(s, &count);
    assert_in_range(count, 2, GN_SERIES_MOST / 2);
    uint32_t more = 0;
    while (gn_series_row(s) != GN_SERIES_NONE)
        more++;
    assert_in_range(more, 1, LITTLE);
    const values some = {1};
    gn_series_put(s, GN_SERIES_NONE, some);
    gn_series_free(s);
}

static void a_part_is_what_its_steps_have(void **state)
{
    (void)state;
    uint8_t bytes[1000];
    int64_t plain[50][2] = {{0}};
    size_t used = 0, next = 0;
    for (size_t i = 0; i < 50; i += 1 + i % 4) {
        plain[i][0] = (int64_t)(i * i);
        plain[i][1] = i % 3 ? -(int64_t)(i << 40) : INT64_MIN;
        used += gn_pack(bytes + used, i - next + 1);
        used += gn_pack_signed(bytes + used, plain[i][0]);
        used += gn_pack_signed(bytes + used, plain[i][1]);
        next = i + 1;
    }
    for (size_t first = 0; first <= 50; first++)
        for (size_t end = first; end <= 50; end++) {
            uint64_t sum[2] = {0};
            for (size_t i = first; i < end; i++)
                for (size_t v = 0; v < 2; v++)
                    sum[v] += (uint64_t)plain[i][v];
            for (size_t v = 0; v < 2; v++)
                assert_int_equal(gn_series_sum(bytes, used, 2, v, first, end), (int64_t)sum[v]);
        }
    assert_int_equal(gn_series_sum(NULL, 0, 2, 0, 0, 50), 0);
    assert_int_equal(gn_series_sum(bytes, used, 2, 2, 0, 50), 0);
}

/* Read without a fault, whatever it says. */
static void nonsense_is_left_out(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int i = 0; i < 20000; i++) {
        const size_t count = (random = gn_mix(random + 1)) % 40;
        uint8_t *bytes = malloc(count + 1); /* its own, so that a reader beyond its end is seen */
        for (size_t k = 0; k < count; k++)
            bytes[k] = (uint8_t)((random = gn_mix(random + 1)) % 3 ? random : random | 0x80);
        gn_series_sum(bytes, count, 1 + random % 4, 0, 0, 512);
        free(bytes);
    }
}

/* Samples of several places that are one, in SQL. */
static void series_add_up(void **state)
{
    (void)state;
    sqlite3 *db;
    sqlite3_stmt *q;
    struct gn_error err;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(gn_series_define_sum(db, &err), 0);
    /* steps 0 and 2 of one, 1 and 2 of the other, and what is no series */
    assert_int_equal(
        sqlite3_exec(db,
                     "CREATE TABLE t(series BLOB);"
                     "INSERT INTO t VALUES(x'010204020608'), (x'02060a01080c'), (NULL), (x'00');",
                     NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT series_sum(series) FROM t", -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    const void *bytes = sqlite3_column_blob(q, 0);
    const size_t count = (size_t)sqlite3_column_bytes(q, 0);
    const int64_t steps[3][2] = {{1, 2}, {3, 5}, {3 + 4, 4 + 6}};
    for (size_t i = 0; i < 3; i++)
        for (size_t v = 0; v < 2; v++)
            assert_int_equal(gn_series_sum(bytes, count, 2, v, i, i + 1), steps[i][v]);
    sqlite3_finalize(q);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_right_at_kept_moments),
        cmocka_unit_test(little_memory_keeps_few_moments),
        cmocka_unit_test(a_part_is_what_its_steps_have),
        cmocka_unit_test(nonsense_is_left_out),
        cmocka_unit_test(series_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Ops stay what they are and where they are, whatever the kernel is told about their memory. */
#include "repair/op_store.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

/* More than is kept in memory: the last ones are in the file. */
enum { ROWS = 3, OPS = 4000000 };

static void ops_stay(void **state)
{
    (void)state;
    struct gn_op_store store;
    struct gn_error err;
    assert_int_equal(gn_op_store_open(&store, ROWS, ".", &err), 0);
    struct gn_op *first = gn_op_add(&store, 1);
    for (uint32_t i = 1; i < OPS; i++) {
        struct gn_op *op = gn_op_add(&store, i % ROWS);
        assert_non_null(op);
        assert_true(op->limit == INT64_MAX && op->shift == 0);
        op->ticks = i;
    }
    assert_ptr_equal(first, gn_op_at(&store, 1, 0));
    for (uint32_t row = 0; row < ROWS; row++)
        gn_op_rest(&store, row, store.rows[row].count);
    for (uint32_t i = 3; i < OPS; i++) {
        const struct gn_op *op = gn_op_at(&store, i % ROWS, i / ROWS - (i % ROWS == 0) + (i % ROWS == 1));
        assert_int_equal(op->ticks, i);
    }
    gn_op_store_close(&store);
}

/* Whether so many ops need the file, which may not grow. */
static bool needs_file(uint64_t memory, uint32_t ops)
{
    const struct rlimit none = {0, RLIM_INFINITY}, any = {RLIM_INFINITY, RLIM_INFINITY};
    struct gn_op_store store;
    bool needs = false;
    assert_int_equal(gn_op_store_open(&store, 1, ".", NULL), 0);
    gn_op_store_memory(&store, memory);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    for (uint32_t i = 0; i < ops && !needs; i++)
        needs = !gn_op_add(&store, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &any), 0);
    gn_op_store_close(&store);
    return needs;
}

/* Whole extents, rounded down. */
static void memory_is_as_much_as_said(void **state)
{
    (void)state;
    enum { EXTENT = 16 << 20, FEW = EXTENT / sizeof(struct gn_op) };
    for (uint32_t said = 0; said <= 2; said++) {
        const uint64_t memory = (uint64_t)said * EXTENT + EXTENT / 2;
        assert_false(needs_file(memory, said * FEW));
        assert_true(needs_file(memory, said * FEW + 1));
    }
}

static void a_folder_that_is_none_is_an_error(void **state)
{
    (void)state;
    struct gn_op_store store;
    struct gn_error err = {0};
    assert_int_equal(gn_op_store_open(&store, 1, "there/is/no/such/folder", &err), -ENOENT);
    assert_non_null(strstr(err.text, "there/is/no/such/folder"));
}

/* A file that may not grow: an error, no signal. */
static void no_room_is_an_error(void **state)
{
    (void)state;
    struct gn_op_store store;
    struct gn_error err;
    const struct rlimit small = {1 << 20, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(gn_op_store_open(&store, 1, ".", &err), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    uint32_t i = 0;
    while (i < OPS && gn_op_add(&store, 0))
        i++;
    assert_true(i < OPS);
    assert_int_equal(errno, EFBIG);
    gn_op_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_stay),
        cmocka_unit_test(memory_is_as_much_as_said),
        cmocka_unit_test(a_folder_that_is_none_is_an_error),
        cmocka_unit_test(no_room_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Ceilings of the ops of one location, by hand. */
#include "repair/ceilings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct gn_op *add(struct gn_op_store *store, enum gn_op_kind kind, uint32_t records, int64_t ticks,
                         int64_t high)
{
    struct gn_op *op = gn_op_add(store, 0);
    assert_non_null(op);
    op->kind = (uint8_t)kind;
    op->records = records;
    op->steps = records;
    op->ticks = ticks;
    op->high = high;
    return op;
}

static void limits_come_down_to_the_ops_before(void **state)
{
    (void)state;
    struct gn_op_store store;
    assert_int_equal(gn_op_store_open(&store, 1, NULL, NULL), 0);
    const struct gn_op *before = add(&store, GN_OP_RECEIVE, 1, 100, 150);
    struct gn_op *send = add(&store, GN_OP_SEND, 1, 200, 250);
    const struct gn_op *behind = add(&store, GN_OP_SEND, 1, 300, 350);
    send->limit = 90;
    assert_int_equal(gn_ceilings_lower(&store, 0), 2);
    assert_int_equal(before->high, 89);
    assert_int_equal(send->high, 90);
    assert_int_equal(behind->high, 350);
    assert_int_equal(gn_ceilings_lower(&store, 0), 0);
    gn_ceilings_settle(&store, 0, 0);
    assert_int_equal(before->start, 89);
    assert_int_equal(send->start, 90);
    assert_int_equal(behind->start, 300);
    gn_op_store_close(&store);
}

/* A record has one time: what is a send, and the end of the process, keeps to what the message leaves. */
static void ops_of_one_record_share_a_ceiling(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct gn_op_store store;
        assert_int_equal(gn_op_store_open(&store, 1, NULL, NULL), 0);
        struct gn_op *first = add(&store, GN_OP_SEND, 1, 200, 250);
        struct gn_op *second = add(&store, GN_OP_SEND, 0, 200, 250);
        const struct gn_op *left = add(&store, GN_OP_LEFT, 0, 200, 250);
        (i ? first : second)->limit = 90;
        assert_int_equal(gn_ceilings_lower(&store, 0), 3);
        assert_int_equal(gn_ceilings_lower(&store, 0), 0);
        gn_ceilings_settle(&store, 0, i ? 0 : 0.01);
        assert_int_equal(first->high, 90);
        assert_int_equal(second->high, 90);
        assert_int_equal(left->high, 90);
        assert_int_equal(first->start, 90);
        assert_int_equal(second->start, 90);
        assert_int_equal(left->start, 90);
        gn_op_store_close(&store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_come_down_to_the_ops_before),
        cmocka_unit_test(ops_of_one_record_share_a_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

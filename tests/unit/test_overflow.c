/* capture/recorder: full tables. Counts are kept, in the records that stand for all the others. */
#include "capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static __attribute__((noipa)) uint32_t call_of(uint32_t activity)
{
    uint32_t node = test_call(activity, 5);
    __asm__ volatile("" ::: "memory");
    return node;
}

static uint64_t node_events(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < GN_GET(test_location()->node_count); i++)
        sum += GN_GET(test_location()->nodes[i].time.count);
    return sum;
}

static void edges_overflow_into_edge_zero(void **state)
{
    (void)state;
    enum { KINDS = 200 }; /* 40,000 transitions for 16,384 edges */
    uint64_t events = 0;
    for (uint32_t from = 0; from < KINDS; from++)
        for (uint32_t to = 0; to < KINDS; to++, events += 2) {
            call_of(from);
            call_of(to);
        }
    struct gn_location *l = test_location();
    assert_int_equal(GN_GET(l->events), events);
    assert_int_equal(GN_GET(l->edge_count), GN_MAX_EDGES);
    assert_int_equal(test_edge_count(l), events);
    assert_true(GN_GET(l->edges[0].time.count) > 0);
    assert_int_equal(GN_GET(l->lost_edges), GN_GET(l->edges[0].time.count));
}

static void nodes_overflow_into_node_two(void **state)
{
    (void)state;
    for (int turn = 0; turn < 3; turn++)
        for (uint32_t activity = 0; activity < 2 * GN_MAX_NODES; activity++)
            assert_int_not_equal(call_of(1000 + activity), UINT32_MAX);
    struct gn_location *l = test_location();
    assert_int_equal(GN_GET(l->node_count), GN_MAX_NODES);
    assert_true(GN_GET(l->nodes[2].time.count) >= 3 * GN_MAX_NODES);
    assert_int_equal(node_events(), GN_GET(l->events));
    assert_int_equal(test_edge_count(l), GN_GET(l->events));
}

static void lost_nodes_counts_events(void **state)
{
    (void)state;
    struct gn_location *l = test_location();
    assert_int_equal(GN_GET(l->lost_nodes), GN_GET(l->nodes[2].time.count));
}

static __attribute__((noipa)) void send_to(uint32_t peer)
{
    test_send(1, 1, peer, 1);
    __asm__ volatile("" ::: "memory");
}

static void peers_overflow_into_a_count(void **state)
{
    (void)state;
    for (uint32_t peer = 0; peer < GN_MAX_PEERS + 100; peer++)
        send_to(peer);
    struct gn_location *l = test_location();
    assert_int_equal(GN_GET(l->peer_count), GN_MAX_PEERS);
    assert_int_equal(GN_GET(l->lost_peers), 100);
}

static int open_recorder(void **state)
{
    (void)state;
    struct gn_tag *segment = test_segment(1);
    return segment ? gn_recorder_open(segment, gn_ticks()) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peers_overflow_into_a_count),
        cmocka_unit_test(nodes_overflow_into_node_two),
        cmocka_unit_test(lost_nodes_counts_events),
    };
    const struct CMUnitTest edges[] = {cmocka_unit_test(edges_overflow_into_edge_zero)};
    int failed = cmocka_run_group_tests_name("edges", edges, open_recorder, NULL);
    return failed + cmocka_run_group_tests_name("nodes and peers", tests, NULL, NULL);
}

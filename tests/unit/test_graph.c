/* graph: what several processes have in common is there once, what is theirs stays theirs; joined in any way.
 */
#include "calls.h"
#include "capture.h"
#include "graph/join.h"
#include "graph/process.h"
#include "image/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* start → Send → Recv → end. `swapped`: its call paths came in another order. */
static struct gn_tag *process(int rank, bool swapped)
{
    struct gn_tag *t = test_segment(1);
    struct gn_location *l = &t->locations[0];
    const uint32_t send = swapped ? 3 : 2, recv = swapped ? 2 : 3;
    static const uint32_t edges[3][2] = {{0, 3}, {3, 4}, {4, 1}};
    t->rank = rank;
    t->world = 2;
    GN_SET(t->start_ticks, 1);
    GN_SET(t->end_ticks, 1000);
    GN_SET(t->location_count, 1);
    GN_SET(t->module_count, 2);
    GN_SET(t->name_count, 1);
    GN_SET(t->frame_count, 4);
    t->modules[1] = (struct gn_module){.build_id_bytes = 1, .build_id = {7}, .path = "/nowhere/app"};
    t->frames[1] = (struct gn_tag_frame){0, 1, 0, 0x100};
    t->frames[send] = (struct gn_tag_frame){1, 1, 0, 0x200};
    t->frames[recv] = (struct gn_tag_frame){1, 1, 0, 0x300};
    GN_SET(l->node_count, 5);
    for (uint32_t i = 0; i < 3; i++)
        GN_SET(l->nodes[i].activity, GN_ACTIVITY_START + i);
    GN_SET(l->nodes[3].activity, GN_CALL_SEND);
    GN_SET(l->nodes[3].path, send);
    GN_SET(l->nodes[4].activity, GN_CALL_RECV);
    GN_SET(l->nodes[4].path, recv);
    for (uint32_t i = 3; i < 5; i++) {
        gn_stats_add(&l->nodes[i].time, 10 * (uint64_t)(rank + 1));
        GN_SET(l->nodes[i].time_log2[gn_bucket(10 * (uint64_t)(rank + 1))], 1);
    }
    GN_SET(l->edge_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        GN_SET(l->edges[i].from, edges[i][0]);
        GN_SET(l->edges[i].to, edges[i][1]);
        gn_stats_add(&l->edges[i].time, 5);
    }
    return t;
}

static void add(struct gn_graph *graph, struct gn_tag *t)
{
    const struct gn_process_facts facts = {
        .host = t->rank ? "second" : "first", .tick_ns = 2, .ended = "exit", .launcher_rank = t->rank};
    struct gn_snapshot *s;
    struct gn_error err = {""};
    assert_int_equal(gn_snapshot_take(t, gn_tag_bytes(1), 10, &s, &err), 0);
    assert_int_equal(gn_graph_add_process(graph, &facts, s, &err), 0);
    gn_snapshot_free(s);
}

/* Two processes of two hosts, in one graph or joined from two. */
static void check_both(const struct gn_graph *g)
{
    assert_int_equal(gn_graph_count(g, GN_GRAPH_HOST), 2);
    assert_int_equal(gn_graph_count(g, GN_GRAPH_PROCESS), 2);
    assert_int_equal(gn_graph_count(g, GN_GRAPH_LOCATION), 2);
    assert_int_equal(gn_graph_count(g, GN_GRAPH_SITE), 3);
    assert_int_equal(gn_graph_count(g, GN_GRAPH_PATH), 1 + 3); /* the root */
    assert_int_equal(gn_graph_count(g, GN_GRAPH_ACTIVITY), 5);
    assert_int_equal(gn_graph_count(g, GN_GRAPH_WORLD), 1);
    assert_int_equal(gn_graph_count(g, GN_GRAPH_NODE), 4);
    assert_int_equal(gn_graph_count(g, GN_GRAPH_EDGE), 6);
    const struct gn_graph_node *nodes = gn_graph_rows(g, GN_GRAPH_NODE);
    const struct gn_graph_activity *activities = gn_graph_rows(g, GN_GRAPH_ACTIVITY);
    const struct gn_graph_path *paths = gn_graph_rows(g, GN_GRAPH_PATH);
    const struct gn_graph_site *sites = gn_graph_rows(g, GN_GRAPH_SITE);
    for (size_t i = 0; i < 4; i++) {
        const struct gn_graph_activity *a = &activities[nodes[i].activity];
        const int64_t ns = nodes[i].location ? 40 : 20;
        uint64_t counts[UINT8_MAX];
        assert_string_equal(a->name, i % 2 ? "MPI_Recv" : "MPI_Send");
        assert_int_equal(sites[paths[a->callpath].site].offset, i % 2 ? 0x300 : 0x200);
        assert_int_equal(sites[paths[paths[a->callpath].parent].site].offset, 0x100);
        assert_int_equal(paths[a->callpath].depth, 2);
        assert_int_equal(nodes[i].total_ns, ns);
        assert_int_equal(nodes[i].time_log2.all, GN_BUCKETS);
        gn_graph_counts(g, &nodes[i].time_log2, counts);
        for (unsigned b = 0; b < GN_BUCKETS; b++)
            assert_int_equal(counts[b], b == gn_bucket((uint64_t)ns / 2));
    }
}

static void what_processes_have_in_common_is_there_once(void **state)
{
    (void)state;
    struct gn_graph *g = gn_graph_new();
    add(g, process(0, false));
    add(g, process(1, true));
    check_both(g);
    gn_graph_free(g);
}

static void joined_graphs_are_as_one_that_was_filled_by_all(void **state)
{
    (void)state;
    struct gn_error err = {""};
    struct gn_graph *whole = gn_graph_new(), *part = gn_graph_new();
    add(whole, process(0, true));
    add(part, process(1, false));
    assert_int_equal(gn_graph_join(whole, part, &err), 0);
    gn_graph_free(part);
    check_both(whole);
    const struct gn_graph_process *processes = gn_graph_rows(whole, GN_GRAPH_PROCESS);
    const struct gn_graph_host *hosts = gn_graph_rows(whole, GN_GRAPH_HOST);
    assert_string_equal(hosts[processes[1].host].name, "second");
    assert_int_equal(processes[0].world_id, processes[1].world_id);
    gn_graph_free(whole);
}

/* A process that was killed says nothing of its world's size: its host's part is joined first, or last. */
static void a_world_is_as_large_as_any_part_says(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct gn_error err = {""};
        struct gn_graph *g[2] = {gn_graph_new(), gn_graph_new()};
        const struct gn_process_facts facts = {
            .host = "first", .tick_ns = 1, .ended = "signal", .launcher_rank = 0, .exit_status = 9};
        assert_int_equal(gn_graph_add_missing(g[turn], &facts, "it is gone", &err), 0);
        add(g[!turn], process(1, false));
        assert_int_equal(gn_graph_join(g[0], g[1], &err), 0);
        assert_int_equal(gn_graph_count(g[0], GN_GRAPH_WORLD), 1);
        assert_int_equal(((struct gn_graph_world *)gn_graph_rows(g[0], GN_GRAPH_WORLD))->size, 2);
        gn_graph_free(g[0]);
        gn_graph_free(g[1]);
    }
}

/* The host that died has not looked its places up; it is joined first, or last. */
static void a_place_is_named_by_whoever_looked_it_up(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct gn_error err = {""};
        struct gn_graph *g[2] = {gn_graph_new(), gn_graph_new()};
        for (int i = 0; i < 2; i++)
            add(g[i], process(i, false));
        struct gn_graph_site *named = gn_graph_rows(g[turn], GN_GRAPH_SITE);
        named[1].resolved = 1;
        named[1].function = gn_graph_text(g[turn], "exchange");
        assert_int_equal(gn_graph_join(g[0], g[1], &err), 0);
        const struct gn_graph_site *sites = gn_graph_rows(g[0], GN_GRAPH_SITE);
        int found = 0;
        for (size_t i = 0; i < gn_graph_count(g[0], GN_GRAPH_SITE); i++)
            found += sites[i].resolved && strcmp(sites[i].function, "exchange") == 0;
        assert_int_equal(found, 1);
        gn_graph_free(g[0]);
        gn_graph_free(g[1]);
    }
}

/* Threads may follow each other in a place: one has ended after the Recv, the next one computes after a Recv
 * of its own when the process ends. That is one edge, passed twice. */
static void the_way_to_the_end_may_have_been_gone_before(void **state)
{
    (void)state;
    struct gn_graph *g = gn_graph_new();
    struct gn_tag *t = process(0, false);
    GN_SET(t->locations[0].in_use, 1);
    GN_SET(t->locations[0].now_node, 4);
    GN_SET(t->locations[0].now_ticks, 900);
    add(g, t);
    assert_int_equal(gn_graph_count(g, GN_GRAPH_EDGE), 3);
    const struct gn_graph_edge *last = (struct gn_graph_edge *)gn_graph_rows(g, GN_GRAPH_EDGE) + 2;
    assert_int_equal(last->count, 2);
    assert_int_equal(last->total_ns, 2 * 5 + 2 * 100);
    assert_int_equal(last->min_ns, 10);
    assert_int_equal(last->max_ns, 200);
    gn_graph_free(g);
}

static void rows_of_a_process_can_be_taken_back(void **state)
{
    (void)state;
    struct gn_graph *g = gn_graph_new();
    add(g, process(0, false));
    add(g, process(1, false));
    gn_graph_shrink(g, 1);
    assert_int_equal(gn_graph_count(g, GN_GRAPH_PROCESS), 1);
    assert_int_equal(gn_graph_count(g, GN_GRAPH_LOCATION), 1);
    assert_int_equal(gn_graph_count(g, GN_GRAPH_NODE), 2);
    assert_int_equal(gn_graph_count(g, GN_GRAPH_EDGE), 3);
    add(g, process(1, true));
    check_both(g);
    gn_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_processes_have_in_common_is_there_once),
                                       cmocka_unit_test(joined_graphs_are_as_one_that_was_filled_by_all),
                                       cmocka_unit_test(a_place_is_named_by_whoever_looked_it_up),
                                       cmocka_unit_test(a_world_is_as_large_as_any_part_says),
                                       cmocka_unit_test(the_way_to_the_end_may_have_been_gone_before),
                                       cmocka_unit_test(rows_of_a_process_can_be_taken_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

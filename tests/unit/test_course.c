/* agent/course: of a thread that computes and calls, in stretches of all lengths, what it did from one moment
 * to another is what was kept of these steps, also where a call or a computation lasts over several of them.
 */
#include "agent/course.h"

#include "base/mix.h"
#include "clock/ticks.h"
#include "event/activity.h"
#include "graph/packed_steps.h"
#include "graph/process.h"
#include "image/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { CALLS = 3, FIRST_CALL = 3, NODES = FIRST_CALL + CALLS, STRETCHES = 400, LOOKS = 200, LONGEST = 62000 };

/* What it did when. node: inside of it; else computing from it to `to`. */
struct stretch {
    uint64_t begin_ticks, end_ticks;
    uint32_t node, to;
    bool inside;
};

struct world {
    struct gn_watched watched;
    struct gn_watched_list list;
    struct gn_host_clock clock;
    struct gn_course course;
    struct gn_location *l;
    struct stretch done[2 * STRETCHES + 2];
    size_t count;
    uint64_t random;
};

static uint64_t draw(struct world *w, uint64_t most)
{
    return (w->random = gn_mix(w->random + 1)) % most;
}

static void begin(struct world *w, uint64_t seed)
{
    const size_t bytes = gn_tag_bytes(1);
    struct gn_tag *tag = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(tag, MAP_FAILED);
    *w = (struct world){.watched = {.segment = tag, .segment_bytes = bytes, .pid = 1}, .random = seed};
    w->list = (struct gn_watched_list){&w->watched, 1, 1};
    tag->magic = GN_TAG_MAGIC;
    tag->version = GN_TAG_VERSION;
    tag->segment_bytes = bytes;
    tag->location_capacity = 1;
    GN_SET(tag->state, GN_STATE_RUNNING);
    GN_SET(tag->frame_count, 1);
    GN_SET(tag->name_count, 1);
    GN_SET(tag->location_count, 1);
    w->l = &tag->locations[0];
    for (uint32_t i = 0; i < NODES; i++)
        GN_SET(w->l->nodes[i].activity, i < FIRST_CALL ? GN_ACTIVITY_START + i : i - FIRST_CALL);
    GN_SET(w->l->node_count, NODES);
    GN_SET(w->l->in_use, 1);
    const uint64_t now = gn_ticks();
    GN_SET(tag->start_ticks, now);
    GN_SET(tag->init_ticks, now);
    GN_SET(w->l->first_ticks, now);
    GN_SET(w->l->now_ticks, now);
}

static void end(struct world *w)
{
    gn_course_clear(&w->course);
    munmap(w->watched.segment, w->watched.segment_bytes);
}

/* As capture has it: the edge is counted when the call that it led to is left. */
static void leave(struct world *w, uint64_t enter, uint64_t now)
{
    const uint32_t node = GN_GET(w->l->now_node);
    const struct stretch *before = &w->done[w->count - 2];
    struct gn_tag_edge *edge = w->l->edges;
    uint32_t i = 0, count = GN_GET(w->l->edge_count);
    while (i < count && (GN_GET(edge[i].from) != before->node || GN_GET(edge[i].to) != node))
        i++;
    GN_SET(edge[i].from, before->node);
    GN_SET(edge[i].to, node);
    gn_stats_add(&edge[i].time, before->end_ticks - before->begin_ticks);
    if (i == count)
        GN_PUBLISH(w->l->edge_count, count + 1);
    gn_stats_add(&w->l->nodes[node].time, now - enter);
    GN_SET(w->l->now_inside, 0);
    GN_SET(w->l->now_ticks, now);
    GN_ADD(w->l->events, 1);
}

/* Looks now and then, until `ticks` have passed. */
static void pass(struct world *w, uint64_t ticks, unsigned looks)
{
    const uint64_t first = gn_ticks();
    for (unsigned i = 0; i < looks; i++) {
        while (gn_ticks() - first < ticks * (i + 1) / (looks + 1)) {
        }
        gn_course_look(&w->course, &w->list, &w->clock, NULL);
    }
    while (gn_ticks() - first < ticks) {
    }
}

static void run(struct world *w)
{
    uint64_t now = GN_GET(w->l->now_ticks);
    for (size_t i = 0; i < STRETCHES; i++) {
        const uint32_t from = GN_GET(w->l->now_node), call = FIRST_CALL + (uint32_t)draw(w, CALLS);
        pass(w, 2000 + draw(w, LONGEST - 2000), draw(w, 4) ? 0 : (unsigned)draw(w, 4));
        uint64_t enter = gn_ticks();
        w->done[w->count++] = (struct stretch){now, enter, from, call, false};
        GN_SET(w->l->now_node, call);
        GN_SET(w->l->now_inside, 1);
        GN_SET(w->l->now_ticks, enter);
        pass(w, 2000 + draw(w, LONGEST - 2000), draw(w, 4) ? 0 : (unsigned)draw(w, 4));
        now = gn_ticks();
        w->done[w->count++] = (struct stretch){enter, now, call, call, true};
        leave(w, enter, now);
    }
    pass(w, 100000, 2);
    w->watched.end_ticks = gn_ticks(); /* it is killed while it computes */
    w->done[w->count++] = (struct stretch){now, w->watched.end_ticks, GN_GET(w->l->now_node), 1, false};
    gn_course_end(&w->course, &w->list, &w->clock, NULL);
}

/* Of all stretches of that kind, what is in [from, to). */
static int64_t truth(const struct world *w, uint32_t node, uint32_t to, bool inside, uint64_t from,
                     uint64_t until)
{
    int64_t sum = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct stretch *s = &w->done[i];
        const uint64_t begin = s->begin_ticks > from ? s->begin_ticks : from,
                       stop = s->end_ticks < until ? s->end_ticks : until;
        if (s->node == node && s->to == to && s->inside == inside && stop > begin)
            sum += (int64_t)(stop - begin);
    }
    return sum;
}

static int64_t until_moment(const struct gn_graph_bytes *series, size_t width, size_t moments)
{
    struct gn_packed left = {series->at, series->at + series->count, 0};
    int64_t values[GN_SERIES_VALUES], sum = 0;
    size_t step;
    while (gn_unpack_step(&left, &step, values, width) && step < moments)
        sum += values[1];
    return sum;
}

static uint32_t node_of(const struct gn_graph *graph, uint32_t activity)
{
    const struct gn_graph_activity *rows = gn_graph_rows(graph, GN_GRAPH_ACTIVITY);
    for (uint32_t i = 0; i < NODES; i++) {
        const struct gn_activity_def *d =
            gn_activity_def(i < FIRST_CALL ? GN_ACTIVITY_START + i : i - FIRST_CALL);
        if (strcmp(rows[activity].name, d->name) == 0 && strcmp(rows[activity].kind, d->kind) == 0)
            return i;
    }
    fail();
    return 0;
}

/* Of what is computed; on a busy machine it is more than LONGEST. */
static int64_t longest(const struct world *w)
{
    int64_t most = LONGEST;
    for (size_t i = 0; i < w->count; i++)
        if (!w->done[i].inside && (int64_t)(w->done[i].end_ticks - w->done[i].begin_ticks) > most)
            most = (int64_t)(w->done[i].end_ticks - w->done[i].begin_ticks);
    return most;
}

/* At each moment, calls one by one, and all that is computed. */
static void judge(const struct world *w, const struct gn_graph *graph)
{
    size_t count;
    const uint64_t *moments = gn_series_moments(w->course.series, &count);
    const struct gn_graph_node *nodes = gn_graph_rows(graph, GN_GRAPH_NODE);
    const struct gn_graph_edge *edges = gn_graph_rows(graph, GN_GRAPH_EDGE);
    const int64_t most = longest(w) + LONGEST / 10;
    assert_in_range(count, LOOKS, GN_SERIES_MOST);
    for (size_t m = 1; m <= count; m++) {
        const uint64_t at = moments[m - 1];
        int64_t off[NODES] = {0};
        for (size_t i = 0; i < gn_graph_count(graph, GN_GRAPH_NODE); i++) {
            const uint32_t node = node_of(graph, nodes[i].activity);
            assert_true(llabs(until_moment(&nodes[i].series, 4, m) - truth(w, node, node, true, 0, at)) <= 2);
        }
        for (size_t i = 0; i < gn_graph_count(graph, GN_GRAPH_EDGE); i++) {
            const uint32_t from = node_of(graph, edges[i].from_activity),
                           to = node_of(graph, edges[i].to_activity);
            off[from] += until_moment(&edges[i].series, 3, m) - truth(w, from, to, false, 0, at);
        }
        int64_t all = 0;
        for (uint32_t node = 0; node < NODES; node++) {
            /* which of several that led into one call it was is not always known */
            assert_true(llabs(off[node]) <= most);
            all += off[node];
        }
        if (llabs(all) > 2)
            fail_msg("at moment %zu of %zu, %llu ticks since the last: %lld ticks off", m, count,
                     (unsigned long long)(m > 1 ? at - moments[m - 2] : 0), (long long)all);
    }
    for (size_t i = 0; i < gn_graph_count(graph, GN_GRAPH_EDGE); i++)
        assert_int_equal(until_moment(&edges[i].series, 3, count), edges[i].total_ns);
}

static void stretches_are_divided_at_moments(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct world *w = malloc(sizeof *w);
        struct gn_error err;
        struct gn_snapshot *snapshot;
        begin(w, seed);
        run(w);
        struct gn_graph *graph = gn_graph_new();
        const struct gn_process_facts facts = {.host = "one",
                                               .tick_ns = 1,
                                               .end_ticks = w->watched.end_ticks,
                                               .ended = "signal",
                                               .launcher_rank = 0,
                                               .series = gn_course_of(&w->course, 0)};
        assert_int_equal(gn_snapshot_take(w->watched.segment, w->watched.segment_bytes, 1, &snapshot, &err),
                         0);
        assert_int_equal(gn_graph_add_process(graph, &facts, snapshot, &err), 0);
        assert_int_equal(gn_course_put_moments(&w->course, &w->clock, "one", graph, &err), 0);
        judge(w, graph);
        gn_snapshot_free(snapshot);
        gn_graph_free(graph);
        end(w);
        free(w);
    }
}

/* Nothing is read from a process that has not begun, or without one. */
static void nobody_is_there(void **state)
{
    (void)state;
    struct world *w = malloc(sizeof *w);
    size_t count;
    begin(w, 1);
    GN_SET(w->watched.segment->state, GN_STATE_EMPTY);
    gn_course_look(&w->course, &w->list, &w->clock, NULL);
    gn_series_moments(w->course.series, &count);
    assert_int_equal(count, 0);
    assert_null(gn_course_of(&w->course, 0));
    assert_null(gn_course_of(&w->course, 7));
    /* and memory that is scribbled over is read as it is */
    GN_SET(w->watched.segment->state, GN_STATE_RUNNING);
    memset(w->l, 0xff, sizeof *w->l);
    gn_course_look(&w->course, &w->list, &w->clock, NULL);
    memset(w->l, 0x55, sizeof *w->l);
    gn_course_look(&w->course, &w->list, &w->clock, NULL);
    gn_series_moments(w->course.series, &count);
    assert_int_equal(count, 2);
    struct gn_error err;
    struct gn_snapshot *snapshot;
    struct gn_graph *graph = gn_graph_new();
    const struct gn_process_facts facts = {.host = "one",
                                           .tick_ns = 1,
                                           .ended = "signal",
                                           .launcher_rank = 0,
                                           .series = gn_course_of(&w->course, 0)};
    assert_int_equal(gn_snapshot_take(w->watched.segment, w->watched.segment_bytes, 1, &snapshot, &err), 0);
    assert_int_equal(gn_graph_add_process(graph, &facts, snapshot, &err), 0);
    gn_snapshot_free(snapshot);
    gn_graph_free(graph);
    end(w);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stretches_are_divided_at_moments),
                                       cmocka_unit_test(nobody_is_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

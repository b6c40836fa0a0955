/* graph/location — a thread's nodes and edges. */
#include "event/activity.h"
#include "graph/process_inside.h"
#include "graph/process_series.h"
#include "graph/same.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- activities ---- */

static struct gn_activity_def describe(const struct gn_graph_adding *a, const struct gn_tag_node *node)
{
    const uint32_t activity = GN_GET(node->activity);
    struct gn_activity_def known = *gn_activity_def(activity);
    if (activity == GN_ACTIVITY_REGION_BEGIN || activity == GN_ACTIVITY_REGION_END)
        known.name = a->snapshot->names[GN_GET(node->name)];
    return known;
}

static void add_activities(struct gn_graph_adding *a, const struct gn_location_copy *location,
                           uint32_t *activities)
{
    for (uint32_t i = 0; i < location->node_count; i++) {
        const struct gn_activity_def d = describe(a, &location->nodes[i]);
        const struct gn_graph_activity row = {.kind = gn_graph_text(a->graph, d.kind),
                                              .name = gn_graph_text(a->graph, d.name),
                                              .call_group = gn_graph_text(a->graph, d.group),
                                              .callpath = a->paths[GN_GET(location->nodes[i].path)]};
        activities[i] = gn_graph_put(a->graph, GN_GRAPH_ACTIVITY, &row);
    }
}

/* ---- nodes, edges, peers ---- */

/* A thread on its way into the graph. */
struct thread {
    struct gn_graph_adding *adding;
    const uint32_t *activities; /* by node */
    double probe_ns;            /* per event */
    uint32_t row;               /* of the location */
};

/* Standard deviation from exact sums: sqrt(sum of squares / n - mean²), in 64-bit mantissas. */
static double spread_ns(const struct gn_graph_adding *a, const struct gn_stats *stats)
{
    uint64_t count = GN_GET(stats->count);
    if (count < 2)
        return 0;
    long double squares = (long double)GN_GET(stats->squares_high) * 18446744073709551616.0L +
                          (long double)GN_GET(stats->squares_low);
    long double total = (long double)GN_GET(stats->total_ticks);
    long double variance = (squares - total * total / (long double)count) / (long double)(count - 1);
    return variance > 0 ? (double)sqrtl(variance) * a->facts->tick_ns : 0;
}

static struct gn_graph_histogram histogram(struct gn_graph *graph, const gn_shared64 *buckets)
{
    uint64_t counts[GN_BUCKETS];
    for (int i = 0; i < GN_BUCKETS; i++)
        counts[i] = GN_GET(buckets[i]);
    return gn_graph_keep_counts(graph, counts, GN_BUCKETS);
}

static void add_node(const struct thread *t, const struct gn_tag_node *node, uint32_t activity,
                     int64_t open_ns)
{
    const struct gn_graph_adding *a = t->adding;
    const struct gn_stats *time = &node->time;
    if (GN_GET(time->count) == 0 && open_ns == 0 && GN_GET(node->messages) == 0)
        return;
    const struct gn_graph_node row = {.location = t->row,
                                      .activity = activity,
                                      .count = (int64_t)GN_GET(time->count),
                                      .total_ns = gn_adding_ns(a, GN_GET(time->total_ticks)),
                                      .min_ns = gn_adding_ns(a, GN_GET(time->min_ticks)),
                                      .max_ns = gn_adding_ns(a, GN_GET(time->max_ticks)),
                                      .spread_ns = spread_ns(a, time),
                                      .open_ns = open_ns,
                                      .errors = (int64_t)GN_GET(node->errors),
                                      .messages = (int64_t)GN_GET(node->messages),
                                      .bytes = (int64_t)GN_GET(node->bytes),
                                      .time_log2 = histogram(a->graph, node->time_log2),
                                      .size_log2 = histogram(a->graph, node->size_log2)};
    gn_graph_put(a->graph, GN_GRAPH_NODE, &row);
}

static void put_edge(const struct thread *t, uint32_t from, uint32_t to, const struct gn_stats *time,
                     int64_t own_ns, int64_t bytes)
{
    const struct gn_graph_adding *a = t->adding;
    const struct gn_graph_edge row = {.location = t->row,
                                      .from_activity = t->activities[from],
                                      .to_activity = t->activities[to],
                                      .count = (int64_t)GN_GET(time->count),
                                      .total_ns = gn_adding_ns(a, GN_GET(time->total_ticks)),
                                      .own_ns = own_ns,
                                      .min_ns = gn_adding_ns(a, GN_GET(time->min_ticks)),
                                      .max_ns = gn_adding_ns(a, GN_GET(time->max_ticks)),
                                      .spread_ns = spread_ns(a, time),
                                      .bytes = bytes};
    gn_graph_put(a->graph, GN_GRAPH_EDGE, &row);
}

/* Our own work around the calls lies in the edges; its mean cost is known, and the extraordinary part
 * exactly. */
static void add_edge(const struct thread *t, const struct gn_tag_edge *edge)
{
    const double tick_ns = t->adding->facts->tick_ns;
    uint64_t count = GN_GET(edge->time.count);
    if (count == 0)
        return;
    uint64_t exact = GN_GET(edge->exact) < count ? GN_GET(edge->exact) : count;
    double probe = (double)(count - exact) * t->probe_ns + (double)GN_GET(edge->probe_ticks) * tick_ns;
    int64_t own_ns = (int64_t)llround((double)GN_GET(edge->time.total_ticks) * tick_ns - probe);
    put_edge(t, GN_GET(edge->from), GN_GET(edge->to), &edge->time, own_ns > 0 ? own_ns : 0,
             (int64_t)GN_GET(edge->bytes));
}

static int by_node_and_peer(const void *left, const void *right)
{
    const struct gn_tag_peer *a = left, *b = right;
    if (GN_GET(a->node) != GN_GET(b->node))
        return GN_GET(a->node) < GN_GET(b->node) ? -1 : 1;
    return (GN_GET(a->peer) > GN_GET(b->peer)) - (GN_GET(a->peer) < GN_GET(b->peer));
}

/* Nodes that were joined may have had the same peers. */
static void add_peers(const struct thread *t, struct gn_location_copy *l)
{
    qsort(l->peers, l->peer_count, sizeof *l->peers, by_node_and_peer);
    for (uint32_t i = 0; i < l->peer_count;) {
        const struct gn_tag_peer *first = &l->peers[i];
        struct gn_graph_peer row = {
            .location = t->row,
            .activity = t->activities[GN_GET(first->node)],
            .peer = GN_GET(first->peer) == GN_PEER_OUTSIDE ? -1 : (int64_t)GN_GET(first->peer)};
        for (; i < l->peer_count && by_node_and_peer(first, &l->peers[i]) == 0; i++) {
            row.sent_messages += (int64_t)GN_GET(l->peers[i].sent_messages);
            row.sent_bytes += (int64_t)GN_GET(l->peers[i].sent_bytes);
            row.received_messages += (int64_t)GN_GET(l->peers[i].received_messages);
            row.received_bytes += (int64_t)GN_GET(l->peers[i].received_bytes);
        }
        gn_graph_put(t->adding->graph, GN_GRAPH_PEER, &row);
    }
}

static int by_ends(const void *left, const void *right)
{
    const struct gn_tag_completion *a = left, *b = right;
    if (GN_GET(a->from) != GN_GET(b->from))
        return GN_GET(a->from) < GN_GET(b->from) ? -1 : 1;
    return (GN_GET(a->to) > GN_GET(b->to)) - (GN_GET(a->to) < GN_GET(b->to));
}

/* Likewise. */
static void add_completions(const struct thread *t, struct gn_location_copy *l)
{
    const struct gn_graph_adding *a = t->adding;
    qsort(l->completions, l->completion_count, sizeof *l->completions, by_ends);
    for (uint32_t i = 0; i < l->completion_count;) {
        const struct gn_tag_completion *first = &l->completions[i];
        uint64_t total = 0, ahead = 0, most = 0, counts[GN_BUCKETS] = {0};
        struct gn_graph_completion row = {.location = t->row,
                                          .from_activity = t->activities[GN_GET(first->from)],
                                          .to_activity = t->activities[GN_GET(first->to)]};
        for (; i < l->completion_count && by_ends(first, &l->completions[i]) == 0; i++) {
            const struct gn_tag_completion *c = &l->completions[i];
            row.count += (int64_t)GN_GET(c->count);
            total += GN_GET(c->total_ticks);
            ahead += GN_GET(c->ahead_ticks);
            most = GN_GET(c->max_ticks) > most ? GN_GET(c->max_ticks) : most;
            for (int k = 0; k < GN_BUCKETS; k++)
                counts[k] += GN_GET(c->time_log2[k]);
        }
        row.total_ns = gn_adding_ns(a, total);
        row.ahead_ns = gn_adding_ns(a, ahead);
        row.max_ns = gn_adding_ns(a, most);
        row.time_log2 = gn_graph_keep_counts(a->graph, counts, GN_BUCKETS);
        if (row.count > 0)
            gn_graph_put(a->graph, GN_GRAPH_COMPLETION, &row);
    }
}

/* ---- its end ---- */

/* What the location was doing when its time ended: a call that did not return, or computing after the last
 * one. */
struct last_moment {
    uint32_t node;
    bool inside;
    int64_t ns;
};

static struct last_moment last_moment(const struct gn_graph_adding *a, const struct gn_location_copy *l,
                                      uint32_t index)
{
    struct last_moment last = {l->head.now_node < l->node_count ? l->head.now_node : 0,
                               l->head.now_inside == 1, 0};
    /* threads other than the first may have ended long before the process: only an open call is known to last
     */
    if (index == 0 || last.inside)
        last.ns = gn_adding_between_ns(a, l->head.now_ticks, gn_adding_end_ticks(a));
    if (l->head.now_inside == 2 || !l->head.in_use) /* the end was recorded */
        last.ns = 0;
    return last;
}

/* A thread before this one in the same place may have ended there, too. Its spread stays: of one more passage
 * it cannot be told. */
static bool add_to_known(const struct thread *t, uint32_t from, uint32_t to, int64_t ns)
{
    struct gn_graph_edge *edges = gn_graph_rows(t->adding->graph, GN_GRAPH_EDGE);
    for (size_t i = gn_graph_count(t->adding->graph, GN_GRAPH_EDGE); i-- > 0 && edges[i].location == t->row;)
        if (edges[i].from_activity == t->activities[from] && edges[i].to_activity == t->activities[to]) {
            edges[i].count++;
            edges[i].total_ns += ns;
            edges[i].own_ns += ns;
            edges[i].min_ns = ns < edges[i].min_ns ? ns : edges[i].min_ns;
            edges[i].max_ns = ns > edges[i].max_ns ? ns : edges[i].max_ns;
            return true;
        }
    return false;
}

static void add_last_edge(const struct thread *t, uint32_t from, uint32_t to, int64_t ns)
{
    if (add_to_known(t, from, to, ns))
        return;
    struct gn_stats once = {.count = 1};
    uint64_t ticks = (uint64_t)((double)ns / t->adding->facts->tick_ns);
    GN_SET(once.total_ticks, ticks);
    GN_SET(once.min_ticks, ticks);
    GN_SET(once.max_ticks, ticks);
    put_edge(t, from, to, &once, ns, 0);
}

/* What it computed ahead of the call that it is in is counted only when that has been left: what neither
 * calls nor what lies between them have. 0: there is nothing of that kind. */
static int64_t ahead_of_call_ns(const struct gn_graph_adding *a, const struct gn_location_copy *l)
{
    uint64_t counted = 0;
    for (uint32_t i = 0; i < l->node_count; i++)
        if (gn_activity_takes_time(GN_GET(l->nodes[i].activity)))
            counted += GN_GET(l->nodes[i].time.total_ticks);
    for (uint32_t i = 0; i < l->edge_count; i++)
        counted += GN_GET(l->edges[i].time.total_ticks);
    return l->head.in_use ? gn_adding_ns(a, gn_tag_ahead(l->head.now_ticks, l->head.first_ticks,
                                                         l->head.past_ticks, counted))
                          : 0;
}

/* Edges that the snapshot does not have: to the end of the program, or into a call that was not left, where
 * it was seen since which node it had computed. */
static void add_tail(const struct thread *t, const struct gn_location_copy *l, uint32_t index,
                     const struct last_moment *last, uint32_t ends[2])
{
    const struct gn_series_process *series = t->adding->facts->series;
    const struct gn_series_location *seen =
        series && index < series->location_count ? &series->locations[index] : NULL;
    uint32_t from = last->node, to = 1;
    int64_t ns = last->ns;
    if (last->inside) {
        const bool is_known = seen && seen->since < l->node_count && seen->since_events == l->head.events;
        from = is_known ? seen->since : 0;
        to = last->node;
        ns = is_known ? ahead_of_call_ns(t->adding, l) : 0;
    }
    ends[0] = ends[1] = GN_GRAPH_NONE;
    if (ns <= 0)
        return;
    add_last_edge(t, from, to, ns);
    ends[0] = t->activities[from];
    ends[1] = t->activities[to];
}

static double probe_ns(const struct gn_graph_adding *a, const struct gn_location_head *head)
{
    return head->sampled_events
               ? (double)head->sampled_ticks / (double)head->sampled_events * a->facts->tick_ns
               : 0;
}

static uint32_t put_location(const struct thread *t, uint32_t index, const struct gn_location_head *head,
                             const struct last_moment *last)
{
    const struct gn_graph_adding *a = t->adding;
    const struct gn_graph_location row = {
        .process = a->process,
        .thread = (int64_t)index,
        .thread_id = (int64_t)head->thread_id,
        .elapsed_ns = gn_adding_ns(a, head->past_ticks) + last->ns +
                      (head->in_use ? gn_adding_between_ns(a, head->first_ticks, head->now_ticks) : 0),
        .events = (int64_t)head->events,
        .probe_ns_per_event = t->probe_ns,
        .probe_ns = (int64_t)((double)(head->events - head->exact_events) * t->probe_ns) +
                    gn_adding_ns(a, head->exact_ticks),
        .last_activity = t->activities[last->node],
        .last_inside = (int64_t)last->inside,
        .last_ns = last->ns,
        .unwound = (int64_t)head->unwound};
    return gn_graph_put(a->graph, GN_GRAPH_LOCATION, &row);
}

int gn_adding_location(struct gn_graph_adding *a, uint32_t index)
{
    struct gn_location_copy *l = &a->snapshot->locations[index]; /* our copy: it may be tidied */
    if (l->node_count < 3)                                       /* taken, but nothing recorded yet */
        return 0;
    uint32_t *activities = calloc(l->node_count, sizeof *activities);
    if (!activities)
        return -ENOMEM;
    add_activities(a, l, activities);
    int code = gn_graph_join_same(activities, l);
    struct thread t = {.adding = a, .activities = activities, .probe_ns = probe_ns(a, &l->head)};
    const struct last_moment last = last_moment(a, l, index);
    t.row = put_location(&t, index, &l->head, &last);
    for (uint32_t i = 0; i < l->node_count; i++)
        add_node(&t, &l->nodes[i], activities[i], last.inside && i == last.node ? last.ns : 0);
    for (uint32_t i = 0; i < l->edge_count; i++)
        add_edge(&t, &l->edges[i]);
    add_peers(&t, l);
    add_completions(&t, l);
    uint32_t ends[2];
    add_tail(&t, l, index, &last, ends);
    gn_adding_series(a, index, t.row, activities, l->node_count, t.probe_ns, ends);
    gn_adding_samples(a, index, t.row, activities, l->node_count);
    free(activities);
    return code;
}

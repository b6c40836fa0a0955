/* profile/add — one process's snapshot into the tables. */
#include "profile/profile.h"

#include "calls.h"
#include "graph/source_line.h"
#include "profile/statement.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct adder {
    sqlite3 *db;
    struct gn_error *err;
    const struct gn_process_facts *facts;
    const struct gn_snapshot *snapshot;
    int64_t process;
    int64_t *modules; /* ids by index in the snapshot */
    int64_t *callpaths;
    int64_t *activities; /* of the location at hand */
    double probe_ns;     /* per event, of the location at hand */
    int code;
};

/* Runs a statement unless one has failed before. */
#define RUN(adder, ...)                                                                                      \
    ((adder)->code = (adder)->code ? (adder)->code : gn_sql((adder)->db, (adder)->err, __VA_ARGS__))

static int64_t to_ns(const struct adder *a, uint64_t ticks)
{
    return (int64_t)llround((double)ticks * a->facts->tick_ns);
}

static int64_t between_ns(const struct adder *a, uint64_t from, uint64_t to)
{
    return to > from ? to_ns(a, to - from) : 0;
}

/* When this process's time ends, as well as is known. */
static uint64_t end_ticks(const struct adder *a)
{
    uint64_t own = GN_GET(a->snapshot->head.end_ticks);
    return own ? own : a->facts->end_ticks;
}

static void add_modules(struct adder *a)
{
    for (uint32_t i = 0; i < a->snapshot->module_count; i++) {
        const struct gn_module *module = &a->snapshot->modules[i];
        char hex[2 * GN_BUILD_ID_BYTES + 1] = "";
        for (uint32_t b = 0; b < module->build_id_bytes; b++)
            snprintf(hex + 2 * b, 3, "%02x", module->build_id[b]);
        if (module->kind == GN_MODULE_PYTHON)
            strcpy(hex, GN_SOURCE_BUILD_ID);
        RUN(a, "INSERT OR IGNORE INTO module(path, build_id) VALUES(?, ?)", "ss", module->path, hex);
        a->modules[i] = gn_sql_value(a->db, 0, "SELECT id FROM module WHERE path = ? AND build_id = ?", "ss",
                                     module->path, hex);
    }
}

/* The id of the place of a frame; one in a source file needs no looking up later. */
static int64_t add_site(struct adder *a, const struct gn_frame *frame)
{
    const struct gn_module *module = &a->snapshot->modules[frame->module];
    const int64_t in = a->modules[frame->module];
    int64_t offset = (int64_t)frame->offset;
    if (module->kind == GN_MODULE_PYTHON) {
        const struct gn_source_line *source = &a->snapshot->sources[frame->offset];
        offset = (int64_t)gn_source_line_key(source);
        RUN(a,
            "INSERT OR IGNORE INTO site(module, offset, resolved, function, file, line) VALUES(?, ?, 1, ?, "
            "?, ?)",
            "iissi", in, offset, source->function, module->path, (int64_t)source->line);
    } else {
        RUN(a, "INSERT OR IGNORE INTO site(module, offset) VALUES(?, ?)", "ii", in, offset);
    }
    return gn_sql_value(a->db, 0, "SELECT id FROM site WHERE module = ? AND offset = ?", "ii", in, offset);
}

/* A frame's parent has a smaller index: one pass from the root outwards. */
static void add_callpaths(struct adder *a)
{
    int *depth = calloc(a->snapshot->frame_count + 1u, sizeof *depth);
    if (!depth) {
        a->code = gn_fail(a->err, -ENOMEM, "no memory for %u call paths", a->snapshot->frame_count);
        return;
    }
    for (uint32_t i = 1; i < a->snapshot->frame_count && a->code == 0; i++) {
        const struct gn_frame *frame = &a->snapshot->frames[i];
        depth[i] = depth[frame->parent] + 1;
        int64_t parent = a->callpaths[frame->parent], site = add_site(a, frame);
        RUN(a, "INSERT OR IGNORE INTO callpath(parent, site, depth, folded) VALUES(?, ?, ?, ?)", "iiii",
            parent, site, (int64_t)depth[i], (int64_t)frame->folded);
        a->callpaths[i] = gn_sql_value(a->db, 0, "SELECT id FROM callpath WHERE parent = ? AND site = ?",
                                       "ii", parent, site);
    }
    free(depth);
}

struct description {
    const char *kind, *name, *group;
};

static struct description describe(const struct adder *a, const struct gn_node *node)
{
    uint32_t activity = GN_GET(node->activity);
    if (activity < GN_CALL_COUNT)
        return (struct description){"mpi", gn_call_names[activity], gn_call_groups[activity]};
    switch (activity) {
    case GN_ACTIVITY_START:
        return (struct description){"start", "program start", ""};
    case GN_ACTIVITY_END:
        return (struct description){"end", "program end", ""};
    case GN_ACTIVITY_REGION_BEGIN:
        return (struct description){"region_begin", a->snapshot->names[GN_GET(node->name)], ""};
    case GN_ACTIVITY_REGION_END:
        return (struct description){"region", a->snapshot->names[GN_GET(node->name)], ""};
    case GN_ACTIVITY_OFF:
        return (struct description){"off", "measurement off", ""};
    default:
        return (struct description){"other", "activities without room", ""};
    }
}

static void add_activities(struct adder *a, const struct gn_location_copy *location)
{
    for (uint32_t i = 0; i < location->node_count; i++) {
        struct description d = describe(a, &location->nodes[i]);
        int64_t callpath = a->callpaths[GN_GET(location->nodes[i].path)];
        RUN(a, "INSERT OR IGNORE INTO activity(kind, name, call_group, callpath) VALUES(?, ?, ?, ?)", "sssi",
            d.kind, d.name, d.group, callpath);
        a->activities[i] =
            gn_sql_value(a->db, 0, "SELECT id FROM activity WHERE kind = ? AND name = ? AND callpath = ?",
                         "ssi", d.kind, d.name, callpath);
    }
}

/* Standard deviation from exact sums: sqrt(sum of squares / n - mean²), in 64-bit mantissas. */
static double spread_ns(const struct adder *a, const struct gn_stats *stats)
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

/* ---- activities that occur twice in a location: call sites of a library that was unloaded and loaded again
 * ---- */

static void join_stats(struct gn_stats *into, const struct gn_stats *from)
{
    if (GN_GET(from->count) == 0)
        return;
    if (GN_GET(into->count) == 0 || GN_GET(from->min_ticks) < GN_GET(into->min_ticks))
        GN_SET(into->min_ticks, GN_GET(from->min_ticks));
    if (GN_GET(from->max_ticks) > GN_GET(into->max_ticks))
        GN_SET(into->max_ticks, GN_GET(from->max_ticks));
    uint64_t low = GN_GET(into->squares_low), new_low = low + GN_GET(from->squares_low);
    GN_SET(into->squares_low, new_low);
    GN_ADD(into->squares_high, GN_GET(from->squares_high) + (new_low < low));
    GN_ADD(into->total_ticks, GN_GET(from->total_ticks));
    GN_ADD(into->count, GN_GET(from->count));
}

/* Adds node b to node a of the private copy and empties it; edges and peers follow in join_same. */
static void join_nodes(struct gn_node *a, struct gn_node *b)
{
    join_stats(&a->time, &b->time);
    GN_ADD(a->errors, GN_GET(b->errors));
    GN_ADD(a->messages, GN_GET(b->messages));
    GN_ADD(a->bytes, GN_GET(b->bytes));
    for (int i = 0; i < GN_BUCKETS; i++) {
        GN_ADD(a->time_log2[i], GN_GET(b->time_log2[i]));
        GN_ADD(a->size_log2[i], GN_GET(b->size_log2[i]));
    }
    memset(b, 0, sizeof *b);
}

static int by_ends(const void *a, const void *b)
{
    const struct gn_edge *x = a, *y = b;
    if (GN_GET(x->from) != GN_GET(y->from))
        return GN_GET(x->from) < GN_GET(y->from) ? -1 : 1;
    return (GN_GET(x->to) > GN_GET(y->to)) - (GN_GET(x->to) < GN_GET(y->to));
}

/* Edges between the same two nodes become one. */
static void join_edges(struct gn_location_copy *l)
{
    uint32_t kept = 0;
    qsort(l->edges, l->edge_count, sizeof *l->edges, by_ends);
    for (uint32_t i = 1; i < l->edge_count; i++) {
        struct gn_edge *last = &l->edges[kept], *next = &l->edges[i];
        if (by_ends(last, next) != 0) {
            memmove(&l->edges[++kept], next, sizeof *next);
            continue;
        }
        join_stats(&last->time, &next->time);
        GN_ADD(last->bytes, GN_GET(next->bytes));
        GN_ADD(last->probe_ticks, GN_GET(next->probe_ticks));
        GN_ADD(last->exact, GN_GET(next->exact));
    }
    if (l->edge_count)
        l->edge_count = kept + 1;
}

struct numbered {
    int64_t activity;
    uint32_t node;
};

static int by_activity(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->activity != y->activity)
        return x->activity < y->activity ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* representative[i]: the first node of the same activity. False when all are different. */
static bool find_same(const struct adder *a, struct gn_location_copy *l, uint32_t *representative)
{
    bool any = false;
    struct numbered *order = calloc(l->node_count, sizeof *order);
    for (uint32_t i = 0; order && i < l->node_count; i++)
        order[i] = (struct numbered){a->activities[i], i};
    if (order)
        qsort(order, l->node_count, sizeof *order, by_activity);
    for (uint32_t i = 0; order && i < l->node_count; i++) {
        bool same = i > 0 && order[i].activity == order[i - 1].activity;
        representative[order[i].node] = same ? representative[order[i - 1].node] : order[i].node;
        any = any || same;
    }
    free(order);
    return any;
}

static void join_same(const struct adder *a, struct gn_location_copy *l)
{
    uint32_t *to = calloc(l->node_count, sizeof *to);
    if (to && find_same(a, l, to)) {
        for (uint32_t i = 0; i < l->node_count; i++)
            if (to[i] != i)
                join_nodes(&l->nodes[to[i]], &l->nodes[i]);
        for (uint32_t i = 0; i < l->edge_count; i++) {
            GN_SET(l->edges[i].from, to[GN_GET(l->edges[i].from)]);
            GN_SET(l->edges[i].to, to[GN_GET(l->edges[i].to)]);
        }
        for (uint32_t i = 0; i < l->peer_count; i++)
            GN_SET(l->peers[i].node, to[GN_GET(l->peers[i].node)]);
        if (l->head.now_node < l->node_count)
            l->head.now_node = to[l->head.now_node];
    }
    join_edges(l); /* memory that the program scribbled over may name an edge twice */
    free(to);
}

static void add_node(struct adder *a, int64_t location, const struct gn_node *node, int64_t activity,
                     int64_t open_ns)
{
    const struct gn_stats *t = &node->time;
    if (GN_GET(t->count) == 0 && open_ns == 0 && GN_GET(node->messages) == 0)
        return;
    RUN(a, "INSERT INTO node VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "iiiiiidiiiibb", location,
        activity, (int64_t)GN_GET(t->count), to_ns(a, GN_GET(t->total_ticks)), to_ns(a, GN_GET(t->min_ticks)),
        to_ns(a, GN_GET(t->max_ticks)), spread_ns(a, t), open_ns, (int64_t)GN_GET(node->errors),
        (int64_t)GN_GET(node->messages), (int64_t)GN_GET(node->bytes), (const void *)node->time_log2,
        (int)sizeof node->time_log2, (const void *)node->size_log2, (int)sizeof node->size_log2);
}

static void insert_edge(struct adder *a, int64_t location, int64_t from, int64_t to, const struct gn_stats *t,
                        int64_t own_ns, int64_t bytes)
{
    RUN(a, "INSERT INTO edge VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "iiiiiiiidi", location, from, to,
        (int64_t)GN_GET(t->count), to_ns(a, GN_GET(t->total_ticks)), own_ns, to_ns(a, GN_GET(t->min_ticks)),
        to_ns(a, GN_GET(t->max_ticks)), spread_ns(a, t), bytes);
}

/* Our own work around the calls lies in the edges; its mean cost is known, and the extraordinary part
 * exactly. */
static void add_edge(struct adder *a, int64_t location, const struct gn_edge *edge)
{
    uint64_t count = GN_GET(edge->time.count);
    if (count == 0)
        return;
    uint64_t exact = GN_GET(edge->exact) < count ? GN_GET(edge->exact) : count;
    double probe =
        (double)(count - exact) * a->probe_ns + (double)GN_GET(edge->probe_ticks) * a->facts->tick_ns;
    int64_t own_ns = (int64_t)llround((double)GN_GET(edge->time.total_ticks) * a->facts->tick_ns - probe);
    insert_edge(a, location, a->activities[GN_GET(edge->from)], a->activities[GN_GET(edge->to)], &edge->time,
                own_ns > 0 ? own_ns : 0, (int64_t)GN_GET(edge->bytes));
}

static void add_peer(struct adder *a, int64_t location, const struct gn_peer *peer)
{
    int64_t rank = GN_GET(peer->peer) == GN_PEER_OUTSIDE ? -1 : (int64_t)GN_GET(peer->peer);
    RUN(a,
        "INSERT INTO peer VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET sent_messages = "
        "sent_messages +"
        " excluded.sent_messages, sent_bytes = sent_bytes + excluded.sent_bytes, received_messages ="
        " received_messages + excluded.received_messages, received_bytes = received_bytes + "
        "excluded.received_bytes",
        "iiiiiii", location, a->activities[GN_GET(peer->node)], rank, (int64_t)GN_GET(peer->sent_messages),
        (int64_t)GN_GET(peer->sent_bytes), (int64_t)GN_GET(peer->received_messages),
        (int64_t)GN_GET(peer->received_bytes));
}

/* What the location was doing when its time ended: a call that did not return, or computing after the last
 * one. */
struct last_moment {
    uint32_t node;
    bool inside;
    int64_t ns;
};

static struct last_moment last_moment(const struct adder *a, const struct gn_location_copy *l, uint32_t index)
{
    struct last_moment last = {l->head.now_node < l->node_count ? l->head.now_node : 0,
                               l->head.now_inside == 1, 0};
    /* threads other than the first may have ended long before the process: only an open call is known to last
     */
    if (index == 0 || last.inside)
        last.ns = between_ns(a, l->head.now_ticks, end_ticks(a));
    if (l->head.now_inside == 2 || !l->head.in_use) /* the end was recorded */
        last.ns = 0;
    return last;
}

static void add_tail(struct adder *a, int64_t location, const struct last_moment *last)
{
    if (last->inside || last->ns == 0)
        return;
    struct gn_stats once = {.count = 1};
    uint64_t ticks = (uint64_t)((double)last->ns / a->facts->tick_ns);
    GN_SET(once.total_ticks, ticks);
    GN_SET(once.min_ticks, ticks);
    GN_SET(once.max_ticks, ticks);
    insert_edge(a, location, a->activities[last->node], a->activities[1], &once, last->ns, 0);
}

static double probe_ns(const struct adder *a, const struct gn_location_head *head)
{
    return head->sampled_events
               ? (double)head->sampled_ticks / (double)head->sampled_events * a->facts->tick_ns
               : 0;
}

static void add_location(struct adder *a, uint32_t index)
{
    struct gn_location_copy *l = &a->snapshot->locations[index]; /* our copy: it may be tidied */
    if (l->node_count < 3)                                       /* taken, but nothing recorded yet */
        return;
    a->activities = calloc(l->node_count, sizeof *a->activities);
    if (!a->activities) {
        a->code = gn_fail(a->err, -ENOMEM, "no memory for %u activities", l->node_count);
        return;
    }
    add_activities(a, l);
    join_same(a, l);
    a->probe_ns = probe_ns(a, &l->head);
    struct last_moment last = last_moment(a, l, index);
    int64_t elapsed_ns = to_ns(a, l->head.past_ticks) + last.ns +
                         (l->head.in_use ? between_ns(a, l->head.first_ticks, l->head.now_ticks) : 0);
    int64_t cost_ns = (int64_t)((double)(l->head.events - l->head.exact_events) * a->probe_ns) +
                      to_ns(a, l->head.exact_ticks);
    RUN(a, "INSERT INTO location VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "iiiiidiiiii", a->process,
        (int64_t)index, (int64_t)l->head.thread_id, elapsed_ns, (int64_t)l->head.events, a->probe_ns, cost_ns,
        a->activities[last.node], (int64_t)last.inside, last.ns, (int64_t)l->head.unwound);
    int64_t location = sqlite3_last_insert_rowid(a->db);
    for (uint32_t i = 0; i < l->node_count && a->code == 0; i++)
        add_node(a, location, &l->nodes[i], a->activities[i], last.inside && i == last.node ? last.ns : 0);
    for (uint32_t i = 0; i < l->edge_count && a->code == 0; i++)
        add_edge(a, location, &l->edges[i]);
    for (uint32_t i = 0; i < l->peer_count && a->code == 0; i++)
        add_peer(a, location, &l->peers[i]);
    add_tail(a, location, &last);
    free(a->activities);
    a->activities = NULL;
}

/* Processes that the program starts itself are started by MPI, past us. */
static void add_spawned(struct adder *a)
{
    int64_t calls =
        gn_sql_value(a->db, 0,
                     "SELECT sum(n.count) FROM node n JOIN activity a ON a.id = n.activity JOIN location l"
                     " ON l.id = n.location WHERE l.process = ? AND a.name LIKE 'MPI_Comm_spawn%'",
                     "i", a->process);
    if (calls > 0)
        RUN(a, "INSERT INTO lost VALUES(?, 'calls of MPI_Comm_spawn, whose processes are not measured', ?)",
            "ii", a->process, calls);
}

static void add_lost(struct adder *a)
{
    const struct gn_snapshot *s = a->snapshot;
    int64_t nodes = 0, edges = 0, peers = 0, requests = 0, paths = 0, calls = 0, regions = 0;
    for (uint32_t i = 0; i < s->location_count; i++) {
        const struct gn_location_copy *l = &s->locations[i];
        nodes += l->node_count > 2 ? (int64_t)GN_GET(l->nodes[2].time.count) : 0;
        edges += (int64_t)l->head.lost_edges;
        peers += (int64_t)l->head.lost_peers;
        requests += (int64_t)l->head.lost_requests;
        paths += (int64_t)l->head.lost_paths;
        calls += (int64_t)l->head.lost_calls;
        regions += (int64_t)l->head.lost_regions;
    }
    const struct {
        const char *what;
        int64_t count;
    } lost[] = {{"events without a node of their own", nodes},
                {"transitions without an edge of their own", edges},
                {"messages missing from the communication matrix", peers},
                {"nonblocking receives not followed to completion", requests},
                {"call paths cut short", paths},
                {"calls left by a jump out of them", calls},
                {"regions nested too deep", regions},
                {"threads not measured", (int64_t)GN_GET(s->head.missed_threads)},
                {"records torn by the end of the process", (int64_t)s->torn},
                {"records with impossible contents", (int64_t)s->dropped}};
    add_spawned(a);
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        if (lost[i].count > 0)
            RUN(a, "INSERT INTO lost VALUES(?, ?, ?)", "isi", a->process, lost[i].what, lost[i].count);
}

static int64_t add_host(struct adder *a)
{
    RUN(a, "INSERT OR IGNORE INTO host(name) VALUES(?)", "s", a->facts->host);
    return gn_sql_value(a->db, 0, "SELECT id FROM host WHERE name = ?", "s", a->facts->host);
}

static bool is_complete(const struct gn_snapshot *s)
{
    uint32_t state = GN_GET(s->head.state);
    return (state == GN_STATE_FINAL || state == GN_STATE_EXITED) && GN_GET(s->head.finalized_ticks) != 0 &&
           !GN_GET(s->head.partial);
}

/* A time that another program's memory says; 0 when it is none. */
static int64_t plausible_ns(uint64_t ns)
{
    return ns < (uint64_t)INT64_MAX / 1024 ? (int64_t)ns : 0;
}

static void add_process(struct adder *a)
{
    const struct gn_tag *h = &a->snapshot->head;
    uint64_t start = GN_GET(h->start_ticks);
    RUN(a,
        "INSERT INTO process VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, "
        "nullif(?, 0), ?)",
        "iiisssiisiisdiiiii", (int64_t)(h->rank >= 0 ? h->rank : a->facts->launcher_rank), add_host(a),
        (int64_t)h->pid, h->exe, h->flavour, h->library, (int64_t)h->world, (int64_t)h->thread_level,
        a->facts->ended, (int64_t)a->facts->exit_status, (int64_t)is_complete(a->snapshot), h->message,
        a->facts->tick_ns, between_ns(a, start, end_ticks(a)), between_ns(a, start, GN_GET(h->init_ticks)),
        between_ns(a, start, GN_GET(h->finalized_ticks)), plausible_ns(GN_GET(h->cpu_ns)),
        plausible_ns(GN_GET(h->startup_cpu_ns)));
    a->process = sqlite3_last_insert_rowid(a->db);
}

static void add_last_calls(struct adder *a)
{
    const struct gn_last_calls_place place = {a->process, a->callpaths, a->snapshot->frame_count,
                                              GN_GET(a->snapshot->head.start_ticks), a->facts->tick_ns};
    if (a->code == 0 && a->facts->last_calls && !is_complete(a->snapshot))
        a->code = gn_profile_add_last_calls(a->db, a->facts->last_calls, &place, a->err);
}

int gn_profile_add(sqlite3 *db, const struct gn_process_facts *facts, const struct gn_snapshot *snapshot,
                   struct gn_error *err)
{
    struct adder a = {.db = db, .err = err, .facts = facts, .snapshot = snapshot};
    a.modules = calloc(snapshot->module_count + 1u, sizeof *a.modules);
    a.callpaths = calloc(snapshot->frame_count + 1u, sizeof *a.callpaths);
    if (!a.modules || !a.callpaths)
        a.code = gn_fail(err, -ENOMEM, "no memory for the profile of a process");
    RUN(&a, "BEGIN", "");
    if (a.code == 0) {
        add_process(&a);
        add_modules(&a);
        add_callpaths(&a);
        for (uint32_t i = 0; i < snapshot->location_count && a.code == 0; i++)
            add_location(&a, i);
        add_lost(&a);
        add_last_calls(&a);
    }
    int failed = a.code;
    gn_sql(db, failed ? NULL : err, failed ? "ROLLBACK" : "COMMIT", "");
    free(a.modules);
    free(a.callpaths);
    return failed;
}

int gn_profile_add_missing(sqlite3 *db, const struct gn_process_facts *facts, const char *message,
                           struct gn_error *err)
{
    struct adder a = {.db = db, .err = err, .facts = facts};
    RUN(&a, "INSERT INTO process(rank, host, ended, exit_status, complete, message) VALUES(?, ?, ?, ?, 0, ?)",
        "iisis", (int64_t)facts->launcher_rank, add_host(&a), facts->ended, (int64_t)facts->exit_status,
        message);
    return a.code;
}

#include "graph/process_inside.h"

#include "base/printable.h"
#include "event/activity.h"
#include "graph/last_calls.h"
#include "graph/metrics.h"
#include "graph/sampled.h"
#include "graph/world.h"
#include "image/source_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- call paths ---- */

uint32_t gn_adding_module(const struct gn_graph_adding *a, const char *path, const uint8_t *build_id,
                          uint32_t build_id_bytes)
{
    char hex[2 * GN_BUILD_ID_BYTES + 1] = "";
    for (uint32_t b = 0; b < build_id_bytes && b < GN_BUILD_ID_BYTES; b++)
        snprintf(hex + 2 * b, 3, "%02x", build_id[b]);
    const struct gn_graph_module row = {gn_graph_text(a->graph, path), gn_graph_text(a->graph, hex),
                                        GN_GRAPH_UNKNOWN};
    return gn_graph_put(a->graph, GN_GRAPH_MODULE, &row);
}

uint32_t gn_adding_source(const struct gn_graph_adding *a, const char *path)
{
    const struct gn_graph_module row = {gn_graph_text(a->graph, path),
                                        gn_graph_text(a->graph, GN_SOURCE_BUILD_ID), GN_GRAPH_UNKNOWN};
    return gn_graph_put(a->graph, GN_GRAPH_MODULE, &row);
}

static void add_modules(struct gn_graph_adding *a)
{
    for (uint32_t i = 0; i < a->snapshot->module_count; i++) {
        const struct gn_module *module = &a->snapshot->modules[i];
        a->modules[i] = module->kind == GN_MODULE_PYTHON
                            ? gn_adding_source(a, module->path)
                            : gn_adding_module(a, module->path, module->build_id, module->build_id_bytes);
    }
}

/* The place of a frame; one in a source file needs no looking up later. */
static uint32_t add_site(struct gn_graph_adding *a, const struct gn_tag_frame *frame)
{
    const struct gn_module *module = &a->snapshot->modules[frame->module];
    struct gn_graph_site row = {.module = a->modules[frame->module],
                                .offset = (int64_t)frame->offset,
                                .line = GN_GRAPH_UNKNOWN,
                                .symbol_offset = GN_GRAPH_UNKNOWN,
                                .loop_line = GN_GRAPH_UNKNOWN};
    if (module->kind == GN_MODULE_PYTHON) {
        const struct gn_source_line *source = &a->snapshot->sources[frame->offset];
        row.offset = (int64_t)gn_source_line_key(source);
        row.resolved = 1;
        row.function = gn_graph_text(a->graph, source->function);
        row.file = gn_graph_text(a->graph, module->path);
        row.line = (int64_t)source->line;
    }
    return gn_graph_put(a->graph, GN_GRAPH_SITE, &row);
}

/* A frame's parent has a smaller index: one pass from the root outwards. What finds no memory hangs from the
 * root, and the whole process is given up. */
static void add_paths(struct gn_graph_adding *a)
{
    for (uint32_t i = 1; i < a->snapshot->frame_count; i++) {
        const struct gn_tag_frame *frame = &a->snapshot->frames[i];
        const struct gn_graph_path *paths = gn_graph_rows(a->graph, GN_GRAPH_PATH);
        const struct gn_graph_path row = {.parent = a->paths[frame->parent],
                                          .depth = paths[a->paths[frame->parent]].depth + 1,
                                          .site = add_site(a, frame),
                                          .folded = (int64_t)frame->folded};
        const uint32_t path = gn_graph_put(a->graph, GN_GRAPH_PATH, &row);
        a->paths[i] = path == GN_GRAPH_NONE ? GN_GRAPH_ROOT : path;
    }
}

/* ---- the process ---- */

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

static uint32_t put_host(struct gn_graph_adding *a)
{
    const struct gn_graph_host row = {gn_graph_text(a->graph, a->facts->host)};
    return gn_graph_put(a->graph, GN_GRAPH_HOST, &row);
}

static void add_process(struct gn_graph_adding *a)
{
    struct gn_graph *graph = a->graph;
    const struct gn_tag *h = &a->snapshot->head;
    const uint64_t start = GN_GET(h->start_ticks);
    const int rank = h->rank >= 0 ? h->rank : a->facts->launcher_rank;
    const int64_t cpu_ns = plausible_ns(GN_GET(h->cpu_ns));
    const struct gn_world_process process = {.launches = h->launches,
                                             .flavour = h->flavour,
                                             .host = a->facts->host,
                                             .rank = rank,
                                             .size = h->rank >= 0 ? h->world : 0,
                                             .pid = h->pid,
                                             .spawner = h->spawner,
                                             .start_ticks = start};
    const struct gn_graph_process row = {.rank = rank,
                                         .host = put_host(a),
                                         .world_id = gn_graph_world_of(graph, &process),
                                         .pid = (int64_t)h->pid,
                                         .exe = gn_graph_text(graph, h->exe),
                                         .flavour = gn_graph_text(graph, h->flavour),
                                         .library = gn_graph_text(graph, h->library),
                                         .world = (int64_t)h->world,
                                         .thread_level = (int64_t)h->thread_level,
                                         .ended = gn_graph_text(graph, a->facts->ended),
                                         .exit_status = (int64_t)a->facts->exit_status,
                                         .complete = (int64_t)is_complete(a->snapshot),
                                         .message = gn_graph_text(graph, h->message),
                                         .tick_ns = a->facts->tick_ns,
                                         .elapsed_ns = gn_adding_between_ns(a, start, gn_adding_end_ticks(a)),
                                         .init_ns = gn_adding_between_ns(a, start, GN_GET(h->init_ticks)),
                                         .finalized_ns =
                                             gn_adding_between_ns(a, start, GN_GET(h->finalized_ticks)),
                                         .cpu_ns = cpu_ns ? cpu_ns : GN_GRAPH_UNKNOWN,
                                         .startup_cpu_ns = plausible_ns(GN_GET(h->startup_cpu_ns)),
                                         .traced = (int64_t)a->facts->traced,
                                         .spawned = (int64_t)GN_GET(h->spawned),
                                         .start_ticks = a->facts->start_ticks};
    a->process = gn_graph_put(graph, GN_GRAPH_PROCESS, &row);
}

static void add_lost(struct gn_graph_adding *a)
{
    const struct gn_snapshot *s = a->snapshot;
    int64_t nodes = 0, edges = 0, peers = 0, completions = 0, requests = 0, paths = 0, calls = 0, regions = 0;
    for (uint32_t i = 0; i < s->location_count; i++) {
        const struct gn_location_copy *l = &s->locations[i];
        nodes += l->node_count > 2 ? (int64_t)GN_GET(l->nodes[2].time.count) : 0;
        edges += (int64_t)l->head.lost_edges;
        peers += (int64_t)l->head.lost_peers;
        completions += (int64_t)l->head.lost_completions;
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
                {"requests whose start and end are not told together", completions},
                {"nonblocking receives not followed to completion", requests},
                {"call paths cut short", paths},
                {"calls left by a jump out of them", calls},
                {"regions nested too deep", regions},
                {"threads not measured", (int64_t)GN_GET(s->head.missed_threads)},
                {"records torn by the end of the process", (int64_t)s->torn},
                {"records with impossible contents", (int64_t)s->dropped}};
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
        const struct gn_graph_lost row = {a->process, gn_graph_text(a->graph, lost[i].what), lost[i].count};
        if (lost[i].count > 0)
            gn_graph_put(a->graph, GN_GRAPH_LOST, &row);
    }
}

/* ---- how it ended ---- */

static int64_t unless(int64_t value, int64_t unknown)
{
    return value == unknown ? GN_GRAPH_UNKNOWN : value;
}

/* By enum gn_fatal_state. */
static const char *const fatal_kinds[] = {
    [GN_FATAL_ERROR] = "error", [GN_FATAL_ABORT] = "abort", [GN_FATAL_EXIT] = "exit"};

/* Whether the call that it happened in is the one that the process ended in. */
static bool is_last(const struct gn_snapshot *s, const struct gn_fatal *fatal)
{
    const uint32_t state = GN_GET(fatal->state), i = fatal->location;
    return state >= GN_FATAL_ERROR && state <= GN_FATAL_EXIT && i < s->location_count &&
           s->locations[i].head.now_inside == 1 && s->locations[i].head.now_ticks == fatal->enter_ticks;
}

/* What another program's memory says, which need not end. NULL: nothing. */
static const char *said(struct gn_graph *graph, const char *bytes, int most)
{
    char raw[GN_ERROR_TEXT_BYTES + 1], text[GN_ERROR_TEXT_BYTES + 1];
    snprintf(raw, sizeof raw, "%.*s", most, bytes);
    gn_printable_copy(text, sizeof text, raw);
    return gn_graph_text(graph, text[0] ? text : NULL);
}

static void add_fatal(struct gn_graph_adding *a)
{
    static const char *const asks[] = {[GN_ASKS_TO] = "to", [GN_ASKS_FROM] = "from", [GN_ASKS_ROOT] = "root"};
    const struct gn_fatal *fatal = &a->snapshot->head.fatal;
    const bool asked = fatal->asks > GN_ASKS_NOBODY && fatal->asks <= GN_ASKS_ROOT;
    if (is_complete(a->snapshot) || strcmp(a->facts->ended, "running") == 0 || !is_last(a->snapshot, fatal))
        return;
    const bool has_code = GN_GET(fatal->state) != GN_FATAL_EXIT;
    const struct gn_graph_fatal row = {
        .process = a->process,
        .kind = gn_graph_text(a->graph, fatal_kinds[GN_GET(fatal->state)]),
        .thread = (int64_t)fatal->location,
        .code = has_code ? (int64_t)fatal->code : GN_GRAPH_UNKNOWN,
        .class = said(a->graph, fatal->class_name, GN_ERROR_CLASS_BYTES),
        .text = said(a->graph, fatal->text, GN_ERROR_TEXT_BYTES),
        .asks = gn_graph_text(a->graph, asked ? asks[fatal->asks] : NULL),
        .peer = asked ? unless(fatal->peer, GN_LAST_UNKNOWN) : GN_GRAPH_UNKNOWN,
        .tag = asked && fatal->tag != -1 ? unless(fatal->tag, GN_LAST_UNKNOWN) : GN_GRAPH_UNKNOWN,
        .in_world = (int64_t)(fatal->in_world == 1)};
    gn_graph_put(a->graph, GN_GRAPH_FATAL, &row);
}

/* A call of which the graph does not have the activity is left out: it was made after the snapshot. */
static void add_last_call(struct gn_graph_adding *a, const struct gn_last_call *c, int64_t position)
{
    if (!gn_activity_is_call(c->activity) || c->path >= a->snapshot->frame_count)
        return;
    const struct gn_graph_activity activity = {
        .kind = gn_graph_text(a->graph, "mpi"),
        .name = gn_graph_text(a->graph, gn_activity_def(c->activity)->name),
        .callpath = a->paths[c->path]};
    const struct gn_graph_last_call row = {
        .process = a->process,
        .activity = gn_graph_find(a->graph, GN_GRAPH_ACTIVITY, &activity),
        .thread = (int64_t)c->thread,
        .position = position,
        .inside = (int64_t)c->open,
        .enter_ns = gn_adding_between_ns(a, GN_GET(a->snapshot->head.start_ticks), c->enter_ticks),
        .length_ns = gn_adding_between_ns(a, c->enter_ticks, c->leave_ticks),
        .calls = c->calls,
        .sent_messages = c->sent.messages,
        .sent_to = unless(c->sent.peer, GN_LAST_UNKNOWN),
        .sent_tag = unless(c->sent.tag, GN_LAST_UNKNOWN),
        .sent_bytes = c->sent.bytes,
        .received_messages = c->received.messages,
        .received_from = unless(c->received.peer, GN_LAST_UNKNOWN),
        .received_tag = unless(c->received.tag, GN_LAST_UNKNOWN),
        .received_bytes = c->received.bytes,
        .completed = c->completed,
        .communicator = gn_graph_text(a->graph, c->comm[0] ? c->comm : NULL),
        .root = unless(c->root, GN_LAST_UNKNOWN)};
    if (row.activity != GN_GRAPH_NONE)
        gn_graph_put(a->graph, GN_GRAPH_LAST_CALL, &row);
}

static void add_resource(struct gn_graph_adding *a)
{
    if (!a->facts->resource)
        return;
    struct gn_graph_resource row = *a->facts->resource;
    row.process = a->process;
    row.cores = gn_graph_text(a->graph, row.cores);
    gn_graph_put(a->graph, GN_GRAPH_RESOURCE, &row);
}

static void add_last_calls(struct gn_graph_adding *a)
{
    const struct gn_last_calls *last = a->facts->last_calls;
    int64_t position = 0;
    if (!last || is_complete(a->snapshot))
        return;
    const struct gn_graph_ending ending = {a->process, (int64_t)last->after_ticks,
                                           (int64_t)last->before_ticks};
    if (last->before_ticks)
        gn_graph_put(a->graph, GN_GRAPH_ENDING, &ending);
    for (size_t i = last->count; i-- > 0;) { /* the last one is number 1 */
        const bool same = i + 1 < last->count && last->calls[i + 1].thread == last->calls[i].thread;
        position = same ? position + 1 : 1;
        add_last_call(a, &last->calls[i], position);
    }
}

static void add_sampling(struct gn_graph_adding *a)
{
    const struct gn_sampled *s = a->facts->sampled;
    if (!s)
        return;
    const struct gn_graph_sampling row = {.process = a->process,
                                          .state = gn_graph_text(a->graph, s->state),
                                          .reason = gn_graph_text(a->graph, s->reason),
                                          .time_ns = (int64_t)s->time_ns,
                                          .samples = (int64_t)s->samples,
                                          .bursts = (int64_t)s->bursts,
                                          .by_place = (int64_t)s->by_place,
                                          .unattributed = (int64_t)s->unattributed + a->unattributed,
                                          .lost = (int64_t)s->lost,
                                          .helpers = (int64_t)s->helpers,
                                          .is_whole = s->is_whole,
                                          .with_kernel = s->with_kernel};
    gn_graph_put(a->graph, GN_GRAPH_SAMPLING, &row);
}

static void add_counters(struct gn_graph_adding *a)
{
    const struct gn_sampled *s = a->facts->sampled;
    for (size_t i = 0; s && i < s->metric_count; i++) {
        const struct gn_sampled_metric *m = &s->metrics[i];
        const struct gn_graph_counter row = {.process = a->process,
                                             .metric = m->number,
                                             .name = gn_graph_text(a->graph, gn_metric(m->number)->name),
                                             .total = (int64_t)m->total,
                                             .samples = (int64_t)m->samples,
                                             .is_scaled = m->is_scaled,
                                             .reason = gn_graph_text(a->graph, m->reason)};
        gn_graph_put(a->graph, GN_GRAPH_COUNTER, &row);
    }
}

/* ---- all of it ---- */

static int add_all(struct gn_graph_adding *a)
{
    int code = 0;
    add_process(a);
    add_modules(a);
    add_paths(a);
    for (uint32_t i = 0; i < a->snapshot->location_count && code == 0; i++)
        code = gn_adding_location(a, i);
    add_lost(a);
    add_fatal(a);
    add_last_calls(a);
    add_sampling(a);
    add_counters(a);
    add_resource(a);
    return code;
}

int gn_graph_add_process(struct gn_graph *graph, const struct gn_process_facts *facts,
                         struct gn_snapshot *snapshot, struct gn_error *err)
{
    const size_t before = gn_graph_count(graph, GN_GRAPH_PROCESS);
    struct gn_graph_adding a = {.graph = graph, .facts = facts, .snapshot = snapshot};
    a.modules = calloc(snapshot->module_count + 1u, sizeof *a.modules);
    a.paths = calloc(snapshot->frame_count + 1u, sizeof *a.paths);
    int code = a.modules && a.paths ? add_all(&a) : -ENOMEM;
    if (code == 0)
        code = gn_graph_check(graph, NULL);
    if (code != 0) {
        gn_graph_shrink(graph, before);
        gn_fail(err, code, "no memory for the graph of a process");
    }
    free(a.modules);
    free(a.paths);
    return code;
}

int gn_graph_add_missing(struct gn_graph *graph, const struct gn_process_facts *facts, const char *message,
                         struct gn_error *err)
{
    struct gn_graph_adding a = {.graph = graph, .facts = facts};
    const struct gn_world_process process = {
        .launches = facts->launches, .host = facts->host, .rank = facts->launcher_rank};
    const struct gn_graph_process row = {.rank = facts->launcher_rank,
                                         .host = put_host(&a),
                                         .world_id = gn_graph_world_of(graph, &process),
                                         .pid = GN_GRAPH_UNKNOWN,
                                         .world = GN_GRAPH_UNKNOWN,
                                         .thread_level = GN_GRAPH_UNKNOWN,
                                         .ended = gn_graph_text(graph, facts->ended),
                                         .exit_status = (int64_t)facts->exit_status,
                                         .message = gn_graph_text(graph, message),
                                         .tick_ns = NAN,
                                         .elapsed_ns = GN_GRAPH_UNKNOWN,
                                         .init_ns = GN_GRAPH_UNKNOWN,
                                         .finalized_ns = GN_GRAPH_UNKNOWN,
                                         .cpu_ns = GN_GRAPH_UNKNOWN,
                                         .startup_cpu_ns = GN_GRAPH_UNKNOWN,
                                         .start_ticks = GN_GRAPH_UNKNOWN};
    gn_graph_put(graph, GN_GRAPH_PROCESS, &row);
    return gn_graph_check(graph, err);
}

#include "image/snapshot.h"

#include "clock/ticks.h"
#include "image/source_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_PATIENCE_MS = 5000, BUSY_TRIES = 1000, NAP_US = 50 };

static void copy_words(void *to, const void *from, size_t bytes)
{
    uint64_t *target = to;
    const gn_shared64 *source = from;
    for (size_t i = 0; i < bytes / sizeof *target; i++)
        target[i] = atomic_load_explicit((gn_shared64 *)&source[i], memory_order_relaxed);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The right to read a record again, until a moment. A writer is inside of one record at a time: once one was
 * found torn in a location, its writer is gone (or the memory is nonsense), and waiting for others is of no
 * use. */
struct patience {
    uint64_t until_ns; /* 0: used up */
};

/* Whether to try once more; takes a nap when the writer seems to wait for a processor. */
static bool once_more(struct gn_snapshot *s, struct patience *patience, uint32_t tries)
{
    s->retries++;
    if (tries < BUSY_TRIES)
        return true;
    if (patience->until_ns == 0 || gn_monotonic_ns() > patience->until_ns) {
        patience->until_ns = 0;
        s->torn++;
        return false;
    }
    usleep(NAP_US);
    return true;
}

/* Copies one record that starts with its sequence number. */
static void copy_record(struct gn_snapshot *s, void *to, void *from, size_t bytes, struct patience *patience)
{
    gn_shared32 *seq = from;
    for (uint32_t tries = 0;; tries++) {
        uint32_t before = gn_seq_read_begin(seq);
        copy_words(to, from, bytes);
        if (gn_seq_read_good(seq, before) || !once_more(s, patience, tries))
            return;
    }
}

static bool node_is_sane(const struct gn_snapshot *s, const struct gn_tag_node *node)
{
    return GN_GET(node->path) < s->frame_count && GN_GET(node->name) < s->name_count;
}

static void copy_nodes(struct gn_snapshot *s, struct gn_location_copy *copy, struct gn_location *from,
                       struct patience *patience)
{
    for (uint32_t i = 0; i < copy->node_count; i++) {
        copy_record(s, &copy->nodes[i], &from->nodes[i], sizeof from->nodes[i], patience);
        if (!node_is_sane(s, &copy->nodes[i])) {
            memset(&copy->nodes[i], 0, sizeof copy->nodes[i]); /* indices must stay: an empty node */
            GN_SET(copy->nodes[i].activity, GN_ACTIVITY_OTHER);
            s->dropped++;
        }
    }
}

static void copy_edges(struct gn_snapshot *s, struct gn_location_copy *copy, struct gn_location *from,
                       struct patience *patience)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < copy->edge_count; i++) {
        struct gn_tag_edge *edge = &copy->edges[kept];
        copy_record(s, edge, &from->edges[i], sizeof *edge, patience);
        if (GN_GET(edge->from) < copy->node_count && GN_GET(edge->to) < copy->node_count)
            kept++;
        else
            s->dropped++;
    }
    copy->edge_count = kept;
}

static void copy_peers(struct gn_snapshot *s, struct gn_location_copy *copy, struct gn_location *from,
                       struct patience *patience)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < copy->peer_count; i++) {
        struct gn_tag_peer *peer = &copy->peers[kept];
        copy_record(s, peer, &from->peers[i], sizeof *peer, patience);
        if (GN_GET(peer->node) < copy->node_count)
            kept++;
        else
            s->dropped++;
    }
    copy->peer_count = kept;
}

static void copy_completions(struct gn_snapshot *s, struct gn_location_copy *copy, struct gn_location *from,
                             struct patience *patience)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < copy->completion_count; i++) {
        struct gn_tag_completion *completion = &copy->completions[kept];
        copy_record(s, completion, &from->completions[i], sizeof *completion, patience);
        if (GN_GET(completion->from) < copy->node_count && GN_GET(completion->to) < copy->node_count)
            kept++;
        else
            s->dropped++;
    }
    copy->completion_count = kept;
}

static void copy_head(struct gn_snapshot *s, struct gn_location_head *head, struct gn_location *from,
                      struct patience *patience)
{
    for (uint32_t tries = 0;; tries++) {
        uint32_t before = gn_seq_read_begin(&from->seq);
        head->now_node = GN_GET(from->now_node);
        head->now_inside = GN_GET(from->now_inside);
        head->now_ticks = GN_GET(from->now_ticks);
        if (gn_seq_read_good(&from->seq, before) || !once_more(s, patience, tries))
            break;
    }
    head->thread_id = GN_GET(from->thread_id);
    head->first_ticks = GN_GET(from->first_ticks);
    head->in_use = GN_GET(from->in_use);
    head->past_ticks = GN_GET(from->past_ticks);
    head->events = GN_GET(from->events);
    head->sampled_events = GN_GET(from->sampled_events);
    head->sampled_ticks = GN_GET(from->sampled_ticks);
    head->exact_events = GN_GET(from->exact_events);
    head->exact_ticks = GN_GET(from->exact_ticks);
    head->unwound = GN_GET(from->unwound);
    head->lost_nodes = GN_GET(from->lost_nodes);
    head->lost_edges = GN_GET(from->lost_edges);
    head->lost_peers = GN_GET(from->lost_peers);
    head->lost_completions = GN_GET(from->lost_completions);
    head->lost_requests = GN_GET(from->lost_requests);
    head->lost_paths = GN_GET(from->lost_paths);
    head->lost_calls = GN_GET(from->lost_calls);
    head->lost_regions = GN_GET(from->lost_regions);
}

/* Counts first, from what refers to what is referred to: a record seen later may only point to records that
 * were published before it. */
static int prepare(struct gn_location_copy *copy, struct gn_location *from)
{
    copy->completion_count = smaller(GN_OBSERVE(from->completion_count), GN_MAX_COMPLETIONS);
    copy->peer_count = smaller(GN_OBSERVE(from->peer_count), GN_MAX_PEERS);
    copy->edge_count = smaller(GN_OBSERVE(from->edge_count), GN_MAX_EDGES);
    copy->node_count = smaller(GN_OBSERVE(from->node_count), GN_MAX_NODES);
    copy->completions = calloc(copy->completion_count + 1u, sizeof *copy->completions);
    copy->peers = calloc(copy->peer_count + 1u, sizeof *copy->peers);
    copy->edges = calloc(copy->edge_count + 1u, sizeof *copy->edges);
    copy->nodes = calloc(copy->node_count + 1u, sizeof *copy->nodes);
    return copy->completions && copy->peers && copy->edges && copy->nodes ? 0 : -ENOMEM;
}

/* A frame in a source file says where by its index. */
static void check_module(struct gn_snapshot *s, struct gn_tag_frame *frame)
{
    const bool known = frame->module < s->module_count;
    if (known && (s->modules[frame->module].kind != GN_MODULE_PYTHON || frame->offset < s->source_count))
        return;
    s->dropped += known;
    frame->module = 0;
}

static void copy_frames(struct gn_snapshot *s, const struct gn_tag *shared)
{
    memcpy(s->frames, shared->frames, s->frame_count * sizeof *s->frames);
    memcpy(s->modules, shared->modules, s->module_count * sizeof *s->modules);
    memcpy(s->sources, shared->sources, s->source_count * sizeof *s->sources);
    memcpy(s->names, shared->names, s->name_count * sizeof *s->names);
    for (uint32_t i = 0; i < s->frame_count; i++) {
        if (i > 0 && s->frames[i].parent >= i) {
            s->frames[i].parent = 0;
            s->dropped++;
        }
        check_module(s, &s->frames[i]);
    }
    for (uint32_t i = 0; i < s->source_count; i++)
        gn_source_line_tidy(&s->sources[i]);
    for (uint32_t i = 0; i < s->module_count; i++) {
        s->modules[i].path[GN_PATH_BYTES - 1] = '\0';
        if (s->modules[i].kind == GN_MODULE_PYTHON) /* no file's name, but what a program says */
            gn_printable(s->modules[i].path);
        s->modules[i].build_id_bytes = smaller(s->modules[i].build_id_bytes, GN_BUILD_ID_BYTES);
    }
    for (uint32_t i = 0; i < s->name_count; i++)
        s->names[i][GN_NAME_BYTES - 1] = '\0';
}

static int take(struct gn_tag *shared, uint32_t capacity, uint32_t patience_ms, struct gn_snapshot *s)
{
    s->location_count = smaller(GN_OBSERVE(shared->location_count), capacity);
    s->locations = calloc(s->location_count + 1u, sizeof *s->locations);
    if (!s->locations)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->location_count; i++)
        if (prepare(&s->locations[i], &shared->locations[i]) != 0)
            return -ENOMEM;
    s->frame_count = smaller(GN_OBSERVE(shared->frame_count), GN_MAX_FRAMES);
    s->module_count = smaller(GN_OBSERVE(shared->module_count), GN_MAX_MODULES);
    s->source_count = smaller(GN_OBSERVE(shared->source_count), GN_MAX_SOURCES);
    s->name_count = smaller(GN_OBSERVE(shared->name_count), GN_MAX_NAMES);
    s->frames = calloc(s->frame_count + 1u, sizeof *s->frames);
    s->modules = calloc(s->module_count + 1u, sizeof *s->modules);
    s->sources = calloc(s->source_count + 1u, sizeof *s->sources);
    s->names = calloc(s->name_count + 1u, sizeof *s->names);
    if (!s->frames || !s->modules || !s->sources || !s->names)
        return -ENOMEM;
    copy_frames(s, shared);
    for (uint32_t i = 0; i < s->location_count; i++) {
        struct patience left = {gn_monotonic_ns() + patience_ms * 1000000ull};
        copy_head(s, &s->locations[i].head, &shared->locations[i], &left);
        copy_nodes(s, &s->locations[i], &shared->locations[i], &left);
        copy_edges(s, &s->locations[i], &shared->locations[i], &left);
        copy_peers(s, &s->locations[i], &shared->locations[i], &left);
        copy_completions(s, &s->locations[i], &shared->locations[i], &left);
    }
    copy_words(&s->head, shared, offsetof(struct gn_tag, modules));
    s->head.flavour[sizeof s->head.flavour - 1] = '\0';
    s->head.library[sizeof s->head.library - 1] = '\0';
    s->head.exe[sizeof s->head.exe - 1] = '\0';
    s->head.message[sizeof s->head.message - 1] = '\0';
    return 0;
}

int gn_snapshot_take(struct gn_tag *shared, size_t segment_bytes, uint32_t patience_ms,
                     struct gn_snapshot **out, struct gn_error *err)
{
    uint32_t capacity = 0; /* read once: it may change under our eyes */
    bool fits = segment_bytes >= gn_tag_bytes(0);
    if (fits) {
        capacity = *(volatile uint32_t *)&shared->location_capacity;
        fits = shared->magic == GN_TAG_MAGIC && shared->version == GN_TAG_VERSION &&
               capacity <= GN_MAX_LOCATIONS && gn_tag_bytes(capacity) <= segment_bytes;
    }
    if (!fits)
        return gn_fail(err, -EPROTO, "the shared memory is not a task activity graph of version %u",
                       GN_TAG_VERSION);
    struct gn_snapshot *s = calloc(1, sizeof *s);
    if (!s || take(shared, capacity, patience_ms ? patience_ms : DEFAULT_PATIENCE_MS, s) != 0) {
        gn_snapshot_free(s);
        return gn_fail(err, -ENOMEM, "no memory for a copy of the task activity graph");
    }
    *out = s;
    return 0;
}

void gn_snapshot_free(struct gn_snapshot *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; s->locations && i < s->location_count; i++) {
        free(s->locations[i].nodes);
        free(s->locations[i].edges);
        free(s->locations[i].peers);
        free(s->locations[i].completions);
    }
    free(s->locations);
    free(s->frames);
    free(s->modules);
    free(s->sources);
    free(s->names);
    free(s);
}

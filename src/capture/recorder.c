#include "capture/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { EXACT_EVENTS = 64, SAMPLE_PERIOD = 64 };

static struct gn_gate closed_gate;
struct gn_gate *gn_gate = &closed_gate;
struct gn_tag *gn_segment;
gn_shared32 gn_era;

/* The library is preloaded, so its thread-local storage has a fixed place: one load reaches it. */
static __thread struct gn_recorder *self __attribute__((tls_model("initial-exec")));
static __thread bool no_room __attribute__((tls_model("initial-exec")));
static __thread struct {
    uint32_t number; /* 0: it has none */
    uint64_t began_ticks;
} thread __attribute__((tls_model("initial-exec")));
static pthread_key_t thread_end;
static bool have_thread_end;

static uint32_t hash2(uint32_t a, uint32_t b)
{
    const uint64_t mixed = (a * 0x9e3779b97f4a7c15ull) ^ b; /* names are in the upper bits of a */
    return (uint32_t)((mixed * 0xbf58476d1ce4e5b9ull) >> 32);
}

static inline void show(struct gn_location *location, uint32_t node, uint32_t inside, uint64_t ticks)
{
    gn_seq_begin(&location->seq);
    GN_SET(location->now_node, node);
    GN_SET(location->now_inside, inside);
    GN_SET(location->now_ticks, ticks);
    gn_seq_end(&location->seq);
}

/* ---- nodes ---- */

static uint32_t add_node(struct gn_recorder *r, uint32_t activity, uint32_t path, uint32_t name)
{
    uint32_t index = GN_GET(r->location->node_count);
    if (index == GN_MAX_NODES)
        return GN_MAX_NODES;
    struct gn_tag_node *node = &r->location->nodes[index];
    GN_SET(node->activity, activity);
    GN_SET(node->path, path);
    GN_SET(node->name, name);
    GN_PUBLISH(r->location->node_count, index + 1);
    return index;
}

static uint32_t find_node(struct gn_recorder *r, uint32_t activity, uint32_t path, uint32_t name)
{
    const uint32_t mask = 2 * GN_MAX_NODES - 1;
    uint32_t slot = hash2(activity ^ (name << 20), path) & mask;
    for (; r->node_table[slot]; slot = (slot + 1) & mask) {
        struct gn_tag_node *node = &r->location->nodes[r->node_table[slot] - 1];
        if (GN_GET(node->activity) == activity && GN_GET(node->path) == path && GN_GET(node->name) == name)
            return r->node_table[slot] - 1;
    }
    uint32_t index = add_node(r, activity, path, name);
    if (index == GN_MAX_NODES) {
        GN_LOST(r, nodes);
        return 2;
    }
    r->node_table[slot] = index + 1;
    return index;
}

/* Regions of different names at one place (a loop over names) are different activities. */
static uint32_t named_activity(uint32_t activity, uint32_t name)
{
    return activity ^ (name << 20);
}

static uint32_t find_node_at(struct gn_recorder *r, uint32_t end, uint32_t activity, uint32_t name)
{
    bool cut = true;
    uint32_t path = end ? gn_paths_path(&r->paths, gn_segment, end, &cut) : 0;
    if (cut || r->paths.python.cut)
        GN_LOST(r, paths);
    uint32_t node = find_node(r, activity, path, name);
    if (end && r->paths.ends[end].known) {
        r->paths.nodes[end].activity = named_activity(activity, name);
        r->paths.nodes[end].graph_node = node;
    }
    return node;
}

/* The node of this activity on the present call path. Node 0 is the location's start, which no call has. */
static inline __attribute__((always_inline)) uint32_t node_here(struct gn_recorder *r, uint32_t activity,
                                                                uint32_t name, struct gn_registers at_call)
{
    uint32_t end = r->walk_end = gn_paths_walk(&r->paths, gn_segment, at_call);
    const struct gn_paths_node *at = &r->paths.nodes[end];
    if (__builtin_expect(at->activity == named_activity(activity, name) && at->graph_node, 1))
        return at->graph_node;
    return find_node_at(r, end, activity, name);
}

/* ---- edges and peers ---- */

static uint32_t find_edge(struct gn_recorder *r, uint32_t from, uint32_t to)
{
    const uint32_t mask = 2 * GN_MAX_EDGES - 1;
    uint32_t slot = hash2(from, to) & mask;
    for (; r->edge_table[slot]; slot = (slot + 1) & mask) {
        struct gn_tag_edge *edge = &r->location->edges[r->edge_table[slot] - 1];
        if (GN_GET(edge->from) == from && GN_GET(edge->to) == to)
            return r->edge_table[slot] - 1;
    }
    uint32_t index = GN_GET(r->location->edge_count);
    if (index == GN_MAX_EDGES) {
        GN_LOST(r, edges);
        return 0;
    }
    GN_SET(r->location->edges[index].from, from);
    GN_SET(r->location->edges[index].to, to);
    GN_PUBLISH(r->location->edge_count, index + 1);
    r->edge_table[slot] = index + 1;
    return index;
}

static inline struct gn_tag_edge *edge_to(struct gn_recorder *r, uint32_t to)
{
    uint32_t index = r->next_edge[r->previous_node];
    struct gn_tag_edge *edge = &r->location->edges[index];
    if (__builtin_expect(GN_GET(edge->to) != to || GN_GET(edge->from) != r->previous_node, 0)) {
        index = find_edge(r, r->previous_node, to);
        r->next_edge[r->previous_node] = index;
        edge = &r->location->edges[index];
    }
    return edge;
}

static struct gn_tag_peer *find_peer(struct gn_recorder *r, uint32_t node, uint32_t peer)
{
    struct gn_tag_peer *last = &r->location->peers[r->last_peer[node]];
    if (GN_GET(last->node) == node && GN_GET(last->peer) == peer && GN_GET(r->location->peer_count))
        return last;
    const uint32_t mask = 2 * GN_MAX_PEERS - 1;
    uint32_t slot = hash2(node, peer) & mask;
    for (; r->peer_table[slot]; slot = (slot + 1) & mask) {
        struct gn_tag_peer *known = &r->location->peers[r->peer_table[slot] - 1];
        if (GN_GET(known->node) == node && GN_GET(known->peer) == peer) {
            r->last_peer[node] = r->peer_table[slot] - 1;
            return known;
        }
    }
    uint32_t index = GN_GET(r->location->peer_count);
    if (index == GN_MAX_PEERS) {
        GN_LOST(r, peers);
        return NULL;
    }
    GN_SET(r->location->peers[index].node, node);
    GN_SET(r->location->peers[index].peer, peer);
    GN_PUBLISH(r->location->peer_count, index + 1);
    r->peer_table[slot] = index + 1;
    r->last_peer[node] = index;
    return &r->location->peers[index];
}

void gn_record_sent(struct gn_recorder *r, uint32_t node, uint32_t peer, uint64_t bytes)
{
    struct gn_tag_peer *record = find_peer(r, node, peer);
    if (!record)
        return;
    gn_seq_begin(&record->seq);
    GN_ADD(record->sent_messages, 1);
    GN_ADD(record->sent_bytes, bytes);
    gn_seq_end(&record->seq);
}

void gn_record_received(struct gn_recorder *r, uint32_t node, uint32_t peer, uint64_t bytes)
{
    struct gn_tag_peer *record = find_peer(r, node, peer);
    if (!record)
        return;
    gn_seq_begin(&record->seq);
    GN_ADD(record->received_messages, 1);
    GN_ADD(record->received_bytes, bytes);
    gn_seq_end(&record->seq);
}

static struct gn_tag_completion *find_completion(struct gn_recorder *r, uint32_t from, uint32_t to)
{
    struct gn_tag_completion *last = &r->location->completions[r->last_completion[to]];
    if (GN_GET(last->to) == to && GN_GET(last->from) == from && GN_GET(r->location->completion_count))
        return last;
    const uint32_t mask = 2 * GN_MAX_COMPLETIONS - 1;
    uint32_t slot = hash2(from, to) & mask;
    for (; r->completion_table[slot]; slot = (slot + 1) & mask) {
        struct gn_tag_completion *known = &r->location->completions[r->completion_table[slot] - 1];
        if (GN_GET(known->from) == from && GN_GET(known->to) == to) {
            r->last_completion[to] = r->completion_table[slot] - 1;
            return known;
        }
    }
    uint32_t index = GN_GET(r->location->completion_count);
    if (index == GN_MAX_COMPLETIONS) {
        GN_LOST(r, completions);
        return NULL;
    }
    GN_SET(r->location->completions[index].from, from);
    GN_SET(r->location->completions[index].to, to);
    GN_PUBLISH(r->location->completion_count, index + 1);
    r->completion_table[slot] = index + 1;
    r->last_completion[to] = index;
    return &r->location->completions[index];
}

void gn_record_completion(struct gn_recorder *r, uint32_t from, uint32_t to, uint64_t ticks,
                          uint64_t ahead_ticks)
{
    struct gn_tag_completion *record = find_completion(r, from, to);
    if (!record)
        return;
    gn_seq_begin(&record->seq);
    GN_ADD(record->count, 1);
    GN_ADD(record->total_ticks, ticks);
    GN_ADD(record->ahead_ticks, ahead_ticks);
    if (ticks > GN_GET(record->max_ticks))
        GN_SET(record->max_ticks, ticks);
    GN_ADD(record->time_log2[gn_bucket(ticks)], 1);
    gn_seq_end(&record->seq);
}

static inline void add_size(struct gn_tag_node *node, uint64_t bytes)
{
    GN_ADD(node->messages, 1);
    GN_ADD(node->bytes, bytes);
    GN_ADD(node->size_log2[gn_bucket(bytes)], 1);
}

void gn_record_size(struct gn_recorder *r, uint32_t node, uint64_t bytes)
{
    struct gn_tag_node *record = &r->location->nodes[node];
    gn_seq_begin(&record->seq);
    add_size(record, bytes);
    gn_seq_end(&record->seq);
}

/* ---- locations ---- */

static void start_graph(struct gn_recorder *r, uint64_t start_ticks)
{
    struct gn_location *location = r->location;
    GN_SET(location->thread_id, (uint32_t)syscall(SYS_gettid));
    GN_SET(location->python_state, 0);
    r->paths.python.state = &location->python_state;
    if (GN_GET(location->node_count) == 0) {
        add_node(r, GN_ACTIVITY_START, 0, 0);
        add_node(r, GN_ACTIVITY_END, 0, 0);
        add_node(r, GN_ACTIVITY_OTHER, 0, 0);
        GN_SET(location->edges[0].from, 2);
        GN_SET(location->edges[0].to, 2);
        GN_SET(location->edge_count, 1);
    }
    r->previous_node = 0;
    r->previous_exit_ticks = start_ticks;
    r->owed_ticks = 0;
    r->inside = r->off = false;
    r->region_depth = r->regions_beyond = 0;
    GN_SET(location->first_ticks, start_ticks);
    GN_SET(location->in_use, 1);
    gn_tracer_attach(&r->tracer, r->location_index);
    if (r->location_index == 0)
        gn_tracer_control(&r->tracer, GN_EVENT_PROGRAM_BEGIN, start_ticks, 0, 0, 0);
    else
        gn_tracer_control(&r->tracer, GN_EVENT_THREAD_BEGIN, thread.number ? thread.began_ticks : start_ticks,
                          0, thread.number, 0);
    show(location, 0, 0, start_ticks);
}

/* The call under way will not come back to its wrapper. */
static void abandon_call(struct gn_recorder *r, uint64_t ticks)
{
    gn_drop_kept(r);
    gn_counts_give_up(); /* it may have sent or received */
    GN_LOST(r, calls);
    r->inside = false;
    struct gn_call_span span = {GN_GET(r->location->now_ticks), ticks, GN_GET(r->location->now_node)};
    if (r->tracer.ring)
        gn_tracer_call(&r->tracer, &span);
}

/* A location whose thread has ended is free again: programs that make threads over and over keep a bounded
 * number of graphs, each the sum of the threads that used it one after the other. */
static struct gn_recorder *parked[GN_MAX_LOCATIONS];

static void park(void *recorder)
{
    struct gn_recorder *r = recorder;
    uint64_t now = gn_ticks();
    if (gn_is_closed()) /* a child made by this thread: it has no segment */
        return;
    if (r->inside) /* cancelled in the call */
        abandon_call(r, now);
    gn_record_end(now);
    GN_ADD(r->location->past_ticks, now - GN_GET(r->location->first_ticks));
    GN_SET(r->location->in_use, 0);
    thread.number = 0;
    self = NULL; /* a later destructor of this thread that calls MPI gets a location of its own */
    __atomic_store_n(&parked[r->location_index], r, __ATOMIC_RELEASE);
}

static struct gn_recorder *unpark(void)
{
    uint32_t count = GN_OBSERVE(gn_segment->location_count);
    for (uint32_t i = 1; i < count && i < GN_MAX_LOCATIONS; i++)
        if (__atomic_load_n(&parked[i], __ATOMIC_RELAXED)) {
            struct gn_recorder *r = __atomic_exchange_n(&parked[i], NULL, __ATOMIC_ACQUIRE);
            if (r)
                return r;
        }
    return NULL;
}

static struct gn_recorder *make_recorder(void)
{
    uint32_t index = GN_GET(gn_segment->location_count);
    do {
        if (index >= gn_segment->location_capacity || index >= GN_MAX_LOCATIONS)
            return NULL;
    } while (!atomic_compare_exchange_weak(&gn_segment->location_count, &index, index + 1));
    struct gn_recorder *r =
        mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r == MAP_FAILED)
        return NULL;
    r->location = &gn_segment->locations[index];
    r->location_index = index;
    r->countdown = 1;
    return r;
}

static struct gn_recorder *take_recorder(uint64_t start_ticks)
{
    struct gn_recorder *r = unpark();
    if (!r)
        r = make_recorder();
    else
        atomic_fetch_add_explicit(&gn_segment->threads_reused, 1, memory_order_relaxed);
    if (!r) {
        no_room = true;
        atomic_fetch_add(&gn_segment->missed_threads, 1);
        return NULL;
    }
    gn_paths_attach(&r->paths);
    start_graph(r, start_ticks);
    if (have_thread_end && r->location_index > 0)
        pthread_setspecific(thread_end, r);
    self = r;
    return r;
}

/* Where names are in the segment, by their hash; twice as many places as names. 0: nothing. */
enum { NAME_PLACES = 2 * GN_MAX_NAMES };
static _Atomic uint16_t name_places[NAME_PLACES];

int gn_recorder_open(struct gn_tag *segment, uint64_t start_ticks)
{
    void *gate =
        mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (gate == MAP_FAILED)
        return -1;
    if (madvise(gate, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK) != 0) {
        munmap(gate, (size_t)sysconf(_SC_PAGESIZE));
        return -1;
    }
    have_thread_end = pthread_key_create(&thread_end, park) == 0;
    gn_segment = segment;
    if (GN_GET(segment->frame_count) == 0)
        GN_SET(segment->frame_count, 1); /* the root */
    if (GN_GET(segment->module_count) == 0)
        GN_SET(segment->module_count, 1);
    if (GN_GET(segment->name_count) == 0) {
        strcpy(segment->names[0], "(further regions)");
        memset(name_places, 0, sizeof name_places);
        GN_SET(segment->name_count, 1);
    }
    if (!take_recorder(start_ticks))
        return -1;
    gn_gate = gate;
    GN_PUBLISH(gn_gate->open, 1);
    return 0;
}

void gn_recorder_close(void)
{
    if (GN_GET(gn_gate->open))
        GN_SET(gn_gate->open, 0);
}

void gn_recorder_delay(const char *spec, int rank)
{
    if (!spec || !self)
        return;
    gn_delay_open(&self->delay, spec, (uint64_t)rank);
    if (self->delay.most_ns > 0)
        self->countdown = 1;
}

/* ---- events ---- */

/* So that the next call has not cost all since then. */
static void forget_paid(struct gn_recorder *r)
{
    r->paths.paid_since = 0;
    GN_SET(r->location->unwound, r->paths.slow);
    GN_SET(r->location->learned, r->paths.learned);
}

/* The walk took longer than usual: what it took is known exactly. */
static void count_paid(struct gn_capture_call *call)
{
    struct gn_recorder *r = call->recorder;
    if (!call->sampled)
        call->begin_ticks = r->paths.paid_since;
    call->exact = true;
    forget_paid(r);
}

/* Read through the kernel: that stack may be gone. On AArch64 it may be anywhere in the wrapper's frame. */
bool gn_return_address_stands(struct gn_registers at)
{
#if defined(__x86_64__)
    uintptr_t found = 0;
    struct iovec here = {&found, sizeof found}, there = {(void *)(at.sp - sizeof found), sizeof found};
    ssize_t bytes = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    return bytes < 0 ? errno != EFAULT : found == at.ip;
#else
    (void)at;
    return true;
#endif
}

/* Called when a call is already under way in this thread. Nested calls (an MPI library that uses its own
 * public interface, callbacks) are not recorded. But an error handler may have left the outer call by longjmp
 * or an exception: that call is over when its wrapper's frame is no longer on the stack. Where that cannot be
 * seen (a callback on another stack, or in generated code), the call counts as under way while its return
 * address stands. */
static bool left_without_leave(struct gn_recorder *r, struct gn_registers at)
{
    const int code = errno;
    enum gn_presence presence = gn_paths_look_for(&r->paths, gn_segment, at, r->inside_from,
                                                  gn_paths_is_on_base(&r->paths, r->walk_end));
    bool left = presence == GN_GONE || (presence == GN_UNSEEN && !gn_return_address_stands(r->inside_from));
    errno = code;
    if (left)
        abandon_call(r, gn_ticks());
    return left;
}

bool gn_record_open_call(struct gn_open_call *open)
{
    const struct gn_recorder *r = self;
    if (gn_is_closed() || !r || !r->inside)
        return false;
    const uint64_t enter_ticks = GN_GET(r->location->now_ticks);
    *open = (struct gn_open_call){r->location_index, enter_ticks,
                                  r->asked.enter_ticks == enter_ticks ? &r->asked : NULL};
    return true;
}

bool gn_enter(struct gn_capture_call *call, uint32_t activity, void *caller, void *frame)
{
    if (gn_is_closed())
        return false;
    gn_ticks_fence(); /* else what memory keeps the program waiting for would be the call's */
    const struct gn_registers at = gn_registers_of(caller, frame);
    struct gn_recorder *r = self;
    if (__builtin_expect(!r, 0)) {
        if (no_room || !(r = take_recorder(gn_ticks())))
            return false;
    }
    if (__builtin_expect(r->inside && !left_without_leave(r, at), 0))
        return false;
    if (__builtin_expect(r->off, 0))
        return false;
    call->recorder = r;
    call->exact = false;
    call->sampled = --r->countdown == 0;
    if (__builtin_expect(call->sampled, 0)) {
        call->exact = GN_GET(r->location->events) < EXACT_EVENTS || r->delay.most_ns > 0;
        r->countdown = call->exact ? 1 : SAMPLE_PERIOD;
        call->begin_ticks = gn_ticks();
        if (r->delay.most_ns > 0)
            gn_delay_before(&r->delay);
    }
    call->bytes = 0;
    call->messages = 0;
    call->list_count = call->fortran = 0;
    call->node = node_here(r, activity, 0, at);
    if (__builtin_expect(r->paths.paid_since != 0, 0))
        count_paid(call);
    r->inside = true;
    r->inside_from = at;
    call->traced = r->tracer.ring != NULL;
    call->idle = false;
    call->enter_ticks = gn_ticks();
    show(r->location, call->node, 1, call->enter_ticks);
    return true;
}

/* exact: the cost of measuring inside this passage is known, probe_ticks. A counter that went back (cores
 * that do not share it) gives 0, not an enormous time. */
static inline void pass_edge(struct gn_recorder *r, uint32_t to, uint64_t enter_ticks, uint64_t bytes,
                             bool exact, uint64_t probe_ticks)
{
    struct gn_tag_edge *edge = edge_to(r, to);
    gn_seq_begin(&edge->seq);
    gn_stats_add(&edge->time,
                 enter_ticks > r->previous_exit_ticks ? enter_ticks - r->previous_exit_ticks : 0);
    GN_ADD(edge->bytes, bytes);
    if (__builtin_expect(exact, 0)) {
        GN_ADD(edge->exact, 1);
        GN_ADD(edge->probe_ticks, probe_ticks);
    }
    gn_seq_end(&edge->seq);
}

static inline void pass_node(struct gn_tag_node *node, uint64_t ticks)
{
    gn_stats_add(&node->time, ticks);
    GN_ADD(node->time_log2[gn_bucket(ticks)], 1);
}

/* A sample a hundred times the smallest one is not our work but the scheduler's: the thread lost the
 * processor while it was timed. Scaled up by the sampling period it would drown the real cost. */
static bool count_sample(struct gn_recorder *r, uint64_t ticks)
{
    if (r->smallest_sample == 0 || ticks < r->smallest_sample)
        r->smallest_sample = ticks;
    if (ticks > 100 * r->smallest_sample)
        return false;
    GN_ADD(r->location->sampled_events, 1);
    GN_ADD(r->location->sampled_ticks, ticks);
    return true;
}

/* The end of a call of which it is known what measuring it has cost. */
static void count_cost(struct gn_recorder *r, const struct gn_capture_call *call)
{
    const uint64_t before_ticks = call->enter_ticks - call->begin_ticks;
    if (r->delay.most_ns > 0)
        gn_delay_after(&r->delay);
    const uint64_t after_ticks = gn_ticks() - call->exit_ticks;
    bool counts = true;
    if (call->exact) {
        r->owed_ticks = after_ticks; /* falls into the next edge */
        GN_ADD(r->location->exact_events, 1);
        GN_ADD(r->location->exact_ticks, before_ticks + after_ticks);
    } else {
        counts = count_sample(r, before_ticks + after_ticks);
    }
    if (counts && call->traced)
        gn_tracer_own_work(&r->tracer, call->exit_ticks, before_ticks, after_ticks);
}

static inline void trace_call(const struct gn_capture_call *call, int result)
{
    struct gn_call_span span = gn_span_of(call);
    struct gn_tracer *tracer = &call->recorder->tracer;
    if (call->idle && result == 0 && !tracer->in_call)
        gn_tracer_poll(tracer, &span);
    else
        gn_tracer_call(tracer, &span);
}

void gn_tell_late(struct gn_recorder *r)
{
    for (uint32_t i = 0; i < r->late_count; i++)
        gn_tracer_late(&r->tracer, r->late[i].name, r->late[i].number);
    r->late_count = 0;
}

void gn_leave(struct gn_capture_call *call, int result)
{
    struct gn_recorder *r = call->recorder;
    if (__builtin_expect(!r, 0)) {
        gn_leave_unrecorded(call, result);
        return;
    }
    struct gn_location *location = r->location;
    if (gn_is_closed()) /* a child made inside the call */
        return;
    if (call->list_count)
        gn_settle_requests(call, result);
    uint64_t before_ticks = call->exact ? call->enter_ticks - call->begin_ticks + r->owed_ticks : 0;
    pass_edge(r, call->node, call->enter_ticks, call->bytes, call->exact, before_ticks);
    r->owed_ticks = 0;
    struct gn_tag_node *node = &location->nodes[call->node];
    gn_seq_begin(&node->seq);
    pass_node(node, call->exit_ticks > call->enter_ticks ? call->exit_ticks - call->enter_ticks : 0);
    if (call->messages)
        add_size(node, call->bytes);
    if (__builtin_expect(result != 0, 0))
        GN_ADD(node->errors, 1);
    gn_seq_end(&node->seq);
    r->previous_node = call->node;
    r->previous_exit_ticks = call->exit_ticks;
    if (call->traced)
        trace_call(call, result);
    if (__builtin_expect(r->late_count != 0, 0))
        gn_tell_late(r);
    r->inside = false;
    GN_ADD(location->events, 1);
    show(location, call->node, 0, call->exit_ticks);
    if (__builtin_expect(call->exact | call->sampled, 0))
        count_cost(r, call);
}

/* ---- control activities ---- */

static void pass_control(struct gn_recorder *r, uint32_t node, uint64_t begin_ticks, uint64_t duration_ticks)
{
    uint64_t now = gn_ticks();
    pass_edge(r, node, begin_ticks, 0, false, 0);
    struct gn_tag_node *record = &r->location->nodes[node];
    gn_seq_begin(&record->seq);
    pass_node(record, duration_ticks);
    gn_seq_end(&record->seq);
    GN_ADD(r->location->events, 1);
    r->previous_node = node;
    r->previous_exit_ticks = now;
    show(r->location, node, 0, now);
    GN_ADD(r->location->exact_events, 1);
    GN_ADD(r->location->exact_ticks, now - begin_ticks);
}

/* The place that has it, or would have it. */
static _Atomic uint16_t *place_of_name(const char *name)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < GN_NAME_BYTES - 1 && name[i]; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    for (uint32_t at = hash;; at++) {
        _Atomic uint16_t *place = &name_places[at % NAME_PLACES];
        const uint16_t index = atomic_load_explicit(place, memory_order_acquire);
        if (!index || strncmp(gn_segment->names[index], name, GN_NAME_BYTES - 1) == 0)
            return place;
    }
}

static uint32_t known_name(const char *name)
{
    return atomic_load_explicit(place_of_name(name), memory_order_acquire);
}

/* Index of a region's name, added when it is new; 0, which stands for all others, when there is no room. */
static uint32_t find_name(const char *name)
{
    static _Atomic int adding;
    uint32_t index = known_name(name);
    for (int tries = 0; !index && tries < 100000; tries++) {
        int expected = 0;
        if (GN_OBSERVE(gn_segment->name_count) >= GN_MAX_NAMES && !atomic_load(&adding)) {
            index = known_name(name); /* the last one may just have been added */
            break;
        }
        if (!atomic_compare_exchange_weak(&adding, &expected, 1)) {
            if (tries > 1000) /* whoever adds one lost the processor meanwhile */
                sched_yield();
            continue;
        }
        uint32_t count = GN_OBSERVE(gn_segment->name_count);
        index = known_name(name);
        if (!index && count < GN_MAX_NAMES) {
            strncpy(gn_segment->names[count], name, GN_NAME_BYTES - 1);
            GN_PUBLISH(gn_segment->name_count, count + 1);
            atomic_store_explicit(place_of_name(name), (uint16_t)count, memory_order_release);
            index = count;
        }
        atomic_store(&adding, 0);
        break;
    }
    return index;
}

struct gn_recorder *gn_recorder_here(void)
{
    return self;
}

static struct gn_recorder *recorder_here(void)
{
    if (!GN_GET(gn_gate->open))
        return NULL;
    return self ? self : no_room ? NULL : take_recorder(gn_ticks());
}

static const uint32_t no_region = UINT32_MAX;

static void trace_region_end(struct gn_recorder *r, uint32_t depth, uint64_t ticks, uint32_t node)
{
    gn_tracer_control(&r->tracer, GN_EVENT_REGION_END, ticks, node, r->regions[depth].path,
                      r->regions[depth].name);
}

/* How deep the innermost open region of that name is; no_region when there is none, or it is not kept. */
static uint32_t open_depth(struct gn_recorder *r, uint32_t name)
{
    if (r->regions_beyond > 0) {
        r->regions_beyond--;
        return no_region;
    }
    for (uint32_t depth = r->region_depth; depth-- > 0;)
        if (r->regions[depth].name == name)
            return depth;
    return no_region;
}

/* With it is closed whatever was begun inside of it and not ended. Returns how long it was open. */
static uint64_t close_region(struct gn_recorder *r, uint32_t depth, uint64_t ticks, uint32_t node)
{
    while (r->region_depth > depth + 1)
        trace_region_end(r, --r->region_depth, ticks, 0);
    trace_region_end(r, --r->region_depth, ticks, node);
    return ticks - r->regions[depth].begin_ticks;
}

static void open_region(struct gn_recorder *r, uint32_t name, uint32_t node, uint32_t path, uint64_t ticks)
{
    if (r->region_depth == GN_MAX_REGION_DEPTH) {
        r->regions_beyond++;
        GN_LOST(r, regions);
        return;
    }
    r->regions[r->region_depth].name = name;
    r->regions[r->region_depth].path = path;
    gn_tracer_control(&r->tracer, GN_EVENT_REGION_BEGIN, ticks, node, path, name);
    r->regions[r->region_depth++].begin_ticks = ticks;
}

/* The node of something that is no call. What its walk took is in its own time. */
static uint32_t control_node(struct gn_recorder *r, enum gn_activity activity, uint32_t name,
                             struct gn_registers at)
{
    const uint32_t node = node_here(r, activity, name, at);
    if (__builtin_expect(r->paths.paid_since != 0, 0))
        forget_paid(r);
    return node;
}

void gn_record_own_work(uint64_t ticks)
{
    struct gn_recorder *r = self;
    if (!r || !r->location)
        return;
    r->owed_ticks += ticks;
}

bool gn_record_region(const char *name, bool begin, void *caller, void *frame, uint64_t entered_ticks,
                      uint64_t later_ticks)
{
    const struct gn_registers at = gn_registers_of(caller, frame);
    struct gn_recorder *r = recorder_here();
    if (!r || r->inside || !name)
        return false;
    const uint64_t ticks = entered_ticks ? entered_ticks : gn_ticks();
    const uint32_t id = find_name(name), depth = begin ? 0 : open_depth(r, id);
    if (depth == no_region)
        return false;
    if (r->off) { /* they nest all the same, but are not recorded */
        if (begin)
            open_region(r, id, 0, GN_NONE, ticks);
        else
            close_region(r, depth, ticks, 0);
        return true;
    }
    const uint32_t node = control_node(r, begin ? GN_ACTIVITY_REGION_BEGIN : GN_ACTIVITY_REGION_END, id, at);
    uint64_t duration_ticks = 0;
    if (begin)
        open_region(r, id, node, GN_GET(r->location->nodes[node].path), ticks);
    else
        duration_ticks = close_region(r, depth, ticks, node);
    pass_control(r, node, ticks, duration_ticks);
    r->previous_exit_ticks += later_ticks;
    GN_ADD(r->location->exact_ticks, later_ticks);
    if (begin && r->region_depth > 0 && r->regions_beyond == 0)
        r->regions[r->region_depth - 1].begin_ticks = r->previous_exit_ticks; /* the cost is not its */
    return true;
}

void gn_record_switch(bool on, void *caller, void *frame)
{
    const struct gn_registers at = gn_registers_of(caller, frame);
    struct gn_recorder *r = recorder_here();
    if (!r || r->off == !on)
        return;
    gn_counts_notice_jump(at);
    uint64_t ticks = gn_ticks();
    if (!on) {
        r->off_node = control_node(r, GN_ACTIVITY_OFF, 0, at);
        pass_edge(r, r->off_node, ticks, 0, false, 0);
        r->previous_node = r->off_node;
        r->previous_exit_ticks = ticks;
        show(r->location, r->off_node, 1, ticks);
        r->off = true;
        gn_tracer_control(&r->tracer, GN_EVENT_MEASUREMENT, ticks, r->off_node, 0, 0);
        return;
    }
    r->off = false;
    gn_tracer_control(&r->tracer, GN_EVENT_MEASUREMENT, ticks, r->off_node, 1, 0);
    struct gn_tag_node *record = &r->location->nodes[r->off_node];
    gn_seq_begin(&record->seq);
    pass_node(record, ticks - r->previous_exit_ticks);
    gn_seq_end(&record->seq);
    r->previous_exit_ticks = ticks;
    show(r->location, r->off_node, 0, ticks);
}

void gn_record_end(uint64_t ticks)
{
    struct gn_recorder *r = self;
    if (!GN_GET(gn_gate->open) || !r || r->inside)
        return;
    if (r->off)
        gn_record_switch(true, GN_CALLER, GN_FRAME);
    while (r->region_depth > 0) /* in the trace what begins also ends */
        trace_region_end(r, --r->region_depth, ticks, 0);
    if (r->tracer.poll_nodes)
        gn_tracer_end_polls(&r->tracer);
    if (r->location_index == 0)
        gn_tracer_control(&r->tracer, GN_EVENT_PROGRAM_END, ticks, 1, 0, 0);
    else
        gn_tracer_control(&r->tracer, GN_EVENT_THREAD_END, ticks, 0, thread.number, 0);
    pass_edge(r, 1, ticks, 0, false, 0);
    struct gn_tag_node *end = &r->location->nodes[1];
    gn_seq_begin(&end->seq);
    pass_node(end, 0);
    gn_seq_end(&end->seq);
    show(r->location, r->previous_node, 2, ticks); /* what it did last stays to be seen */
    r->previous_node = 1;
}

/* ---- threads ---- */

static bool records_threads(const struct gn_recorder *r)
{
    return !gn_is_closed() && r && !r->inside && !r->off && r->tracer.ring;
}

bool gn_record_threads(void)
{
    return records_threads(self);
}

void gn_record_thread(enum gn_event_kind kind, uint64_t ticks, uint32_t number)
{
    if (records_threads(self))
        gn_tracer_control(&self->tracer, kind, ticks, 0, number, 0);
}

void gn_record_thread_began(uint32_t number)
{
    thread.number = number;
    thread.began_ticks = gn_ticks();
}

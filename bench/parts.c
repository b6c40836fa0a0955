/*
 * Where our time goes: the steps of capturing one MPI call, each timed alone in a loop.
 *
 * The capture core is linked into this program and works on a segment of its own; there is no MPI, the few
 * questions that the core would ask it are answered here. Steps alone in a loop overlap with nothing, so
 * their sum is not the cost of a call: `whole call` is the same work in one piece. One line each:
 *
 *   part NAME: iterations I batches B min NS q1 NS median NS q3 NS
 */
#include "deep.h"
#include "timing.h"
#include "two_clocks.h"

#include "capture/classes.h"
#include "capture/comms.h"
#include "capture/counting.h"
#include "capture/facts.h"
#include "capture/real.h"
#include "capture/requests.h"

#include <string.h>
#include <sys/mman.h>
#include <unwind.h>

enum {
    BATCH_NS = 1000000,
    A_CALL = GN_CALL_IPROBE,
    SUBCOMM = 0x77,
    A_TYPE = 0x88,
    A_REQUEST = 0x9990,
    RING_RECORDS = 1 << 11
};

/* The plain unwinder: the guarded one of capture/unwind_guard.c needs a linker's help. */
bool gn_guarded_backtrace(int (*step)(void *context, void *argument), void *argument)
{
    _Unwind_Backtrace((_Unwind_Trace_Fn)(void *)step, argument);
    return true;
}

/* ---- what MPI would answer ---- */

struct fake_status {
    int source, tag, error, count;
};

static int eight_bytes(void *type, int64_t *size)
{
    (void)type;
    *size = 8;
    return 0;
}

static int no_group(void *comm, void **group)
{
    (void)comm;
    *group = NULL;
    return 0;
}

static int not_inter(void *comm, int *flag)
{
    (void)comm;
    *flag = 0;
    return 0;
}

static int same_ranks(void *group, int count, const int *ranks, void *other_group, int *result)
{
    (void)group, (void)other_group;
    memcpy(result, ranks, (size_t)count * sizeof *ranks);
    return 0;
}

static int free_nothing(void **group)
{
    (void)group;
    return 0;
}

static int count_of(const struct fake_status *status, void *type, int64_t *count)
{
    (void)type;
    *count = status->count;
    return 0;
}

static void answer_for_mpi(void)
{
    gn_helper_table[GN_HELPER_Type_size_x] = (void *)eight_bytes;
    gn_helper_table[GN_HELPER_Comm_group] = (void *)no_group;
    gn_helper_table[GN_HELPER_Comm_test_inter] = (void *)not_inter;
    gn_helper_table[GN_HELPER_Group_translate_ranks] = (void *)same_ranks;
    gn_helper_table[GN_HELPER_Group_free] = (void *)free_nothing;
    gn_helper_table[GN_HELPER_Get_elements_x] = (void *)count_of;
    gn_flavour = (struct gn_flavour){.name = "none",
                                     .handle_mask = ~(uintptr_t)0,
                                     .handle_bytes = sizeof(gn_handle),
                                     .comm_world = 0x66,
                                     .proc_null = -2,
                                     .any_source = -1,
                                     .any_tag = -1,
                                     .undefined = -32766,
                                     .status_bytes = sizeof(struct fake_status),
                                     .source_offset = offsetof(struct fake_status, source),
                                     .tag_offset = offsetof(struct fake_status, tag)};
}

/* ---- the parts ---- */

static struct gn_capture_call prepared; /* an entered call, for the parts that are about its end */
static struct gn_recorder *recorder;

/* Stands where a wrapper stands: the walk begins at its frame. */
static __attribute__((noinline)) void walk_wrapper(long iterations)
{
    struct gn_registers at = gn_registers_of(GN_CALLER, GN_FRAME);
    for (long i = 0; i < iterations; i++)
        KEEP(gn_paths_walk(&recorder->paths, gn_segment, at));
}

static __attribute__((noinline)) void unwind_wrapper(long iterations)
{
    static struct gn_registers frames[GN_MAX_DEPTH];
    for (long i = 0; i < iterations; i++)
        KEEP(gn_unwind_slowly(gn_registers_of(GN_CALLER, GN_FRAME), frames, GN_MAX_DEPTH));
}

/* Entering again without leaving is what follows a longjmp out of a call; it costs one comparison more. */
static __attribute__((noinline)) void enter_wrapper(long iterations)
{
    prepared.binding = GN_C;
    for (long i = 0; i < iterations; i++)
        KEEP(gn_enter(&prepared, A_CALL, GN_CALLER, GN_FRAME));
}

static __attribute__((noinline)) void leave_wrapper(long iterations)
{
    gn_enter(&prepared, A_CALL, GN_CALLER, GN_FRAME);
    prepared.enter_ticks = recorder->previous_exit_ticks;
    for (long i = 0; i < iterations; i++) {
        prepared.enter_ticks += 100;
        prepared.exit_ticks = prepared.enter_ticks + 100;
        gn_leave(&prepared, 0);
        prepared.enter_ticks += 100;
    }
}

static __attribute__((noinline)) int wrapper(void)
{
    struct gn_capture_call call;
    call.binding = GN_C;
    if (!gn_enter(&call, A_CALL, GN_CALLER, GN_FRAME))
        return 0;
    call.exit_ticks = gn_ticks();
    gn_leave(&call, 0);
    return 0;
}

static __attribute__((noinline)) void whole_calls(long iterations)
{
    for (long i = 0; i < iterations; i++)
        KEEP(wrapper());
}

/* A part whose wrapper is called from the 12th frame. */
#define AT_12_FRAMES(part, wrapper)                                                                          \
    static __attribute__((noinline)) void calls_##wrapper(long iterations)                                   \
    {                                                                                                        \
        wrapper(iterations);                                                                                 \
        DEEP_BARRIER();                                                                                      \
    }                                                                                                        \
    static void part(long iterations)                                                                        \
    {                                                                                                        \
        deep_call(calls_##wrapper, iterations);                                                              \
        DEEP_BARRIER();                                                                                      \
    }

AT_12_FRAMES(part_walk, walk_wrapper)
AT_12_FRAMES(part_enter, enter_wrapper)
AT_12_FRAMES(part_leave, leave_wrapper)
AT_12_FRAMES(part_unwind, unwind_wrapper)

static void part_whole(long iterations)
{
    deep_call(whole_calls, iterations);
    DEEP_BARRIER();
}

static void part_show(long iterations)
{
    struct gn_location *location = recorder->location;
    for (long i = 0; i < iterations; i++) {
        gn_seq_begin(&location->seq);
        GN_SET(location->now_node, 2);
        GN_SET(location->now_inside, 1);
        GN_SET(location->now_ticks, (uint64_t)i);
        gn_seq_end(&location->seq);
    }
}

static void part_stats(long iterations)
{
    struct gn_tag_node *node = &recorder->location->nodes[2];
    for (long i = 0; i < iterations; i++) {
        gn_seq_begin(&node->seq);
        gn_stats_add(&node->time, (uint64_t)i & 1023);
        gn_seq_end(&node->seq);
    }
}

static void part_type_size(long iterations)
{
    for (long i = 0; i < iterations; i++)
        KEEP(gn_type_size(recorder, A_TYPE));
}

static void part_world_rank(long iterations)
{
    for (long i = 0; i < iterations; i++)
        KEEP(gn_world_rank(recorder, SUBCOMM, 1));
}

static void part_peer(long iterations)
{
    for (long i = 0; i < iterations; i++)
        gn_record_sent(recorder, 2, 1, 8);
}

static void part_size(long iterations)
{
    for (long i = 0; i < iterations; i++)
        gn_record_size(recorder, 2, 8);
}

static void part_request(long iterations)
{
    const struct gn_request request = {.recorder = recorder, .node = 2, .kind = GN_RECEIVE};
    for (long i = 0; i < iterations; i++) {
        gn_request_follow(0, A_REQUEST, &request, NULL, NULL);
        gn_request_drop(gn_request_take(A_REQUEST, GN_NEWEST));
    }
}

/* All that the wrappers of Irecv and Waitall do about the request, but for gn_enter and gn_leave. */
static void part_receive(long iterations)
{
    struct gn_capture_call call = {
        .recorder = recorder, .node = 2, .binding = GN_C, .traced = recorder->tracer.ring != NULL};
    struct fake_status status = {.source = 1, .count = 8}, *statuses = &status;
    for (long i = 0; i < iterations; i++) {
        gn_handle request = A_REQUEST;
        gn_after_irecv(&call, 1, 0, SUBCOMM, &request);
        gn_before_waitall(&call, 1, &request, (void **)&statuses);
        gn_after_waitall(&call, statuses);
        gn_settle_requests(&call, 0);
        if (call.traced) {
            struct gn_call_span span = gn_span_of(&call);
            gn_tracer_call(&recorder->tracer, &span);
        }
    }
}

static __attribute__((noinline)) void send_wrapper(void)
{
    struct gn_capture_call call;
    call.binding = GN_C;
    if (!gn_enter(&call, A_CALL, GN_CALLER, GN_FRAME))
        return;
    call.exit_ticks = gn_ticks();
    gn_after_send(&call, 1, A_TYPE, 1, 0, SUBCOMM);
    gn_leave(&call, 0);
}

static void part_send(long iterations)
{
    for (long i = 0; i < iterations; i++)
        send_wrapper();
}

/* Into the small ring that is always there: it overwrites itself. */
static void traced(void (*part)(long iterations), long iterations)
{
    gn_tracer_attach(&recorder->tracer, 0);
    part(iterations);
    recorder->tracer.ring = NULL;
}

static void part_traced_call(long iterations)
{
    traced(part_whole, iterations);
}

static void part_traced_send(long iterations)
{
    traced(part_send, iterations);
}

static void part_traced_receive(long iterations)
{
    traced(part_receive, iterations);
}

/* The same, and their numbers. */
static void numbered(void (*part)(long iterations), long iterations)
{
    static struct gn_number_tables *tables;
    if (!tables && gn_counts_open() == 0)
        tables = gn_numbers;
    gn_numbers = tables;
    traced(part, iterations);
    gn_numbers = NULL;
}

static void part_numbered_send(long iterations)
{
    numbered(part_send, iterations);
}

static void part_numbered_receive(long iterations)
{
    numbered(part_receive, iterations);
}

/* Only its record: a call that found nothing, in a row of others. */
static void polls(long iterations)
{
    for (long i = 0; i < iterations; i++)
        gn_tracer_poll(&recorder->tracer,
                       &(struct gn_call_span){(uint64_t)i * 10, (uint64_t)i * 10 + 5, (uint32_t)i & 1});
    gn_tracer_end_polls(&recorder->tracer);
}

static void part_traced_poll(long iterations)
{
    traced(polls, iterations);
}

static struct part {
    const char *name;
    void (*run)(long iterations);
    long iterations;
    double *batch_ns;
} parts[] = {
    {.name = "the loop itself", .run = two_clocks_loop},
    {.name = "two clock readings", .run = two_clocks_read},
    {.name = "walk, 12 frames", .run = part_walk},
    {.name = "publishing the state, once", .run = part_show},
    {.name = "statistics of one record", .run = part_stats},
    {.name = "gn_enter: walk, clock, publish", .run = part_enter},
    {.name = "gn_leave: edge, node, publish", .run = part_leave},
    {.name = "whole call: enter, clock, leave", .run = part_whole},
    {.name = "whole call, recorded", .run = part_traced_call},
    {.name = "send: call, size, peer", .run = part_send},
    {.name = "send, recorded", .run = part_traced_send},
    {.name = "send, recorded with its number", .run = part_numbered_send},
    {.name = "record of a poll", .run = part_traced_poll},
    {.name = "type size, cached", .run = part_type_size},
    {.name = "world rank, cached", .run = part_world_rank},
    {.name = "message to a peer", .run = part_peer},
    {.name = "message size", .run = part_size},
    {.name = "request: follow, take, drop", .run = part_request},
    {.name = "receive: Irecv to Waitall", .run = part_receive},
    {.name = "receive, recorded", .run = part_traced_receive},
    {.name = "receive, recorded with its number", .run = part_numbered_receive},
    {.name = "full unwinding, 12 frames", .run = part_unwind},
};

enum { PARTS = sizeof parts / sizeof parts[0] };

/* ---- measuring ---- */

static __attribute__((noinline)) double time_batch(const struct part *part, long iterations)
{
    double begin_ns = timing_now_ns();
    part->run(iterations);
    return timing_now_ns() - begin_ns;
}

static __attribute__((noinline)) void measure(int batches)
{
    for (int i = 0; i < PARTS; i++) {
        parts[i].batch_ns = calloc((size_t)batches, sizeof(double));
        for (parts[i].iterations = 16; time_batch(&parts[i], parts[i].iterations) < BATCH_NS / 2;)
            parts[i].iterations *= 2;
    }
    for (int batch = 0; batch < batches; batch++)
        for (int i = 0; i < PARTS; i++)
            parts[i].batch_ns[batch] =
                time_batch(&parts[i], parts[i].iterations) / (double)parts[i].iterations;
    for (int i = 0; i < PARTS; i++) {
        struct timing_summary s = timing_summarise(parts[i].batch_ns, batches);
        printf("part %s: iterations %ld batches %d min %.2f q1 %.2f median %.2f q3 %.2f\n", parts[i].name,
               parts[i].iterations, batches, s.min, s.q1, s.median, s.q3);
        free(parts[i].batch_ns);
    }
}

static int open_capture(void)
{
    struct gn_tag *segment = mmap(NULL, gn_tag_bytes(1), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (segment == MAP_FAILED)
        return -1;
    segment->location_capacity = 1;
    size_t rings_bytes = gn_ring_segment_bytes(1, RING_RECORDS);
    struct gn_ring_segment *rings =
        mmap(NULL, rings_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (rings == MAP_FAILED)
        return -1;
    rings->location_capacity = 1;
    rings->ring_records = RING_RECORDS;
    answer_for_mpi();
    gn_requests_serial(true);
    if (gn_comms_open() != 0 || gn_requests_open() != 0 || gn_recorder_open(segment, gn_ticks()) != 0)
        return -1;
    prepared.binding = GN_C;
    if (!gn_enter(&prepared, A_CALL, GN_CALLER, GN_FRAME))
        return -1;
    prepared.exit_ticks = gn_ticks();
    gn_leave(&prepared, 0);
    recorder = prepared.recorder;
    gn_ring_memory = rings;
    gn_comms_begin(0, 2);
    gn_comm_define(SUBCOMM, gn_flavour.comm_world, gn_flavour.comm_world);
    return 0;
}

int main(int argc, char **argv)
{
    int batches = argc > 1 ? atoi(argv[1]) : 200;
    if (batches < 1 || batches > TIMING_MAX_BATCHES || open_capture() != 0) {
        fprintf(stderr, "parts: 1 to %d batches, and memory for a segment\n", TIMING_MAX_BATCHES);
        return 2;
    }
    measure(batches);
    return 0;
}

/*
 * The controlled logical clock in memory, on one core: how many events a second, and how much memory.
 *
 *   repair [EVENTS]      about as many in all (4e6)
 *
 * Locations, each with a clock of its own, send to the right and receive from the left: iterations of a call
 * with three sends and three receives in it, and computation. Three traces: no clock is wrong; or two clocks
 * in three are behind their left neighbours', so that a tenth, or a quarter, of all events are receives
 * before their sends.
 *
 * What counts is all that happens between having the ops in memory and having new times of all events in
 * memory:
 *
 *   measure    repair/replay, over ops: what violates the clock condition, and µ
 *   forward    repair/replay: forward passes, and limits
 *   backward   repair/amortize, ops to knots
 *   retime     repair/retiming, an array of old times to one of new times, and the deviations
 *
 * The sum is processor time, so that a busy machine does not count; the phases are nanoseconds an event as
 * the program passed them. Extraction (events to ops) is shown beside it, in million events a second: it
 * belongs to reading. "held" is bytes an event for ops and a location's knots, "peak" what the process had
 * at most beyond the trace's own events and the two arrays of times.
 */
#include "base/mix.h"
#include "repair/extract.h"
#include "repair/repair.h"
#include "repair/retiming.h"
#include "timing.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOCATIONS = 60, GROUP = 3, MESSAGES = 3, BEHIND_NS = 20000, LATENCY_NS = 2000, TAG = 1, ROUNDS = 5 };

#define BASE_TICKS UINT64_C(1000000000000)

/* A trace to be made. */
struct kind {
    const char *name;
    uint32_t calls; /* of computation in an iteration, two events each */
    bool behind;
};

static const struct kind kinds[] = {
    {"0 %", 0, false},
    {"10 %", 6, true},
    {"25 %", 0, true},
};

struct row {
    struct gn_event *events;
    uint64_t *old_ticks, *new_ticks;
    size_t count;
    bool pulled;
};

struct trace {
    struct row rows[LOCATIONS];
    struct gn_definitions *definitions;
    size_t iterations, events, violating, unsolved;
};

static void *must(void *memory)
{
    if (!memory) {
        fprintf(stderr, "repair: no memory\n");
        exit(1);
    }
    return memory;
}

static void must_do(int code, const struct gn_error *err)
{
    if (code < 0) {
        fprintf(stderr, "repair: %s\n", err->text);
        exit(1);
    }
}

/* ---- the trace ---- */

static struct gn_definitions *define(void)
{
    struct gn_definitions *d = must(gn_definitions_new());
    uint32_t node = gn_define_string(d, "node"), members[LOCATIONS];
    gn_define_region(
        d, &(struct gn_region_def){.name = gn_define_string(d, "MPI_Sendrecv"), .role = GN_ROLE_MPI});
    gn_define_region(
        d, &(struct gn_region_def){.name = gn_define_string(d, "compute"), .role = GN_ROLE_FUNCTION});
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        gn_define_system_node(d, &(struct gn_system_node){
                                     .name = node, .class_name = node, .parent = GN_NONE, .is_domain = true});
        gn_define_process(d,
                          &(struct gn_process){
                              .name = node, .system_node = i, .main_location = GN_NONE, .rank = (int32_t)i});
        gn_define_location(d,
                           &(struct gn_location_def){
                               .name = node, .process = i, .domain = i, .file_id = i, .events = UINT64_MAX});
        members[i] = i;
    }
    gn_define_comm(d, &(struct gn_comm_def){
                          .name = node, .parent = GN_NONE, .member_count = LOCATIONS, .members = members});
    d->ticks_per_second = 1000000000;
    return d;
}

/* A location in true time, while its events are made. */
struct walker {
    double now_ns;
    uint64_t random;
    double behind_ns; /* of its clock */
};

static struct gn_event *add(struct trace *trace, uint32_t location, struct walker *walker,
                            enum gn_event_kind kind)
{
    struct row *row = &trace->rows[location];
    struct gn_event *event = &row->events[row->count];
    uint64_t ticks = BASE_TICKS + (uint64_t)(walker->now_ns - walker->behind_ns + BEHIND_NS * GROUP);
    *event = gn_event_bare(kind, location, ticks);
    row->old_ticks[row->count++] = ticks;
    walker->now_ns += 40;
    return event;
}

static void frame(struct trace *trace, uint32_t location, struct walker *walker, enum gn_event_kind kind,
                  uint32_t region)
{
    add(trace, location, walker, kind)->region = region;
}

static void message(struct trace *trace, uint32_t location, struct walker *walker, enum gn_event_kind kind,
                    uint32_t peer)
{
    struct gn_event *event = add(trace, location, walker, kind);
    event->comm = 0;
    event->tag = TAG;
    event->peer = peer;
}

static double drawn(struct walker *walker, double mean_ns)
{
    return gn_mix_exponential(gn_mix_next(&walker->random), mean_ns);
}

/* The first half: up to the send. */
static void send(struct trace *trace, const struct kind *kind, uint32_t location, struct walker *walker)
{
    for (uint32_t i = 0; i < kind->calls; i++) {
        frame(trace, location, walker, GN_EVENT_ENTER, 1);
        walker->now_ns += 500 + drawn(walker, 500);
        frame(trace, location, walker, GN_EVENT_LEAVE, 1);
    }
    walker->now_ns += 5000 + drawn(walker, 1000);
    frame(trace, location, walker, GN_EVENT_ENTER, 0);
    for (uint32_t i = 0; i < MESSAGES; i++)
        message(trace, location, walker, GN_EVENT_MPI_SEND, (location + 1) % LOCATIONS);
}

static void receive(struct trace *trace, uint32_t location, struct walker *walker, double arrival_ns)
{
    if (walker->now_ns < arrival_ns)
        walker->now_ns = arrival_ns;
    for (uint32_t i = 0; i < MESSAGES; i++)
        message(trace, location, walker, GN_EVENT_MPI_RECV, (location + LOCATIONS - 1) % LOCATIONS);
    frame(trace, location, walker, GN_EVENT_LEAVE, 0);
}

static void simulate(struct trace *trace, const struct kind *kind)
{
    struct walker walkers[LOCATIONS];
    double arrivals[LOCATIONS];
    for (uint32_t i = 0; i < LOCATIONS; i++)
        walkers[i] = (struct walker){.random = gn_mix_at(1, 2, i),
                                     .behind_ns = kind->behind ? i % GROUP * BEHIND_NS : 0};
    for (size_t iteration = 0; iteration < trace->iterations; iteration++) {
        for (uint32_t i = 0; i < LOCATIONS; i++) {
            send(trace, kind, i, &walkers[i]);
            arrivals[(i + 1) % LOCATIONS] = walkers[i].now_ns + LATENCY_NS + drawn(&walkers[i], LATENCY_NS);
        }
        for (uint32_t i = 0; i < LOCATIONS; i++)
            receive(trace, i, &walkers[i], arrivals[i]);
    }
}

static void make(struct trace *trace, const struct kind *kind, size_t events)
{
    size_t per_iteration = 2 + 2 * MESSAGES + 2 * (size_t)kind->calls;
    trace->iterations = events / LOCATIONS / per_iteration + 1;
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        size_t count = trace->iterations * per_iteration;
        trace->rows[i] = (struct row){.events = must(malloc(count * sizeof(struct gn_event))),
                                      .old_ticks = must(calloc(count, sizeof(uint64_t))),
                                      .new_ticks = must(calloc(count, sizeof(uint64_t)))};
        memset(trace->rows[i].new_ticks, 1,
               count * sizeof(uint64_t)); /* the kernel's work, not the repair's */
        trace->events += count;
    }
    trace->definitions = define();
    simulate(trace, kind);
}

static void discard(struct trace *trace)
{
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        free(trace->rows[i].events);
        free(trace->rows[i].old_ticks);
        free(trace->rows[i].new_ticks);
    }
    gn_definitions_free(trace->definitions);
}

/* The n-th receive of a location is for the n-th send of its left neighbour: counted here, by nobody's help.
 */
static size_t count_reversed(const struct trace *trace, bool repaired)
{
    size_t reversed = 0;
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        const struct row *to = &trace->rows[i], *from = &trace->rows[(i + LOCATIONS - 1) % LOCATIONS];
        const uint64_t *received = repaired ? to->new_ticks : to->old_ticks;
        const uint64_t *sent = repaired ? from->new_ticks : from->old_ticks;
        size_t s = 0;
        for (size_t r = 0; r < to->count; r++) {
            if (to->events[r].kind != GN_EVENT_MPI_RECV)
                continue;
            while (from->events[s].kind != GN_EVENT_MPI_SEND)
                s++;
            reversed += received[r] < sent[s++];
        }
    }
    return reversed;
}

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct row *row = &((struct trace *)self)->rows[location];
    (void)err;
    if (row->pulled)
        return 0;
    row->pulled = true;
    *events = row->events;
    return (int64_t)row->count;
}

/* ---- memory ---- */

/* From /proc/self/status: VmRSS or VmHWM, in bytes; 0: not known. */
static double memory_of(const char *name)
{
    char line[128];
    double kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            kib = strtod(line + strlen(name) + 1, NULL);
    if (file)
        fclose(file);
    return 1024 * kib;
}

static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
}

/* ---- one repair ---- */

enum phase { MEASURE, FORWARD, BACKWARD, RETIME, PHASES };

struct run {
    double seconds[PHASES], peak_bytes, held_bytes;
    double cpu_seconds, cpu_extract; /* of all phases; of the extraction */
    uint64_t most_knots;             /* of a location, at a time */
    struct gn_repair_result result;
    struct gn_extract_stats extracted;
};

/* On one core, whoever else has it meanwhile. */
static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double since(double begin_ns)
{
    return (timing_now_ns() - begin_ns) / 1e9;
}

static void extract(struct trace *trace, const struct gn_presync *presync, struct gn_op_store *store,
                    struct run *run)
{
    struct gn_error err = {""};
    struct gn_extract *extract;
    struct gn_source source = {trace, trace->definitions, pull, NULL};
    double begin_s = cpu_s();
    must_do(gn_op_store_open(store, LOCATIONS, NULL, &err), &err);
    must_do(gn_extract_open(&extract, &source, presync, store, &err), &err);
    for (uint32_t i = 0; i < LOCATIONS; i++)
        must_do(gn_extract_process(extract, i, &err), &err);
    run->extracted = *gn_extract_stats(extract);
    gn_extract_close(extract);
    run->cpu_extract = cpu_s() - begin_s;
}

static void retime(struct trace *trace, const struct gn_presync *presync, struct gn_repair *repair,
                   struct run *run)
{
    struct gn_deviation deviation = {0};
    struct gn_error err = {""};
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        struct row *row = &trace->rows[i];
        struct gn_knots *knots;
        double begin_ns = timing_now_ns();
        must_do(gn_repair_knots(repair, i, &knots, &err), &err);
        const struct gn_knot_source source =
            knots ? gn_knots_source(knots) : (struct gn_knot_source){NULL, NULL};
        struct gn_retiming retiming = gn_retiming_begin(presync, i, &source, &deviation);
        for (size_t k = 0; k < row->count; k++)
            row->new_ticks[k] = gn_retiming_time(&retiming, k + 1, row->old_ticks[k]);
        const uint64_t most = knots ? gn_knots_told(knots)->most : 0;
        run->most_knots = most > run->most_knots ? most : run->most_knots;
        must_do(gn_repair_knots_close(repair, knots, &err), &err);
        run->seconds[RETIME] += since(begin_ns);
    }
    run->seconds[RETIME] -= run->result.seconds_backward; /* the one pulls the other */
    must_do(gn_repair_agree(repair, &run->result, &err), &err);
    if (deviation.events != trace->events) {
        fprintf(stderr, "repair: %llu of %zu events were retimed\n", (unsigned long long)deviation.events,
                trace->events);
        exit(1);
    }
}

static double held_by(const struct gn_op_store *store, const struct run *run)
{
    size_t ops = 0;
    for (uint32_t i = 0; i < LOCATIONS; i++)
        ops += store->rows[i].count;
    return (double)(ops * sizeof(struct gn_op) + run->most_knots * sizeof(struct gn_knot));
}

static struct gn_repair_settings settings_of(void)
{
    return (struct gn_repair_settings){
        .gamma = GN_REPAIR_GAMMA_RAW, .slope = GN_REPAIR_SLOPE, .longest_ticks = 200000000, .apart_ppm = 10};
}

static void repair_once(struct trace *trace, struct run *run)
{
    static const uint32_t owner[LOCATIONS];
    struct gn_presync presync = {.kind = GN_PRESYNC_NONE, .definitions = trace->definitions};
    struct gn_transport transport = gn_transport_alone();
    struct gn_repair_settings settings = settings_of();
    struct gn_op_store store;
    struct gn_error err = {""};
    struct gn_repair *repair;
    for (uint32_t i = 0; i < LOCATIONS; i++)
        trace->rows[i].pulled = false;
    forget_peak();
    double before = memory_of("VmRSS");
    extract(trace, &presync, &store, run);
    double begin_s = cpu_s();
    must_do(gn_repair(&repair, trace->definitions, &store, &transport, owner, &settings, &run->result, &err),
            &err);
    retime(trace, &presync, repair, run);
    run->cpu_seconds = cpu_s() - begin_s;
    run->held_bytes = held_by(&store, run);
    run->peak_bytes = memory_of("VmHWM") - before;
    run->seconds[MEASURE] = run->result.seconds_measure;
    run->seconds[FORWARD] = run->result.seconds_forward;
    run->seconds[BACKWARD] = run->result.seconds_backward;
    gn_repair_close(repair);
    gn_latency_close(&run->result.latency);
    gn_op_store_close(&store);
    transport.close(transport.self);
}

/* ---- tables ---- */

static double whole(const struct run *run)
{
    return run->cpu_seconds;
}

static double extraction(const struct run *run)
{
    return run->cpu_extract;
}

/* Million events a second of all runs, slowest first. */
static void rates_of(double rates[ROUNDS], const struct run *runs, double events,
                     double (*seconds)(const struct run *))
{
    for (int i = 0; i < ROUNDS; i++)
        rates[i] = events / seconds(&runs[i]) / 1e6;
    qsort(rates, ROUNDS, sizeof *rates, timing_order);
}

static void print_row(const struct trace *trace, const struct kind *kind, const struct run *runs)
{
    const struct run *last = &runs[ROUNDS - 1];
    double events = (double)trace->events, ns = 1e9 / events, all[ROUNDS], read[ROUNDS];
    rates_of(all, runs, events, whole);
    rates_of(read, runs, events, extraction);
    printf("%-5s %9zu %8.2f %%  %5.1f (%.1f … %.1f)", kind->name, trace->events,
           100.0 * (double)trace->violating / events, all[ROUNDS / 2], all[0], all[ROUNDS - 1]);
    printf("  %7.1f %7.1f %8.1f %6.1f", last->seconds[MEASURE] * ns, last->seconds[FORWARD] * ns,
           last->seconds[BACKWARD] * ns, last->seconds[RETIME] * ns);
    printf("  %7.1f  %5.1f %5.1f  %5u  %9llu  %zu\n", read[ROUNDS / 2], last->held_bytes / events,
           last->peak_bytes / events, last->result.pass_count,
           (unsigned long long)last->result.after.messages.corrected, trace->unsolved);
}

static void bench(const struct kind *kind, size_t events)
{
    struct trace trace = {.events = 0};
    struct run runs[ROUNDS] = {0};
    make(&trace, kind, events);
    trace.violating = count_reversed(&trace, false);
    for (int i = 0; i < ROUNDS; i++)
        repair_once(&trace, &runs[i]);
    trace.unsolved = count_reversed(&trace, true);
    print_row(&trace, kind, runs);
    fflush(stdout);
    discard(&trace);
}

int main(int argc, char **argv)
{
    double events = argc > 1 ? strtod(argv[1], NULL) : 4e6;
    if (argc > 2 || !(events >= 1 && events <= 1e9)) {
        fprintf(stderr, "usage: repair [EVENTS]\n");
        return 2;
    }
    printf("%-5s %9s %10s  %-22s  %7s %7s %8s %6s  %7s  %5s %5s  %5s  %9s  %s\n", "trace", "events",
           "reversed", "million events/s", "measure", "forward", "backward", "retime", "extract", "held",
           "peak", "pass", "corrected", "left");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        bench(&kinds[i], (size_t)events);
    return 0;
}

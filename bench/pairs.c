#include "pairs.h"

#include "timing.h"
#include "two_clocks.h"

#include <string.h>

enum { BATCH_NS = 2000000, HARMLESS_NS = 20000, CLOCK_ITERATIONS = 20000 };

/* Nanoseconds per call. */
static __attribute__((noinline)) double time_batch(const struct pairs *pairs, const struct pairs_pattern *p,
                                                   enum pairs_way way)
{
    pairs->take(way);
    MPI_Barrier(pairs->comm);
    double begin_ns = timing_now_ns();
    p->run(p->iterations);
    return (timing_now_ns() - begin_ns) / (double)(p->iterations * p->calls);
}

static double fastest_ns(const struct pairs *pairs, const struct pairs_pattern *p, enum pairs_way way)
{
    double fastest = time_batch(pairs, p, way);
    for (int i = 0; i < 2; i++)
        fastest = timing_min(fastest, time_batch(pairs, p, way));
    return fastest;
}

/* Until the fastest pair is long enough; rank 0 decides for all. */
static void calibrate(const struct pairs *pairs, struct pairs_pattern *p)
{
    int enough = 0;
    for (p->iterations = 16; !enough; MPI_Bcast(&enough, 1, MPI_INT, 0, pairs->comm)) {
        p->iterations *= 2;
        double pair_ns = fastest_ns(pairs, p, PAIRS_THROUGH_TOOL) + fastest_ns(pairs, p, PAIRS_PAST_TOOL);
        enough = pair_ns * (double)(p->iterations * p->calls) > BATCH_NS || p->iterations > 1 << 24;
    }
}

static void print(const char *what, const struct pairs_pattern *p, double *values, int count)
{
    struct timing_summary s = timing_summarise(values, count);
    printf("%s %s calls %d iterations %ld batches %d min %.2f q1 %.2f median %.2f q3 %.2f\n", what, p->name,
           p->calls, p->iterations, count, s.min, s.q1, s.median, s.q3);
}

/* The longest that a batch may take. In short ones cold caches are no disturbance. */
static double undisturbed_ns(const struct pairs_pattern *p, enum pairs_way way, int batches)
{
    double sorted[TIMING_MAX_BATCHES];
    memcpy(sorted, p->ns[way], (size_t)batches * sizeof *sorted);
    return 1.5 * timing_summarise(sorted, batches).q1 + HARMLESS_NS / (double)(p->iterations * p->calls);
}

static void print_pattern(const struct pairs_pattern *p, int batches)
{
    double through_ns[TIMING_MAX_BATCHES], added_ns[TIMING_MAX_BATCHES];
    double limit_ns = undisturbed_ns(p, PAIRS_THROUGH_TOOL, batches);
    double past_limit_ns = undisturbed_ns(p, PAIRS_PAST_TOOL, batches);
    int kept = 0;
    for (int i = 0; i < batches; i++)
        if (p->ns[PAIRS_THROUGH_TOOL][i] <= limit_ns && p->ns[PAIRS_PAST_TOOL][i] <= past_limit_ns) {
            through_ns[kept] = p->ns[PAIRS_THROUGH_TOOL][i];
            added_ns[kept++] = p->ns[PAIRS_THROUGH_TOOL][i] - p->ns[PAIRS_PAST_TOOL][i];
        }
    if (kept == 0)
        return;
    print("pattern", p, through_ns, kept);
    print("added", p, added_ns, kept);
}

/* The loop around the readings is taken off. */
static double time_clocks(void)
{
    double begin_ns = timing_now_ns();
    two_clocks_read(CLOCK_ITERATIONS);
    double between_ns = timing_now_ns();
    two_clocks_loop(CLOCK_ITERATIONS);
    return (2 * between_ns - begin_ns - timing_now_ns()) / CLOCK_ITERATIONS;
}

static void print_clocks(double *ns, int batches)
{
    struct timing_summary s = timing_summarise(ns, batches);
    printf("part two clock readings: iterations %d batches %d min %.2f q1 %.2f median %.2f q3 %.2f\n",
           CLOCK_ITERATIONS, batches, s.min, s.q1, s.median, s.q3);
}

static int prepare(const struct pairs *pairs, int batches)
{
    int ranks;
    MPI_Comm_size(pairs->comm, &ranks);
    for (int i = 0; i < pairs->count; i++) {
        struct pairs_pattern *p = &pairs->patterns[i];
        if (p->ranks && p->ranks != ranks)
            continue;
        for (int way = 0; way < PAIRS_WAYS; way++)
            if (!(p->ns[way] = calloc((size_t)batches, sizeof *p->ns[way])))
                return -1;
        if (p->iterations == 0)
            calibrate(pairs, p);
    }
    return 0;
}

static void finish(const struct pairs *pairs, int batches)
{
    int self;
    MPI_Comm_rank(pairs->comm, &self);
    for (int i = 0; i < pairs->count; i++) {
        struct pairs_pattern *p = &pairs->patterns[i];
        if (p->ns[0] && self == 0)
            print_pattern(p, batches);
        for (int way = 0; way < PAIRS_WAYS; way++)
            free(p->ns[way]);
    }
}

__attribute__((noinline)) void pairs_measure(const struct pairs *pairs, int batches)
{
    double clock_ns[TIMING_MAX_BATCHES];
    if (prepare(pairs, batches) != 0)
        return;
    for (int batch = 0; batch < batches; batch++) {
        for (int turn = 0; turn < pairs->count * PAIRS_WAYS; turn++) {
            struct pairs_pattern *p = &pairs->patterns[turn / PAIRS_WAYS];
            enum pairs_way way = (enum pairs_way)((turn + batch) % PAIRS_WAYS); /* the two go first in turn */
            if (p->ns[way])
                p->ns[way][batch] = time_batch(pairs, p, way);
        }
        clock_ns[batch] = time_clocks();
    }
    finish(pairs, batches);
    int self;
    MPI_Comm_rank(pairs->comm, &self);
    if (self == 0)
        print_clocks(clock_ns, batches);
}

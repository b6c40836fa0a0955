/*
 * How long a question over frames takes, against the aggregated view of the same changes and against only
 * reading them.
 *
 *   frames [MOST_EVENTS]      default 1e7
 *
 * Iterations of a program: each location computes for about 1 ms, one of them longer, and waits for the
 * others; bounds are about 2 us wide. A clock per location, or one per 16 of them. What is compared runs in
 * turn, several rounds; the medians are printed, and the median of the ratios of the same round. Widths are
 * of all locations' times together: what is not certain of them.
 */
#include "analyse/frames.h"
#include "base/mix.h"
#include "timing.h"

#include <inttypes.h>
#include <string.h>

enum { ROUNDS = 3, ITERATION_NS = 2000000, WIDTH_NS = 2000, PER_CLOCK = 16 };

static struct gn_stages *stages;
static uint32_t locations;
static size_t total;
static volatile uint64_t consumed;

static struct gn_stage stage_at(uint32_t clock, int64_t at_ns, uint8_t state)
{
    /* the clock's bounds wander around the truth, the same for all that read it */
    int64_t before = (int64_t)(gn_mix_at(1, clock, (uint64_t)at_ns / 100000) % WIDTH_NS);
    return (struct gn_stage){{at_ns - before, at_ns - before + WIDTH_NS}, state, (uint64_t)at_ns};
}

/* Bounds do not descend, as those of a clock. */
static void settle(struct gn_stage *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (list[i].at.lo_ns < list[i - 1].at.lo_ns)
            list[i].at.lo_ns = list[i - 1].at.lo_ns;
        if (list[i].at.hi_ns < list[i - 1].at.hi_ns)
            list[i].at.hi_ns = list[i - 1].at.hi_ns;
    }
}

static void make(size_t events, uint32_t per_clock)
{
    size_t iterations = events / locations / 2;
    stages = calloc(locations, sizeof *stages);
    total = 0;
    for (uint32_t l = 0; l < locations; l++) {
        struct gn_stage *list = calloc(2 * iterations + 1, sizeof *list);
        uint32_t clock = l / per_clock;
        for (size_t i = 0; i < iterations; i++) {
            int64_t begin = (int64_t)(i + 1) * ITERATION_NS;
            int64_t busy =
                1000000 + (int64_t)(gn_mix_at(2, l, i) % 200000) + (l == i % locations ? 500000 : 0);
            int64_t come = begin + (int64_t)(gn_mix_at(3, l, i) % 5000);
            list[2 * i] = stage_at(clock, come, GN_STATE_B);
            list[2 * i + 1] = stage_at(clock, begin + busy, GN_STATE_A);
        }
        list[2 * iterations] = stage_at(clock, (int64_t)(iterations + 1) * ITERATION_NS, GN_STATE_OTHER);
        settle(list, 2 * iterations + 1);
        stages[l] = (struct gn_stages){list, 2 * iterations + 1, clock};
        total += stages[l].count;
    }
}

/* ---- what is compared ---- */

static double width_ns;

/* Processor time: one thread in memory, whatever else the machine does. */
static double used_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

static double run_read(void)
{
    double begin = used_ns();
    uint64_t sum = 0;
    for (uint32_t l = 0; l < locations; l++)
        for (size_t i = 0; i < stages[l].count; i++)
            sum += (uint64_t)stages[l].stages[i].at.lo_ns ^ stages[l].stages[i].state;
    consumed = sum;
    return used_ns() - begin;
}

static double run_question(bool aggregated)
{
    struct gn_frames frames;
    struct gn_error err;
    struct gn_question question = {1};
    double begin = used_ns();
    int code = aggregated ? gn_frames_aggregated(&frames, stages, locations, &question, NULL, 0, &err)
                          : gn_frames_ask(&frames, stages, locations, &question, &err);
    double end = used_ns();
    if (code) {
        fprintf(stderr, "frames: %s\n", err.text);
        exit(1);
    }
    width_ns = 0;
    for (size_t l = 0; l < frames.count; l++)
        width_ns += frames.location[l].hi_ns - frames.location[l].lo_ns;
    gn_frames_clear(&frames);
    return end - begin;
}

static double median(double *values)
{
    return timing_summarise(values, ROUNDS).median;
}

static void compare(size_t events, uint32_t wanted, uint32_t per_clock)
{
    double read[ROUNDS], sweep[ROUNDS], view[ROUNDS], ratio[ROUNDS], narrow = 0, wide = 0;
    locations = wanted;
    make(events, per_clock);
    for (int round = 0; round < ROUNDS; round++) {
        read[round] = run_read();
        sweep[round] = run_question(false);
        narrow = width_ns;
        view[round] = run_question(true);
        wide = width_ns;
        ratio[round] = sweep[round] / view[round];
    }
    double each = 1 / (double)total;
    printf("%9zu %9u %6u %10.2f %10.1f %10.1f %11.2f %10.4f\n", total, wanted, (wanted - 1) / per_clock + 1,
           median(read) * each, median(view) * each, median(sweep) * each, median(ratio),
           wide > 0 ? narrow / wide : 1);
    fflush(stdout);
    for (uint32_t l = 0; l < locations; l++)
        free((void *)(uintptr_t)stages[l].stages);
    free(stages);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {4, 64, 1024};
    double most = argc > 1 ? strtod(argv[1], NULL) : 1e7;
    printf("                              read aggregated      sweep      sweep/      width/\n");
    printf("   events locations clocks  (processor ns per event)      aggregated  aggregated\n");
    for (double events = 1e5; events <= most; events *= 10)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (uint32_t per_clock = 1; per_clock <= PER_CLOCK; per_clock *= PER_CLOCK)
                compare((size_t)events, sizes[i], per_clock);
    return 0;
}

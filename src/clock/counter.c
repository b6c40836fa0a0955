#include "clock/counter.h"

#include "clock/ticks.h"

#include <stdbool.h>
#include <time.h>

enum {
    RATE_MS = 10,
    RATE_TRIES = 50,
    DIFFERENCES = 4096,
    WINDOW_TICKS = 192, /* above the smallest difference: where the gaps are looked at */
    SAMPLES = 1 << 14,
    COARSE_MS = 20,
    COST_READINGS = 1000,
    COST_TRIES = 8
};

/* ---- rate ---- */

/* As gn_moment_now, with a width, and more patient. */
static struct gn_moment tight_moment(uint64_t *width_ticks)
{
    struct gn_moment best = {0, 0};
    *width_ticks = UINT64_MAX;
    for (int i = 0; i < RATE_TRIES; i++) {
        uint64_t before = gn_ticks_ordered();
        uint64_t ns = gn_monotonic_ns();
        uint64_t width = gn_ticks_ordered() - before;
        if (width < *width_ticks) {
            *width_ticks = width;
            best = (struct gn_moment){before + width / 2, ns};
        }
    }
    return best;
}

/*
 * What the processor says of its crystal (CPUID 0x15) is not asked: the kernel has, or has measured it for
 * longer than we can, and CLOCK_MONOTONIC_RAW runs at what came out. All counters of all hosts are measured
 * in the same way.
 */
static void measure_rate(struct gn_counter *counter)
{
    uint64_t first_width, last_width;
    struct gn_moment first = tight_moment(&first_width);
    nanosleep(&(struct timespec){.tv_nsec = RATE_MS * 1000000L}, NULL);
    struct gn_moment last = tight_moment(&last_width);
    double ticks = (double)(last.ticks - first.ticks);
    counter->hz = 1e9 * ticks / (double)(last.ns - first.ns);
    counter->hz_error_ppb = 1e9 * (double)(first_width + last_width) / 2 / ticks;
}

/* ---- granularity ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/*
 * Steps of p ticks, rounded down: differences are floor(mp) and ceil(mp), m = 0, 1, …, so that their gaps are
 * longer than p − 2, and the true count is ahead of a reading by less than p + 1: gap + 3.
 */
uint64_t gn_counter_granularity(const unsigned char *seen, size_t count)
{
    size_t first = 0;
    while (first < count && !seen[first])
        first++;
    uint64_t gap = 0, divisor = first;
    for (size_t d = first + 1, last = first; d < count; d++) {
        if (!seen[d])
            continue;
        divisor = common_divisor(divisor, d);
        if (last < first + WINDOW_TICKS && d - last > gap)
            gap = d - last;
        last = d;
    }
    bool equal_steps = gap == divisor && gap > 1;
    return gap == 0 || equal_steps ? gap : gap + 3;
}

/* A counter whose steps are so long that all small differences are 0. */
static uint64_t coarse_granularity(void)
{
    uint64_t until_ns = gn_monotonic_ns() + COARSE_MS * 1000000u, least = UINT64_MAX;
    for (uint64_t last = gn_ticks(), now; gn_monotonic_ns() < until_ns; last = now) {
        now = gn_ticks();
        if (now > last && now - last < least)
            least = now - last;
    }
    return least == UINT64_MAX ? COARSE_MS * 1000000u : least + 3;
}

static uint64_t difference_after(int turns)
{
    uint64_t before = gn_ticks();
    for (; turns > 0; turns--)
        __asm__ volatile("");
    return gn_ticks() - before;
}

/* How long to wait at most, so that differences go twice as far as is looked at, on a processor of any speed.
 */
static int sweep_turns(void)
{
    int turns = 256;
    for (; turns < 1 << 16; turns *= 2) {
        uint64_t least = UINT64_MAX;
        for (int i = 0; i < 8; i++) {
            uint64_t difference = difference_after(turns);
            least = difference < least ? difference : least;
        }
        if (least > 2 * WINDOW_TICKS)
            break;
    }
    return turns;
}

static uint64_t measure_granularity(void)
{
    unsigned char seen[DIFFERENCES] = {0};
    int sweep = sweep_turns();
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t difference = difference_after(i % sweep);
        if (difference < DIFFERENCES)
            seen[difference] = 1;
    }
    uint64_t granularity = gn_counter_granularity(seen, DIFFERENCES);
    return granularity ? granularity : coarse_granularity();
}

/* ---- cost ---- */

static uint64_t time_readings(void)
{
    uint64_t begin_ticks = gn_ticks(), last_ticks = begin_ticks;
    for (int i = 0; i < COST_READINGS; i++)
        last_ticks = gn_ticks();
    return last_ticks - begin_ticks;
}

static double measure_cost_ns(double hz)
{
    uint64_t best_ticks = UINT64_MAX;
    for (int i = 0; i < COST_TRIES; i++) {
        uint64_t ticks = time_readings();
        best_ticks = ticks < best_ticks ? ticks : best_ticks;
    }
    return 1e9 * (double)best_ticks / hz / COST_READINGS;
}

void gn_counter_measure(struct gn_counter *counter)
{
    *counter = (struct gn_counter){.name = "monotonic_raw", .why_not = gn_ticks_why_not(), .hz = 1e9};
#ifdef GN_PROCESSOR_COUNTER
    if (!gn_ticks_from_kernel) {
        counter->name = GN_PROCESSOR_COUNTER;
        measure_rate(counter);
    }
#endif
    counter->granularity_ticks = measure_granularity();
    counter->cost_ns = measure_cost_ns(counter->hz);
}

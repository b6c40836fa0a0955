/*
 * What clocks with bounds cost: an exchange taken into a model, and a timestamp converted to both bounds,
 * against the conversion of linear regression (one multiplication and one addition of doubles, no bounds at
 * all).
 *
 *   clock [EXCHANGES]       default 10000
 *
 * Two clocks of 3 GHz, one 35 ppm fast and wandering by 1 ppm; bursts of 8 exchanges, four a second, with
 * delays of 10 us and an exponential tail. What is compared runs in turn, several rounds; medians.
 */
#include "base/mix.h"
#include "clock/clocks.h"
#include "timing.h"

#include <math.h>
#include <stdint.h>

enum { ROUNDS = 15, TIMESTAMPS = 1000000 };

struct exchange {
    uint64_t p, q, s, r;
};

static uint64_t state = 1;

static double uniform(void)
{
    return gn_mix_unit(gn_mix_next(&state));
}

static uint64_t child(uint64_t t)
{
    double s = (double)t / 3e9;
    return t + 5000000000000 + (uint64_t)((double)t * 35e-6) +
           (uint64_t)(3e9 * 1e-6 * 4.77 * (1 - cos(s / 4.77)));
}

static uint64_t delay(void)
{
    return 30000 + (uint64_t)gn_mix_exponential(gn_mix_next(&state), 9000);
}

static struct exchange *make_exchanges(size_t count, uint64_t *first, uint64_t *last)
{
    struct exchange *x = malloc(count * sizeof *x);
    uint64_t t = *first = 30000000000;
    for (size_t i = 0; x && i < count; i++) {
        if (i % 8 == 7)
            t += 750000000;
        x[i].p = child(t);
        x[i].q = t += delay();
        x[i].s = t += 3000;
        x[i].r = child(t += delay());
    }
    *last = t;
    return x;
}

static struct gn_clocks *new_clocks(void)
{
    struct gn_clocks *clocks = gn_clocks_new(0);
    struct gn_clock_def def = {3e9, 1};
    if (!clocks || gn_clocks_add(clocks, &def) != 0 || gn_clocks_add(clocks, &def) != 1)
        exit(1);
    return clocks;
}

static double feed(struct gn_clocks *clocks, const struct exchange *x, size_t count)
{
    double begin = timing_now_ns();
    for (size_t i = 0; i < count; i++) {
        gn_clocks_message(clocks, 1, x[i].p, 0, x[i].q);
        gn_clocks_message(clocks, 0, x[i].s, 1, x[i].r);
    }
    return (timing_now_ns() - begin) / (double)count;
}

struct line {
    double slope, at_mean;
    uint64_t mean;
};

static struct line regress(const struct exchange *x, size_t count)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, n = 2 * (double)count;
    uint64_t x0 = x[0].p, y0 = x[0].q;
    for (size_t i = 0; i < count; i++) {
        double px = (double)(x[i].p - x0), py = (double)(x[i].q - y0) / 3;
        double rx = (double)(x[i].r - x0), ry = (double)(x[i].s - y0) / 3;
        sx += px + rx;
        sy += py + ry;
        sxx += px * px + rx * rx;
        sxy += px * py + rx * ry;
    }
    double slope = (sxy - sx * sy / n) / (sxx - sx * sx / n);
    return (struct line){slope, sy / n + (double)y0 / 3 - slope * (sx / n), x0};
}

static __attribute__((noinline)) void convert_line(const struct line *line, const uint64_t *ticks,
                                                   int64_t *ns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ns[i] = (int64_t)((double)(int64_t)(ticks[i] - line->mean) * line->slope + line->at_mean);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static volatile int64_t consumed;

static void row(const char *name, double *times, const double *base)
{
    double ratios[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        ratios[i] = base[i] / times[i];
    struct timing_summary t = timing_summarise(times, ROUNDS), r = timing_summarise(ratios, ROUNDS);
    printf("%-44s %8.2f ns   speed against regression %5.2f (%.2f to %.2f)\n", name, t.median, r.median,
           r.min, ratios[ROUNDS - 1]);
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    uint64_t first, last;
    struct exchange *exchanges = make_exchanges(count, &first, &last);
    uint64_t *ascending = malloc(TIMESTAMPS * sizeof *ascending),
             *random = malloc(TIMESTAMPS * sizeof *random);
    int64_t *points = malloc(TIMESTAMPS * sizeof *points);
    struct gn_interval *intervals = malloc(TIMESTAMPS * sizeof *intervals);
    double update[ROUNDS], solve[ROUNDS], line_ns[ROUNDS], sorted_ns[ROUNDS], random_ns[ROUNDS],
        one_ns[ROUNDS], line_base[ROUNDS];
    for (size_t i = 0; i < TIMESTAMPS; i++)
        ascending[i] = random[i] = child(first + (uint64_t)(uniform() * (double)(last - first)));
    qsort(ascending, TIMESTAMPS, sizeof *ascending, by_value);
    struct gn_assumption assumption = gn_assumption_default();
    struct line line = regress(exchanges, count);
    double used = 0, width = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct gn_clocks *clocks = new_clocks();
        feed(clocks, exchanges, count / 2); /* a model that has been at work for a while */
        update[round] = feed(clocks, exchanges + count / 2, count - count / 2);
        double begin = timing_now_ns();
        if (gn_clocks_solve(clocks, &assumption, NULL) != 0)
            return 1;
        solve[round] = (timing_now_ns() - begin) / (double)count;
        const struct gn_clock_state *known = gn_clocks_state(clocks, 1);
        used = (double)(known->used_there + known->used_back);
        begin = timing_now_ns();
        convert_line(&line, ascending, points, TIMESTAMPS);
        line_ns[round] = line_base[round] = (timing_now_ns() - begin) / TIMESTAMPS;
        begin = timing_now_ns();
        gn_bounds_convert_all(known->bounds, ascending, intervals, TIMESTAMPS);
        sorted_ns[round] = (timing_now_ns() - begin) / TIMESTAMPS;
        for (size_t i = 0; round == 0 && i < TIMESTAMPS; i++)
            width += (double)(intervals[i].hi_ns - intervals[i].lo_ns) / TIMESTAMPS;
        begin = timing_now_ns();
        gn_bounds_convert_all(known->bounds, random, intervals, TIMESTAMPS);
        random_ns[round] = (timing_now_ns() - begin) / TIMESTAMPS;
        begin = timing_now_ns();
        for (size_t i = 0; i < TIMESTAMPS; i++)
            intervals[i] = gn_bounds_convert(known->bounds, ascending[i]);
        one_ns[round] = (timing_now_ns() - begin) / TIMESTAMPS;
        consumed += points[round] + intervals[round].lo_ns;
        gn_clocks_free(clocks);
    }
    struct timing_summary u = timing_summarise(update, ROUNDS), s = timing_summarise(solve, ROUNDS);
    printf("%zu exchanges, %.0f points used, mean width %.0f ns\n", count, used, width);
    printf("%-44s %8.2f ns per exchange (aim 10)\n", "an exchange into the model", u.median);
    printf("%-44s %8.2f ns per exchange\n", "the bounds from all of them, once", s.median);
    row("regression: a timestamp, no bounds", line_ns, line_base);
    row("a timestamp to both bounds, ascending", sorted_ns, line_base);
    row("in random order", random_ns, line_base);
    row("one by one, ascending (aim 8 ns)", one_ns, line_base);
    free(exchanges);
    free(ascending);
    free(random);
    free(points);
    free(intervals);
    return 0;
}

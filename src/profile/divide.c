#include "profile/divide.h"

#include <math.h>

static const double quantile = 2.576; /* of 99 % */
static const double alarm = 4;        /* of one in 30,000: there are many edges, and many ranks */
static const double least_share = 0.05;
static const double found_least = 3; /* times; fewer may be of moments that are not worth a row */
static const double uneven = 1.25;   /* looks do not all stand for as much */

static int64_t whole(double ns)
{
    return ns > 0 ? (int64_t)fmin(ns, 9e18) : 0; /* nor is what is no number */
}

/* In samples: one stretch has one more or less than it should, with a variance of 1/4 at most; and one in
 * which there is hardly ever a sample, as many as there are. */
static double variance(double expected, double times)
{
    return fmax(fmin(expected, times / 4), 0);
}

static bool can_tell(struct gn_edge_time time, const struct gn_sampled_process *process)
{
    return process->is_known && time.ns > 0 && process->period_ns > 0;
}

/* When there was much to do samples were fewer, and each stands for more. */
static double period_of(struct gn_edge_time time, const struct gn_sampled_process *process)
{
    return time.samples > 0 ? fmax(process->period_ns, (double)time.sampled_ns / (double)time.samples)
                            : process->period_ns;
}

static double seen_of(struct gn_edge_time time, const struct gn_sampled_process *process)
{
    return fmax((double)time.sampled_ns, 0) * (1 + process->missed);
}

/* Who has no core computes as long as before, and takes longer: in proportion, for all that is known. */
static double taken_of(double seen_ns, const struct gn_sampled_process *process)
{
    return process->cpu_ns > 0 ? process->no_core_ns / process->cpu_ns * seen_ns : 0;
}

static struct gn_edge_sum one_of(struct gn_edge_time time, const struct gn_sampled_process *process)
{
    if (!can_tell(time, process))
        return (struct gn_edge_sum){0};
    const double period = period_of(time, process), seen = seen_of(time, process);
    return (struct gn_edge_sum){.ns = (double)time.ns,
                                .seen_ns = seen,
                                .taken_ns = taken_of(seen, process),
                                .no_core_ns = process->no_core_ns,
                                .variance = (variance((double)time.ns / period, (double)time.times) + 1) *
                                            period * period,
                                .found = (double)time.found,
                                .found_ns = (double)time.found_ns};
}

static double least_of(const struct gn_edge_sum *sum, double deviations)
{
    return sum->ns - sum->seen_ns - sum->no_core_ns - deviations * sqrt(sum->variance);
}

static double likely_of(const struct gn_edge_sum *sum)
{
    return fmax(sum->ns - sum->seen_ns - sum->taken_ns, 0);
}

static bool is_unseen(const struct gn_edge_sum *sum)
{
    const double least_ns = least_share * sum->ns;
    return sum->ns > 0 &&
           (least_of(sum, alarm) >= least_ns || (sum->found >= found_least && sum->found_ns >= least_ns));
}

void gn_edge_sum_add(struct gn_edge_sum *sum, struct gn_edge_time time,
                     const struct gn_sampled_process *process)
{
    const struct gn_edge_sum own = one_of(time, process);
    sum->ns += own.ns;
    sum->seen_ns += own.seen_ns;
    sum->taken_ns += own.taken_ns;
    sum->no_core_ns += own.no_core_ns;
    sum->variance += own.variance;
    sum->found += own.found;
    sum->found_ns += own.found_ns;
    *(is_unseen(&own) ? &sum->alone_ns : &sum->parts_ns) += likely_of(&own);
}

struct gn_divided gn_divide(struct gn_edge_time time, const struct gn_sampled_process *process,
                            const struct gn_edge_sum *sum)
{
    const struct gn_edge_sum own = one_of(time, process);
    if (!(own.ns > 0))
        return (struct gn_divided){0, 0};
    const double chance = quantile * sqrt(own.variance), least = fmax(least_of(&own, quantile), 0),
                 left = fmax(likely_of(sum) - sum->alone_ns, 0);
    const bool by_itself = is_unseen(&own);
    /* what chance has added to those that cannot be told by themselves is not in the sum */
    const double scale = by_itself || !(sum->parts_ns > 0) ? 1 : fmin(left / sum->parts_ns, 1);
    const double unseen = fmin(fmax(likely_of(&own) * scale, by_itself ? least : 0), own.ns);
    if (!by_itself && !is_unseen(sum))
        return (struct gn_divided){0, fmin(fmax(likely_of(&own), chance), own.ns)};
    return (struct gn_divided){whole(fmin(unseen, own.ns)), fmin(fmax(chance, unseen - least), own.ns)};
}

struct gn_divided gn_divide_asleep(int64_t unseen_ns, int64_t found_ns, int64_t times,
                                   const struct gn_sampled_process *process)
{
    const double all = fmax((double)unseen_ns, 0), found = (double)found_ns;
    if (times <= 0 || found_ns <= 0)
        return (struct gn_divided){0, 0};
    const double chance = quantile * uneven * found / sqrt((double)times),
                 least = fmax(0, all - process->kernel_ns - process->no_core_ns);
    if (!(least <= found + chance)) /* it was asleep where one does not see it, too */
        return (struct gn_divided){whole(fmin(found, all)), fmin(chance, all)};
    return (struct gn_divided){whole(fmin(fmax(found, least), all)), fmin(chance, all - least)};
}

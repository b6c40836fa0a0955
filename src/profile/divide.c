#include "profile/divide.h"

#include <math.h>

static const double quantile = 2.576; /* of 99 % */
static const double least_share = 0.05;

/* In samples: one stretch has one more or less than it should, with a variance of 1/4 at most; and one in
 * which there is hardly ever a sample, as many as there are. */
static double deviation(double expected, double times)
{
    return sqrt(fmin(expected, times / 4));
}

static bool can_tell(struct gn_edge_time time, const struct gn_sampled_process *process)
{
    return process->is_known && time.ns > 0 && process->period_ns > 0;
}

void gn_edge_sum_add(struct gn_edge_sum *sum, struct gn_edge_time time,
                     const struct gn_sampled_process *process)
{
    if (!can_tell(time, process))
        return;
    const double off =
        deviation((double)time.ns / process->period_ns, (double)time.times) * process->period_ns;
    sum->ns += (double)time.ns;
    sum->seen_ns += (double)time.sampled_ns * (1 + process->missed);
    sum->no_core_ns += process->no_core_ns;
    sum->variance += off * off + process->period_ns * process->period_ns;
}

static double least_of(const struct gn_edge_sum *sum)
{
    return sum->ns - sum->seen_ns - sum->no_core_ns - quantile * sqrt(sum->variance);
}

static bool is_unseen(const struct gn_edge_sum *sum)
{
    return sum->ns > 0 && least_of(sum) >= least_share * sum->ns;
}

struct gn_divided gn_divide(struct gn_edge_time time, const struct gn_sampled_process *process,
                            const struct gn_edge_sum *sum)
{
    struct gn_edge_sum own = {0};
    if (!can_tell(time, process))
        return (struct gn_divided){0, 0};
    gn_edge_sum_add(&own, time, process);
    /* who has no core computes as long as before, and takes longer: in proportion, for all that is known */
    const double taken = process->cpu_ns > 0 ? process->no_core_ns / process->cpu_ns * own.seen_ns : 0,
                 chance = quantile * sqrt(own.variance), least = least_of(&own);
    const double likely = fmax(own.ns - own.seen_ns - taken, 0);
    if (!is_unseen(sum) && !is_unseen(&own))
        return (struct gn_divided){0, fmin(fmax(likely, chance), own.ns)};
    const double unseen = fmin(fmax(likely, least), own.ns);
    return (struct gn_divided){(int64_t)unseen, fmin(fmax(chance, unseen - fmax(least, 0)), own.ns)};
}

struct gn_divided gn_divide_asleep(int64_t unseen_ns, int64_t found_ns, int64_t times,
                                   const struct gn_sampled_process *process)
{
    const double all = (double)unseen_ns, found = (double)found_ns;
    if (times <= 0 || found_ns <= 0)
        return (struct gn_divided){0, 0};
    const double chance = quantile * found / sqrt((double)times),
                 least = fmax(0, all - process->kernel_ns - process->no_core_ns),
                 asleep = fmin(fmax(found, least), all);
    return (struct gn_divided){(int64_t)asleep, fmin(chance, all - least)};
}

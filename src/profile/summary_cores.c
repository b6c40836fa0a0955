/*
 * How much of a row's time its threads were on no core. What they had of it, samples tell: each stands for a
 * stretch of processor time that the program ran itself, while the kernel, which worked for it, is not
 * sampled. So what is left of the row's time is the time off the core, but for what the kernel may have
 * taken; and no more of that than all ranks were ready and waited for a core was spent so, nor less than what
 * is not explained by all that they have blocked.
 */
#include "profile/summary.h"

#include <math.h>
#include <string.h>

static const double quantile = 2.576; /* of 99 %, as in gn_samples_share */
static const double none_seen = 4.6;  /* so many bursts may be expected where there are none, at 99 % */

static struct gn_between between(double low, double high, double all)
{
    return (struct gn_between){fmin(fmax(low, 0), all), fmin(fmax(high, 0), all)};
}

/* Samples are not of regions, and not of what recording took. */
static bool is_sampled(const struct gn_activity_row *row)
{
    return strcmp(row->kind, "gnomon") != 0 && strcmp(row->kind, "unrecorded") != 0 &&
           strcmp(row->kind, "region") != 0;
}

bool gn_row_is_asleep(const struct gn_activity_row *row)
{
    static const double most_of_it = 0.6;
    const double longer_ns = (double)(row->max_ns - row->min_ns);
    const double without_one_ns = fmax(0, row->preempted_s.high) * 1e9;
    return row->how == GN_HOW_UNSEEN ||
           (row->samples > 0 && longer_ns > 0 &&
            (double)(row->total_ns - row->cpu_ns) - without_one_ns >= most_of_it * longer_ns);
}

void gn_summarise_cores(struct gn_summary *s)
{
    const struct gn_sampling_told *told = &s->sampling;
    const double each_s = told->samples > 0 ? told->time_s / (double)told->samples : NAN;
    const bool is_told = strcmp(told->state, "sampled") == 0 && isfinite(s->resources.cpu_s) && each_s > 0;
    const double in_kernel_s = told->with_kernel ? 0 : fmax(s->resources.cpu_s - told->time_s, 0);
    const double kernel_s = in_kernel_s + told->ours_s, preempted_s = s->resources.preempted_s;
    const double elapsed_s = (double)s->total_ns * 1e-9; /* of all threads that rows are of */
    /* where there are other threads, nobody knows which of them were blocked */
    const double blocked_s =
        told->has_others ? INFINITY : fmax(elapsed_s - s->resources.cpu_s - preempted_s, 0);
    for (size_t i = 0; i < s->row_count; i++) {
        struct gn_activity_row *row = &s->rows[i];
        row->off_core_s = row->preempted_s = row->waited_s = (struct gn_between){NAN, NAN};
        if (!is_told || !is_sampled(row))
            continue;
        const double all_s = (double)row->total_ns * 1e-9, cpu_s = (double)row->cpu_ns * 1e-9;
        const double count = cpu_s / each_s;
        const double off_s =
            fmax(quantile * sqrt(told->per_burst * count), none_seen * fmax(told->per_burst, 1)) * each_s;
        /* what was found asleep is as sure as the row is */
        const double asleep_s = row->share > 0 ? (double)row->asleep_ns * 1e-9 * row->low / row->share : 0,
                     most_s = row->asleep_ns > 0 && row->share > 0 ? all_s * row->high / row->share : all_s;
        row->off_core_s = between(fmax(all_s - cpu_s - off_s - kernel_s, asleep_s),
                                  fmax(all_s - cpu_s + off_s, asleep_s > 0 ? most_s - cpu_s : 0), most_s);
        if (isfinite(preempted_s))
            row->preempted_s = between(fmin(row->off_core_s.low - blocked_s, preempted_s),
                                       fmin(row->off_core_s.high - asleep_s, preempted_s), all_s);
    }
}

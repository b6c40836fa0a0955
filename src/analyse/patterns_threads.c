/* Threads of ranks beside those that call MPI: whether they have as much to do. */
#include "analyse/patterns_inside.h"

#include "profile/samples.h"
#include "program/runtime.h"

#include <math.h>
#include <string.h>

static const double idle_share = 0.05; /* of the run, that even threads would spare */

static const struct gn_problem_pattern serial_threads = {
    .name = "main thread serial",
    .remedy = "let the other threads take part there, or overlap it with what they do",
    .says = "other threads of the ranks have nothing to do while the one that calls MPI computes"};
static const struct gn_problem_pattern unequal_threads = {
    .name = "threads unequal",
    .remedy = "give threads as much work each: schedule(dynamic), smaller pieces, tasks",
    .says = "the thread that calls MPI waits for other threads of its rank"};

bool gn_problems_waits_for_threads(const struct gn_activity_row *row)
{
    return row->runtime && (strcmp(row->runtime, gn_runtime_text(GN_RUNTIME_OPENMP_WAIT)) == 0 ||
                            strcmp(row->runtime, gn_runtime_text(GN_RUNTIME_THREAD_WAIT)) == 0);
}

/* Not for the program: progress of MPI, waiting for files. */
static bool works(const struct gn_activity_row *row)
{
    return !row->runtime || strcmp(row->runtime, gn_runtime_text(GN_RUNTIME_OPENMP)) == 0;
}

static bool is_at(const struct gn_activity_row *other, const struct gn_activity_row *row)
{
    return other->function && other->line == row->line && gn_is_same_text(other->function, row->function) &&
           gn_is_same_text(other->file, row->file) && gn_is_same_text(other->library, row->library) &&
           gn_is_same_text(other->called, row->called);
}

/* What other threads do at the place of a row, s. */
static double others_at(const struct gn_summary *s, const struct gn_activity_row *row)
{
    double sum_s = 0;
    for (size_t i = 0; i < s->other_count; i++)
        if (is_at(&s->others[i], row))
            sum_s += (double)s->others[i].total_ns * 1e-9;
    return sum_s;
}

struct threads {
    double works_s, waits_s;                       /* of those that call MPI, in what they compute */
    double others_s;                               /* work of the others */
    double least_waits_s;                          /* of a rank */
    int64_t samples, waiting_samples;              /* of those that call MPI */
    int64_t works_samples;                         /* of the others */
    const struct gn_activity_row *alone, *waiting; /* where most of it is */
};

/* What even threads would spare of the run, as samples say; s. */
struct spared {
    double mean_s, low_s, high_s;
};

static struct threads look(const struct gn_summary *s)
{
    struct threads t = {.works_s = 0};
    double most_alone_s = 0;
    for (size_t i = 0; i < s->row_count; i++) {
        const struct gn_activity_row *row = &s->rows[i];
        const double row_s = (double)row->total_ns * 1e-9;
        if (strcmp(row->kind, "computation") != 0 || row->samples == 0)
            continue;
        t.samples += row->samples;
        if (gn_problems_waits_for_threads(row)) {
            t.waits_s += row_s;
            t.waiting_samples += row->samples;
            t.least_waits_s += (double)row->min_ns * 1e-9;
            t.waiting = t.waiting && t.waiting->total_ns >= row->total_ns ? t.waiting : row;
            continue;
        }
        const double alone_s = row_s - others_at(s, row) * s->ranks / fmax(1, s->helpers);
        t.works_s += row_s;
        if (alone_s > most_alone_s) {
            most_alone_s = alone_s;
            t.alone = row;
        }
    }
    for (size_t i = 0; i < s->other_count; i++)
        if (works(&s->others[i])) {
            t.others_s += (double)s->others[i].total_ns * 1e-9;
            t.works_samples += s->others[i].samples;
        }
    /* threads that live for a moment are sampled late: all others have at least what the ranks' processors
     * did beyond what those that call MPI could have */
    double cpu_s = -(double)s->total_ns * 1e-9;
    for (size_t i = 0; i < s->rank_count; i++)
        cpu_s += s->ranks_told[i].cpu_s;
    t.others_s *= cpu_s > s->others_s && s->others_s > 0 ? cpu_s / s->others_s : 1;
    return t;
}

/* Whether the others are there for the same work: they wait for more of it in the OpenMP runtime, or do it
 * where those do that call MPI. Of any other thread nobody knows that it could take a part. */
static bool is_team(const struct gn_summary *s)
{
    double together_s = 0;
    for (size_t i = 0; i < s->other_count; i++) {
        bool is_of_it = s->others[i].runtime &&
                        strcmp(s->others[i].runtime, gn_runtime_text(GN_RUNTIME_OPENMP_WAIT)) == 0;
        for (size_t k = 0; k < s->row_count && !is_of_it; k++)
            is_of_it = s->rows[k].samples > 0 && is_at(&s->others[i], &s->rows[k]);
        together_s += is_of_it ? (double)s->others[i].total_ns * 1e-9 : 0;
    }
    return together_s >= s->others_s / 2;
}

/* What the rank's other threads had of the cores, at most as much as all of its threads beside the one that
 * calls MPI, which may have waited on a core, or on none. */
static double others_of(const struct gn_rank_row *r, bool is_waiting_on_core)
{
    const double s = r->cpu_s - r->useful_s - (is_waiting_on_core ? r->mpi_s : 0);
    return s < 0 ? 0 : s; /* not known: not a number */
}

/* Threads that compute at the same time need a core each. */
static bool has_cores(const struct gn_summary *s, double threads)
{
    bool has = s->host_count > 0 && s->resources.preempted_s >= 0 && !gn_problems_lack_cores(s);
    for (size_t i = 0; i < s->host_count; i++)
        has = has && s->hosts_told[i].cores >= s->hosts_told[i].ranks * threads;
    return has;
}

/* Of ranks with more threads, and others with fewer, nobody knows what even ones would spare of which. */
static bool have_as_many(const struct gn_summary *s)
{
    bool have = true;
    for (size_t i = 1; i < s->rank_count; i++)
        have = have && fabs(s->ranks_told[i].helpers - s->ranks_told[0].helpers) < 0.5;
    return have;
}

/* Of the rank of which it is least, were all that its other threads had of the cores work, up to what all
 * worked. all_others_s: all that these had. */
static double least_spared_s(const struct gn_summary *s, const struct threads *t, double threads,
                             double all_others_s, bool is_waiting_on_core)
{
    double useful_s = 0, others_s = 0, least_s = INFINITY;
    for (size_t i = 0; i < s->rank_count; i++) {
        useful_s += s->ranks_told[i].useful_s;
        others_s += others_of(&s->ranks_told[i], is_waiting_on_core);
    }
    for (size_t i = 0; i < s->rank_count; i++) {
        const struct gn_rank_row *r = &s->ranks_told[i];
        const double computed_s = (t->works_s + t->waits_s) * r->useful_s / useful_s,
                     other_s =
                         fmin(1, all_others_s / t->others_s * others_of(r, is_waiting_on_core) / others_s) *
                         t->others_s;
        least_s = fmin(least_s, computed_s - (computed_s - t->least_waits_s + other_s) / threads);
    }
    return isfinite(least_s) ? least_s : 0; /* what they compute is not known */
}

static double most_threads(const struct gn_summary *s, double threads)
{
    for (size_t i = 0; i < s->rank_count; i++)
        threads = fmax(threads, 1 + s->ranks_told[i].helpers);
    return threads;
}

/* Each rank's own work, spread evenly over its threads. With several ranks, at least what is spared of the
 * one of which it is least, if each takes as long at each step; at most all that they wait for each other,
 * too. */
static struct spared spare(const struct gn_summary *s, const struct threads *t)
{
    const double ranks = fmax(1, s->ranks), threads = 1 + s->helpers / ranks,
                 computed_s = t->works_s + t->waits_s, bursts = s->sampling.per_burst;
    const struct gn_samples_share waits = gn_samples_share(t->waiting_samples, t->samples, bursts),
                                  work = gn_samples_share(t->works_samples, s->others_samples, bursts);
    const double mean_s = (computed_s - (t->works_s + t->others_s) / threads) / ranks,
                 others_s = work.share > 0 ? t->others_s / work.share : s->others_s,
                 less_s = ((waits.share - waits.low) * computed_s + (work.high - work.share) * others_s) /
                          (threads * ranks),
                 more_s = ((waits.high - waits.share) * computed_s + (work.share - work.low) * others_s) /
                          (threads * ranks),
                 /* were all that computes the rank's with most threads */
        high_s = (computed_s - (t->works_s + t->others_s) / most_threads(s, threads)) / ranks;
    struct spared spared = {mean_s, is_team(s) ? mean_s - less_s : 0, high_s + more_s};
    if (s->rank_count > 1) {
        double mpi_s = 0;
        for (size_t i = 0; i < s->rank_count; i++)
            mpi_s += s->ranks_told[i].mpi_s / ranks;
        for (int on_core = 0; on_core < 2; on_core++)
            spared.low_s = fmin(spared.low_s, least_spared_s(s, t, threads, others_s, on_core) - less_s);
        spared.high_s += fmax(0, mpi_s);
    }
    spared.low_s =
        has_cores(s, threads) && have_as_many(s) ? spared.low_s - s->resources.preempted_s / ranks : 0;
    return spared;
}

/* That one rank waits for a thread of its own says more. */
static bool is_told(const struct gn_problems *found)
{
    for (size_t i = 0; i < found->count; i++)
        if (gn_problem_is_of_rank(&found->items[i]) && gn_problems_waits_for_threads(found->items[i].row))
            return true;
    return false;
}

static void add(const struct gn_problem_search *x, const struct gn_problem_pattern *pattern,
                const struct gn_activity_row *row, const struct spared *spared)
{
    gn_problems_add(x->found, x->s,
                    (struct gn_problem){.pattern = pattern,
                                        .row = row,
                                        .rank = -1,
                                        .lost_low_s = spared->low_s,
                                        .lost_high_s = spared->high_s,
                                        .gain_low_s = spared->low_s,
                                        .gain_high_s = spared->high_s,
                                        .sure = GN_PROBLEM_POSSIBLE,
                                        .assumes = GN_PROBLEM_SAME | GN_PROBLEM_SAMPLES | GN_PROBLEM_DIVIDES |
                                                   GN_PROBLEM_REPEATS |
                                                   (x->s->ranks > 1 ? GN_PROBLEM_TURNS : 0)});
}

void gn_problems_find_threads(const struct gn_problem_search *x)
{
    const struct gn_summary *s = x->s;
    const double ranks = fmax(1, s->ranks);
    const struct threads t = look(s);
    if (s->helpers == 0 ||
        !(s->others_s >
          idle_share * s->elapsed_s)) { /* they do not compute meanwhile, but sleep or are blocked */
        if (!t.waiting || t.waits_s / ranks < idle_share * s->elapsed_s || is_told(x->found))
            return;
        const double unsure_s = (t.waiting->high - t.waiting->share) * (double)s->total_ns * 1e-9 / ranks;
        add(x, &unequal_threads, t.waiting, &(struct spared){.high_s = t.waits_s / ranks + unsure_s});
        return;
    }
    const double repeats_s = GN_PROBLEM_REPEATED_SHARE * s->elapsed_s;
    struct spared spared = spare(s, &t);
    spared.low_s -= repeats_s;
    spared.high_s += repeats_s;
    const bool is_unequal = t.waits_s / ranks >= spared.mean_s;
    const struct gn_activity_row *row = is_unequal ? t.waiting : t.alone;
    if (!row || spared.mean_s < idle_share * s->elapsed_s || is_told(x->found))
        return;
    add(x, is_unequal ? &unequal_threads : &serial_threads, row, &spared);
}

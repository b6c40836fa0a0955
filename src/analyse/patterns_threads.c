/* Threads of ranks beside those that call MPI: whether they have as much to do. */
#include "analyse/patterns_inside.h"

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

/* What other threads do at the place of a row, s. */
static double others_at(const struct gn_summary *s, const struct gn_activity_row *row)
{
    double sum_s = 0;
    for (size_t i = 0; i < s->other_count; i++)
        if (s->others[i].line == row->line && gn_is_same_text(s->others[i].function, row->function) &&
            gn_is_same_text(s->others[i].file, row->file))
            sum_s += (double)s->others[i].total_ns * 1e-9;
    return sum_s;
}

struct threads {
    double works_s, waits_s;                       /* of those that call MPI, in what they compute */
    double others_s;                               /* work of the others */
    const struct gn_activity_row *alone, *waiting; /* where most of it is */
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
        if (gn_problems_waits_for_threads(row)) {
            t.waits_s += row_s;
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
        t.others_s += works(&s->others[i]) ? (double)s->others[i].total_ns * 1e-9 : 0;
    /* threads that live for a moment are sampled late: all others have at least what the ranks' processors
     * did beyond what those that call MPI could have */
    double cpu_s = -(double)s->total_ns * 1e-9;
    for (size_t i = 0; i < s->rank_count; i++)
        cpu_s += s->ranks_told[i].cpu_s;
    t.others_s *= cpu_s > s->others_s && s->others_s > 0 ? cpu_s / s->others_s : 1;
    return t;
}

/* That one rank waits for a thread of its own says more. */
static bool is_told(const struct gn_problems *found)
{
    for (size_t i = 0; i < found->count; i++)
        if (gn_problem_is_of_rank(&found->items[i]) && gn_problems_waits_for_threads(found->items[i].row))
            return true;
    return false;
}

/* spared_s: of the run, as samples say. */
static void add(const struct gn_problem_search *x, const struct gn_problem_pattern *pattern,
                const struct gn_activity_row *row, double spared_s)
{
    const struct gn_summary *s = x->s;
    const double unsure_s = (row->high - row->share) * (double)s->total_ns * 1e-9 / fmax(1, s->ranks);
    gn_problems_add(x->found, s,
                    (struct gn_problem){.pattern = pattern,
                                        .row = row,
                                        .rank = -1,
                                        .lost_high_s = spared_s + unsure_s,
                                        .gain_high_s = spared_s + unsure_s,
                                        .sure = GN_PROBLEM_POSSIBLE,
                                        .assumes = GN_PROBLEM_SAME | GN_PROBLEM_SAMPLES});
}

void gn_problems_find_threads(const struct gn_problem_search *x)
{
    const struct gn_summary *s = x->s;
    const double ranks = fmax(1, s->ranks);
    const struct threads t = look(s);
    if (s->helpers == 0 ||
        !(s->others_s >
          idle_share * s->elapsed_s)) { /* they do not compute meanwhile, but sleep or are blocked */
        if (t.waiting && t.waits_s / ranks >= idle_share * s->elapsed_s && !is_told(x->found))
            add(x, &unequal_threads, t.waiting, t.waits_s / ranks);
        return;
    }
    const double threads = 1 + s->helpers / ranks;
    const double spared_s = (t.works_s + t.waits_s - (t.works_s + t.others_s) / threads) / ranks;
    const bool is_unequal = t.waits_s / ranks >= spared_s;
    const struct gn_activity_row *row = is_unequal ? t.waiting : t.alone;
    if (!row || spared_s < idle_share * s->elapsed_s || is_told(x->found))
        return;
    add(x, is_unequal ? &unequal_threads : &serial_threads, row, spared_s);
}

/* What even threads would spare, held against programs of which it is known: each rank's thread that calls
 * MPI computes and waits for others of its own, which compute, and nothing but samples tells how much. */
#include "analyse/patterns.h"
#include "base/mix.h"
#include "program/runtime.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 4, MOST_ROWS = 3 };

struct program {
    int ranks, threads;
    double works_s[MOST_RANKS], waits_s[MOST_RANKS], others_s[MOST_RANKS]; /* in all, each step being alike */
    double idle_s[MOST_RANKS]; /* the others are on a core, and wait */
    bool spins;                /* in MPI: on a core */
};

static uint64_t random_state;

static double uniform(double low, double high)
{
    return low + (high - low) * gn_mix_unit(gn_mix_next(&random_state));
}

static struct program make_program(void)
{
    struct program p = {.ranks = (int)uniform(1, MOST_RANKS + 0.999), .threads = (int)uniform(2, 8.999)};
    p.spins = uniform(0, 1) < 0.5;
    const bool is_serial = uniform(0, 1) < 0.5;
    for (int r = 0; r < p.ranks; r++) {
        const double together_s = uniform(0.1, 3), most_s = (p.threads - 1) * together_s;
        p.works_s[r] = is_serial ? together_s + uniform(2, 10) : together_s * uniform(0.2, 1);
        p.waits_s[r] = is_serial ? 0 : uniform(0, 3) + together_s - p.works_s[r];
        p.others_s[r] = most_s * uniform(0.5, 1);
        p.idle_s[r] = uniform(0, 1) * (p.threads - 1) * (p.works_s[r] + p.waits_s[r]) * 0.2;
    }
    return p;
}

static double computed_s(const struct program *p, int r)
{
    return p->works_s[r] + p->waits_s[r];
}

static double length_s(const struct program *p, bool is_even)
{
    double most_s = 0;
    for (int r = 0; r < p->ranks; r++)
        most_s = fmax(most_s, is_even ? (p->works_s[r] + p->others_s[r]) / p->threads : computed_s(p, r));
    return most_s;
}

/* ---- what gnomon knows of it ---- */

struct told {
    struct gn_summary s;
    struct gn_activity_row rows[MOST_ROWS], others[MOST_ROWS];
    struct gn_rank_row ranks[MOST_RANKS];
    struct gn_host_row host;
    struct gn_problems problems;
};

/* Of so many moments those that are in it. */
static int64_t sampled(int64_t count, double share)
{
    int64_t in = 0;
    for (int64_t i = 0; i < count; i++)
        in += uniform(0, 1) < share;
    return in;
}

static struct gn_activity_row row(const char *function, const char *runtime, int64_t samples, int64_t all,
                                  double all_s)
{
    return (struct gn_activity_row){.kind = (char *)"computation",
                                    .function = (char *)function,
                                    .runtime = (char *)runtime,
                                    .how = GN_HOW_SAMPLED,
                                    .in_range = -1,
                                    .place = -1,
                                    .samples = samples,
                                    .total_ns = (int64_t)(all_s * 1e9 * (double)samples / (double)all)};
}

/* Some samples of each rank, in its main thread and in its others. */
static void observe(struct told *t, const struct program *p, double per_s, bool is_team)
{
    const char *wait = gn_runtime_text(GN_RUNTIME_OPENMP_WAIT);
    double computed = 0, works = 0, others = 0, idle = 0, least_waits_s = INFINITY;
    *t = (struct told){
        .s = {.ranks = p->ranks, .elapsed_s = length_s(p, false), .helpers = p->ranks * (p->threads - 1)}};
    for (int r = 0; r < p->ranks; r++) {
        const double mpi_s = t->s.elapsed_s - computed_s(p, r);
        computed += computed_s(p, r);
        works += p->works_s[r];
        others += p->others_s[r];
        idle += p->idle_s[r];
        least_waits_s = fmin(least_waits_s, p->waits_s[r]);
        t->ranks[r] = (struct gn_rank_row){.rank = r,
                                           .elapsed_s = t->s.elapsed_s,
                                           .useful_s = computed_s(p, r),
                                           .mpi_s = mpi_s,
                                           .cpu_s = computed_s(p, r) + (p->spins ? mpi_s : 0) +
                                                    p->others_s[r] + p->idle_s[r]};
    }
    const int64_t count = (int64_t)ceil(computed * per_s), working = sampled(count, works / computed),
                  other_count = (int64_t)ceil((others + idle) * per_s),
                  other_working = sampled(other_count, others / (others + idle));
    t->rows[0] = row("work", NULL, working, count, computed);
    t->rows[1] = row("wait", wait, count - working, count, computed);
    t->rows[1].min_ns = (int64_t)(least_waits_s * 1e9);
    t->others[0] = row(is_team ? "work" : "elsewhere", NULL, other_working, other_count, others + idle);
    t->others[1] =
        row("idle", is_team ? wait : NULL, other_count - other_working, other_count, others + idle);
    t->s.total_ns = (int64_t)(t->s.elapsed_s * p->ranks * 1e9);
    t->s.rows = t->rows;
    t->s.row_count = t->s.other_count = 2;
    t->s.others = t->others;
    t->s.others_s = others + idle;
    t->s.others_samples = other_count;
    t->s.sampling.per_burst = 1;
    t->s.ranks_told = t->ranks;
    t->s.rank_count = (size_t)p->ranks;
    t->host = (struct gn_host_row){.name = "host", .ranks = p->ranks, .cores = 64};
    t->s.hosts_told = &t->host;
    t->s.host_count = 1;
    gn_problems_find(&t->problems, &t->s);
}

static const struct gn_problem *found(const struct told *t)
{
    for (size_t i = 0; i < t->problems.count; i++)
        if (strcmp(t->problems.items[i].pattern->name, "threads unequal") == 0 ||
            strcmp(t->problems.items[i].pattern->name, "main thread serial") == 0)
            return &t->problems.items[i];
    return NULL;
}

/* At 99 %, of each share on its own. */
static void what_is_spared_is_in_its_interval(void **state)
{
    (void)state;
    static struct told t;
    size_t count = 0, out = 0, narrow = 0;
    for (random_state = 0; count < 2000;) {
        const struct program p = make_program();
        observe(&t, &p, uniform(20, 400), true);
        const struct gn_problem *problem = found(&t);
        if (!problem)
            continue;
        const double gain_s = length_s(&p, false) - length_s(&p, true);
        const bool is_in = gain_s >= problem->gain_low_s && gain_s <= problem->gain_high_s;
        count++;
        out += !is_in;
        narrow += problem->gain_high_s - problem->gain_low_s < 0.3 * gain_s;
        assert_int_equal(problem->sure, GN_PROBLEM_POSSIBLE);
    }
    printf("%zu of %zu out, %zu narrow\n", out, count, narrow);
    assert_int_equal(out, 0);
    assert_true(narrow >= count / 4);
}

static void other_threads_may_take_no_part(void **state)
{
    (void)state;
    static struct told t;
    for (random_state = 1000; random_state != 0 && !found(&t);) {
        const struct program p = make_program();
        observe(&t, &p, 100, false);
    }
    assert_true(found(&t)->gain_low_s <= 0 && found(&t)->gain_high_s > 0);
}

static void threads_need_cores(void **state)
{
    (void)state;
    static struct told t;
    const struct program p = {.ranks = 1, .threads = 2, .works_s = {12}, .others_s = {4}, .idle_s = {1}};
    observe(&t, &p, 1000, true);
    assert_non_null(found(&t));
    const double low_s = found(&t)->gain_low_s;
    assert_true(low_s > 3 && low_s < 4);
    t.s.resources.preempted_s = 0.5;
    gn_problems_find(&t.problems, &t.s);
    assert_true(fabs(found(&t)->gain_low_s - (low_s - 0.5)) < 1e-6);
    t.s.resources.preempted_share = 0.2;
    gn_problems_find(&t.problems, &t.s);
    assert_true(found(&t)->gain_low_s <= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_spared_is_in_its_interval),
                                       cmocka_unit_test(other_threads_may_take_no_part),
                                       cmocka_unit_test(threads_need_cores)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

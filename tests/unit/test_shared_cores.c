/* What would be gained where ranks that wait keep cores from others. */
#include "analyse/patterns.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct gn_problem_pattern pattern = {.name = "static imbalance", .remedy = "distribute it"};

/* A run of 10 s of four ranks on a host; the last one had no core for such a share of its time. */
struct run {
    struct gn_summary s;
    struct gn_rank_row ranks[4];
    struct gn_host_row host;
    struct gn_problems problems;
};

static void make(struct run *r, double cores, double share, double share_of_last)
{
    *r = (struct run){.s = {.elapsed_s = 10, .ranks = 4, .rank_count = 4, .host_count = 1}};
    r->s.ranks_told = r->ranks;
    r->s.hosts_told = &r->host;
    r->s.resources.preempted_share = share;
    r->host = (struct gn_host_row){.name = "host", .ranks = 4, .cores = cores};
    for (int i = 0; i < 4; i++)
        r->ranks[i] = (struct gn_rank_row){
            .rank = i, .elapsed_s = 10, .cpu_s = 2, .preempted_s = i == 3 ? 10 * share_of_last : 0};
    r->problems.count = 2;
    r->problems.items[0] = (struct gn_problem){.pattern = &pattern,
                                               .gain_low_s = 4,
                                               .gain_high_s = 5,
                                               .lost_low_s = 4,
                                               .lost_high_s = 5,
                                               .even_s = 3,
                                               .even_low_s = 3,
                                               .even_high_s = 3.5,
                                               .gains = {{GN_PROBLEM_LIKE, 0, 4, 5}},
                                               .gain_count = 1,
                                               .sure = GN_PROBLEM_CERTAIN};
    r->problems.items[1] = (struct gn_problem){.pattern = &pattern,
                                               .is_startup = true,
                                               .gain_high_s = 1,
                                               .lost_high_s = 1,
                                               .sure = GN_PROBLEM_CERTAIN};
}

static void each_has_its_share(void **state)
{
    (void)state;
    static struct run r;
    make(&r, 2, 0.2, 0.2);
    r.problems.are_cores_kept = true;
    for (int again = 0; again < 2; again++) { /* it is done once */
        gn_problems_share_cores(&r.problems, &r.s);
        const struct gn_problem *p = &r.problems.items[0];
        assert_true(fabs(p->gain_low_s - -2) < 1e-9 &&
                    fabs(p->gain_high_s - 7.5) < 1e-9); /* 6 s · 2, 5 s / 2 */
        assert_true(p->sure == GN_PROBLEM_POSSIBLE && p->assumes & GN_PROBLEM_CORES);
        assert_true(p->gain_count == 0 && p->even_high_s <= 0 && p->lost_low_s <= 0);
        assert_true(r.problems.items[1].gain_high_s <= 1 && r.problems.items[1].sure == GN_PROBLEM_CERTAIN);
    }
}

static void the_rank_with_the_least_says_how_long(void **state)
{
    (void)state;
    static struct run r;
    make(&r, 2, 0.2, 0.75);
    r.problems.are_cores_kept = true;
    gn_problems_share_cores(&r.problems, &r.s);
    assert_true(fabs(r.problems.items[0].gain_low_s - -14) < 1e-9); /* 6 s · 4 */
    make(&r, 2, NAN, NAN);
    r.problems.are_cores_kept = true;
    gn_problems_share_cores(&r.problems, &r.s);
    assert_true(fabs(r.problems.items[0].gain_low_s - -2) < 1e-9);
}

static void what_is_not_kept_stays(void **state)
{
    (void)state;
    static struct run r;
    make(&r, 2, 0.2, 0.2);
    gn_problems_share_cores(&r.problems, &r.s);
    assert_true(r.problems.items[0].gain_low_s >= 4 && r.problems.items[0].sure == GN_PROBLEM_CERTAIN);
    assert_int_equal(r.problems.items[0].gain_count, 1);
}

static void cores_are_lacked_where_nobody_knows(void **state)
{
    (void)state;
    static const struct {
        double cores, share;
        bool lacks;
    } cases[] = {{2, 0.2, true},  {2, 0.05, false}, {2, NAN, true}, {4, 0.2, true},
                 {4, NAN, false}, {0, NAN, false},  {0, 0.2, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct run r;
        make(&r, cases[i].cores, cases[i].share, 0);
        assert_int_equal(gn_problems_lack_cores(&r.s), cases[i].lacks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_share), cmocka_unit_test(the_rank_with_the_least_says_how_long),
        cmocka_unit_test(what_is_not_kept_stays), cmocka_unit_test(cores_are_lacked_where_nobody_knows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

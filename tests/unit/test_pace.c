/* profile/pace — the pace of loops whose iterations end at known times, seen in steps of a series. */
#include "base/mix.h"
#include "graph/graph.h"
#include "graph/packed_steps.h"
#include "profile/pace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { STEPS = 400 };

struct made {
    double at_ns[STEPS + 1];
    struct gn_host_moments moments;
    struct gn_pace_counts counts;
    double first, middle, last; /* in truth; ns */
};

/* Iterations of one rank, which take from `begin_ns` to `end_ns` each, in a part of 400 steps. */
static void make(struct made *m, int iterations, int ranks, double begin_ns, double end_ns, uint64_t *random)
{
    double ends[10001] = {0}, all = 0, at = 0;
    *m = (struct made){.moments = {.id = 1, .count = STEPS + 1}};
    m->moments.at_ns = m->at_ns;
    for (int i = 0; i < iterations; i++)
        ends[i + 1] = ends[i] + (begin_ns + (end_ns - begin_ns) * i / iterations) *
                                    (0.95 + 0.1 * gn_mix_unit(gn_mix_next(random)));
    all = ends[iterations] * 1.2; /* there is something ahead of the loop, and behind it */
    for (int i = 0; i <= STEPS; i++)
        m->at_ns[i] = all * i / STEPS;
    at = all / 12;
    for (int r = 0; r < ranks; r++) {
        uint8_t packed[STEPS * 3 * (GN_SERIES_OF_EDGE + 1)];
        int64_t counts[STEPS] = {0};
        size_t used = 0, next = 0;
        const double late = 0.3 * begin_ns * gn_mix_unit(gn_mix_next(random));
        for (int i = 1; i <= iterations; i++)
            counts[(int)((at + ends[i] + late) / all * STEPS)]++;
        for (size_t i = 0; i < STEPS; i++)
            if (counts[i]) {
                const int64_t values[GN_SERIES_OF_EDGE] = {counts[i], 1, 1};
                used += gn_pack_step(packed + used, i - next + 1, values, GN_SERIES_OF_EDGE);
                next = i + 1;
            }
        gn_pace_add(&m->counts, packed, used, 1);
    }
    m->first = ends[iterations / 10] / (iterations / 10);
    m->middle = (ends[iterations * 55 / 100] - ends[iterations * 45 / 100]) /
                (iterations * 55 / 100 - iterations * 45 / 100);
    m->last = (ends[iterations] - ends[iterations * 9 / 10]) / (iterations - iterations * 9 / 10);
}

static void is_near(double told, double truth, double off)
{
    /* and the truth is of other iterations by one or two, which differ by little */
    if (fabs(told / truth - 1) > off + 0.05)
        fail_msg("%g, and %g in truth, ± %g", told, truth, off);
}

static void it_is_what_iterations_take(void **state)
{
    (void)state;
    uint64_t random = 11;
    int known = 0;
    for (int i = 0; i < 500; i++) {
        struct made m;
        const int iterations = 40 + (int)(gn_mix_next(&random) % (i % 2 ? 300 : 9000));
        const int ranks = 1 + (int)(gn_mix_next(&random) % 5);
        make(&m, iterations, ranks, 1e6 * (1 + gn_mix_unit(gn_mix_next(&random))),
             1e6 * (1 + gn_mix_unit(gn_mix_next(&random))), &random);
        const struct gn_pace pace = gn_pace_of(&m.counts, &m.moments, ranks);
        known += pace.is_known;
        if (!pace.is_known)
            continue;
        is_near(pace.first_ns, m.first, pace.off);
        is_near(pace.middle_ns, m.middle, pace.off);
        is_near(pace.last_ns, m.last, pace.off);
    }
    assert_true(known > 450);
}

static void of_little_nothing_is_told(void **state)
{
    (void)state;
    struct gn_pace_counts counts = {.steps = {0}};
    double at_ns[STEPS + 1];
    const struct gn_host_moments moments = {.at_ns = at_ns, .count = STEPS + 1};
    for (int i = 0; i <= STEPS; i++)
        at_ns[i] = i;
    assert_false(gn_pace_of(&counts, &moments, 1).is_known);
    for (int i = 100; i < 108; i++)
        counts.steps[i] = 1000;
    assert_false(gn_pace_of(&counts, &moments, 1).is_known); /* 8 steps */
    memset(&counts, 0, sizeof counts);
    for (int i = 100; i < 300; i += 30)
        counts.steps[i] = 1;
    assert_false(gn_pace_of(&counts, &moments, 1).is_known); /* 7 iterations */
    assert_false(gn_pace_of(&counts, &moments, 0).is_known);
    gn_pace_add(&counts, NULL, 0, 1);
    gn_pace_add(&counts, "\xff\xff\xff", 3, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_what_iterations_take),
        cmocka_unit_test(of_little_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What samples account for of a time, and what is left: within what is said, on threads whose truth is known.
 */
#include "profile/divide.h"
#include "base/mix.h"
#include "repeated.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const double period_ns = 1e7;

/* Outside of 99 % is one in a hundred at most; under the sanitizers there are few tries, of which chance may
 * have three more. */
enum { allowed = 150 };

static const struct gn_sampled_process alone = {.is_known = true, .period_ns = 1e7, .cpu_ns = 1e10};

/* Samples of `times` stretches of processor time, each begun at any moment of the period. */
static int64_t samples_of(uint64_t seed, int times, double each_ns)
{
    double samples = 0;
    for (int i = 0; i < times; i++) {
        const double phase = gn_mix_unit(gn_mix(seed * 1000003 + (uint64_t)i));
        samples += floor(each_ns / period_ns + phase);
    }
    return (int64_t)(samples * period_ns);
}

static struct gn_divided divided(int64_t ns, int64_t times, int64_t sampled_ns,
                                 const struct gn_sampled_process *process)
{
    struct gn_edge_sum sum = {0};
    const struct gn_edge_time time = {ns, times, (int64_t)((double)sampled_ns / period_ns), sampled_ns, 0, 0};
    gn_edge_sum_add(&sum, time, process);
    return gn_divide(time, process, &sum);
}

/* Who computes all of the time is hardly ever said to sleep. */
static void computing_is_no_sleep(void **state)
{
    (void)state;
    static const double each_ns[] = {2e4, 1e6, 9e6, 1.5e7, 3e8};
    int wrong = 0, all = 0;
    for (uint64_t seed = 1; seed <= REPEATED(2000); seed++)
        for (size_t i = 0; i < sizeof each_ns / sizeof *each_ns; i++) {
            const int times = 1 + (int)(gn_mix(seed) % (each_ns[i] < 1e6 ? 40000 : 400));
            const double ns = each_ns[i] * times;
            wrong += divided((int64_t)ns, times, samples_of(seed, times, each_ns[i]), &alone).ns > 0;
            all++;
        }
    assert_true(wrong * 100 <= all); /* one side of 99 %, and the least share on top of that */
}

/* Who sleeps as long as he computes, or longer, does so within what is said. */
static void sleep_is_told(void **state)
{
    (void)state;
    int outside = 0, all = 0, untold = 0;
    for (uint64_t seed = 1; seed <= REPEATED(2000); seed++) {
        const int times = 200 + (int)(gn_mix(seed) % 200);
        const double computes_ns = 2e6 + 2e7 * gn_mix_unit(gn_mix(seed + 7)),
                     sleeps_ns = computes_ns * (1 + gn_mix_unit(gn_mix(seed + 9)));
        const struct gn_divided d = divided((int64_t)((computes_ns + sleeps_ns) * times), times,
                                            samples_of(seed, times, computes_ns), &alone);
        outside += fabs((double)d.ns - sleeps_ns * times) > d.off_ns;
        untold += d.ns == 0;
        all++;
    }
    assert_true(outside * 50 <= all + allowed);
    assert_int_equal(untold, 0);
}

/* Ready and without a core: that may be all that no sample is of. */
static void no_core_is_no_sleep(void **state)
{
    (void)state;
    struct gn_sampled_process crowded = alone;
    crowded.no_core_ns = 3e10;
    assert_int_equal(divided(4000000000, 1, 1000000000, &crowded).ns, 0);
    /* beyond that, it slept */
    crowded.no_core_ns = 1e9;
    crowded.cpu_ns = 1e9;
    const struct gn_divided d = divided(4000000000, 1, 1000000000, &crowded);
    assert_true(d.ns > 1900000000 && d.ns <= 2000000000 && d.off_ns >= 2e7);
}

/* One that sleeps among many is found by itself; many of which each sleeps too little to tell by all. */
static void one_and_many(void **state)
{
    (void)state;
    struct gn_edge_sum one = {0}, many = {0};
    const struct gn_edge_time busy = {1000000000, 1, 100, 1000000000, 0, 0},
                              asleep = {1000000000, 1, 0, 0, 0, 0},
                              little = {100000000, 100, 4, 40000000, 0, 0};
    for (int i = 0; i < 63; i++)
        gn_edge_sum_add(&one, busy, &alone);
    gn_edge_sum_add(&one, asleep, &alone);
    assert_int_equal(gn_divide(busy, &alone, &one).ns, 0);
    assert_int_equal(gn_divide(asleep, &alone, &one).ns, 1000000000);
    for (int i = 0; i < 64; i++)
        gn_edge_sum_add(&many, little, &alone);
    assert_int_equal(divided(little.ns, little.times, little.sampled_ns, &alone).ns, 0);
    assert_int_equal(gn_divide(little, &alone, &many).ns, 60000000);
    /* or who was found so, though it may all be chance */
    const struct gn_edge_time seen = {200000000, 100, 2, 20000000, 4, 200000000};
    struct gn_edge_sum by_looking = {0};
    gn_edge_sum_add(&by_looking, seen, &alone);
    assert_int_equal(gn_divide(seen, &alone, &by_looking).ns, 180000000);
    /* of what was not sampled nothing is said */
    const struct gn_sampled_process unknown = {.is_known = false};
    assert_int_equal(gn_divide(asleep, &unknown, &one).ns, 0);
}

/* Of many ranks some sleep: all parts together are what all sleep, and nobody's chance is. */
static void parts_add_up(void **state)
{
    (void)state;
    enum { RANKS = 400, ASLEEP = 40, TIMES = 100 };
    int outside = 0, told_of_busy = 0, all = 0;
    for (uint64_t seed = 1; seed <= REPEATED(200); seed++) {
        struct gn_edge_sum sum = {0};
        struct gn_edge_time times[RANKS];
        double told_ns = 0, off = 0;
        for (int i = 0; i < RANKS; i++) {
            const bool sleeps = i < ASLEEP;
            const int64_t sampled_ns = samples_of(seed * RANKS + (uint64_t)i, TIMES, sleeps ? 5e6 : 4.5e7);
            times[i] = (struct gn_edge_time){
                (int64_t)(sleeps ? 1e8 : 4.5e7) * TIMES, TIMES, sampled_ns / 10000000, sampled_ns, 0, 0};
            gn_edge_sum_add(&sum, times[i], &alone);
        }
        for (int i = 0; i < RANKS; i++) {
            const struct gn_divided d = gn_divide(times[i], &alone, &sum);
            told_ns += (double)d.ns;
            off += d.off_ns * d.off_ns;
            told_of_busy += i >= ASLEEP && d.ns > 0.1 * 4.5e7 * TIMES;
        }
        outside += fabs(told_ns - ASLEEP * 9.5e7 * TIMES) > sqrt(off);
        all++;
    }
    assert_true(outside * 50 <= all + allowed);
    assert_true(told_of_busy <= all);
}

/* Where the sampler had much to do a sample stands for more, here and not there. */
static void paces_differ(void **state)
{
    (void)state;
    struct gn_sampled_process slow = alone;
    slow.period_ns = 5e8;
    int wrong = 0;
    for (uint64_t seed = 1; seed <= REPEATED(2000); seed++) {
        double samples = 0; /* of 100 stretches of 0.1 s */
        for (int i = 0; i < 100; i++)
            samples += gn_mix_unit(gn_mix(seed * 7919 + (uint64_t)i)) < 0.2;
        struct gn_edge_sum sum = {0};
        const struct gn_edge_time time = {10000000000, 100, (int64_t)samples, (int64_t)(samples * 5e8), 0, 0};
        gn_edge_sum_add(&sum, time, &slow);
        wrong += gn_divide(time, &slow, &sum).ns > 0;
    }
    assert_true(wrong * 100 <= (int)REPEATED(2000));
}

/* Whatever a damaged profile has. */
static void nonsense_stays_within(void **state)
{
    (void)state;
    static const int64_t numbers[] = {INT64_MIN, -1, 0, 1, 1000000000, INT64_MAX};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    const double doubles[] = {-1e300, -1, 0, 1e9, 1e300, INFINITY, NAN};
    for (int i = 0; i < COUNT * COUNT * COUNT * 7; i++) {
        const int64_t ns = numbers[i % COUNT], a = numbers[i / COUNT % COUNT],
                      b = numbers[i / COUNT / COUNT % COUNT];
        const double d = doubles[i / COUNT / COUNT / COUNT];
        const struct gn_sampled_process p = {
            .is_known = true, .period_ns = d, .missed = d, .cpu_ns = d, .kernel_ns = d, .no_core_ns = d};
        const struct gn_edge_time time = {ns, a, b, a, b, a};
        struct gn_edge_sum sum = {0};
        gn_edge_sum_add(&sum, time, &p);
        const int64_t unseen = gn_divide(time, &p, &sum).ns, asleep = gn_divide_asleep(ns, a, b, &p).ns;
        assert_true(unseen >= 0 && (unseen == 0 || unseen <= ns));
        assert_true(asleep >= 0 && (asleep == 0 || asleep <= ns));
    }
}

/* Looked at now and then; the rest is the kernel's, of which there is only so much. */
static void found_asleep(void **state)
{
    (void)state;
    struct gn_sampled_process p = alone;
    assert_int_equal(gn_divide_asleep(1000000000, 900000000, 18, &p).ns, 1000000000);
    p.kernel_ns = 4e8;
    assert_int_equal(gn_divide_asleep(1000000000, 500000000, 10, &p).ns, 600000000);
    assert_int_equal(gn_divide_asleep(1000000000, 700000000, 14, &p).ns, 700000000);
    assert_int_equal(gn_divide_asleep(1000000000, 1700000000, 34, &p).ns, 1000000000);
    assert_int_equal(gn_divide_asleep(1000000000, 0, 0, &p).ns, 0);
    assert_true(gn_divide_asleep(1000000000, 700000000, 14, &p).off_ns <= 4e8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computing_is_no_sleep), cmocka_unit_test(sleep_is_told),
        cmocka_unit_test(no_core_is_no_sleep),   cmocka_unit_test(one_and_many),
        cmocka_unit_test(found_asleep),          cmocka_unit_test(parts_add_up),
        cmocka_unit_test(paces_differ),          cmocka_unit_test(nonsense_stays_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

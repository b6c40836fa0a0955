/* analyse/sweep: against all changes tried one by one; the same whatever the number of threads. */
#include "analyse/sweep.h"

#include "base/mix.h"
#include "history_maker.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef SEEDS
#define SEEDS 300
#endif

enum { CHANGES = MAKER_ACTIVITIES * (MAKER_PROCESSES + 1) * 3 };

static struct gn_whatif_result try(const struct gn_history *h, uint32_t activity, uint32_t process,
                                   double share)
{
    float shares[MAKER_ACTIVITIES] = {0};
    bool at[MAKER_LOCATIONS];
    const struct gn_whatif what = {.share = shares, .at_location = at};
    struct gn_whatif_pass *pass = gn_whatif_pass_new(h);
    shares[activity] = (float)share;
    for (uint32_t l = 0; l < MAKER_LOCATIONS; l++)
        at[l] = process == GN_NONE || h->definitions->locations[l].process == process;
    assert_non_null(pass);
    const struct gn_whatif_result result = gn_whatif(pass, &what);
    gn_whatif_pass_free(pass);
    return result;
}

static double computed(const struct gn_history *h, uint32_t activity, uint32_t process)
{
    double ns = 0;
    for (size_t c = 0; c < h->call_count; c++)
        for (uint32_t p = 0; p < h->calls[c].piece_count; p++) {
            const struct gn_piece *piece = &h->pieces[h->calls[c].first_piece + p];
            if (piece->activity == activity &&
                h->definitions->locations[h->calls[c].location].process == process)
                ns += (piece->lo_ns + piece->hi_ns) / 2;
        }
    return ns;
}

/* To which share of its time the change brings a process; 0: it does not. */
static double share_to(const struct gn_history *h, uint32_t activity, uint32_t process, enum gn_sweep_to to)
{
    double ns[MAKER_PROCESSES], mean = 0, median = 0;
    int count = 0;
    for (uint32_t p = 0; p < MAKER_PROCESSES; p++)
        if ((ns[count] = computed(h, activity, p)) > 0)
            mean += ns[count++];
    if (count == 0 || process == GN_NONE)
        return 0;
    for (int i = 0; i < count; i++) {
        int lower = 0, same = 0;
        for (int j = 0; j < count; j++) {
            lower += ns[j] < ns[i];
            same += ns[j] == ns[i];
        }
        if (2 * lower <= count - 1 && count - 1 < 2 * (lower + same))
            median += ns[i] / same / (count % 2 ? 1 : 2);
        if (count % 2 == 0 && 2 * lower <= count && count < 2 * (lower + same))
            median += ns[i] / same / 2;
    }
    const double own = computed(h, activity, process), goal = to == GN_SWEEP_TO_MEAN ? mean / count : median;
    return own > goal ? 1 - goal / own : 0;
}

static bool gains_as_much(const struct gn_whatif_result *as, const struct gn_whatif_result *result)
{
    return as->reduction_lo_ns > 1 ? result->reduction_lo_ns >= as->reduction_lo_ns - 1
                                   : result->reduction_hi_ns >= as->reduction_hi_ns - 1;
}

static bool best_share(const struct gn_history *h, struct gn_answer *a)
{
    if (a->to != GN_SWEEP_FASTER) {
        a->share = share_to(h, a->activity, a->process, a->to);
        a->result = try(h, a->activity, a->process, a->share);
        return a->share > 1e-12;
    }
    const struct gn_whatif_result most = try(h, a->activity, a->process, 0.5);
    for (int i = 1; i <= 10; i++) {
        a->share = i * 0.05;
        a->result = try(h, a->activity, a->process, a->share);
        if (gains_as_much(&most, &a->result))
            return true;
    }
    return true;
}

static int by_gain(const void *a, const void *b)
{
    const struct gn_answer *x = a, *y = b;
    if (x->result.reduction_lo_ns != y->result.reduction_lo_ns)
        return x->result.reduction_lo_ns < y->result.reduction_lo_ns ? 1 : -1;
    if (x->result.reduction_hi_ns != y->result.reduction_hi_ns)
        return x->result.reduction_hi_ns < y->result.reduction_hi_ns ? 1 : -1;
    return 0;
}

static size_t try_all(const struct gn_history *h, struct gn_answer *answers)
{
    size_t count = 0;
    for (uint32_t activity = 0; activity < MAKER_ACTIVITIES; activity++)
        for (uint32_t p = 0; p <= MAKER_PROCESSES; p++)
            for (int to = GN_SWEEP_FASTER; to <= GN_SWEEP_TO_MEDIAN; to++) {
                int processes = 0;
                for (uint32_t q = 0; q < MAKER_PROCESSES; q++)
                    processes += computed(h, activity, q) > 0;
                struct gn_answer a = {.activity = activity, .process = p, .to = (enum gn_sweep_to)to};
                a.process = p == MAKER_PROCESSES ? GN_NONE : p;
                if ((a.process == GN_NONE && processes < 2) || !best_share(h, &a))
                    continue;
                if (a.result.reduction_hi_ns > 0)
                    answers[count++] = a;
            }
    qsort(answers, count, sizeof *answers, by_gain);
    return count;
}

static struct maker_settings settings_of(uint64_t seed)
{
    uint64_t random = seed;
    return (struct maker_settings){.seed = seed,
                                   .operations = 2 + (int)(gn_mix_next(&random) % 40),
                                   .unit_ns = 1000,
                                   .width_ns = (int64_t)(gn_mix_next(&random) % 4) * 700,
                                   .rate = gn_mix_next(&random) % 2 ? 1e-4 : 0};
}

static void sweep(struct gn_sweep *result, const struct gn_history *h, size_t best, unsigned threads)
{
    const struct gn_sweep_settings settings = {.best = best, .threads = threads};
    struct gn_critical critical;
    assert_int_equal(gn_critical_find(&critical, h, NULL), 0);
    assert_int_equal(gn_sweep(result, h, &critical, &settings, NULL), 0);
    gn_critical_clear(&critical);
}

/* Gains of equal changes are the same to the last bit: the passes are. */
static uint64_t check_seed(uint64_t seed, size_t best)
{
    const struct maker_settings settings = settings_of(seed);
    struct gn_answer all[CHANGES];
    struct gn_sweep result;
    struct made made;
    maker_make(&made, &settings);
    const size_t count = try_all(&made.history, all);
    sweep(&result, &made.history, best, 2);
    for (size_t i = 0; i < best && i < count; i++) {
        if (all[i].result.reduction_lo_ns == 0 && i >= result.count)
            break; /* off the critical path: only in a scan may that gain something, and not certainly */
        assert_true(i < result.count);
        if (fabs(result.answers[i].result.reduction_lo_ns - all[i].result.reduction_lo_ns) > 1e-6)
            fail_msg("seed %llu: answer %zu gains %.17g and not %.17g", (unsigned long long)seed, i,
                     result.answers[i].result.reduction_lo_ns, all[i].result.reduction_lo_ns);
        assert_true(result.answers[i].share > 0 && result.answers[i].share <= 1);
    }
    assert_true(result.count <= best && result.tried <= result.candidates);
    const uint64_t left = result.candidates - result.tried;
    gn_sweep_clear(&result);
    maker_clear(&made);
    return left;
}

static void the_best_are_those_of_all(void **state)
{
    uint64_t left = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        left += check_seed(seed, 1 + seed % 7);
    assert_true(left > 10 * SEEDS); /* and not all had to be tried */
}

/* Each change gains no more than its share of what the critical path has of it. */
static void nothing_gains_more_than_is_on_the_path(void **state)
{
    int tight = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct maker_settings settings = settings_of(seed);
        struct gn_critical critical;
        struct made made;
        maker_make(&made, &settings);
        assert_int_equal(gn_critical_find(&critical, &made.history, NULL), 0);
        for (size_t i = 0; i < critical.count; i++) {
            const struct gn_critical_row *row = &critical.rows[i];
            for (int share = 1; row->activity != GN_NONE && share <= 2; share++) {
                const struct gn_whatif_result r =
                    try(&made.history, row->activity, row->process, share * 0.5);
                assert_true(r.reduction_lo_ns <= share * 0.5 * row->lo_ns * (1 + 1e-6));
                assert_true(row->is_followed);
                tight += r.reduction_lo_ns > 0 && r.reduction_lo_ns > share * 0.49 * row->lo_ns;
            }
        }
        gn_critical_clear(&critical);
        maker_clear(&made);
    }
    assert_true(tight > SEEDS);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS / 10; seed++) {
        const struct maker_settings settings = settings_of(seed);
        struct gn_sweep one, more;
        struct made made;
        maker_make(&made, &settings);
        sweep(&one, &made.history, 5, 1);
        sweep(&more, &made.history, 5, 7);
        assert_int_equal(one.count, more.count);
        assert_int_equal(one.candidates, more.candidates);
        assert_int_equal(one.tried, more.tried);
        for (size_t i = 0; i < one.count; i++) {
            assert_int_equal(one.answers[i].activity, more.answers[i].activity);
            assert_int_equal(one.answers[i].process, more.answers[i].process);
            assert_int_equal(one.answers[i].to, more.answers[i].to);
            assert_true(one.answers[i].share == more.answers[i].share);
            const struct gn_whatif_result *a = &one.answers[i].result, *b = &more.answers[i].result;
            assert_memory_equal(a, b, offsetof(struct gn_whatif_result, may_reorder));
            assert_int_equal(a->may_reorder, b->may_reorder);
        }
        gn_sweep_clear(&one);
        gn_sweep_clear(&more);
        maker_clear(&made);
    }
}

static void far(void *self, double share)
{
    double *last = self;
    assert_true(share >= *last && share <= 1);
    *last = share;
}

static void progress_goes_to_the_end(void **state)
{
    const struct maker_settings settings = settings_of(5);
    double share = 0;
    const struct gn_sweep_settings how = {.best = 100, .threads = 2, .progress = far, .self = &share};
    struct gn_critical critical;
    struct gn_sweep result;
    struct made made;
    (void)state;
    maker_make(&made, &settings);
    assert_int_equal(gn_critical_find(&critical, &made.history, NULL), 0);
    assert_int_equal(gn_sweep(&result, &made.history, &critical, &how, NULL), 0);
    assert_true(share == 1);
    gn_critical_clear(&critical);
    gn_sweep_clear(&result);
    maker_clear(&made);
}

static void nothing_changed_is_exactly_the_run(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct maker_settings settings = settings_of(seed);
        struct made made;
        maker_make(&made, &settings);
        const struct gn_whatif_result r = try(&made.history, 0, GN_NONE, 0);
        assert_true(r.length.lo_ns == made.history.length.lo_ns &&
                    r.length.hi_ns == made.history.length.hi_ns);
        assert_true(r.reduction_lo_ns == 0 && r.reduction_hi_ns == 0);
        maker_clear(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_are_those_of_all),
        cmocka_unit_test(nothing_gains_more_than_is_on_the_path),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(progress_goes_to_the_end),
        cmocka_unit_test(nothing_changed_is_exactly_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* New times of all records from knots: between their neighbours, as far apart as they have to be, and what is
 * counted of them against counting again in doubles. */
#include "base/mix.h"
#include "repair/retiming.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 200000 };
#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const struct gn_definitions definitions = {.ticks_per_second = 1000000000};

/* A row of which so many knots are given at a time. */
static uint64_t at_once;

static struct {
    const struct gn_knot *left;
    uint64_t left_count, count;
    struct gn_knot *given;
} row;

static int more(void *self, uint64_t done, struct gn_knot_row *to)
{
    assert_ptr_equal(self, &row);
    assert_true(done <= row.count);
    const uint64_t some = row.left_count < at_once ? row.left_count : at_once;
    const uint64_t kept = row.count - done;
    struct gn_knot *given = malloc((kept + some + 1) * sizeof *given); /* elsewhere: what was there is gone */
    assert_non_null(given);
    if (kept > 0)
        memcpy(given, row.given + done, kept * sizeof *given);
    if (some > 0)
        memcpy(given + kept, row.left, some * sizeof *given);
    free(row.given);
    row.given = given;
    row.count = kept + some;
    row.left += some;
    row.left_count -= some;
    *to = (struct gn_knot_row){row.given, row.count};
    return some > 0;
}

static struct gn_retiming begin(const struct gn_knot *knots, uint64_t count, struct gn_deviation *deviation)
{
    static struct gn_location_def location;
    static struct gn_definitions with;
    static struct gn_presync presync;
    with = definitions;
    with.locations = &location;
    with.location_count = 1;
    presync = (struct gn_presync){.kind = GN_PRESYNC_NONE, .definitions = &with};
    row.left = knots;
    row.left_count = count;
    row.count = 0;
    *deviation = (struct gn_deviation){0};
    return gn_retiming_begin(&presync, 0, knots ? &(struct gn_knot_source){&row, more} : NULL, deviation);
}

static void check(const struct gn_knot *knots, uint64_t count, const uint64_t *old, const uint64_t *new,
                  size_t events)
{
    struct gn_deviation deviation;
    struct gn_retiming r = begin(knots, count, &deviation);
    for (size_t i = 0; i < events; i++)
        assert_int_equal(gn_retiming_time(&r, i + 1, old[i]), new[i]);
    assert_int_equal(deviation.events, events);
}

static void test_nothing_moves_without_knots(void **state)
{
    (void)state;
    const uint64_t times[] = {0, 5, 5, 5, 1000, INT64_MAX / 2 - 1, INT64_MAX / 2};
    check(NULL, 0, times, times, LENGTH(times));
    check(&(struct gn_knot){0}, 0, times, times, LENGTH(times));
    struct gn_deviation deviation;
    struct gn_retiming r = begin(NULL, 0, &deviation);
    assert_int_equal(gn_retiming_time(&r, 1, UINT64_MAX), UINT64_MAX);
    assert_int_equal(gn_retiming_time(&r, 2, 100), 100);
    assert_int_equal(gn_retiming_time(&r, 3, 50), 100);
    assert_int_equal(gn_retiming_time(&r, 4, 100), 100);
    assert_int_equal(deviation.moved, 1);
}

/* A line up to the op at 2000, then down. */
static const struct gn_knot ramp[] = {
    {2, 500, 0, 1, 0}, {0, 1000, 0, 0, 0}, {5, 2000, 100, 3, 0}, {0, 12000, 0, 0, 0}, {8, 13000, 0, 2, 0}};

static void test_between_knots_is_a_line(void **state)
{
    (void)state;
    const uint64_t old[] = {100, 500, 1000, 1505, 2000, 2099, 2101, 13000, 14000, 14000};
    const uint64_t new[] = {100, 500, 1000, 1555, 2100, 2198, 2199, 13000, 14000, 14000};
    check(ramp, LENGTH(ramp), old, new, LENGTH(old));
}

static void test_records_may_be_left_out(void **state)
{
    (void)state;
    struct gn_deviation deviation;
    struct gn_retiming r = begin(ramp, LENGTH(ramp), &deviation);
    assert_int_equal(gn_retiming_time(&r, 1, 100), 100);
    assert_int_equal(gn_retiming_time(&r, 6, 7000), 7050);
    assert_int_equal(gn_retiming_time(&r, 20, 20000), 20000);
}

/* Of the op's own timestamp: what is before it goes with it, unless a point keeps it back. */
static void test_equal_timestamps(void **state)
{
    (void)state;
    const uint64_t old[] = {1000, 2000, 2000, 2000, 2000};
    const struct gn_knot with[] = {{1, 1000, 0, 1, 0}, {4, 2000, 100, 1, 0}, {5, 2000, 100, 0, 0}};
    check(with, LENGTH(with), old, (uint64_t[]){1000, 2100, 2100, 2100, 2100}, LENGTH(old));
    const struct gn_knot kept[] = {{1, 1000, 0, 1, 0}, {0, 2000, 0, 0, 0}, {4, 2000, 100, 1, 0}};
    check(kept, LENGTH(kept), old, (uint64_t[]){1000, 2000, 2000, 2100, 2100}, LENGTH(old));
    const struct gn_knot apart[] = {{1, 1000, 0, 1, 0}, {2, 2000, 30, 1, 0}, {4, 2000, 100, 0, 0}};
    check(apart, LENGTH(apart), old, (uint64_t[]){1000, 2030, 2100, 2100, 2100}, LENGTH(old));
}

static void test_one_record_as_several_ops(void **state)
{
    (void)state;
    const uint64_t old[] = {1000, 2000, 3000};
    const struct gn_knot knots[] = {{1, 1000, 0, 1, 0},   {2, 2000, 30, 1, 0},  {0, 2000, 29, 0, 0},
                                    {2, 2000, 100, 0, 0}, {3, 3000, 100, 1, 0}, {3, 3000, 100, 0, 0}};
    check(knots, LENGTH(knots), old, (uint64_t[]){1000, 2100, 3100}, LENGTH(old));
}

/* The line alone would put 15 and 16 at one time, and 19 after the op's 20. */
static void test_time_goes_on_between_ops(void **state)
{
    (void)state;
    const uint64_t old[] = {10, 15, 16, 17, 18, 30};
    const struct gn_knot knots[] = {{1, 10, 20, 1, 0}, {6, 30, 5, 5, 0}};
    const uint64_t new[] = {30, 31, 32, 33, 34, 35};
    check(knots, LENGTH(knots), old, new, LENGTH(old));
    const struct gn_knot tight[] = {{1, 10, 0, 1, 0}, {0, 12, 20, 0, 0}, {6, 30, 5, 5, 0}};
    check(tight, LENGTH(tight), old, (uint64_t[]){10, 31, 32, 33, 34, 35}, LENGTH(old));
}

/* Records that nobody has read, with times far ahead: they push neither ops nor what is between. */
static void test_what_is_no_event_pushes_nothing(void **state)
{
    (void)state;
    const uint64_t far = INT64_MAX / 2;
    const struct gn_knot still[] = {{3, 20, 0, 2, 0}, {6, 40, 0, 2, 0}};
    const uint64_t old[] = {10, far, 20, far, 30, 40};
    check(still, LENGTH(still), old, (uint64_t[]){10, 10, 20, 20, 30, 40}, LENGTH(old));
    const struct gn_knot line[] = {{2, 20, 0, 1, 0}, {0, 25, 0, 0, 0}, {0, 30, 5, 0, 0}, {6, 40, 15, 3, 0}};
    const uint64_t between[] = {10, 20, 1000, 28, 35, 40};
    check(line, LENGTH(line), between, (uint64_t[]){10, 20, 20, 31, 45, 55}, LENGTH(between));
    const uint64_t first[] = {far, 15, 20}; /* there is nothing to stand still at */
    check(still, LENGTH(still), first, (uint64_t[]){18, 18, 20}, LENGTH(first));
}

static void test_new_times_end_somewhere(void **state)
{
    (void)state;
    const struct gn_knot knots[] = {{1, 10, 1000, 0, 0}, {0, INT64_MAX / 2, 1000, 0, 0}};
    struct gn_deviation deviation;
    struct gn_retiming r = begin(knots, LENGTH(knots), &deviation);
    assert_int_equal(gn_retiming_time(&r, 1, 10), 1010);
    assert_int_equal(gn_retiming_time(&r, 2, INT64_MAX / 2 - 1000), INT64_MAX / 2);
    assert_false(r.is_late);
    assert_int_equal(gn_retiming_time(&r, 3, INT64_MAX / 2 - 1), INT64_MAX / 2);
    assert_true(r.is_late);
    const struct gn_knot early[] = {{3, 5, -5, 3, 0}};
    check(early, 1, (uint64_t[]){1, 4, 5}, (uint64_t[]){0, 0, 0}, 3);
}

static void test_disordered_input_never_goes_back(void **state)
{
    (void)state;
    uint64_t seed = 9;
    for (int round = 0; round < 200; round++) {
        struct gn_knot knots[50];
        size_t count = gn_mix_next(&seed) % LENGTH(knots);
        for (size_t i = 0; i < count; i++)
            knots[i] =
                (struct gn_knot){gn_mix_next(&seed) % 500, (int64_t)(gn_mix_next(&seed) >> (2 + i % 60)),
                                 (int64_t)(gn_mix_next(&seed) >> (2 + i % 60)), (uint32_t)seed, 0};
        struct gn_deviation deviation;
        struct gn_retiming r = begin(knots, count, &deviation);
        uint64_t before = 0;
        for (uint64_t record = 1; record < 500; record++) {
            uint64_t new = gn_retiming_time(&r, record, gn_mix_next(&seed) >> (2 + record % 60));
            assert_true(new >= before);
            before = new;
        }
    }
}

/* ---- the counts ---- */

static double most(double a, double b)
{
    return a > b ? a : b;
}

static struct gn_deviation counted(const uint64_t *old, const uint64_t *new, size_t events)
{
    static const double above[GN_DEVIATIONS] = {0, 1e-4, 1e-3, 1e-2, 1e-1, 1};
    struct gn_deviation d = {.events = events};
    for (size_t i = 0; i < events; i++) {
        d.moved += old[i] != new[i];
        const double position = ((double)new[i] - (double)new[0]) - ((double)old[i] - (double)old[0]);
        if (fabs(position) > (double)d.largest_position_ticks)
            d.largest_position_ticks = (int64_t)fabs(position);
        if (old[i] > old[0])
            d.largest_position = most(d.largest_position, fabs(position) / ((double)old[i] - (double)old[0]));
        if (i == 0 || old[i] <= old[i - 1])
            continue;
        const double length = (double)(old[i] - old[i - 1]);
        const double change = ((double)new[i] - (double)new[i - 1]) - length;
        d.intervals++;
        d.interval_ticks += length;
        d.deviation_ticks += fabs(change);
        d.largest_distance = most(d.largest_distance, fabs(change) / length);
        for (int a = 0; a < GN_DEVIATIONS; a++)
            if (fabs(change) / length > above[a]) {
                d.above[a]++;
                d.above_ticks[a] += length;
            }
        if (length >= 1000)
            d.steepest = most(d.steepest, change / length);
    }
    return d;
}

static void same(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-9 * fabs(b));
}

static void same_counts(const struct gn_deviation *got, const struct gn_deviation *want)
{
    assert_int_equal(got->events, want->events);
    assert_int_equal(got->moved, want->moved);
    assert_int_equal(got->intervals, want->intervals);
    assert_memory_equal(got->above, want->above, sizeof want->above);
    same(got->interval_ticks, want->interval_ticks);
    same(got->deviation_ticks, want->deviation_ticks);
    for (int i = 0; i < GN_DEVIATIONS; i++)
        same(got->above_ticks[i], want->above_ticks[i]);
    same(got->largest_distance, want->largest_distance);
    same(got->largest_position, want->largest_position);
    assert_int_equal(got->largest_position_ticks, want->largest_position_ticks);
    same(got->steepest, want->steepest);
    assert_int_equal(got->bounded, 0);
    assert_int_equal(got->outside, 0);
}

/* ---- a location from its records to its new times ---- */

struct location {
    struct gn_op_store store;
    uint64_t old[MOST], new[MOST];
    int64_t forward[MOST]; /* LC' of each record as the forward pass would have it, ops and others */
    bool is_op[MOST];
    struct gn_knot_row row;
    size_t capacity;
};

static int take(void *self, const struct gn_knot *knot)
{
    struct location *l = self;
    if (l->row.count == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 1024;
        assert_non_null(l->row.knots = realloc(l->row.knots, l->capacity * sizeof *knot));
    }
    l->row.knots[l->row.count++] = *knot;
    return 0;
}

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Some records are ops, some of these jump; the forward pass over all of them. */
static void make(struct location *l, uint64_t seed, uint64_t loss, int64_t between, double ops, double jumps)
{
    int64_t ticks = 1000000, jump_ticks = 0, jump_shift = 0;
    uint32_t records = 0, steps = 0;
    for (size_t i = 0; i < MOST; i++) {
        const int64_t on = gn_mix_next(&seed) % 4 ? 1 + (int64_t)(gn_mix_next(&seed) % (uint64_t)between) : 0;
        ticks += on;
        records++;
        steps += i > 0 && on > 0;
        int64_t time = ticks + most_of(0, jump_shift - gn_decay(loss, ticks - jump_ticks));
        if (i > 0)
            time = most_of(time, l->forward[i - 1] + (on > 0));
        l->is_op[i] = gn_mix_unit(gn_mix_next(&seed)) < ops;
        const bool is_jump = l->is_op[i] && gn_mix_unit(gn_mix_next(&seed)) < jumps;
        time += is_jump ? 1 + (int64_t)(gn_mix_next(&seed) % 300) : 0;
        l->old[i] = (uint64_t)ticks;
        l->forward[i] = time;
        if (!l->is_op[i])
            continue;
        struct gn_op *op = gn_op_add(&l->store, 0);
        op->kind = is_jump ? GN_OP_RECEIVE : GN_OP_SEND;
        op->flags = is_jump ? GN_OP_JUMP : 0;
        op->ticks = ticks;
        op->shift = time - ticks;
        op->limit = time + (int64_t)(gn_mix_next(&seed) % 100);
        op->records = records;
        op->steps = steps;
        records = steps = 0;
        if (is_jump) {
            jump_ticks = ticks;
            jump_shift = op->shift;
        }
    }
}

static void check_location(const struct location *l)
{
    uint64_t index = 0;
    for (size_t i = 0; i < MOST; i++) {
        if (i > 0) {
            assert_true(l->new[i] >= l->new[i - 1]);
            assert_true(l->new[i] > l->new[i - 1] || l->old[i] == l->old[i - 1]);
            const bool nothing = l->new[i] == l->old[i] && l->new[i - 1] == l->old[i - 1];
            assert_true(!nothing || (l->new[i] == l->new[i - 1]) == (l->old[i] == l->old[i - 1]));
        }
        if (l->is_op[i]) {
            const struct gn_op *op = gn_op_at(&l->store, 0, index++);
            assert_int_equal(l->new[i], op->ticks + op->shift);
            assert_true((int64_t)l->new[i] <= op->limit || op->kind == GN_OP_RECEIVE);
        }
        assert_true((int64_t)l->new[i] + 2 >= l->forward[i]); /* what falls is rounded again between ops */
        assert_true(l->new[i] >= l->old[i]);
    }
}

static void go_through(uint64_t seed, double gamma, int64_t between, double ops, double jumps, double slope)
{
    struct location *l = calloc(1, sizeof *l);
    assert_non_null(l);
    assert_int_equal(gn_op_store_open(&l->store, 1, NULL, NULL), 0);
    const uint64_t loss = (uint64_t)((1 - gamma) * 0x1p64);
    make(l, seed, loss, between, ops, jumps);
    const struct gn_amortize_settings settings = {slope, 30000, loss};
    const struct gn_knot_sink sink = {l, take};
    struct gn_amortize_stats stats = {0};
    assert_int_equal(gn_amortize(&l->store, 0, &settings, &sink, &stats, NULL), 0);
    struct gn_deviation deviation;
    struct gn_retiming r = begin(l->row.knots, l->row.count, &deviation);
    for (size_t i = 0; i < MOST; i++)
        l->new[i] = gn_retiming_time(&r, i + 1, l->old[i]);
    check_location(l);
    const struct gn_deviation want = counted(l->old, l->new, MOST);
    same_counts(&deviation, &want);
    assert_true(deviation.moved > 0);
    gn_op_store_close(&l->store);
    free(l->row.knots);
    free(l);
}

static void test_from_forward_pass_to_new_times(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        go_through(seed, 0.99, 1000, 0.5, 0.25, 0.02);
        go_through(seed, 0.99, 10, 0.2, 0.001, 0.02);
        go_through(seed, 0.5, 5, 0.3, 0.01, 0.3);
        go_through(seed, 0.999, 200, 0.05, 0.001, 0.01);
        go_through(seed, 0.99, 1000, 0.5, 0.25, 0);
        go_through(seed, 0.99, 3, 0.5, 0.05, 10);
    }
}

static void test_deviations_add_up(void **state)
{
    (void)state;
    struct gn_deviation a = {10, 5, 9, 100, 20, {1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60}, 3,
                             4,  5, 6, 7,   8};
    const struct gn_deviation b = {1, 1, 1, 1, 1, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}, 9, 1, 9, 1, 1, 1};
    gn_deviation_add(&a, &b);
    const struct gn_deviation sum = {11, 6, 10, 101, 21, {2, 3, 4, 5, 6, 7}, {11, 21, 31, 41, 51, 61}, 9,
                                     4,  9, 6,  8,   9};
    assert_memory_equal(&a, &sum, sizeof sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_moves_without_knots),
        cmocka_unit_test(test_between_knots_is_a_line),
        cmocka_unit_test(test_records_may_be_left_out),
        cmocka_unit_test(test_equal_timestamps),
        cmocka_unit_test(test_one_record_as_several_ops),
        cmocka_unit_test(test_time_goes_on_between_ops),
        cmocka_unit_test(test_what_is_no_event_pushes_nothing),
        cmocka_unit_test(test_new_times_end_somewhere),
        cmocka_unit_test(test_disordered_input_never_goes_back),
        cmocka_unit_test(test_from_forward_pass_to_new_times),
        cmocka_unit_test(test_deviations_add_up),
    };
    int failed = 0;
    for (at_once = UINT64_MAX; at_once > 0 && !failed; at_once = at_once > 3 ? 3 : at_once / 3)
        failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(row.given);
    return failed;
}

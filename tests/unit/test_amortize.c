/* Backward amortization: by hand, against the shortest path as a minimum of energy, and what has to hold. */
#include "base/mix.h"
#include "repair/amortize.h"
#include "repair/line.h"
#include "repeated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST_KNOTS = 4096 };

struct told {
    struct gn_knot *knots;
    size_t count, capacity;
    int64_t last_ticks;
    int code;
};

struct row {
    struct gn_op_store store;
    struct gn_amortize_settings settings;
    struct gn_amortize_stats stats;
    struct told told;
};

static int take(void *self, const struct gn_knot *knot)
{
    struct told *told = self;
    if (told->code)
        return told->code;
    if (told->count > 0)
        assert_true(knot->ticks >= told->last_ticks);
    told->last_ticks = knot->ticks;
    if (told->count == told->capacity) {
        told->capacity = told->capacity ? 2 * told->capacity : MOST_KNOTS;
        assert_non_null(told->knots = realloc(told->knots, told->capacity * sizeof *knot));
    }
    told->knots[told->count++] = *knot;
    return 0;
}

static uint64_t loss_of(double gamma)
{
    return (uint64_t)((1 - gamma) * 0x1p64);
}

static struct row row_with(double slope, int64_t longest, double gamma)
{
    struct row row = {.settings = {slope, longest, loss_of(gamma)}};
    assert_int_equal(gn_op_store_open(&row.store, 2, NULL, NULL), 0);
    return row;
}

static void close_row(struct row *row)
{
    gn_op_store_close(&row->store);
    free(row->told.knots);
}

static struct gn_op *add(struct row *row, enum gn_op_kind kind, int64_t ticks, int64_t shift, int64_t limit)
{
    struct gn_op *op = gn_op_add(&row->store, 1);
    assert_non_null(op);
    op->kind = (uint8_t)kind;
    op->ticks = ticks;
    op->shift = shift;
    op->limit = limit;
    op->records = 1;
    op->steps = 1;
    return op;
}

static void add_jump(struct row *row, int64_t ticks, int64_t shift)
{
    add(row, GN_OP_RECEIVE, ticks, shift, INT64_MAX)->flags = GN_OP_JUMP;
}

static void run(struct row *row)
{
    struct gn_error err = {""};
    const struct gn_knot_sink sink = {&row->told, take};
    assert_int_equal(gn_amortize(&row->store, 1, &row->settings, &sink, &row->stats, &err), 0);
    assert_string_equal(err.text, "");
}

static const struct gn_op *at(const struct row *row, uint64_t i)
{
    return gn_op_at(&row->store, 1, i);
}

static void check_shifts(const struct row *row, const int64_t *shifts, size_t count)
{
    assert_int_equal(row->store.rows[1].count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(at(row, i)->shift, shifts[i]);
}

static void check_knots(const struct row *row, const struct gn_knot *knots, size_t count)
{
    assert_int_equal(row->told.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct gn_knot *got = &row->told.knots[i];
        assert_int_equal(got->record, knots[i].record);
        assert_int_equal(got->ticks, knots[i].ticks);
        assert_int_equal(got->shift, knots[i].shift);
        assert_int_equal(got->steps, knots[i].record ? knots[i].steps : 0);
    }
}

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ---- by hand ---- */

static void test_nothing_jumps(void **state)
{
    (void)state;
    struct row row = row_with(0.01, 100000, 0.99);
    for (int i = 0; i < 10000; i++)
        add(&row, GN_OP_SEND, i * 10, 0, i * 10);
    run(&row);
    assert_int_equal(row.told.count, 0);
    assert_int_equal(row.stats.jumps, 0);
    assert_true(row.stats.steepest == 0);
    close_row(&row);
    row = row_with(0.01, 100000, 0.99); /* no ops at all */
    run(&row);
    assert_int_equal(row.told.count, 0);
    close_row(&row);
}

/* Where records between them are none of ours, ops are told that do not move. */
static void test_gaps_tell_still_ops(void **state)
{
    (void)state;
    struct row row = row_with(0.01, 100000, 0.99);
    row.store.rows[1].has_gaps = true;
    add(&row, GN_OP_SEND, 500, 0, INT64_MAX);
    add(&row, GN_OP_SEND, 1500, 0, INT64_MAX)->records = 3;
    run(&row);
    const struct gn_knot still[] = {{1, 500, 0, 1, 0}, {4, 1500, 0, 1, 0}};
    check_knots(&row, still, LENGTH(still));
    close_row(&row);
    row = row_with(0, 100000, 0.99);
    row.store.rows[1].has_gaps = true;
    add(&row, GN_OP_SEND, 500, 0, INT64_MAX);
    add(&row, GN_OP_SEND, 1500, 0, INT64_MAX);
    add_jump(&row, 2000, 5);
    add(&row, GN_OP_SEND, 3000, 0, INT64_MAX);
    add(&row, GN_OP_SEND, 4000, 0, INT64_MAX);
    run(&row);
    const struct gn_knot around[] = {{1, 500, 0, 1, 0},  {2, 1500, 0, 1, 0}, {0, 2000, 0, 0, 0},
                                     {3, 2000, 5, 1, 0}, {0, 2500, 0, 0, 0}, {4, 3000, 0, 1, 0},
                                     {5, 4000, 0, 1, 0}};
    check_knots(&row, around, LENGTH(around));
    close_row(&row);
}

/* A jump of 100 with a slope of 1/10: a straight line from 1000 ticks before. γ = 1: it does not fall. */
static void test_one_jump_is_built_up_by_a_line(void **state)
{
    (void)state;
    struct row row = row_with(0.1, 100000, 1);
    add(&row, GN_OP_SEND, 500, 0, INT64_MAX);
    add(&row, GN_OP_SEND, 1500, 0, INT64_MAX);
    add(&row, GN_OP_LOCAL, 1755, 0, INT64_MAX);
    add_jump(&row, 2000, 100);
    add(&row, GN_OP_SEND, 3000, 100, 3100);
    run(&row);
    check_shifts(&row, (int64_t[]){0, 50, 75, 100, 100}, 5);
    const struct gn_knot knots[] = {
        {1, 500, 0, 1, 0},    {0, 1000, 0, 0, 0},   {2, 1500, 50, 1, 0},          {3, 1755, 75, 1, 0},
        {4, 2000, 100, 1, 0}, {5, 3000, 100, 1, 0}, {0, INT64_MAX / 2, 100, 0, 0}};
    check_knots(&row, knots, LENGTH(knots));
    assert_int_equal(row.stats.jumps, 1);
    assert_int_equal(row.stats.largest_jump_ticks, 100);
    assert_int_equal(row.stats.largest_shift_ticks, 100);
    assert_int_equal(row.stats.limited, 0);
    assert_true(row.stats.steepest > 0.1 && row.stats.steepest < 0.11); /* 25 in 245 */
    close_row(&row);
}

/* The paper's figure 2: limits of s1 and s2 are below the line, that of s0 is above, and what is received in
 * the window is no limit. */
static void test_limits_below_the_line_bend_it(void **state)
{
    (void)state;
    struct row row = row_with(0.1, 100000, 1);
    add(&row, GN_OP_SEND, 1200, 0, 1290);
    add(&row, GN_OP_SEND, 1400, 0, 1420);
    add(&row, GN_OP_RECEIVE, 1500, 0, 1500);
    add(&row, GN_OP_SEND, 1800, 0, 1840);
    add(&row, GN_OP_END, 1900, 0, 1900);
    add_jump(&row, 2000, 100);
    run(&row);
    check_shifts(&row, (int64_t[]){10, 20, 25, 40, 70, 100}, 6);
    assert_int_equal(row.stats.limited, 2);
    assert_true(row.stats.steepest == 0.3);
    close_row(&row);
}

/* The limit of a later send lets an earlier one go less far, not only itself: the path is the shortest. */
static void test_path_is_the_shortest(void **state)
{
    (void)state;
    struct row row = row_with(0.1, 100000, 1);
    add(&row, GN_OP_SEND, 1400, 0, 1440);
    add(&row, GN_OP_SEND, 1800, 0, 1820);
    add_jump(&row, 2000, 100);
    run(&row);
    check_shifts(&row, (int64_t[]){10, 20, 100}, 3);
    close_row(&row);
}

/* Forward: 100 at 2000, falling by 1 % until 200 more at 5000. Windows are 1000 and 1300 long, apart. */
static void test_decay_between_windows(void **state)
{
    (void)state;
    struct row row = row_with(0.1, 100000, 0.99);
    add_jump(&row, 2000, 100);
    add(&row, GN_OP_SEND, 3000, 90, INT64_MAX);
    add(&row, GN_OP_SEND, 4500, 75, INT64_MAX);
    add_jump(&row, 5000, 200);
    add(&row, GN_OP_SEND, 40000, 0, INT64_MAX);
    add(&row, GN_OP_SEND, 50000, 0, INT64_MAX);
    run(&row);
    /* 200 − 70 = 130 more; the window begins at 3700, where the shift is 90 − 7 = 83; 83 + 117 · 800 / 1300
     */
    check_shifts(&row, (int64_t[]){100, 90, 155, 200, 0, 0}, 6);
    const struct gn_knot knots[] = {{0, 1000, 0, 0, 0},  {1, 2000, 100, 1, 0}, {2, 3000, 90, 1, 0},
                                    {0, 3700, 83, 0, 0}, {3, 4500, 155, 1, 0}, {4, 5000, 200, 1, 0},
                                    {0, 25000, 0, 0, 0}, {5, 40000, 0, 1, 0}};
    check_knots(&row, knots, LENGTH(knots));
    assert_int_equal(row.stats.largest_jump_ticks, 130);
    close_row(&row);
}

static void test_overlapping_windows_get_one_path(void **state)
{
    (void)state;
    struct row row = row_with(0.1, 100000, 1);
    add(&row, GN_OP_SEND, 1500, 0, INT64_MAX);
    add_jump(&row, 2000, 100);
    add(&row, GN_OP_SEND, 2200, 100, INT64_MAX);
    add_jump(&row, 2500, 300); /* begins at 500 */
    run(&row);
    check_shifts(&row, (int64_t[]){150, 225, 255, 300}, 4);
    assert_int_equal(row.told.knots[0].ticks, 500);
    close_row(&row);
}

/* A long window behind two short ones takes both in, the first of which it does not touch by itself. */
static void test_long_window_takes_in_what_waits(void **state)
{
    (void)state;
    struct row row = row_with(0.1, 100000, 1);
    add_jump(&row, 10000, 10);
    add_jump(&row, 20000, 20);
    add_jump(&row, 21000, 1100); /* 10800 long: begins at 10200 */
    run(&row);
    check_shifts(&row, (int64_t[]){10, 999, 1100}, 3);
    close_row(&row);
    row = row_with(0.1, 100000, 1);
    add_jump(&row, 10000, 10);
    add_jump(&row, 10050, 13);
    add_jump(&row, 21000, 1113); /* 11000 long: begins at 10000 */
    run(&row);
    check_shifts(&row, (int64_t[]){10, 15, 1113}, 3); /* from 0 at 9900 */
    close_row(&row);
}

static void test_windows_are_no_longer_than_longest(void **state)
{
    (void)state;
    struct row row = row_with(0.1, 200, 1);
    add(&row, GN_OP_SEND, 1700, 0, INT64_MAX);
    add(&row, GN_OP_SEND, 1900, 0, INT64_MAX);
    add_jump(&row, 2000, 100);
    run(&row);
    check_shifts(&row, (int64_t[]){0, 50, 100}, 3);
    close_row(&row);
}

/* Events of the receive's own timestamp go with it as far as their limits let them. */
static void test_equal_timestamps_rise_together(void **state)
{
    (void)state;
    struct row row = row_with(0.1, 100000, 1);
    add(&row, GN_OP_SEND, 1500, 0, INT64_MAX);
    add(&row, GN_OP_LOCAL, 2000, 0, INT64_MAX)->steps = 1;
    add(&row, GN_OP_SEND, 2000, 0, 2030)->steps = 0;
    add(&row, GN_OP_LOCAL, 2000, 0, INT64_MAX)->steps = 0;
    add_jump(&row, 2000, 100);
    gn_op_at(&row.store, 1, 4)->steps = 0;
    run(&row);
    check_shifts(&row, (int64_t[]){15, 30, 30, 100, 100}, 5);
    close_row(&row);
    row = row_with(0.1, 100000, 1);
    add(&row, GN_OP_SEND, 1500, 0, INT64_MAX);
    add(&row, GN_OP_SEND, 2000, 0, 2100);
    add_jump(&row, 2000, 100);
    gn_op_at(&row.store, 1, 2)->steps = 0;
    run(&row);
    check_shifts(&row, (int64_t[]){50, 100, 100}, 3);
    close_row(&row);
}

/* The same with a path that goes on behind them; and the highest of equals holds it up. */
static void test_equal_timestamps_in_a_path(void **state)
{
    (void)state;
    struct row row = row_with(0.1, 100000, 1);
    add(&row, GN_OP_SEND, 1000, 0, INT64_MAX);
    add(&row, GN_OP_SEND, 1500, 0, INT64_MAX);
    add(&row, GN_OP_SEND, 2000, 0, 2030);
    add_jump(&row, 2000, 100);
    gn_op_at(&row.store, 1, 3)->steps = 0;
    add(&row, GN_OP_SEND, 2500, 100, INT64_MAX);
    add_jump(&row, 3000, 300);
    run(&row);
    check_shifts(&row, (int64_t[]){0, 15, 30, 100, 200, 300}, 6);
    close_row(&row);
    row = row_with(0.05, 1000, 1);
    add(&row, GN_OP_SEND, 1500, 0, INT64_MAX);
    add(&row, GN_OP_LOCAL, 2000, 0, INT64_MAX);
    add_jump(&row, 2000, 100);
    gn_op_at(&row.store, 1, 2)->steps = 0;
    add(&row, GN_OP_LOCAL, 2200, 100, INT64_MAX);
    add_jump(&row, 3000, 150);
    run(&row);
    check_shifts(&row, (int64_t[]){50, 100, 100, 110, 150}, 5);
    close_row(&row);
}

/* Three sends of one record, which has one time: it keeps to the earliest of their limits, also where the
 * string has to rise behind it. */
static void test_ops_of_one_record(void **state)
{
    (void)state;
    static const int64_t limits[][3] = {{2010, 2020, 2040}, {2040, 2020, 2010}, {2020, 2010, 2040}};
    for (int i = 0; i < 3; i++) {
        struct row row = row_with(0.1, 100000, 1);
        add(&row, GN_OP_SEND, 1500, 0, INT64_MAX);
        for (int k = 0; k < 3; k++) {
            struct gn_op *op = add(&row, GN_OP_SEND, 2000, 0, limits[i][k]);
            op->records = op->steps = k == 0;
        }
        add_jump(&row, 2000, 100);
        gn_op_at(&row.store, 1, 4)->steps = 0;
        run(&row);
        check_shifts(&row, (int64_t[]){5, 10, 10, 10, 100}, 5);
        close_row(&row);
    }
}

static void test_slope_0_leaves_all_but_the_knots(void **state)
{
    (void)state;
    struct row row = row_with(0, 100000, 0.99);
    add(&row, GN_OP_SEND, 1500, 0, INT64_MAX);
    add_jump(&row, 2000, 100);
    add_jump(&row, 3000, 100);
    run(&row);
    check_shifts(&row, (int64_t[]){0, 100, 100}, 3);
    const struct gn_knot knots[] = {{1, 1500, 0, 1, 0},  {0, 2000, 0, 0, 0},   {2, 2000, 100, 1, 0},
                                    {0, 3000, 90, 0, 0}, {3, 3000, 100, 1, 0}, {0, 13000, 0, 0, 0}};
    check_knots(&row, knots, LENGTH(knots));
    assert_int_equal(row.stats.jumps, 2);
    close_row(&row);
}

/* 100 steps in 110 ticks: the string would take more than 10 of them away. */
static void test_steps_keep_their_room(void **state)
{
    (void)state;
    struct row row = row_with(0.001, 1000000, 1);
    add_jump(&row, 100000, 100);
    add(&row, GN_OP_LOCAL, 100200, 0, INT64_MAX)->steps = 100; /* it fell by 100 of 200 */
    add(&row, GN_OP_SEND, 100310, 0, 100310)->steps = 105;
    add_jump(&row, 200000, 300);
    run(&row);
    assert_int_equal(at(&row, 2)->shift, 0);
    assert_true(at(&row, 1)->shift <= 5);
    assert_true(at(&row, 0)->shift >= 100);
    close_row(&row);
}

/* Timestamps that go back are taken for those before them: corrected times are what they were. */
static void test_times_that_go_back(void **state)
{
    (void)state;
    struct row row = row_with(0.1, 100000, 1);
    add(&row, GN_OP_SEND, 1500, 0, INT64_MAX);
    add(&row, GN_OP_SEND, 1000, 500, INT64_MAX)->steps = 0;
    add_jump(&row, 2000, 100);
    add(&row, GN_OP_SEND, 1990, 110, 2100)->steps = 0;
    run(&row);
    for (int i = 0; i < 2; i++)
        assert_int_equal(at(&row, (uint64_t)i)->ticks + at(&row, (uint64_t)i)->shift, 1550);
    assert_int_equal(at(&row, 3)->ticks + at(&row, 3)->shift, 2100);
    close_row(&row);
}

static void test_sink_stops_it(void **state)
{
    (void)state;
    struct row row = row_with(0.1, 100000, 1);
    add_jump(&row, 2000, 100);
    row.told.code = -28;
    struct gn_error err = {""};
    const struct gn_knot_sink sink = {&row.told, take};
    assert_int_equal(gn_amortize(&row.store, 1, &row.settings, &sink, &row.stats, &err), -28);
    assert_non_null(strstr(err.text, "No space"));
    close_row(&row);
}

static void test_line_is_exact(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int i = 0; i < REPEATED(2000000); i++) {
        const int64_t x0 = (int64_t)(gn_mix_next(&seed) >> (2 + gn_mix_next(&seed) % 62));
        const int64_t y0 = (int64_t)(gn_mix_next(&seed) >> (2 + gn_mix_next(&seed) % 62));
        const int64_t y1 = (int64_t)(gn_mix_next(&seed) >> (2 + gn_mix_next(&seed) % 62));
        const int64_t width = (int64_t)(gn_mix_next(&seed) >> (3 + gn_mix_next(&seed) % 61)) + 1;
        const int64_t along = (int64_t)(gn_mix_next(&seed) % ((uint64_t)width + 1));
        const struct gn_line line = gn_line(x0, y0, x0 + width, y1);
        const __int128 left =
            (__int128)(y1 - y0) * along - (__int128)(gn_line_at(&line, x0 + along) - y0) * width;
        assert_true(left >= 0 && left < width);
    }
}

/* ---- random rows, as the forward pass leaves them ---- */

struct kind_of_row {
    uint64_t seed;
    size_t count;
    int64_t between;             /* most ticks between two ops */
    int64_t jump, slack;         /* at most */
    double jumps, equal, limits; /* shares */
    double gamma;
};

static double unit(uint64_t *seed)
{
    return gn_mix_unit(gn_mix_next(seed));
}

static int64_t up_to(uint64_t *seed, int64_t most)
{
    return (int64_t)(gn_mix_next(seed) % ((uint64_t)most + 1));
}

static void fill(struct row *row, const struct kind_of_row *kind)
{
    uint64_t seed = kind->seed, loss = loss_of(kind->gamma);
    int64_t ticks = 1000000, jump_ticks = 0, jump_shift = 0, time = 0;
    for (size_t i = 0; i < kind->count; i++) {
        const int64_t on = unit(&seed) < kind->equal ? 0 : 1 + up_to(&seed, kind->between - 1);
        const int64_t steps = on == 0 ? 0
                                      : 1 + up_to(&seed, on < 4              ? on - 1
                                                         : unit(&seed) < 0.1 ? on - 1
                                                                             : 2);
        ticks += on;
        int64_t fallen = jump_shift - gn_decay(loss, ticks - jump_ticks);
        int64_t shift = fallen > 0 ? fallen : 0;
        if (i > 0 && ticks + shift < time + steps)
            shift = time + steps - ticks;
        const bool is_jump = unit(&seed) < kind->jumps;
        if (is_jump) {
            shift += 1 + up_to(&seed, kind->jump);
            jump_ticks = ticks;
            jump_shift = shift;
        }
        time = ticks + shift;
        const double what = unit(&seed);
        struct gn_op *op =
            add(row, is_jump ? (what < 0.5 ? GN_OP_RECEIVE : GN_OP_END) : GN_OP_LOCAL, ticks, shift, time);
        if (is_jump)
            op->flags = GN_OP_JUMP;
        else if (what < kind->limits)
            op->kind = what < kind->limits / 2 ? GN_OP_SEND : GN_OP_BEGIN,
            op->limit = unit(&seed) < 0.2 ? INT64_MAX : time + up_to(&seed, kind->slack);
        op->records = 1 + (uint32_t)up_to(&seed, 4);
        op->steps = (uint32_t)steps;
    }
}

static int64_t reach_of(const struct row *row, int64_t jump)
{
    const double ticks = ceil((double)jump / row->settings.slope);
    return ticks < (double)row->settings.longest_ticks ? (int64_t)ticks : row->settings.longest_ticks;
}

/* Where the window of a jump begins; its size is told from the forward pass. */
static int64_t window_of(const struct row *row, const int64_t *forward, size_t r)
{
    int64_t before = 0;
    if (r > 0) {
        before =
            forward[r - 1] - gn_decay(row->settings.gamma_loss, at(row, r)->ticks - at(row, r - 1)->ticks);
        before = before > 0 ? before : 0;
    }
    const int64_t jump = forward[r] - before > 1 ? forward[r] - before : 1;
    return at(row, r)->ticks - reach_of(row, jump);
}

static int64_t *forward_of(const struct row *row)
{
    const size_t count = row->store.rows[1].count;
    int64_t *forward = malloc((count + 1) * sizeof *forward);
    assert_non_null(forward);
    for (size_t i = 0; i < count; i++)
        forward[i] = at(row, i)->shift;
    return forward;
}

/* For each op the earliest begin of a window of a later jump; an op is in a window when it is not before it.
 */
static int64_t *begins_of(const struct row *row, const int64_t *forward)
{
    const size_t count = row->store.rows[1].count;
    int64_t *begins = malloc((count + 1) * sizeof *begins), earliest = INT64_MAX;
    assert_non_null(begins);
    for (size_t i = count; i-- > 0;) {
        begins[i] = earliest;
        const int64_t begin = at(row, i)->flags & GN_OP_JUMP ? window_of(row, forward, i) : INT64_MAX;
        earliest = begin < earliest ? begin : earliest;
    }
    return begins;
}

static int64_t upper_of(const struct gn_op *op)
{
    return op->kind == GN_OP_SEND || op->kind == GN_OP_BEGIN ? op->limit : INT64_MAX;
}

static void check_invariants(const struct row *row, const int64_t *forward, const int64_t *begins)
{
    const size_t count = row->store.rows[1].count;
    for (size_t i = 0; i < count; i++) {
        const struct gn_op *op = at(row, i);
        assert_true(op->shift >= forward[i]);
        assert_true(op->ticks + op->shift <= upper_of(op));
        if (op->ticks < begins[i])
            assert_int_equal(op->shift, forward[i]);
        if (i > 0) {
            const struct gn_op *before = at(row, i - 1);
            assert_true(op->ticks + op->shift >= before->ticks + before->shift + op->steps);
        }
    }
}

static void check_told(const struct row *row)
{
    const size_t count = row->store.rows[1].count;
    const struct told *told = &row->told;
    uint64_t record = 0;
    size_t k = 0;
    for (size_t i = 0; i < count; i++) {
        const struct gn_op *op = at(row, i);
        record += op->records;
        const bool is_moved =
            op->shift || (i > 0 && at(row, i - 1)->shift) || (i + 1 < count && at(row, i + 1)->shift);
        for (; is_moved && k < told->count && told->knots[k].record == 0; k++)
            assert_true(told->knots[k].ticks <= op->ticks && told->knots[k].shift >= 0);
        if (!is_moved)
            continue;
        assert_true(k < told->count);
        assert_int_equal(told->knots[k].record, record);
        assert_int_equal(told->knots[k].ticks, op->ticks);
        assert_int_equal(told->knots[k].shift, op->shift);
        assert_int_equal(told->knots[k].steps, op->steps);
        k++;
    }
    for (; k < told->count; k++)
        assert_int_equal(told->knots[k].record, 0);
    if (told->count > 0 && row->settings.gamma_loss > (uint64_t)1 << 40)
        assert_int_equal(told->knots[told->count - 1].shift, 0);
}

static void test_invariants_of_many_ops(void **state)
{
    (void)state;
    static const struct kind_of_row kinds[] = {
        {1, 1000000, 1000, 300, 200, 0.25, 0.1, 0.5, 0.99},
        {2, 1000000, 1000, 3000, 200, 0.01, 0.3, 0.5, 0.999},
        {3, 300000, 20, 30, 40, 0.1, 0.5, 0.8, 0.9},
        {4, 300000, 3, 100, 10, 0.001, 0.2, 0.3, 0.5},
        {5, 300000, 100000, 5, 5, 0.25, 0, 0.5, 0.99},
        {6, 300000, 10, 1, 1, 0.3, 0.4, 0.6, 0.99},
    };
    static const double slopes[] = {0.01, 0.3, 5};
    for (size_t i = 0; i < LENGTH(kinds) * LENGTH(slopes); i++) {
        const struct kind_of_row *kind = &kinds[i / LENGTH(slopes)];
        struct row row = row_with(slopes[i % LENGTH(slopes)], 20000, kind->gamma);
        fill(&row, kind);
        int64_t *forward = forward_of(&row), *begins = begins_of(&row, forward);
        run(&row);
        check_invariants(&row, forward, begins);
        check_told(&row);
        free(forward);
        free(begins);
        close_row(&row);
    }
}

/* A window over more ops than are looked at together. */
static void test_very_long_windows_are_cut(void **state)
{
    (void)state;
    const struct kind_of_row kind = {7, 3500000, 10, 50, 0, 0.00001, 0.1, 0, 0.999999};
    struct row row = row_with(1e-9, INT64_MAX, kind.gamma);
    fill(&row, &kind);
    add_jump(&row, at(&row, kind.count - 1)->ticks + 10, 5000);
    int64_t *forward = forward_of(&row), *begins = begins_of(&row, forward);
    run(&row);
    check_invariants(&row, forward, begins);
    check_told(&row);
    uint64_t moved = 0;
    for (size_t i = 0; i < kind.count; i++)
        moved += at(&row, i)->shift != forward[i];
    assert_true(moved > 2000000);
    free(forward);
    free(begins);
    close_row(&row);
}

/* ---- against another way ---- */

struct free_gate {
    double x, y, low, high;
    size_t op; /* or SIZE_MAX */
};

/* The whole location as one row of gates, of which those outside of windows have no room. */
static size_t gates_of(const struct row *row, const int64_t *forward, const int64_t *begins,
                       struct free_gate *gates)
{
    const size_t count = row->store.rows[1].count;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct gn_op *op = at(row, i);
        const int64_t ticks_before = i > 0 ? at(row, i - 1)->ticks : INT64_MIN;
        int64_t begin = begins[i];
        if (op->flags & GN_OP_JUMP) {
            const int64_t own = window_of(row, forward, i);
            begin = own < begin ? own : begin;
        }
        if (begin <= op->ticks && begin > ticks_before) {
            int64_t shift =
                i > 0 ? forward[i - 1] - gn_decay(row->settings.gamma_loss, begin - ticks_before) : 0;
            const int64_t most = forward[i] + op->ticks - begin;
            shift = shift < 0 ? 0 : shift > most ? most : shift;
            gates[n++] =
                (struct free_gate){(double)begin, (double)shift, (double)shift, (double)shift, SIZE_MAX};
        }
        const double low = (double)forward[i];
        const int64_t upper = upper_of(op);
        const double high = op->ticks < begins[i] ? low
                            : upper == INT64_MAX  ? 1e18
                                                  : (double)(upper - op->ticks);
        gates[n++] = (struct free_gate){(double)op->ticks, low, low, high, i};
    }
    return n;
}

/* The shortest path is also the one with the least sum of rise² / width: each gate between its neighbours. */
static void relax(struct free_gate *gates, size_t count)
{
    for (double moved = 1; moved > 1e-9;) {
        moved = 0;
        for (size_t i = 1; i + 1 < count; i++) {
            const double left = gates[i].x - gates[i - 1].x, right = gates[i + 1].x - gates[i].x;
            double y = (gates[i - 1].y * right + gates[i + 1].y * left) / (left + right);
            y = fmin(fmax(y, gates[i].low), gates[i].high);
            moved = fmax(moved, fabs(y - gates[i].y));
            gates[i].y = y;
        }
    }
}

/* Without the low ends that only follow the fall of the forward pass. */
static void drop_falling(const struct row *row, const int64_t *forward, struct free_gate *gates, size_t count)
{
    for (size_t g = 0; g < count; g++) {
        const size_t i = gates[g].op;
        if (i == SIZE_MAX || gates[g].low == gates[g].high)
            continue;
        int64_t before = 0;
        if (i > 0)
            before = forward[i - 1] -
                     gn_decay(row->settings.gamma_loss, at(row, i)->ticks - at(row, i - 1)->ticks);
        if (forward[i] <= (before > 0 ? before : 0))
            gates[g].low = -1e18;
    }
}

/* Rounded down, each op has what the string has there: `room` ticks less at most; one more where two steps
 * are near each other. */
static void check_string(const struct row *row, const int64_t *forward, const struct free_gate *gates,
                         size_t count, double room)
{
    for (size_t i = 0; i < count; i++) {
        if (gates[i].op == SIZE_MAX)
            continue;
        const double y = fmax(gates[i].y, (double)forward[gates[i].op]);
        const double missing = y - (double)at(row, gates[i].op)->shift;
        const bool is_near = i + 1 < count && gates[i + 1].x - gates[i].x < 10;
        assert_true(missing > -1e-3 && missing < room + is_near + 1e-3);
    }
}

static void compare_with_relaxed(const struct kind_of_row *kind, double slope, uint64_t *bends)
{
    struct row row = row_with(slope, 5000, kind->gamma);
    fill(&row, kind);
    for (size_t i = 0; i < kind->count; i++)
        gn_op_at(&row.store, 1, i)->steps = 1;
    int64_t *forward = forward_of(&row), *begins = begins_of(&row, forward);
    struct free_gate all[100], some[100];
    const size_t count = gates_of(&row, forward, begins, all);
    memcpy(some, all, count * sizeof *all);
    drop_falling(&row, forward, some, count);
    relax(all, count);
    relax(some, count);
    run(&row);
    check_invariants(&row, forward, begins);
    check_string(&row, forward, some, count, 1);
    check_string(&row, forward, all, count, 2); /* the fall itself is rounded */
    for (size_t i = 0; i < count; i++)
        *bends += all[i].y > all[i].low + 1 && all[i].y == all[i].high;
    free(forward);
    free(begins);
    close_row(&row);
}

static void test_same_as_relaxed_strings(void **state)
{
    (void)state;
    uint64_t bends = 0;
    for (uint64_t seed = 1; seed <= REPEATED(3000); seed++) {
        const double slopes[] = {0.01, 0.05, 0.3};
        compare_with_relaxed(&(struct kind_of_row){seed, 4 + seed % 20, 1000, 100, 60, 0.2, 0, 0.6, 0.99},
                             slopes[seed % 3], &bends);
    }
    assert_true(bends > REPEATED(1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_jumps),
        cmocka_unit_test(test_gaps_tell_still_ops),
        cmocka_unit_test(test_one_jump_is_built_up_by_a_line),
        cmocka_unit_test(test_limits_below_the_line_bend_it),
        cmocka_unit_test(test_path_is_the_shortest),
        cmocka_unit_test(test_decay_between_windows),
        cmocka_unit_test(test_overlapping_windows_get_one_path),
        cmocka_unit_test(test_long_window_takes_in_what_waits),
        cmocka_unit_test(test_windows_are_no_longer_than_longest),
        cmocka_unit_test(test_equal_timestamps_rise_together),
        cmocka_unit_test(test_equal_timestamps_in_a_path),
        cmocka_unit_test(test_ops_of_one_record),
        cmocka_unit_test(test_slope_0_leaves_all_but_the_knots),
        cmocka_unit_test(test_steps_keep_their_room),
        cmocka_unit_test(test_times_that_go_back),
        cmocka_unit_test(test_sink_stops_it),
        cmocka_unit_test(test_line_is_exact),
        cmocka_unit_test(test_invariants_of_many_ops),
        cmocka_unit_test(test_very_long_windows_are_cut),
        cmocka_unit_test(test_same_as_relaxed_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* analyse/critical: against all paths that may be the critical one, written out one by one. */
#include "analyse/critical.h"

#include "base/mix.h"
#include "history_maker.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef SEEDS
#define SEEDS 4000
#endif

/* Things on the path: activities, call paths, the region without a path, anything; of each process, then of
 * all. */
enum {
    ANYTHING = MAKER_ACTIVITIES + MAKER_PATHS + 1,
    KINDS = ANYTHING + 1,
    THINGS = KINDS * (MAKER_PROCESSES + 1),
    CROSSES = THINGS,
    MOST_PATHS = 300000
};

struct span {
    double lo, hi, real;
};

/* All paths: what any has of each thing, at least and at most, if it was the critical one; and what the one
 * that it was has in truth. */
struct paths {
    const struct made *made;
    struct span now[THINGS + 1];
    double least[THINGS + 1], most[THINGS + 1], real[THINGS + 1];
    bool is_real; /* so far, this path is the one that it was */
    uint64_t count, real_count;
};

static uint32_t process_of(const struct paths *p, uint32_t call)
{
    return p->made->definitions->locations[p->made->history.calls[call].location].process;
}

static void add_to(struct span *to, struct span what, double sign)
{
    to->lo += sign * what.lo;
    to->hi += sign * what.hi;
    to->real += sign * what.real;
}

static void add(struct paths *p, uint32_t kind, uint32_t process, struct span what, double sign)
{
    add_to(&p->now[kind * (MAKER_PROCESSES + 1) + process], what, sign);
    add_to(&p->now[kind * (MAKER_PROCESSES + 1) + MAKER_PROCESSES], what, sign);
    if (kind != ANYTHING)
        add(p, ANYTHING, process, what, sign);
}

static void add_pieces(struct paths *p, uint32_t call, double sign)
{
    const struct gn_call *c = &p->made->history.calls[call];
    for (uint32_t i = c->first_piece; i < c->first_piece + c->piece_count; i++) {
        const struct gn_piece *piece = &p->made->history.pieces[i];
        add(p, piece->activity, process_of(p, call),
            (struct span){piece->lo_ns, piece->hi_ns, p->made->piece_ns[i]}, sign);
    }
}

/* If this input was the last one of a collective, it came after all the others. */
static int64_t given_after(const struct paths *p, uint32_t call, const struct maker_input *in)
{
    const struct maker_call *truth = &p->made->truth[call];
    int64_t lo_ns = p->made->history.calls[in->call].enter.lo_ns;
    for (int i = 0; i < truth->input_count && in->is_of_many; i++)
        if (truth->inputs[i].is_of_many && truth->inputs[i].lo_ns > lo_ns)
            lo_ns = truth->inputs[i].lo_ns;
    return lo_ns;
}

static double positive(double ns)
{
    return ns > 0 ? ns : 0;
}

static void add_call(struct paths *p, uint32_t call, const struct maker_input *in, double sign)
{
    const struct gn_call *c = &p->made->history.calls[call], *from = &p->made->history.calls[in->call];
    const double ns = (double)(p->made->truth[call].leave_ns - p->made->truth[in->call].enter_ns);
    struct span what = {positive((double)(c->leave.lo_ns - from->enter.hi_ns)),
                        positive((double)(c->leave.hi_ns - given_after(p, call, in))), ns};
    if (from->location == c->location) { /* by one clock */
        what.lo = fmax(what.lo, ns);
        what.hi = fmin(what.hi, ns);
    }
    if (!(c->flags & (GN_CALL_BEGIN | GN_CALL_END)))
        add(p, MAKER_ACTIVITIES + (c->path == GN_NONE ? MAKER_PATHS : c->path), process_of(p, call), what,
            sign);
    if (from->location != c->location)
        add_to(&p->now[CROSSES], what, sign);
}

static void end_path(struct paths *p)
{
    for (int i = 0; i <= THINGS; i++) {
        p->least[i] = p->now[i].lo < p->least[i] ? p->now[i].lo : p->least[i];
        p->most[i] = p->now[i].hi > p->most[i] ? p->now[i].hi : p->most[i];
        p->real[i] = p->is_real ? p->now[i].real : p->real[i];
    }
    p->real_count += p->is_real;
    p->count++;
}

static int64_t last_come(const struct maker_call *truth)
{
    int64_t last_ns = INT64_MIN;
    for (int i = 0; i < truth->input_count; i++)
        last_ns = truth->inputs[i].come_ns > last_ns ? truth->inputs[i].come_ns : last_ns;
    return last_ns;
}

static void follow(struct paths *p, uint32_t call)
{
    const struct maker_call *truth = &p->made->truth[call];
    int64_t least_ns = INT64_MIN;
    for (int i = 0; i < truth->input_count; i++)
        least_ns = truth->inputs[i].lo_ns > least_ns ? truth->inputs[i].lo_ns : least_ns;
    for (int i = 0; i < truth->input_count && p->count < MOST_PATHS; i++) {
        const struct maker_input *in = &truth->inputs[i];
        const bool was_real = p->is_real;
        if (in->hi_ns < least_ns)
            continue;
        p->is_real = was_real && in->come_ns == last_come(truth);
        add_call(p, call, in, 1);
        add_pieces(p, in->call, 1);
        if (p->made->history.calls[in->call].before == GN_NONE)
            end_path(p);
        else
            follow(p, p->made->history.calls[in->call].before);
        add_pieces(p, in->call, -1);
        add_call(p, call, in, -1);
        p->is_real = was_real;
    }
}

static void all_paths(struct paths *p, const struct made *made)
{
    const struct gn_history *h = &made->history;
    int64_t lo_ns = INT64_MIN, last_ns = INT64_MIN;
    *p = (struct paths){.made = made};
    for (int i = 0; i <= THINGS; i++)
        p->least[i] = INFINITY;
    for (uint32_t l = 0; l < MAKER_LOCATIONS; l++) {
        const uint32_t end = h->last_call[l];
        lo_ns = h->calls[end].leave.lo_ns > lo_ns ? h->calls[end].leave.lo_ns : lo_ns;
        last_ns = made->truth[end].leave_ns > last_ns ? made->truth[end].leave_ns : last_ns;
    }
    for (uint32_t l = 0; l < MAKER_LOCATIONS; l++) {
        p->is_real = made->truth[h->last_call[l]].leave_ns == last_ns;
        if (h->calls[h->last_call[l]].leave.hi_ns >= lo_ns)
            follow(p, h->last_call[l]);
    }
}

static uint32_t thing_of(const struct gn_critical_row *row)
{
    const uint32_t kind = row->activity != GN_NONE ? row->activity
                          : row->path != GN_NONE   ? MAKER_ACTIVITIES + row->path
                          : row->region != GN_NONE ? MAKER_ACTIVITIES + MAKER_PATHS
                                                   : ANYTHING;
    return kind * (MAKER_PROCESSES + 1) + (row->process == GN_NONE ? MAKER_PROCESSES : row->process);
}

static bool is_exact(const struct maker_settings *s)
{
    return s->width_ns == 0 && s->rate == 0;
}

static void assert_within(const struct maker_settings *s, double lo, double least, double most, double hi)
{
    const double slack = 1e-6 * (1 + fabs(most));
    if (!(lo <= least + slack && hi >= most - slack))
        fail_msg("seed %llu: [%.17g, %.17g] is not around [%.17g, %.17g]", (unsigned long long)s->seed, lo,
                 hi, least, most);
}

static void assert_same(const struct maker_settings *s, double lo, double least, double most, double hi)
{
    assert_within(s, lo, least, most, hi);
    assert_within(s, least, lo, hi, most);
}

/* No more than the run's length is said of anything. */
static double least(const struct paths *p, double ns)
{
    return ns < (double)p->made->history.length.hi_ns ? ns : (double)p->made->history.length.hi_ns;
}

static void check_rows(const struct maker_settings *s, const struct paths *p, const struct gn_critical *c)
{
    bool has_row[THINGS] = {false};
    for (size_t i = 0; i < c->count; i++) {
        const uint32_t thing = thing_of(&c->rows[i]);
        assert_false(has_row[thing]);
        assert_true((i >= c->first_whole && i < c->first_process) == (c->rows[i].process == GN_NONE));
        assert_true((i >= c->first_process) == (thing / (MAKER_PROCESSES + 1) == ANYTHING));
        has_row[thing] = true;
        (is_exact(s) ? assert_same : assert_within)(s, c->rows[i].lo_ns, p->least[thing],
                                                    least(p, p->most[thing]), c->rows[i].hi_ns);
        assert_true(c->rows[i].lo_ns <= p->real[thing] + 1e-3 && p->real[thing] <= c->rows[i].hi_ns + 1e-3);
    }
    for (int i = 0; i < THINGS - 1; i++) /* the last one is anything at all */
        if (!has_row[i])
            assert_true(p->most[i] <= 1e-6);
    /* Behind a collective it is not kept who of those that were last at the same time was meant. */
    assert_within(s, c->transfer_lo_ns, p->least[CROSSES], p->most[CROSSES], c->transfer_hi_ns);
}

/* Certain times add up to no more than the run, possible ones to no less than the real path. */
static void check_sums(const struct made *made, const struct paths *p, const struct gn_critical *c)
{
    const double slack = 1e-6 * (double)made->history.length.hi_ns;
    for (int whole = 0; whole < 2; whole++) {
        double lo = 0, hi = 0, real = 0;
        for (size_t i = whole ? c->first_whole : 0; i < (whole ? c->first_process : c->first_whole); i++) {
            lo += c->rows[i].lo_ns;
            hi += c->rows[i].hi_ns;
        }
        for (int i = 0; i < THINGS; i++)
            real += i % (MAKER_PROCESSES + 1) == MAKER_PROCESSES && i < THINGS - 1 ? p->real[i] : 0;
        assert_true(lo <= (double)made->history.length.hi_ns + slack);
        assert_true(hi >= real - slack);
    }
}

/* Whether all paths could be written out. */
static bool check(const struct maker_settings *settings)
{
    struct made made;
    struct gn_critical critical;
    static struct paths paths;
    struct gn_error err;
    maker_make(&made, settings);
    all_paths(&paths, &made);
    assert_int_equal(gn_critical_find(&critical, &made.history, &err), 0);
    const bool is_whole = paths.count < MOST_PATHS;
    if (is_whole) {
        assert_true(paths.real_count > 0);
        check_rows(settings, &paths, &critical);
        check_sums(&made, &paths, &critical);
        assert_true((critical.branches > 0) >= (paths.count > 1));
    }
    gn_critical_clear(&critical);
    maker_clear(&made);
    return is_whole;
}

static void bounds_are_around_all_paths(void **state)
{
    int checked = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t random = seed;
        const struct maker_settings settings = {.seed = seed,
                                                .operations = 2 + (int)(gn_mix_next(&random) % 9),
                                                .unit_ns = 100,
                                                .width_ns = (int64_t)(gn_mix_next(&random) % 4) * 90,
                                                .rate = gn_mix_next(&random) % 2 ? 1e-3 : 0};
        checked += check(&settings);
    }
    assert_true(checked > SEEDS / 2);
}

static void with_times_that_are_known_they_are_exact(void **state)
{
    int checked = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct maker_settings settings = {
            .seed = seed, .operations = 4 + (int)(seed % 12), .unit_ns = seed % 2 ? 1000 : 10};
        checked += check(&settings);
    }
    assert_true(checked > SEEDS / 2);
}

static void of_a_long_run_it_takes_no_longer(void **state)
{
    const struct maker_settings settings = {.seed = 3, .operations = 400, .unit_ns = 100, .width_ns = 5000};
    struct made made;
    struct gn_critical critical;
    (void)state;
    maker_make(&made, &settings);
    assert_int_equal(gn_critical_find(&critical, &made.history, NULL), 0);
    assert_true(critical.count > 0 && critical.branches > 100);
    gn_critical_clear(&critical);
    maker_clear(&made);
}

static void a_run_without_events_has_no_path(void **state)
{
    struct gn_definitions *d = gn_definitions_new();
    const struct gn_history history = {.definitions = d};
    struct gn_critical critical;
    (void)state;
    assert_int_equal(gn_critical_find(&critical, &history, NULL), 0);
    assert_int_equal(critical.count, 0);
    gn_critical_clear(&critical);
    gn_definitions_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_around_all_paths),
        cmocka_unit_test(with_times_that_are_known_they_are_exact),
        cmocka_unit_test(of_a_long_run_it_takes_no_longer),
        cmocka_unit_test(a_run_without_events_has_no_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * global_state: random formulas over random worlds (frames_reference.h), against what follows from evaluating
 * the formula at each instant of
 *
 *   - the true times, and where clocks are exact: then bounds are points;
 *   - all times that ticks and bounds allow: what is certain is so in all of them, what is so in one of them
 * is possible; and where the answer says that it is narrowest, nothing else is.
 */
#include "frames_reference.h"

#include "analyse/global_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { BITS = 3, MOST_NODES = 40, MOST_TIME = 300, FIRST = -100, NOBODY = 0xff };

/* ---- formulas ---- */

struct formula {
    struct gn_global global;
    struct gn_global_node nodes[MOST_NODES];
    struct gn_global_who whos[MOST_NODES * MOST_LOCATIONS];
    uint32_t locations[MOST_NODES * MOST_LOCATIONS];
};

static struct gn_being_in any_being(void)
{
    struct gn_being_in in = {1ull << below(BITS), 0};
    if (below(3) == 0)
        in.none = 1ull << below(BITS);
    return in;
}

static void begin_who(struct formula *f)
{
    f->whos[f->global.who_count++] = (struct gn_global_who){(uint32_t)f->global.location_count, 0};
}

static void add_location(struct formula *f, size_t location)
{
    f->locations[f->global.location_count++] = (uint32_t)location;
    f->whos[f->global.who_count - 1].count++;
}

static void make_in(struct formula *f, struct gn_global_node *node, size_t locations)
{
    const size_t first = below(locations), count = below(3) ? 1 : 1 + below(locations - first);
    *node = (struct gn_global_node){.kind = GN_GLOBAL_IN, .who_count = 1, .in = any_being()};
    node->first_who = (uint32_t)f->global.who_count;
    begin_who(f);
    for (size_t l = first; l < first + count; l++)
        add_location(f, l);
}

/* Neighbours are one now and then. */
static void make_count(struct formula *f, struct gn_global_node *node, size_t locations)
{
    *node = (struct gn_global_node){.kind = GN_GLOBAL_COUNT, .in = any_being(), .counts_out = below(2)};
    node->first_who = (uint32_t)f->global.who_count;
    for (size_t l = 0; l < locations; l++) {
        if (l == 0 || below(4))
            begin_who(f);
        add_location(f, l);
    }
    node->who_count = (uint32_t)f->global.who_count - node->first_who;
    node->least = (uint32_t)below(locations + 1);
    node->most = below(2) ? node->least : below(2) ? UINT32_MAX : (uint32_t)(node->least + below(3));
    if (node->counts_out && below(2))
        node->rest = any_being();
}

/* Children come before their parents. Returns the index. */
static uint32_t make_node(struct formula *f, size_t locations, unsigned depth)
{
    const uint64_t kind = depth ? below(6) : below(2);
    struct gn_global_node node = {.kind = (uint8_t)(kind < 2    ? kind
                                                    : kind == 2 ? GN_GLOBAL_NOT
                                                    : kind == 3 ? GN_GLOBAL_OR
                                                                : GN_GLOBAL_AND)};
    uint32_t child = GN_GLOBAL_NO_NODE;
    for (uint64_t i = node.kind == GN_GLOBAL_NOT ? 1 : kind < 2 ? 0 : 2 + below(2); i > 0; i--) {
        const uint32_t one = make_node(f, locations, depth - 1);
        f->nodes[one].next = child;
        child = one;
    }
    if (kind == GN_GLOBAL_IN)
        make_in(f, &node, locations);
    else if (kind == GN_GLOBAL_COUNT)
        make_count(f, &node, locations);
    node.child = child;
    node.next = GN_GLOBAL_NO_NODE;
    f->nodes[f->global.node_count] = node;
    return (uint32_t)f->global.node_count++;
}

static void make_formula(struct formula *f, size_t locations, unsigned depth)
{
    f->global = (struct gn_global){.nodes = f->nodes, .whos = f->whos, .locations = f->locations};
    make_node(f, locations, depth);
}

static void print_formula(const struct formula *f)
{
    static const char *const kinds[] = {"in", "count", "not", "and", "or"};
    for (size_t n = 0; n < f->global.node_count; n++) {
        const struct gn_global_node *node = &f->nodes[n];
        printf("%zu %s child %d next %d", n, kinds[node->kind], (int)node->child, (int)node->next);
        printf("  one %lx none %lx out %d %u..%u rest %lx %lx:", (unsigned long)node->in.one,
               (unsigned long)node->in.none, node->counts_out, node->least, node->most,
               (unsigned long)node->rest.one, (unsigned long)node->rest.none);
        for (uint32_t w = node->first_who; w < node->first_who + node->who_count; w++)
            printf(" %u+%u", f->locations[f->whos[w].first], f->whos[w].count);
        printf("\n");
    }
}

/* ---- what they mean, at one instant ---- */

static bool is_nobody(const struct formula *f, uint32_t who, const uint8_t *states)
{
    for (uint32_t i = 0; i < f->whos[who].count; i++)
        if (states[f->locations[f->whos[who].first + i]] != NOBODY)
            return false;
    return true;
}

static bool is_in(const struct formula *f, uint32_t who, struct gn_being_in in, const uint8_t *states)
{
    bool one = false, none = true;
    for (uint32_t i = 0; i < f->whos[who].count; i++) {
        const uint8_t state = states[f->locations[f->whos[who].first + i]];
        if (state == NOBODY)
            continue;
        one = one || state & in.one;
        none = none && !(state & in.none);
    }
    return one && none;
}

static bool counts(const struct formula *f, const struct gn_global_node *node, const uint8_t *states)
{
    uint64_t number = 0;
    for (uint32_t w = node->first_who; w < node->first_who + node->who_count; w++) {
        if (is_nobody(f, w, states))
            continue;
        const bool in = is_in(f, w, node->in, states);
        if (node->counts_out && node->rest.one && !in && !is_in(f, w, node->rest, states))
            return false;
        number += in != node->counts_out;
    }
    return number >= node->least && number <= node->most;
}

static bool is_so(const struct formula *f, uint32_t index, const uint8_t *states)
{
    const struct gn_global_node *node = &f->nodes[index];
    bool all = true, any = false;
    if (node->kind == GN_GLOBAL_IN)
        return is_in(f, node->first_who, node->in, states);
    if (node->kind == GN_GLOBAL_COUNT)
        return counts(f, node, states);
    for (uint32_t c = node->child; c != GN_GLOBAL_NO_NODE; c = f->nodes[c].next) {
        const bool so = is_so(f, c, states);
        all = all && so;
        any = any || so;
    }
    return node->kind == GN_GLOBAL_NOT ? !all : node->kind == GN_GLOBAL_AND ? all : any;
}

/* so[t − FIRST] with these times, up to the last bound. */
static void evaluate(const struct formula *f, const struct world *w, const int64_t times[][MOST_STAGES],
                     bool *so)
{
    for (int64_t t = FIRST; t < last_bound(w); t++) {
        uint8_t states[MOST_LOCATIONS];
        for (size_t l = 0; l < w->count; l++) {
            states[l] = w->stages[l].count ? 0 : NOBODY;
            for (size_t i = 0; i < w->stages[l].count; i++)
                if (times[l][i] <= t)
                    states[l] = (uint8_t)w->list[l][i].state;
        }
        so[t - FIRST] = is_so(f, (uint32_t)f->global.node_count - 1, states);
    }
}

/* ---- worlds ---- */

static bool comes_before(const struct world *w, size_t a, size_t i, size_t b, size_t k)
{
    if (a == b)
        return i < k;
    return w->stages[a].domain == w->stages[b].domain && w->list[a][i].ticks < w->list[b][k].ticks;
}

/* When the first change was at the earliest, and the last one at the latest, in the order of their clocks. */
static struct gn_interval time_of(const struct world *w)
{
    struct gn_interval time = {INT64_MAX, INT64_MIN};
    for (size_t a = 0; a < w->count; a++)
        for (size_t i = 0; i < w->stages[a].count; i++) {
            struct gn_interval at = w->list[a][i].at;
            for (size_t b = 0; b < w->count; b++)
                for (size_t k = 0; k < w->stages[b].count; k++) {
                    if (comes_before(w, b, k, a, i) && w->list[b][k].at.lo_ns > at.lo_ns)
                        at.lo_ns = w->list[b][k].at.lo_ns;
                    if (comes_before(w, a, i, b, k) && w->list[b][k].at.hi_ns < at.hi_ns)
                        at.hi_ns = w->list[b][k].at.hi_ns;
                }
            time.lo_ns = at.lo_ns < time.lo_ns ? at.lo_ns : time.lo_ns;
            time.hi_ns = at.hi_ns > time.hi_ns ? at.hi_ns : time.hi_ns;
        }
    return time;
}

static void make_case(struct world *w, struct formula *f, const struct making *m, unsigned depth)
{
    make_world(w, m);
    for (size_t l = 0; l < w->count; l++)
        for (size_t i = 0; i + 1 < w->stages[l].count; i++)
            w->list[l][i].state = below(1 << BITS);
    make_formula(f, w->count, depth);
}

/* ---- checks ---- */

struct asked {
    const struct formula *f;
    const struct world *w;
    struct gn_held held;
    struct gn_interval time;
    bool always[MOST_TIME], ever[MOST_TIME]; /* in all times, in one */
};

static void complain(const struct asked *a, const char *what, double is, double expected)
{
    print_world(a->w);
    print_formula(a->f);
    for (size_t i = 0; i < a->held.period_count; i++)
        printf("period %ld to %ld, certain %lu\n", (long)a->held.periods[i].from_ns,
               (long)a->held.periods[i].to_ns, (unsigned long)a->held.periods[i].certain_ns);
    fail_msg("%s: %g, expected %g; time %g to %g, times %lu to %lu", what, is, expected, a->held.time.lo_ns,
             a->held.time.hi_ns, (unsigned long)a->held.times_lo, (unsigned long)a->held.times_hi);
}

static bool is_in_period(const struct gn_held *h, int64_t t)
{
    for (size_t i = 0; i < h->period_count; i++)
        if (h->periods[i].from_ns <= t && t < h->periods[i].to_ns)
            return true;
    return false;
}

static void check_periods(const struct asked *a, const bool *so)
{
    for (size_t i = 0; i < a->held.period_count; i++) {
        const struct gn_held_period *p = &a->held.periods[i];
        uint64_t yes = 0;
        for (int64_t t = p->from_ns; t < p->to_ns; t++)
            yes += so[t - FIRST];
        if (yes < p->certain_ns)
            complain(a, "certain in a period", (double)p->certain_ns, (double)yes);
    }
}

/* What is so at these times is within all bounds. */
static void check_times(const struct asked *a, const bool *so)
{
    const int64_t first = a->time.lo_ns, last = a->time.hi_ns;
    uint64_t yes = 0, times = 0;
    for (int64_t t = first; t < last; t++) {
        const bool is = so[t - FIRST];
        yes += is;
        times += is && (t == first || !so[t - 1 - FIRST]);
        if (is && !is_in_period(&a->held, t))
            complain(a, "outside of all periods", (double)t, 0);
    }
    if (a->held.time.lo_ns > (double)yes || a->held.time.hi_ns < (double)yes)
        complain(a, "time", a->held.time.lo_ns, (double)yes);
    if (a->held.times_lo > times || a->held.times_hi < times)
        complain(a, "times", (double)a->held.times_lo, (double)times);
    check_periods(a, so);
}

static void ask(struct asked *a, const struct formula *f, const struct world *w)
{
    struct gn_error err;
    *a = (struct asked){.f = f, .w = w, .time = time_of(w)};
    assert_int_equal(gn_global_ask(&a->held, &f->global, w->stages, w->count, &err), 0);
}

/* ---- tests ---- */

static void exact_clocks_give_points(void **state)
{
    static struct world w;
    static struct formula f;
    static struct asked a;
    bool so[MOST_TIME];
    (void)state;
    begin_with(1);
    for (int i = 0; i < CASES; i++) {
        struct making m = {1 + i % 6, 1 + i % 12, 90, 0, i % 3, 1, 0};
        make_case(&w, &f, &m, (unsigned)i % 4);
        ask(&a, &f, &w);
        evaluate(&f, &w, w.truth, so);
        check_times(&a, so);
        if (a.held.time.lo_ns != a.held.time.hi_ns || a.held.times_lo != a.held.times_hi)
            complain(&a, "not a point", a.held.time.lo_ns, a.held.time.hi_ns);
        gn_held_clear(&a.held);
    }
}

static void contains_the_truth(void **state)
{
    static struct world w;
    static struct formula f;
    static struct asked a;
    bool so[MOST_TIME];
    double narrow = 0, wide = 0;
    (void)state;
    begin_with(2);
    for (int i = 0; i < CASES; i++) {
        struct making m = {1 + i % MOST_LOCATIONS, 1 + i % 20, 190, i % 12, i % 4, 1 + i % 7 / 3, i % 5 * 10};
        struct gn_held view;
        struct gn_error err;
        make_case(&w, &f, &m, (unsigned)i % 4);
        ask(&a, &f, &w);
        evaluate(&f, &w, w.truth, so);
        check_times(&a, so);
        assert_int_equal(gn_global_ask_aggregated(&view, &f.global, w.stages, w.count, NULL, 0, &err), 0);
        if (a.held.is_narrowest &&
            (view.time.lo_ns > a.held.time.lo_ns || view.time.hi_ns < a.held.time.hi_ns))
            complain(&a, "the aggregated view is narrower", view.time.lo_ns, view.time.hi_ns);
        narrow += a.held.time.hi_ns - a.held.time.lo_ns;
        wide += view.time.hi_ns - view.time.lo_ns;
        gn_held_clear(&view);
        gn_held_clear(&a.held);
    }
    printf("intervals %.3f as wide as of the aggregated view\n", narrow / wide);
}

static void visit(struct exhaustion *x)
{
    struct asked *a = x->self;
    bool so[MOST_TIME];
    evaluate(a->f, a->w, x->times, so);
    check_times(a, so);
    for (int64_t t = a->time.lo_ns; t < a->time.hi_ns; t++) {
        a->always[t - FIRST] = (!x->found || a->always[t - FIRST]) && so[t - FIRST];
        a->ever[t - FIRST] = a->ever[t - FIRST] || so[t - FIRST];
    }
}

/* At each instant nothing is certain that is not so in all, and possible that is so in none. */
static void check_narrow(const struct asked *a)
{
    double certain = 0, possible = 0;
    for (int64_t t = a->time.lo_ns; t < a->time.hi_ns; t++) {
        certain += a->always[t - FIRST];
        possible += a->ever[t - FIRST];
    }
    if (a->held.time.lo_ns != certain)
        complain(a, "not all that is certain", a->held.time.lo_ns, certain);
    if (a->held.time.hi_ns != possible)
        complain(a, "not only what is possible", a->held.time.hi_ns, possible);
}

static void bounds_hold_for_all_times(void **state)
{
    static struct world w;
    static struct formula f;
    static struct exhaustion x;
    static struct asked a;
    unsigned long narrowest = 0, all = 0;
    (void)state;
    begin_with(3);
    for (int i = 0; i < CASES; i++) {
        struct making m = {1 + i % 3, 1 + i % 3, 8, i % 3, i % 4, 1 + i % 2, i % 3 * 20};
        make_case(&w, &f, &m, (unsigned)i % 4);
        x = (struct exhaustion){.visit = visit, .self = &a, .w = &w, .last = last_bound(&w)};
        x.count = list_events(&w, x.events);
        if (x.count > 6 || x.count == 0)
            continue;
        ask(&a, &f, &w);
        exhaust(&x, 0);
        assert_true(x.found > 0);
        all++;
        if (a.held.is_narrowest) {
            check_narrow(&a);
            narrowest++;
        }
        gn_held_clear(&a.held);
    }
    printf("%lu of %lu are narrowest\n", narrowest, all);
    assert_true(narrowest > all / 4);
}

/* "all in A", and "all but n in A, those in B", are what frames.h answers; where readings are equal not
 * wider, for changes at which nothing changes are no part of a group here. */
static void forms_are_what_frames_say(void **state)
{
    static struct world w;
    static struct formula f;
    static struct asked a;
    (void)state;
    begin_with(4);
    for (int i = 0; i < CASES; i++) {
        struct making m = {1 + i % 5, 1 + i % 9, 60, i % 8, i % 4, 1 + i % 3 / 2, i % 3 * 20};
        const uint32_t others = (uint32_t)i % 4;
        struct gn_frames frames;
        struct gn_error err;
        make_world(&w, &m);
        for (size_t l = 0; l < w.count; l++) /* who is in both is in A */
            for (size_t k = 0; k < w.stages[l].count; k++)
                w.list[l][k].state &= w.list[l][k].state & GN_STATE_A ? GN_STATE_A : ~0ull;
        f.global = (struct gn_global){.nodes = f.nodes, .whos = f.whos, .locations = f.locations};
        for (size_t l = 0; l < w.count; l++) {
            begin_who(&f);
            add_location(&f, l);
        }
        f.nodes[f.global.node_count++] = (struct gn_global_node){.kind = GN_GLOBAL_COUNT,
                                                                 .child = GN_GLOBAL_NO_NODE,
                                                                 .next = GN_GLOBAL_NO_NODE,
                                                                 .who_count = (uint32_t)w.count,
                                                                 .in = {GN_STATE_A, 0},
                                                                 .counts_out = true,
                                                                 .least = others,
                                                                 .most = others,
                                                                 .rest = {GN_STATE_B, 0}};
        ask(&a, &f, &w);
        assert_int_equal(gn_frames_ask(&frames, w.stages, w.count, &(struct gn_question){others}, &err), 0);
        if (m.domains == 0 ? a.held.time.lo_ns != frames.all.lo_ns : a.held.time.lo_ns < frames.all.lo_ns)
            complain(&a, "certain", a.held.time.lo_ns, frames.all.lo_ns);
        if (m.domains == 0 ? a.held.time.hi_ns != frames.all.hi_ns : a.held.time.hi_ns > frames.all.hi_ns)
            complain(&a, "possible", a.held.time.hi_ns, frames.all.hi_ns);
        gn_frames_clear(&frames);
        gn_held_clear(&a.held);
    }
}

/* ---- one by one ---- */

#define STAGES(list, domain)                                                                                 \
    {                                                                                                        \
        list, sizeof(list) / sizeof *(list), domain                                                          \
    }

static struct gn_held held_by(struct gn_global_node *nodes, size_t count, const struct gn_stages *stages,
                              size_t locations)
{
    static uint32_t of[] = {0, 1};
    static struct gn_global_who whos[] = {{0, 1}, {1, 1}};
    const struct gn_global g = {nodes, whos, of, count, 2, 2};
    struct gn_held held;
    struct gn_error err;
    assert_int_equal(gn_global_ask(&held, &g, stages, locations, &err), 0);
    return held;
}

static void assert_held(struct gn_held held, double lo, double hi, uint64_t times_lo, uint64_t times_hi)
{
    assert_true(held.time.lo_ns == lo);
    assert_true(held.time.hi_ns == hi);
    assert_int_equal(held.times_lo, times_lo);
    assert_int_equal(held.times_hi, times_hi);
    gn_held_clear(&held);
}

enum { NO = (int)GN_GLOBAL_NO_NODE };

/* Of one location "in A or not in A" is certain, whatever the clock showed. */
static void one_lane_knows_all_of_itself(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, 0, 0}, {{10, 30}, 1, 10}, {{100, 100}, 0, 99}};
    const struct gn_stages stages[] = {STAGES(x, 0)};
    struct gn_global_node nodes[] = {
        {.kind = GN_GLOBAL_IN, .child = NO, .next = NO, .who_count = 1, .in = {1, 0}},
        {.kind = GN_GLOBAL_NOT, .child = 0, .next = NO},
        {.kind = GN_GLOBAL_IN, .child = NO, .next = 1, .who_count = 1, .in = {1, 0}},
        {.kind = GN_GLOBAL_OR, .child = 2, .next = NO},
    };
    (void)state;
    assert_held(held_by(nodes, 1, stages, 1), 70, 90, 1, 1);
    assert_held(held_by(nodes, 2, stages, 1), 10, 30, 1, 1);
    assert_held(held_by(nodes, 4, stages, 1), 100, 100, 1, 1);
    nodes[3].kind = GN_GLOBAL_AND;
    assert_held(held_by(nodes, 4, stages, 1), 0, 0, 0, 0);
}

/* Two that overlap within their bounds may be one time or two. */
static void times_are_counted(void **state)
{
    static const struct gn_stage x[] = {
        {{0, 0}, 1, 0}, {{10, 20}, 0, 10}, {{60, 60}, 1, 60}, {{70, 70}, 0, 99}};
    static const struct gn_stage y[] = {
        {{0, 0}, 0, 0}, {{15, 25}, 1, 15}, {{40, 40}, 0, 40}, {{70, 70}, 0, 99}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 1)};
    struct gn_global_node any[] = {{.kind = GN_GLOBAL_COUNT,
                                    .child = NO,
                                    .next = NO,
                                    .who_count = 2,
                                    .in = {1, 0},
                                    .least = 1,
                                    .most = UINT32_MAX}};
    (void)state;
    struct gn_held held = held_by(any, 1, stages, 2);
    assert_true(held.is_narrowest);
    assert_int_equal(held.period_count, 2);
    assert_int_equal(held.periods[0].from_ns, 0);
    assert_int_equal(held.periods[0].to_ns, 40);
    assert_int_equal(held.periods[0].certain_ns, 25);
    assert_int_equal(held.periods[1].from_ns, 60);
    assert_int_equal(held.periods[1].certain_ns, 10);
    assert_held(held, 35, 50, 2, 3);
}

static void nobody_is_never(void **state)
{
    struct gn_global_node nodes[] = {
        {.kind = GN_GLOBAL_IN, .child = NO, .next = NO, .who_count = 1, .in = {1, 0}}};
    const struct gn_stages none[] = {{NULL, 0, 0}, {NULL, 0, 1}};
    (void)state;
    assert_held(held_by(nodes, 1, none, 2), 0, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_clocks_give_points),
        cmocka_unit_test(contains_the_truth),
        cmocka_unit_test(bounds_hold_for_all_times),
        cmocka_unit_test(forms_are_what_frames_say),
        cmocka_unit_test(one_lane_knows_all_of_itself),
        cmocka_unit_test(times_are_counted),
        cmocka_unit_test(nobody_is_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

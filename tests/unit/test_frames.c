/*
 * frames: the sweep and the aggregated view against references that know nothing of sweeping
 * (frames_reference.h), and against the truth.
 */
#include "frames_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- comparing ---- */

static struct gn_frame_time time_of(const struct gn_frames *f, size_t l)
{
    return l ? f->location[l - 1] : f->all;
}

static void ask(struct gn_frames *frames, const struct world *w, uint32_t others)
{
    struct gn_error err;
    assert_int_equal(gn_frames_ask(frames, w->stages, w->count, &(struct gn_question){others}, &err), 0);
    assert_int_equal(frames->count, others == 1 ? w->count : 0);
}

static void ask_aggregated(struct gn_frames *frames, const struct world *w, uint32_t others, uint64_t *sizes)
{
    struct gn_error err;
    assert_int_equal(
        gn_frames_aggregated(frames, w->stages, w->count, &(struct gn_question){others}, sizes, SIZES, &err),
        0);
}

static void complain(const struct world *w, uint32_t others, size_t l, struct gn_frame_time is, double lo,
                     double hi)
{
    print_world(w);
    fail_msg("others %u, location %ld: [%g, %g], expected [%g, %g]", others, (long)l - 1, is.lo_ns, is.hi_ns,
             lo, hi);
}

static void same(const struct world *w, uint32_t others, const struct gn_frames *f,
                 const struct gn_frame_time *times)
{
    for (size_t l = 0; l <= f->count; l++) {
        struct gn_frame_time is = time_of(f, l);
        if (is.lo_ns != times[l].lo_ns || is.hi_ns != times[l].hi_ns)
            complain(w, others, l, is, times[l].lo_ns, times[l].hi_ns);
    }
}

static void is_what_the_definition_says(void **state)
{
    static struct world w;
    struct gn_frame_time times[MOST_LOCATIONS + 1];
    (void)state;
    begin_with(1);
    for (int i = 0; i < CASES; i++) {
        struct making m = {1 + i % 5, 1 + i % 9, 30, i % 4 == 0 ? 0 : 1 + i % 8, 0, 1, i % 3 * 20};
        struct gn_frames frames;
        make_world(&w, &m);
        for (uint32_t others = 0; others < 4; others++) {
            ask(&frames, &w, others);
            by_definition(&w, others, times);
            same(&w, others, &frames, times);
            gn_frames_clear(&frames);
        }
    }
}

static void aggregates_as_published(void **state)
{
    static struct world w;
    struct gn_frame_time times[MOST_LOCATIONS + 1];
    uint64_t sizes[SIZES], expected[SIZES];
    (void)state;
    begin_with(2);
    for (int i = 0; i < CASES; i++) {
        struct making m = {1 + i % 5, 1 + i % 9, 60, i % 4, i % 3, 1, i % 3 * 20};
        struct gn_frames frames;
        make_world(&w, &m);
        for (uint32_t others = 0; others < 4; others++) {
            ask_aggregated(&frames, &w, others, sizes);
            by_aggregation(&w, others, times, expected);
            same(&w, others, &frames, times);
            assert_memory_equal(sizes, expected, sizeof sizes);
            gn_frames_clear(&frames);
        }
    }
}

/* Equal readings of two locations: their order is unknown, and what lies between may be a little too wide. */
static bool has_equal_readings(const struct world *w)
{
    for (size_t a = 0; a < w->count; a++)
        for (size_t b = 0; b < a; b++)
            for (size_t i = 0; w->stages[a].domain == w->stages[b].domain && i < w->stages[a].count; i++)
                for (size_t k = 0; k < w->stages[b].count; k++)
                    if (w->list[a][i].ticks == w->list[b][k].ticks)
                        return true;
    return false;
}

static void nothing_narrower_follows(void **state)
{
    static struct world w;
    static struct exhaustion x;
    uint64_t exact = 0, wider = 0;
    (void)state;
    begin_with(3);
    for (int i = 0; i < CASES; i++) {
        struct making m = {1 + i % 3, 1 + i % 3, 8, i % 3, i % 4, 1 + i % 2, i % 3 * 20};
        make_world(&w, &m);
        uint32_t others = i % 5 ? 1 : (uint32_t)i % 3;
        struct gn_frames frames;
        x = (struct exhaustion){.w = &w, .others = others, .last = last_bound(&w)};
        x.count = list_events(&w, x.events);
        if (x.count > 6)
            continue;
        exhaust(&x, 0);
        assert_true(x.found > 0);
        ask(&frames, &w, others);
        bool is_loose = has_equal_readings(&w);
        for (size_t l = 0; l <= frames.count; l++) {
            struct gn_frame_time is = time_of(&frames, l);
            double least = (double)x.least[l], most = (double)x.most[l];
            /* whoever it is: possible at each instant, but perhaps not at all of them in one run */
            bool is_exact = is.lo_ns == least && is.hi_ns == most;
            if (is.lo_ns > least || is.hi_ns < most || (!is_exact && !is_loose && l > 0))
                complain(&w, others, l, is, least, most);
            exact += is_exact;
            wider += !is_exact;
        }
        gn_frames_clear(&frames);
    }
    printf("exhausted: %lu intervals exact, %lu wider (equal readings, or whoever it is)\n",
           (unsigned long)exact, (unsigned long)wider);
}

struct ratio {
    double ours, theirs;
};

/* Truth inside, and never looser than the aggregated view. */
static void compare(const struct world *w, uint32_t others, struct ratio *ratio)
{
    struct gn_frames frames, view;
    int64_t yes[MOST_LOCATIONS + 1];
    measure(w, w->truth, last_bound(w), others, yes);
    ask(&frames, w, others);
    ask_aggregated(&view, w, others, NULL);
    for (size_t l = 0; l <= frames.count; l++) {
        struct gn_frame_time is = time_of(&frames, l), loose = time_of(&view, l);
        if (is.lo_ns > (double)yes[l] || is.hi_ns < (double)yes[l] || is.lo_ns < 0)
            complain(w, others, l, is, (double)yes[l], (double)yes[l]);
        if (is.lo_ns < loose.lo_ns || is.hi_ns > loose.hi_ns)
            complain(w, others, l, is, loose.lo_ns, loose.hi_ns);
        ratio->ours += is.hi_ns - is.lo_ns;
        ratio->theirs += loose.hi_ns - loose.lo_ns;
    }
    gn_frames_clear(&frames);
    gn_frames_clear(&view);
}

static void contains_the_truth(void **state)
{
    static const char *const names[] = {"a clock each", "some clocks", "one clock", "one coarse clock"};
    static struct world w;
    (void)state;
    begin_with(4);
    for (uint32_t kind = 0; kind < 4; kind++) {
        struct ratio ratio = {0, 0};
        for (int i = 0; i < CASES; i++) {
            struct making m = {MOST_LOCATIONS, MOST_STAGES, 190, i % 12, 0, 1, i % 5 * 10};
            m.domains = kind == 0 ? 0 : kind == 1 ? 3 : 1;
            m.granularity = kind == 3 ? 1 + i % 6 : 1;
            m.stages = 1 + (uint32_t)i % MOST_STAGES;
            make_world(&w, &m);
            compare(&w, i % 4 ? 1 : (uint32_t)i / 4 % 5, &ratio);
        }
        printf("%s: intervals %.3f as wide as of the aggregated view\n", names[kind],
               ratio.ours / ratio.theirs);
        assert_true(ratio.ours < ratio.theirs);
    }
}

/* ---- edges ---- */

static struct gn_frames asked(const struct gn_stages *stages, size_t count, uint32_t others)
{
    struct gn_frames frames;
    struct gn_error err;
    assert_int_equal(gn_frames_ask(&frames, stages, count, &(struct gn_question){others}, &err), 0);
    return frames;
}

#define STAGES(list, domain)                                                                                 \
    {                                                                                                        \
        list, sizeof(list) / sizeof *(list), domain                                                          \
    }
#define assert_time(time, lo, hi)                                                                            \
    do {                                                                                                     \
        assert_true((time).lo_ns == (lo));                                                                   \
        assert_true((time).hi_ns == (hi));                                                                   \
    } while (0)

enum { A = GN_STATE_A, B = GN_STATE_B, END = GN_STATE_OTHER };

static void points_are_exact(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, B, 0}, {{10, 10}, A, 10}, {{100, 100}, END, 100}};
    static const struct gn_stage y[] = {{{5, 5}, A, 5}, {{60, 60}, B, 60}, {{70, 70}, END, 70}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 1)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 1);
    assert_time(f.location[0], 5, 5);
    assert_time(f.location[1], 10, 10);
    assert_time(f.all, 15, 15);
    assert_int_equal(f.frames, 5); /* 0 5 10 60 70 100 */
    gn_frames_clear(&f);
    f = asked(stages, 2, 0);
    assert_time(f.all, 50, 50);
    assert_int_equal(f.count, 0);
    gn_frames_clear(&f);
}

/* From a change's lower bound to its upper one both states are possible. */
static void bounds_are_possible_time(void **state)
{
    static const struct gn_stage x[] = {{{0, 2}, B, 0}, {{10, 14}, A, 10}, {{20, 20}, END, 20}};
    static const struct gn_stage y[] = {{{1, 4}, A, 1}, {{50, 50}, END, 50}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 1)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 1);
    assert_time(f.location[0], 6, 13); /* both run for sure from 4 on, at the earliest from 1 on */
    assert_time(f.location[1], 0, 0);
    gn_frames_clear(&f);
}

static void stages_may_be_empty(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, A, 0}, {{4, 4}, B, 4}, {{4, 4}, A, 4},
                                        {{6, 9}, B, 6}, {{6, 9}, A, 7}, {{20, 20}, END, 20}};
    static const struct gn_stage y[] = {{{0, 0}, A, 0}, {{20, 20}, END, 20}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 1)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 1);
    assert_time(f.location[0], 0, 3);
    gn_frames_clear(&f);
}

/* One hands over to the other within a microsecond of doubt: on one clock it is certain that one of them was
 * it. */
static void one_clock_tells_the_order(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, B, 0}, {{10, 1010}, A, 500}, {{5000, 5000}, END, 5000}};
    static const struct gn_stage y[] = {{{0, 0}, A, 0}, {{10, 1010}, B, 501}, {{5000, 5000}, END, 5000}};
    const struct gn_stages one[] = {STAGES(x, 7), STAGES(y, 7)}, two[] = {STAGES(x, 7), STAGES(y, 8)};
    (void)state;
    struct gn_frames f = asked(one, 2, 1);
    assert_time(f.location[0], 10, 1010);
    assert_time(f.location[1], 3990, 4990);
    gn_frames_clear(&f);
    f = asked(two, 2, 0); /* both in A meanwhile? */
    assert_time(f.all, 0, 1000);
    gn_frames_clear(&f);
    static const struct gn_stage later[] = {{{0, 0}, A, 0}, {{10, 1010}, B, 499}, {{5000, 5000}, END, 5000}};
    const struct gn_stages never[] = {STAGES(x, 7), STAGES(later, 7)};
    f = asked(never, 2, 0); /* x is in B until after the other is */
    assert_time(f.all, 0, 0);
    gn_frames_clear(&f);
}

/* What is known of one moment holds for those that the same clock read before or after it. */
static void one_clock_shares_what_is_known(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, B, 0}, {{10, 1010}, A, 500}, {{5000, 5000}, END, 5000}};
    static const struct gn_stage after[] = {{{0, 0}, A, 0}, {{20, 300}, A, 501}, {{5000, 5000}, END, 5000}};
    static const struct gn_stage before[] = {{{0, 0}, A, 0}, {{600, 700}, A, 499}, {{5000, 5000}, END, 5000}};
    const struct gn_stages first[] = {STAGES(x, 7), STAGES(after, 7)};
    const struct gn_stages second[] = {STAGES(x, 7), STAGES(before, 7)};
    (void)state;
    struct gn_frames f = asked(first, 2, 1);
    assert_time(f.location[0], 10, 300);
    gn_frames_clear(&f);
    f = asked(second, 2, 1);
    assert_time(f.location[0], 600, 1010);
    gn_frames_clear(&f);
}

static void equal_readings_of_one_are_in_order(void **state)
{
    static const struct gn_stage x[] = {
        {{0, 0}, A, 0}, {{10, 20}, A | B, 5}, {{12, 25}, A, 5}, {{90, 90}, END, 90}};
    static const struct gn_stage y[] = {{{0, 0}, A, 0}, {{90, 90}, END, 90}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 0)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 0);
    assert_time(f.all, 90, 90);
    gn_frames_clear(&f);
}

/* A granule may be long: the other one's change was long before, or just after. */
static void equal_readings_of_two_are_in_no_order(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, B, 0}, {{50, 60}, A, 5}, {{90, 90}, END, 90}};
    static const struct gn_stage y[] = {{{10, 60}, A, 5}, {{90, 90}, END, 90}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 0)}, turned[] = {STAGES(y, 0), STAGES(x, 0)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 1);
    assert_time(f.location[0], 0, 50);
    gn_frames_clear(&f);
    f = asked(turned, 2, 1);
    assert_time(f.location[1], 0, 50);
    gn_frames_clear(&f);
}

static void nothing_known_is_from_nothing_to_all(void **state)
{
    static const struct gn_stage x[] = {{{INT64_MIN, INT64_MAX}, B, 0}, {{INT64_MIN, INT64_MAX}, END, 1}};
    static const struct gn_stage y[] = {{{INT64_MIN, INT64_MIN}, A, 0}, {{INT64_MAX, INT64_MAX}, END, 1}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 1)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 1);
    assert_time(f.location[0], 0, 0x1p64); /* 2^64 - 1, rounded up */
    assert_time(f.location[1], 0, 0);
    assert_time(f.all, 0, 0x1p64);
    gn_frames_clear(&f);
    f = asked(stages, 2, 0);
    assert_time(f.all, 0, 0);
    gn_frames_clear(&f);
}

static void the_last_reading_of_all_is_one(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, A, 0}, {{10, 10}, END, 10}};
    static const struct gn_stage y[] = {
        {{0, 0}, A, 0}, {{20, 20}, A, 20}, {{INT64_MAX, INT64_MAX}, END, UINT64_MAX}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 0)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 0);
    assert_time(f.all, 10, 10);
    assert_int_equal(f.frames, 3);
    gn_frames_clear(&f);
}

static void whole_numbers_are_rounded_outward(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, A, 0}, {{(1ll << 53) + 1, (1ll << 53) + 1}, END, 1}};
    static const struct gn_stage y[] = {{{0, 0}, A, 0}, {{(1ll << 53) + 3, (1ll << 53) + 3}, END, 1}};
    const struct gn_stages down[] = {STAGES(x, 0)}, up[] = {STAGES(y, 0)};
    (void)state;
    struct gn_frames f = asked(down, 1, 0); /* the nearest double is less */
    assert_time(f.all, 0x1p53, 0x1p53 + 2);
    gn_frames_clear(&f);
    f = asked(up, 1, 0); /* is more */
    assert_time(f.all, 0x1p53 + 2, 0x1p53 + 4);
    gn_frames_clear(&f);
}

static void who_has_no_stages_is_nobody(void **state)
{
    static const struct gn_stage x[] = {{{3, 3}, B, 0}, {{9, 9}, END, 1}};
    const struct gn_stages stages[] = {{NULL, 0, 0}, STAGES(x, 0), {NULL, 0, 1}};
    (void)state;
    struct gn_frames f = asked(stages, 3, 1);
    assert_time(f.location[0], 0, 0);
    assert_time(f.location[1], 6, 6);
    gn_frames_clear(&f);
    f = asked(stages, 1, 1);
    assert_time(f.all, 0, 0);
    gn_frames_clear(&f);
    f = asked(NULL, 0, 0);
    assert_time(f.all, 0, 0);
    gn_frames_clear(&f);
}

static void nobody_is_asked_before_and_after(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, B, 0}, {{90, 90}, END, 90}};
    static const struct gn_stage y[] = {{{20, 30}, A, 20}, {{50, 60}, END, 50}};
    static const struct gn_stage open[] = {{{20, 30}, A, 20}}; /* not ended: until the last bound there is */
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 1)}, more[] = {STAGES(x, 0), STAGES(open, 1)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 1);
    assert_time(f.location[0], 20, 40);
    gn_frames_clear(&f);
    f = asked(more, 2, 1);
    assert_time(f.location[0], 60, 70);
    gn_frames_clear(&f);
    static const struct gn_stage last[] = {{{20, 30}, B, 20}};
    const struct gn_stages third[] = {STAGES(last, 0),
                                      {(const struct gn_stage[]){{{0, 0}, A, 0}, {{80, 80}, A, 0}}, 2, 1}};
    f = asked(third, 2, 1);
    assert_time(f.location[0], 50, 60);
    gn_frames_clear(&f);
}

/* Bounds against the clock's own order: each location for itself is all that can be believed. */
static void a_refuted_clock_keeps_its_locations_apart(void **state)
{
    static const struct gn_stage x[] = {{{0, 0}, B, 0}, {{100, 110}, A, 10}, {{200, 200}, END, 99}};
    static const struct gn_stage y[] = {{{0, 0}, A, 0}, {{40, 50}, B, 20}, {{200, 200}, END, 99}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 0)};
    (void)state;
    struct gn_frames f = asked(stages, 2, 1);
    assert_time(f.location[0], 40, 50);
    assert_time(f.location[1], 90, 100);
    gn_frames_clear(&f);
}

/* ---- many locations ---- */

enum { MANY = 200, SPAN = 1000 };

static void many_locations_are_counted(void **state)
{
    static const uint32_t others[] = {0, 1, 2, 63, 64, 65, 100, 127, 128, 200, 201, UINT32_MAX};
    static struct gn_stage list[MANY][4];
    struct gn_stages stages[MANY];
    uint32_t in_b[SPAN] = {0};
    (void)state;
    begin_with(5);
    for (uint32_t l = 0; l < MANY; l++) {
        int64_t from = (int64_t)below(SPAN), to = (int64_t)below(SPAN);
        if (from > to) {
            int64_t other = from;
            from = to;
            to = other;
        }
        int64_t at[] = {0, from, to, SPAN};
        static const uint8_t states[] = {A, B, A, END};
        for (int i = 0; i < 4; i++)
            list[l][i] = (struct gn_stage){{at[i], at[i]}, states[i], (uint64_t)at[i]};
        for (int64_t t = from; t < to; t++)
            in_b[t]++;
    }
    for (uint32_t domains = 1; domains <= MANY; domains = domains * 5 + 2)
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            double expected = 0;
            for (uint32_t l = 0; l < MANY; l++)
                stages[l] = (struct gn_stages){list[l], 4, l % domains};
            for (int t = 0; t < SPAN; t++)
                expected += in_b[t] == others[i];
            struct gn_frames f = asked(stages, MANY, others[i]);
            assert_time(f.all, expected, expected);
            gn_frames_clear(&f);
        }
}

/* Figure 9: B, C and D overlap, and become one event from 7 to 20. */
static void overlapping_events_are_one(void **state)
{
    static const struct gn_stage x[] = {{{1, 3}, A, 1}, {{7, 12}, B, 7}, {{15, 20}, A, 15}};
    static const struct gn_stage y[] = {{{4, 5}, A, 4}, {{11, 16}, A, 11}, {{25, 30}, END, 25}};
    const struct gn_stages stages[] = {STAGES(x, 0), STAGES(y, 0)};
    uint64_t sizes[2];
    struct gn_frames f;
    struct gn_error err;
    (void)state;
    assert_int_equal(gn_frames_aggregated(&f, stages, 2, &(struct gn_question){1}, sizes, 2, &err), 0);
    assert_int_equal(sizes[0], 3);
    assert_int_equal(sizes[1], 1);
    assert_time(f.location[0], 0, 13); /* not between 12 and 15 either */
    gn_frames_clear(&f);
    assert_int_equal(gn_frames_aggregated(&f, stages, 2, &(struct gn_question){0}, sizes, 1, &err), 0);
    assert_int_equal(sizes[0], 4); /* the last one: all that are larger */
    assert_time(f.all, 2 + 5, 1 + 2 + 13 + 5 + 5);
    gn_frames_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_what_the_definition_says),
        cmocka_unit_test(aggregates_as_published),
        cmocka_unit_test(nothing_narrower_follows),
        cmocka_unit_test(contains_the_truth),
        cmocka_unit_test(points_are_exact),
        cmocka_unit_test(bounds_are_possible_time),
        cmocka_unit_test(stages_may_be_empty),
        cmocka_unit_test(one_clock_tells_the_order),
        cmocka_unit_test(one_clock_shares_what_is_known),
        cmocka_unit_test(equal_readings_of_one_are_in_order),
        cmocka_unit_test(equal_readings_of_two_are_in_no_order),
        cmocka_unit_test(nothing_known_is_from_nothing_to_all),
        cmocka_unit_test(the_last_reading_of_all_is_one),
        cmocka_unit_test(whole_numbers_are_rounded_outward),
        cmocka_unit_test(who_has_no_stages_is_nobody),
        cmocka_unit_test(nobody_is_asked_before_and_after),
        cmocka_unit_test(a_refuted_clock_keeps_its_locations_apart),
        cmocka_unit_test(many_locations_are_counted),
        cmocka_unit_test(overlapping_events_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

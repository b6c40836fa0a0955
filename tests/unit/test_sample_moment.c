/* sample_moment: what a thread was doing at any moment, against what it really did, as long as the ring knows
 * it; and never anything else. */
#include "agent/rings.h"
#include "agent/sample_counts.h"
#include "agent/sample_moment.h"
#include "capture/tracer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RECORDS = GN_RING_MIN_RECORDS, NODES = 6, PASSED = 4000 };

static struct gn_rings rings;
static struct gn_tag *tag;
static struct gn_tracer tracer;
static struct gn_recorded recorded;
static uint64_t now; /* ticks */

/* What was passed, in order. A row of calls that found nothing is one. */
static struct {
    uint64_t enter, leave;
    uint32_t node;
    bool row;
} passed[PASSED];
static size_t count;

static uint64_t chance;

static uint64_t random_below(uint64_t below)
{
    chance = chance * 6364136223846793005ull + 1442695040888963407ull;
    return (chance >> 33) % below;
}

static void show(uint32_t node, uint32_t inside, uint64_t ticks)
{
    struct gn_location *l = &tag->locations[0];
    gn_seq_begin(&l->seq);
    GN_SET(l->now_node, node);
    GN_SET(l->now_inside, inside);
    GN_SET(l->now_ticks, ticks);
    gn_seq_end(&l->seq);
}

static int begin(void **state)
{
    int file;
    (void)state;
    tag = calloc(1, gn_tag_bytes(1));
    if (!tag || gn_rings_make(&rings, 1, RECORDS, false, &file) != 0)
        return -1;
    close(file);
    gn_ring_memory = rings.segment;
    tracer = (struct gn_tracer){0};
    gn_tracer_attach(&tracer, 0);
    recorded = (struct gn_recorded){tag, rings.segment, 1, RECORDS};
    count = 0;
    now = 1000;
    show(0, 0, now);
    gn_tracer_control(&tracer, GN_EVENT_PROGRAM_BEGIN, now, 0, 0, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    gn_rings_close(&rings);
    free(tag);
    return 0;
}

static void pass(uint64_t enter, uint64_t leave, uint32_t node, bool row)
{
    passed[count].enter = enter;
    passed[count].leave = leave;
    passed[count].node = node;
    passed[count++].row = row;
}

/* Plain ones, long ones, and such that complete requests and take several records. */
static void call(void)
{
    const uint64_t length = random_below(8) ? random_below(50) : 5000000000ull;
    const struct gn_call_span span = {now, now + length, 2 + (uint32_t)random_below(NODES)};
    struct gn_event done = gn_event_bare(GN_EVENT_MPI_ISEND_COMPLETE, 0, span.exit_ticks);
    done.request = 77;
    show(span.node, 1, span.enter_ticks);
    for (uint64_t completed = random_below(4) ? 0 : random_below(9); completed > 0; completed--)
        gn_tracer_put(&tracer, &span, &done);
    gn_tracer_call(&tracer, &span);
    now = span.exit_ticks;
    show(span.node, 0, now);
    pass(span.enter_ticks, now, span.node, false);
}

/* Two at least: a single one is a call like any other. */
static void row(void)
{
    const uint32_t node = 2 + (uint32_t)random_below(NODES);
    const uint64_t enter = now;
    for (uint64_t calls = 2 + random_below(5); calls > 0; calls--) {
        const struct gn_call_span span = {now, now + 3, node};
        show(node, 1, now);
        gn_tracer_poll(&tracer, &span);
        now += 3;
        show(node, 0, now);
        pass(enter, now, node, true);
        count -= calls > 1;
        now += calls > 1 ? 5 : 0;
    }
}

static void region(void)
{
    const uint32_t node = 2 + (uint32_t)random_below(NODES);
    gn_tracer_control(&tracer, random_below(2) ? GN_EVENT_REGION_BEGIN : GN_EVENT_REGION_END, now, node, 3,
                      1);
    show(node, 0, now);
    pass(now, now, node, false);
    gn_tracer_control(&tracer, GN_EVENT_REGION_END, now, 0, 3, 1); /* one that is passed unrecorded */
}

static void do_something(void)
{
    now += 1 + random_below(40);
    const uint64_t what = random_below(10);
    if (what == 0 && count > 0 && !passed[count - 1].row) /* else it would be the same row */
        row();
    else if (what == 1)
        region();
    else
        call();
}

/* The truth at a moment: which was entered last; -1: none. */
static long last_entered(uint64_t ticks)
{
    long found = -1;
    for (size_t i = 0; i < count && passed[i].enter <= ticks; i++)
        found = (long)i;
    return found;
}

static void check(uint64_t ticks, const struct gn_sample_moment *m)
{
    const long last = last_entered(ticks);
    const uint32_t from = last < 0 ? 0 : passed[last].node;
    const bool inside = last >= 0 && ticks < passed[last].leave, now_known = (size_t)(last + 1) < count;
    assert_int_equal(m->from, from);
    if (inside)
        assert_int_equal(m->kind, passed[last].row ? GN_MOMENT_ROW : GN_MOMENT_INSIDE);
    else if (now_known)
        assert_true(m->kind == GN_MOMENT_BETWEEN && m->to == passed[last + 1].node);
    else
        assert_int_equal(m->kind, GN_MOMENT_SINCE);
}

static void each_moment_is_what_it_was(void **state)
{
    size_t known = 0, asked = 0;
    (void)state;
    for (int step = 0; step < 3000; step++) {
        do_something();
        for (int i = 0; i < 20; i++) {
            const uint64_t most = now - 1000, near = most < 100 ? most : 100;
            const uint64_t ago = random_below(random_below(2) ? near : most);
            const struct gn_sample_moment m = gn_sample_moment_at(&recorded, 0, now - ago);
            const long last = last_entered(now - ago);
            asked++;
            if (m.kind != GN_MOMENT_UNKNOWN) {
                check(now - ago, &m);
                known++;
            } else { /* nothing that is still in the ring */
                assert_true(tracer.head > RECORDS && last >= 0 ? (size_t)last + RECORDS / 12 < count : false);
            }
        }
    }
    assert_true(known > asked / 3);
}

/* What is computed since a call belongs to the edge that it turns out to be on. */
static void a_computation_is_told_where_it_led(void **state)
{
    (void)state;
    for (int step = 0; step < 2000; step++) {
        do_something();
        const uint32_t from = passed[count - 1].node;
        now += 20;
        struct gn_sample_moment m = gn_sample_moment_at(&recorded, 0, now);
        if (m.kind != GN_MOMENT_SINCE)
            continue;
        assert_false(gn_sample_moment_goes_on(&recorded, 0, &m));
        if (step % 3 == 0) { /* inside of the next call already */
            show(5, 1, now);
            struct gn_sample_moment entered = m;
            assert_true(gn_sample_moment_goes_on(&recorded, 0, &entered));
            assert_true(entered.kind == GN_MOMENT_BETWEEN && entered.from == from && entered.to == 5);
            show(from, 0, m.ticks);
        }
        const size_t before = count;
        do_something();
        assert_true(gn_sample_moment_goes_on(&recorded, 0, &m));
        assert_true(m.kind == GN_MOMENT_BETWEEN && m.from == from && m.to == passed[before].node);
    }
}

/* Behind the last of a row so far: to another one of it, or to whatever else comes. */
static void behind_a_row_it_may_go_on(void **state)
{
    (void)state;
    for (int step = 0; step < 300; step++) {
        call();
        row();
        const uint32_t node = passed[count - 1].node;
        now += 20;
        struct gn_sample_moment m = gn_sample_moment_at(&recorded, 0, now), other = m;
        assert_true(m.kind == GN_MOMENT_SINCE && m.in_row && m.from == node);
        assert_false(gn_sample_moment_goes_on(&recorded, 0, &m));
        now += 20;
        const struct gn_call_span span = {now, now + 3, node};
        gn_tracer_poll(&tracer, &span);
        passed[count - 1].leave = now += 3;
        show(node, 0, now);
        assert_true(gn_sample_moment_goes_on(&recorded, 0, &m));
        assert_true(m.kind == GN_MOMENT_BETWEEN && m.from == node && m.to == node);
        now += 20;
        m = gn_sample_moment_at(&recorded, 0, now);
        call(); /* then the row is written: it says itself that it had gone on */
        assert_true(gn_sample_moment_goes_on(&recorded, 0, &other));
        assert_true(other.kind == GN_MOMENT_BETWEEN && other.to == node);
        assert_true(gn_sample_moment_goes_on(&recorded, 0, &m));
        assert_true(m.kind == GN_MOMENT_BETWEEN && m.from == node && m.to == passed[count - 1].node);
        now += 20;
    }
}

/* The ring was overwritten meanwhile. */
static void what_nobody_knows_any_more_is_unknown(void **state)
{
    (void)state;
    now += 10;
    struct gn_sample_moment m = gn_sample_moment_at(&recorded, 0, now);
    assert_true(m.kind == GN_MOMENT_SINCE && m.from == 0);
    for (int i = 0; i < 3 * RECORDS; i++) {
        now += 5;
        call();
    }
    assert_true(gn_sample_moment_goes_on(&recorded, 0, &m));
    assert_int_equal(m.kind, GN_MOMENT_UNKNOWN);
    assert_int_equal(gn_sample_moment_at(&recorded, 0, 1005).kind, GN_MOMENT_UNKNOWN);
}

/* A program may write anything there. */
static void nonsense_names_no_node_that_cannot_be(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++)
        do_something();
    struct gn_ring *ring = gn_ring_of(rings.segment, 0, RECORDS);
    for (int i = 0; i < 20000; i++) {
        uint64_t *words = (uint64_t *)ring;
        words[random_below(gn_ring_bytes(RECORDS) / 8)] =
            random_below(3) ? random_below(1u << 30) : UINT64_MAX;
        GN_SET(tag->locations[0].now_node, (uint32_t)random_below(1u << 30));
        GN_SET(tag->locations[0].now_inside, (uint32_t)random_below(4));
        struct gn_sample_moment m = gn_sample_moment_at(&recorded, 0, random_below(now));
        assert_true(m.from < GN_MAX_NODES && m.to < GN_MAX_NODES);
        if (m.kind == GN_MOMENT_SINCE)
            gn_sample_moment_goes_on(&recorded, 0, &m);
        assert_true(m.from < GN_MAX_NODES && m.to < GN_MAX_NODES);
    }
}

static struct gn_sample_list listed(const struct gn_sample_counts *c)
{
    static struct gn_sample_list list;
    static struct gn_sample_places *none;
    none = none ? none : gn_sample_places_new();
    free(list.rows);
    assert_true(gn_sample_counts_list(c, none, &list));
    return list;
}

static uint64_t counted(const struct gn_sample_counts *c, uint32_t from, uint32_t to, uint32_t site)
{
    const struct gn_sample_list list = listed(c);
    uint64_t sum = 0;
    for (size_t i = 0; i < list.count; i++)
        if (list.rows[i].from == from && list.rows[i].to == to && list.rows[i].site == site)
            sum += list.rows[i].count;
    return sum;
}

static void samples_are_counted_in_bounded_memory(void **state)
{
    (void)state;
    enum { SAMPLES = 30000 };
    struct gn_sample_counts *c = gn_sample_counts_new(1);
    const struct gn_sample_moment between = {.kind = GN_MOMENT_BETWEEN, .from = 3, .to = 4};
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const struct gn_sample_counted s = {.site = i, .called = GN_SAMPLED_NONE, .time_ns = 10};
        gn_sample_counts_add(c, &recorded, 0, &between, &s);
    }
    assert_int_equal(listed(c).count, GN_SAMPLE_MOST + 1);
    assert_int_equal(counted(c, 3, 4, GN_SAMPLED_NONE), SAMPLES - GN_SAMPLE_MOST);
    gn_sample_counts_free(c);
}

/* A place in the same function tells where a sample belongs of which the moment is not known. */
static void what_is_unknown_goes_by_its_function(void **state)
{
    (void)state;
    struct gn_sample_code *code = gn_sample_code_new();
    struct gn_sample_places *places = gn_sample_places_new();
    struct gn_sample_counts *c = gn_sample_counts_new(1);
    struct gn_sample_list list;
    const struct gn_sample_moment edges[] = {{.kind = GN_MOMENT_BETWEEN, .from = 3, .to = 4},
                                             {.kind = GN_MOMENT_BETWEEN, .from = 4, .to = 3},
                                             {.kind = GN_MOMENT_INSIDE, .from = 4, .to = 4},
                                             {.kind = GN_MOMENT_UNKNOWN}};
    /* without a file: a function of its own at each offset */
    const uint32_t one = gn_sample_places_number(places, code, (struct gn_sampled_place){.offset = 0x10});
    const uint32_t two = gn_sample_places_number(places, code, (struct gn_sampled_place){.offset = 0x20});
    struct gn_sample_counted s = {.site = one, .called = GN_SAMPLED_NONE, .time_ns = 10};
    for (int i = 0; i < 40; i++) /* 30 to 10 */
        gn_sample_counts_add(c, &recorded, 0, &edges[i % 4 == 0], &s);
    for (int i = 0; i < 1000; i++)
        gn_sample_counts_add(c, &recorded, 0, &edges[3], &s);
    s.in_call = true;
    gn_sample_counts_add(c, &recorded, 0, &edges[2], &s);
    gn_sample_counts_add(c, &recorded, 0, &edges[3], &s); /* inside of the same call */
    s.site = two;
    gn_sample_counts_add(c, &recorded, 0, &edges[3], &s); /* inside of another */
    assert_true(gn_sample_counts_list(c, places, &list));
    assert_int_equal(list.count, 3);
    for (size_t i = 0; i < list.count; i++) {
        const struct gn_sampled_count *row = &list.rows[i];
        const uint64_t expected = row->to == GN_SAMPLED_NONE ? 2 : row->from == 3 ? 30 + 750 : 10 + 250;
        assert_int_equal(row->count, expected);
        assert_int_equal(row->time_ns, 10 * expected);
    }
    assert_int_equal(list.by_place, 1001);
    assert_int_equal(list.unattributed, 1);
    free(list.rows);
    gn_sample_counts_free(c);
    gn_sample_places_free(places);
    gn_sample_code_free(code);
}

static void what_is_open_is_counted_when_it_has_led_on(void **state)
{
    (void)state;
    struct gn_sample_counts *c = gn_sample_counts_new(1);
    const struct gn_sample_counted s = {.site = 7, .called = GN_SAMPLED_NONE, .time_ns = 10};
    call();
    const uint32_t from = passed[count - 1].node;
    for (int i = 0; i < 5; i++) {
        now += 10;
        const struct gn_sample_moment m = gn_sample_moment_at(&recorded, 0, now);
        gn_sample_counts_add(c, &recorded, 0, &m, &s);
        gn_sample_counts_go_on(c, &recorded, false);
    }
    assert_int_equal(listed(c).count, 0);
    now += 10;
    call();
    const uint32_t to = passed[count - 1].node;
    gn_sample_counts_go_on(c, &recorded, false);
    assert_int_equal(counted(c, from, to, 7), 5);
    now += 10;
    const struct gn_sample_moment m = gn_sample_moment_at(&recorded, 0, now);
    gn_sample_counts_add(c, &recorded, 0, &m, &s);
    gn_sample_counts_go_on(c, &recorded, true); /* its process ended */
    assert_int_equal(counted(c, to, 1, 7), 1);
    gn_sample_counts_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_moment_is_what_it_was, begin, end),
        cmocka_unit_test_setup_teardown(a_computation_is_told_where_it_led, begin, end),
        cmocka_unit_test_setup_teardown(behind_a_row_it_may_go_on, begin, end),
        cmocka_unit_test_setup_teardown(what_nobody_knows_any_more_is_unknown, begin, end),
        cmocka_unit_test_setup_teardown(nonsense_names_no_node_that_cannot_be, begin, end),
        cmocka_unit_test_setup_teardown(samples_are_counted_in_bounded_memory, begin, end),
        cmocka_unit_test_setup_teardown(what_is_unknown_goes_by_its_function, begin, end),
        cmocka_unit_test_setup_teardown(what_is_open_is_counted_when_it_has_led_on, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* capture/recorder: what one thread records is exact. */
#include "capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#define NOIPA static __attribute__((noipa))
#define KEEP __asm__ volatile("" ::: "memory")

typedef unsigned __int128 wide;

static struct gn_tag_node *node_at(uint32_t index)
{
    return &test_location()->nodes[index];
}

/* One call site, whoever asks. */
NOIPA uint32_t call_of(uint32_t activity, uint64_t ticks)
{
    uint32_t node = test_call(activity, ticks);
    KEEP;
    return node;
}

static void statistics_are_exact(void **state)
{
    (void)state;
    static const uint64_t durations[] = {7, 0, 1, 1ull << 40, 12345678901ull, 3, 3, 0xffffffffull};
    enum { COUNT = sizeof durations / sizeof durations[0] };
    wide squares = 0;
    uint64_t total = 0, histogram[GN_BUCKETS] = {0};
    uint32_t node = 0;
    volatile int count = COUNT;
#pragma GCC unroll 1
    for (int i = 0; i < count; i++) {
        node = call_of(1, durations[i]);
        total += durations[i];
        squares += (wide)durations[i] * durations[i];
        histogram[gn_bucket(durations[i])]++;
    }
    const struct gn_stats *s = &node_at(node)->time;
    assert_int_equal(GN_GET(s->count), COUNT);
    assert_int_equal(GN_GET(s->total_ticks), total);
    assert_int_equal(GN_GET(s->min_ticks), 0);
    assert_int_equal(GN_GET(s->max_ticks), 1ull << 40);
    assert_int_equal(GN_GET(s->squares_low), (uint64_t)squares);
    assert_int_equal(GN_GET(s->squares_high), (uint64_t)(squares >> 64));
    for (int i = 0; i < GN_BUCKETS; i++)
        assert_int_equal(GN_GET(node_at(node)->time_log2[i]), histogram[i]);
}

static void sizes_and_peers_are_exact(void **state)
{
    (void)state;
    uint32_t node = 0;
    volatile uint32_t count = 10;
#pragma GCC unroll 1
    for (uint32_t i = 0; i < count; i++)
        node = test_send(2, 1, i % 2 ? 7 : GN_PEER_OUTSIDE, 100 * i);
    assert_int_equal(GN_GET(node_at(node)->messages), 10);
    assert_int_equal(GN_GET(node_at(node)->bytes), 4500);
    uint64_t to_seven = 0, outside = 0, messages = 0;
    for (uint32_t i = 0; i < GN_GET(test_location()->peer_count); i++) {
        struct gn_tag_peer *p = &test_location()->peers[i];
        if (GN_GET(p->node) != node)
            continue;
        messages += GN_GET(p->sent_messages);
        *(GN_GET(p->peer) == 7 ? &to_seven : &outside) += GN_GET(p->sent_bytes);
    }
    assert_int_equal(messages, 10);
    assert_int_equal(to_seven, 2500);
    assert_int_equal(outside, 2000);
}

NOIPA uint32_t failing_call(int result)
{
    struct gn_capture_call call = {.binding = 0};
    if (!gn_enter(&call, 3, __builtin_return_address(0), __builtin_frame_address(0)))
        return UINT32_MAX;
    call.exit_ticks = call.enter_ticks + 1;
    gn_leave(&call, result);
    return call.node;
}

static void errors_are_counted(void **state)
{
    (void)state;
    uint32_t node = 0;
    volatile int count = 5;
#pragma GCC unroll 1
    for (int i = 0; i < count; i++)
        node = failing_call(i % 2);
    assert_int_equal(GN_GET(node_at(node)->errors), 2);
    assert_int_equal(GN_GET(node_at(node)->time.count), 5);
}

static void cost_is_sampled(void **state)
{
    (void)state;
    struct gn_location *l = test_location();
    while (GN_GET(l->events) < 100) /* the first ones are all sampled */
        call_of(1, 1);
    uint64_t before = GN_GET(l->sampled_events);
#pragma GCC unroll 1
    for (int i = 0; i < 64 * 1000; i++)
        call_of(1, 1);
    uint64_t sampled = GN_GET(l->sampled_events) - before;
    assert_in_range(sampled, 500, 1001); /* less what the scheduler disturbed */
    assert_true(GN_GET(l->sampled_ticks) > 0);
    assert_true(GN_GET(l->exact_events) > 0 && GN_GET(l->exact_ticks) > 0);
}

/* ---- calls within calls, calls that are left ---- */

static void call_inside(void *node)
{
    *(uint32_t *)node = call_of(5, 1);
}

static void nested_call_is_not_recorded(void **state)
{
    (void)state;
    uint32_t inner = 0;
    uint64_t events = GN_GET(test_location()->events);
    assert_int_not_equal(test_call_around(4, call_inside, &inner), UINT32_MAX);
    assert_int_equal(inner, UINT32_MAX);
    assert_int_equal(GN_GET(test_location()->events), events + 1);
}

static ucontext_t back, coroutine;
static uint32_t inner_on_coroutine;

static void on_coroutine(void)
{
    call_inside(&inner_on_coroutine);
}

static void switch_stacks(void *unused)
{
    static char stack[65536];
    (void)unused;
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = sizeof stack;
    coroutine.uc_link = &back;
    makecontext(&coroutine, on_coroutine, 0);
    swapcontext(&back, &coroutine);
}

/* From there the outer call cannot be seen; but it is under way. */
static void nested_call_on_another_stack_is_not_recorded(void **state)
{
    (void)state;
    uint64_t events = GN_GET(test_location()->events), lost = GN_GET(test_location()->lost_calls);
    for (int i = 0; i < 3; i++) {
        inner_on_coroutine = 0;
        assert_int_not_equal(test_call_around(5, switch_stacks, NULL), UINT32_MAX);
        assert_int_equal(inner_on_coroutine, UINT32_MAX);
    }
    assert_int_equal(GN_GET(test_location()->events), events + 3);
    assert_int_equal(GN_GET(test_location()->lost_calls), lost);
}

static jmp_buf error_handler;

static void leave_by_longjmp(void *unused)
{
    (void)unused;
    longjmp(error_handler, 1);
}

static void recording_goes_on_after_longjmp(void **state)
{
    (void)state;
    if (setjmp(error_handler) == 0)
        test_call_around(6, leave_by_longjmp, NULL);
    assert_int_not_equal(test_call(7, 1), UINT32_MAX);
    assert_int_not_equal(test_call(7, 1), UINT32_MAX);
}

NOIPA uint32_t call_from_deep(int depth)
{
    char room[256];
    __asm__ volatile("" ::"r"(room) : "memory");
    uint32_t node = depth > 0 ? call_from_deep(depth - 1) : test_call(8, 1);
    KEEP;
    return node;
}

/* The next call may well be made from further in than the one that was left. */
static void recording_goes_on_deeper_after_longjmp(void **state)
{
    (void)state;
    if (setjmp(error_handler) == 0)
        test_call_around(6, leave_by_longjmp, NULL);
    uint32_t node = UINT32_MAX;
    for (int i = 0; i < 10 && node == UINT32_MAX; i++)
        node = call_from_deep(5);
    test_call(7, 1); /* makes good for the tests that follow */
    assert_int_not_equal(node, UINT32_MAX);
}

/* ---- regions, switching off ---- */

static uint64_t region_count(const char *name, uint64_t *total_ticks)
{
    uint64_t count = 0;
    for (uint32_t i = 3; i < GN_GET(test_location()->node_count); i++)
        if (GN_GET(node_at(i)->activity) == GN_ACTIVITY_REGION_END &&
            strcmp(gn_segment->names[GN_GET(node_at(i)->name)], name) == 0) {
            count += GN_GET(node_at(i)->time.count);
            *total_ticks += GN_GET(node_at(i)->time.total_ticks);
        }
    return count;
}

static void regions_nest(void **state)
{
    (void)state;
    uint64_t outer = 0, inner = 0;
    for (int i = 0; i < 3; i++) {
        test_region("outer", true);
        for (int j = 0; j < 2; j++) {
            test_region("inner", true);
            call_of(1, 1);
            test_region("inner", false);
        }
        test_region("outer", false);
    }
    assert_int_equal(region_count("outer", &outer), 3);
    assert_int_equal(region_count("inner", &inner), 6);
    assert_true(outer >= inner && inner > 0);
}

__attribute__((noinline)) static void begin_here(const char *name)
{
    test_region(name, true);
    __asm__ volatile("");
}

/* Its begin is at a new place, which takes longer to walk: that is not the cost of the call that comes next.
 */
static void a_region_is_not_our_own_work(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) /* those that are timed in full anyway */
        call_of(1, 1);
    const uint64_t before = GN_GET(test_location()->exact_ticks), begin = gn_ticks();
    begin_here("long");
    usleep(30000);
    test_region("long", false);
    call_of(2, 1);
    const uint64_t all = gn_ticks() - begin, ours = GN_GET(test_location()->exact_ticks) - before;
    assert_true(ours < all / 2);
}

static void end_without_begin_is_ignored(void **state)
{
    (void)state;
    uint64_t unused = 0;
    test_region("never begun", false);
    assert_int_equal(region_count("never begun", &unused), 0);
}

/* Regions nested deeper than there is room have no time of their own; those around and after them are not
 * disturbed. */
static void deep_regions_do_not_disturb_others(void **state)
{
    (void)state;
    uint64_t unused = 0;
    enum { DEEP = GN_MAX_REGION_DEPTH + 10 };
#pragma GCC unroll 1
    for (int i = 0; i < DEEP; i++)
        test_region("deep", true);
#pragma GCC unroll 1
    for (int i = 0; i < DEEP; i++)
        test_region("deep", false);
    assert_int_equal(region_count("deep", &unused), GN_MAX_REGION_DEPTH);
    test_region("after", true);
    test_region("after", false);
    assert_int_equal(region_count("after", &unused), 1);
}

static void names_are_cut_not_overrun(void **state)
{
    (void)state;
    char name[200];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    uint32_t names = GN_GET(gn_segment->name_count);
    for (int i = 0; i < 3; i++) {
        test_region(name, true);
        test_region(name, false);
    }
    assert_int_equal(GN_GET(gn_segment->name_count), names + 1);
    assert_int_equal(strlen(gn_segment->names[names]), GN_NAME_BYTES - 1);
}

/* Each of many names is itself, whenever it comes; those for which there is no room are one. Behind the
 * others that need names. */
static void many_names_are_told_apart(void **state)
{
    enum { NAMES = GN_MAX_NAMES + 100 };
    (void)state;
    uint64_t unused, further = region_count("(further regions)", &unused);
    const uint32_t first = GN_GET(gn_segment->name_count);
    char name[GN_NAME_BYTES];
    for (int again = 0; again < 3; again++)
        for (int i = 0; i < NAMES; i++) {
            snprintf(name, sizeof name, "block %d", i);
            test_region(name, true);
            test_region(name, false);
        }
    assert_int_equal(GN_GET(gn_segment->name_count), GN_MAX_NAMES);
    for (uint32_t i = first; i < GN_MAX_NAMES; i++) {
        snprintf(name, sizeof name, "block %u", i - first);
        assert_string_equal(gn_segment->names[i], name);
        assert_int_equal(region_count(name, &unused), 3);
    }
    assert_int_equal(region_count("(further regions)", &unused) - further,
                     3 * (NAMES - (GN_MAX_NAMES - first)));
}

static void switched_off_records_nothing(void **state)
{
    (void)state;
    uint64_t events = GN_GET(test_location()->events);
    test_switch(false);
    test_switch(false);
    assert_int_equal(call_of(1, 1), UINT32_MAX);
    test_region("off", true);
    test_switch(true);
    test_switch(true);
    assert_int_equal(GN_GET(test_location()->events), events);
    assert_int_not_equal(call_of(1, 1), UINT32_MAX);
    uint64_t off = 0;
    for (uint32_t i = 3; i < GN_GET(test_location()->node_count); i++)
        if (GN_GET(node_at(i)->activity) == GN_ACTIVITY_OFF)
            off += GN_GET(node_at(i)->time.count);
    assert_int_equal(off, 1);
}

static void where_it_is_can_be_seen(void **state)
{
    (void)state;
    uint32_t node = call_of(1, 1);
    assert_int_equal(GN_GET(test_location()->now_node), node);
    assert_int_equal(GN_GET(test_location()->now_inside), 0);
}

static void look(void *inside)
{
    *(uint32_t *)inside = GN_GET(test_location()->now_inside);
}

static void being_inside_can_be_seen(void **state)
{
    (void)state;
    uint32_t inside = 0;
    test_call_around(1, look, &inside);
    assert_int_equal(inside, 1);
}

/* Last: closes the recorder. */
static void nothing_after_the_end(void **state)
{
    (void)state;
    gn_record_end(gn_ticks());
    assert_int_equal(GN_GET(test_location()->now_inside), 2);
    gn_recorder_close();
    assert_int_equal(call_of(1, 1), UINT32_MAX);
}

static void nothing_before_the_beginning(void **state)
{
    (void)state;
    assert_int_equal(call_of(1, 1), UINT32_MAX);
    test_region("early", true);
    test_switch(false);
    gn_record_end(gn_ticks());
    struct gn_tag *segment = test_segment(2);
    assert_non_null(segment);
    assert_int_equal(gn_recorder_open(segment, gn_ticks()), 0);
    assert_int_equal(GN_GET(test_location()->node_count), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_before_the_beginning),
        cmocka_unit_test(statistics_are_exact),
        cmocka_unit_test(sizes_and_peers_are_exact),
        cmocka_unit_test(errors_are_counted),
        cmocka_unit_test(cost_is_sampled),
        cmocka_unit_test(nested_call_is_not_recorded),
        cmocka_unit_test(nested_call_on_another_stack_is_not_recorded),
        cmocka_unit_test(recording_goes_on_after_longjmp),
        cmocka_unit_test(regions_nest),
        cmocka_unit_test(a_region_is_not_our_own_work),
        cmocka_unit_test(end_without_begin_is_ignored),
        cmocka_unit_test(deep_regions_do_not_disturb_others),
        cmocka_unit_test(names_are_cut_not_overrun),
        cmocka_unit_test(switched_off_records_nothing),
        cmocka_unit_test(where_it_is_can_be_seen),
        cmocka_unit_test(being_inside_can_be_seen),
        cmocka_unit_test(recording_goes_on_deeper_after_longjmp),
        cmocka_unit_test(many_names_are_told_apart),
        cmocka_unit_test(nothing_after_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* capture/tracer: what stands in a ring, whatever room there is in it. */
#include "capture.h"
#include "capture/tracer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { EVENTS = GN_RING_MIN_EVENTS };

static struct gn_tracer tracer;

static struct gn_event *event_at(uint64_t i)
{
    return &tracer.events[i & tracer.mask];
}

static void take_all(void)
{
    atomic_store(&tracer.ring->tail, tracer.head);
}

/* A call with some events inside. False: it was dropped. */
static bool call(uint32_t region, uint64_t ticks, int inside)
{
    bool traced = gn_tracer_enter(&tracer, region, 7);
    if (traced)
        gn_tracer_stamp(&tracer, ticks);
    else
        gn_tracer_drop(&tracer, (uint32_t)inside + 1);
    for (int i = 0; traced && i < inside; i++) {
        struct gn_event event = gn_event_bare(GN_EVENT_MPI_SEND, tracer.location, ticks);
        gn_tracer_put(&tracer, &event);
    }
    if (traced)
        gn_tracer_leave(&tracer, ticks + 1);
    return traced;
}

static int open_ring(void **state)
{
    (void)state;
    size_t bytes = gn_ring_segment_bytes(1, EVENTS);
    gn_ring_memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (gn_ring_memory == MAP_FAILED)
        return -1;
    gn_ring_memory->location_capacity = 1;
    gn_ring_memory->ring_events = EVENTS;
    memset(&tracer, 0, sizeof tracer);
    gn_tracer_attach(&tracer, 0);
    return 0;
}

static int close_ring(void **state)
{
    (void)state;
    munmap(gn_ring_memory, gn_ring_segment_bytes(1, EVENTS));
    gn_ring_memory = NULL;
    return 0;
}

static void call_is_enter_and_leave(void **state)
{
    (void)state;
    assert_true(call(3, 100, 1));
    assert_int_equal(atomic_load(&tracer.ring->head), 3);
    assert_int_equal(event_at(0)->kind, GN_EVENT_ENTER);
    assert_int_equal(event_at(0)->ticks, 100);
    assert_int_equal(event_at(0)->region, 3);
    assert_int_equal(event_at(0)->path, 7);
    assert_int_equal(event_at(1)->kind, GN_EVENT_MPI_SEND);
    assert_int_equal(event_at(2)->kind, GN_EVENT_LEAVE);
    assert_int_equal(event_at(2)->ticks, 101);
    assert_int_equal(event_at(2)->region, 3);
}

static void location_without_ring_has_none(void **state)
{
    (void)state;
    struct gn_tracer other = {.ring = NULL};
    gn_tracer_attach(&other, 1);
    assert_null(other.ring);
}

/* An enter is only visible once its time is known. */
static void enter_waits_for_its_time(void **state)
{
    (void)state;
    assert_true(gn_tracer_enter(&tracer, 1, 1));
    assert_int_equal(atomic_load(&tracer.ring->head), 0);
    gn_tracer_stamp(&tracer, 5);
    assert_int_equal(atomic_load(&tracer.ring->head), 1);
    gn_tracer_leave(&tracer, 6);
}

/* Reads everything there is: enters and leaves balance, and written and lost add up. */
struct account {
    int64_t depth;
    uint64_t events, lost, last_ticks;
};

static void read_ring(struct account *a)
{
    uint64_t tail = atomic_load(&tracer.ring->tail), head = atomic_load(&tracer.ring->head);
    assert_in_range(head - tail, 0, EVENTS);
    for (; tail < head; tail++) {
        const struct gn_event *event = event_at(tail);
        assert_true(event->ticks >= a->last_ticks);
        a->last_ticks = event->ticks;
        if (event->kind == GN_EVENT_LOST) {
            a->lost += event->request;
            continue;
        }
        a->events++;
        a->depth += event->kind == GN_EVENT_ENTER || event->kind == GN_EVENT_REGION_BEGIN;
        a->depth -= event->kind == GN_EVENT_LEAVE || event->kind == GN_EVENT_REGION_END;
        assert_true(a->depth >= 0);
    }
    atomic_store(&tracer.ring->tail, tail);
}

static void full_ring_drops_and_tells(void **state)
{
    (void)state;
    struct account a = {0};
    uint64_t calls = 0;
    for (; call(1, 10 * calls + 10, 1); calls++)
        ;
    calls++;
    assert_true(calls > EVENTS / 3 - 8);
    for (int i = 0; i < 5; i++)
        assert_false(call(1, 10 * calls++ + 10, 1));
    read_ring(&a);
    assert_true(call(1, 10 * calls++ + 10, 1));
    read_ring(&a);
    assert_int_equal(a.depth, 0);
    assert_int_equal(a.lost, 6 * 3);
    assert_int_equal(a.events + a.lost, 3 * calls);
    assert_int_equal(atomic_load(&tracer.ring->dropped), a.lost);
}

/* A call that completes a thousand requests into a small ring loses some of them, but not its leave. */
static void leave_always_finds_room(void **state)
{
    (void)state;
    struct account a = {0};
    assert_true(call(1, 10, 1000));
    read_ring(&a);
    assert_int_equal(a.depth, 0);
    assert_int_equal(a.events + a.lost, 1002);
    assert_true(a.lost > 0);
}

static void regions_end_in_a_full_ring(void **state)
{
    (void)state;
    struct account a = {0};
    uint32_t open = 0;
    uint64_t ticks = 1;
    for (uint32_t depth = 0; depth < 40; depth++) {
        open += gn_tracer_region_begin(&tracer, depth, GN_NONE, ticks++);
        for (int i = 0; i < 10; i++, ticks += 2)
            call(1, ticks, 1);
    }
    assert_in_range(open, 2, 39);
    while (open-- > 0)
        gn_tracer_region_end(&tracer, open, GN_NONE, ticks++);
    read_ring(&a);
    assert_int_equal(a.depth, 0);
}

/* Random calls against a reader that comes at random: nothing is miscounted. */
static void accounts_add_up(void **state)
{
    (void)state;
    struct account a = {0};
    uint64_t wanted = 0;
    srand(7);
    for (uint64_t i = 1; i < 200000; i++) {
        int inside = rand() % 6;
        call(1, 10 * i, inside);
        wanted += 2 + (uint64_t)inside;
        if (rand() % 60 == 0)
            read_ring(&a);
    }
    read_ring(&a);
    call(1, 10 * 200000, 0);
    read_ring(&a);
    assert_int_equal(a.depth, 0);
    assert_int_equal(a.events + a.lost, wanted + 2);
}

/* The reader is another process: what it says about itself cannot hurt. */
static void nonsense_from_the_reader_is_full(void **state)
{
    (void)state;
    while (call(1, 1, 1))
        ;
    atomic_store(&tracer.ring->tail, tracer.head + 1000);
    assert_false(call(1, 1, 1));
    take_all();
    assert_true(call(1, 1, 1));
}

static void blocked_writer_gives_a_dead_agent_up(void **state)
{
    (void)state;
    gn_ring_memory->block = 1;
    while (call(1, 1, 1))
        ;
    assert_true(tracer.given_up_at != 0);
    for (int i = 0; i < 1000; i++) /* at once: it is not waited for again */
        assert_false(call(1, 1, 1));
    atomic_fetch_add(&gn_ring_memory->alive, 1);
    take_all();
    assert_true(call(1, 1, 1));
}

static void request_ids_differ(void **state)
{
    (void)state;
    struct gn_tracer other = {.location = 1};
    uint64_t first = gn_tracer_new_id(&tracer);
    assert_true(first != 0 && first != gn_tracer_new_id(&tracer) && first != gn_tracer_new_id(&other));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_ring, close_ring)
    const struct CMUnitTest tests[] = {
        TEST(call_is_enter_and_leave),
        TEST(location_without_ring_has_none),
        TEST(enter_waits_for_its_time),
        TEST(full_ring_drops_and_tells),
        TEST(leave_always_finds_room),
        TEST(regions_end_in_a_full_ring),
        TEST(accounts_add_up),
        TEST(nonsense_from_the_reader_is_full),
        TEST(blocked_writer_gives_a_dead_agent_up),
        TEST(request_ids_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

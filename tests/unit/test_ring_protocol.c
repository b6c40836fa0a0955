/*
 * The protocol of writer and reader of the recorder's rings (image/recorder_ring.h), in all schedules and all
 * orders that the memory model allows: the code of capture/tracer.c and agent/rings.c itself, in
 * tests/unit/weak_memory.h.
 *
 * Held against: what is taken is what was written under that index; in order, nothing twice; the rest is
 * lost, and only what was overwritten; a dead writer's last records are there; nothing is lost with `block`,
 * and nobody waits for ever. And each order that the protocol asks for is needed: without it something goes
 * wrong.
 *
 * With rings of 2 and 4 records, and two words of each record (any two tell a torn one).
 *
 * The orders of tail are there twice: a reader that has seen an overwritten word has, by W1 and R3, seen the
 * look at tail ahead of it, and no load is behind R3. So tail's release and R3 can only be missed together,
 * and tail's acquire not at all.
 */
#include "weak_memory.h"

#include <sched.h>
#include <time.h>

/* Waiting is a step of the model, and patience has no end. */
static int yield_until_taken(void);
static int forever(clockid_t clock, struct timespec *now);
#define sched_yield yield_until_taken
#define clock_gettime forever
#define nanosleep(request, rest) yield_until_taken()
#include "capture/tracer.c"
#undef clock_gettime
#include "agent/rings.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { MOST = 8 };

struct writer {
    struct gn_tracer tracer;
    uint64_t written;
};

struct reader {
    struct gn_rings_place place;
    uint64_t expected; /* the first record that is neither taken nor lost */
    uint64_t lost;
    uint32_t turns;
    bool is_last; /* the writer has ended */
};

static struct writer writer;
static struct reader reader;
static struct gn_rings rings;
static uint64_t records; /* that the writer writes */
static uint32_t turns;   /* of the reader while the writer lives */
static size_t batch;
static struct gn_ring *the_ring;

static int yield_until_taken(void)
{
    wm_await(&the_ring->tail, writer.tracer.limit - writer.tracer.mask);
    return 0;
}

static int forever(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){0};
    return 0;
}

/* ---- the two threads ---- */

static struct gn_record record_of(uint64_t index)
{
    return (struct gn_record){{100 + index, 200 + index, 300 + index, 400 + index}};
}

static bool write_one(void *self)
{
    struct writer *w = self;
    struct gn_record record = record_of(w->written++);
    gn_tracer_write(&w->tracer, &record);
    return w->written < records;
}

static void check_taken(const struct gn_record *taken, size_t count, uint64_t first)
{
    for (size_t i = 0; i < count; i++) {
        struct gn_record truth = record_of(first + i);
        if (taken[i].word[0] != truth.word[0] || taken[i].word[3] != truth.word[3])
            wm_wrong("a record is not what was written");
    }
}

/* Those from expected to first are lost: each must have been overwritten, or be about to. */
static void check_lost(struct reader *r, uint64_t first)
{
    if (first < r->expected)
        wm_wrong("a record comes twice");
    if (first > r->expected && first - 1 + rings.ring_records > wm_truth(&the_ring->head))
        wm_wrong("a record is lost and was not overwritten");
    r->lost += first - r->expected;
    if (r->lost && rings.segment->block)
        wm_wrong("a record is lost though the writer waits");
}

static void take_some(struct reader *r)
{
    struct gn_record taken[MOST];
    uint64_t first;
    size_t waiting, count = gn_rings_take(&rings, 0, taken, batch, &first, &waiting);
    check_lost(r, first);
    check_taken(taken, count, first);
    r->expected = first + count;
    if (r->expected != r->place.tail)
        wm_wrong("a record is neither taken nor lost");
    if (r->place.skipped)
        wm_wrong("what the writer wrote is taken for nonsense");
}

/* While the writer lives a few times, and then whatever is left. */
static bool take_and_join(void *self)
{
    struct reader *r = self;
    if (r->turns < turns) {
        r->turns++;
        take_some(r);
        return true;
    }
    if (!r->is_last) {
        wm_join();
        r->is_last = true;
    }
    take_some(r);
    uint64_t head = wm_truth(&the_ring->head);
    if (r->expected < head && r->expected + rings.ring_records <= head)
        wm_wrong("the last records are not there");
    return r->expected < head;
}

/* With block: until all are taken. */
static bool take_until_all(void *self)
{
    struct reader *r = self;
    uint64_t before = r->expected;
    take_some(r);
    if (r->expected == before)
        wm_await(&the_ring->head, before);
    return r->expected < records;
}

/* ---- runs ---- */

static uint32_t to_come(const volatile void *place, uint64_t values[4])
{
    uint32_t count = 0;
    for (uint64_t i = 0; i < records && count < 4; i++) {
        struct gn_ring_slot *slot = &gn_ring_slots(the_ring)[i & (rings.ring_records - 1)];
        if (place == &slot->word[0] || place == &slot->word[3])
            values[count++] = record_of(i).word[place == &slot->word[0] ? 0 : 3];
    }
    for (uint64_t i = 1; i <= records && count < 4 && place == &the_ring->tail; i++)
        values[count++] = i;
    return count;
}

static void make_places(void)
{
    wm_reset();
    wm_place(&the_ring->head);
    wm_place(&the_ring->tail);
    for (uint32_t i = 0; i < rings.ring_records; i++) {
        wm_place(&gn_ring_slots(the_ring)[i].word[0]);
        wm_place(&gn_ring_slots(the_ring)[i].word[3]);
    }
}

struct plan {
    const char *name;
    uint32_t ring_records;
    uint64_t records;
    uint32_t turns;
    size_t batch;
    bool block;
};

static struct wm_result run(const struct plan *plan, uint32_t dropped)
{
    int file;
    assert_int_equal(gn_rings_make(&rings, 1, plan->ring_records, plan->block, &file), 0);
    close(file);
    the_ring = gn_ring_of(rings.segment, 0, plan->ring_records);
    gn_ring_memory = rings.segment;
    records = plan->records;
    turns = plan->turns;
    batch = plan->batch;
    wm_reset();
    writer = (struct writer){0};
    reader = (struct reader){0};
    gn_tracer_attach(&writer.tracer, 0);
    struct gn_rings_place *places = rings.places;
    rings.places = &reader.place;
    make_places();
    struct wm_thread threads[WM_THREADS] = {
        {write_one, &writer, sizeof writer, !plan->block},
        {plan->block ? take_until_all : take_and_join, &reader, sizeof reader, false}};
    struct wm_options options = {.early = plan->block, .dropped = dropped, .to_come = to_come};
    struct wm_result result = wm_explore(threads, &options);
    rings.places = places;
    gn_rings_close(&rings);
    printf("%-34s without %3u: %9llu states, %6llu ends, %s\n", plan->name, dropped,
           (unsigned long long)result.states, (unsigned long long)result.ends,
           result.wrong ? result.wrong : "right");
    assert_false(result.incomplete);
    return result;
}

static const struct plan overwriting[] = {
    {"ring of 2, 4 records", 2, 4, 2, 4, false},
    {"ring of 2, 7 records", 2, 7, 3, 4, false},
    {"ring of 4, 6 records", 4, 6, 1, 4, false},
    {"ring of 4, 8 records", 4, 8, 2, 4, false},
    {"ring of 4, 7 records, batches of 2", 4, 7, 3, 2, false},
};
static const struct plan blocking[] = {
    {"block, ring of 4, 6 records", 4, 6, 0, 2, true},
    {"block, ring of 2, 4 records", 2, 4, 0, 4, true},
    {"block, ring of 4, 7 records, at once", 4, 7, 0, 4, true},
};

static void test_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof overwriting / sizeof *overwriting; i++) {
        struct wm_result result = run(&overwriting[i], 0);
        assert_null(result.wrong);
        assert_true(result.ends > 0);
    }
}

static void test_blocking_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof blocking / sizeof *blocking; i++) {
        struct wm_result result = run(&blocking[i], 0);
        assert_null(result.wrong);
        assert_true(result.ends > 0);
    }
}

static void test_orders_are_needed(void **state)
{
    static const uint32_t needed[] = {WM_ACQUIRE_LOAD_1, WM_RELEASE_STORE_0, WM_ACQUIRE_FENCE_1,
                                      WM_RELEASE_FENCE_0};
    (void)state;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        assert_non_null(run(&overwriting[0], needed[i]).wrong);
}

static void test_blocking_orders_are_needed(void **state)
{
    static const uint32_t needed[] = {WM_ACQUIRE_LOAD_1, WM_RELEASE_STORE_0,
                                      WM_RELEASE_STORE_1 | WM_ACQUIRE_FENCE_1};
    (void)state;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        assert_non_null(run(&blocking[0], needed[i]).wrong);
    assert_null(run(&blocking[0], WM_RELEASE_STORE_1).wrong);
    assert_null(run(&blocking[0], WM_ACQUIRE_FENCE_1).wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_orders_are_needed),
        cmocka_unit_test(test_blocking_right),
        cmocka_unit_test(test_blocking_orders_are_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a dead process did last, out of rings filled as a measured process fills them; that parts of several
 * hosts keep it; and that nothing a broken program leaves in them becomes anything impossible. */
#include "calls.h"
#include "capture/tracer.h"
#include "agent/last_calls.h"
#include "profile/statement.h"
#include "profile/summary.h"
#include "profile_of.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    LOCATIONS = 2,
    RECORDS = 256,
    WORLD = 4,
    START = 1000,
    NOW = 1000000,
    SEND_NODE = 3,
    BCAST_NODE,
    PATH = 2
};

static struct gn_watched dead;
static struct gn_tracer tracer;
static struct gn_last_calls last;

static void set_node(uint32_t node, uint32_t activity)
{
    struct gn_location *in = &dead.segment->locations[0];
    GN_SET(in->nodes[node].activity, activity);
    GN_SET(in->nodes[node].path, node < SEND_NODE ? 0u : (uint32_t)PATH);
    GN_SET(in->node_count, node + 1);
}

/* Rank 1 of 4, killed; communicator 1 has ranks 3 and 1. */
static void fill_tag(void)
{
    struct gn_tag *tag = dead.segment;
    tag->rank = 1;
    tag->world = WORLD;
    GN_SET(tag->location_count, 1);
    GN_SET(tag->start_ticks, START);
    GN_SET(tag->state, GN_STATE_RUNNING);
    snprintf(tag->modules[1].path, GN_PATH_BYTES, "/nowhere/app");
    GN_SET(tag->module_count, 2);
    tag->frames[1] = (struct gn_tag_frame){0, 1, 0, 0x1000};
    tag->frames[2] = (struct gn_tag_frame){1, 1, 0, 0x2000};
    GN_SET(tag->frame_count, 3);
    GN_SET(tag->name_count, 1);
    for (uint32_t i = 0; i < SEND_NODE; i++)
        set_node(i, GN_ACTIVITY_START + i);
    set_node(SEND_NODE, GN_CALL_SEND);
    set_node(BCAST_NODE, GN_CALL_BCAST);
}

static void fill_comms(void)
{
    struct gn_ring_segment *rings = dead.rings.segment;
    memcpy(rings->words, (uint32_t[]){0, WORLD, 3, 1, 1, 1}, 6 * sizeof(uint32_t));
    GN_SET(rings->word_count, 6);
    rings->comms[0] = (struct gn_ring_comm){0, 1, 0, 0, GN_NONE, "MPI_COMM_WORLD"};
    rings->comms[1] = (struct gn_ring_comm){2, 2, 0, 0, 0, "odd\033[1m"};
    GN_SET(rings->comm_count, 2);
}

static int set_up(void **state)
{
    (void)state;
    int file;
    dead =
        (struct gn_watched){.core_group = -1, .alive_ticks = NOW - 500, .seen_ticks = NOW, .end_ticks = NOW};
    if (gn_watched_make_segment(&dead, LOCATIONS) != 0 ||
        gn_rings_make(&dead.rings, LOCATIONS, RECORDS, false, &file) != 0)
        return -1;
    close(file);
    dead.recorded = true;
    fill_tag();
    fill_comms();
    tracer = (struct gn_tracer){0};
    gn_ring_memory = dead.rings.segment;
    gn_tracer_attach(&tracer, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gn_last_calls_clear(&last);
    gn_rings_close(&dead.rings);
    munmap(dead.segment, dead.segment_bytes);
    close(dead.segment_file);
    return 0;
}

static void take(void)
{
    assert_int_equal(gn_last_calls_take(&last, &dead, NOW, true), 0);
}

static void send_at(uint64_t ticks, uint32_t comm, uint32_t peer, uint32_t tag)
{
    const struct gn_call_span span = {ticks, ticks + 5, SEND_NODE};
    gn_tracer_note(
        &tracer, &span,
        &(struct gn_note){
            .kind = GN_EVENT_MPI_SEND, .comm = comm, .peer = peer, .tag = tag, .bytes = 100 + tag});
    gn_tracer_call(&tracer, &span);
}

/* Three times around the ring. */
static void the_last_ones_in_their_order(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3 * RECORDS; i++)
        send_at(START + 10 * i, 0, i % WORLD, i);
    take();
    assert_int_equal(last.count, GN_LAST_CALLS);
    for (uint32_t i = 0; i < GN_LAST_CALLS; i++) {
        const struct gn_last_call *c = &last.calls[i];
        const uint32_t k = 3 * RECORDS - GN_LAST_CALLS + i;
        assert_int_equal(c->activity, GN_CALL_SEND);
        assert_int_equal(c->path, PATH);
        assert_int_equal(c->enter_ticks, START + 10 * k);
        assert_int_equal(c->leave_ticks, START + 10 * k + 5);
        assert_int_equal(c->sent.messages, 1);
        assert_int_equal(c->sent.peer, k % WORLD);
        assert_int_equal(c->sent.tag, k);
        assert_int_equal(c->sent.bytes, 100 + k);
        assert_int_equal(c->received.peer, GN_LAST_UNKNOWN);
        assert_false(c->open);
    }
}

static void peers_are_ranks_of_the_world(void **state)
{
    (void)state;
    send_at(START, 1, 0, 7);
    send_at(START + 10, 1, 1, 7);
    send_at(START + 20, 1, 2, 7); /* has two members */
    take();
    assert_int_equal(last.count, 2);
    assert_int_equal(last.calls[0].sent.peer, 3);
    assert_int_equal(last.calls[1].sent.peer, 1);
    assert_string_equal(last.calls[0].comm, "odd?[1m");
}

static void a_collective_that_it_was_in(void **state)
{
    (void)state;
    struct gn_location *in = &dead.segment->locations[0];
    send_at(START, 0, 2, 7);
    gn_tracer_begin(&tracer, START + 50,
                    (struct gn_tracer_begun){GN_EVENT_COLLECTIVE_BEGIN, GN_COLLECTIVE_BCAST, 1, 0});
    GN_SET(in->now_node, BCAST_NODE);
    GN_SET(in->now_inside, 1);
    GN_SET(in->now_ticks, START + 50);
    take();
    assert_int_equal(last.count, 2);
    assert_true(last.calls[1].open);
    assert_int_equal(last.calls[1].activity, GN_CALL_BCAST);
    assert_int_equal(last.calls[1].root, 3);
    assert_int_equal(last.calls[1].leave_ticks, NOW);
    assert_int_equal(last.after_ticks, NOW - 500);
    assert_int_equal(last.before_ticks, NOW);
}

static void what_is_not_in_its_time_is_left_out(void **state)
{
    (void)state;
    send_at(START, 0, 2, 7);
    send_at(NOW + 1, 0, 2, 7);
    send_at(START - 10, 0, 2, 7);
    send_at(NOW - 2, 0, 2, 7); /* was left later than now */
    send_at(START + 30, 0, 2, 8);
    take();
    assert_in_range(last.count, 1, 2);
    assert_int_equal(last.calls[0].enter_ticks, START);
    for (size_t i = 0; i < last.count; i++)
        assert_true(last.calls[i].leave_ticks <= NOW);
}

static void none_of_one_that_finalized(void **state)
{
    (void)state;
    send_at(START, 0, 2, 7);
    GN_SET(dead.segment->finalized_ticks, START + 100);
    take();
    assert_int_equal(last.count, 0);
}

/* ---- kept ---- */

static sqlite3 *profile_of(uint64_t seen)
{
    struct gn_snapshot *snapshot;
    sqlite3 *db;
    dead.seen_ticks = seen;
    dead.alive_ticks = seen - 10;
    take();
    struct gn_process_facts facts = {.host = "h",
                                     .tick_ns = 2,
                                     .end_ticks = NOW,
                                     .launcher_rank = -1,
                                     .ended = "signal",
                                     .exit_status = 9,
                                     .last_calls = &last};
    assert_int_equal(gn_snapshot_take(dead.segment, dead.segment_bytes, 10, &snapshot, NULL), 0);
    assert_int_equal(gn_profile_create(&db, ":memory:", NULL), 0);
    assert_int_equal(profile_add(db, &facts, snapshot, NULL), 0);
    gn_snapshot_free(snapshot);
    return db;
}

static void check_trouble(const struct gn_trouble_row *t)
{
    assert_int_equal(t->call_count, GN_LAST_CALLS);
    const struct gn_last_call_row *c = &t->calls[GN_LAST_CALLS - 1];
    assert_string_equal(c->name, "MPI_Send");
    assert_int_equal(c->enter_ns, 2 * 190);
    assert_int_equal(c->length_ns, 2 * 5);
    assert_int_equal(c->before_end_ns, 2 * (NOW - START - 190));
    assert_int_equal(c->sent.tag, 19);
    assert_int_equal(c->received.tag, GN_LAST_UNKNOWN);
    assert_true(t->calls[0].enter_ns < c->enter_ns);
}

static void parts_keep_them_and_the_first_end_comes_first(void **state)
{
    (void)state;
    char name[] = "/tmp/gnomon-last-XXXXXX";
    struct gn_summary s;
    struct gn_error err = {""};
    sqlite3 *whole, *part;
    int file = mkstemp(name);
    assert_true(file >= 0);
    close(file);
    for (uint32_t i = 0; i < 20; i++)
        send_at(START + 10 * i, 0, i % WORLD, i);
    part = profile_of(NOW - 100);
    assert_int_equal(gn_profile_save(part, name, NULL), 0);
    gn_profile_close(part);
    gn_last_calls_clear(&last);
    dead.segment->rank = 0; /* ended later */
    whole = profile_of(NOW);
    assert_int_equal(gn_profile_merge(whole, name, &err), 0);
    unlink(name);
    assert_int_equal(gn_summarise(whole, GN_BY_ACTIVITY, false, &s, &err), 0);
    assert_int_equal(s.trouble_count, 2);
    assert_int_equal(s.troubles[0].rank, 1);
    assert_true(s.troubles[0].ending.known && s.troubles[0].ending.first);
    assert_true(s.troubles[1].ending.known && !s.troubles[1].ending.first);
    assert_in_range(s.troubles[1].ending.later_lo_ns, 2 * 90 - 2, 2 * 90);
    assert_in_range(s.troubles[1].ending.later_hi_ns, 2 * 110, 2 * 110 + 2);
    check_trouble(&s.troubles[0]);
    check_trouble(&s.troubles[1]);
    gn_summary_clear(&s);
    gn_profile_close(whole);
}

/* ---- broken ---- */

static uint64_t random_state = 88172645463325252ull;

static uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void scribble(void *memory, size_t size, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)memory)[draw() % size] = (uint8_t)draw();
}

static bool is_rank(int64_t rank)
{
    return rank >= GN_LAST_UNKNOWN && rank < WORLD;
}

static void check_side(const struct gn_last_side *side)
{
    assert_true(side->messages >= 0 && side->bytes >= 0);
    assert_true(is_rank(side->peer));
    assert_true(side->tag >= GN_LAST_UNKNOWN && side->tag <= INT32_MAX);
}

static void check_possible(void)
{
    for (size_t i = 0; i < last.count; i++) {
        const struct gn_last_call *c = &last.calls[i];
        assert_true(c->activity < GN_CALL_COUNT && c->path < GN_MAX_FRAMES && c->thread < LOCATIONS);
        assert_true(c->enter_ticks >= START && c->enter_ticks <= c->leave_ticks && c->leave_ticks <= NOW);
        assert_true(c->calls >= 1 && c->completed >= 0 && is_rank(c->root));
        assert_non_null(memchr(c->comm, '\0', sizeof c->comm));
        check_side(&c->sent);
        check_side(&c->received);
        if (i > 0 && last.calls[i - 1].thread == c->thread)
            assert_true(last.calls[i - 1].enter_ticks <= c->enter_ticks);
    }
    assert_in_range(last.count, 0, LOCATIONS * GN_LAST_CALLS);
}

static void some_bytes_are_nonsense(void)
{
    struct gn_ring *ring = gn_ring_of(dead.rings.segment, 0, RECORDS);
    struct gn_location *in = &dead.segment->locations[0];
    scribble(gn_ring_slots(ring), RECORDS * sizeof(struct gn_ring_slot), draw() % 512);
    if (draw() % 4 == 0)
        scribble(ring, sizeof *ring, 1 + draw() % 64);
    if (draw() % 4 == 0)
        scribble(dead.rings.segment->comms, 2 * sizeof dead.rings.segment->comms[0], 40);
    if (draw() % 4 == 0)
        scribble(dead.rings.segment->words, 24, 8);
    if (draw() % 8 == 0)
        GN_SET(dead.rings.segment->comm_count, (uint32_t)draw());
    if (draw() % 4 == 0)
        scribble(in->nodes, 8 * sizeof in->nodes[0], 2000);
    GN_SET(in->now_node, (uint32_t)draw() % 8);
    GN_SET(in->now_inside, (uint32_t)draw() % 3);
    GN_SET(in->now_ticks, draw() % 8 ? START + draw() % NOW : draw());
    if (draw() % 8 == 0)
        GN_SET(dead.segment->location_count, (uint32_t)draw());
}

/* Some of it is left as it was, so that wrong records stand between right ones. */
static void nothing_impossible_comes_of_nonsense(void **state)
{
    size_t some = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < 2 * RECORDS; i++)
            send_at(START + 10 * i, i % 2, i % 2, i);
        some_bytes_are_nonsense();
        take();
        check_possible();
        assert_true(last.after_ticks <= last.before_ticks);
        some += last.count;
        tear_down(state);
        set_up(state);
    }
    assert_true(some > ROUNDS);
}

static void nor_of_nothing_but_nonsense(void **state)
{
    struct gn_ring *ring = gn_ring_of(dead.rings.segment, 0, RECORDS);
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t *words = (uint64_t *)gn_ring_slots(ring);
        const uint64_t head = draw() % 2 ? draw() : RECORDS + draw() % RECORDS;
        for (size_t i = 0; i < 4 * RECORDS; i++)
            words[i] = draw() % 3 ? draw() : draw() % NOW;
        for (uint64_t i = head - RECORDS; i != head && round % 2; i++) /* with the right generation */
            words[4 * (i % RECORDS) + 1] =
                (words[4 * (i % RECORDS) + 1] & ~(0xffull << 56)) | (i / RECORDS & 0xff) << 56;
        GN_SET(ring->head, head);
        take();
        check_possible();
        gn_last_calls_clear(&last);
    }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(the_last_ones_in_their_order),         CASE(peers_are_ranks_of_the_world),
        CASE(a_collective_that_it_was_in),          CASE(what_is_not_in_its_time_is_left_out),
        CASE(none_of_one_that_finalized),           CASE(parts_keep_them_and_the_first_end_comes_first),
        CASE(nothing_impossible_comes_of_nonsense), CASE(nor_of_nothing_but_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

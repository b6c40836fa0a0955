/*
 * image/snapshot and graph/process against segments that another program has filled with nonsense: an error
 * or a copy whose indices are in range, never a crash. Fixed seeds; under AddressSanitizer this is a small
 * fuzzer.
 */
#include "capture.h"
#include "image/snapshot.h"
#include "profile/summary.h"
#include "profile_of.h"
#include "repeated.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LOCATIONS = 2, ROUNDS = REPEATED(40) };

static struct gn_tag *segment;
static uint64_t random_state;

static uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Bytes anywhere below `end` become random; the identity stays. */
static void scribble(size_t end, size_t bytes)
{
    uint8_t *memory = (uint8_t *)segment;
    for (size_t i = 0; i < bytes; i++)
        memory[draw() % end] = (uint8_t)draw();
    segment->magic = GN_TAG_MAGIC;
    segment->version = GN_TAG_VERSION;
    segment->location_capacity = LOCATIONS;
    segment->world = 2;                      /* has a test of its own */
    for (uint32_t i = 0; i < LOCATIONS; i++) /* or waiting for writers who never come takes its time */
        GN_SET(segment->locations[i].seq, 0);
}

static void check_indices(const struct gn_snapshot *s)
{
    for (uint32_t i = 1; i < s->frame_count; i++) {
        assert_true(s->frames[i].parent < i);
        assert_true(s->frames[i].module == 0 || s->frames[i].module < s->module_count);
    }
    for (uint32_t l = 0; l < s->location_count; l++) {
        const struct gn_location_copy *c = &s->locations[l];
        for (uint32_t i = 0; i < c->node_count; i++) {
            assert_true(GN_GET(c->nodes[i].path) == 0 || GN_GET(c->nodes[i].path) < s->frame_count);
            assert_true(GN_GET(c->nodes[i].name) == 0 || GN_GET(c->nodes[i].name) < s->name_count);
        }
        for (uint32_t i = 0; i < c->edge_count; i++)
            assert_true(GN_GET(c->edges[i].from) < c->node_count && GN_GET(c->edges[i].to) < c->node_count);
        for (uint32_t i = 0; i < c->peer_count; i++)
            assert_true(GN_GET(c->peers[i].node) < c->node_count);
    }
}

static int refused;

/* Returns whether the process could be added. */
static bool use(struct gn_snapshot *s)
{
    struct gn_error err = {""};
    struct gn_process_facts facts = {.host = "h", .tick_ns = 0.5, .end_ticks = 1000, .ended = "exit"};
    struct gn_summary summary;
    sqlite3 *db;
    assert_int_equal(gn_profile_create(&db, ":memory:", NULL), 0);
    bool added = profile_add(db, &facts, s, &err) == 0;
    if (added)
        for (int by = GN_BY_ACTIVITY; by <= GN_BY_REQUEST; by++)
            if (by != GN_BY_CALLPATH && gn_summarise(db, (enum gn_by)by, false, &summary, NULL) == 0)
                gn_summary_clear(&summary);
    gn_profile_close(db);
    if (!added && !refused++)
        print_message("not added: %s\n", err.text);
    return added;
}

static void take_and_use(bool whole)
{
    struct gn_snapshot *s;
    assert_int_equal(gn_snapshot_take(segment, gn_tag_bytes(LOCATIONS), 10, &s, NULL), 0);
    check_indices(s);
    if (whole)
        use(s);
    gn_snapshot_free(s);
}

/* A well-formed graph to start from. */
static void fill(void)
{
    memset(segment, 0, offsetof(struct gn_tag, locations) + 2 * sizeof(struct gn_location));
    segment->magic = GN_TAG_MAGIC;
    segment->version = GN_TAG_VERSION;
    segment->location_capacity = LOCATIONS;
    GN_SET(segment->location_count, 1);
    GN_SET(segment->frame_count, 40);
    GN_SET(segment->module_count, 3);
    GN_SET(segment->name_count, 5);
    for (uint32_t i = 1; i < 40; i++)
        segment->frames[i] = (struct gn_tag_frame){i / 2, (uint16_t)(1 + i % 2), 0, 64 * i};
    struct gn_location *l = &segment->locations[0];
    GN_SET(l->node_count, 60);
    GN_SET(l->edge_count, 60);
    GN_SET(l->peer_count, 20);
    for (uint32_t i = 0; i < 60; i++) {
        GN_SET(l->nodes[i].activity, i < 3 ? GN_ACTIVITY_START + i : i);
        GN_SET(l->nodes[i].path, i < 3 ? 0 : i % 40);
        gn_stats_add(&l->nodes[i].time, i);
    }
    for (uint32_t i = 0; i < 60; i++) {
        GN_SET(l->edges[i].from, i);
        GN_SET(l->edges[i].to, i * 7 % 60);
        gn_stats_add(&l->edges[i].time, i);
    }
    for (uint32_t i = 0; i < 20; i++)
        GN_SET(l->peers[i].node, i);
}

static void well_formed_is_taken_whole(void **state)
{
    (void)state;
    struct gn_snapshot *s;
    fill();
    assert_int_equal(gn_snapshot_take(segment, gn_tag_bytes(LOCATIONS), 10, &s, NULL), 0);
    assert_int_equal(s->dropped + s->torn, 0);
    assert_int_equal(s->locations[0].edge_count, 60);
    assert_true(use(s));
    gn_snapshot_free(s);
}

static void head_scribbled_over(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        random_state = seed * 0x9e3779b97f4a7c15ull;
        fill();
        scribble(offsetof(struct gn_tag, modules), 200);
        GN_SET(segment->frame_count,
               GN_GET(segment->frame_count) % 200); /* not all of the table: takes long */
        take_and_use(true);
    }
}

static void everything_scribbled_over(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        random_state = seed * 0x9e3779b97f4a7c15ull;
        fill();
        scribble(sizeof(struct gn_tag), 100000);
        scribble(gn_tag_bytes(1), 20000);
        uint8_t *location = (uint8_t *)&segment->locations[0];
        for (size_t i = 0; i < 400; i++)
            location[draw() % (sizeof(struct gn_tag_node) * 60)] = (uint8_t)draw();
        GN_SET(segment->locations[0].node_count, GN_GET(segment->locations[0].node_count) % 100);
        GN_SET(segment->locations[0].edge_count, GN_GET(segment->locations[0].edge_count) % 200);
        GN_SET(segment->locations[0].peer_count, GN_GET(segment->locations[0].peer_count) % 200);
        GN_SET(segment->frame_count, GN_GET(segment->frame_count) % 200);
        GN_SET(segment->module_count, GN_GET(segment->module_count) % 20);
        take_and_use(true);
    }
}

static void counts_of_everything_too_large(void **state)
{
    (void)state;
    fill();
    GN_SET(segment->location_count, UINT32_MAX);
    GN_SET(segment->frame_count, UINT32_MAX);
    GN_SET(segment->module_count, UINT32_MAX);
    GN_SET(segment->name_count, UINT32_MAX);
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        GN_SET(segment->locations[i].node_count, UINT32_MAX);
        GN_SET(segment->locations[i].edge_count, UINT32_MAX);
        GN_SET(segment->locations[i].peer_count, UINT32_MAX);
        GN_SET(segment->locations[i].now_node, UINT32_MAX);
    }
    take_and_use(false);
}

static void counts_of_nothing(void **state)
{
    (void)state;
    fill();
    GN_SET(segment->frame_count, 0);
    GN_SET(segment->module_count, 0);
    GN_SET(segment->name_count, 0);
    take_and_use(true);
}

static void writer_killed_inside_is_torn(void **state)
{
    (void)state;
    struct gn_snapshot *s;
    fill();
    GN_SET(segment->locations[0].nodes[5].seq, 7);
    assert_int_equal(gn_snapshot_take(segment, gn_tag_bytes(LOCATIONS), 10, &s, NULL), 0);
    assert_int_equal(s->torn, 1);
    assert_int_equal(GN_GET(s->locations[0].nodes[5].time.count), 1);
    gn_snapshot_free(s);
}

static void impossible_records_are_counted(void **state)
{
    (void)state;
    struct gn_snapshot *s;
    fill();
    GN_SET(segment->locations[0].edges[3].to, 60);
    GN_SET(segment->locations[0].nodes[5].path, 40);
    segment->frames[7].parent = 7;
    assert_int_equal(gn_snapshot_take(segment, gn_tag_bytes(LOCATIONS), 10, &s, NULL), 0);
    assert_int_equal(s->dropped, 3);
    assert_int_equal(s->locations[0].edge_count, 59);
    gn_snapshot_free(s);
}

static int refusal(void)
{
    struct gn_snapshot *s;
    struct gn_error err;
    return gn_snapshot_take(segment, gn_tag_bytes(LOCATIONS), 10, &s, &err);
}

static void foreign_memory_is_refused(void **state)
{
    (void)state;
    fill();
    segment->magic++;
    assert_int_equal(refusal(), -EPROTO);
    fill();
    segment->version++;
    assert_int_equal(refusal(), -EPROTO);
    fill();
    segment->location_capacity = LOCATIONS + 1;
    assert_int_equal(refusal(), -EPROTO);
    segment->location_capacity = UINT32_MAX;
    assert_int_equal(refusal(), -EPROTO);
    struct gn_snapshot *s;
    assert_int_equal(gn_snapshot_take(segment, 100, 10, &s, NULL), -EPROTO);
}

/* One bad record must not cost the whole process (and, by agent/finish, the host's profile). */
static void doubled_edge_is_no_reason_to_refuse(void **state)
{
    (void)state;
    struct gn_snapshot *s;
    fill();
    GN_SET(segment->locations[0].edges[9].from, 8);
    GN_SET(segment->locations[0].edges[9].to, 56);
    assert_int_equal(gn_snapshot_take(segment, gn_tag_bytes(LOCATIONS), 10, &s, NULL), 0);
    assert_true(use(s));
    gn_snapshot_free(s);
}

/* Two thousand million ranks, of which one was measured: an answer, and not one that takes for ever. */
static void impossible_world_is_answered(void **state)
{
    (void)state;
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        fill();
        segment->world = INT32_MAX;
        take_and_use(true);
        _exit(0);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static int make(void **state)
{
    (void)state;
    segment = test_segment(LOCATIONS);
    return segment ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(well_formed_is_taken_whole),
        cmocka_unit_test(foreign_memory_is_refused),
        cmocka_unit_test(writer_killed_inside_is_torn),
        cmocka_unit_test(impossible_records_are_counted),
        cmocka_unit_test(counts_of_everything_too_large),
        cmocka_unit_test(counts_of_nothing),
        cmocka_unit_test(head_scribbled_over),
        cmocka_unit_test(everything_scribbled_over),
        cmocka_unit_test(doubled_edge_is_no_reason_to_refuse),
        cmocka_unit_test(impossible_world_is_answered),
    };
    return cmocka_run_group_tests(tests, make, NULL);
}

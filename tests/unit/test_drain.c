/* Rings filled as a measured process fills them, taken, expanded and translated: what comes out, and that
 * nothing a broken program can write does harm. */
#include "calls.h"
#include "capture/tracer.h"
#include "clock/ticks.h"
#include "agent/drain.h"
#include "agent/expand.h"
#include "agent/part_file.h"
#include "agent/trace_paths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { LOCATIONS = 4, RECORDS = 1024, WORLD = 4, TAKEN_MAX = 100000 };

/* A process as the agent sees it. */
struct fake {
    struct gn_tag *tag;
    struct gn_rings rings;
    struct gn_tracer tracers[LOCATIONS];
};

static struct gn_event taken[TAKEN_MAX];
static size_t taken_count;
static enum { ALL, NO_LEAVES, MESSAGES } wanted; /* of what is taken */
static int write_code, write_from;               /* fail with this, from this event on */

static int take(void *self, const struct gn_event *event, struct gn_error *err)
{
    (void)self;
    if (write_code && taken_count >= (size_t)write_from)
        return gn_fail(err, write_code, "the disk is full");
    assert_in_range(taken_count, 0, TAKEN_MAX - 1);
    if ((wanted != ALL && event->kind == GN_EVENT_LEAVE) ||
        (wanted == MESSAGES && event->kind == GN_EVENT_ENTER))
        return 0;
    taken[taken_count++] = *event;
    return 0;
}

static int flush(void *self, struct gn_error *err)
{
    (void)self, (void)err;
    return 0;
}

static const struct gn_drain_output output = {.write = take, .flush = flush};

static struct fake make(int rank, bool block)
{
    struct fake f = {NULL};
    int file;
    size_t bytes = gn_tag_bytes(LOCATIONS);
    f.tag = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(f.tag, MAP_FAILED);
    assert_int_equal(gn_rings_make(&f.rings, LOCATIONS, RECORDS, block, &file), 0);
    close(file);
    f.tag->location_capacity = LOCATIONS;
    GN_SET(f.tag->location_count, 1);
    GN_SET(f.tag->start_ticks, 1);
    f.tag->world = WORLD;
    f.tag->rank = rank;
    snprintf(f.tag->modules[1].path, GN_PATH_BYTES, "/nowhere/app");
    GN_SET(f.tag->module_count, 2);
    f.tag->frames[1] = (struct gn_tag_frame){0, 1, 0, 0x1000};
    f.tag->frames[2] = (struct gn_tag_frame){1, 1, 0, 0x2000};
    GN_SET(f.tag->frame_count, 3);
    snprintf(f.tag->names[0], GN_NAME_BYTES, "solve");
    GN_SET(f.tag->name_count, 1);
    memcpy(f.rings.segment->words, (uint32_t[]){0, WORLD, (uint32_t)rank, 1}, 4 * sizeof(uint32_t));
    GN_SET(f.rings.segment->word_count, 4);
    f.rings.segment->comms[0] = (struct gn_ring_comm){0, 1, 0, 0, GN_NONE, "MPI_COMM_WORLD"};
    f.rings.segment->comms[1] = (struct gn_ring_comm){2, 1, 0, 0, GN_NONE, "MPI_COMM_SELF"};
    GN_SET(f.rings.segment->comm_count, 2);
    return f;
}

static void drop_fake(struct fake *f)
{
    munmap(f->tag, gn_tag_bytes(LOCATIONS));
}

static struct gn_tracer *tracer_of(struct fake *f, uint32_t location)
{
    gn_ring_memory = f->rings.segment;
    gn_tracer_attach(&f->tracers[location], location);
    return &f->tracers[location];
}

static uint32_t node_of(struct fake *f, uint32_t location, uint32_t activity, uint32_t path)
{
    struct gn_location *in = &f->tag->locations[location];
    uint32_t node = GN_GET(in->node_count);
    GN_SET(in->nodes[node].activity, activity);
    GN_SET(in->nodes[node].path, path);
    GN_SET(in->node_count, node + 1);
    return node;
}

/* A call that takes no time, with an event in it (NULL: none). */
static void push(struct fake *f, uint32_t location, uint32_t activity, uint32_t path,
                 const struct gn_event *event)
{
    struct gn_tracer *tracer = tracer_of(f, location);
    uint64_t now = gn_ticks();
    struct gn_call_span span = {now, now, node_of(f, location, activity, path)};
    if (event)
        gn_tracer_put(tracer, &span, event);
    gn_tracer_call(tracer, &span);
}

static void push_message(struct fake *f, uint32_t location, const struct gn_event *event)
{
    push(f, location, GN_CALL_SEND, 2, event);
}

static struct gn_event message(uint32_t comm, uint32_t peer)
{
    struct gn_event event = gn_event_bare(GN_EVENT_MPI_SEND, 0, 0);
    event.comm = comm;
    event.peer = peer;
    event.tag = 7;
    event.bytes_sent = 8;
    return event;
}

/* Drains the processes as they are; the caller frees the result, the definitions are in *translate. */
static struct gn_drain *drain(struct fake *fakes, size_t count, struct gn_translate **translate)
{
    struct gn_drain *d;
    struct gn_error err;
    taken_count = 0;
    *translate = gn_translate_new("Linux", "here");
    assert_non_null(*translate);
    assert_int_equal(gn_drain_start(&d, *translate, &output, &err), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(gn_drain_add(d, &fakes[i].rings, fakes[i].tag, gn_tag_bytes(LOCATIONS), -1, 4242),
                         0);
    gn_drain_stop(d);
    return d;
}

static void finish(struct gn_drain *d, struct gn_translate *t, struct fake *fakes, size_t count)
{
    gn_drain_free(d);
    gn_translate_free(t);
    for (size_t i = 0; i < count; i++)
        drop_fake(&fakes[i]);
    write_code = 0;
    wanted = ALL;
}

static void takes_events_in_order(void **state)
{
    (void)state;
    struct fake f = make(2, false);
    struct gn_translate *t;
    struct gn_event send = message(0, 3);
    uint64_t before_ticks = gn_ticks();
    push(&f, 0, GN_CALL_SEND, 2, &send);
    struct gn_drain *d = drain(&f, 1, &t);
    assert_int_equal(taken_count, 3);
    const struct gn_definitions *defs = t->definitions;
    assert_int_equal(taken[0].kind, GN_EVENT_ENTER);
    assert_string_equal(gn_string(defs, defs->regions[taken[0].region].name), "MPI_Send");
    assert_in_range(taken[0].ticks, before_ticks, gn_ticks());
    assert_int_equal(taken[1].kind, GN_EVENT_MPI_SEND);
    assert_string_equal(gn_string(defs, defs->comms[taken[1].comm].name), "MPI_COMM_WORLD");
    assert_int_equal(taken[1].peer, 3);
    assert_int_equal(taken[2].path, taken[0].path);
    const struct gn_location_def *l = &defs->locations[taken[0].location];
    assert_int_equal(l->file_id, 2);
    assert_int_equal(l->events, 3);
    assert_int_equal(defs->processes[l->process].rank, 2);
    assert_string_equal(gn_string(defs, defs->processes[l->process].name), "Rank 2");
    assert_int_equal(gn_drain_stats(d)->events, 3);
    assert_int_equal(gn_drain_stats(d)->garbled, 0);
    assert_true(atomic_load(&f.rings.segment->alive) > 0);
    finish(d, t, &f, 1);
}

/* A process must not wait for room in a ring that nobody empties. */
static void nobody_is_alive_for_an_unknown_rank(void **state)
{
    (void)state;
    struct fake unknown = make(-1, true), known = make(0, true);
    struct gn_translate *t = gn_translate_new("Linux", "here");
    struct gn_drain *d;
    struct gn_error err;
    assert_int_equal(gn_drain_start(&d, t, &output, &err), 0);
    assert_int_equal(gn_drain_add(d, &unknown.rings, unknown.tag, gn_tag_bytes(LOCATIONS), -1, 1), 0);
    assert_int_equal(gn_drain_add(d, &known.rings, known.tag, gn_tag_bytes(LOCATIONS), -1, 2), 0);
    while (atomic_load(&known.rings.segment->alive) < 3)
        usleep(100);
    assert_int_equal(atomic_load(&unknown.rings.segment->alive), 0);
    gn_drain_stop(d);
    finish(d, t, (struct fake[]){unknown, known}, 2);
}

static void paths_are_chains_of_frames(void **state)
{
    (void)state;
    struct fake f = make(0, false);
    struct gn_translate *t;
    struct gn_error err;
    uint32_t *map;
    push(&f, 0, GN_CALL_BARRIER, 2, NULL);
    struct gn_drain *d = drain(&f, 1, &t);
    assert_int_equal(gn_trace_paths(t, NULL, &map, &err), 0);
    const struct gn_definitions *defs = t->definitions;
    const struct gn_path_def *path = &defs->paths[map[taken[0].path]];
    assert_int_equal(path->region, taken[0].region);
    assert_string_equal(gn_string(defs, defs->regions[defs->paths[path->parent].region].name), "[app]");
    assert_int_equal(defs->paths[defs->paths[path->parent].parent].parent, GN_NONE);
    free(map);
    finish(d, t, &f, 1);
}

static void processes_share_what_is_the_same(void **state)
{
    (void)state;
    struct fake f[2] = {make(0, false), make(1, false)};
    struct gn_translate *t;
    f[1].tag->frames[3] = f[1].tag->frames[2]; /* the same frame under another number */
    f[1].tag->frames[2] = (struct gn_tag_frame){1, 1, 0, 0x3000};
    GN_SET(f[1].tag->frame_count, 4);
    struct gn_event world = message(0, 1), self = message(1, 0);
    for (int i = 0; i < 2; i++) {
        push(&f[i], 0, GN_CALL_BARRIER, i == 0 ? 2 : 3, &world);
        push(&f[i], 0, GN_CALL_BARRIER, i == 0 ? 2 : 3, &self);
    }
    wanted = NO_LEAVES;
    struct gn_drain *d = drain(f, 2, &t);
    assert_int_equal(taken_count, 8);
    assert_int_equal(taken[0].path, taken[4].path);
    assert_int_equal(taken[1].comm, taken[5].comm);
    assert_int_not_equal(taken[3].comm, taken[7].comm); /* each its own MPI_COMM_SELF */
    assert_int_equal(t->definitions->comm_count, 3);
    assert_int_equal(t->definitions->process_count, WORLD);
    finish(d, t, f, 2);
}

static void both_sides_mean_one_intercommunicator(void **state)
{
    (void)state;
    struct fake f[2] = {make(0, false), make(3, false)};
    struct gn_translate *t;
    for (int i = 0; i < 2; i++) { /* ranks 0, 1 and 2, 3, each side's own group first */
        struct gn_ring_segment *s = f[i].rings.segment;
        const uint32_t mine = i == 0 ? 0 : 2, theirs = 2 - mine;
        memcpy(&s->words[4], (uint32_t[]){mine, 2, theirs, 2}, 4 * sizeof(uint32_t));
        GN_SET(s->word_count, 8);
        s->comms[2] = (struct gn_ring_comm){4, 1, 1, 0, 0, ""};
        GN_SET(s->comm_count, 3);
        struct gn_event event = message(2, 1);
        push_message(&f[i], 0, &event);
    }
    wanted = MESSAGES;
    struct gn_drain *d = drain(f, 2, &t);
    assert_int_equal(taken[0].comm, taken[1].comm);
    assert_int_equal(gn_comm_peer(t->definitions, taken[0].comm, 0, 1), 3);
    assert_int_equal(gn_comm_peer(t->definitions, taken[1].comm, 3, 1), 1);
    finish(d, t, f, 2);
}

static void windows_and_names(void **state)
{
    (void)state;
    struct fake f = make(0, false);
    struct gn_translate *t;
    f.rings.segment->windows[0] = (struct gn_ring_window){0, 0};
    f.rings.segment->windows[1] = (struct gn_ring_window){0, 1};
    GN_SET(f.rings.segment->window_count, 2);
    struct gn_event put = gn_event_bare(GN_EVENT_RMA_PUT, 0, 0);
    put.peer = 1;
    for (put.comm = 0; put.comm < 2; put.comm++)
        push_message(&f, 0, &put);
    gn_tracer_control(tracer_of(&f, 0), GN_EVENT_REGION_BEGIN, gn_ticks(), 0, GN_NONE, 0);
    wanted = MESSAGES;
    struct gn_drain *d = drain(&f, 1, &t);
    assert_int_not_equal(taken[0].comm, taken[1].comm);
    assert_int_equal(t->definitions->window_count, 2);
    assert_string_equal(gn_string(t->definitions, t->definitions->regions[taken[2].region].name), "solve");
    finish(d, t, &f, 1);
}

static void a_full_ring_is_taken_whole(void **state)
{
    (void)state;
    struct fake f = make(0, true);
    struct gn_translate *t;
    struct gn_tracer *tracer = tracer_of(&f, 0);
    f.rings.places[0].tail = tracer->head = 700; /* goes round the end */
    tracer->limit = 700 + RECORDS - 1;
    GN_SET(tracer->ring->tail, 700);
    GN_SET(tracer->ring->head, 700);
    for (int i = 0; i < RECORDS - 1; i++)
        push(&f, 0, GN_CALL_BARRIER, 0, NULL);
    wanted = NO_LEAVES;
    struct gn_drain *d = drain(&f, 1, &t);
    assert_int_equal(taken_count, 1 + RECORDS - 1); /* it began with 700 */
    assert_int_equal(taken[0].kind, GN_EVENT_LOST);
    assert_int_equal(GN_GET(tracer->ring->tail), 700 + RECORDS - 1);
    finish(d, t, &f, 1);
}

static void overwritten_records_are_told_once(void **state)
{
    (void)state;
    struct fake f = make(0, false);
    struct gn_translate *t;
    for (int i = 0; i < 3 * RECORDS; i++)
        push(&f, 0, GN_CALL_BARRIER, 0, NULL);
    struct gn_drain *d = drain(&f, 1, &t);
    assert_int_equal(taken[0].kind, GN_EVENT_LOST);
    assert_int_equal(gn_drain_stats(d)->dropped, taken[0].request);
    assert_int_equal(gn_drain_stats(d)->events, 2 * (3 * RECORDS - taken[0].request));
    assert_int_equal(taken_count, 1 + gn_drain_stats(d)->events);
    finish(d, t, &f, 1);
}

static void a_failed_output_is_counted(void **state)
{
    (void)state;
    struct fake f = make(0, true);
    struct gn_translate *t;
    for (int i = 0; i < 5; i++)
        push(&f, 0, GN_CALL_BARRIER, 0, NULL);
    write_code = -28;
    write_from = 4;
    struct gn_drain *d = drain(&f, 1, &t);
    assert_int_equal(gn_drain_stats(d)->events, 4);
    assert_int_equal(gn_drain_stats(d)->unwritten, 6);
    assert_string_equal(gn_drain_stats(d)->error.text, "the disk is full");
    assert_int_equal(GN_GET(gn_ring_of(f.rings.segment, 0, RECORDS)->tail), 5);
    finish(d, t, &f, 1);
}

static void two_of_one_rank_stay_apart(void **state)
{
    (void)state;
    struct fake f[2] = {make(1, false), make(1, false)};
    struct gn_translate *t;
    push(&f[0], 0, GN_CALL_BARRIER, 0, NULL);
    push(&f[1], 0, GN_CALL_BARRIER, 0, NULL);
    wanted = NO_LEAVES;
    struct gn_drain *d = drain(f, 2, &t);
    const struct gn_location_def *l = t->definitions->locations;
    assert_int_not_equal(l[taken[0].location].file_id, l[taken[1].location].file_id);
    assert_int_not_equal(l[taken[0].location].process, l[taken[1].location].process);
    finish(d, t, f, 2);
}

static void without_a_rank_nothing_is_lost(void **state)
{
    (void)state;
    struct fake f = make(-1, false);
    struct gn_translate *t;
    push(&f, 0, GN_CALL_INIT, 0, NULL);
    struct gn_drain *d = drain(&f, 1, &t);
    assert_int_equal(taken_count, 2);
    finish(d, t, &f, 1);
}

/* A thread that made another one, and the other one's ring: names that no other process has. */
static void threads_are_named(void **state)
{
    (void)state;
    static const struct {
        enum gn_event_kind kind;
        uint32_t location;
    } told[] = {{GN_EVENT_THREAD_CREATE, 0},
                {GN_EVENT_THREAD_BEGIN, 1},
                {GN_EVENT_THREAD_END, 1},
                {GN_EVENT_THREAD_WAIT, 0}};
    struct fake f = make(3, false);
    struct gn_translate *t;
    GN_SET(f.tag->location_count, 2);
    for (size_t i = 0; i < 4; i++)
        gn_tracer_control(tracer_of(&f, told[i].location), told[i].kind, gn_ticks(), 0, 7, 0);
    gn_tracer_control(tracer_of(&f, 1), GN_EVENT_THREAD_BEGIN, gn_ticks(), 0, 0, 0);
    struct gn_drain *d = drain(&f, 1, &t);
    assert_int_equal(taken_count, 5);
    for (size_t i = 0; i < taken_count; i++) {
        const bool has_name = taken[i].kind != GN_EVENT_THREAD_BEGIN || i + 1 < taken_count;
        assert_int_equal(taken[i].request, has_name ? UINT64_C(3) << 32 | 7 : 0);
        assert_int_equal(taken[i].comm, GN_NONE);
    }
    assert_int_equal(gn_drain_stats(d)->garbled, 0);
    finish(d, t, &f, 1);
}

/* ---- garbage ---- */

static void nonsense_is_counted(void **state)
{
    (void)state;
    struct fake f = make(0, false);
    struct gn_translate *t;
    struct gn_event bad[] = {message(2, 0), message(70000, 0), message(0, WORLD)};
    push(&f, 0, GN_CALL_COUNT, 1, NULL); /* no activity of a call */
    push(&f, 0, GN_CALL_SEND, 3, NULL);  /* no such path, of the enter and of the leave */
    for (size_t i = 0; i < 3; i++) /* GN_RING_COMMS and more are no communicator when they are written */
        push_message(&f, 0, &bad[i]);
    gn_tracer_control(tracer_of(&f, 0), GN_EVENT_REGION_BEGIN, gn_ticks(), 0, 1, 1);
    gn_tracer_control(tracer_of(&f, 0), GN_EVENT_THREAD_FORK, gn_ticks(), 0, 1, 1); /* not of a ring */
    struct gn_drain *d = drain(&f, 1, &t);
    assert_int_equal(taken_count, 2 + 2 + 3 * 3 + 1 + 1);
    assert_int_equal(gn_drain_stats(d)->garbled, 1 + 2 + 2 + 1);
    assert_int_equal(taken[0].region, GN_NONE);
    assert_int_equal(taken[2].path, GN_NONE);
    assert_int_equal(taken[5].comm, GN_NONE);
    assert_int_equal(taken[8].comm, GN_NONE);
    assert_int_equal(taken[11].peer, GN_NONE);
    assert_int_equal(taken[13].region, GN_NONE);
    finish(d, t, &f, 1);
}

static void impossible_times_do_not_stretch_the_trace(void **state)
{
    (void)state;
    struct fake f = make(0, false);
    struct gn_translate *t;
    uint32_t node = node_of(&f, 0, GN_CALL_SEND, 0);
    uint64_t now = gn_ticks();
    struct gn_call_span spans[] = {{now, now, node}, {now, UINT64_MAX, node}, {3, 3, node}};
    GN_SET(f.tag->start_ticks, 1000);
    for (int i = 0; i < 3; i++)
        gn_tracer_call(tracer_of(&f, 0), &spans[i]);
    struct gn_drain *d = drain(&f, 1, &t);
    assert_int_equal(taken_count, 6);
    assert_int_equal(t->first_ticks, now);
    assert_int_equal(t->last_ticks, now);
    assert_int_equal(gn_drain_stats(d)->garbled, 3);
    finish(d, t, &f, 1);
}

static void a_wild_head_costs_one_ring(void **state)
{
    (void)state;
    struct fake f = make(0, false);
    struct gn_translate *t;
    push(&f, 1, 0, 0, NULL);
    GN_SET(f.tag->location_count, 1000); /* four there are */
    GN_SET(gn_ring_of(f.rings.segment, 0, RECORDS)->head, UINT64_MAX / 2);
    struct gn_drain *d = drain(&f, 1, &t);
    assert_int_equal(taken_count, 2);
    assert_true(gn_drain_stats(d)->garbled > 0);
    finish(d, t, &f, 1);
}

/* Everything that is shared, random: whatever comes out refers to what is defined. */
static void random_memory_does_no_harm(void **state)
{
    (void)state;
    unsigned seed = (unsigned)getpid();
    print_message("seed %u\n", seed);
    srandom(seed);
    for (int round = 0; round < 20; round++) {
        struct fake f = make(0, false);
        struct gn_translate *t;
        struct gn_ring_segment *s = f.rings.segment;
        for (size_t i = 0; i < 64; i++) {
            ((uint32_t *)s->comms)[random() % 256] = (uint32_t)random() % 64;
            ((uint32_t *)s->windows)[random() % 16] = (uint32_t)random() % 8;
            ((uint32_t *)f.tag->frames)[random() % 64] = (uint32_t)random();
            s->words[random() % 64] = (uint32_t)random() % 16;
        }
        GN_SET(s->comm_count, (uint32_t)random() % 80000);
        GN_SET(s->window_count, (uint32_t)random() % 8000);
        GN_SET(s->word_count, (uint32_t)random());
        GN_SET(f.tag->frame_count, (uint32_t)random() % 70000);
        GN_SET(f.tag->module_count, (uint32_t)random() % 4);
        for (uint32_t i = 0; i < 40; i++)
            node_of(&f, 0, (uint32_t)random() % (GN_CALL_COUNT + 8), (uint32_t)random() % 64);
        for (uint64_t i = 0; i < RECORDS - 1; i++) {
            struct gn_record record = {{(uint64_t)random(), 0, (uint64_t)random() << 32 | (uint64_t)random(),
                                        (uint64_t)random() << 32 | (uint64_t)random()}};
            record.word[1] = gn_record_word1((uint64_t)random(), (uint32_t)random() % 44,
                                             (unsigned)random() % 64, (unsigned)random() % 64);
            record.word[2] &= random() % 2 ? 0x000f000fffffffff : UINT64_MAX;
            gn_tracer_write(tracer_of(&f, 0), &record);
        }
        struct gn_drain *d = drain(&f, 1, &t);
        for (size_t i = 0; i < taken_count; i++) {
            const struct gn_event *e = &taken[i];
            bool rma = e->kind >= GN_EVENT_RMA_WIN_CREATE && e->kind <= GN_EVENT_RMA_SYNC;
            assert_in_range(e->location, 0, t->definitions->location_count - 1);
            assert_true(gn_event_has_number(e->kind) || e->region == GN_NONE ||
                        e->region < t->definitions->region_count);
            assert_true(gn_event_has_number(e->kind) || e->path == GN_NONE || e->path < t->node_count);
            assert_true(e->comm == GN_NONE ||
                        e->comm < (rma ? t->definitions->window_count : t->definitions->comm_count));
        }
        finish(d, t, &f, 1);
    }
}

/* ---- what is left for others ---- */

static char folder[64];

static char *part_path(void)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/" GN_PART_FILE, folder);
    return path;
}

/* A part with one of everything. */
static struct gn_drain *make_part(struct fake *f, struct gn_agent_part *part)
{
    *f = make(0, false);
    f->rings.segment->windows[0] = (struct gn_ring_window){0, 0};
    GN_SET(f->rings.segment->window_count, 1);
    struct gn_event events[] = {message(0, 1), gn_event_bare(GN_EVENT_RMA_PUT, 0, 0)};
    events[1].comm = 0;
    for (int i = 0; i < 2; i++)
        push_message(f, 0, &events[i]);
    *part = (struct gn_agent_part){.began = {1, 2}, .ended = {3, 4}};
    struct gn_drain *d = drain(f, 1, &part->translate);
    assert_int_equal(gn_trace_paths(part->translate, NULL, &part->paths, NULL), 0);
    snprintf(folder, sizeof folder, "/tmp/gnomon-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return d;
}

static void drop_part(struct gn_drain *d, struct fake *f, struct gn_agent_part *part)
{
    unlink(part_path());
    rmdir(folder);
    free(part->paths);
    finish(d, part->translate, f, 1);
}

static void a_part_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct gn_agent_part part, copy;
    struct gn_error err;
    struct fake f;
    struct gn_drain *d = make_part(&f, &part);
    assert_int_equal(gn_part_save(&part, folder, &err), 0);
    assert_int_equal(gn_part_load(&copy, folder, &err), 0);
    const struct gn_definitions *a = part.translate->definitions, *b = copy.translate->definitions;
    assert_int_equal(a->location_count, b->location_count);
    assert_int_equal(a->path_count, b->path_count);
    assert_memory_equal(a->paths, b->paths, a->path_count * sizeof *a->paths);
    assert_memory_equal(a->processes, b->processes, a->process_count * sizeof *a->processes);
    assert_int_equal(a->comm_count, b->comm_count);
    assert_memory_equal(a->comms[0].members, b->comms[0].members, WORLD * sizeof *a->comms[0].members);
    assert_int_equal(b->window_count, 1);
    assert_string_equal(gn_string(a, a->regions[0].name), gn_string(b, b->regions[0].name));
    assert_int_equal(copy.translate->node_count, part.translate->node_count);
    assert_memory_equal(copy.paths, part.paths, part.translate->node_count * sizeof *part.paths);
    assert_int_equal(copy.ended.ns, 4);
    gn_part_clear(&copy);
    drop_part(d, &f, &part);
}

static void a_part_that_is_not_whole_is_refused(void **state)
{
    (void)state;
    struct gn_agent_part part, copy;
    struct gn_error err;
    struct fake f;
    struct gn_drain *d = make_part(&f, &part);
    assert_int_equal(gn_part_save(&part, folder, &err), 0);
    FILE *file = fopen(part_path(), "r");
    fseek(file, 0, SEEK_END);
    long bytes = ftell(file);
    fclose(file);
    for (long length = bytes - 1; length >= 0; length -= 1 + length / 200) {
        assert_int_equal(truncate(part_path(), length), 0);
        assert_true(gn_part_load(&copy, folder, &err) < 0);
    }
    drop_part(d, &f, &part);
}

/* Wherever a byte is wrong: refused, or everything refers to what is there. */
static void a_wrong_byte_does_no_harm(void **state)
{
    (void)state;
    struct gn_agent_part part, copy;
    struct gn_error err;
    struct fake f;
    struct gn_drain *d = make_part(&f, &part);
    srandom(7);
    for (int round = 0; round < 2000; round++) {
        assert_int_equal(gn_part_save(&part, folder, &err), 0);
        FILE *file = fopen(part_path(), "r+");
        fseek(file, 0, SEEK_END);
        long bytes = ftell(file);
        fseek(file, random() % bytes, SEEK_SET);
        fputc((int)(random() % 256), file);
        fclose(file);
        if (gn_part_load(&copy, folder, &err) != 0)
            continue;
        const struct gn_definitions *b = copy.translate->definitions;
        for (size_t i = 0; i < copy.translate->node_count; i++)
            assert_true(!copy.paths || copy.paths[i] == GN_NONE || copy.paths[i] < b->path_count);
        for (size_t i = 0; i < b->comm_count; i++)
            for (size_t m = 0; m < b->comms[i].member_count + (size_t)b->comms[i].other_count; m++)
                assert_in_range(b->comms[i].members[m], 0, b->process_count - 1);
        gn_part_clear(&copy);
    }
    drop_part(d, &f, &part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_events_in_order),
        cmocka_unit_test(nobody_is_alive_for_an_unknown_rank),
        cmocka_unit_test(paths_are_chains_of_frames),
        cmocka_unit_test(processes_share_what_is_the_same),
        cmocka_unit_test(both_sides_mean_one_intercommunicator),
        cmocka_unit_test(windows_and_names),
        cmocka_unit_test(a_full_ring_is_taken_whole),
        cmocka_unit_test(overwritten_records_are_told_once),
        cmocka_unit_test(a_failed_output_is_counted),
        cmocka_unit_test(two_of_one_rank_stay_apart),
        cmocka_unit_test(without_a_rank_nothing_is_lost),
        cmocka_unit_test(threads_are_named),
        cmocka_unit_test(nonsense_is_counted),
        cmocka_unit_test(impossible_times_do_not_stretch_the_trace),
        cmocka_unit_test(a_wild_head_costs_one_ring),
        cmocka_unit_test(random_memory_does_no_harm),
        cmocka_unit_test(a_part_is_read_as_it_was_written),
        cmocka_unit_test(a_part_that_is_not_whole_is_refused),
        cmocka_unit_test(a_wrong_byte_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

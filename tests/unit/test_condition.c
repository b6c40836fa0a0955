/* condition: which messages of a trace break the clock condition, by hand-made streams. Nothing of the repair
 * is used here, and what depends on what is written down once more, as matrices. */
#include "repair/condition.h"
#include "repair/condition_collectives.h"
#include "repeated.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORLD, ODD, INTER, SELF }; /* communicators */
enum { FOUR = 4 };

struct stream {
    struct gn_event *events;
    size_t count, capacity;
    bool given;
};

/* Processes of one location each; in the communicator WORLD all, in ODD all but the first, in INTER the first
 * half and the others. Window 0 is on WORLD. */
struct scene {
    struct gn_definitions *d;
    struct stream *streams;
    uint32_t size;
    const struct gn_presync *bounds;
    struct gn_condition found;
};

static uint32_t add_comm(struct scene *s, uint32_t first, uint32_t count, uint32_t others)
{
    uint32_t *members = malloc((s->size + 1) * sizeof *members);
    assert_non_null(members);
    for (uint32_t i = 0; i < s->size; i++)
        members[i] = first + i;
    uint32_t comm = gn_define_comm(
        s->d, &(struct gn_comm_def){.member_count = count, .other_count = others, .members = members});
    free(members);
    return comm;
}

/* domains: process p reads the clock p % domains. */
static struct scene scene_of(uint32_t size, uint32_t domains)
{
    struct scene s = {.d = gn_definitions_new(), .size = size};
    s.streams = calloc(size, sizeof *s.streams);
    assert_non_null(s.streams);
    for (uint32_t p = 0; p < size; p++) {
        gn_define_process(s.d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)p});
        gn_define_location(s.d, &(struct gn_location_def){.process = p, .domain = p % domains, .file_id = p});
    }
    assert_int_equal(add_comm(&s, 0, size, 0), WORLD);
    assert_int_equal(add_comm(&s, 1, size - 1, 0), ODD);
    assert_int_equal(add_comm(&s, 0, size / 2, size - size / 2), INTER);
    gn_define_comm(s.d, &(struct gn_comm_def){.is_self = true});
    gn_define_window(s.d, &(struct gn_window_def){.comm = WORLD});
    return s;
}

static void close_scene(struct scene *s)
{
    for (uint32_t i = 0; i < s->size; i++)
        free(s->streams[i].events);
    free(s->streams);
    gn_definitions_free(s->d);
}

static void add(struct scene *s, struct gn_event e)
{
    struct stream *stream = &s->streams[e.location];
    if (stream->count == stream->capacity) {
        stream->capacity = stream->capacity ? 2 * stream->capacity : 2;
        stream->events = reallocarray(stream->events, stream->capacity, sizeof *stream->events);
        assert_non_null(stream->events);
    }
    stream->events[stream->count++] = e;
}

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct stream *stream = &((struct scene *)self)->streams[location];
    (void)err;
    *events = stream->events;
    int64_t count = stream->given ? 0 : (int64_t)stream->count;
    stream->given = true;
    return count;
}

static int try_check(struct scene *s, const struct gn_latency *latency, struct gn_error *err)
{
    struct gn_source source = {.self = s, .definitions = s->d, .pull = pull};
    const struct gn_presync raw = {.kind = GN_PRESYNC_NONE, .definitions = s->d};
    for (uint32_t i = 0; i < s->size; i++)
        s->streams[i].given = false;
    const struct gn_condition_terms terms = {&raw, latency, s->bounds};
    return gn_condition_check(&source, &terms, &s->found, err);
}

static void check(struct scene *s, const struct gn_latency *latency)
{
    struct gn_error err = {""};
    assert_int_equal(try_check(s, latency, &err), 0);
}

/* ---- events ---- */

static struct gn_event make(enum gn_event_kind kind, uint32_t location, uint64_t ticks)
{
    return gn_event_bare(kind, location, ticks);
}

static struct gn_event message(enum gn_event_kind kind, uint32_t location, uint64_t ticks, uint32_t peer,
                               uint64_t request)
{
    struct gn_event e = make(kind, location, ticks);
    e.comm = WORLD;
    e.peer = peer;
    e.tag = 7;
    e.request = request;
    return e;
}

#define SEND(from, ticks, to) add(&s, message(GN_EVENT_MPI_SEND, from, ticks, to, 0))
#define RECV(to, ticks, from) add(&s, message(GN_EVENT_MPI_RECV, to, ticks, from, 0))

/* How a collective is written into a trace. */
enum way {
    BLOCKING,
    NAMELESS,    /* blocking; its begin does not say what it is */
    NONBLOCKING, /* its begin says on which communicator it is */
    ANONYMOUS,   /* its begin says nothing */
    ON_WINDOW,
    WAYS
};

struct call {
    enum way way;
    uint32_t comm, root;
    uint8_t op;
    uint64_t request;
};

static void begin(struct scene *s, struct call call, uint32_t location, uint64_t ticks)
{
    static const enum gn_event_kind kinds[WAYS] = {GN_EVENT_COLLECTIVE_BEGIN, GN_EVENT_COLLECTIVE_BEGIN,
                                                   GN_EVENT_NBC_REQUEST, GN_EVENT_NBC_REQUEST,
                                                   GN_EVENT_RMA_COLLECTIVE_BEGIN};
    struct gn_event e = make(kinds[call.way], location, ticks);
    e.request = call.request;
    if (call.way != NAMELESS && call.way != ANONYMOUS) {
        e.comm = call.way == ON_WINDOW ? 0 : call.comm;
        e.op = call.op;
        e.peer = call.root;
    }
    add(s, e);
}

static void end_with(struct scene *s, struct call call, uint32_t location, uint64_t ticks, uint64_t sent,
                     uint64_t received)
{
    static const enum gn_event_kind kinds[WAYS] = {GN_EVENT_COLLECTIVE_END, GN_EVENT_COLLECTIVE_END,
                                                   GN_EVENT_NBC_COMPLETE, GN_EVENT_NBC_COMPLETE,
                                                   GN_EVENT_RMA_COLLECTIVE_END};
    struct gn_event e = make(kinds[call.way], location, ticks);
    e.request = call.request;
    e.comm = call.way == ON_WINDOW ? 0 : call.comm;
    e.op = call.op;
    e.peer = call.root;
    e.bytes_sent = sent;
    e.bytes_received = received;
    add(s, e);
}

static void end(struct scene *s, struct call call, uint32_t location, uint64_t ticks)
{
    end_with(s, call, location, ticks, 8, 8);
}

/* ---- messages ---- */

static void a_message_is_after_its_send(void **state)
{
    (void)state;
    struct scene s = scene_of(2, 2);
    SEND(0, 100, 1);
    SEND(0, 200, 1);
    SEND(0, 300, 1);
    RECV(1, 100, 0); /* at the same time: nothing is wrong */
    RECV(1, 193, 0);
    RECV(1, 299, 0);
    check(&s, NULL);
    assert_int_equal(s.found.messages.messages, 3);
    assert_int_equal(s.found.messages.reversed, 2);
    assert_int_equal(s.found.messages.violating, 2);
    assert_int_equal(s.found.messages.worst_ticks, 7);
    assert_int_equal(s.found.messages.error_ticks_max, 7);
    assert_true(s.found.messages.error_ticks_sum == 8);
    assert_int_equal(s.found.worst.from, 0);
    assert_int_equal(s.found.worst.to, 1);
    assert_int_equal(s.found.worst.sent_ticks, 200);
    assert_int_equal(s.found.worst.received_ticks, 193);
    assert_false(s.found.worst.is_collective);
    assert_int_equal(s.found.events, 6);
    assert_int_equal(s.found.backward, 0);
    assert_false(gn_condition_holds(&s.found));
    close_scene(&s);
}

static void receives_count_in_posting_order(void **state)
{
    (void)state;
    struct scene s = scene_of(2, 1);
    SEND(0, 100, 1);
    SEND(0, 500, 1);
    add(&s, message(GN_EVENT_MPI_IRECV_REQUEST, 1, 10, 0, 1));
    add(&s, message(GN_EVENT_MPI_IRECV_REQUEST, 1, 11, 0, 2));
    add(&s, message(GN_EVENT_MPI_IRECV, 1, 400, 0, 2)); /* of the second message */
    add(&s, message(GN_EVENT_MPI_IRECV, 1, 600, 0, 1));
    check(&s, NULL);
    assert_int_equal(s.found.messages.messages, 2);
    assert_int_equal(s.found.messages.reversed, 1);
    assert_int_equal(s.found.messages.worst_ticks, 100);
    assert_int_equal(s.found.ambiguous, 0);
    close_scene(&s);
}

/* µ of this test: from domain to domain. */
static struct gn_latency latency_of(int64_t *ticks, uint32_t domains, int64_t between)
{
    return (struct gn_latency){.domains = domains, .ticks = ticks, .between_ticks = between};
}

static void a_message_takes_its_time(void **state)
{
    (void)state;
    int64_t ticks[] = {5, 20, 30, 5};
    const struct gn_latency latency = latency_of(ticks, 2, 20);
    struct scene s = scene_of(4, 2);
    SEND(0, 100, 1);
    RECV(1, 119, 0); /* short by 1 */
    SEND(1, 200, 0);
    RECV(0, 229, 1); /* short by 1 */
    SEND(0, 300, 1);
    RECV(1, 320, 0);
    SEND(0, 400, 2); /* one domain */
    RECV(2, 404, 0);
    SEND(2, 500, 0);
    RECV(0, 505, 2);
    SEND(3, 600, 3); /* to itself: only the order counts */
    RECV(3, 600, 3);
    check(&s, &latency);
    assert_int_equal(s.found.messages.messages, 6);
    assert_int_equal(s.found.messages.reversed, 0);
    assert_int_equal(s.found.messages.violating, 3);
    assert_int_equal(s.found.messages.worst_ticks, 1);
    assert_false(gn_condition_holds(&s.found));
    check(&s, NULL);
    assert_int_equal(s.found.messages.violating, 0);
    assert_int_equal(s.found.worst.from, GN_NONE);
    assert_true(gn_condition_holds(&s.found));
    close_scene(&s);
}

static void going_back_at_a_location_is_no_order(void **state)
{
    (void)state;
    struct scene s = scene_of(2, 1);
    add(&s, make(GN_EVENT_ENTER, 0, 100));
    add(&s, make(GN_EVENT_LEAVE, 0, 100));
    check(&s, NULL);
    assert_true(gn_condition_holds(&s.found));
    add(&s, make(GN_EVENT_ENTER, 0, 99));
    add(&s, make(GN_EVENT_ENTER, 1, 5)); /* another location's business */
    check(&s, NULL);
    assert_int_equal(s.found.backward, 1);
    assert_int_equal(s.found.events, 4);
    assert_false(gn_condition_holds(&s.found));
    close_scene(&s);
}

static void a_nonsense_time_is_an_error(void **state)
{
    (void)state;
    struct gn_error err = {""};
    struct scene s = scene_of(2, 1);
    add(&s, make(GN_EVENT_ENTER, 1, UINT64_MAX - 1));
    assert_int_equal(try_check(&s, NULL, &err), -ERANGE);
    assert_non_null(strstr(err.text, "18446744073709551614"));
    close_scene(&s);
}

/* ---- which end depends on which begin ---- */

/* Rows: whose begin; columns: whose end. */
static const struct matrix {
    uint8_t op;
    uint32_t root;
    const char *depends;
    bool sparse, vague;
} matrices[] = {
    {GN_COLLECTIVE_BARRIER, GN_NONE, "0111 1011 1101 1110", false, false},
    {GN_COLLECTIVE_BCAST, 1, "0000 1011 0000 0000", false, false},
    {GN_COLLECTIVE_BCAST, 0, "0111 0000 0000 0000", false, false},
    {GN_COLLECTIVE_GATHER, 2, "0010 0010 0000 0010", false, false},
    {GN_COLLECTIVE_GATHERV, 3, "0001 0001 0001 0000", true, false},
    {GN_COLLECTIVE_SCATTER, 3, "0000 0000 0000 1110", false, false},
    {GN_COLLECTIVE_SCATTERV, 2, "0000 0000 1101 0000", true, false},
    {GN_COLLECTIVE_ALLGATHER, GN_NONE, "0111 1011 1101 1110", false, false},
    {GN_COLLECTIVE_ALLGATHERV, GN_NONE, "0111 1011 1101 1110", true, false},
    {GN_COLLECTIVE_ALLTOALL, GN_NONE, "0111 1011 1101 1110", false, false},
    {GN_COLLECTIVE_ALLTOALLV, GN_NONE, "0111 1011 1101 1110", true, true},
    {GN_COLLECTIVE_ALLTOALLW, GN_NONE, "0111 1011 1101 1110", true, true},
    {GN_COLLECTIVE_ALLREDUCE, GN_NONE, "0111 1011 1101 1110", false, false},
    {GN_COLLECTIVE_REDUCE, 0, "0000 1000 1000 1000", false, false},
    {GN_COLLECTIVE_REDUCE_SCATTER, GN_NONE, "0111 1011 1101 1110", true, false},
    {GN_COLLECTIVE_REDUCE_SCATTER_BLOCK, GN_NONE, "0111 1011 1101 1110", false, false},
    {GN_COLLECTIVE_SCAN, GN_NONE, "0111 0011 0001 0000", false, false},
    {GN_COLLECTIVE_EXSCAN, GN_NONE, "0111 0011 0001 0000", false, false},
    {GN_COLLECTIVE_CREATE_HANDLE, GN_NONE, "0111 1011 1101 1110", false, true},
    {GN_COLLECTIVE_DESTROY_HANDLE, GN_NONE, "0111 1011 1101 1110", false, true},
    {GN_COLLECTIVE_ALLOCATE, GN_NONE, "0111 1011 1101 1110", false, true},
    {GN_COLLECTIVE_DEALLOCATE, GN_NONE, "0111 1011 1101 1110", false, true},
    {GN_COLLECTIVE_CREATE_HANDLE_AND_ALLOCATE, GN_NONE, "0111 1011 1101 1110", false, true},
    {GN_COLLECTIVE_DESTROY_HANDLE_AND_DEALLOCATE, GN_NONE, "0111 1011 1101 1110", false, true},
    {GN_COLLECTIVE_UNKNOWN, GN_NONE, "0111 1011 1101 1110", false, true},
};

/* On INTER: two and two. root: of the members 0 to 3. */
static const struct matrix between[] = {
    {GN_COLLECTIVE_BARRIER, GN_NONE, "0011 0011 1100 1100", false, false},
    {GN_COLLECTIVE_BCAST, 1, "0000 0011 0000 0000", false, false},
    {GN_COLLECTIVE_BCAST, 2, "0000 0000 1100 0000", false, false},
    {GN_COLLECTIVE_SCATTERV, 0, "0011 0000 0000 0000", true, false},
    {GN_COLLECTIVE_GATHER, 0, "0000 0000 1000 1000", false, false},
    {GN_COLLECTIVE_GATHERV, 3, "0001 0001 0000 0000", true, false},
    {GN_COLLECTIVE_REDUCE, 2, "0010 0010 0000 0000", false, false},
    {GN_COLLECTIVE_ALLGATHERV, GN_NONE, "0011 0011 1100 1100", true, false},
    {GN_COLLECTIVE_ALLREDUCE, GN_NONE, "0011 0011 1100 1100", false, false},
    {GN_COLLECTIVE_ALLTOALLV, GN_NONE, "0011 0011 1100 1100", true, true},
};

static bool depends(const struct matrix *m, uint32_t from, uint32_t to)
{
    return m->depends[5 * from + to] == '1';
}

static uint64_t dependencies(const struct matrix *m)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < FOUR * FOUR; i++)
        count += depends(m, i / FOUR, i % FOUR);
    return count;
}

/* What the member calls the root. */
static uint32_t root_for(const struct matrix *m, uint32_t comm, uint32_t member)
{
    if (comm != INTER || m->root == GN_NONE)
        return m->root;
    if (m->root / 2 == member / 2)
        return m->root == member ? GN_ROOT_SELF : GN_ROOT_NONE;
    return m->root % 2;
}

struct bytes {
    uint32_t silent, deaf; /* members that send, or receive, nothing; GN_NONE */
};

/* An instance in which only one end is before only one begin. */
static void late(struct scene *s, const struct matrix *m, enum way way, uint32_t comm, uint32_t giver,
                 uint32_t getter, struct bytes bytes)
{
    for (uint32_t i = 0; i < FOUR; i++) {
        const struct call call = {way, comm, root_for(m, comm, i), m->op, 11};
        begin(s, call, i, i == giver ? 1000 : 100);
        end_with(s, call, i, i == getter ? (i == giver ? 1000 : 990) : 1100, i == bytes.silent ? 0 : 8,
                 i == bytes.deaf ? 0 : 8);
    }
}

static void assert_counted(const struct scene *s, const struct matrix *m, enum way way, uint64_t messages,
                           uint64_t reversed)
{
    const bool vague = m->vague || way == ON_WINDOW;
    const struct gn_condition_count *in = vague ? &s->found.uncertain : &s->found.collectives;
    const struct gn_condition_count *not_in = vague ? &s->found.collectives : &s->found.uncertain;
    if (in->messages != messages || in->reversed != reversed || in->violating != reversed ||
        in->worst_ticks != 10 * (int64_t)reversed || in->error_ticks_sum != 10.0 * (double)reversed)
        fail_msg("%s, way %d: %llu messages, %llu reversed (%llu, %llu expected)", gn_collective_name(m->op),
                 way, (unsigned long long)in->messages, (unsigned long long)in->reversed,
                 (unsigned long long)messages, (unsigned long long)reversed);
    assert_int_equal(not_in->messages, 0);
    assert_int_equal(s->found.unmatched, 0);
    assert_int_equal(s->found.worst.from != GN_NONE, !vague && reversed > 0);
    assert_int_equal(gn_condition_holds(&s->found), vague || reversed == 0);
}

static void each_pair(const struct matrix *m, enum way way, uint32_t comm)
{
    for (uint32_t i = 0; i < FOUR * FOUR; i++) {
        const uint32_t giver = i / FOUR, getter = i % FOUR;
        struct scene s = scene_of(FOUR, 2);
        late(&s, m, way, comm, giver, getter, (struct bytes){GN_NONE, GN_NONE});
        check(&s, NULL);
        assert_counted(&s, m, way, dependencies(m), giver != getter && depends(m, giver, getter));
        if (s.found.worst.from != GN_NONE) {
            assert_int_equal(s.found.worst.from, giver);
            assert_int_equal(s.found.worst.to, getter);
            assert_int_equal(s.found.worst.sent_ticks, 1000);
            assert_int_equal(s.found.worst.received_ticks, 990);
            assert_true(s.found.worst.is_collective);
        }
        close_scene(&s);
    }
}

static void an_end_is_after_the_begins_it_depends_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        for (enum way way = BLOCKING; way < WAYS; way++)
            each_pair(&matrices[i], way, WORLD);
}

static void between_groups_data_goes_to_the_other_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof between / sizeof *between; i++)
        for (enum way way = BLOCKING; way < ON_WINDOW; way++)
            each_pair(&between[i], way, INTER);
}

/* The dependencies without a member's row and another's column. */
static uint64_t remaining(const struct matrix *m, struct bytes bytes)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < FOUR * FOUR; i++)
        count += depends(m, i / FOUR, i % FOUR) &&
                 !(m->sparse && (i / FOUR == bytes.silent || i % FOUR == bytes.deaf));
    return count;
}

static void nobody(const struct matrix *m, uint32_t comm)
{
    for (uint32_t i = 0; i < FOUR * FOUR; i++) {
        const uint32_t giver = i / FOUR, getter = i % FOUR;
        const struct bytes ways[] = {{giver, GN_NONE}, {GN_NONE, getter}, {getter, giver}};
        if (giver == getter)
            continue;
        for (size_t w = 0; w < 3; w++) {
            struct scene s = scene_of(FOUR, 2);
            late(&s, m, BLOCKING, comm, giver, getter, ways[w]);
            check(&s, NULL);
            assert_counted(&s, m, BLOCKING, remaining(m, ways[w]),
                           depends(m, giver, getter) && !(m->sparse && w < 2));
            close_scene(&s);
        }
    }
}

static void nothing_sent_or_received_is_no_message_where_lengths_vary(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        nobody(&matrices[i], WORLD);
    for (size_t i = 0; i < sizeof between / sizeof *between; i++)
        nobody(&between[i], INTER);
}

static void nothing_at_all_may_be_no_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        const struct matrix *m = &matrices[i];
        struct scene s = scene_of(FOUR, 2);
        for (uint32_t p = 0; p < FOUR; p++) {
            const struct call call = {BLOCKING, WORLD, m->root, m->op, 0};
            begin(&s, call, p, 100);
            end_with(&s, call, p, 90, 0, 0);
        }
        check(&s, NULL);
        const uint64_t all = m->sparse ? 0 : dependencies(m);
        const bool certain = m->op == GN_COLLECTIVE_BARRIER;
        assert_int_equal(s.found.collectives.reversed, certain ? all : 0);
        assert_int_equal(s.found.uncertain.reversed, certain ? 0 : all);
        close_scene(&s);
    }
}

/* ---- µ of collectives ---- */

static void logical_messages_take_their_time(void **state)
{
    (void)state;
    const struct call barrier = {BLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    int64_t ticks[] = {3, 50, 50, 20}; /* within the second domain not more than between them */
    const struct gn_latency latency = latency_of(ticks, 2, 10);
    static const struct {
        uint32_t giver, getter;
        int64_t needed;
    } cases[] = {{0, 1, 10}, {1, 0, 10}, {0, 2, 3}, {2, 0, 3}, {1, 3, 10}, {3, 1, 10}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const uint32_t giver = cases[i / 2].giver, getter = cases[i / 2].getter;
        const int64_t early = i % 2;
        struct scene s = scene_of(FOUR, 2);
        for (uint32_t m = 0; m < FOUR; m++) {
            begin(&s, barrier, m, m == giver ? 1000 : 100);
            end(&s, barrier, m, m == getter ? (uint64_t)(1000 + cases[i / 2].needed - early) : 1100);
        }
        check(&s, &latency);
        assert_int_equal(s.found.collectives.messages, 12);
        assert_int_equal(s.found.collectives.reversed, 0);
        assert_int_equal(s.found.collectives.violating, early);
        assert_int_equal(s.found.collectives.worst_ticks, early);
        assert_int_equal(s.found.worst.from, early ? giver : GN_NONE);
        close_scene(&s);
    }
}

/* ---- which instance ---- */

static void nonblocking_ones_count_from_when_they_start(void **state)
{
    (void)state;
    for (int way = NONBLOCKING; way <= ANONYMOUS; way++) {
        const struct call first = {(enum way)way, WORLD, 0, GN_COLLECTIVE_BCAST, 1};
        const struct call second = {(enum way)way, WORLD, 0, GN_COLLECTIVE_BCAST, 2};
        const struct call other = {(enum way)way, ODD, 0, GN_COLLECTIVE_BCAST, 3};
        struct scene s = scene_of(3, 3);
        begin(&s, first, 0, 100);
        begin(&s, second, 0, 500);
        end(&s, first, 0, 510);
        end(&s, second, 0, 520);
        begin(&s, other, 1, 10); /* member 0 of it: the root */
        for (uint32_t m = 1; m < 3; m++) {
            begin(&s, first, m, 20);
            begin(&s, second, m, 21);
        }
        begin(&s, other, 2, 23);
        end(&s, other, 2, 24);
        for (uint32_t m = 1; m < 3; m++) {
            end(&s, second, m, 400); /* before 500: two are wrong */
            end(&s, first, m, 450);  /* after 100 */
        }
        end(&s, other, 1, 600);
        check(&s, NULL);
        assert_int_equal(s.found.collectives.messages, 5);
        assert_int_equal(s.found.collectives.reversed, 2);
        assert_int_equal(s.found.collectives.worst_ticks, 100);
        assert_int_equal(s.found.unmatched, 0);
        close_scene(&s);
    }
}

static void windows_and_communicators_count_apart(void **state)
{
    (void)state;
    const struct call barrier = {BLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    const struct call fence = {ON_WINDOW, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    struct scene s = scene_of(2, 2);
    for (uint32_t m = 0; m < 2; m++) {
        begin(&s, m ? fence : barrier, m, 100);
        end(&s, m ? fence : barrier, m, 200);
        begin(&s, m ? barrier : fence, m, 300);
        end(&s, m ? barrier : fence, m, 400);
    }
    check(&s, NULL);
    assert_int_equal(s.found.collectives.messages, 2);
    assert_int_equal(s.found.uncertain.messages, 2);
    assert_int_equal(s.found.collectives.reversed, 1); /* 0 ended the barrier at 200, 1 began it at 300 */
    assert_int_equal(s.found.uncertain.reversed, 1);
    close_scene(&s);
}

static void alone_there_is_nobody_to_wait_for(void **state)
{
    (void)state;
    const struct call self = {BLOCKING, SELF, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    const struct call one = {BLOCKING, ODD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    struct scene s = scene_of(2, 2);
    begin(&s, self, 0, 100);
    end(&s, self, 0, 200);
    begin(&s, one, 1, 100);
    end(&s, one, 1, 200);
    check(&s, NULL);
    assert_int_equal(s.found.collectives.messages, 0);
    assert_int_equal(s.found.unmatched, 0);
    close_scene(&s);
}

/* ---- what is not there ---- */

static void what_is_missing_is_counted(void **state)
{
    (void)state;
    const struct call barrier = {BLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    struct scene s = scene_of(3, 3);
    SEND(0, 1, 1);
    RECV(2, 2, 1);
    for (uint32_t m = 0; m < 3; m++) {
        begin(&s, barrier, m, 100 + 50 * m); /* the last one at 200 */
        if (m != 1)
            end(&s, barrier, m, 199);
    }
    check(&s, NULL);
    assert_int_equal(s.found.messages.messages, 0);
    assert_int_equal(s.found.unmatched, 3); /* the send, the receive, the end */
    assert_int_equal(s.found.collectives.messages, 4);
    assert_int_equal(s.found.collectives.reversed, 1);
    close_scene(&s);
}

/* After a loss nothing of a process is counted on, and nobody waits for it; what came before it counts. */
static void after_a_loss(enum gn_event_kind kind)
{
    const struct call barrier = {BLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    struct scene s = scene_of(3, 3);
    for (uint32_t m = 0; m < 3; m++) {
        begin(&s, barrier, m, 100);
        end(&s, barrier, m, m == 2 ? 90 : 110);
    }
    SEND(0, 120, 1);
    RECV(1, 119, 0);
    add(&s, make(kind, 0, 200));
    s.streams[0].events[s.streams[0].count - 1].request = kind == GN_EVENT_LOST ? 10 : 0;
    SEND(0, 300, 1); /* perhaps the third */
    RECV(1, 220, 0);
    for (uint32_t m = 0; m < 3; m++) { /* of 0 perhaps the third */
        begin(&s, barrier, m, m == 0 ? 900 : 400);
        end(&s, barrier, m, m == 0 ? 910 : 410);
    }
    check(&s, NULL);
    assert_int_equal(s.found.messages.messages, 1);
    assert_int_equal(s.found.messages.reversed, 1);
    assert_int_equal(s.found.collectives.messages, 6 + 2);
    assert_int_equal(s.found.collectives.reversed, 2); /* 2's end of the first before two begins */
    assert_true(s.found.unmatched >= 1);
    close_scene(&s);
}

static void what_comes_after_a_loss_does_not_count(void **state)
{
    (void)state;
    after_a_loss(GN_EVENT_LOST);
    after_a_loss(GN_EVENT_MEASUREMENT);
}

static void members_who_disagree_are_not_believed(void **state)
{
    (void)state;
    const struct call barrier = {BLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    const struct call bcasts[] = {{BLOCKING, WORLD, 0, GN_COLLECTIVE_BCAST, 0},
                                  {BLOCKING, WORLD, 1, GN_COLLECTIVE_BCAST, 0},
                                  {BLOCKING, WORLD, 77, GN_COLLECTIVE_BCAST, 0}};
    struct scene s = scene_of(2, 2);
    for (uint32_t m = 0; m < 2; m++) {
        uint64_t at = 100 + 1000 * m;
        const struct call calls[] = {m ? barrier : bcasts[0], bcasts[m], bcasts[2], barrier};
        for (size_t i = 0; i < 4; i++, at += 20) {
            begin(&s, calls[i], m, at);
            end(&s, calls[i], m, at + 10);
        }
    }
    check(&s, NULL);
    assert_int_equal(s.found.unmatched, 6);
    assert_int_equal(s.found.collectives.messages, 2);
    assert_int_equal(s.found.collectives.reversed, 1);
    close_scene(&s);
}

static void a_member_that_is_named_twice_counts_once(void **state)
{
    (void)state;
    struct scene s = scene_of(2, 2);
    uint32_t members[] = {0, 1, 1};
    const struct call barrier = {
        BLOCKING, gn_define_comm(s.d, &(struct gn_comm_def){.member_count = 3, .members = members}), GN_NONE,
        GN_COLLECTIVE_BARRIER, 0};
    for (uint32_t m = 0; m < 2; m++) {
        begin(&s, barrier, m, 100);
        end(&s, barrier, m, 90);
    }
    check(&s, NULL);
    assert_int_equal(s.found.collectives.reversed, 2);
    assert_int_equal(s.found.unmatched, 1);
    close_scene(&s);
}

/* A collective of which nobody ever says where it was makes everything after it unknown; nothing hangs. */
static void what_never_ends_holds_up_nobody(void **state)
{
    (void)state;
    const struct call lost = {ANONYMOUS, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 1};
    const struct call barrier = {BLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    struct scene s = scene_of(2, 2);
    begin(&s, lost, 0, 1);
    for (uint64_t i = 0; i < 70000; i++)
        for (uint32_t m = 0; m < 2; m++) {
            begin(&s, barrier, m, 100 + 10 * i);
            end(&s, barrier, m, 105 + 10 * i);
        }
    check(&s, NULL);
    assert_int_equal(s.found.collectives.messages, 0);
    assert_true(s.found.unmatched > 70000); /* members of instances; and begins that were not looked at */
    close_scene(&s);
}

static const struct gn_condition_terms no_terms;

static int event_of(struct gn_condition_collectives *c, const struct gn_event *e,
                    const struct gn_place *place)
{
    return gn_condition_collectives_event(c, e, (int64_t)e->ticks, place);
}

static void an_instance_is_gone_when_all_have_ended_it(void **state)
{
    (void)state;
    struct scene s = scene_of(3, 3);
    struct gn_condition found = {0};
    struct gn_condition_collectives *c = gn_condition_collectives_new(s.d, &no_terms, &found);
    assert_non_null(c);
    const struct call scan = {NONBLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_SCAN, 1};
    for (uint32_t m = 0; m < 3; m++) {
        begin(&s, scan, m, 100);
        end(&s, scan, m, 200);
    }
    assert_true(gn_condition_collectives_all_counted(c));
    for (size_t i = 0; i < 2; i++)
        for (uint32_t m = 0; m < 3; m++) {
            const struct gn_place place = {.instance = 0, .member = m};
            assert_int_equal(event_of(c, &s.streams[m].events[i], &place), 0);
            assert_int_equal(gn_condition_collectives_all_counted(c), i == 1 && m == 2);
        }
    assert_int_equal(found.collectives.messages, 3);
    gn_condition_collectives_free(c);
    close_scene(&s);
}

/* Of a process of which it is not known any more which instance its parts belong to, nobody waits for any. */
static void after_a_guess_nothing_stays_open(void **state)
{
    (void)state;
    enum { ROUNDS = 100 };
    const struct call barrier = {BLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    struct scene s = scene_of(2, 2);
    struct gn_condition found = {0};
    struct gn_condition_collectives *c = gn_condition_collectives_new(s.d, &no_terms, &found);
    assert_non_null(c);
    for (uint32_t m = 0; m < 2; m++) {
        begin(&s, barrier, m, 100);
        end(&s, barrier, m, 200);
    }
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t m = 0; m < 2; m++)
            for (size_t i = 0; i < 2; i++) {
                const struct gn_place place = {.instance = m == 0 && round > 0 ? GN_NONE : round,
                                               .member = m == 0 && round > 0 ? GN_NONE : m};
                assert_int_equal(event_of(c, &s.streams[m].events[i], &place), 0);
                assert_true(round == 0 || i == 0 || gn_condition_collectives_all_counted(c));
            }
    assert_int_equal(found.collectives.messages, 2);
    gn_condition_collectives_free(c);
    close_scene(&s);
}

/* ---- how much of it was checked ---- */

static void assert_covered(const struct scene *s, enum gn_condition_kind kind, uint64_t checked, uint64_t all)
{
    assert_int_equal(s->found.coverage[kind].all, all);
    assert_int_equal(s->found.coverage[kind].checked, checked);
}

static void everything_is_covered_when_all_is_there(void **state)
{
    (void)state;
    const struct call barrier = {BLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    const struct call nameless = {NAMELESS, ODD, GN_NONE, GN_COLLECTIVE_ALLREDUCE, 0};
    const struct call started = {NONBLOCKING, WORLD, 0, GN_COLLECTIVE_BCAST, 1};
    const struct call fence = {ON_WINDOW, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    struct scene s = scene_of(3, 3);
    SEND(0, 10, 1);
    RECV(1, 20, 0);
    for (uint32_t m = 0; m < 3; m++) {
        const struct call calls[] = {barrier, fence, started, nameless};
        for (size_t i = m == 0 ? 1 : 0; i < 4; i++) {
            begin(&s, calls[m == 0 ? i - 1 : i], m, 100 * i);
            end(&s, calls[m == 0 ? i - 1 : i], m, 100 * i + 50);
        }
    }
    check(&s, NULL);
    assert_covered(&s, GN_CONDITION_MESSAGES, 1, 1);
    assert_covered(&s, GN_CONDITION_COLLECTIVES, 3, 3);
    assert_covered(&s, GN_CONDITION_WINDOWS, 1, 1);
    assert_covered(&s, GN_CONDITION_TEAMS, 0, 0);
    assert_true(gn_condition_covers(&s.found));
    close_scene(&s);
}

static void what_could_not_be_checked_is_not_covered(void **state)
{
    (void)state;
    const struct call barrier = {BLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    struct scene s = scene_of(3, 3);
    SEND(0, 1, 1);
    SEND(0, 2, 2);
    RECV(2, 3, 0);
    RECV(2, 4, 1);
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t m = 0; m < 3; m++) {
            if (m == 1 && round == 2)
                continue; /* it has only two */
            begin(&s, barrier, m, 100 * (round + 1));
            end(&s, barrier, m, 100 * (round + 1) + 50);
        }
    check(&s, NULL);
    assert_covered(&s, GN_CONDITION_MESSAGES, 1, 3);
    assert_covered(&s, GN_CONDITION_COLLECTIVES, 2, 3);
    assert_false(gn_condition_covers(&s.found));
    assert_true(gn_condition_holds(&s.found));
    close_scene(&s);
}

/* What comes after a loss is there, and not covered; so is a loss behind which nothing comes. */
static void after_a_loss_nothing_is_covered(void **state)
{
    (void)state;
    enum { BEFORE = 3, AFTER = 7 };
    const struct call barrier = {BLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    const struct call started = {NONBLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 5};
    for (uint32_t after = 0; after <= AFTER; after += AFTER) {
        struct scene s = scene_of(3, 3);
        for (uint32_t m = 0; m < 3; m++) {
            for (uint64_t i = 0; i < BEFORE + after; i++) {
                begin(&s, i % 2 ? started : barrier, m, 100 * i + 10);
                if (m == 0 && i == BEFORE) { /* in a call */
                    add(&s, make(GN_EVENT_LOST, m, 100 * i + 20));
                    s.streams[m].events[s.streams[m].count - 1].request = 10;
                }
                end(&s, i % 2 ? started : barrier, m, 100 * i + 60);
            }
            if (m == 0 && after == 0) {
                add(&s, make(GN_EVENT_LOST, m, 5000));
                s.streams[m].events[s.streams[m].count - 1].request = 10;
            }
        }
        check(&s, NULL);
        assert_covered(&s, GN_CONDITION_COLLECTIVES, BEFORE, BEFORE + after);
        assert_int_equal(s.found.lost, 10);
        assert_false(gn_condition_covers(&s.found));
        close_scene(&s);
    }
}

/* A collective that does not say what it is and never ends: what comes after it at its process is a guess. */
static void after_a_guess_nothing_is_covered(void **state)
{
    (void)state;
    enum { BEFORE = 5, AFTER = 70000 };
    const struct call lost = {ANONYMOUS, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 1};
    const struct call barrier = {BLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_BARRIER, 0};
    struct scene s = scene_of(2, 2);
    for (uint64_t i = 0; i < BEFORE + AFTER; i++) {
        if (i == BEFORE)
            begin(&s, lost, 0, 100 + 10 * i - 1);
        for (uint32_t m = 0; m < 2; m++) {
            begin(&s, barrier, m, 100 + 10 * i);
            end(&s, barrier, m, 105 + 10 * i);
        }
    }
    check(&s, NULL);
    assert_covered(&s, GN_CONDITION_COLLECTIVES, BEFORE, BEFORE + AFTER);
    assert_int_equal(s.found.collectives.messages, 2 * BEFORE);
    close_scene(&s);
}

/* ---- what only may hold, by the clocks as they were ---- */

/* Processes 0 and 2 on one clock, 1 and 3 on another; presynchronised times are of no matter. */
static void an_uncertain_one_is_judged_by_what_clocks_showed(void **state)
{
    (void)state;
    const struct call freed = {BLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_DESTROY_HANDLE, 0};
    static const uint64_t begins[] = {100, 5100, 130, 5130}, ends[] = {120, 5140, 140, 5150};
    struct scene s = scene_of(FOUR, 2);
    for (uint32_t m = 0; m < FOUR; m++) {
        begin(&s, freed, m, begins[m]);
        end(&s, freed, m, ends[m]);
    }
    check(&s, NULL);
    const struct gn_condition_judged *j = &s.found.judged;
    assert_int_equal(s.found.uncertain.messages, 12);
    assert_int_equal(j->held, 3);
    assert_int_equal(j->not_held, 1); /* 0's end before 2's begin */
    assert_int_equal(j->possible + j->impossible, 0);
    assert_int_equal(j->unknown, 8);
    assert_true(gn_condition_holds(&s.found));
    close_scene(&s);
}

/* The second clock shows 5000 more, give or take 15. */
static void between_clocks_it_is_judged_by_bounds(void **state)
{
    (void)state;
    static const struct gn_breakpoint exact[] = {{0, 0, 0}, {10000, 10000, 10000}};
    static const struct gn_breakpoint about[] = {{0, -5015, -4985}, {10000, 4985, 5015}};
    const struct gn_outside none = {0};
    struct gn_bounds *of[] = {gn_bounds_new(exact, 2, &none, NULL), gn_bounds_new(about, 2, &none, NULL)};
    const struct gn_bounds *by_location[] = {of[0], of[1], of[0], of[1]};
    const struct call freed = {BLOCKING, WORLD, GN_NONE, GN_COLLECTIVE_DESTROY_HANDLE, 0};
    static const uint64_t begins[] = {100, 5100, 130, 5130}, ends[] = {120, 5140, 140, 5150};
    struct scene s = scene_of(FOUR, 2);
    s.d->ticks_per_second = 1000000000;
    const struct gn_presync bounds = {.kind = GN_PRESYNC_BOUNDS, .definitions = s.d, .bounds = by_location};
    s.bounds = &bounds;
    for (uint32_t m = 0; m < FOUR; m++) {
        begin(&s, freed, m, begins[m] + (m == 2 ? 500 : 0));
        end(&s, freed, m, ends[m] + (m == 2 ? 500 : 0));
    }
    check(&s, NULL);
    const struct gn_condition_judged *j = &s.found.judged;
    /* one clock: (0,2) (1,3) (3,1) held, (2,0) did not; 2 begins at 630, and 1 and 3 have ended by 165 */
    assert_int_equal(j->held, 3);
    assert_int_equal(j->not_held, 1);
    assert_int_equal(j->impossible, 2);
    assert_int_equal(j->possible, 6);
    assert_int_equal(j->unknown, 0);
    by_location[1] = NULL;
    check(&s, NULL);
    assert_int_equal(j->impossible, 1);
    assert_int_equal(j->possible, 3);
    assert_int_equal(j->unknown, 4);
    close_scene(&s);
    gn_bounds_free(of[0]);
    gn_bounds_free(of[1]);
}

/* ---- epochs of windows ---- */

enum { START, COMPLETE, WAIT }; /* regions */

/* Communicators 4 and 5 are the groups of process 0 and of 1; there are two windows. */
static struct scene epochs_scene(void)
{
    struct scene s = scene_of(2, 2);
    static const char *const names[] = {"MPI_Win_start", "MPI_Win_complete", "MPI_Win_wait"};
    for (size_t i = 0; i < 3; i++)
        gn_define_region(
            s.d, &(struct gn_region_def){.name = gn_define_string(s.d, names[i]), .role = GN_ROLE_MPI});
    assert_int_equal(add_comm(&s, 0, 1, 0), 4);
    assert_int_equal(add_comm(&s, 1, 1, 0), 5);
    gn_define_window(s.d, &(struct gn_window_def){.comm = WORLD});
    return s;
}

/* The call, with its record in the middle. Process 0 completes, process 1 waits. */
static void epoch_call(struct scene *s, uint32_t region, uint32_t window, uint64_t ticks)
{
    const uint32_t location = region == WAIT;
    struct gn_event events[] = {make(GN_EVENT_ENTER, location, ticks),
                                make(GN_EVENT_RMA_SYNC, location, ticks + 1),
                                make(GN_EVENT_LEAVE, location, ticks + 2)};
    events[0].region = events[2].region = region;
    events[1].comm = window;
    events[1].tag = location ? 4 : 5;
    for (size_t i = 0; i < 3; i++)
        add(s, events[i]);
}

static void an_epoch_is_waited_for_after_it_was_completed(void **state)
{
    (void)state;
    struct scene s = epochs_scene();
    epoch_call(&s, START, 0, 100);
    epoch_call(&s, COMPLETE, 0, 200);
    epoch_call(&s, WAIT, 0, 190); /* left at 192 */
    epoch_call(&s, START, 0, 300);
    epoch_call(&s, COMPLETE, 0, 400);
    epoch_call(&s, WAIT, 0, 400);
    check(&s, NULL);
    assert_int_equal(s.found.epochs.messages, 2);
    assert_int_equal(s.found.epochs.reversed, 1);
    assert_int_equal(s.found.epochs.worst_ticks, 8);
    assert_int_equal(s.found.messages.messages, 0);
    assert_covered(&s, GN_CONDITION_EPOCHS, 2, 2);
    assert_false(gn_condition_holds(&s.found));
    close_scene(&s);
}

/* Which of two open epochs was completed where is known by its record alone: the start is what is certain. */
static void epochs_of_two_windows_are_from_their_starts(void **state)
{
    (void)state;
    struct scene s = epochs_scene();
    epoch_call(&s, START, 0, 100);
    epoch_call(&s, START, 1, 110);
    epoch_call(&s, COMPLETE, 0, 200);
    epoch_call(&s, COMPLETE, 1, 210);
    epoch_call(&s, WAIT, 0, 95);  /* left at 97, started at 101 */
    epoch_call(&s, WAIT, 1, 205); /* left at 207, completed from 210 on */
    epoch_call(&s, WAIT, 1, 300);
    check(&s, NULL);
    assert_int_equal(s.found.epochs.messages, 2);
    assert_int_equal(s.found.epochs.worst_ticks, 4);
    assert_int_equal(s.found.epochs.reversed, 2);
    assert_covered(&s, GN_CONDITION_EPOCHS, 2, 3);
    close_scene(&s);
}

/* ---- by chance, against a count of each pair ---- */

static uint32_t chance(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

struct drawn {
    int64_t begin, end;
    uint64_t sent, received;
};

static bool pair_depends(uint8_t op, uint32_t root, const struct drawn *drawn, uint32_t from, uint32_t to)
{
    const bool data = drawn[from].sent > 0 && drawn[to].received > 0;
    if (from == to)
        return false;
    switch (op) {
    case GN_COLLECTIVE_BCAST:
        return from == root;
    case GN_COLLECTIVE_SCATTERV:
        return from == root && data;
    case GN_COLLECTIVE_REDUCE:
        return to == root;
    case GN_COLLECTIVE_GATHERV:
        return to == root && data;
    case GN_COLLECTIVE_SCAN:
        return from < to;
    case GN_COLLECTIVE_ALLGATHERV:
        return data;
    default:
        return true;
    }
}

static void expect(struct gn_condition_count *count, int64_t begin_ticks, int64_t end_ticks, int64_t latency)
{
    const int64_t early = begin_ticks - end_ticks, missing = early + latency;
    count->messages++;
    count->reversed += early > 0;
    count->violating += missing > 0;
    count->worst_ticks = missing > count->worst_ticks ? missing : count->worst_ticks;
    count->error_ticks_max = early > count->error_ticks_max ? early : count->error_ticks_max;
    count->error_ticks_sum += early > 0 ? (double)early : 0;
}

static void draw(uint64_t seed)
{
    static const uint8_t ops[] = {GN_COLLECTIVE_BARRIER,   GN_COLLECTIVE_BCAST,   GN_COLLECTIVE_SCATTERV,
                                  GN_COLLECTIVE_REDUCE,    GN_COLLECTIVE_GATHERV, GN_COLLECTIVE_SCAN,
                                  GN_COLLECTIVE_ALLGATHERV};
    const uint32_t size = 2 + chance(&seed, 14), domains = 1 + chance(&seed, 4);
    const uint32_t root = chance(&seed, size);
    const struct call call = {BLOCKING, WORLD, root, ops[chance(&seed, sizeof ops)], 0};
    int64_t ticks[16], between_ticks = chance(&seed, 20);
    for (size_t i = 0; i < 16; i++)
        ticks[i] = chance(&seed, 30);
    const struct gn_latency latency = latency_of(ticks, domains, between_ticks);
    struct drawn drawn[16];
    struct gn_condition_count expected = {0};
    struct scene s = scene_of(size, domains);
    for (uint32_t m = 0; m < size; m++) {
        drawn[m] = (struct drawn){50 + chance(&seed, 60), 80 + chance(&seed, 60), chance(&seed, 3),
                                  chance(&seed, 3)};
        drawn[m].sent += m == 0; /* something is sent by somebody */
        begin(&s, call, m, (uint64_t)drawn[m].begin);
        end_with(&s, call, m, (uint64_t)drawn[m].end, drawn[m].sent, drawn[m].received);
    }
    for (uint32_t i = 0; i < size * size; i++) {
        const uint32_t from = i / size, to = i % size, a = from % domains, b = to % domains;
        const int64_t within = ticks[a * domains + a];
        if (pair_depends(call.op, root, drawn, from, to))
            expect(&expected, drawn[from].begin, drawn[to].end,
                   a == b && within < between_ticks ? within : between_ticks);
    }
    check(&s, &latency);
    const struct gn_condition_count *found = &s.found.collectives;
    if (found->messages != expected.messages || found->reversed != expected.reversed ||
        found->violating != expected.violating || found->worst_ticks != expected.worst_ticks ||
        found->error_ticks_max != expected.error_ticks_max ||
        found->error_ticks_sum != expected.error_ticks_sum)
        fail_msg("%s of %u: %llu messages, %llu reversed, %llu violating, worst %lld, max %lld, sum %g; "
                 "expected %llu, %llu, %llu, %lld, %lld, %g",
                 gn_collective_name(call.op), size, (unsigned long long)found->messages,
                 (unsigned long long)found->reversed, (unsigned long long)found->violating,
                 (long long)found->worst_ticks, (long long)found->error_ticks_max, found->error_ticks_sum,
                 (unsigned long long)expected.messages, (unsigned long long)expected.reversed,
                 (unsigned long long)expected.violating, (long long)expected.worst_ticks,
                 (long long)expected.error_ticks_max, expected.error_ticks_sum);
    const struct gn_condition_message *w = &s.found.worst;
    assert_int_equal(w->from != GN_NONE, expected.worst_ticks > 0);
    if (w->from != GN_NONE) {
        const uint32_t a = w->from % domains, b = w->to % domains;
        const int64_t within = ticks[a * domains + a];
        assert_true(pair_depends(call.op, root, drawn, w->from, w->to));
        assert_int_equal(w->sent_ticks, drawn[w->from].begin);
        assert_int_equal(w->received_ticks, drawn[w->to].end);
        assert_int_equal(w->sent_ticks - w->received_ticks +
                             (a == b && within < between_ticks ? within : between_ticks),
                         expected.worst_ticks);
    }
    close_scene(&s);
}

static void counts_are_those_of_all_pairs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= REPEATED(5000); seed++)
        draw(seed * 7919);
}

/* Looking at each pair of so many members would take minutes. */
static void many_members_are_not_looked_at_in_pairs(void **state)
{
    (void)state;
    const uint64_t n = REPEATED(200000);
    for (int prefix = 0; prefix < 2; prefix++) {
        const struct call call = {BLOCKING, WORLD, GN_NONE,
                                  prefix ? GN_COLLECTIVE_SCAN : GN_COLLECTIVE_ALLREDUCE, 0};
        struct scene s = scene_of((uint32_t)n, 7);
        for (uint32_t m = 0; m < n; m++) { /* of all but the first, each begin is after the ends below it */
            begin(&s, call, m, 1000 + 2ull * m);
            end(&s, call, m, 1001 + 2ull * m);
        }
        check(&s, NULL);
        assert_int_equal(s.found.collectives.messages, prefix ? n * (n - 1) / 2 : n * (n - 1));
        assert_int_equal(s.found.collectives.reversed, prefix ? 0 : n * (n - 1) / 2);
        close_scene(&s);
        s = scene_of((uint32_t)n, 7);
        for (uint32_t m = 0; m < n; m++) { /* the other way round */
            begin(&s, call, m, 1000 + 2ull * (n - m));
            end(&s, call, m, 1001 + 2ull * (n - m));
        }
        check(&s, NULL);
        assert_int_equal(s.found.collectives.reversed, n * (n - 1) / 2);
        assert_int_equal(s.found.collectives.worst_ticks, 2 * (int64_t)(n - 1) - 1);
        close_scene(&s);
    }
}

/* ---- teams of threads ---- */

/* All three locations are threads of process 0; region 0 is a barrier, region 1 none. */
static struct scene threads_scene(void)
{
    struct scene s = scene_of(3, 1);
    s.d->locations[1].process = s.d->locations[2].process = 0;
    gn_define_region(s.d, &(struct gn_region_def){.role = GN_ROLE_BARRIER});
    gn_define_region(s.d, &(struct gn_region_def){.role = GN_ROLE_FUNCTION});
    return s;
}

static void in_team(struct scene *s, enum gn_event_kind kind, uint32_t location, uint64_t ticks)
{
    struct gn_event e = make(kind, location, ticks);
    e.comm = WORLD;
    add(s, e);
}

static void in_region(struct scene *s, uint32_t location, uint32_t region, uint64_t begin, uint64_t end)
{
    struct gn_event enter = make(GN_EVENT_ENTER, location, begin),
                    leave = make(GN_EVENT_LEAVE, location, end);
    enter.region = leave.region = region;
    add(s, enter);
    add(s, leave);
}

/* Forked at 100, joined at 305; one begin is 10 too early, one end 5 too late, and location 0 leaves the
 * barrier 5 before location 2 comes to it. begins, ends: three locations. */
static void add_team(struct scene *s, uint64_t at)
{
    static const uint64_t begins[] = {101, 90, 120}, enters[] = {200, 210, 230}, leaves[] = {225, 240, 240},
                          ends[] = {300, 310, 290};
    in_team(s, GN_EVENT_THREAD_FORK, 0, at + 100);
    for (uint32_t l = 0; l < 3; l++) {
        in_team(s, GN_EVENT_THREAD_BEGIN, l, at + begins[l]);
        in_region(s, l, 1, at + begins[l] + 1, at + begins[l] + 2);
        in_region(s, l, 0, at + enters[l], at + leaves[l]);
        in_team(s, GN_EVENT_THREAD_END, l, at + ends[l]);
    }
    in_team(s, GN_EVENT_THREAD_JOIN, 0, at + 305);
}

static void a_team_forks_meets_and_joins(void **state)
{
    (void)state;
    struct scene s = threads_scene();
    for (uint64_t round = 0; round < 3; round++)
        add_team(&s, 1000 * round);
    check(&s, NULL);
    assert_int_equal(s.found.collectives.messages, 3 * (2 + 6 + 2));
    assert_int_equal(s.found.collectives.reversed, 3 * 3);
    assert_int_equal(s.found.collectives.violating, 3 * 3);
    assert_int_equal(s.found.collectives.worst_ticks, 10);
    assert_true(s.found.collectives.error_ticks_sum == 3 * 20);
    assert_int_equal(s.found.worst.from, 0);
    assert_int_equal(s.found.worst.to, 1);
    assert_int_equal(s.found.unmatched, 0);
    assert_false(gn_condition_holds(&s.found));
    close_scene(&s);
}

/* Nobody's definition says how many threads there are; two have come and gone before the master itself is in
 * the team. Another one, that nobody forked, is over when its threads are. */
static void a_team_waits_for_its_master(void **state)
{
    (void)state;
    struct scene s = threads_scene();
    for (uint64_t at = 0; at < 3000; at += 1000) {
        in_team(&s, GN_EVENT_THREAD_FORK, 0, at + 100);
        for (uint32_t l = 1; l < 3; l++) {
            in_team(&s, GN_EVENT_THREAD_BEGIN, l, at + 110);
            in_team(&s, GN_EVENT_THREAD_END, l, at + 120);
        }
        in_team(&s, GN_EVENT_THREAD_BEGIN, 0, at + 130);
        in_team(&s, GN_EVENT_THREAD_END, 0, at + 140);
        in_team(&s, GN_EVENT_THREAD_JOIN, 0, at + 150);
    }
    check(&s, NULL);
    assert_int_equal(s.found.coverage[GN_CONDITION_TEAMS].all, 3);
    assert_int_equal(s.found.coverage[GN_CONDITION_TEAMS].checked, 3);
    assert_int_equal(s.found.collectives.messages, 3 * 4);
    assert_int_equal(s.found.collectives.violating, 0);
    close_scene(&s);
    s = threads_scene();
    in_team(&s, GN_EVENT_THREAD_FORK, 0, 100);
    in_team(&s, GN_EVENT_THREAD_BEGIN, 1, 110);
    in_team(&s, GN_EVENT_THREAD_END, 1, 120);
    in_team(&s, GN_EVENT_THREAD_FORK, 0, 130); /* of another team: nobody began the first one as its master */
    in_team(&s, GN_EVENT_THREAD_BEGIN, 0, 140);
    in_team(&s, GN_EVENT_THREAD_END, 0, 150);
    in_team(&s, GN_EVENT_THREAD_JOIN, 0, 160);
    check(&s, NULL);
    assert_int_equal(s.found.coverage[GN_CONDITION_TEAMS].all, 2);
    assert_int_equal(s.found.coverage[GN_CONDITION_TEAMS].checked, 1);
    assert_int_equal(s.found.collectives.violating, 0);
    close_scene(&s);
}

/* Who never ends, or is joined by nobody, has begun nevertheless; after a loss nothing is told. */
static void teams_without_an_end(void **state)
{
    (void)state;
    struct scene s = threads_scene();
    in_team(&s, GN_EVENT_THREAD_FORK, 0, 100);
    for (uint32_t l = 0; l < 3; l++)
        in_team(&s, GN_EVENT_THREAD_BEGIN, l, l == 2 ? 80 : 110);
    in_team(&s, GN_EVENT_THREAD_END, 1, 200);
    in_team(&s, GN_EVENT_THREAD_JOIN, 0, 150);
    check(&s, NULL);
    assert_int_equal(s.found.collectives.messages, 2);
    assert_int_equal(s.found.collectives.worst_ticks, 20);
    close_scene(&s);
    s = threads_scene();
    add(&s, make(GN_EVENT_LOST, 1, 1));
    add_team(&s, 1000);
    check(&s, NULL);
    assert_int_equal(s.found.collectives.messages, 0);
    close_scene(&s);
}

/* More threads than the team's definition has members; ends of teams that nobody is in. */
static void teams_that_are_larger_than_they_say(void **state)
{
    (void)state;
    struct scene s = threads_scene();
    s.d->comms[WORLD].member_count = 1;
    add_team(&s, 0);
    in_team(&s, GN_EVENT_THREAD_END, 1, 500);
    in_team(&s, GN_EVENT_THREAD_JOIN, 2, 500);
    in_region(&s, 2, 0, 600, 601);
    check(&s, NULL);
    assert_true(s.found.collectives.messages > 0);
    close_scene(&s);
}

static void named(struct scene *s, enum gn_event_kind kind, uint32_t location, uint64_t ticks, uint64_t name)
{
    struct gn_event event = make(kind, location, ticks);
    event.request = name;
    add(s, event);
}

/* Thread 1 begins 5 before it is made, and is waited for 20 before its end; the lock is acquired 10 before it
 * is released. What comes once names nobody, and number 0 no thread. */
static void threads_made_and_awaited_and_locks(void **state)
{
    (void)state;
    struct scene s = threads_scene();
    named(&s, GN_EVENT_THREAD_CREATE, 0, 100, 5);
    named(&s, GN_EVENT_THREAD_CREATE, 0, 101, 6);
    named(&s, GN_EVENT_THREAD_CREATE, 0, 102, 0);
    named(&s, GN_EVENT_THREAD_BEGIN, 1, 95, 5);
    named(&s, GN_EVENT_THREAD_BEGIN, 2, 50, 0);
    named(&s, GN_EVENT_LOCK_ACQUIRE, 0, 110, 3ull << 32);
    named(&s, GN_EVENT_LOCK_RELEASE, 0, 120, 3ull << 32);
    named(&s, GN_EVENT_LOCK_ACQUIRE, 1, 110, 3ull << 32 | 1);
    named(&s, GN_EVENT_LOCK_RELEASE, 1, 130, 3ull << 32 | 1);
    named(&s, GN_EVENT_LOCK_ACQUIRE, 0, 131, 3ull << 32 | 2);
    named(&s, GN_EVENT_LOCK_ACQUIRE, 2, 60, 4ull << 32 | 1);
    named(&s, GN_EVENT_THREAD_END, 1, 200, 5);
    named(&s, GN_EVENT_THREAD_WAIT, 0, 180, 5);
    check(&s, NULL);
    assert_int_equal(s.found.collectives.messages, 4);
    assert_int_equal(s.found.collectives.violating, 3);
    assert_int_equal(s.found.collectives.worst_ticks, 20);
    assert_true(s.found.collectives.error_ticks_sum == 35);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_team_forks_meets_and_joins),
        cmocka_unit_test(a_team_waits_for_its_master),
        cmocka_unit_test(teams_without_an_end),
        cmocka_unit_test(threads_made_and_awaited_and_locks),
        cmocka_unit_test(teams_that_are_larger_than_they_say),
        cmocka_unit_test(a_message_is_after_its_send),
        cmocka_unit_test(receives_count_in_posting_order),
        cmocka_unit_test(a_message_takes_its_time),
        cmocka_unit_test(going_back_at_a_location_is_no_order),
        cmocka_unit_test(a_nonsense_time_is_an_error),
        cmocka_unit_test(an_end_is_after_the_begins_it_depends_on),
        cmocka_unit_test(between_groups_data_goes_to_the_other_one),
        cmocka_unit_test(nothing_sent_or_received_is_no_message_where_lengths_vary),
        cmocka_unit_test(nothing_at_all_may_be_no_message),
        cmocka_unit_test(logical_messages_take_their_time),
        cmocka_unit_test(nonblocking_ones_count_from_when_they_start),
        cmocka_unit_test(windows_and_communicators_count_apart),
        cmocka_unit_test(alone_there_is_nobody_to_wait_for),
        cmocka_unit_test(what_is_missing_is_counted),
        cmocka_unit_test(what_comes_after_a_loss_does_not_count),
        cmocka_unit_test(members_who_disagree_are_not_believed),
        cmocka_unit_test(a_member_that_is_named_twice_counts_once),
        cmocka_unit_test(what_never_ends_holds_up_nobody),
        cmocka_unit_test(an_instance_is_gone_when_all_have_ended_it),
        cmocka_unit_test(after_a_guess_nothing_stays_open),
        cmocka_unit_test(everything_is_covered_when_all_is_there),
        cmocka_unit_test(what_could_not_be_checked_is_not_covered),
        cmocka_unit_test(after_a_loss_nothing_is_covered),
        cmocka_unit_test(after_a_guess_nothing_is_covered),
        cmocka_unit_test(an_uncertain_one_is_judged_by_what_clocks_showed),
        cmocka_unit_test(between_clocks_it_is_judged_by_bounds),
        cmocka_unit_test(an_epoch_is_waited_for_after_it_was_completed),
        cmocka_unit_test(epochs_of_two_windows_are_from_their_starts),
        cmocka_unit_test(counts_are_those_of_all_pairs),
        cmocka_unit_test(many_members_are_not_looked_at_in_pairs),
    };
    return cmocka_run_group_tests_name("condition", tests, NULL, NULL);
}

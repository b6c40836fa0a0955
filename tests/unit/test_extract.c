/* repair/extract: which ops events become, one fact a test; and that random executions are matched as they
 * were. GNOMON_TEST_SEED=n runs one seed of those. */
#include "repair/extract.h"

#include "archive_maker.h"
#include "order_check.h"
#include "order_execution.h"
#include "trace/reader.h"
#include "synth/synth.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SCENE_LOCATIONS = 8, BATCH = 7 };

/* ---- a source over events in memory, in small batches ---- */

struct script {
    struct gn_definitions *d;
    struct row {
        struct gn_event *events;
        size_t count, capacity, next;
    } rows[MAX_LOCATIONS];
    int fails_at; /* location; −1: none */
};

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct script *s = self;
    struct row *row = &s->rows[location];
    size_t left = row->count - row->next;
    if (s->fails_at == (int)location && row->next > 0)
        return gn_fail(err, -EIO, "the disk is on fire");
    *events = row->events + row->next;
    row->next += left < BATCH ? left : BATCH;
    return (int64_t)(left < BATCH ? left : BATCH);
}

struct scene {
    struct script script;
    struct gn_source source;
    struct gn_presync presync;
    struct gn_op_store store;
    struct gn_extract *extract;
    uint64_t serial;
};

static uint32_t add_comm(struct scene *s, uint32_t count, const uint32_t *members, uint32_t others)
{
    return gn_define_comm(s->script.d, &(struct gn_comm_def){.parent = GN_NONE,
                                                             .member_count = count,
                                                             .other_count = others,
                                                             .members = (uint32_t *)members});
}

static uint32_t add_location(struct scene *s, uint32_t process)
{
    return gn_define_location(s->script.d,
                              &(struct gn_location_def){.process = process, .events = UINT64_MAX});
}

/* Processes of one location each: communicator 0 has all of them, 1 is MPI_COMM_SELF; window 0 is on 0. */
static void open_scene(struct scene *s, uint32_t processes)
{
    uint32_t members[SCENE_LOCATIONS];
    *s = (struct scene){.script = {.d = gn_definitions_new(), .fails_at = -1}};
    assert_non_null(s->script.d);
    for (uint32_t p = 0; p < processes; p++) {
        gn_define_process(s->script.d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)p});
        add_location(s, p);
        members[p] = p;
    }
    add_comm(s, processes, members, 0);
    gn_define_comm(s->script.d, &(struct gn_comm_def){.parent = GN_NONE, .is_self = true});
    gn_define_window(s->script.d, &(struct gn_window_def){0, 0});
}

static void open_extract(struct scene *s)
{
    struct gn_error err = {0};
    s->source = (struct gn_source){&s->script, s->script.d, pull, NULL};
    s->presync = (struct gn_presync){.kind = GN_PRESYNC_NONE, .definitions = s->script.d};
    assert_int_equal(gn_op_store_open(&s->store, s->script.d->location_count, NULL, &err), 0);
    assert_int_equal(gn_extract_open(&s->extract, &s->source, &s->presync, &s->store, &err), 0);
}

static void extract(struct scene *s)
{
    struct gn_error err = {0};
    open_extract(s);
    for (uint32_t p = 0; p < s->script.d->process_count; p++)
        if (gn_extract_process(s->extract, p, &err) != 0)
            fail_msg("%s", err.text);
}

static void close_scene(struct scene *s)
{
    gn_extract_close(s->extract);
    gn_op_store_close(&s->store);
    for (size_t i = 0; i < MAX_LOCATIONS; i++)
        free(s->script.rows[i].events);
    gn_definitions_free(s->script.d);
}

static const struct gn_extract_stats *stats(const struct scene *s)
{
    return gn_extract_stats(s->extract);
}

/* ---- events ---- */

static struct gn_event *add(struct scene *s, struct gn_event event)
{
    struct row *row = &s->script.rows[event.location];
    if (row->count == row->capacity) {
        row->capacity = row->capacity ? 2 * row->capacity : 16;
        row->events = realloc(row->events, row->capacity * sizeof *row->events);
        assert_non_null(row->events);
    }
    row->events[row->count] = event;
    return &row->events[row->count++];
}

static struct gn_event *make(struct scene *s, enum gn_event_kind kind, uint32_t location)
{
    return add(s, gn_event_bare(kind, location, 100 * ++s->serial));
}

static struct gn_event *message(struct scene *s, enum gn_event_kind kind, uint32_t location, uint32_t peer,
                                uint32_t tag, uint64_t request)
{
    struct gn_event *e = make(s, kind, location);
    e->comm = 0;
    e->peer = peer;
    e->tag = tag;
    e->request = request;
    return e;
}

static struct gn_event *simple(struct scene *s, enum gn_event_kind kind, uint32_t location, uint64_t request)
{
    struct gn_event *e = make(s, kind, location);
    e->request = request;
    return e;
}

#define ENTER(l) make(&s, GN_EVENT_ENTER, l)
#define SEND(l, peer, tag) message(&s, GN_EVENT_MPI_SEND, l, peer, tag, 0)
#define RECV(l, peer, tag) message(&s, GN_EVENT_MPI_RECV, l, peer, tag, 0)
#define POST(l, request, peer, tag) message(&s, GN_EVENT_MPI_IRECV_REQUEST, l, peer, tag, request)
#define POST_UNKNOWN(l, request) simple(&s, GN_EVENT_MPI_IRECV_REQUEST, l, request)
#define IRECV(l, request, peer, tag) message(&s, GN_EVENT_MPI_IRECV, l, peer, tag, request)
#define CANCEL(l, request) simple(&s, GN_EVENT_MPI_REQUEST_CANCELLED, l, request)

static struct gn_event *collective(struct scene *s, enum gn_event_kind kind, uint32_t location, unsigned op,
                                   uint32_t root, uint64_t request)
{
    struct gn_event *e = message(s, kind, location, root, GN_NONE, request);
    e->op = (uint8_t)op;
    e->bytes_sent = e->bytes_received = 8;
    return e;
}

#define BEGIN(l, op, root) collective(&s, GN_EVENT_COLLECTIVE_BEGIN, l, GN_COLLECTIVE_##op, root, 0)
#define END(l, op, root) collective(&s, GN_EVENT_COLLECTIVE_END, l, GN_COLLECTIVE_##op, root, 0)
#define START(l, request) simple(&s, GN_EVENT_NBC_REQUEST, l, request)
#define COMPLETE(l, request, op, root)                                                                       \
    collective(&s, GN_EVENT_NBC_COMPLETE, l, GN_COLLECTIVE_##op, root, request)

/* ---- ops ---- */

static const struct gn_op *op_at(const struct scene *s, uint32_t location, uint64_t index)
{
    assert_in_range(index, 0, s->store.rows[location].count - 1);
    return gn_op_at(&s->store, location, index);
}

static uint64_t op_count(const struct scene *s, uint32_t location)
{
    return s->store.rows[location].count;
}

#define OP(l, index) op_at(&s, l, index)
#define ASSERT_OP(l, index, KIND, numbered)                                                                  \
    do {                                                                                                     \
        assert_int_equal(OP(l, index)->kind, GN_OP_##KIND);                                                  \
        assert_int_equal(OP(l, index)->number, numbered);                                                    \
    } while (0)

/* ---- messages ---- */

static void messages_are_counted_by_channel(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    SEND(0, 1, 5);
    SEND(0, 1, 6);
    SEND(0, 2, 5);
    message(&s, GN_EVENT_MPI_ISEND, 0, 1, 5, 77);
    RECV(1, 0, 5);
    RECV(1, 0, 5);
    RECV(1, 0, 6);
    extract(&s);
    assert_int_equal(op_count(&s, 0), 5);
    ASSERT_OP(0, 0, SEND, 0);
    ASSERT_OP(0, 1, SEND, 0);
    ASSERT_OP(0, 2, SEND, 0);
    ASSERT_OP(0, 3, SEND, 1);
    ASSERT_OP(1, 0, RECEIVE, 0);
    ASSERT_OP(1, 1, RECEIVE, 1);
    ASSERT_OP(1, 2, RECEIVE, 0);
    assert_int_equal(OP(0, 0)->link, OP(0, 3)->link);
    assert_int_equal(OP(1, 0)->link, OP(0, 0)->link);
    assert_int_equal(OP(1, 1)->link, OP(0, 0)->link);
    assert_int_equal(OP(1, 2)->link, OP(0, 1)->link);
    assert_int_equal(s.store.channel_count, 3);
    const struct gn_op_channel *c = &s.store.channels[OP(0, 2)->link];
    assert_int_equal(c->comm, 0);
    assert_int_equal(c->from, 0);
    assert_int_equal(c->to, 2);
    assert_int_equal(c->tag, 5);
    assert_int_equal(stats(&s)->sends, 4);
    assert_int_equal(stats(&s)->receives, 3);
    assert_int_equal(stats(&s)->events, 7);
    assert_int_equal(stats(&s)->ops, 7 + 3);
    assert_int_equal(stats(&s)->unfit + stats(&s)->ambiguous + stats(&s)->uncounted, 0);
    close_scene(&s);
}

static void the_other_direction_and_another_communicator_are_other_channels(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    uint32_t other = add_comm(&s, 2, (uint32_t[]){1, 0}, 0); /* ranks the other way round */
    SEND(0, 1, 0);
    RECV(0, 1, 0);
    SEND(0, 0, 0)->comm = other;
    extract(&s);
    ASSERT_OP(0, 0, SEND, 0);
    ASSERT_OP(0, 1, RECEIVE, 0);
    ASSERT_OP(0, 2, SEND, 0);
    assert_int_equal(s.store.channel_count, 3);
    assert_int_equal(s.store.channels[OP(0, 2)->link].to, 1);
    close_scene(&s);
}

static void receives_are_counted_as_they_were_posted(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    POST_UNKNOWN(1, 10);
    POST_UNKNOWN(1, 11);
    RECV(1, 0, 0);
    IRECV(1, 11, 0, 0);
    IRECV(1, 10, 0, 0);
    extract(&s);
    ASSERT_OP(1, 0, RECEIVE, 2);
    ASSERT_OP(1, 1, RECEIVE, 1);
    ASSERT_OP(1, 2, RECEIVE, 0);
    assert_int_equal(stats(&s)->ambiguous, 0);
    close_scene(&s);
}

/* Many at once, far from the front, and completed from the last to the first. */
static void many_receives_may_complete_backward(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    struct scene s;
    open_scene(&s, 2);
    for (uint32_t i = 0; i < MANY; i++)
        POST_UNKNOWN(1, i);
    for (uint32_t i = MANY; i-- > 0;)
        IRECV(1, i, 0, 3);
    extract(&s);
    for (uint32_t i = 0; i < MANY; i++)
        ASSERT_OP(1, i, RECEIVE, MANY - 1 - i);
    close_scene(&s);
}

static void a_wildcard_is_what_its_status_says(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    POST(2, 1, GN_ANY, GN_ANY);
    POST(2, 2, 0, 4);
    POST(2, 3, 1, 4);
    IRECV(2, 3, 1, 4);
    IRECV(2, 2, 0, 4);
    IRECV(2, 1, 1, 4);
    extract(&s);
    ASSERT_OP(2, 0, RECEIVE, 1); /* of process 1: the wildcard was posted before it */
    ASSERT_OP(2, 1, RECEIVE, 0);
    ASSERT_OP(2, 2, RECEIVE, 0);
    assert_int_equal(s.store.channels[OP(2, 2)->link].from, 1);
    close_scene(&s);
}

static void a_cancelled_receive_takes_no_message(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    POST(1, 1, 0, 0);
    POST(1, 2, 0, 0);
    CANCEL(1, 1);
    IRECV(1, 2, 0, 0);
    CANCEL(1, 99); /* of a send, perhaps */
    extract(&s);
    ASSERT_OP(1, 0, RECEIVE, 0);
    assert_int_equal(op_count(&s, 1), 2);
    assert_int_equal(stats(&s)->ambiguous, 0);
    close_scene(&s);
}

static void a_request_that_is_used_again_was_over(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    POST_UNKNOWN(1, 7);
    POST_UNKNOWN(1, 7);
    RECV(1, 0, 0);
    IRECV(1, 7, 0, 0);
    extract(&s);
    ASSERT_OP(1, 0, RECEIVE, 1);
    ASSERT_OP(1, 1, RECEIVE, 0);
    assert_int_equal(stats(&s)->ambiguous, 0);
    close_scene(&s);
}

static void a_receive_that_was_never_posted_counts_when_it_completes(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    IRECV(1, 3, 0, 0);
    RECV(1, 0, 0);
    extract(&s);
    ASSERT_OP(1, 0, RECEIVE, 0);
    ASSERT_OP(1, 1, RECEIVE, 1);
    close_scene(&s);
}

enum { PATIENCE = 20000 }; /* events */

/* One stays open while `count` others come. */
static void pile_up(struct scene *scene, uint32_t count)
{
    struct scene s = *scene;
    for (uint32_t i = 0; i < count; i++)
        RECV(1, 0, 0);
    *scene = s;
}

static void who_stays_in_the_way_is_passed_over(void **state)
{
    (void)state;
    enum { MANY = 2 * PATIENCE };
    struct scene s;
    open_scene(&s, 2);
    POST_UNKNOWN(1, 1);
    pile_up(&s, MANY);
    IRECV(1, 1, 0, 0); /* it should have been the first one */
    RECV(1, 0, 0);
    extract(&s);
    ASSERT_OP(1, 0, RECEIVE, 0);
    assert_int_equal(OP(1, 0)->flags, 0); /* too low a number is true */
    ASSERT_OP(1, MANY - 1, RECEIVE, MANY - 1);
    ASSERT_OP(1, MANY, RECEIVE, MANY);
    assert_int_equal(OP(1, MANY)->flags, GN_OP_VAGUE); /* this one is too high */
    ASSERT_OP(1, MANY + 1, RECEIVE, MANY + 1);
    assert_int_equal(OP(1, MANY + 1)->flags, 0);
    assert_int_equal(stats(&s)->ambiguous, MANY + 1);
    close_scene(&s);
}

static void who_stays_in_the_way_for_a_while_is_waited_for(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    POST_UNKNOWN(1, 1);
    pile_up(&s, PATIENCE);
    IRECV(1, 1, 0, 0);
    extract(&s);
    ASSERT_OP(1, 0, RECEIVE, 1);
    ASSERT_OP(1, PATIENCE, RECEIVE, 0);
    assert_int_equal(stats(&s)->ambiguous, 0);
    close_scene(&s);
}

/* Who is passed over may be cancelled yet, so it takes no number ahead. */
static void who_says_its_channel_is_passed_over_by_that_one(void **state)
{
    (void)state;
    enum { MANY = 2 * PATIENCE };
    struct scene s;
    open_scene(&s, 2);
    POST(1, 1, 0, 0); /* of the same channel */
    POST(1, 2, 0, 9);
    pile_up(&s, MANY);
    IRECV(1, 2, 0, 9);
    IRECV(1, 1, 0, 0);
    extract(&s);
    ASSERT_OP(1, 0, RECEIVE, 0);
    ASSERT_OP(1, MANY, RECEIVE, 0);
    ASSERT_OP(1, MANY + 1, RECEIVE, MANY);
    assert_int_equal(OP(1, 0)->flags, 0);
    assert_int_equal(OP(1, MANY + 1)->flags, GN_OP_VAGUE);
    close_scene(&s);
}

static void a_cancelled_one_has_taken_no_number(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    POST(1, 2, 0, 9);
    pile_up(&s, 2 * PATIENCE);
    CANCEL(1, 2);
    RECV(1, 0, 9);
    extract(&s);
    ASSERT_OP(1, 2 * PATIENCE, RECEIVE, 0);
    assert_int_equal(stats(&s)->ambiguous, 0);
    close_scene(&s);
}

static void an_open_receive_is_in_the_way_of_its_own_kind_only(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    POST(1, 1, GN_ANY, 3); /* never completes */
    RECV(1, 0, 0);
    RECV(1, 0, 3);
    extract(&s);
    ASSERT_OP(1, 0, RECEIVE, 0);
    ASSERT_OP(1, 1, RECEIVE, 0);
    assert_int_equal(stats(&s)->ambiguous, 1);
    close_scene(&s);
}

/* An archive without completions: posts that no memory is kept of. */
static void posts_without_completions_are_forgotten(void **state)
{
    (void)state;
    enum { MANY = (1 << 20) + 200000 };
    struct scene s;
    open_scene(&s, 2);
    for (uint32_t i = 0; i < MANY; i++)
        POST_UNKNOWN(1, i);
    RECV(1, 0, 0);
    extract(&s);
    ASSERT_OP(1, 0, RECEIVE, 0);
    assert_int_equal(stats(&s)->ambiguous, 1);
    close_scene(&s);
}

static void messages_to_oneself_are_internal(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    SEND(0, 0, 0);
    POST(0, 1, GN_ANY, 0);
    SEND(0, 0, 0)->comm = 1;
    IRECV(0, 1, 0, 0);
    RECV(0, 0, 0)->comm = 1;
    RECV(0, 1, 0);
    extract(&s);
    ASSERT_OP(0, 0, RECEIVE, 0);
    assert_int_equal(op_count(&s, 0), 2);
    assert_int_equal(stats(&s)->unfit + stats(&s)->ambiguous, 0);
    close_scene(&s);
}

static void between_threads_they_are_not(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    uint32_t thread = add_location(&s, 0);
    SEND(0, 0, 0);
    RECV(thread, 0, 0);
    SEND(thread, 0, 0)->comm = 1;
    extract(&s);
    ASSERT_OP(0, 0, SEND, 0);
    ASSERT_OP(thread, 0, RECEIVE, 0);
    assert_int_equal(OP(0, 0)->link, OP(thread, 0)->link);
    ASSERT_OP(thread, 1, SEND, 0);
    assert_int_equal(stats(&s)->unfit, 0);
    close_scene(&s);
}

static void what_fits_no_definition_is_internal(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    uint32_t others = add_comm(&s, 2, (uint32_t[]){1, 2}, 0);
    SEND(0, GN_NONE, 0); /* to MPI_PROC_NULL */
    SEND(0, 3, 0);
    SEND(0, 1, 0)->comm = 17;
    SEND(0, 0, 0)->comm = GN_NONE;
    SEND(0, 0, 0)->comm = others; /* not a member */
    POST(0, 1, GN_NONE, 0);
    IRECV(0, 1, GN_NONE, 0);
    RECV(0, GN_NONE, 0);
    BEGIN(0, BARRIER, GN_NONE)->comm = 17;
    END(0, BARRIER, GN_NONE)->comm = 17;
    BEGIN(0, BARRIER, GN_NONE)->comm = others;
    END(0, BARRIER, GN_NONE)->comm = others;
    END(0, BARRIER, GN_NONE); /* without a begin */
    COMPLETE(0, 5, BARRIER, GN_NONE);
    extract(&s);
    for (uint64_t i = 0; i + 1 < op_count(&s, 0); i++)
        assert_int_equal(OP(0, i)->kind, GN_OP_LOCAL);
    assert_int_equal(stats(&s)->unfit, 11);
    assert_int_equal(s.store.channel_count, 0);
    close_scene(&s);
}

/* ---- collectives ---- */

/* Whether the end of one member waits for the begin of another one, by what their ops say. */
static bool waits(const struct gn_op *end, uint32_t end_rank, const struct gn_op *begin, uint32_t begin_rank)
{
    return end_rank != begin_rank && (end->flags & GN_OP_GETS) && (begin->flags & GN_OP_GIVES) &&
           (end->shape != GN_SHAPE_PREFIX || begin_rank < end_rank) &&
           (end->shape != GN_SHAPE_ONE_TO_ALL || begin_rank == end->root) &&
           (end->shape != GN_SHAPE_ALL_TO_ONE || end_rank == end->root);
}

static void check_shape(unsigned op, uint32_t root)
{
    enum { MEMBERS = 4 };
    struct scene s;
    open_scene(&s, MEMBERS);
    for (uint32_t l = 0; l < MEMBERS; l++) {
        collective(&s, GN_EVENT_COLLECTIVE_BEGIN, l, op, root, 0);
        collective(&s, GN_EVENT_COLLECTIVE_END, l, op, root, 0);
    }
    extract(&s);
    for (uint32_t a = 0; a < MEMBERS; a++) {
        ASSERT_OP(a, 0, BEGIN, 0);
        ASSERT_OP(a, 1, END, 0);
        for (uint32_t b = 0; b < MEMBERS; b++)
            if (waits(OP(a, 1), a, OP(b, 0), b) != order_check_depends(op, root, a, b))
                fail_msg("%s: rank %u and rank %u", gn_collective_name(op), a, b);
        bool vague = op == GN_COLLECTIVE_ALLTOALLV || op == GN_COLLECTIVE_ALLTOALLW ||
                     op >= GN_COLLECTIVE_CREATE_HANDLE;
        assert_int_equal(OP(a, 0)->flags & GN_OP_VAGUE, vague ? GN_OP_VAGUE : 0);
        assert_int_equal(OP(a, 1)->flags & (GN_OP_VAGUE | GN_OP_GIVES), vague ? GN_OP_VAGUE : 0);
    }
    assert_int_equal(stats(&s)->unfit, 0);
    assert_int_equal(stats(&s)->collectives, MEMBERS);
    close_scene(&s);
}

static void each_operation_has_its_shape(void **state)
{
    (void)state;
    for (unsigned op = 0; op < GN_COLLECTIVE_COUNT; op++) {
        bool rooted = order_check_depends(op, 0, 1, 0) != order_check_depends(op, 2, 1, 0) ||
                      order_check_depends(op, 0, 0, 1) != order_check_depends(op, 2, 0, 1);
        check_shape(op, rooted ? 2 : GN_NONE);
    }
}

static void who_sends_or_gets_nothing_has_nobody_waiting(void **state)
{
    (void)state;
    for (unsigned op = 0; op < GN_COLLECTIVE_COUNT; op++) {
        struct scene s;
        open_scene(&s, 2);
        collective(&s, GN_EVENT_COLLECTIVE_BEGIN, 0, op, 1, 0);
        collective(&s, GN_EVENT_COLLECTIVE_END, 0, op, 1, 0);
        BEGIN(1, BARRIER, 1)->op = GN_COLLECTIVE_UNKNOWN; /* its end says what it was */
        struct gn_event *end = collective(&s, GN_EVENT_COLLECTIVE_END, 1, op, 1, 0);
        end->bytes_sent = end->bytes_received = 0;
        extract(&s);
        bool silent = order_check_partial(op);
        assert_int_equal(waits(OP(0, 1), 0, OP(1, 0), 1), !silent && order_check_depends(op, 1, 0, 1));
        assert_int_equal(waits(OP(1, 1), 1, OP(0, 0), 0), !silent && order_check_depends(op, 1, 1, 0));
        close_scene(&s);
    }
}

static void collectives_are_counted_by_group(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    uint32_t two = add_comm(&s, 2, (uint32_t[]){1, 0}, 0);
    BEGIN(0, BARRIER, GN_NONE);
    END(0, BARRIER, GN_NONE);
    BEGIN(0, BCAST, 1)->comm = two;
    END(0, BCAST, 1)->comm = two;
    BEGIN(0, BARRIER, GN_NONE);
    END(0, BARRIER, GN_NONE);
    BEGIN(0, BARRIER, GN_NONE)->kind = GN_EVENT_RMA_COLLECTIVE_BEGIN; /* window 0 */
    END(0, BARRIER, GN_NONE)->kind = GN_EVENT_RMA_COLLECTIVE_END;
    BEGIN(1, BCAST, 1)->comm = two;
    END(1, BCAST, 1)->comm = two;
    extract(&s);
    ASSERT_OP(0, 0, BEGIN, 0);
    ASSERT_OP(0, 2, BEGIN, 0);
    ASSERT_OP(0, 4, BEGIN, 1);
    ASSERT_OP(0, 5, END, 1);
    ASSERT_OP(0, 6, BEGIN, 0);
    ASSERT_OP(0, 7, END, 0);
    assert_int_equal(s.store.group_count, 3);
    assert_int_equal(OP(0, 0)->link, OP(0, 4)->link);
    assert_int_equal(OP(0, 2)->link, OP(1, 0)->link);
    assert_int_equal(OP(0, 2)->root, 1);
    assert_int_equal(OP(0, 2)->flags, GN_OP_GIVES); /* rank 1 */
    assert_int_equal(OP(1, 1)->flags, GN_OP_GETS);
    assert_true(s.store.groups[OP(0, 6)->link].is_window);
    assert_int_equal(s.store.groups[OP(0, 6)->link].comm, 0);
    assert_int_equal(s.store.groups[OP(0, 2)->link].comm, two);
    close_scene(&s);
}

/* A begin on a window whose end never comes, nor says which window it was, keeps nobody from being counted.
 */
static void windows_do_not_stop_communicators(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    struct gn_event *unknown = BEGIN(0, BARRIER, GN_NONE);
    unknown->kind = GN_EVENT_RMA_COLLECTIVE_BEGIN;
    unknown->comm = GN_NONE;
    START(0, 1);
    COMPLETE(0, 1, BCAST, 0);
    BEGIN(0, BARRIER, GN_NONE);
    END(0, BARRIER, GN_NONE);
    extract(&s);
    assert_int_equal(OP(0, 0)->kind, GN_OP_LOCAL);
    ASSERT_OP(0, 1, BEGIN, 0);
    ASSERT_OP(0, 2, END, 0);
    ASSERT_OP(0, 3, BEGIN, 1);
    ASSERT_OP(0, 4, END, 1);
    close_scene(&s);
    open_scene(&s, 2);
    START(0, 1); /* the other way round: its end says which window, while a communicator is not known */
    unknown = BEGIN(0, BARRIER, GN_NONE);
    unknown->kind = GN_EVENT_RMA_COLLECTIVE_BEGIN;
    unknown->comm = GN_NONE;
    END(0, BARRIER, GN_NONE)->kind = GN_EVENT_RMA_COLLECTIVE_END;
    extract(&s);
    assert_int_equal(OP(0, 0)->kind, GN_OP_LOCAL);
    ASSERT_OP(0, 1, BEGIN, 0);
    ASSERT_OP(0, 2, END, 0);
    assert_true(s.store.groups[OP(0, 1)->link].is_window);
    close_scene(&s);
}

static void collectives_alone_are_internal(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    uint32_t one = add_comm(&s, 1, (uint32_t[]){0}, 0);
    BEGIN(0, BARRIER, GN_NONE)->comm = one;
    END(0, BARRIER, GN_NONE)->comm = one;
    START(0, 3);
    COMPLETE(0, 3, ALLREDUCE, GN_NONE)->comm = 1; /* MPI_COMM_SELF, as its end says */
    extract(&s);
    ASSERT_OP(0, 0, LOCAL, 0);
    ASSERT_OP(0, 1, LEFT, 0);
    assert_int_equal(stats(&s)->unfit, 0);
    assert_int_equal(s.store.group_count, 0);
    close_scene(&s);
}

static void nonblocking_ones_are_counted_as_they_were_started(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    START(0, 1);
    START(0, 2);
    BEGIN(0, ALLREDUCE, GN_NONE);
    END(0, ALLREDUCE, GN_NONE);
    COMPLETE(0, 2, BARRIER, GN_NONE);
    COMPLETE(0, 1, BCAST, 0);
    extract(&s);
    ASSERT_OP(0, 0, BEGIN, 0);
    ASSERT_OP(0, 1, BEGIN, 1);
    ASSERT_OP(0, 2, BEGIN, 2);
    ASSERT_OP(0, 3, END, 2);
    ASSERT_OP(0, 4, END, 1);
    ASSERT_OP(0, 5, END, 0);
    assert_int_equal(OP(0, 0)->shape, GN_SHAPE_ONE_TO_ALL);
    assert_int_equal(OP(0, 0)->flags, GN_OP_GIVES);
    assert_int_equal(OP(0, 5)->flags, 0);
    assert_int_equal(OP(0, 1)->flags, GN_OP_GIVES);
    assert_int_equal(OP(0, 1)->shape, GN_SHAPE_ALL_TO_ALL);
    close_scene(&s);
}

static void one_that_never_ends_counts_when_it_is_known(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    struct gn_event *start = START(0, 1);
    start->comm = 0;
    start->op = GN_COLLECTIVE_BARRIER;
    BEGIN(0, BARRIER, GN_NONE)->comm = GN_NONE; /* some tools write begins that have no end */
    BEGIN(0, BARRIER, GN_NONE);
    END(0, BARRIER, GN_NONE);
    START(0, 2); /* what it was is never said: nor what comes after it is */
    BEGIN(0, BARRIER, GN_NONE);
    END(0, BARRIER, GN_NONE);
    extract(&s);
    ASSERT_OP(0, 0, BEGIN, 0);
    assert_int_equal(OP(0, 0)->flags, GN_OP_GIVES);
    assert_int_equal(OP(0, 1)->kind, GN_OP_LOCAL);
    ASSERT_OP(0, 2, BEGIN, 1);
    ASSERT_OP(0, 3, END, 1);
    for (uint64_t i = 4; i < 7; i++)
        assert_int_equal(OP(0, i)->kind, GN_OP_LOCAL);
    assert_int_equal(OP(0, 7)->kind, GN_OP_LEFT);
    close_scene(&s);
}

static void an_unknown_one_is_not_waited_for_for_ever(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    START(0, 1);
    for (uint32_t i = 0; i < PATIENCE; i++)
        BEGIN(0, BARRIER, GN_NONE), END(0, BARRIER, GN_NONE);
    COMPLETE(0, 1, BARRIER, GN_NONE);
    BEGIN(0, BARRIER, GN_NONE);
    extract(&s);
    ASSERT_OP(0, 0, BEGIN, PATIENCE);
    assert_int_equal(OP(0, 0)->flags & GN_OP_VAGUE, GN_OP_VAGUE);
    ASSERT_OP(0, 1, BEGIN, 0);
    ASSERT_OP(0, 2, END, 0);
    ASSERT_OP(0, 2 * PATIENCE, END, PATIENCE - 1);
    ASSERT_OP(0, 2 * PATIENCE + 1, END, PATIENCE);
    ASSERT_OP(0, 2 * PATIENCE + 2, BEGIN, PATIENCE + 1);
    assert_int_equal(stats(&s)->ambiguous, 1);
    close_scene(&s);
}

static void between_two_groups_data_crosses(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 4);
    uint32_t both = add_comm(&s, 2, (uint32_t[]){0, 1, 2, 3}, 2);
    static const uint32_t roots[] = {GN_ROOT_NONE, GN_ROOT_SELF, 1, 1}; /* process 1 */
    for (uint32_t l = 0; l < 4; l++) {
        BEGIN(l, BCAST, roots[l])->comm = both;
        END(l, BCAST, roots[l])->comm = both;
        BEGIN(l, GATHER, roots[l])->comm = both;
        END(l, GATHER, roots[l])->comm = both;
        BEGIN(l, ALLREDUCE, GN_NONE)->comm = both;
        END(l, ALLREDUCE, GN_NONE)->comm = both;
    }
    message(&s, GN_EVENT_MPI_SEND, 0, 1, 0, 0)->comm = both; /* to process 3 */
    extract(&s);
    static const unsigned bcast_gives[] = {0, GN_OP_GIVES, 0, 0},
                          bcast_gets[] = {0, 0, GN_OP_GETS, GN_OP_GETS};
    static const unsigned gives[] = {0, 0, GN_OP_GIVES, GN_OP_GIVES}, gets[] = {0, GN_OP_GETS, 0, 0};
    for (uint32_t l = 0; l < 4; l++) {
        unsigned second = l >= 2 ? GN_OP_SECOND : 0;
        assert_int_equal(OP(l, 0)->flags, bcast_gives[l] | second);
        assert_int_equal(OP(l, 1)->flags, bcast_gets[l] | second);
        assert_int_equal(OP(l, 2)->flags, gives[l] | second);
        assert_int_equal(OP(l, 3)->flags, gets[l] | second);
        assert_int_equal(OP(l, 4)->flags, GN_OP_GIVES | second);
        assert_int_equal(OP(l, 5)->flags, GN_OP_GETS | second);
        assert_int_equal(OP(l, 2)->root, roots[l]);
    }
    assert_int_equal(s.store.channels[OP(0, 6)->link].to, 3);
    close_scene(&s);
}

static void a_root_that_is_none_orders_nothing(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    BEGIN(0, BCAST, 2);
    END(0, BCAST, 2);
    BEGIN(0, BCAST, 0);
    END(0, BCAST, 0);
    extract(&s);
    ASSERT_OP(0, 0, BEGIN, 0);
    ASSERT_OP(0, 1, END, 0);
    assert_int_equal(OP(0, 0)->flags | OP(0, 1)->flags, 0);
    ASSERT_OP(0, 2, BEGIN, 1); /* it was counted nevertheless */
    assert_int_equal(stats(&s)->unfit, 1);
    close_scene(&s);
}

/* ---- times, records, the end ---- */

static void ops_say_how_far_they_are_from_each_other(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    static const uint64_t ticks[] = {10, 10, 11, 11, 20, 15, 20, 21};
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        struct gn_event *e = i == 1 || i == 3 || i == 5 || i == 6 ? SEND(0, 1, 0) : ENTER(0);
        e->ticks = ticks[i];
        e->record = (uint32_t)(2 * i + 2); /* every other record is none of ours */
    }
    extract(&s);
    static const struct {
        int64_t ticks;
        uint32_t records, steps;
    } expected[] = {{10, 4, 0}, {11, 4, 1}, {20, 4, 1}, {20, 2, 0}, {21, 2, 1}};
    assert_int_equal(op_count(&s, 0), 5);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(OP(0, i)->ticks, expected[i].ticks);
        assert_int_equal(OP(0, i)->records, expected[i].records);
        assert_int_equal(OP(0, i)->steps, expected[i].steps);
        assert_int_equal(OP(0, i)->shift, 0);
        assert_int_equal(OP(0, i)->limit, INT64_MAX);
    }
    assert_int_equal(stats(&s)->first_ticks, 10);
    assert_int_equal(stats(&s)->last_ticks, 21);
    assert_true(s.store.rows[0].has_gaps);
    close_scene(&s);
    open_scene(&s, 2);
    for (uint32_t i = 1; i <= 3; i++)
        SEND(0, 1, 0)->record = i;
    extract(&s);
    assert_false(s.store.rows[0].has_gaps);
    close_scene(&s);
}

static void a_long_row_has_ops_in_between(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    static const uint32_t records[] = {1, 0x70000000, 0xe0000000, 0x50000001, 0x50000002};
    uint64_t sum = 0;
    for (size_t i = 0; i < 5; i++)
        (i == 4 ? SEND(0, 1, 0) : ENTER(0))->record = records[i];
    extract(&s);
    assert_int_equal(op_count(&s, 0), 3);
    assert_int_equal(OP(0, 0)->kind, GN_OP_LOCAL);
    assert_int_equal(OP(0, 1)->kind, GN_OP_SEND);
    for (uint64_t i = 0; i < 2; i++)
        sum += OP(0, i)->records;
    assert_int_equal(sum, 0x150000002);
    close_scene(&s);
}

static void every_process_leaves(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    SEND(0, 1, 0);
    SEND(1, 0, 0);
    ENTER(1);
    extract(&s);
    assert_int_equal(op_count(&s, 0), 2);
    ASSERT_OP(0, 1, LEFT, 0);
    assert_int_equal(OP(0, 1)->records, 0); /* the send's */
    assert_int_equal(OP(0, 1)->ticks, OP(0, 0)->ticks);
    ASSERT_OP(1, 1, LEFT, 0);
    assert_int_equal(OP(1, 1)->records, 1);
    assert_int_equal(OP(1, 1)->steps, 1);
    ASSERT_OP(2, 0, LEFT, 0); /* it has no events */
    close_scene(&s);
}

static void check_loss(enum gn_event_kind kind, uint64_t request, bool is_loss)
{
    struct scene s;
    open_scene(&s, 2);
    POST_UNKNOWN(0, 1);
    POST(0, 2, 1, 0);
    IRECV(0, 2, 1, 0);
    START(0, 3);
    BEGIN(0, BARRIER, GN_NONE);
    simple(&s, kind, 0, request);
    END(0, BARRIER, GN_NONE);
    COMPLETE(0, 3, BARRIER, GN_NONE);
    SEND(0, 1, 0);
    RECV(0, 1, 0);
    IRECV(0, 1, 1, 0);
    BEGIN(0, BARRIER, GN_NONE);
    extract(&s);
    assert_int_equal(stats(&s)->uncounted, is_loss ? 4 : 0);
    assert_int_equal(stats(&s)->unfit, 0);
    assert_int_equal(op_count(&s, 0), is_loss ? 4 : 10);
    ASSERT_OP(0, 0, RECEIVE, is_loss ? 0 : 1);
    assert_int_equal(OP(0, 1)->kind, is_loss ? GN_OP_LOCAL : GN_OP_BEGIN);
    assert_int_equal(OP(0, op_count(&s, 0) - 1)->kind, GN_OP_LEFT);
    close_scene(&s);
}

static void after_a_loss_nothing_is_counted(void **state)
{
    (void)state;
    check_loss(GN_EVENT_LOST, 5, true);
    check_loss(GN_EVENT_MEASUREMENT, 0, true);
    check_loss(GN_EVENT_MEASUREMENT, 1, false);
}

static void threads_are_taken_in_the_order_of_time(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    uint32_t thread = add_location(&s, 0), third = add_location(&s, 0);
    SEND(third, 1, 0)->ticks = 30;
    SEND(thread, 1, 0)->ticks = 10;
    SEND(thread, 1, 0)->ticks = 30;
    SEND(thread, 1, 0)->ticks = 5; /* goes back: its turn is now */
    SEND(0, 1, 0)->ticks = 20;
    SEND(0, 1, 0)->ticks = 30;
    extract(&s);
    ASSERT_OP(thread, 0, SEND, 0);
    ASSERT_OP(0, 0, SEND, 1);
    ASSERT_OP(0, 1, SEND, 2);
    ASSERT_OP(thread, 1, SEND, 3);
    ASSERT_OP(thread, 2, SEND, 4);
    ASSERT_OP(third, 0, SEND, 5);
    ASSERT_OP(0, 2, LEFT, 0); /* one, at the main location */
    assert_int_equal(op_count(&s, thread), 3);
    assert_int_equal(op_count(&s, third), 1);
    close_scene(&s);
}

static void a_request_may_complete_at_another_thread(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    uint32_t thread = add_location(&s, 0);
    POST_UNKNOWN(0, 1);
    START(0, 1);
    RECV(thread, 1, 0);
    IRECV(thread, 1, 1, 0);
    COMPLETE(thread, 1, BARRIER, GN_NONE);
    extract(&s);
    ASSERT_OP(thread, 0, RECEIVE, 0); /* too low: it is not known what the other thread has posted */
    ASSERT_OP(thread, 1, RECEIVE, 1);
    assert_int_equal(OP(thread, 0)->flags, 0);
    assert_int_equal(OP(thread, 1)->flags, GN_OP_VAGUE);
    ASSERT_OP(0, 0, BEGIN, 0);
    ASSERT_OP(thread, 2, END, 0);
    assert_int_equal(stats(&s)->unfit, 0);
    close_scene(&s);
}

/* A call that sends at its begin. */
static void call_send(struct scene *s, uint32_t location, uint64_t from, uint64_t to)
{
    struct gn_event *enter = make(s, GN_EVENT_ENTER, location);
    enter->region = 0;
    enter->ticks = from;
    message(s, GN_EVENT_MPI_SEND, location, 1, 0, 0)->ticks = from;
    struct gn_event *leave = make(s, GN_EVENT_LEAVE, location);
    leave->region = 0;
    leave->ticks = to;
}

/* MPI leaves it open which of two calls at the same time has sent first. */
static void overlapping_sends_are_guesses(void **state)
{
    (void)state;
    for (int overlap = 0; overlap < 2; overlap++) {
        struct scene s;
        open_scene(&s, 2);
        gn_define_region(
            s.script.d,
            &(struct gn_region_def){.role = GN_ROLE_MPI, .name = gn_define_string(s.script.d, "MPI_Send")});
        uint32_t thread = add_location(&s, 0);
        call_send(&s, 0, 10, overlap ? 40 : 20);
        call_send(&s, thread, 30, 50);
        extract(&s);
        ASSERT_OP(0, 0, SEND, 0);
        ASSERT_OP(thread, 0, SEND, 1);
        assert_int_equal(OP(0, 0)->flags, overlap ? GN_OP_VAGUE : 0);
        assert_int_equal(OP(thread, 0)->flags, overlap ? GN_OP_VAGUE : 0);
        close_scene(&s);
    }
}

/* ---- epochs on windows ---- */

enum { WIN_START, WIN_COMPLETE, WIN_POST, WIN_WAIT, WIN_CALLS };

static void define_call(struct scene *s, unsigned call)
{
    static const char *const names[] = {"MPI_Win_start", "MPI_Win_complete", "MPI_Win_post", "MPI_Win_wait"};
    gn_define_region(
        s->script.d,
        &(struct gn_region_def){.role = GN_ROLE_MPI, .name = gn_define_string(s->script.d, names[call])});
}

static void open_epochs(struct scene *s, uint32_t processes)
{
    open_scene(s, processes);
    for (unsigned i = 0; i < WIN_CALLS; i++)
        define_call(s, i);
    gn_define_window(s->script.d, &(struct gn_window_def){0, 0});
}

static void call_window(struct scene *s, uint32_t location, uint32_t call, uint32_t window, uint32_t group)
{
    make(s, GN_EVENT_ENTER, location)->region = call;
    struct gn_event *e = make(s, GN_EVENT_RMA_SYNC, location);
    e->comm = window;
    e->tag = group;
    make(s, GN_EVENT_LEAVE, location)->region = call;
}

static void wait_is_after_complete(void **state)
{
    (void)state;
    struct scene s;
    open_epochs(&s, 3);
    uint32_t targets = add_comm(&s, 2, (uint32_t[]){1, 2}, 0), origin = add_comm(&s, 1, (uint32_t[]){0}, 0);
    for (int round = 0; round < 2; round++) {
        call_window(&s, 0, WIN_START, 0, targets);
        call_window(&s, 0, WIN_COMPLETE, 0, targets);
        for (uint32_t l = 1; l < 3; l++) {
            call_window(&s, l, WIN_POST, 0, origin);
            call_window(&s, l, WIN_WAIT, 0, origin);
        }
    }
    extract(&s);
    assert_int_equal(op_count(&s, 0), 9);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t l = 1; l < 3; l++) {
            const uint64_t at = 4 * round + 2 + l - 1;
            assert_int_equal(OP(0, at - 2)->kind, GN_OP_LOCAL);
            ASSERT_OP(0, at, SEND, round);
            ASSERT_OP(l, round, RECEIVE, round);
            assert_int_equal(OP(0, at)->link, OP(l, round)->link);
            assert_int_equal(OP(0, at)->records, l == 1 ? 2 : 0); /* where it is entered */
            assert_int_equal(OP(l, round)->records, 6);           /* where it is left */
        }
    const struct gn_op_channel *c = &s.store.channels[OP(0, 3)->link];
    assert_int_equal(c->from, 0);
    assert_int_equal(c->to, 2);
    assert_int_equal(c->sends, 2);
    assert_int_equal(c->tag, GN_OP_TAG_EPOCH);
    close_scene(&s);
}

/* Which of two epochs is completed is known too late: then they are sent where they were started. */
static void of_two_epochs_the_start_counts(void **state)
{
    (void)state;
    struct scene s;
    open_epochs(&s, 2);
    call_window(&s, 0, WIN_START, 0, 0);
    call_window(&s, 0, WIN_START, 1, 0);
    call_window(&s, 0, WIN_COMPLETE, 0, 0);
    call_window(&s, 0, WIN_COMPLETE, 1, 0);
    call_window(&s, 1, WIN_WAIT, 1, GN_NONE); /* a record without a group */
    call_window(&s, 1, WIN_WAIT, 1, 0);
    extract(&s);
    assert_int_equal(op_count(&s, 0), 7);
    assert_int_equal(OP(0, 0)->kind, GN_OP_LOCAL); /* to itself */
    ASSERT_OP(0, 1, SEND, 0);
    assert_int_equal(s.store.channels[OP(0, 1)->link].comm, 0);
    assert_int_equal(OP(0, 3)->kind, GN_OP_LOCAL);
    assert_int_equal(OP(0, 4)->kind, GN_OP_LOCAL);
    assert_int_equal(OP(0, 4)->records, 5);
    ASSERT_OP(0, 5, SEND, 0); /* the only one open when it is completed */
    assert_int_equal(s.store.channels[OP(0, 5)->link].comm, 1);
    assert_int_equal(OP(0, 5)->records, 0);
    ASSERT_OP(1, 0, RECEIVE, 0);
    assert_int_equal(OP(1, 1)->kind, GN_OP_LOCAL); /* from itself */
    close_scene(&s);
}

static void what_was_not_started_is_not_counted(void **state)
{
    (void)state;
    struct scene s;
    open_epochs(&s, 2);
    call_window(&s, 0, WIN_COMPLETE, 0, 0);
    call_window(&s, 0, WIN_START, 0, 0);
    call_window(&s, 0, WIN_COMPLETE, 0, 0);
    extract(&s);
    assert_int_equal(op_count(&s, 0), 1);
    close_scene(&s);
}

/* ---- teams of threads ---- */

/* Process 0 has three threads, whose team is communicator `team`; region 0 is a barrier, region 1 is none. */
static uint32_t open_team(struct scene *s, uint32_t *first, uint32_t *second)
{
    open_scene(s, 2);
    *first = add_location(s, 0);
    *second = add_location(s, 0);
    gn_define_region(s->script.d, &(struct gn_region_def){.role = GN_ROLE_BARRIER});
    gn_define_region(s->script.d, &(struct gn_region_def){.role = GN_ROLE_FUNCTION});
    return add_comm(s, 3, (uint32_t[]){0, 0, 0}, 0);
}

static struct gn_event *threads(struct scene *s, enum gn_event_kind kind, uint32_t location, uint32_t team)
{
    struct gn_event *e = make(s, kind, location);
    e->comm = team;
    return e;
}

static void in_region(struct scene *s, uint32_t location, uint32_t region)
{
    make(s, GN_EVENT_ENTER, location)->region = region;
    make(s, GN_EVENT_ENTER, location)->region = 1;
    make(s, GN_EVENT_LEAVE, location)->region = 1;
    make(s, GN_EVENT_LEAVE, location)->region = region;
}

#define FORK(l) make(&s, GN_EVENT_THREAD_FORK, l)
#define JOIN(l) make(&s, GN_EVENT_THREAD_JOIN, l)
#define TEAM_BEGIN(l) threads(&s, GN_EVENT_THREAD_BEGIN, l, team)
#define TEAM_END(l) threads(&s, GN_EVENT_THREAD_END, l, team)

static void assert_team_op(const struct gn_op *op, unsigned kind, unsigned shape, uint32_t number,
                           uint32_t begins)
{
    assert_int_equal(op->kind, kind);
    assert_int_equal(op->shape, shape);
    assert_int_equal(op->number, number);
    assert_int_equal(op->root, begins);
    assert_int_equal(op->flags, kind == GN_OP_BEGIN ? GN_OP_GIVES : begins ? GN_OP_GETS : 0);
}

static void a_team_is_forked_meets_and_joins(void **state)
{
    (void)state;
    struct scene s;
    uint32_t threads_of[3] = {0}, team = open_team(&s, &threads_of[1], &threads_of[2]);
    for (uint32_t round = 0; round < 2; round++) {
        FORK(0);
        for (uint32_t i = 0; i < 3; i++)
            TEAM_BEGIN(threads_of[i]);
        for (uint32_t i = 0; i < 3; i++) {
            in_region(&s, threads_of[i], 0);
            in_region(&s, threads_of[i], 1);
            in_region(&s, threads_of[i], 0);
            TEAM_END(threads_of[i]);
        }
        JOIN(0);
    }
    extract(&s);
    enum { MASTER = 6, OTHER = 6 };
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 3; i++) {
            const uint32_t l = threads_of[i], at = round * (i ? OTHER : MASTER);
            if (i == 0)
                assert_team_op(OP(l, at), GN_OP_BEGIN, GN_SHAPE_ONE_TO_ALL, round, 2);
            else
                assert_team_op(OP(l, at), GN_OP_END, GN_SHAPE_ONE_TO_ALL, round, 2);
            for (uint32_t k = 0; k < 2; k++) {
                assert_team_op(OP(l, at + 1 + 2 * k), GN_OP_BEGIN, GN_SHAPE_ALL_TO_ALL, 2 * round + k, 3);
                assert_team_op(OP(l, at + 2 + 2 * k), GN_OP_END, GN_SHAPE_ALL_TO_ALL, 2 * round + k, 3);
            }
            assert_team_op(OP(l, at + 5), i ? GN_OP_BEGIN : GN_OP_END, GN_SHAPE_ALL_TO_ONE, round, 2);
        }
    }
    assert_int_equal(s.store.group_count, 3);
    for (size_t g = 0; g < 3; g++) {
        assert_true(s.store.groups[g].is_team);
        assert_int_equal(s.store.groups[g].comm, 0);
    }
    assert_int_equal(OP(0, 0)->link, OP(threads_of[1], 0)->link);
    assert_int_not_equal(OP(0, 0)->link, OP(0, 5)->link);
    assert_int_equal(op_count(&s, 0), 2 * MASTER + 1);
    assert_int_equal(stats(&s)->collectives, 2 * (1 + 6 + 2));
    assert_int_equal(stats(&s)->unfit, 0);
    close_scene(&s);
}

/* Clocks that are wrong do not change who belongs together. */
static void teams_are_counted_and_not_timed(void **state)
{
    (void)state;
    struct scene s;
    uint32_t first, second, team = open_team(&s, &first, &second);
    for (uint64_t round = 0; round < 3; round++) {
        FORK(0)->ticks = 1000 + 100 * round;
        TEAM_BEGIN(0)->ticks = 1000 + 100 * round;
        TEAM_BEGIN(first)->ticks = 1 + 2 * round;
        TEAM_BEGIN(second)->ticks = 5000 + round;
        TEAM_END(0)->ticks = 1010 + 100 * round;
        TEAM_END(first)->ticks = 2 + 2 * round;
        TEAM_END(second)->ticks = 5000 + round;
        JOIN(0)->ticks = 1020 + 100 * round;
    }
    extract(&s);
    for (uint32_t round = 0; round < 3; round++) {
        assert_int_equal(OP(0, 2 * round)->kind, GN_OP_BEGIN);
        assert_int_equal(OP(first, 2 * round)->kind, GN_OP_END);
        assert_int_equal(OP(0, 2 * round)->number, round);
        assert_int_equal(OP(first, 2 * round)->number, round);
        assert_int_equal(OP(second, 2 * round)->number, round);
        assert_int_equal(OP(first, 2 * round + 1)->number, OP(0, 2 * round + 1)->number);
        assert_int_equal(OP(second, 2 * round + 1)->number, OP(0, 2 * round + 1)->number);
        assert_int_equal(OP(0, 2 * round + 1)->root, 2);
    }
    close_scene(&s);
}

/* Whom a lock goes to depends on the number of its acquisition, and on no clock. */
static void locks_are_handed_over(void **state)
{
    (void)state;
    struct scene s;
    uint32_t first, second;
    open_team(&s, &first, &second);
    struct gn_event *events[] = {make(&s, GN_EVENT_LOCK_ACQUIRE, first),
                                 make(&s, GN_EVENT_LOCK_RELEASE, first), make(&s, GN_EVENT_LOCK_ACQUIRE, 0),
                                 make(&s, GN_EVENT_LOCK_RELEASE, 0)};
    events[0]->request = events[1]->request = 8ull << 32 | 2;
    events[2]->request = events[3]->request = 8ull << 32 | 1;
    extract(&s);
    assert_team_op(OP(0, 1), GN_OP_BEGIN, GN_SHAPE_ALL_TO_ALL, OP(first, 0)->number, 1);
    assert_team_op(OP(first, 0), GN_OP_END, GN_SHAPE_ALL_TO_ALL, OP(0, 1)->number, 1);
    assert_int_equal(OP(first, 0)->link, OP(0, 1)->link);
    close_scene(&s);
}

/* Of the definitions of a team of each process, which have one number, one is in the archive: who is in it,
 * and how many, is said of another process. */
static void a_team_that_is_defined_for_others_is_as_large_as_it_is(void **state)
{
    (void)state;
    struct scene s;
    uint32_t first, second;
    open_team(&s, &first, &second);
    const uint32_t team = add_comm(&s, 2, (uint32_t[]){1, 1}, 0), all[] = {0, first, second};
    FORK(0);
    for (size_t i = 0; i < 3; i++) {
        TEAM_BEGIN(all[i]);
        in_region(&s, all[i], 0);
        TEAM_END(all[i]);
    }
    JOIN(0);
    extract(&s);
    for (size_t i = 0; i < 3; i++) {
        const uint32_t l = all[i];
        assert_team_op(OP(l, 0), i ? GN_OP_END : GN_OP_BEGIN, GN_SHAPE_ONE_TO_ALL, 0, 2);
        assert_team_op(OP(l, 1), GN_OP_BEGIN, GN_SHAPE_ALL_TO_ALL, 0, 3);
        assert_team_op(OP(l, 2), GN_OP_END, GN_SHAPE_ALL_TO_ALL, 0, 3);
        assert_team_op(OP(l, 3), i ? GN_OP_BEGIN : GN_OP_END, GN_SHAPE_ALL_TO_ONE, 0, 2);
    }
    close_scene(&s);
}

static void who_is_missing_in_a_team_is_not_waited_for(void **state)
{
    (void)state;
    struct scene s;
    uint32_t first, second, team = open_team(&s, &first, &second);
    FORK(0);
    TEAM_BEGIN(0);
    TEAM_BEGIN(first);
    make(&s, GN_EVENT_ENTER, first)->region = 0; /* cut off in a barrier; the third never comes */
    in_region(&s, 0, 0);
    TEAM_END(0);
    JOIN(0);
    JOIN(0);            /* of something else */
    TEAM_BEGIN(second); /* of a fork that is not there: it is the same instance */
    TEAM_END(second);
    TEAM_BEGIN(second); /* of one that nobody has forked */
    TEAM_END(0);        /* it is in none */
    extract(&s);
    assert_team_op(OP(0, 0), GN_OP_BEGIN, GN_SHAPE_ONE_TO_ALL, 0, 2);
    assert_team_op(OP(0, 1), GN_OP_BEGIN, GN_SHAPE_ALL_TO_ALL, 0, 2);
    assert_team_op(OP(0, 2), GN_OP_END, GN_SHAPE_ALL_TO_ALL, 0, 2);
    assert_team_op(OP(0, 3), GN_OP_END, GN_SHAPE_ALL_TO_ONE, 0, 1);
    assert_team_op(OP(first, 0), GN_OP_END, GN_SHAPE_ONE_TO_ALL, 0, 2);
    assert_team_op(OP(second, 0), GN_OP_END, GN_SHAPE_ONE_TO_ALL, 0, 2);
    assert_team_op(OP(second, 1), GN_OP_BEGIN, GN_SHAPE_ALL_TO_ONE, 0, 1);
    assert_team_op(OP(second, 2), GN_OP_END, GN_SHAPE_ONE_TO_ALL, 1, 0);
    assert_int_equal(OP(0, 4)->kind, GN_OP_LEFT);
    assert_int_equal(stats(&s)->unfit, 1);
    close_scene(&s);
}

static void a_thread_that_was_created_alone_is_in_no_team(void **state)
{
    (void)state;
    struct scene s;
    uint32_t first, second, team = open_team(&s, &first, &second);
    FORK(0);
    threads(&s, GN_EVENT_THREAD_BEGIN, first, GN_NONE);
    in_region(&s, first, 0);
    threads(&s, GN_EVENT_THREAD_END, first, GN_NONE);
    JOIN(0);
    FORK(0); /* of a team inside of which there is another one */
    TEAM_BEGIN(0);
    FORK(0);
    TEAM_BEGIN(0);
    TEAM_BEGIN(first);
    TEAM_END(first);
    TEAM_END(0);
    JOIN(0);
    TEAM_END(0);
    JOIN(0);
    extract(&s);
    assert_int_equal(OP(0, 0)->kind, GN_OP_LOCAL);
    assert_team_op(OP(0, 1), GN_OP_BEGIN, GN_SHAPE_ONE_TO_ALL, 0, 1);
    assert_team_op(OP(0, 2), GN_OP_BEGIN, GN_SHAPE_ONE_TO_ALL, 1, 0);
    assert_team_op(OP(first, 0), GN_OP_END, GN_SHAPE_ONE_TO_ALL, 0, 1);
    assert_int_equal(op_count(&s, first), 2);
    assert_int_equal(stats(&s)->unfit, 0);
    close_scene(&s);
}

static void assert_refused(struct scene *s, int code, const char *why)
{
    struct gn_error err = {0};
    open_extract(s);
    assert_int_equal(gn_extract_process(s->extract, 0, &err), code);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    close_scene(s);
}

static void what_cannot_be_repaired_is_refused(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    SEND(0, 1, 0)->ticks = INT64_MAX / 2;
    SEND(0, 1, 0)->ticks = INT64_MAX / 2 + 1ull;
    POST_UNKNOWN(0, 1);
    assert_refused(&s, -ERANGE, "timestamp 4611686018427387904");
    open_scene(&s, 2);
    for (int i = 0; i < 20; i++)
        POST_UNKNOWN(0, 1);
    START(0, 2);
    s.script.fails_at = 0;
    assert_refused(&s, -EIO, "on fire");
    open_scene(&s, 2);
    open_extract(&s);
    assert_int_equal(gn_extract_process(s.extract, 2, NULL), -EINVAL);
    close_scene(&s);
}

/* ---- whole executions ---- */

struct end {
    uint32_t link, number, location, index;
    uint32_t instance;
};

struct ends {
    struct end *all;
    size_t count;
};

static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The ops of a kind, as events. */
static struct ends list_ops(const struct scene *s, unsigned kind)
{
    struct ends ends = {0};
    uint64_t ops = 0;
    for (size_t l = 0; l < s->store.row_count; l++)
        ops += s->store.rows[l].count;
    ends.all = malloc((ops + 1) * sizeof *ends.all);
    assert_non_null(ends.all);
    for (uint32_t l = 0; l < s->store.row_count; l++)
        for (uint64_t i = 0, record = 0; i < s->store.rows[l].count; i++) {
            const struct gn_op *op = gn_op_at(&s->store, l, i);
            record += op->records;
            if (op->kind == kind)
                ends.all[ends.count++] = (struct end){op->link, op->number, l, (uint32_t)record - 1, 0};
        }
    qsort(ends.all, ends.count, sizeof *ends.all, compare_ends);
    return ends;
}

static void script_of(struct scene *s, const struct execution *x)
{
    *s = (struct scene){.script = {.d = x->definitions, .fails_at = -1}};
    for (uint32_t l = 0; l < x->location_count; l++)
        for (size_t i = 0; i < x->counts[l]; i++)
            add(s, x->events[l][i])->record = 0; /* no event files, and no skipped records */
}

static void check_messages_of(const struct scene *s, const struct execution *x, uint64_t seed)
{
    struct ends sends = list_ops(s, GN_OP_SEND), receives = list_ops(s, GN_OP_RECEIVE);
    for (size_t i = 0; i < receives.count; i++) {
        const struct end *r = &receives.all[i];
        const struct where truth = x->sends[r->location][r->index];
        const struct end *send = bsearch(r, sends.all, sends.count, sizeof *sends.all, compare_ends);
        if (send ? truth.location != send->location || truth.index != send->index : truth.location != GN_NONE)
            fail_msg("seed %llu: the receive %u.%u", (unsigned long long)seed, r->location, r->index);
    }
    for (size_t i = 1; i < sends.count; i++)
        assert_int_not_equal(compare_ends(&sends.all[i - 1], &sends.all[i]), 0);
    free(sends.all);
    free(receives.all);
}

static void check_instances_of(const struct scene *s, const struct execution *x, unsigned kind, uint64_t seed)
{
    struct ends ends = list_ops(s, kind);
    for (size_t i = 0; i < ends.count; i++)
        ends.all[i].instance = x->instances[ends.all[i].location][ends.all[i].index];
    for (size_t i = 0; i < ends.count; i++)
        for (size_t j = 0; j < ends.count; j++)
            if ((compare_ends(&ends.all[i], &ends.all[j]) == 0) !=
                (ends.all[i].instance == ends.all[j].instance))
                fail_msg("seed %llu: the collectives %u.%u and %u.%u", (unsigned long long)seed,
                         ends.all[i].location, ends.all[i].index, ends.all[j].location, ends.all[j].index);
    free(ends.all);
}

/* Every event that is one must have become an op: those of processes of one location with themselves are not.
 */
static uint64_t expected_ops(const struct execution *x)
{
    const struct gn_definitions *d = x->definitions;
    uint64_t count = d->process_count, locations[MAX_PROCESSES] = {0};
    for (uint32_t l = 0; l < x->location_count; l++)
        locations[d->locations[l].process]++;
    for (uint32_t l = 0; l < x->location_count; l++)
        for (size_t i = 0; i < x->counts[l]; i++) {
            const struct gn_event *e = &x->events[l][i];
            const uint32_t process = d->locations[l].process;
            if (e->kind == GN_EVENT_MPI_SEND || e->kind == GN_EVENT_MPI_ISEND ||
                e->kind == GN_EVENT_MPI_RECV || e->kind == GN_EVENT_MPI_IRECV)
                count += d->comms[e->comm].members[e->peer] != process || locations[process] > 1;
        }
    return count;
}

static uint64_t run_execution(const struct execution_settings *settings, bool is_whole)
{
    struct execution *x = execution_new(settings);
    struct scene s;
    assert_non_null(x);
    script_of(&s, x);
    extract(&s);
    check_messages_of(&s, x, settings->seed);
    check_instances_of(&s, x, GN_OP_BEGIN, settings->seed);
    check_instances_of(&s, x, GN_OP_END, settings->seed);
    assert_int_equal(stats(&s)->unfit + stats(&s)->uncounted, 0);
    if (is_whole)
        assert_int_equal(stats(&s)->ambiguous, 0);
    if (!settings->collectives)
        assert_int_equal(stats(&s)->ops, expected_ops(x));
    uint64_t receives = stats(&s)->receives;
    x->definitions = NULL; /* the scene frees them */
    close_scene(&s);
    execution_free(x);
    return receives;
}

static void executions_are_matched_as_they_were(void **state)
{
    (void)state;
    static const struct execution_settings properties[] = {
        {.steps = 150, .wildcards = 0.3, .cancelled = 0.1},
        {.steps = 300,
         .wildcards = 0.3,
         .cancelled = 0.1,
         .unknown = 0.5,
         .collectives = true,
         .windows = true},
        {.steps = 300, .wildcards = 0.2, .unknown = 1, .collectives = true},
        {.steps = 300, .wildcards = 0.3, .cancelled = 0.1, .unknown = 0.5, .cut = 0.3, .collectives = true},
    };
    const char *only = getenv("GNOMON_TEST_SEED");
    uint64_t receives = 0;
    for (uint64_t seed = only ? strtoull(only, NULL, 0) : 1; seed <= SEEDS || only; seed++) {
        for (size_t p = 0; p < sizeof properties / sizeof *properties; p++) {
            struct execution_settings settings = properties[p];
            settings.seed = seed;
            receives += run_execution(&settings, settings.cut == 0);
        }
        if (only)
            break;
    }
    assert_true(only || receives > SEEDS);
}

/* ---- events that make no sense ---- */

static uint32_t any_reference(uint64_t *random)
{
    static const uint32_t special[] = {GN_NONE, GN_ANY, GN_ROOT_SELF, GN_ROOT_NONE, 1000};
    uint32_t i = dice_below(random, 40);
    return i < 5 ? special[i] : i % 6;
}

static void add_nonsense(struct scene *s, uint64_t *random, uint32_t locations)
{
    struct gn_event *e = make(s, (enum gn_event_kind)dice_below(random, GN_EVENT_KIND_COUNT + 1),
                              dice_below(random, locations));
    e->ticks = dice_below(random, 1000);
    if ((e->kind == GN_EVENT_LOST || e->kind == GN_EVENT_MEASUREMENT) && dice_chance(random, 0.95))
        e->kind = GN_EVENT_MPI_IRECV;
    e->op = (uint8_t)(dice_chance(random, 0.1) ? dice_below(random, 256)
                                               : dice_below(random, GN_COLLECTIVE_COUNT));
    e->comm = any_reference(random);
    e->peer = any_reference(random);
    e->tag = any_reference(random);
    e->region = any_reference(random);
    e->request = dice_below(random, 6);
    e->bytes_sent = dice_below(random, 2);
    e->bytes_received = dice_below(random, 2);
}

static void check_nonsense(const struct scene *s)
{
    const struct gn_definitions *d = s->script.d;
    for (uint32_t l = 0; l < d->location_count; l++)
        for (uint64_t i = 0, count = op_count(s, l); i < count; i++) {
            const struct gn_op *op = op_at(s, l, i);
            const bool is_last = d->processes[d->locations[l].process].main_location == l && i + 1 == count;
            assert_int_equal(op->kind == GN_OP_LEFT, is_last);
            if (op->kind == GN_OP_SEND || op->kind == GN_OP_RECEIVE)
                assert_in_range(op->link, 0, s->store.channel_count - 1);
            if (op->kind == GN_OP_BEGIN || op->kind == GN_OP_END)
                assert_in_range(op->link, 0, s->store.group_count - 1);
        }
}

static void nonsense_is_survived(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene s;
        uint64_t random = seed;
        uint32_t first, second, team = open_team(&s, &first, &second);
        add_comm(&s, 1, (uint32_t[]){0, 1}, 1);
        gn_define_window(s.script.d, &(struct gn_window_def){0, team});
        for (unsigned i = 0; i < WIN_CALLS; i++)
            define_call(&s, i);
        gn_define_window(s.script.d, &(struct gn_window_def){0, GN_NONE});
        for (unsigned i = dice_below(&random, 400); i > 0; i--)
            add_nonsense(&s, &random, 4);
        extract(&s);
        check_nonsense(&s);
        close_scene(&s);
    }
}

/* ---- archives and simulated runs ---- */

/* Every receive has one send, every instance each member once; whoever had no loss. */
static void check_source(struct gn_source *source, uint64_t *messages, uint64_t *unmatched,
                         uint64_t *instances)
{
    struct scene s = {.source = *source};
    struct gn_error err = {0};
    s.presync = (struct gn_presync){.kind = GN_PRESYNC_NONE, .definitions = source->definitions};
    assert_int_equal(gn_op_store_open(&s.store, source->definitions->location_count, "/tmp", &err), 0);
    assert_int_equal(gn_extract_open(&s.extract, &s.source, &s.presync, &s.store, &err), 0);
    for (uint32_t p = (uint32_t)source->definitions->process_count; p-- > 0;)
        if (gn_extract_process(s.extract, p, &err) != 0)
            fail_msg("%s", err.text);
    struct ends sends = list_ops(&s, GN_OP_SEND), receives = list_ops(&s, GN_OP_RECEIVE);
    struct ends begins = list_ops(&s, GN_OP_BEGIN), ends = list_ops(&s, GN_OP_END);
    assert_in_range(receives.count, 0, sends.count);
    for (size_t i = 0; i < receives.count; i++) {
        assert_non_null(bsearch(&receives.all[i], sends.all, sends.count, sizeof *sends.all, compare_ends));
        assert_true(i == 0 || compare_ends(&receives.all[i - 1], &receives.all[i]) != 0);
    }
    *unmatched += sends.count - receives.count;
    assert_int_equal(begins.count, ends.count);
    for (size_t i = 0; i < begins.count;) {
        const struct gn_op_group *group = &s.store.groups[begins.all[i].link];
        uint32_t comm = group->is_window ? source->definitions->windows[group->comm].comm : group->comm;
        uint32_t members = source->definitions->comms[comm].member_count;
        for (uint32_t m = 0; m < members; m++)
            assert_int_equal(compare_ends(&begins.all[i], &begins.all[i + m]), 0);
        i += members;
        *instances += 1;
    }
    *messages += receives.count;
    assert_int_equal(stats(&s)->unfit + stats(&s)->ambiguous + stats(&s)->uncounted, 0);
    free(sends.all);
    free(receives.all);
    free(begins.all);
    free(ends.all);
    gn_extract_close(s.extract);
    gn_op_store_close(&s.store);
    source->close(source->self);
}

static void an_archive_of_score_p_is_matched(void **state)
{
    (void)state;
    struct gn_source source;
    struct gn_error err;
    uint64_t messages = 0, unmatched = 0, instances = 0;
    assert_int_equal(gn_trace_open(&source, NULL, SCOREP, &err), 0);
    check_source(&source, &messages, &unmatched, &instances);
    assert_int_equal(messages, 28);
    assert_int_equal(unmatched, 0);
    assert_true(instances > 10);
}

/* ---- an archive of a process with two threads ---- */

static void write_threads(struct maker *maker, uint64_t counts[2])
{
    OTF2_EvtWriter *master = maker_begin(maker, 0);
    OTF2_EvtWriter_ThreadFork(master, NULL, 10, OTF2_PARADIGM_OPENMP, 2);
    OTF2_EvtWriter_ThreadTeamBegin(master, NULL, 11, 1);
    OTF2_EvtWriter_BufferFlush(master, NULL, 12, 13); /* none of our kinds */
    OTF2_EvtWriter_Enter(master, NULL, 14, 1);
    OTF2_EvtWriter_Leave(master, NULL, 20, 1);
    OTF2_EvtWriter_ThreadTeamEnd(master, NULL, 21, 1);
    OTF2_EvtWriter_ThreadJoin(master, NULL, 25, OTF2_PARADIGM_OPENMP);
    counts[0] = maker_end(maker, master);
    OTF2_EvtWriter *other = maker_begin(maker, 1);
    OTF2_EvtWriter_ThreadTeamBegin(other, NULL, 3, 1); /* its clock is behind */
    OTF2_EvtWriter_Enter(other, NULL, 4, 1);
    OTF2_EvtWriter_Leave(other, NULL, 5, 1);
    OTF2_EvtWriter_ThreadTeamEnd(other, NULL, 6, 1);
    counts[1] = maker_end(maker, other);
}

/* A communicator of one process, and its groups, with the numbers that the team has, too. */
static void define_the_same_ids(OTF2_GlobalDefWriter *d)
{
    static const uint64_t zero[] = {0};
    OTF2_GlobalDefWriter_WriteGroup(d, 0, TEXT_EMPTY, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, 1, zero);
    OTF2_GlobalDefWriter_WriteGroup(d, 1, TEXT_EMPTY, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, 1, zero);
    OTF2_GlobalDefWriter_WriteComm(d, 1, TEXT_WORLD, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
}

enum same_ids { NO_SAME_IDS, SAME_IDS_BEFORE, SAME_IDS_AFTER };

static void define_threads(OTF2_GlobalDefWriter *d, const uint64_t counts[2], enum same_ids same)
{
    static const uint64_t locations[] = {0, 1}, members[] = {0, 1};
    if (same == SAME_IDS_BEFORE)
        define_the_same_ids(d);
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, TEXT_HOST, TEXT_NODE, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    OTF2_GlobalDefWriter_WriteLocationGroup(d, 0, TEXT_PROCESS, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
    for (uint32_t l = 0; l < 2; l++)
        OTF2_GlobalDefWriter_WriteLocation(d, l, TEXT_THREAD, OTF2_LOCATION_TYPE_CPU_THREAD, counts[l], 0);
    for (uint32_t r = 0; r < 2; r++)
        OTF2_GlobalDefWriter_WriteRegion(d, r, TEXT_ENTERED, TEXT_ENTERED, TEXT_EMPTY,
                                         r ? OTF2_REGION_ROLE_IMPLICIT_BARRIER : OTF2_REGION_ROLE_FUNCTION,
                                         OTF2_PARADIGM_OPENMP, OTF2_REGION_FLAG_NONE, TEXT_EMPTY, 0, 0);
    OTF2_GlobalDefWriter_WriteGroup(d, 0, TEXT_EMPTY, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_OPENMP,
                                    OTF2_GROUP_FLAG_NONE, 2, locations);
    OTF2_GlobalDefWriter_WriteGroup(d, 1, TEXT_EMPTY, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_OPENMP,
                                    OTF2_GROUP_FLAG_NONE, 2, members);
    OTF2_GlobalDefWriter_WriteComm(d, 1, TEXT_WORLD, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    if (same == SAME_IDS_AFTER)
        define_the_same_ids(d);
}

static void teams_of_an_archive(enum same_ids same)
{
    char folder[] = "/tmp/gnomon-extract.XXXXXX", command[64];
    static const uint64_t locations[] = {0, 1};
    struct maker maker;
    uint64_t counts[2];
    struct scene s = {0};
    struct gn_error err;
    assert_non_null(mkdtemp(folder));
    maker_open(&maker, folder, 256 << 10);
    write_threads(&maker, counts);
    maker_definitions(&maker, locations, 2, 100);
    define_threads(maker.definitions, counts, same);
    maker_close(&maker);
    const struct gn_trace_report *report;
    assert_int_equal(gn_trace_open(&s.source, &report, folder, &err), 0);
    s.presync = (struct gn_presync){.kind = GN_PRESYNC_NONE, .definitions = s.source.definitions};
    assert_int_equal(gn_op_store_open(&s.store, 2, NULL, &err), 0);
    assert_int_equal(gn_extract_open(&s.extract, &s.source, &s.presync, &s.store, &err), 0);
    assert_int_equal(gn_extract_process(s.extract, 0, &err), 0);
    assert_int_equal(report->undefined, 0);
    assert_int_equal(report->redefined, 0);
    assert_int_equal(s.source.definitions->comm_count, same == NO_SAME_IDS ? 1 : 2);
    assert_team_op(OP(0, 0), GN_OP_BEGIN, GN_SHAPE_ONE_TO_ALL, 0, 1);
    assert_team_op(OP(0, 1), GN_OP_BEGIN, GN_SHAPE_ALL_TO_ALL, 0, 2);
    assert_team_op(OP(0, 2), GN_OP_END, GN_SHAPE_ALL_TO_ALL, 0, 2);
    assert_team_op(OP(0, 3), GN_OP_END, GN_SHAPE_ALL_TO_ONE, 0, 1);
    assert_team_op(OP(1, 0), GN_OP_END, GN_SHAPE_ONE_TO_ALL, 0, 1);
    assert_team_op(OP(1, 3), GN_OP_BEGIN, GN_SHAPE_ALL_TO_ONE, 0, 1);
    assert_int_equal(OP(0, 0)->records, 1);
    assert_int_equal(OP(0, 1)->records, 3);
    assert_int_equal(op_count(&s, 0), 5);
    assert_int_equal(op_count(&s, 1), 4);
    s.source.close(s.source.self);
    gn_extract_close(s.extract);
    gn_op_store_close(&s.store);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void threads_of_an_archive_are_teams(void **state)
{
    (void)state;
    teams_of_an_archive(NO_SAME_IDS);
}

static void a_team_is_not_the_communicator_of_its_number(void **state)
{
    (void)state;
    teams_of_an_archive(SAME_IDS_BEFORE);
    teams_of_an_archive(SAME_IDS_AFTER);
}

static void simulated_runs_are_matched(void **state)
{
    (void)state;
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++) {
        struct gn_synth_settings settings = gn_synth_defaults();
        struct gn_source source;
        struct gn_error err;
        uint64_t messages = 0, unmatched = 0, instances = 0;
        if (strcmp(p->name, "lost") == 0)
            continue;
        settings.pattern = p->name;
        settings.locations = 8;
        settings.events = 20000;
        settings.domains = 4;
        settings.offset_ns = 20000;
        assert_int_equal(gn_synth_open(&source, &settings, &err), 0);
        check_source(&source, &messages, &unmatched, &instances);
        assert_true(messages + instances > 100);
        assert_int_equal(unmatched > 0, strcmp(p->name, "unmatched") == 0);
    }
}

/* Some tools record no lengths, and libraries return at once where there are none; but a barrier has none. */
static void what_moves_nothing_is_vague(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    for (uint32_t l = 0; l < 2; l++) {
        BEGIN(l, ALLREDUCE, GN_NONE)->bytes_sent = 0;
        struct gn_event *e = END(l, ALLREDUCE, GN_NONE);
        e->bytes_sent = e->bytes_received = 0;
        BEGIN(l, BARRIER, GN_NONE);
        e = END(l, BARRIER, GN_NONE);
        e->bytes_sent = e->bytes_received = 0;
    }
    extract(&s);
    for (uint32_t l = 0; l < 2; l++) {
        assert_int_equal(OP(l, 1)->flags, GN_OP_GETS | GN_OP_VAGUE);
        assert_int_equal(OP(l, 3)->flags, GN_OP_GETS);
    }
    close_scene(&s);
}

/* An operation that OTF2 may get one day: nobody knows who waits for whom. */
static void what_nobody_knows_is_vague(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    for (uint32_t l = 0; l < 2; l++) {
        collective(&s, GN_EVENT_COLLECTIVE_BEGIN, l, GN_COLLECTIVE_COUNT, GN_NONE, 0);
        collective(&s, GN_EVENT_COLLECTIVE_END, l, GN_COLLECTIVE_COUNT, GN_NONE, 0);
    }
    extract(&s);
    for (uint32_t l = 0; l < 2; l++) {
        ASSERT_OP(l, 1, END, 0);
        assert_int_equal(OP(l, 0)->flags, GN_OP_GIVES | GN_OP_VAGUE);
        assert_int_equal(OP(l, 1)->flags, GN_OP_GETS | GN_OP_VAGUE);
    }
    close_scene(&s);
}

/* Its end would have said how much it gave. */
static void a_lost_end_may_have_given_nothing(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    BEGIN(0, GATHERV, 1)->bytes_sent = GN_BYTES_UNKNOWN;
    BEGIN(1, GATHERV, 1);
    END(1, GATHERV, 1);
    extract(&s);
    assert_int_equal(OP(0, 0)->flags & GN_OP_GIVES, 0);
    assert_int_equal(OP(1, 1)->flags, GN_OP_GETS);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_counted_by_channel),
        cmocka_unit_test(the_other_direction_and_another_communicator_are_other_channels),
        cmocka_unit_test(receives_are_counted_as_they_were_posted),
        cmocka_unit_test(many_receives_may_complete_backward),
        cmocka_unit_test(a_wildcard_is_what_its_status_says),
        cmocka_unit_test(a_cancelled_receive_takes_no_message),
        cmocka_unit_test(a_request_that_is_used_again_was_over),
        cmocka_unit_test(a_receive_that_was_never_posted_counts_when_it_completes),
        cmocka_unit_test(who_stays_in_the_way_is_passed_over),
        cmocka_unit_test(who_stays_in_the_way_for_a_while_is_waited_for),
        cmocka_unit_test(who_says_its_channel_is_passed_over_by_that_one),
        cmocka_unit_test(a_cancelled_one_has_taken_no_number),
        cmocka_unit_test(an_open_receive_is_in_the_way_of_its_own_kind_only),
        cmocka_unit_test(posts_without_completions_are_forgotten),
        cmocka_unit_test(messages_to_oneself_are_internal),
        cmocka_unit_test(between_threads_they_are_not),
        cmocka_unit_test(what_fits_no_definition_is_internal),
        cmocka_unit_test(each_operation_has_its_shape),
        cmocka_unit_test(what_nobody_knows_is_vague),
        cmocka_unit_test(a_lost_end_may_have_given_nothing),
        cmocka_unit_test(what_moves_nothing_is_vague),
        cmocka_unit_test(who_sends_or_gets_nothing_has_nobody_waiting),
        cmocka_unit_test(collectives_are_counted_by_group),
        cmocka_unit_test(windows_do_not_stop_communicators),
        cmocka_unit_test(collectives_alone_are_internal),
        cmocka_unit_test(nonblocking_ones_are_counted_as_they_were_started),
        cmocka_unit_test(one_that_never_ends_counts_when_it_is_known),
        cmocka_unit_test(an_unknown_one_is_not_waited_for_for_ever),
        cmocka_unit_test(between_two_groups_data_crosses),
        cmocka_unit_test(a_root_that_is_none_orders_nothing),
        cmocka_unit_test(ops_say_how_far_they_are_from_each_other),
        cmocka_unit_test(a_long_row_has_ops_in_between),
        cmocka_unit_test(every_process_leaves),
        cmocka_unit_test(after_a_loss_nothing_is_counted),
        cmocka_unit_test(threads_are_taken_in_the_order_of_time),
        cmocka_unit_test(a_request_may_complete_at_another_thread),
        cmocka_unit_test(overlapping_sends_are_guesses),
        cmocka_unit_test(wait_is_after_complete),
        cmocka_unit_test(of_two_epochs_the_start_counts),
        cmocka_unit_test(what_was_not_started_is_not_counted),
        cmocka_unit_test(a_team_is_forked_meets_and_joins),
        cmocka_unit_test(locks_are_handed_over),
        cmocka_unit_test(teams_are_counted_and_not_timed),
        cmocka_unit_test(a_team_that_is_defined_for_others_is_as_large_as_it_is),
        cmocka_unit_test(who_is_missing_in_a_team_is_not_waited_for),
        cmocka_unit_test(a_thread_that_was_created_alone_is_in_no_team),
        cmocka_unit_test(threads_of_an_archive_are_teams),
        cmocka_unit_test(a_team_is_not_the_communicator_of_its_number),
        cmocka_unit_test(what_cannot_be_repaired_is_refused),
        cmocka_unit_test(executions_are_matched_as_they_were),
        cmocka_unit_test(nonsense_is_survived),
        cmocka_unit_test(an_archive_of_score_p_is_matched),
        cmocka_unit_test(simulated_runs_are_matched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The sort and threads that share a channel: who is marked when their events overlap, come late, or are lost;
 * one fact a test. What holds of many programs is in test_shared_channels. */
#include "causality/order.h"
#include "base/grow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Process 0 has the threads A and B; the other one sends to them or receives from them. */
enum { A, OTHER, B, LOCATIONS_MOST };
enum { AMBIGUOUS = GN_PLACE_AMBIGUOUS };

struct seen {
    struct gn_event event;
    struct gn_place place;
};

struct scene {
    struct gn_definitions *d;
    struct gn_order *order;
    struct seen *seen;
    size_t count, capacity;
};

static int take(void *self, const struct gn_event *event, const struct gn_place *place)
{
    struct scene *s = self;
    assert_true(gn_grow(&s->seen, &s->capacity, s->count, sizeof *s->seen));
    s->seen[s->count++] = (struct seen){*event, *place};
    return 0;
}

static void add_location(struct scene *s, uint32_t process)
{
    gn_define_location(s->d, &(struct gn_location_def){.process = process, .events = UINT64_MAX});
}

static void open_alone(struct scene *s, const struct gn_order_settings *settings)
{
    *s = (struct scene){.d = gn_definitions_new()};
    assert_non_null(s->d);
    for (uint32_t p = 0; p < 2; p++) {
        gn_define_process(s->d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)p});
        add_location(s, p);
    }
    gn_define_comm(s->d, &(struct gn_comm_def){.member_count = 2, .members = (uint32_t[]){0, 1}});
    const struct gn_order_sink sink = {s, take};
    assert_int_equal(gn_order_open(&s->order, s->d, settings, &sink, NULL), 0);
}

static void open_scene(struct scene *s, const struct gn_order_settings *settings)
{
    open_alone(s, settings);
    add_location(s, 0);
}

static void finish(struct scene *s)
{
    assert_int_equal(gn_order_finish(s->order), 0);
}

static void close_scene(struct scene *s)
{
    gn_order_close(s->order);
    gn_definitions_free(s->d);
    free(s->seen);
}

/* ---- events ---- */

static void push(struct scene *s, struct gn_event event)
{
    assert_int_equal(gn_order_push(s->order, &event), 0);
}

static uint32_t region(struct scene *s, const char *name)
{
    const uint32_t text = gn_define_string(s->d, name);
    for (uint32_t r = 0; r < s->d->region_count; r++)
        if (s->d->regions[r].name == text)
            return r;
    return gn_define_region(s->d, &(struct gn_region_def){.name = text, .role = GN_ROLE_MPI});
}

static void call(struct scene *s, enum gn_event_kind kind, uint32_t location, uint64_t ticks,
                 const char *name)
{
    struct gn_event e = gn_event_bare(kind, location, ticks);
    e.region = region(s, name);
    push(s, e);
}

static void enter(struct scene *s, uint32_t location, uint64_t ticks, const char *name)
{
    call(s, GN_EVENT_ENTER, location, ticks, name);
}

static void leave(struct scene *s, uint32_t location, uint64_t ticks, const char *name)
{
    call(s, GN_EVENT_LEAVE, location, ticks, name);
}

static struct gn_event message(enum gn_event_kind kind, uint32_t location, uint64_t ticks, uint32_t tag)
{
    struct gn_event e = gn_event_bare(kind, location, ticks);
    e.comm = 0;
    e.peer = location != OTHER;
    e.tag = tag;
    return e;
}

static struct gn_event with(struct gn_event e, uint64_t request)
{
    e.request = request;
    return e;
}

static void send(struct scene *s, uint32_t location, uint64_t ticks, uint32_t tag)
{
    push(s, message(GN_EVENT_MPI_SEND, location, ticks, tag));
}

static void receive(struct scene *s, uint32_t location, uint64_t ticks, uint32_t tag)
{
    push(s, message(GN_EVENT_MPI_RECV, location, ticks, tag));
}

static void post(struct scene *s, uint32_t location, uint64_t ticks, uint32_t tag, uint64_t request)
{
    push(s, with(message(GN_EVENT_MPI_IRECV_REQUEST, location, ticks, tag), request));
}

static void complete(struct scene *s, uint32_t location, uint64_t ticks, uint32_t tag, uint64_t request)
{
    push(s, with(message(GN_EVENT_MPI_IRECV, location, ticks, tag), request));
}

/* A call in which a message is sent, or received. */
static void call_send(struct scene *s, uint32_t location, uint64_t ticks, uint32_t tag)
{
    enter(s, location, ticks, "MPI_Send");
    send(s, location, ticks + 1, tag);
    leave(s, location, ticks + 2, "MPI_Send");
}

static void call_receive(struct scene *s, uint32_t location, uint64_t ticks, uint32_t tag)
{
    enter(s, location, ticks, "MPI_Recv");
    receive(s, location, ticks + 1, tag);
    leave(s, location, ticks + 2, "MPI_Recv");
}

static void lose(struct scene *s, uint32_t location, uint64_t ticks)
{
    push(s, with(gn_event_bare(GN_EVENT_LOST, location, ticks), 1));
}

/* The flags of the receive at this time. */
static uint32_t flags_of(const struct scene *s, uint32_t location, uint64_t ticks)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->seen[i].event.location == location && s->seen[i].event.ticks == ticks &&
            (s->seen[i].event.kind == GN_EVENT_MPI_RECV || s->seen[i].event.kind == GN_EVENT_MPI_IRECV))
            return s->seen[i].place.flags;
    fail_msg("no receive of %u at %llu was reported", location, (unsigned long long)ticks);
    return 0;
}

static uint64_t sent_of(const struct scene *s, uint32_t location, uint64_t ticks)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->seen[i].event.location == location && s->seen[i].event.ticks == ticks)
            return s->seen[i].place.sent_ticks;
    return 0;
}

#define IS_MARKED(location, ticks) assert_true(flags_of(&s, location, ticks) & AMBIGUOUS)
#define IS_CERTAIN(location, ticks) assert_int_equal(flags_of(&s, location, ticks), GN_PLACE_CORRELATED)
/* Marked, or joined to nothing. */
#define IS_NOT_CERTAIN(location, ticks)                                                                      \
    assert_int_not_equal(flags_of(&s, location, ticks) & (AMBIGUOUS | GN_PLACE_RELEASED), 0)

static const struct gn_order_settings in_time = {.in_time = true}, usual, live = {.is_live = true},
                                      hasty = {.patience = 1};

/* ---- what calls may do ---- */

static void a_call_that_only_prepares_sends_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"MPI_Send_init", "MPI_Psend_init", "MPI_Neighbor_alltoall_init"};
    for (size_t i = 0; i < 3; i++) {
        struct scene s;
        open_scene(&s, &in_time);
        enter(&s, B, 10, names[i]);
        call_send(&s, A, 20, 1);
        leave(&s, B, 30, names[i]);
        call_receive(&s, OTHER, 40, 1);
        finish(&s);
        IS_CERTAIN(OTHER, 41);
        close_scene(&s);
    }
}

/* Both threads have received on the channel. */
static void share(struct scene *s, uint32_t tag)
{
    call_send(s, OTHER, 1, tag);
    call_send(s, OTHER, 2, tag);
    call_receive(s, A, 4, tag);
    call_receive(s, B, 7, tag);
}

static void a_matched_probe_may_have_taken_the_message_before(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &in_time);
    share(&s, 1);
    enter(&s, B, 10, "MPI_Mprobe");
    call_send(&s, OTHER, 11, 1);
    call_receive(&s, A, 20, 1);
    leave(&s, B, 30, "MPI_Mprobe");
    finish(&s);
    IS_MARKED(A, 21);
    close_scene(&s);
}

/* ---- calls with several messages ---- */

/* B's message may be before A's second one, or behind it. */
static void several_sends_in_one_call(void **state)
{
    (void)state;
    static const char *const names[] = {"MPI_Startall", "MPI_Neighbor_alltoall", "MPI_Ineighbor_allgather_c"};
    for (size_t i = 0; i < 3; i++) {
        struct scene s;
        open_scene(&s, &in_time);
        enter(&s, A, 10, names[i]);
        send(&s, A, 11, 1);
        call_send(&s, B, 12, 2);
        send(&s, A, 16, 2);
        leave(&s, A, 17, names[i]);
        call_receive(&s, OTHER, 20, 1);
        call_receive(&s, OTHER, 30, 2);
        call_receive(&s, OTHER, 40, 2);
        finish(&s);
        IS_CERTAIN(OTHER, 21);
        IS_MARKED(OTHER, 31);
        IS_MARKED(OTHER, 41);
        assert_int_equal(sent_of(&s, OTHER, 31), 13);
        assert_int_equal(sent_of(&s, OTHER, 41), 16);
        close_scene(&s);
    }
}

static void several_receives_in_one_call(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &in_time);
    share(&s, 2);
    for (uint64_t ticks = 10; ticks < 16; ticks += 2)
        send(&s, OTHER, ticks, ticks == 10 ? 1 : 2);
    enter(&s, A, 20, "MPI_Neighbor_alltoall");
    receive(&s, A, 21, 1);
    call_receive(&s, B, 22, 2);
    receive(&s, A, 26, 2);
    leave(&s, A, 27, "MPI_Neighbor_alltoall");
    finish(&s);
    IS_CERTAIN(A, 21);
    IS_MARKED(B, 23);
    IS_MARKED(A, 26);
    close_scene(&s);
}

static void a_call_with_one_message_has_had_it(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &in_time);
    enter(&s, A, 10, "MPI_Send");
    send(&s, A, 11, 1);
    call_send(&s, B, 12, 2);
    leave(&s, A, 17, "MPI_Send");
    call_receive(&s, OTHER, 30, 2);
    finish(&s);
    IS_CERTAIN(OTHER, 31);
    close_scene(&s);
}

/* ---- loss ---- */

/* What B lost may have sent between 5 and 30. */
static void what_waits_behind_a_loss_is_not_certain(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &usual);
    call_send(&s, B, 3, 1);
    call_send(&s, A, 20, 1);
    lose(&s, B, 30);
    call_receive(&s, OTHER, 40, 1);
    call_receive(&s, OTHER, 50, 1);
    finish(&s);
    IS_NOT_CERTAIN(OTHER, 51);
    close_scene(&s);
}

static void what_is_waited_for_behind_a_loss_is_not_certain(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &usual);
    receive(&s, OTHER, 51, 1);
    call_send(&s, A, 20, 1);
    lose(&s, B, 30);
    finish(&s);
    IS_NOT_CERTAIN(OTHER, 51);
    close_scene(&s);
}

static void a_receive_that_waits_behind_a_loss_is_not_certain(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &usual);
    share(&s, 1);
    call_send(&s, OTHER, 10, 1);
    call_receive(&s, A, 20, 1);
    lose(&s, B, 30);
    finish(&s);
    IS_NOT_CERTAIN(A, 21);
    close_scene(&s);
}

static void a_call_that_goes_on_at_a_loss_is_not_certain(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct scene s;
        open_scene(&s, i ? &usual : &in_time);
        enter(&s, A, 10, "MPI_Send");
        send(&s, A, 11, 1);
        enter(&s, B, 15, "MPI_Comm_rank");
        leave(&s, B, 16, "MPI_Comm_rank");
        receive(&s, OTHER, 20, 1);
        lose(&s, B, 20);
        leave(&s, A, 30, "MPI_Send");
        finish(&s);
        IS_NOT_CERTAIN(OTHER, 20);
        close_scene(&s);
    }
}

static void what_came_before_a_loss_is_certain(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &usual);
    call_send(&s, A, 10, 1);
    call_receive(&s, OTHER, 20, 1);
    enter(&s, B, 25, "MPI_Send");
    lose(&s, B, 30);
    finish(&s);
    IS_CERTAIN(OTHER, 21);
    close_scene(&s);
}

static void numbers_hold_behind_a_loss(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &usual);
    for (uint64_t n = 0; n < 2; n++) {
        struct gn_event e = message(GN_EVENT_MPI_SEND, A, 20 + n, 1);
        e.number = 2 * n;
        push(&s, e);
    }
    lose(&s, B, 30);
    struct gn_event e = message(GN_EVENT_MPI_RECV, OTHER, 50, 1);
    e.number = 2;
    push(&s, e);
    finish(&s);
    IS_CERTAIN(OTHER, 50);
    assert_int_equal(sent_of(&s, OTHER, 50), 21);
    close_scene(&s);
}

/* ---- who comes late ---- */

/* B has said nothing so far and is not waited for. */
static void live_sends_ahead_of_a_silent_thread_are_marked(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &live);
    call_send(&s, A, 20, 1);
    call_send(&s, B, 10, 1);
    call_receive(&s, OTHER, 30, 1);
    call_receive(&s, OTHER, 40, 1);
    finish(&s);
    IS_MARKED(OTHER, 31);
    IS_MARKED(OTHER, 41);
    close_scene(&s);
}

static void live_posts_ahead_of_a_silent_thread_are_marked(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &live);
    call_send(&s, OTHER, 1, 1);
    call_send(&s, OTHER, 4, 1);
    post(&s, A, 20, 1, 7);
    post(&s, B, 10, 1, 8);
    enter(&s, B, 30, "MPI_Waitall");
    enter(&s, A, 30, "MPI_Waitall");
    complete(&s, A, 41, 1, 7);
    complete(&s, B, 42, 1, 8);
    finish(&s);
    IS_MARKED(A, 41);
    IS_MARKED(B, 42);
    close_scene(&s);
}

static void a_thread_that_has_posted_is_waited_for(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &live);
    call_send(&s, OTHER, 1, 1);
    call_send(&s, OTHER, 4, 1);
    post(&s, B, 10, 1, 8);
    post(&s, A, 30, 1, 7);
    post(&s, B, 20, 1, 9);
    complete(&s, A, 40, 1, 7);
    complete(&s, B, 41, 1, 8);
    call_send(&s, OTHER, 45, 1);
    complete(&s, B, 50, 1, 9);
    finish(&s);
    assert_int_equal(sent_of(&s, B, 41), 2);
    assert_int_equal(sent_of(&s, B, 50), 5);
    assert_int_equal(sent_of(&s, A, 40), 46);
    close_scene(&s);
}

static void push_calls(struct scene *s, uint32_t location, uint64_t first_ticks, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        enter(s, location, first_ticks + i, "MPI_Comm_rank");
        leave(s, location, first_ticks + i, "MPI_Comm_rank");
    }
}

static void posts_that_patience_hurried_are_marked(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &hasty);
    call_send(&s, OTHER, 1, 1);
    call_send(&s, OTHER, 4, 1);
    post(&s, A, 20, 1, 7);
    push_calls(&s, A, 30, 200);
    post(&s, B, 10, 1, 8);
    push_calls(&s, B, 400, 1);
    complete(&s, A, 500, 1, 7);
    complete(&s, B, 500, 1, 8);
    finish(&s);
    IS_MARKED(A, 500);
    IS_MARKED(B, 500);
    close_scene(&s);
}

/* A's call seemed to be over before B's began. */
static void a_call_whose_end_was_hurried_is_marked(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &hasty);
    enter(&s, B, 8, "MPI_Comm_rank");
    enter(&s, A, 5, "MPI_Send");
    send(&s, A, 6, 1);
    leave(&s, A, 20, "MPI_Send");
    push_calls(&s, A, 30, 200);
    leave(&s, B, 14, "MPI_Comm_rank");
    call_send(&s, B, 15, 1);
    push_calls(&s, B, 400, 1);
    call_receive(&s, OTHER, 500, 1);
    call_receive(&s, OTHER, 510, 1);
    finish(&s);
    IS_MARKED(OTHER, 501);
    IS_MARKED(OTHER, 511);
    close_scene(&s);
}

static void a_call_whose_begin_came_late_is_marked(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &hasty);
    call_send(&s, A, 5, 1);
    push_calls(&s, A, 30, 200);
    enter(&s, B, 6, "MPI_Send");
    send(&s, B, 600, 1);
    leave(&s, B, 601, "MPI_Send");
    push_calls(&s, A, 700, 1);
    call_receive(&s, OTHER, 800, 1);
    call_receive(&s, OTHER, 810, 1);
    finish(&s);
    IS_MARKED(OTHER, 801);
    IS_MARKED(OTHER, 811);
    close_scene(&s);
}

static void numbers_hold_for_who_comes_late(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &live);
    for (uint64_t n = 0; n < 2; n++) {
        struct gn_event e = message(GN_EVENT_MPI_SEND, n ? B : A, n ? 10 : 20, 1);
        e.number = 1 - n;
        push(&s, e);
    }
    for (uint64_t n = 0; n < 2; n++) {
        struct gn_event e = message(GN_EVENT_MPI_RECV, OTHER, 30 + n, 1);
        e.number = n;
        push(&s, e);
    }
    finish(&s);
    IS_CERTAIN(OTHER, 30);
    IS_CERTAIN(OTHER, 31);
    assert_int_equal(sent_of(&s, OTHER, 30), 10);
    close_scene(&s);
}

static void collectives_that_patience_hurried_are_marked(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &hasty);
    struct gn_event begin = gn_event_bare(GN_EVENT_COLLECTIVE_BEGIN, A, 20);
    begin.comm = 0;
    begin.op = GN_COLLECTIVE_BARRIER;
    push(&s, begin);
    push_calls(&s, A, 30, 200);
    struct gn_event end = begin;
    end.kind = GN_EVENT_COLLECTIVE_END;
    end.ticks = 300;
    push(&s, end);
    push_calls(&s, B, 400, 1);
    finish(&s);
    for (size_t i = 0; i < s.count; i++)
        if (s.seen[i].event.kind == GN_EVENT_COLLECTIVE_END)
            assert_true(s.seen[i].place.flags & AMBIGUOUS);
    close_scene(&s);
}

static void the_last_moment_has_its_turn(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &usual);
    send(&s, A, UINT64_MAX, 1);
    receive(&s, OTHER, 10, 1);
    assert_int_equal(gn_order_end(s.order, B), 0);
    assert_int_equal(s.count, 2);
    finish(&s);
    IS_CERTAIN(OTHER, 10);
    close_scene(&s);
}

/* Not only in threads: while it is open, whatever is counted on its channel may be one too early. */
static void who_passes_an_open_receive_is_marked_until_it_completes(void **state)
{
    (void)state;
    for (unsigned knows = 0; knows < 2; knows++) {
        struct scene s;
        open_alone(&s, &(struct gn_order_settings){.in_time = true, .patience = 1});
        for (uint64_t i = 0; i < 4; i++)
            send(&s, OTHER, 1 + i, 1);
        if (knows)
            post(&s, A, 10, 1, 7);
        else
            push(&s, with(gn_event_bare(GN_EVENT_MPI_IRECV_REQUEST, A, 10), 7));
        post(&s, A, 11, 1, 8);
        complete(&s, A, 12, 1, 8);
        push_calls(&s, A, 20, 200);
        post(&s, A, 300, 1, 9);
        complete(&s, A, 301, 1, 9);
        complete(&s, A, 302, 1, 7);
        receive(&s, A, 303, 1);
        finish(&s);
        IS_MARKED(A, 12);
        IS_MARKED(A, 301);
        IS_MARKED(A, 302);
        IS_CERTAIN(A, 303);
        close_scene(&s);
    }
}

/* ---- a thread that is defined later ---- */

static void posting_order_survives_a_second_thread(void **state)
{
    (void)state;
    struct scene s;
    open_alone(&s, &live);
    call_send(&s, OTHER, 1, 1);
    call_send(&s, OTHER, 4, 1);
    post(&s, A, 10, 1, 7);
    post(&s, A, 11, 1, 8);
    add_location(&s, 0);
    enter(&s, B, 20, "MPI_Comm_rank");
    leave(&s, B, 100, "MPI_Comm_rank");
    complete(&s, A, 30, 1, 8);
    complete(&s, A, 31, 1, 7);
    finish(&s);
    assert_int_equal(sent_of(&s, A, 30), 5);
    assert_int_equal(sent_of(&s, A, 31), 2);
    close_scene(&s);
}

/* It did so before A's, which nobody knew: the threads were not known to be two. */
static void a_second_thread_that_posts_late_is_marked(void **state)
{
    (void)state;
    struct scene s;
    open_alone(&s, &live);
    call_send(&s, OTHER, 1, 1);
    call_send(&s, OTHER, 4, 1);
    post(&s, A, 20, 1, 7);
    add_location(&s, 0);
    post(&s, B, 10, 1, 8);
    enter(&s, B, 100, "MPI_Waitall");
    complete(&s, A, 30, 1, 7);
    complete(&s, B, 101, 1, 8);
    finish(&s);
    IS_MARKED(A, 30);
    IS_MARKED(B, 101);
    close_scene(&s);
}

static void a_second_thread_that_sends_late_is_marked(void **state)
{
    (void)state;
    struct scene s;
    open_alone(&s, &live);
    call_send(&s, A, 20, 1);
    add_location(&s, 0);
    call_send(&s, B, 10, 1);
    call_receive(&s, OTHER, 30, 1);
    call_receive(&s, OTHER, 40, 1);
    finish(&s);
    IS_MARKED(OTHER, 31);
    IS_MARKED(OTHER, 41);
    close_scene(&s);
}

/* ---- channels that come and go ---- */

enum { CHANNELS = 4000 };

static void use_channels(struct scene *s, uint64_t ticks, bool sends)
{
    for (uint32_t i = 0; i < CHANNELS; i++, ticks += 10) {
        call_send(s, sends ? A : OTHER, ticks, 100 + i);
        call_receive(s, sends ? OTHER : A, ticks + 5, 100 + i);
    }
}

static void a_send_that_overlapped_with_one_on_a_forgotten_channel(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &in_time);
    enter(&s, B, 10, "MPI_Send");
    call_send(&s, A, 20, 1);
    call_receive(&s, OTHER, 30, 1);
    use_channels(&s, 100, true);
    send(&s, B, 1000000, 1);
    leave(&s, B, 1000001, "MPI_Send");
    call_receive(&s, OTHER, 1000010, 1);
    call_send(&s, A, 1000020, 1);
    call_receive(&s, OTHER, 1000030, 1);
    finish(&s);
    IS_MARKED(OTHER, 31);
    IS_MARKED(OTHER, 1000011);
    IS_CERTAIN(OTHER, 1000031);
    close_scene(&s);
}

static void a_receive_that_overlapped_with_one_on_a_forgotten_channel(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &in_time);
    share(&s, 1);
    enter(&s, B, 10, "MPI_Recv");
    call_send(&s, OTHER, 15, 1);
    call_receive(&s, A, 20, 1);
    use_channels(&s, 100, false);
    send(&s, OTHER, 1000000, 1);
    receive(&s, B, 1000001, 1);
    leave(&s, B, 1000002, "MPI_Recv");
    finish(&s);
    IS_MARKED(A, 21);
    IS_MARKED(B, 1000001);
    close_scene(&s);
}

/* ---- silence ---- */

static uint64_t unreported(const struct scene *s)
{
    return gn_order_stats(s->order)->unreported;
}

static void a_silent_thread_holds_back_so_many_events(void **state)
{
    (void)state;
    static const struct gn_order_settings settings[] = {{.patience = 1}, {.is_live = true, .patience = 100}};
    for (size_t i = 0; i < 2; i++) {
        struct scene s;
        open_scene(&s, &settings[i]);
        call_send(&s, OTHER, 1, 1);
        post(&s, B, 2, 2, 5); /* so it is waited for */
        receive(&s, A, 10, 1);
        for (uint64_t ticks = 11; ticks < 2000; ticks++) {
            push(&s, gn_event_bare(GN_EVENT_ENTER, A, ticks));
            assert_in_range(unreported(&s), 0, 110);
        }
        finish(&s);
        IS_MARKED(A, 10);
        close_scene(&s);
    }
}

/* Whoever waits for what the silent thread holds back may be in another process. */
static void a_silent_thread_holds_back_so_many_events_of_others(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &hasty);
    send(&s, A, 10, 1);
    receive(&s, OTHER, 20, 1);
    for (uint64_t ticks = 21; ticks < 20000; ticks++) {
        push(&s, gn_event_bare(GN_EVENT_ENTER, OTHER, ticks));
        assert_in_range(unreported(&s), 0, 5000);
    }
    finish(&s);
    IS_MARKED(OTHER, 20);
    close_scene(&s);
}

/* ---- teams ---- */

static struct gn_event of_team(enum gn_event_kind kind, uint32_t location, uint64_t ticks)
{
    struct gn_event e = gn_event_bare(kind, location, ticks);
    if (kind == GN_EVENT_THREAD_BEGIN || kind == GN_EVENT_THREAD_END)
        e.comm = 1;
    if (kind == GN_EVENT_ENTER || kind == GN_EVENT_LEAVE)
        e.region = 0; /* a barrier */
    return e;
}

static size_t position(const struct scene *s, uint32_t location, uint64_t ticks)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->seen[i].event.location == location && s->seen[i].event.ticks == ticks)
            return i;
    fail_msg("location %u has nothing at %u", location, (unsigned)ticks);
    return 0;
}

#define IS_BEFORE(l1, t1, l2, t2) assert_true(position(&s, l1, t1) < position(&s, l2, t2))

/* In whichever order the three locations' events arrive. A waits for a message before it forks, and in the
 * parallel region; B waits for one before it comes to the barrier. */
static void teams_are_forked_meet_and_are_joined(void **state)
{
    (void)state;
    const struct gn_event rows[][8] = {
        {message(GN_EVENT_MPI_RECV, A, 5, 1), of_team(GN_EVENT_THREAD_FORK, A, 10),
         of_team(GN_EVENT_THREAD_BEGIN, A, 11), message(GN_EVENT_MPI_RECV, A, 15, 2),
         of_team(GN_EVENT_ENTER, A, 20), of_team(GN_EVENT_LEAVE, A, 41), of_team(GN_EVENT_THREAD_END, A, 50),
         of_team(GN_EVENT_THREAD_JOIN, A, 62)},
        {message(GN_EVENT_MPI_SEND, OTHER, 1, 1), message(GN_EVENT_MPI_SEND, OTHER, 2, 2),
         message(GN_EVENT_MPI_SEND, OTHER, 3, 3)},
        {of_team(GN_EVENT_THREAD_BEGIN, B, 12), message(GN_EVENT_MPI_RECV, B, 30, 3),
         of_team(GN_EVENT_ENTER, B, 40), of_team(GN_EVENT_LEAVE, B, 42), of_team(GN_EVENT_THREAD_END, B, 60)},
    };
    const size_t counts[] = {8, 3, 5};
    for (unsigned seed = 0; seed < 300; seed++) {
        struct scene s;
        open_scene(&s, NULL);
        gn_define_region(s.d, &(struct gn_region_def){.role = GN_ROLE_BARRIER});
        gn_define_comm(s.d, &(struct gn_comm_def){.member_count = 2, .members = (uint32_t[]){0, 0}});
        size_t next[3] = {0};
        for (unsigned left = 16, random = seed; left > 0;) {
            random = random * 1103515245u + 12345u;
            const unsigned row = (random >> 16) % 3;
            if (next[row] == counts[row])
                continue;
            push(&s, rows[row][next[row]++]);
            left--;
        }
        finish(&s);
        assert_int_equal(s.count, 16);
        IS_BEFORE(A, 10, B, 12);
        IS_BEFORE(A, 20, B, 42);
        IS_BEFORE(B, 40, A, 41);
        IS_BEFORE(B, 60, A, 62);
        assert_int_equal(gn_order_stats(s.order)->released, 0);
        close_scene(&s);
    }
}

static struct gn_event named(enum gn_event_kind kind, uint32_t location, uint64_t ticks, uint64_t name)
{
    struct gn_event e = gn_event_bare(kind, location, ticks);
    e.request = name;
    return e;
}

/* Each side waits for messages before it hands on what the other one waits for. The lock is acquired twice in
 * itself once. */
static void threads_hand_over_what_they_name(void **state)
{
    (void)state;
    enum { LOCK = 7, THREAD = 9 };
    const uint64_t first = (uint64_t)LOCK << 32;
    const struct gn_event rows[][8] = {
        {message(GN_EVENT_MPI_RECV, A, 5, 1), named(GN_EVENT_THREAD_CREATE, A, 10, THREAD),
         named(GN_EVENT_LOCK_ACQUIRE, A, 11, first), message(GN_EVENT_MPI_RECV, A, 30, 3),
         named(GN_EVENT_LOCK_RELEASE, A, 31, first), named(GN_EVENT_LOCK_ACQUIRE, A, 51, first + 2),
         named(GN_EVENT_LOCK_RELEASE, A, 52, first + 2), named(GN_EVENT_THREAD_WAIT, A, 62, THREAD)},
        {message(GN_EVENT_MPI_SEND, OTHER, 1, 1), message(GN_EVENT_MPI_SEND, OTHER, 2, 2),
         message(GN_EVENT_MPI_SEND, OTHER, 3, 3)},
        {named(GN_EVENT_THREAD_BEGIN, B, 12, THREAD), named(GN_EVENT_LOCK_ACQUIRE, B, 32, first + 1),
         named(GN_EVENT_LOCK_ACQUIRE, B, 33, first + 1), message(GN_EVENT_MPI_RECV, B, 40, 2),
         named(GN_EVENT_LOCK_RELEASE, B, 45, first + 1), named(GN_EVENT_LOCK_RELEASE, B, 46, first + 1),
         named(GN_EVENT_THREAD_END, B, 60, THREAD)},
    };
    const size_t counts[] = {8, 3, 7};
    for (unsigned seed = 0; seed < 300; seed++) {
        struct scene s;
        open_scene(&s, NULL);
        size_t next[3] = {0};
        for (unsigned left = 18, random = seed; left > 0;) {
            random = random * 1103515245u + 12345u;
            const unsigned row = (random >> 16) % 3;
            if (next[row] == counts[row])
                continue;
            push(&s, rows[row][next[row]++]);
            left--;
        }
        finish(&s);
        assert_int_equal(s.count, 18);
        IS_BEFORE(A, 10, B, 12);
        IS_BEFORE(A, 31, B, 32);
        IS_BEFORE(B, 45, A, 51);
        IS_BEFORE(B, 46, A, 51);
        IS_BEFORE(B, 60, A, 62);
        assert_int_equal(gn_order_stats(s.order)->released, 0);
        close_scene(&s);
    }
}

/* A thread of a team that never comes is waited for by nobody. */
static void who_is_missing_in_a_team_holds_nobody_up(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, NULL);
    gn_define_region(s.d, &(struct gn_region_def){.role = GN_ROLE_BARRIER});
    gn_define_comm(s.d, &(struct gn_comm_def){.member_count = 2, .members = (uint32_t[]){0, 0}});
    push(&s, of_team(GN_EVENT_THREAD_FORK, A, 1));
    push(&s, of_team(GN_EVENT_THREAD_FORK, A, 2));
    push(&s, of_team(GN_EVENT_THREAD_BEGIN, A, 3));
    push(&s, of_team(GN_EVENT_ENTER, A, 4));
    push(&s, of_team(GN_EVENT_LEAVE, A, 5));
    push(&s, of_team(GN_EVENT_THREAD_END, A, 6));
    push(&s, of_team(GN_EVENT_THREAD_JOIN, A, 7));
    push(&s, of_team(GN_EVENT_THREAD_BEGIN, B, 8)); /* nobody has ended it */
    push(&s, of_team(GN_EVENT_ENTER, B, 9));
    finish(&s);
    assert_int_equal(s.count, 9);
    assert_int_equal(gn_order_stats(s.order)->released, 0);
    close_scene(&s);
}

/* ---- epochs on windows ---- */

enum { WIN_START, WIN_COMPLETE, WIN_WAIT, WIN_CALLS };

/* The call from `ticks` to two after it, and what it says between. */
static size_t add_call(struct gn_event *row, uint32_t location, unsigned call, uint32_t group, uint64_t ticks)
{
    for (unsigned i = 0; i < 3; i++) {
        static const enum gn_event_kind kinds[] = {GN_EVENT_ENTER, GN_EVENT_RMA_SYNC, GN_EVENT_LEAVE};
        row[i] = gn_event_bare(kinds[i], location, ticks + i);
        if (i == 1) {
            row[i].comm = 0;
            row[i].tag = group;
        } else {
            row[i].region = call;
        }
    }
    return 3;
}

/* Processes 1 and 2 complete epochs towards process 0, which has a second thread in other calls in half of
 * the runs; all of these first get a message that process 3 sends. */
static void epochs_are_awaited_when_they_are_complete(void **state)
{
    (void)state;
    enum { ROWS = 5, TARGET = 0, SENDER = 3, THREAD = 4, CALLS = 8 };
    static const char *const names[] = {"MPI_Win_start", "MPI_Win_complete", "MPI_Win_wait"};
    struct gn_event rows[ROWS][40];
    size_t counts[ROWS] = {0};
    for (uint32_t o = 1; o <= 2; o++)
        for (uint64_t n = 0; n < 3; n++) {
            const uint64_t at = 100 * n + 10 * o;
            counts[o] += add_call(rows[o] + counts[o], o, WIN_START, 1, at);
            struct gn_event e = message(GN_EVENT_MPI_RECV, o, at + 4, (uint32_t)n);
            e.peer = SENDER;
            rows[o][counts[o]++] = e;
            e = message(GN_EVENT_MPI_SEND, SENDER, 5 * n + o, (uint32_t)n);
            e.peer = o;
            rows[SENDER][counts[SENDER]++] = e;
            counts[o] += add_call(rows[o] + counts[o], o, WIN_COMPLETE, 1, at + 6);
        }
    for (uint64_t n = 0; n < 3; n++)
        counts[TARGET] += add_call(rows[TARGET] + counts[TARGET], TARGET, WIN_WAIT, 2, 100 * n + 50);
    for (uint64_t n = 0; n < 10; n++)
        rows[THREAD][counts[THREAD]++] = gn_event_bare(GN_EVENT_THREAD_FORK, THREAD, 30 * n);
    for (unsigned seed = 0; seed < 400; seed++) {
        const size_t used = seed % 2 ? ROWS : ROWS - 1;
        struct scene s = {.d = gn_definitions_new()};
        for (uint32_t l = 0; l < used; l++) {
            if (l < 4)
                gn_define_process(s.d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)l});
            add_location(&s, l < 4 ? l : TARGET);
        }
        for (unsigned c = 0; c < WIN_CALLS; c++)
            gn_define_region(
                s.d, &(struct gn_region_def){.name = gn_define_string(s.d, names[c]), .role = GN_ROLE_MPI});
        gn_define_comm(s.d, &(struct gn_comm_def){.member_count = 4, .members = (uint32_t[]){0, 1, 2, 3}});
        gn_define_comm(s.d, &(struct gn_comm_def){.member_count = 1, .members = (uint32_t[]){TARGET}});
        gn_define_comm(s.d, &(struct gn_comm_def){.member_count = 2, .members = (uint32_t[]){1, 2}});
        gn_define_window(s.d, &(struct gn_window_def){.comm = 0});
        const struct gn_order_sink sink = {&s, take};
        assert_int_equal(gn_order_open(&s.order, s.d, NULL, &sink, NULL), 0);
        size_t next[ROWS] = {0}, left = 0;
        for (size_t r = 0; r < used; r++)
            left += counts[r];
        const size_t all = left;
        for (unsigned random = seed; left > 0;) {
            random = random * 1103515245u + 12345u;
            const size_t row = (random >> 16) % used;
            if (next[row] == counts[row])
                continue;
            push(&s, rows[row][next[row]++]);
            left--;
        }
        finish(&s);
        assert_int_equal(s.count, all);
        for (uint64_t n = 0; n < 3; n++)
            for (uint32_t o = 1; o <= 2; o++)
                IS_BEFORE(o, 100 * n + 10 * o + 6, TARGET, 100 * n + 52);
        assert_int_equal(gn_order_stats(s.order)->released, 0);
        assert_int_equal(gn_order_stats(s.order)->nodes, 0);
        close_scene(&s);
    }
}

/* Processes 0 and 1, each with a group of itself alone: communicators 1 and 2. */
static void open_windows(struct scene *s)
{
    static const char *const names[] = {"MPI_Win_start", "MPI_Win_complete", "MPI_Win_wait"};
    open_alone(s, NULL);
    for (unsigned c = 0; c < WIN_CALLS; c++)
        gn_define_region(
            s->d, &(struct gn_region_def){.name = gn_define_string(s->d, names[c]), .role = GN_ROLE_MPI});
    gn_define_comm(s->d, &(struct gn_comm_def){.member_count = 1, .members = (uint32_t[]){0}});
    gn_define_comm(s->d, &(struct gn_comm_def){.member_count = 1, .members = (uint32_t[]){1}});
    gn_define_window(s->d, &(struct gn_window_def){.comm = 0});
}

static void push_call(struct scene *s, uint32_t location, unsigned call, uint64_t ticks)
{
    struct gn_event row[3];
    add_call(row, location, call, location == 0 ? 2 : 1, ticks);
    for (size_t i = 0; i < 3; i++)
        push(s, row[i]);
}

static uint64_t waiting(const struct scene *s)
{
    return gn_order_stats(s->order)->unreported;
}

/* Whoever completes what it has not started cannot be counted: nobody waits for it, then and later. */
static void who_cannot_be_counted_is_waited_for_by_nobody(void **state)
{
    (void)state;
    struct scene s;
    open_windows(&s);
    push_call(&s, 1, WIN_WAIT, 5);
    assert_true(waiting(&s) > 0);
    push_call(&s, 0, WIN_COMPLETE, 10);
    assert_int_equal(waiting(&s), 0);
    for (uint64_t n = 1; n < 100; n++) {
        push_call(&s, 0, WIN_START, 100 * n);
        push_call(&s, 1, WIN_WAIT, 100 * n + 5);
        assert_int_equal(waiting(&s), 0);
        push_call(&s, 0, WIN_COMPLETE, 100 * n + 10);
    }
    assert_in_range(gn_order_stats(s.order)->nodes, 0, 4);
    finish(&s);
    close_scene(&s);
}

/* What was lost before there was any epoch is lost, too. */
static void epochs_behind_a_loss_are_not_counted(void **state)
{
    (void)state;
    struct scene s;
    open_windows(&s);
    struct gn_event lost = gn_event_bare(GN_EVENT_LOST, 0, 1);
    lost.request = 6;
    push(&s, lost);
    push_call(&s, 1, WIN_WAIT, 20);
    assert_int_equal(waiting(&s), 0);
    finish(&s);
    close_scene(&s);
}

/* Nobody keeps what is completed towards a process that has lost events. */
static void completes_towards_a_loss_are_not_kept(void **state)
{
    (void)state;
    struct scene s;
    open_windows(&s);
    struct gn_event lost = gn_event_bare(GN_EVENT_LOST, 1, 1);
    lost.request = 6;
    push_call(&s, 0, WIN_START, 2);
    push(&s, lost);
    push_call(&s, 0, WIN_COMPLETE, 8);
    for (uint64_t n = 1; n < 1000; n++) {
        push_call(&s, 0, WIN_START, 10 * n + 2);
        push_call(&s, 0, WIN_COMPLETE, 10 * n + 6);
    }
    assert_in_range(gn_order_stats(s.order)->nodes, 0, 4);
    finish(&s);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(teams_are_forked_meet_and_are_joined),
        cmocka_unit_test(threads_hand_over_what_they_name),
        cmocka_unit_test(epochs_are_awaited_when_they_are_complete),
        cmocka_unit_test(who_cannot_be_counted_is_waited_for_by_nobody),
        cmocka_unit_test(epochs_behind_a_loss_are_not_counted),
        cmocka_unit_test(completes_towards_a_loss_are_not_kept),
        cmocka_unit_test(who_is_missing_in_a_team_holds_nobody_up),
        cmocka_unit_test(a_call_that_only_prepares_sends_nothing),
        cmocka_unit_test(a_matched_probe_may_have_taken_the_message_before),
        cmocka_unit_test(several_sends_in_one_call),
        cmocka_unit_test(several_receives_in_one_call),
        cmocka_unit_test(a_call_with_one_message_has_had_it),
        cmocka_unit_test(what_waits_behind_a_loss_is_not_certain),
        cmocka_unit_test(what_is_waited_for_behind_a_loss_is_not_certain),
        cmocka_unit_test(a_receive_that_waits_behind_a_loss_is_not_certain),
        cmocka_unit_test(a_call_that_goes_on_at_a_loss_is_not_certain),
        cmocka_unit_test(what_came_before_a_loss_is_certain),
        cmocka_unit_test(numbers_hold_behind_a_loss),
        cmocka_unit_test(live_sends_ahead_of_a_silent_thread_are_marked),
        cmocka_unit_test(live_posts_ahead_of_a_silent_thread_are_marked),
        cmocka_unit_test(a_thread_that_has_posted_is_waited_for),
        cmocka_unit_test(posts_that_patience_hurried_are_marked),
        cmocka_unit_test(a_call_whose_end_was_hurried_is_marked),
        cmocka_unit_test(a_call_whose_begin_came_late_is_marked),
        cmocka_unit_test(numbers_hold_for_who_comes_late),
        cmocka_unit_test(collectives_that_patience_hurried_are_marked),
        cmocka_unit_test(the_last_moment_has_its_turn),
        cmocka_unit_test(who_passes_an_open_receive_is_marked_until_it_completes),
        cmocka_unit_test(posting_order_survives_a_second_thread),
        cmocka_unit_test(a_second_thread_that_posts_late_is_marked),
        cmocka_unit_test(a_second_thread_that_sends_late_is_marked),
        cmocka_unit_test(a_send_that_overlapped_with_one_on_a_forgotten_channel),
        cmocka_unit_test(a_receive_that_overlapped_with_one_on_a_forgotten_channel),
        cmocka_unit_test(a_silent_thread_holds_back_so_many_events),
        cmocka_unit_test(a_silent_thread_holds_back_so_many_events_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The sort and threads that share a channel: who is marked when their events overlap, come late, or are lost;
 * one fact a test. What holds of many programs is in test_shared_channels. */
#include "order_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { AMBIGUOUS = GN_PLACE_AMBIGUOUS };

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

int main(void)
{
    const struct CMUnitTest tests[] = {
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

/* order: what the sort does, one fact a test. */
#include "causality/order.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { KEPT = 100, MILLION = 1000000 };

/* A sort over processes of one location each: communicator 0 has all of them. */
struct scene {
    struct gn_definitions *d;
    struct gn_order *order;
    struct gn_event events[KEPT]; /* reported: the first ones */
    struct gn_place places[KEPT];
    size_t reported;
    int answer;      /* of the sink */
    uint64_t serial; /* of the events pushed, in their record */
};

static int take(void *self, const struct gn_event *event, const struct gn_place *place)
{
    struct scene *s = self;
    if (s->reported < KEPT) {
        s->events[s->reported] = *event;
        s->places[s->reported] = *place;
    }
    s->reported++;
    return s->answer;
}

static uint32_t add_comm(struct scene *s, uint32_t count, const uint32_t *members)
{
    return gn_define_comm(s->d, &(struct gn_comm_def){.member_count = count, .members = (uint32_t *)members});
}

static uint32_t add_location(struct scene *s, uint32_t process)
{
    return gn_define_location(s->d, &(struct gn_location_def){.process = process, .events = UINT64_MAX});
}

static void open_with(struct scene *s, uint32_t processes, const struct gn_order_settings *settings)
{
    uint32_t members[16];
    *s = (struct scene){.d = gn_definitions_new()};
    assert_non_null(s->d);
    for (uint32_t p = 0; p < processes; p++) {
        gn_define_process(s->d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)p});
        add_location(s, p);
        members[p] = p;
    }
    add_comm(s, processes, members);
    struct gn_order_sink sink = {s, take};
    assert_int_equal(gn_order_open(&s->order, s->d, settings, &sink, NULL), 0);
}

static void open_scene(struct scene *s, uint32_t processes)
{
    open_with(s, processes, &(struct gn_order_settings){.in_time = true});
}

/* Ends everything: whatever happened before, all that was pushed has been reported then. */
static void close_scene(struct scene *s)
{
    assert_int_equal(gn_order_finish(s->order), 0);
    const struct gn_order_stats *stats = gn_order_stats(s->order);
    assert_int_equal(s->reported, stats->pushed);
    assert_int_equal(stats->reported, stats->pushed);
    assert_int_equal(stats->nodes, 0);
    assert_int_equal(stats->unreported, 0);
    gn_order_close(s->order);
    gn_definitions_free(s->d);
}

/* ---- events ---- */

static struct gn_event make(struct scene *s, enum gn_event_kind kind, uint32_t location)
{
    struct gn_event e = gn_event_bare(kind, location, 100 * ++s->serial);
    e.record = (uint32_t)s->serial;
    return e;
}

static struct gn_event message(struct scene *s, enum gn_event_kind kind, uint32_t location, uint32_t peer,
                               uint32_t tag)
{
    struct gn_event e = make(s, kind, location);
    e.comm = 0;
    e.peer = peer;
    e.tag = tag;
    return e;
}

static struct gn_event of(struct gn_event e, uint64_t request)
{
    e.request = request;
    return e;
}

static struct gn_event on(struct gn_event e, uint32_t comm)
{
    e.comm = comm;
    return e;
}

static struct gn_event at(struct gn_event e, uint64_t ticks)
{
    e.ticks = ticks;
    return e;
}

static struct gn_event bytes(struct gn_event e, uint64_t sent, uint64_t received)
{
    e.bytes_sent = sent;
    e.bytes_received = received;
    return e;
}

#define SEND(l, peer, tag) message(&s, GN_EVENT_MPI_SEND, l, peer, tag)
#define RECV(l, peer, tag) message(&s, GN_EVENT_MPI_RECV, l, peer, tag)
#define POST(l, request, peer, tag) of(message(&s, GN_EVENT_MPI_IRECV_REQUEST, l, peer, tag), request)
#define POST_UNKNOWN(l, request) of(make(&s, GN_EVENT_MPI_IRECV_REQUEST, l), request)
#define IRECV(l, request, peer, tag) of(message(&s, GN_EVENT_MPI_IRECV, l, peer, tag), request)
#define CANCEL(l, request) of(make(&s, GN_EVENT_MPI_REQUEST_CANCELLED, l), request)
#define ENTER(l) make(&s, GN_EVENT_ENTER, l)

static struct gn_event collective(struct scene *s, enum gn_event_kind kind, uint32_t location, unsigned op,
                                  uint32_t root)
{
    struct gn_event e = message(s, kind, location, root, GN_NONE);
    e.op = (uint8_t)op;
    e.bytes_sent = e.bytes_received = 8;
    return e;
}

#define BEGIN(l, op, root) collective(&s, GN_EVENT_COLLECTIVE_BEGIN, l, GN_COLLECTIVE_##op, root)
#define END(l, op, root) collective(&s, GN_EVENT_COLLECTIVE_END, l, GN_COLLECTIVE_##op, root)
#define START(l, request, op, root)                                                                          \
    of(collective(&s, GN_EVENT_NBC_REQUEST, l, GN_COLLECTIVE_##op, root), request)
#define COMPLETE(l, request, op, root)                                                                       \
    of(collective(&s, GN_EVENT_NBC_COMPLETE, l, GN_COLLECTIVE_##op, root), request)

static size_t push(struct scene *s, struct gn_event e)
{
    size_t before = s->reported;
    assert_int_equal(gn_order_push(s->order, &e), 0);
    return s->reported - before;
}

/* Pushes an event: how many come out in this push. */
#define PUSH(event, count) assert_int_equal(push(&s, event), count)

static const struct gn_place *last_place(const struct scene *s)
{
    assert_in_range(s->reported, 1, KEPT);
    return &s->places[s->reported - 1];
}

static uint64_t nodes(const struct scene *s)
{
    return gn_order_stats(s->order)->nodes;
}

/* ---- messages ---- */

static void what_waits_for_nobody_goes_straight_through(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(ENTER(0), 1);
    PUSH(SEND(0, 1, 0), 1);
    PUSH(RECV(1, 0, 0), 1);
    assert_int_equal(gn_order_stats(s.order)->unreported_max, 0);
    assert_int_equal(gn_order_stats(s.order)->messages, 1);
    close_scene(&s);
}

static void a_receive_waits_for_its_send(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(RECV(1, 0, 0), 0);
    PUSH(ENTER(1), 0);
    PUSH(ENTER(0), 1);
    PUSH(SEND(0, 1, 0), 3);
    assert_int_equal(s.events[1].kind, GN_EVENT_MPI_SEND);
    assert_int_equal(s.events[2].kind, GN_EVENT_MPI_RECV);
    assert_int_equal(s.events[3].location, 1);
    close_scene(&s);
}

static void another_tag_or_receiver_or_communicator_is_another_message(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    uint32_t other = add_comm(&s, 3, (uint32_t[]){0, 1, 2});
    PUSH(RECV(1, 0, 0), 0);
    PUSH(SEND(0, 1, 1), 1);
    PUSH(SEND(0, 2, 0), 1);
    PUSH(on(SEND(0, 1, 0), other), 1);
    PUSH(SEND(2, 1, 0), 1);
    PUSH(SEND(0, 1, 0), 2);
    close_scene(&s);
}

static void messages_of_a_channel_meet_in_their_order(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(at(SEND(0, 1, 0), 10), 1);
    PUSH(RECV(1, 0, 0), 1);
    assert_int_equal(last_place(&s)->sent_ticks, 10);
    PUSH(RECV(1, 0, 0), 0);
    PUSH(at(SEND(0, 1, 0), 20), 2);
    assert_int_equal(last_place(&s)->sent_ticks, 20);
    close_scene(&s);
}

static void a_message_to_oneself(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 1);
    PUSH(of(message(&s, GN_EVENT_MPI_ISEND, 0, 0, 0), 1), 1);
    PUSH(RECV(0, 0, 0), 1);
    assert_int_equal(last_place(&s)->flags, GN_PLACE_CORRELATED);
    close_scene(&s);
}

static void peers_are_ranks_of_the_communicator(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    uint32_t turned = add_comm(&s, 2, (uint32_t[]){2, 0});
    PUSH(on(RECV(0, 0, 0), turned), 0);
    PUSH(SEND(0, 0, 0), 0);
    PUSH(on(SEND(2, 1, 0), turned), 3);
    close_scene(&s);
}

static void peers_in_an_intercommunicator_are_of_the_other_group(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    uint32_t inter = gn_define_comm(
        s.d, &(struct gn_comm_def){.member_count = 1, .other_count = 2, .members = (uint32_t[]){0, 1, 2}});
    PUSH(on(RECV(2, 0, 0), inter), 0);
    PUSH(on(SEND(1, 0, 0), inter), 1);
    PUSH(on(SEND(0, 1, 0), inter), 2);
    close_scene(&s);
}

static void everybody_has_a_communicator_of_itself(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    uint32_t self = gn_define_comm(s.d, &(struct gn_comm_def){.is_self = true});
    PUSH(on(RECV(1, 0, 0), self), 0);
    PUSH(on(SEND(0, 0, 0), self), 1);
    PUSH(on(RECV(0, 0, 0), self), 1);
    PUSH(on(BEGIN(0, BARRIER, GN_NONE), self), 1);
    PUSH(on(END(0, BARRIER, GN_NONE), self), 1);
    PUSH(on(BEGIN(0, BCAST, 0), self), 1);
    PUSH(on(END(0, BCAST, 0), self), 1);
    assert_int_equal(nodes(&s), 2);
    assert_int_equal(gn_order_end(s.order, 0), 0);
    close_scene(&s);
}

static void a_receive_by_another_thread_of_the_process(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    uint32_t thread = add_location(&s, 1);
    PUSH(RECV(thread, 0, 0), 0);
    PUSH(SEND(0, 1, 0), 2);
    PUSH(SEND(thread, 0, 0), 1);
    PUSH(RECV(0, 1, 0), 1);
    assert_int_equal(last_place(&s)->sender, thread);
    close_scene(&s);
}

/* ---- which instance a collective is ---- */

static void assert_instance(const struct scene *s, size_t at, uint32_t instance, uint32_t member)
{
    assert_int_equal(s->places[at].instance, instance);
    assert_int_equal(s->places[at].member, member);
}

static void begins_and_ends_are_told_their_instance(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    for (uint32_t n = 0; n < 2; n++) {
        PUSH(BEGIN(0, BCAST, 1), 1);
        PUSH(BEGIN(1, BCAST, 1), 1);
        PUSH(END(1, BCAST, 1), 1);
        PUSH(END(0, BCAST, 1), 1);
        assert_instance(&s, 4 * n, n, 0);
        assert_instance(&s, 4 * n + 1, n, 1);
        assert_instance(&s, 4 * n + 2, n, 1);
        assert_instance(&s, 4 * n + 3, n, 0);
    }
    PUSH(RECV(0, 1, 0), 0);
    PUSH(SEND(1, 0, 0), 2);
    assert_int_equal(last_place(&s)->instance, GN_NONE);
    close_scene(&s);
}

static void starts_count_in_their_order_whatever_ends_first(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 1);
    PUSH(of(make(&s, GN_EVENT_NBC_REQUEST, 0), 1), 1);
    PUSH(of(make(&s, GN_EVENT_NBC_REQUEST, 0), 2), 1);
    assert_int_equal(s.places[0].instance, GN_NONE); /* nobody knows yet what it is */
    PUSH(COMPLETE(0, 1, BARRIER, GN_NONE), 1);
    PUSH(COMPLETE(0, 2, BARRIER, GN_NONE), 1);
    assert_instance(&s, 2, 0, 0);
    assert_instance(&s, 3, 1, 0);
    close_scene(&s);
}

/* ---- messages that say which they are ---- */

static struct gn_event numbered(struct gn_event e, uint64_t number)
{
    e.number = number;
    return e;
}

static void what_was_not_received_where_it_was_recorded_is_passed(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(numbered(at(SEND(0, 1, 0), 10), 0), 1);
    PUSH(numbered(at(SEND(0, 1, 0), 20), 1), 1);
    PUSH(numbered(RECV(1, 0, 0), 1), 1);
    assert_int_equal(last_place(&s)->sent_ticks, 20);
    PUSH(numbered(RECV(1, 0, 0), 2), 0);
    PUSH(numbered(at(SEND(0, 1, 0), 30), 2), 2);
    assert_int_equal(last_place(&s)->sent_ticks, 30);
    close_scene(&s);
}

static void what_was_not_sent_where_it_was_recorded_waits_for_nothing(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(numbered(RECV(1, 0, 0), 0), 0);
    PUSH(numbered(at(SEND(0, 1, 0), 20), 1), 2);
    assert_int_equal(s.places[0].flags, GN_PLACE_RELEASED | GN_PLACE_UNMATCHED);
    PUSH(numbered(at(SEND(0, 1, 0), 40), 3), 1);
    PUSH(numbered(RECV(1, 0, 0), 1), 1);
    assert_int_equal(last_place(&s)->sent_ticks, 20);
    PUSH(numbered(RECV(1, 0, 0), 2), 1);
    assert_int_equal(last_place(&s)->flags, GN_PLACE_RELEASED | GN_PLACE_UNMATCHED);
    close_scene(&s);
}

static void a_message_that_a_probe_took_is_told_late(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(numbered(at(SEND(0, 1, 0), 10), 0), 1);
    PUSH(numbered(at(SEND(0, 1, 0), 20), 1), 1);
    PUSH(numbered(RECV(1, 0, 0), 1), 1);
    assert_int_equal(last_place(&s)->sent_ticks, 20);
    PUSH(numbered(RECV(1, 0, 0), 0), 1);
    assert_int_equal(last_place(&s)->sent_ticks, 10);
    assert_int_equal(gn_order_stats(s.order)->unmatched_sends, 0);
    close_scene(&s);
}

static void numbers_hold_where_events_were_lost(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(numbered(at(SEND(0, 1, 0), 10), 0), 1);
    PUSH(of(make(&s, GN_EVENT_LOST, 0), 3), 1);
    PUSH(numbered(at(SEND(0, 1, 0), 20), 2), 1);
    PUSH(numbered(RECV(1, 0, 0), 0), 1);
    assert_int_equal(last_place(&s)->sent_ticks, 10);
    PUSH(numbered(RECV(1, 0, 0), 1), 1);
    assert_int_equal(last_place(&s)->flags, GN_PLACE_RELEASED | GN_PLACE_AMBIGUOUS);
    PUSH(numbered(RECV(1, 0, 0), 2), 1);
    assert_int_equal(last_place(&s)->flags, GN_PLACE_CORRELATED);
    assert_int_equal(last_place(&s)->sent_ticks, 20);
    close_scene(&s);
}

static void sends_that_nobody_recorded_receiving_are_not_kept(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    for (uint64_t n = 0; n < 90; n++)
        PUSH(numbered(at(SEND(0, 1, 0), n + 1), n), 1);
    PUSH(numbered(RECV(1, 0, 0), 89), 1);
    assert_int_equal(last_place(&s)->sent_ticks, 90);
    assert_in_range(gn_order_stats(s.order)->unmatched_sends, 20, 89);
    assert_in_range(nodes(&s), 1, 70);
    close_scene(&s);
}

static void a_large_number_passes_no_send_without_one(void **state)
{
    (void)state;
    static const uint64_t without[] = {GN_UNNUMBERED, GN_NUMBER_UNORDERED}, received[] = {100, 0};
    for (size_t i = 0; i < 2; i++) {
        struct scene s;
        open_scene(&s, 2);
        for (uint64_t n = 0; n < 3; n++)
            PUSH(numbered(at(SEND(0, 1, 0), 10 * (n + 1)), without[i] + (i ? n : 0)), 1);
        PUSH(numbered(RECV(1, 0, 0), received[i]), 1);
        assert_int_equal(last_place(&s)->sent_ticks, 10);
        assert_int_equal(gn_order_stats(s.order)->unmatched_sends, 0);
        close_scene(&s);
    }
}

/* Whatever has the flag may have changed places only with others that have it: certain ones meet by their
 * numbers, but for those whose position one with a flag has taken, which came first; nothing is left over. */
static void certain_numbers_meet_beside_unordered_ones(void **state)
{
    (void)state;
    static const uint64_t sent[] = {3, 0 | GN_NUMBER_UNORDERED, 1 | GN_NUMBER_UNORDERED, 2, 4};
    struct scene s;
    open_scene(&s, 2);
    for (size_t n = 0; n < 5; n++)
        PUSH(numbered(at(SEND(0, 1, 0), 10 * (n + 1)), sent[n]), 1);
    for (uint64_t n = 0; n < 5; n++)
        PUSH(numbered(at(RECV(1, 0, 0), 100 + n), n), 1);
    assert_int_equal(gn_order_finish(s.order), 0);
    assert_int_equal(gn_order_stats(s.order)->messages, 5);
    assert_int_equal(gn_order_stats(s.order)->unmatched_receives, 0);
    assert_int_equal(gn_order_stats(s.order)->ambiguous, 2);
    close_scene(&s);
}

/* Receives whose numbers come late are counted: who gets another one than it was counted as is marked. */
static void who_is_counted_as_another_is_marked(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(numbered(at(SEND(0, 1, 0), 10), 1 | GN_NUMBER_UNORDERED), 1);
    PUSH(numbered(at(RECV(1, 0, 0), 100), GN_NUMBER_LATER), 1);
    assert_int_equal(last_place(&s)->flags & GN_PLACE_AMBIGUOUS, GN_PLACE_AMBIGUOUS);
    PUSH(numbered(at(SEND(0, 1, 0), 20), 0), 1);
    PUSH(numbered(at(RECV(1, 0, 0), 110), GN_NUMBER_LATER), 1);
    assert_int_equal(last_place(&s)->flags & GN_PLACE_AMBIGUOUS, GN_PLACE_AMBIGUOUS);
    PUSH(numbered(at(SEND(0, 1, 0), 30), 2), 1);
    PUSH(numbered(at(RECV(1, 0, 0), 120), GN_NUMBER_LATER), 1);
    assert_int_equal(last_place(&s)->flags & GN_PLACE_AMBIGUOUS, 0);
    close_scene(&s);
}

/* ---- nonblocking receives ---- */

static void a_receive_is_an_event_when_it_completes(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(POST(1, 7, 0, 0), 1);
    PUSH(ENTER(1), 1);
    PUSH(IRECV(1, 7, 0, 0), 0);
    PUSH(SEND(0, 1, 0), 2);
    close_scene(&s);
}

static void receives_match_in_posting_order_whatever_completes_first(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(at(SEND(0, 1, 0), 10), 1);
    PUSH(POST(1, 1, 0, 0), 1);
    PUSH(POST(1, 2, 0, 0), 1);
    PUSH(IRECV(1, 2, 0, 0), 0);
    PUSH(IRECV(1, 1, 0, 0), 0);
    PUSH(at(SEND(0, 1, 0), 20), 3);
    assert_int_equal(s.places[s.reported - 2].sent_ticks, 20);
    assert_int_equal(last_place(&s)->sent_ticks, 10);
    close_scene(&s);
}

static void a_wildcard_is_what_its_completion_says(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    PUSH(POST(2, 1, GN_ANY, GN_ANY), 1);
    PUSH(IRECV(2, 1, 1, 5), 0);
    PUSH(SEND(0, 2, 5), 1);
    PUSH(SEND(1, 2, 5), 2);
    close_scene(&s);
}

static void an_open_wildcard_before_it_makes_a_receive_wait(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    PUSH(SEND(0, 2, 5), 1);
    PUSH(SEND(1, 2, 5), 1);
    PUSH(POST(2, 1, GN_ANY, 5), 1);
    PUSH(RECV(2, 0, 5), 0);
    PUSH(IRECV(2, 1, 1, 5), 2);
    close_scene(&s);
}

static void an_open_request_of_another_kind_does_not(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    PUSH(SEND(0, 2, 5), 1);
    PUSH(POST(2, 1, GN_ANY, 6), 1);
    PUSH(POST(2, 2, 1, GN_ANY), 1);
    PUSH(RECV(2, 0, 5), 1);
    close_scene(&s);
}

static void an_open_request_that_says_nothing_makes_receives_wait(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(SEND(0, 1, 0), 1);
    PUSH(POST_UNKNOWN(1, 1), 1);
    PUSH(RECV(1, 0, 0), 0);
    PUSH(IRECV(1, 1, 0, 3), 1);
    PUSH(SEND(0, 1, 3), 2);
    close_scene(&s);
}

static void a_cancelled_receive_takes_no_message(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(at(SEND(0, 1, 0), 10), 1);
    PUSH(POST(1, 1, 0, 0), 1);
    PUSH(RECV(1, 0, 0), 0);
    PUSH(CANCEL(1, 1), 2);
    assert_int_equal(s.places[s.reported - 2].sent_ticks, 10);
    close_scene(&s);
}

static void a_request_may_be_used_again(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    for (unsigned i = 0; i < 3; i++) {
        PUSH(POST(1, 1, 0, 0), 1);
        PUSH(IRECV(1, 1, 0, 0), 0);
        PUSH(SEND(0, 1, 0), 2);
    }
    assert_int_equal(gn_order_stats(s.order)->contradictions, 0);
    close_scene(&s);
}

static void patience_ends(void **state)
{
    (void)state;
    struct scene s;
    open_with(&s, 2, &(struct gn_order_settings){.in_time = true, .patience = 8});
    PUSH(POST_UNKNOWN(1, 1), 1);
    for (unsigned i = 0; i < 40; i++) {
        PUSH(SEND(0, 1, 0), 1);
        push(&s, RECV(1, 0, 0));
        assert_true(gn_order_stats(s.order)->unreported <= 9);
    }
    assert_true(gn_order_stats(s.order)->ambiguous > 0);
    close_scene(&s);
}

static void requests_that_say_what_they_are_for_have_more_patience(void **state)
{
    (void)state;
    struct scene s;
    open_with(&s, 2, &(struct gn_order_settings){.in_time = true, .patience = 8});
    PUSH(POST(1, 1, 0, 0), 1);
    PUSH(POST(1, 2, 0, 0), 1);
    PUSH(SEND(0, 1, 0), 1);
    PUSH(SEND(0, 1, 0), 1);
    PUSH(IRECV(1, 2, 0, 0), 0);
    for (unsigned i = 0; i < 40; i++)
        push(&s, ENTER(1));
    PUSH(IRECV(1, 1, 0, 0), 42);
    assert_int_equal(gn_order_stats(s.order)->ambiguous, 0);
    close_scene(&s);
}

static void a_thread_that_is_defined_later_completes_an_earlier_request(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(SEND(0, 1, 0), 1);
    PUSH(POST_UNKNOWN(1, 1), 1);
    uint32_t thread = add_location(&s, 1);
    PUSH(IRECV(thread, 1, 0, 0), 1);
    PUSH(SEND(0, 1, 0), 1);
    PUSH(RECV(1, 0, 0), 1);
    close_scene(&s);
}

/* Its requests were opened by a thread that does nothing any more. */
static void patience_ends_in_another_thread(void **state)
{
    (void)state;
    struct scene s;
    open_with(&s, 2, &(struct gn_order_settings){.in_time = true, .patience = 8});
    uint32_t thread = add_location(&s, 1);
    PUSH(SEND(0, 1, 0), 1);
    PUSH(POST_UNKNOWN(1, 1), 1);
    PUSH(POST_UNKNOWN(1, 2), 1);
    PUSH(IRECV(thread, 2, 0, 0), 0);
    for (unsigned i = 0; i < 40; i++)
        push(&s, ENTER(thread));
    assert_int_equal(gn_order_stats(s.order)->unreported, 0);
    assert_int_equal(gn_order_stats(s.order)->ambiguous, 1);
    close_scene(&s);
}

static void patience_with_starts_ends_in_another_thread(void **state)
{
    (void)state;
    struct scene s;
    open_with(&s, 1, &(struct gn_order_settings){.in_time = true, .patience = 1});
    uint32_t thread = add_location(&s, 0);
    PUSH(of(make(&s, GN_EVENT_NBC_REQUEST, 0), 1), 1);
    PUSH(of(make(&s, GN_EVENT_NBC_REQUEST, 0), 2), 1);
    struct gn_event end = of(make(&s, GN_EVENT_NBC_COMPLETE, thread), 2);
    end.op = GN_COLLECTIVE_SCAN;
    uint32_t other = gn_define_process(s.d, &(struct gn_process){0, GN_NONE, GN_NONE, 1});
    uint32_t pair = add_comm(&s, 2, (uint32_t[]){other, 0});
    add_location(&s, other);
    PUSH(on(collective(&s, GN_EVENT_COLLECTIVE_BEGIN, 2, GN_COLLECTIVE_SCAN, GN_NONE), pair), 1);
    PUSH(on(end, pair), 0);
    for (unsigned i = 0; i < 400; i++)
        push(&s, ENTER(thread));
    assert_int_equal(gn_order_stats(s.order)->unreported, 0);
    close_scene(&s);
}

/* ---- collectives ---- */

enum shape { ALL_TO_ALL, ONE_TO_ALL, ALL_TO_ONE, PREFIX };

struct operation {
    unsigned op;
    enum shape shape;
};

static bool depends(const struct operation *o, uint32_t end, uint32_t begin, uint32_t root)
{
    switch (o->shape) {
    case ONE_TO_ALL:
        return end != begin && begin == root;
    case ALL_TO_ONE:
        return end != begin && end == root;
    case PREFIX:
        return begin < end;
    default:
        return end != begin;
    }
}

/* All have begun but one: whose end can come? And all come when that one has begun. */
static void check_missing(const struct operation *o, uint32_t missing, bool nonblocking)
{
    enum gn_event_kind begin = nonblocking ? GN_EVENT_NBC_REQUEST : GN_EVENT_COLLECTIVE_BEGIN;
    enum gn_event_kind end = nonblocking ? GN_EVENT_NBC_COMPLETE : GN_EVENT_COLLECTIVE_END;
    uint32_t root = o->shape == ONE_TO_ALL || o->shape == ALL_TO_ONE ? 1 : GN_NONE;
    struct scene s;
    size_t waiting = 0;
    open_scene(&s, 4);
    for (uint32_t l = 0; l < 4; l++)
        if (l != missing)
            PUSH(collective(&s, begin, l, o->op, root), 1);
    for (uint32_t l = 0; l < 4; l++) {
        bool waits = depends(o, l, missing, root);
        if (l != missing)
            PUSH(collective(&s, end, l, o->op, root), waits ? 0 : 1);
        waiting += l != missing && waits;
    }
    PUSH(collective(&s, begin, missing, o->op, root), 1 + waiting);
    PUSH(collective(&s, end, missing, o->op, root), 1);
    assert_int_equal(nodes(&s), 4);
    assert_int_equal(gn_order_stats(s.order)->collectives, 1);
    assert_int_equal(gn_order_stats(s.order)->released, 0);
    close_scene(&s);
}

static void an_operation(void **state)
{
    for (uint32_t missing = 0; missing < 4; missing++) {
        check_missing(*state, missing, false);
        check_missing(*state, missing, true);
    }
}

static void a_collective_of_one(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 1);
    PUSH(BEGIN(0, ALLREDUCE, GN_NONE), 1);
    PUSH(END(0, ALLREDUCE, GN_NONE), 1);
    assert_int_equal(nodes(&s), 1);
    close_scene(&s);
}

static void the_root_is_a_rank_of_the_communicator(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    uint32_t split = add_comm(&s, 2, (uint32_t[]){2, 0});
    PUSH(on(BEGIN(0, BCAST, 0), split), 1);
    PUSH(on(END(0, BCAST, 0), split), 0);
    PUSH(on(BEGIN(2, BCAST, 0), split), 2);
    PUSH(on(END(2, BCAST, 0), split), 1);
    close_scene(&s);
}

static void the_root_of_an_intercommunicator_is_in_the_other_group(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 4);
    uint32_t inter = gn_define_comm(
        s.d, &(struct gn_comm_def){.member_count = 2, .other_count = 2, .members = (uint32_t[]){0, 1, 2, 3}});
    PUSH(on(BEGIN(0, BCAST, GN_ROOT_NONE), inter), 1);
    PUSH(on(END(0, BCAST, GN_ROOT_NONE), inter), 1);
    PUSH(on(BEGIN(2, BCAST, 1), inter), 1);
    PUSH(on(END(2, BCAST, 1), inter), 0);
    PUSH(on(BEGIN(1, BCAST, GN_ROOT_SELF), inter), 2);
    close_scene(&s);
}

static void an_intercommunicator_s_groups_wait_for_each_other(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    uint32_t inter = gn_define_comm(
        s.d, &(struct gn_comm_def){.member_count = 2, .other_count = 1, .members = (uint32_t[]){0, 1, 2}});
    PUSH(on(BEGIN(0, ALLREDUCE, GN_NONE), inter), 1);
    PUSH(on(END(0, ALLREDUCE, GN_NONE), inter), 0);
    PUSH(on(BEGIN(2, ALLREDUCE, GN_NONE), inter), 2); /* 1 need not have begun */
    PUSH(on(END(2, ALLREDUCE, GN_NONE), inter), 0);
    PUSH(on(BEGIN(1, ALLREDUCE, GN_NONE), inter), 2);
    PUSH(on(BEGIN(2, REDUCE, GN_ROOT_SELF), inter), 1);
    PUSH(on(END(2, REDUCE, GN_ROOT_SELF), inter), 0);
    PUSH(on(END(1, ALLREDUCE, GN_NONE), inter), 1);
    PUSH(on(BEGIN(1, REDUCE, 0), inter), 1);
    PUSH(on(BEGIN(0, REDUCE, 0), inter), 2);
    close_scene(&s);
}

static void who_receives_nothing_waits_for_nobody(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(BEGIN(0, ALLTOALLV, GN_NONE), 1);
    PUSH(bytes(END(0, ALLTOALLV, GN_NONE), 8, 0), 1);
    close_scene(&s);
}

static void nobody_waits_for_who_sends_nothing(void **state)
{
    (void)state;
    struct scene s;
    open_with(&s, 3, &(struct gn_order_settings){.adjust = true});
    PUSH(at(BEGIN(0, GATHERV, 0), 10), 1);
    PUSH(at(END(0, GATHERV, 0), 20), 0);
    PUSH(at(BEGIN(1, GATHERV, 0), 15), 1);
    PUSH(at(bytes(BEGIN(2, GATHERV, 0), 0, 0), 5000), 2);
    for (size_t i = 0; i < s.reported; i++)
        if (s.events[i].kind == GN_EVENT_COLLECTIVE_END)
            assert_int_equal(s.places[i].ticks, 20);
    close_scene(&s);
}

static void an_empty_broadcast_is_still_a_broadcast(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(bytes(BEGIN(0, BCAST, 1), 0, 0), 1);
    PUSH(bytes(END(0, BCAST, 1), 0, 0), 0);
    PUSH(bytes(BEGIN(1, BCAST, 1), 0, 0), 2);
    close_scene(&s);
}

static void a_begin_that_does_not_know_its_bytes_counts(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(BEGIN(0, ALLTOALLV, GN_NONE), 1);
    PUSH(END(0, ALLTOALLV, GN_NONE), 0);
    PUSH(ENTER(1), 1);
    PUSH(bytes(BEGIN(1, ALLTOALLV, GN_NONE), GN_BYTES_UNKNOWN, GN_BYTES_UNKNOWN), 2);
    close_scene(&s);
}

static void nonblocking_collectives_match_in_starting_order(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(START(0, 1, BCAST, 0), 1);
    PUSH(START(1, 1, BCAST, 0), 1);
    PUSH(START(1, 2, BCAST, 0), 1);
    PUSH(COMPLETE(1, 2, BCAST, 0), 0);
    PUSH(COMPLETE(1, 1, BCAST, 0), 0);
    PUSH(START(0, 2, BCAST, 0), 3);
    close_scene(&s);
}

static void a_start_that_says_nothing_is_known_by_its_completion(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(of(make(&s, GN_EVENT_NBC_REQUEST, 0), 1), 1);
    PUSH(START(1, 1, BCAST, 0), 1);
    PUSH(COMPLETE(1, 1, BCAST, 0), 0);
    PUSH(COMPLETE(0, 1, BCAST, 0), 2);
    close_scene(&s);
}

/* A request on a communicator cannot be the collective of a window. */
static void windows_and_communicators_are_counted_apart(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    gn_define_window(s.d, &(struct gn_window_def){0, 0});
    PUSH(of(make(&s, GN_EVENT_NBC_REQUEST, 0), 1), 1);
    PUSH(collective(&s, GN_EVENT_RMA_COLLECTIVE_BEGIN, 0, GN_COLLECTIVE_BARRIER, GN_NONE), 1);
    PUSH(collective(&s, GN_EVENT_RMA_COLLECTIVE_BEGIN, 1, GN_COLLECTIVE_BARRIER, GN_NONE), 1);
    PUSH(collective(&s, GN_EVENT_RMA_COLLECTIVE_END, 1, GN_COLLECTIVE_BARRIER, GN_NONE), 1);
    PUSH(collective(&s, GN_EVENT_RMA_COLLECTIVE_END, 0, GN_COLLECTIVE_BARRIER, GN_NONE), 1);
    close_scene(&s);
}

static void an_unknown_window_becomes_known_while_a_start_is_open(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    gn_define_window(s.d, &(struct gn_window_def){0, 0});
    PUSH(of(make(&s, GN_EVENT_NBC_REQUEST, 0), 1), 1);
    PUSH(make(&s, GN_EVENT_RMA_COLLECTIVE_BEGIN, 0), 1);
    PUSH(collective(&s, GN_EVENT_RMA_COLLECTIVE_BEGIN, 1, GN_COLLECTIVE_BARRIER, GN_NONE), 1);
    PUSH(collective(&s, GN_EVENT_RMA_COLLECTIVE_END, 1, GN_COLLECTIVE_BARRIER, GN_NONE), 0);
    PUSH(collective(&s, GN_EVENT_RMA_COLLECTIVE_END, 0, GN_COLLECTIVE_BARRIER, GN_NONE), 2);
    close_scene(&s);
}

static void an_end_that_depends_on_nobody_does_not_wait_to_be_known(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(of(make(&s, GN_EVENT_NBC_REQUEST, 0), 1), 1);
    PUSH(BEGIN(0, BCAST, 0), 1);
    PUSH(END(0, BCAST, 0), 1);
    close_scene(&s);
}

static void a_begin_is_reported_as_it_was_pushed(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(RECV(0, 1, 0), 0);
    PUSH(bytes(make(&s, GN_EVENT_COLLECTIVE_BEGIN, 0), GN_BYTES_UNKNOWN, GN_BYTES_UNKNOWN), 0);
    PUSH(END(0, BCAST, 0), 0);
    PUSH(SEND(1, 0, 0), 4);
    assert_int_equal(s.events[2].kind, GN_EVENT_COLLECTIVE_BEGIN);
    assert_true(s.events[2].bytes_sent == GN_BYTES_UNKNOWN);
    assert_true(s.events[2].comm == GN_NONE);
    close_scene(&s);
}

/* ---- the graph's size ---- */

static void the_last_event_of_a_location_is_kept(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(ENTER(0), 1);
    PUSH(ENTER(0), 1);
    PUSH(ENTER(1), 1);
    assert_int_equal(nodes(&s), 2);
    assert_int_equal(gn_order_end(s.order, 0), 0);
    assert_int_equal(nodes(&s), 1);
    close_scene(&s);
}

static void a_send_is_kept_until_its_receive_comes(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(SEND(0, 1, 0), 1);
    PUSH(ENTER(0), 1);
    assert_int_equal(nodes(&s), 2);
    PUSH(RECV(1, 0, 0), 1);
    assert_int_equal(nodes(&s), 2);
    close_scene(&s);
}

static void a_send_is_kept_until_its_receiver_ends(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(SEND(0, 1, 0), 1);
    PUSH(ENTER(0), 1);
    assert_int_equal(gn_order_end(s.order, 1), 0);
    assert_int_equal(nodes(&s), 1);
    close_scene(&s);
}

static void a_begin_is_kept_until_the_ends_that_need_it_come(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    PUSH(BEGIN(0, BCAST, 0), 1);
    PUSH(END(0, BCAST, 0), 1);
    PUSH(BEGIN(1, BCAST, 0), 1);
    PUSH(END(1, BCAST, 0), 1);
    assert_int_equal(nodes(&s), 3);
    PUSH(BEGIN(2, BCAST, 0), 1);
    assert_int_equal(nodes(&s), 4);
    PUSH(END(2, BCAST, 0), 1);
    assert_int_equal(nodes(&s), 3);
    close_scene(&s);
}

/* ---- nothing waits for ever ---- */

static void the_end_of_a_sender_releases_its_receiver(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(RECV(1, 0, 0), 0);
    PUSH(ENTER(1), 0);
    assert_int_equal(gn_order_end(s.order, 0), 0);
    assert_int_equal(s.reported, 2);
    assert_int_equal(s.places[0].flags, GN_PLACE_RELEASED | GN_PLACE_UNMATCHED);
    assert_int_equal(s.places[1].flags, 0);
    assert_int_equal(gn_order_stats(s.order)->unmatched_receives, 1);
    assert_int_equal(gn_order_stats(s.order)->released, 1);
    close_scene(&s);
}

static void a_sender_ends_with_its_last_thread(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    uint32_t thread = add_location(&s, 0);
    PUSH(RECV(1, 0, 0), 0);
    assert_int_equal(gn_order_end(s.order, 0), 0);
    assert_int_equal(s.reported, 0);
    assert_int_equal(gn_order_end(s.order, thread), 0);
    assert_int_equal(s.reported, 1);
    close_scene(&s);
}

static void the_end_of_a_member_releases_the_others(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    for (uint32_t l = 0; l < 2; l++) {
        PUSH(BEGIN(l, BARRIER, GN_NONE), 1);
        PUSH(END(l, BARRIER, GN_NONE), 0);
    }
    assert_int_equal(gn_order_end(s.order, 2), 0);
    assert_int_equal(s.reported, 4);
    assert_int_equal(s.places[2].flags, GN_PLACE_RELEASED);
    assert_int_equal(s.places[3].flags, GN_PLACE_RELEASED);
    close_scene(&s);
}

static void a_member_that_began_and_ended_releases_nothing(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(BEGIN(0, SCAN, GN_NONE), 1);
    assert_int_equal(gn_order_end(s.order, 0), 0);
    PUSH(BEGIN(1, SCAN, GN_NONE), 1);
    PUSH(END(1, SCAN, GN_NONE), 1);
    assert_int_equal(last_place(&s)->flags, 0);
    close_scene(&s);
}

static void finish_releases_everything(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    PUSH(RECV(0, 1, 0), 0);
    PUSH(RECV(1, 0, 0), 0);
    PUSH(BEGIN(2, ALLREDUCE, GN_NONE), 1);
    PUSH(END(2, ALLREDUCE, GN_NONE), 0);
    PUSH(POST_UNKNOWN(2, 1), 0);
    PUSH(RECV(2, 2, 0), 0);
    close_scene(&s);
}

static void lost_events_stall_nobody(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(SEND(0, 1, 0), 1);
    PUSH(of(make(&s, GN_EVENT_LOST, 0), 3), 1);
    PUSH(RECV(1, 0, 0), 1);
    push(&s, RECV(1, 0, 0));
    push(&s, BEGIN(1, BARRIER, GN_NONE));
    push(&s, END(1, BARRIER, GN_NONE));
    assert_int_equal(gn_order_end(s.order, 0), 0);
    assert_int_equal(s.reported, 6);
    assert_int_equal(gn_order_stats(s.order)->lost, 3);
    close_scene(&s);
}

static void what_waits_when_events_are_lost_comes_out(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(RECV(1, 0, 0), 0);
    push(&s, of(make(&s, GN_EVENT_LOST, 0), 3));
    assert_int_equal(s.reported, 2);
    for (size_t i = 0; i < 2; i++)
        if (s.events[i].kind == GN_EVENT_MPI_RECV)
            assert_true(s.places[i].flags & (GN_PLACE_RELEASED | GN_PLACE_AMBIGUOUS));
    close_scene(&s);
}

/* ---- delivery that is not in order ---- */

static int push_numbered(struct scene *s, struct gn_event e, uint64_t sequence)
{
    return gn_order_push_numbered(s->order, &e, sequence);
}

static void numbered_events_wait_for_those_before_them(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 1);
    struct gn_event e[3] = {ENTER(0), ENTER(0), ENTER(0)};
    assert_int_equal(push_numbered(&s, e[2], 2), 0);
    assert_int_equal(push_numbered(&s, e[1], 1), 0);
    assert_int_equal(s.reported, 0);
    assert_int_equal(push_numbered(&s, e[0], 0), 0);
    assert_int_equal(s.reported, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(s.events[i].record, e[i].record);
    close_scene(&s);
}

static void a_number_comes_once(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 1);
    assert_int_equal(push_numbered(&s, ENTER(0), 0), 0);
    assert_int_equal(push_numbered(&s, ENTER(0), 0), -EEXIST);
    assert_int_equal(push_numbered(&s, ENTER(0), 2), 0);
    assert_int_equal(push_numbered(&s, ENTER(0), 2), -EEXIST);
    assert_int_equal(s.reported, 1);
    assert_int_equal(push_numbered(&s, ENTER(0), 1), 0);
    assert_int_equal(s.reported, 3);
    close_scene(&s);
}

static void a_number_that_never_comes_is_a_lost_event(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    assert_int_equal(push_numbered(&s, RECV(1, 0, 0), 0), 0);
    assert_int_equal(push_numbered(&s, SEND(0, 1, 0), 2), 0);
    assert_int_equal(s.reported, 0);
    assert_int_equal(gn_order_end(s.order, 0), 0);
    assert_int_equal(s.reported, 3);
    assert_int_equal(s.events[0].kind, GN_EVENT_LOST);
    assert_int_equal(s.events[0].location, 0);
    assert_int_equal(s.events[0].request, 2);
    assert_int_equal(gn_order_stats(s.order)->lost, 2);
    close_scene(&s);
}

/* ---- time ---- */

static void a_receive_is_moved_to_its_send(void **state)
{
    (void)state;
    struct scene s;
    open_with(&s, 2, &(struct gn_order_settings){.adjust = true});
    PUSH(at(SEND(0, 1, 0), 1000), 1);
    PUSH(at(RECV(1, 0, 0), 400), 1);
    assert_int_equal(last_place(&s)->ticks, 1000);
    PUSH(at(ENTER(1), 450), 1);
    assert_int_equal(last_place(&s)->ticks, 1050);
    PUSH(at(ENTER(0), 1001), 1);
    assert_int_equal(last_place(&s)->ticks, 1001);
    assert_int_equal(gn_order_stats(s.order)->adjusted, 2);
    close_scene(&s);
}

static void an_end_is_moved_to_the_last_begin(void **state)
{
    (void)state;
    struct scene s;
    open_with(&s, 3, &(struct gn_order_settings){.adjust = true});
    PUSH(at(BEGIN(0, BARRIER, GN_NONE), 10), 1);
    PUSH(at(END(0, BARRIER, GN_NONE), 20), 0);
    PUSH(at(BEGIN(1, BARRIER, GN_NONE), 100), 1);
    PUSH(at(BEGIN(2, BARRIER, GN_NONE), 50), 2);
    assert_int_equal(last_place(&s)->ticks, 100);
    close_scene(&s);
}

static void time_is_not_moved_beyond_the_last_there_is(void **state)
{
    (void)state;
    struct scene s;
    open_with(&s, 2, &(struct gn_order_settings){.adjust = true});
    PUSH(at(SEND(0, 1, 0), UINT64_MAX), 1);
    PUSH(at(RECV(1, 0, 0), 0), 1);
    PUSH(at(ENTER(1), 10), 1);
    assert_true(last_place(&s)->ticks == UINT64_MAX);
    close_scene(&s);
}

static void time_in_order_is_not_moved(void **state)
{
    (void)state;
    struct scene s;
    open_with(&s, 2, &(struct gn_order_settings){.adjust = true});
    PUSH(at(SEND(0, 1, 0), 1000), 1);
    PUSH(at(RECV(1, 0, 0), 1000), 1);
    assert_int_equal(last_place(&s)->ticks, 1000);
    assert_int_equal(gn_order_stats(s.order)->adjusted, 0);
    close_scene(&s);
}

static void nothing_is_moved_unasked(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(at(SEND(0, 1, 0), 1000), 1);
    PUSH(at(RECV(1, 0, 0), 400), 1);
    assert_int_equal(last_place(&s)->ticks, 400);
    close_scene(&s);
}

static void a_receive_knows_who_sent_when(void **state)
{
    (void)state;
    struct scene s;
    open_with(&s, 2, &(struct gn_order_settings){.adjust = true});
    PUSH(at(SEND(1, 0, 0), 5000), 1);
    PUSH(at(RECV(0, 1, 0), 100), 1);
    PUSH(at(SEND(0, 1, 0), 200), 1);
    assert_int_equal(last_place(&s)->flags, 0);
    PUSH(at(RECV(1, 0, 0), 300), 1);
    assert_int_equal(last_place(&s)->flags, GN_PLACE_CORRELATED);
    assert_int_equal(last_place(&s)->sender, 0);
    assert_int_equal(last_place(&s)->sent_ticks, 200); /* raw, though it was moved to 5100 */
    assert_int_equal(last_place(&s)->ticks, 5100);
    close_scene(&s);
}

static void the_end_of_a_broadcast_knows_when_the_root_began(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(at(BEGIN(1, BCAST, 1), 77), 1);
    PUSH(BEGIN(0, BCAST, 1), 1);
    PUSH(END(0, BCAST, 1), 1);
    assert_int_equal(last_place(&s)->flags, GN_PLACE_CORRELATED);
    assert_int_equal(last_place(&s)->sender, 1);
    assert_int_equal(last_place(&s)->sent_ticks, 77);
    PUSH(END(1, BCAST, 1), 1);
    assert_int_equal(last_place(&s)->flags, 0);
    close_scene(&s);
}

/* ---- input that is wrong ---- */

static void a_location_that_is_not_defined_is_refused(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 1);
    struct gn_event e = ENTER(1);
    assert_int_equal(gn_order_push(s.order, &e), -EINVAL);
    assert_int_equal(gn_order_push_numbered(s.order, &e, 0), -EINVAL);
    assert_true(gn_order_end(s.order, 1) < 0);
    close_scene(&s);
}

static void a_location_that_ended_is_refused(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 1);
    struct gn_event e = ENTER(0);
    assert_int_equal(gn_order_end(s.order, 0), 0);
    assert_int_equal(gn_order_push(s.order, &e), -EINVAL);
    close_scene(&s);
}

static void what_fits_no_definition_is_a_local_event(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(on(RECV(0, 1, 0), 99), 1);
    PUSH(RECV(0, 2, 0), 1);
    PUSH(SEND(0, 2, 0), 1);
    PUSH(on(BEGIN(0, BARRIER, GN_NONE), 99), 1);
    PUSH(on(END(0, BARRIER, GN_NONE), 99), 1);
    assert_true(gn_order_stats(s.order)->contradictions >= 4);
    close_scene(&s);
}

static void what_is_on_a_communicator_of_others_is_a_local_event(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    uint32_t without = add_comm(&s, 1, (uint32_t[]){1});
    PUSH(on(SEND(0, 0, 0), without), 1);
    PUSH(on(BEGIN(0, BARRIER, GN_NONE), without), 1);
    PUSH(on(END(0, BARRIER, GN_NONE), without), 1);
    PUSH(on(RECV(0, 0, 0), without), 1);
    assert_true(gn_order_stats(s.order)->contradictions >= 3);
    close_scene(&s);
}

static void an_end_without_a_begin_is_a_local_event(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(END(0, BARRIER, GN_NONE), 1);
    PUSH(COMPLETE(0, 9, BARRIER, GN_NONE), 1);
    PUSH(CANCEL(0, 9), 1);
    assert_true(gn_order_stats(s.order)->contradictions >= 2);
    close_scene(&s);
}

static void a_sink_that_fails_stops_the_sort(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(RECV(1, 0, 0), 0);
    PUSH(ENTER(1), 0);
    s.answer = -EPIPE;
    struct gn_event e = SEND(0, 1, 0);
    assert_int_equal(gn_order_push(s.order, &e), -EPIPE);
    assert_int_equal(s.reported, 1);
    s.answer = 0;
    e = ENTER(0);
    assert_int_equal(gn_order_push(s.order, &e), -EPIPE);
    assert_true(gn_order_end(s.order, 0) < 0);
    assert_true(gn_order_finish(s.order) < 0);
    assert_int_equal(s.reported, 1);
    gn_order_close(s.order);
    gn_definitions_free(s.d);
}

static void closing_reports_nothing(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(RECV(1, 0, 0), 0);
    PUSH(POST_UNKNOWN(1, 1), 0);
    PUSH(BEGIN(0, BARRIER, GN_NONE), 1);
    gn_order_close(s.order);
    assert_int_equal(s.reported, 1);
    gn_definitions_free(s.d);
}

static void closing_nothing(void **state)
{
    (void)state;
    gn_order_close(NULL);
}

static void definitions_may_come_later(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 1);
    PUSH(ENTER(0), 1);
    uint32_t process = gn_define_process(s.d, &(struct gn_process){0, GN_NONE, GN_NONE, 1});
    uint32_t location = add_location(&s, process);
    uint32_t comm = add_comm(&s, 2, (uint32_t[]){0, process});
    PUSH(on(RECV(location, 0, 0), comm), 0);
    PUSH(on(SEND(0, 1, 0), comm), 2);
    close_scene(&s);
}

/* ---- what no sane trace does ---- */

/* Everybody else has ended the instance that this location is told to have taken no part in. */
static void a_thread_of_a_process_that_ended_begins_a_collective(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    PUSH(BEGIN(0, BARRIER, GN_NONE), 1);
    assert_int_equal(gn_order_end(s.order, 1), 0);
    uint32_t thread = add_location(&s, 1);
    PUSH(RECV(thread, 2, 0), 0);
    PUSH(BEGIN(thread, BARRIER, GN_NONE), 0);
    PUSH(END(0, BARRIER, GN_NONE), 0);
    PUSH(BEGIN(2, BARRIER, GN_NONE), 2);
    PUSH(END(2, BARRIER, GN_NONE), 1);
    PUSH(SEND(2, 1, 0), 3);
    PUSH(END(thread, BARRIER, GN_NONE), 1);
    PUSH(BEGIN(thread, BARRIER, GN_NONE), 1);
    PUSH(END(thread, BARRIER, GN_NONE), 1);
    close_scene(&s);
}

static void a_thread_of_a_process_that_ended_is_behind_the_others(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    assert_int_equal(gn_order_end(s.order, 1), 0);
    for (unsigned i = 0; i < 3; i++) {
        PUSH(BEGIN(0, BARRIER, GN_NONE), 1);
        PUSH(END(0, BARRIER, GN_NONE), 1);
    }
    uint32_t thread = add_location(&s, 1);
    PUSH(BEGIN(thread, BARRIER, GN_NONE), 1);
    PUSH(END(thread, BARRIER, GN_NONE), 1);
    close_scene(&s);
}

static void a_communicator_without_members(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    uint32_t empty = add_comm(&s, 0, NULL);
    PUSH(on(SEND(0, 1, 0), empty), 1);
    PUSH(on(BEGIN(0, BARRIER, GN_NONE), empty), 1);
    PUSH(on(END(0, BARRIER, GN_NONE), empty), 1);
    assert_int_not_equal(gn_order_stats(s.order)->contradictions, 0);
    close_scene(&s);
}

/* 0 and 1 wait for each other; 2 waits for 0, and 3 for 2: only the circle is cut. */
static void only_circles_are_cut(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 5);
    PUSH(RECV(0, 1, 0), 0);
    PUSH(RECV(1, 0, 0), 0);
    PUSH(RECV(2, 0, 1), 0);
    PUSH(RECV(3, 2, 0), 0);
    PUSH(SEND(0, 1, 0), 0);
    PUSH(SEND(0, 2, 1), 0);
    PUSH(SEND(1, 0, 0), 0);
    PUSH(SEND(2, 3, 0), 0);
    for (unsigned i = 0; s.reported == 0 && i < MILLION; i++)
        push(&s, ENTER(3));
    assert_in_range(s.reported, 9, MILLION);
    assert_int_equal(gn_order_stats(s.order)->released, 1);
    close_scene(&s);
}

/* The same from a start outside of the circle: locations are searched from the first one on. */
static void what_leads_to_a_circle_is_not_cut(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 5);
    PUSH(RECV(0, 2, 1), 0);
    PUSH(RECV(1, 0, 0), 0);
    PUSH(RECV(2, 3, 0), 0);
    PUSH(RECV(3, 2, 0), 0);
    PUSH(SEND(0, 1, 0), 0);
    PUSH(SEND(2, 3, 0), 0);
    PUSH(SEND(3, 2, 0), 0);
    PUSH(SEND(2, 0, 1), 0);
    for (unsigned i = 0; s.reported == 0 && i < MILLION; i++)
        push(&s, ENTER(3));
    assert_in_range(s.reported, 9, MILLION);
    assert_int_equal(gn_order_stats(s.order)->released, 1);
    close_scene(&s);
}

/* A late member of a barrier, and everybody else waiting: no circle, and no search that takes for ever. */
static void very_many_wait_for_one(void **state)
{
    enum { MANY = 70000 };
    (void)state;
    struct scene s;
    uint32_t *members = malloc(MANY * sizeof *members);
    assert_non_null(members);
    open_scene(&s, 1);
    members[0] = 0;
    for (uint32_t p = 1; p < MANY; p++) {
        members[p] = gn_define_process(s.d, &(struct gn_process){0, GN_NONE, GN_NONE, (int32_t)p});
        add_location(&s, p);
    }
    uint32_t all = add_comm(&s, MANY, members);
    free(members);
    PUSH(RECV(0, 0, 0), 0);
    for (uint32_t l = 0; l < MANY; l++)
        PUSH(on(BEGIN(l, BARRIER, GN_NONE), all), l > 0);
    for (uint32_t l = 0; l < MANY; l++)
        PUSH(on(END(l, BARRIER, GN_NONE), all), 0);
    assert_int_equal(gn_order_stats(s.order)->released, 0);
    close_scene(&s);
}

/* Two collectives begun in different orders by two members. */
static void a_circle_through_collectives_is_cut(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    uint32_t other = add_comm(&s, 3, (uint32_t[]){0, 1, 2});
    PUSH(BEGIN(0, SCAN, GN_NONE), 1);
    PUSH(on(BEGIN(1, BARRIER, GN_NONE), other), 1);
    PUSH(END(0, SCAN, GN_NONE), 1);
    PUSH(BEGIN(2, SCAN, GN_NONE), 1);
    PUSH(END(2, SCAN, GN_NONE), 0);
    PUSH(on(BEGIN(2, BARRIER, GN_NONE), other), 0);
    PUSH(on(BEGIN(0, BARRIER, GN_NONE), other), 1);
    PUSH(on(END(0, BARRIER, GN_NONE), other), 0);
    PUSH(on(END(1, BARRIER, GN_NONE), other), 0);
    PUSH(BEGIN(1, SCAN, GN_NONE), 0);
    for (unsigned i = 0; s.reported == 5 && i < MILLION; i++)
        push(&s, ENTER(1));
    assert_in_range(s.reported, 10, MILLION);
    assert_int_equal(gn_order_stats(s.order)->released, 1);
    close_scene(&s);
}

/* ---- size ---- */

static void a_million_events_behind_one_receive(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    PUSH(RECV(1, 0, 0), 0);
    for (unsigned i = 1; i < MILLION; i++)
        PUSH(ENTER(1), 0);
    PUSH(SEND(0, 1, 0), MILLION + 1);
    close_scene(&s);
}

static void a_chain_of_messages_set_free_by_one_push(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    for (unsigned i = 0; i < MILLION / 4; i++) {
        PUSH(RECV(1, i ? 2 : 0, 0), 0);
        PUSH(SEND(1, 2, 0), 0);
        PUSH(RECV(2, 1, 0), 0);
        PUSH(SEND(2, 1, 0), 0);
    }
    PUSH(SEND(0, 1, 0), MILLION + 1);
    close_scene(&s);
}

static void a_chain_of_barriers_set_free_by_one_push(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 3);
    PUSH(RECV(2, 0, 0), 0);
    for (unsigned i = 0; i < MILLION / 10; i++)
        for (uint32_t l = 1; l < 3; l++) {
            push(&s, BEGIN(l, BARRIER, GN_NONE));
            push(&s, END(l, BARRIER, GN_NONE));
        }
    assert_int_equal(s.reported, 1);
    for (unsigned i = 0; i < MILLION / 10; i++) {
        push(&s, BEGIN(0, BARRIER, GN_NONE));
        push(&s, END(0, BARRIER, GN_NONE));
    }
    assert_int_equal(s.reported, 2);
    PUSH(ENTER(1), 0);
    close_scene(&s);
}

static void a_million_unmatched_receives_released_by_one_end(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    for (unsigned i = 0; i < MILLION; i++)
        PUSH(RECV(1, 0, i), 0);
    assert_int_equal(gn_order_end(s.order, 0), 0);
    assert_int_equal(s.reported, MILLION);
    close_scene(&s);
}

/* Backwards, so that each is looked for among all that came before. */
static void a_hundred_thousand_events_ahead_of_their_turn(void **state)
{
    enum { MANY = MILLION / 10 };
    (void)state;
    struct scene s;
    open_scene(&s, 1);
    for (uint64_t i = MANY; i-- > 1;)
        assert_int_equal(gn_order_push_numbered(s.order, &(struct gn_event){.kind = GN_EVENT_ENTER}, i), 0);
    assert_int_equal(gn_order_push_numbered(s.order, &(struct gn_event){.kind = GN_EVENT_ENTER}, MANY / 2),
                     -EEXIST);
    assert_int_equal(s.reported, 0);
    assert_int_equal(gn_order_push_numbered(s.order, &(struct gn_event){.kind = GN_EVENT_ENTER}, 0), 0);
    assert_int_equal(s.reported, MANY);
    close_scene(&s);
}

/* Half of the table of channels is in use; others come and go. */
static void channels_come_and_go_beside_many_that_stay(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, 2);
    for (unsigned i = 0; i < (1 << 19) - 2; i++)
        PUSH(SEND(0, 1, i), 1);
    for (unsigned i = MILLION; i < MILLION + 20000; i++) {
        PUSH(SEND(0, 1, i), 1);
        PUSH(RECV(1, 0, i), 1);
    }
    assert_int_equal(gn_order_stats(s.order)->messages, 20000);
    close_scene(&s);
}

static void starts_given_up_by_the_thousand(void **state)
{
    (void)state;
    struct scene s;
    open_with(&s, 2, &(struct gn_order_settings){.in_time = true, .patience = 1});
    for (unsigned i = 0; i < MILLION / 5; i++)
        PUSH(of(make(&s, GN_EVENT_NBC_REQUEST, 0), i), 1);
    PUSH(COMPLETE(0, 5, BARRIER, GN_NONE), 0);
    assert_int_equal(gn_order_end(s.order, 0), 0);
    PUSH(ENTER(1), 1);
    close_scene(&s);
}

#define OPERATIONS(X)                                                                                        \
    X(BARRIER, ALL_TO_ALL)                                                                                   \
    X(BCAST, ONE_TO_ALL)                                                                                     \
    X(GATHER, ALL_TO_ONE)                                                                                    \
    X(GATHERV, ALL_TO_ONE)                                                                                   \
    X(SCATTER, ONE_TO_ALL)                                                                                   \
    X(SCATTERV, ONE_TO_ALL)                                                                                  \
    X(ALLGATHER, ALL_TO_ALL)                                                                                 \
    X(ALLGATHERV, ALL_TO_ALL)                                                                                \
    X(ALLTOALL, ALL_TO_ALL)                                                                                  \
    X(ALLTOALLV, ALL_TO_ALL)                                                                                 \
    X(ALLTOALLW, ALL_TO_ALL)                                                                                 \
    X(ALLREDUCE, ALL_TO_ALL)                                                                                 \
    X(REDUCE, ALL_TO_ONE)                                                                                    \
    X(REDUCE_SCATTER, ALL_TO_ALL)                                                                            \
    X(SCAN, PREFIX)                                                                                          \
    X(EXSCAN, PREFIX)                                                                                        \
    X(REDUCE_SCATTER_BLOCK, ALL_TO_ALL)                                                                      \
    X(CREATE_HANDLE, ALL_TO_ALL)                                                                             \
    X(DESTROY_HANDLE, ALL_TO_ALL)                                                                            \
    X(ALLOCATE, ALL_TO_ALL)                                                                                  \
    X(DEALLOCATE, ALL_TO_ALL)                                                                                \
    X(CREATE_HANDLE_AND_ALLOCATE, ALL_TO_ALL)                                                                \
    X(DESTROY_HANDLE_AND_DEALLOCATE, ALL_TO_ALL)

#define X(op, shape) static struct operation operation_##op = {GN_COLLECTIVE_##op, shape};
OPERATIONS(X)
#undef X

int main(void)
{
    const struct CMUnitTest tests[] = {
#define X(op, shape) {#op, an_operation, NULL, NULL, &operation_##op},
        OPERATIONS(X)
#undef X
            cmocka_unit_test(what_waits_for_nobody_goes_straight_through),
        cmocka_unit_test(a_receive_waits_for_its_send),
        cmocka_unit_test(another_tag_or_receiver_or_communicator_is_another_message),
        cmocka_unit_test(messages_of_a_channel_meet_in_their_order),
        cmocka_unit_test(a_message_to_oneself),
        cmocka_unit_test(peers_are_ranks_of_the_communicator),
        cmocka_unit_test(peers_in_an_intercommunicator_are_of_the_other_group),
        cmocka_unit_test(everybody_has_a_communicator_of_itself),
        cmocka_unit_test(a_receive_by_another_thread_of_the_process),
        cmocka_unit_test(begins_and_ends_are_told_their_instance),
        cmocka_unit_test(starts_count_in_their_order_whatever_ends_first),
        cmocka_unit_test(what_was_not_received_where_it_was_recorded_is_passed),
        cmocka_unit_test(what_was_not_sent_where_it_was_recorded_waits_for_nothing),
        cmocka_unit_test(a_message_that_a_probe_took_is_told_late),
        cmocka_unit_test(numbers_hold_where_events_were_lost),
        cmocka_unit_test(a_large_number_passes_no_send_without_one),
        cmocka_unit_test(certain_numbers_meet_beside_unordered_ones),
        cmocka_unit_test(who_is_counted_as_another_is_marked),
        cmocka_unit_test(sends_that_nobody_recorded_receiving_are_not_kept),
        cmocka_unit_test(a_receive_is_an_event_when_it_completes),
        cmocka_unit_test(receives_match_in_posting_order_whatever_completes_first),
        cmocka_unit_test(a_wildcard_is_what_its_completion_says),
        cmocka_unit_test(an_open_wildcard_before_it_makes_a_receive_wait),
        cmocka_unit_test(an_open_request_of_another_kind_does_not),
        cmocka_unit_test(an_open_request_that_says_nothing_makes_receives_wait),
        cmocka_unit_test(a_cancelled_receive_takes_no_message),
        cmocka_unit_test(a_request_may_be_used_again),
        cmocka_unit_test(patience_ends),
        cmocka_unit_test(requests_that_say_what_they_are_for_have_more_patience),
        cmocka_unit_test(a_thread_that_is_defined_later_completes_an_earlier_request),
        cmocka_unit_test(patience_ends_in_another_thread),
        cmocka_unit_test(patience_with_starts_ends_in_another_thread),
        cmocka_unit_test(a_collective_of_one),
        cmocka_unit_test(the_root_is_a_rank_of_the_communicator),
        cmocka_unit_test(the_root_of_an_intercommunicator_is_in_the_other_group),
        cmocka_unit_test(an_intercommunicator_s_groups_wait_for_each_other),
        cmocka_unit_test(who_receives_nothing_waits_for_nobody),
        cmocka_unit_test(nobody_waits_for_who_sends_nothing),
        cmocka_unit_test(an_empty_broadcast_is_still_a_broadcast),
        cmocka_unit_test(a_begin_that_does_not_know_its_bytes_counts),
        cmocka_unit_test(nonblocking_collectives_match_in_starting_order),
        cmocka_unit_test(a_start_that_says_nothing_is_known_by_its_completion),
        cmocka_unit_test(windows_and_communicators_are_counted_apart),
        cmocka_unit_test(an_unknown_window_becomes_known_while_a_start_is_open),
        cmocka_unit_test(an_end_that_depends_on_nobody_does_not_wait_to_be_known),
        cmocka_unit_test(a_begin_is_reported_as_it_was_pushed),
        cmocka_unit_test(the_last_event_of_a_location_is_kept),
        cmocka_unit_test(a_send_is_kept_until_its_receive_comes),
        cmocka_unit_test(a_send_is_kept_until_its_receiver_ends),
        cmocka_unit_test(a_begin_is_kept_until_the_ends_that_need_it_come),
        cmocka_unit_test(the_end_of_a_sender_releases_its_receiver),
        cmocka_unit_test(a_sender_ends_with_its_last_thread),
        cmocka_unit_test(the_end_of_a_member_releases_the_others),
        cmocka_unit_test(a_member_that_began_and_ended_releases_nothing),
        cmocka_unit_test(finish_releases_everything),
        cmocka_unit_test(lost_events_stall_nobody),
        cmocka_unit_test(what_waits_when_events_are_lost_comes_out),
        cmocka_unit_test(numbered_events_wait_for_those_before_them),
        cmocka_unit_test(a_number_comes_once),
        cmocka_unit_test(a_number_that_never_comes_is_a_lost_event),
        cmocka_unit_test(a_receive_is_moved_to_its_send),
        cmocka_unit_test(an_end_is_moved_to_the_last_begin),
        cmocka_unit_test(time_is_not_moved_beyond_the_last_there_is),
        cmocka_unit_test(time_in_order_is_not_moved),
        cmocka_unit_test(nothing_is_moved_unasked),
        cmocka_unit_test(a_receive_knows_who_sent_when),
        cmocka_unit_test(the_end_of_a_broadcast_knows_when_the_root_began),
        cmocka_unit_test(a_location_that_is_not_defined_is_refused),
        cmocka_unit_test(a_location_that_ended_is_refused),
        cmocka_unit_test(what_fits_no_definition_is_a_local_event),
        cmocka_unit_test(what_is_on_a_communicator_of_others_is_a_local_event),
        cmocka_unit_test(an_end_without_a_begin_is_a_local_event),
        cmocka_unit_test(a_sink_that_fails_stops_the_sort),
        cmocka_unit_test(closing_reports_nothing),
        cmocka_unit_test(closing_nothing),
        cmocka_unit_test(definitions_may_come_later),
        cmocka_unit_test(a_thread_of_a_process_that_ended_begins_a_collective),
        cmocka_unit_test(a_thread_of_a_process_that_ended_is_behind_the_others),
        cmocka_unit_test(a_communicator_without_members),
        cmocka_unit_test(only_circles_are_cut),
        cmocka_unit_test(what_leads_to_a_circle_is_not_cut),
        cmocka_unit_test(very_many_wait_for_one),
        cmocka_unit_test(a_circle_through_collectives_is_cut),
        cmocka_unit_test(a_million_events_behind_one_receive),
        cmocka_unit_test(a_chain_of_messages_set_free_by_one_push),
        cmocka_unit_test(a_chain_of_barriers_set_free_by_one_push),
        cmocka_unit_test(a_million_unmatched_receives_released_by_one_end),
        cmocka_unit_test(a_hundred_thousand_events_ahead_of_their_turn),
        cmocka_unit_test(channels_come_and_go_beside_many_that_stay),
        cmocka_unit_test(starts_given_up_by_the_thousand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

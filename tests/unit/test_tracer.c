/* capture/tracer, agent/rings and agent/expand: what a thread writes into its ring comes out again as the
 * events it was, or it is said that it is lost. */
#include "calls.h"
#include "capture.h"
#include "capture/tracer.h"
#include "agent/expand.h"
#include "agent/rings.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RECORDS = GN_RING_MIN_RECORDS, SEND_NODE = 3, TEST_NODE = 4, EVENTS_MAX = 200000 };

static struct gn_rings rings;
static struct gn_tag *tag;
static struct gn_tracer tracer;
static struct gn_expand *expand;
static struct gn_event found[EVENTS_MAX];
static size_t found_count;

static void keep(void *self, uint32_t location, struct gn_event *event)
{
    (void)self;
    assert_int_equal(location, event->location);
    assert_in_range(found_count, 0, EVENTS_MAX - 1);
    found[found_count++] = *event;
}

static void set_node(uint32_t node, uint32_t activity, uint32_t path)
{
    for (uint32_t location = 0; location < 2; location++) {
        GN_SET(tag->locations[location].nodes[node].activity, activity);
        GN_SET(tag->locations[location].nodes[node].path, path);
        GN_SET(tag->locations[location].node_count, node + 1);
    }
}

static int open_with(bool block)
{
    int file;
    tag = test_segment(2);
    if (!tag || gn_rings_make(&rings, 2, RECORDS, block, &file) != 0)
        return -1;
    close(file);
    set_node(SEND_NODE, GN_CALL_SEND, 7);
    set_node(TEST_NODE, GN_CALL_TEST, 8);
    gn_ring_memory = rings.segment;
    memset(&tracer, 0, sizeof tracer);
    gn_tracer_attach(&tracer, 0);
    found_count = 0;
    expand = gn_expand_new(tag, rings.segment, 2, RECORDS, keep, NULL);
    return expand ? 0 : -1;
}

static int open_ring(void **state)
{
    (void)state;
    return open_with(false);
}

static int open_blocking(void **state)
{
    (void)state;
    return open_with(true);
}

static int close_ring(void **state)
{
    (void)state;
    gn_expand_free(expand);
    gn_rings_close(&rings);
    gn_ring_memory = NULL;
    return 0;
}

/* Takes what there is. How many records were lost on the way. */
static uint64_t take(uint32_t location)
{
    struct gn_record records[64];
    uint64_t first, lost = 0;
    size_t count, waiting;
    do {
        uint64_t before = rings.places[location].tail;
        count = gn_rings_take(&rings, location, records, 64, &first, &waiting);
        lost += first - before;
        gn_expand_up_to(expand, location, first);
        for (size_t i = 0; i < count; i++)
            gn_expand_record(expand, location, first + i, &records[i]);
    } while (waiting > 64 || (count == 0 && waiting > 0));
    return lost;
}

static void take_all(void)
{
    take(0);
    gn_expand_end(expand, 0);
}

static struct gn_call_span span_at(uint64_t ticks)
{
    return (struct gn_call_span){ticks, ticks + 5, SEND_NODE};
}

static void call_at(uint64_t ticks)
{
    struct gn_call_span span = span_at(ticks);
    gn_tracer_call(&tracer, &span);
}

static void put_at(uint64_t ticks, const struct gn_event *event)
{
    struct gn_call_span span = span_at(ticks);
    gn_tracer_put(&tracer, &span, event);
}

static struct gn_event message(enum gn_event_kind kind, uint32_t tag_of, uint64_t bytes)
{
    struct gn_event event = gn_event_bare(kind, 0, 0);
    event.comm = 1;
    event.peer = 2;
    event.tag = tag_of;
    if (kind == GN_EVENT_MPI_RECV || kind == GN_EVENT_MPI_IRECV)
        event.bytes_received = bytes;
    else
        event.bytes_sent = bytes;
    return event;
}

static void call_is_enter_and_leave(void **state)
{
    (void)state;
    call_at(100);
    take_all();
    assert_int_equal(found_count, 2);
    assert_int_equal(found[0].kind, GN_EVENT_ENTER);
    assert_int_equal(found[0].ticks, 100);
    assert_int_equal(found[0].region, GN_CALL_SEND);
    assert_int_equal(found[0].path, 7);
    assert_int_equal(found[0].request, 0);
    assert_int_equal(found[1].kind, GN_EVENT_LEAVE);
    assert_int_equal(found[1].ticks, 105);
    assert_int_equal(found[1].region, GN_CALL_SEND);
    assert_int_equal(tracer.head, 1);
}

static void location_without_ring_has_none(void **state)
{
    (void)state;
    struct gn_tracer other = {.ring = NULL};
    gn_tracer_attach(&other, 2);
    assert_null(other.ring);
}

static void long_call_has_a_record_more(void **state)
{
    (void)state;
    struct gn_call_span span = {1000, 1000 + (3ull << 32), SEND_NODE};
    struct gn_event send = message(GN_EVENT_MPI_SEND, 70000, 5ull << 32);
    gn_tracer_call(&tracer, &span);
    span = (struct gn_call_span){span.exit_ticks, span.exit_ticks + UINT32_MAX, SEND_NODE};
    gn_tracer_put(&tracer, &span, &send);
    gn_tracer_call(&tracer, &span);
    take_all();
    assert_int_equal(tracer.head, 4);
    assert_int_equal(found_count, 5);
    assert_int_equal(found[1].ticks, 1000 + (3ull << 32));
    assert_int_equal(found[3].tag, 70000);
    assert_int_equal(found[3].bytes_sent, 5ull << 32);
    assert_int_equal(found[3].bytes_received, 0);
    assert_int_equal(found[4].ticks, span.exit_ticks);
}

/* ---- whatever a call can say ---- */

static uint64_t any_bytes(void)
{
    const uint64_t some[] = {0, 1, 8, 4096, UINT32_MAX, 1ull << 32, 77ull << 40};
    return some[rand() % 7];
}

static uint32_t any_tag(void)
{
    const uint32_t some[] = {0,     7,         65531,  65532,   65533,           65535,
                             65536, INT32_MAX, GN_ANY, GN_NONE, GN_TAG_NEIGHBOUR};
    return some[rand() % 11];
}

static uint32_t any_peer(void)
{
    const uint32_t some[] = {0, 1, 70000, (1u << 24) - 5, GN_NONE, GN_ANY, GN_ROOT_SELF, GN_ROOT_NONE};
    return some[rand() % 8];
}

/* Those of 39 bits are told, with and without the flag. */
static uint64_t any_number(void)
{
    const uint64_t some[] = {
        0, 1, 4096, (1ull << 39) - 3, 5 | GN_NUMBER_UNORDERED, GN_NUMBER_LATER, GN_UNNUMBERED};
    return some[rand() % 7];
}

static const enum gn_event_kind at_enter[] = {
    GN_EVENT_MPI_SEND, GN_EVENT_MPI_ISEND, GN_EVENT_MPI_IRECV_REQUEST, GN_EVENT_NBC_REQUEST,
    GN_EVENT_RMA_PUT,  GN_EVENT_RMA_GET,   GN_EVENT_RMA_ATOMIC,        GN_EVENT_IO_BEGIN};
static const enum gn_event_kind at_exit[] = {
    GN_EVENT_MPI_RECV,     GN_EVENT_MPI_IRECV,   GN_EVENT_MPI_ISEND_COMPLETE, GN_EVENT_MPI_REQUEST_CANCELLED,
    GN_EVENT_NBC_COMPLETE, GN_EVENT_COMM_CREATE, GN_EVENT_COMM_DESTROY,       GN_EVENT_RMA_COMPLETE,
    GN_EVENT_RMA_SYNC,     GN_EVENT_IO_COMPLETE, GN_EVENT_RMA_WIN_CREATE};

static struct gn_event any_event(enum gn_event_kind kind)
{
    struct gn_event event = gn_event_bare(kind, 0, 0);
    event.comm = rand() % 4 ? (uint32_t)rand() % GN_RING_COMMS : GN_NONE;
    event.peer = any_peer();
    if (kind == GN_EVENT_NBC_REQUEST || kind == GN_EVENT_NBC_COMPLETE)
        event.op = (uint8_t)(rand() % GN_COLLECTIVE_COUNT);
    else if (gn_record_is_message(kind))
        event.tag = any_tag();
    event.bytes_sent = kind == GN_EVENT_MPI_RECV || kind == GN_EVENT_MPI_IRECV ? 0 : any_bytes();
    event.bytes_received = gn_record_is_message(kind) && event.bytes_sent ? 0 : any_bytes();
    if (kind == GN_EVENT_MPI_IRECV_REQUEST)
        event.bytes_sent = event.bytes_received = 0;
    if (gn_event_has_number(kind))
        event.number = any_number();
    return event;
}

static struct gn_event wanted[EVENTS_MAX];
static size_t wanted_count;

static void want(struct gn_event event, uint64_t ticks)
{
    event.ticks = ticks;
    wanted[wanted_count++] = event;
}

static void want_bare(enum gn_event_kind kind, uint64_t ticks)
{
    struct gn_event event = gn_event_bare(kind, 0, ticks);
    event.region = GN_CALL_SEND;
    event.path = 7;
    want(event, ticks);
}

static void any_call(const struct gn_call_span *span)
{
    int begins = rand() % 3, ends = rand() % 3;
    want_bare(GN_EVENT_ENTER, span->enter_ticks);
    for (int i = 0; i < begins + ends; i++) {
        struct gn_event event = any_event(i < begins ? at_enter[rand() % 8] : at_exit[rand() % 11]);
        if (gn_record_starts(event.kind) && (event.kind == GN_EVENT_MPI_ISEND || rand() % 2))
            event.request = gn_tracer_next_name(&tracer, span, rand() % 2);
        else if (gn_record_names(event.kind))
            event.request = gn_request_name(0, (uint64_t)rand());
        else if (event.kind == GN_EVENT_MPI_RECV && event.number == GN_NUMBER_LATER)
            event.request = gn_tracer_own_name(&tracer);
        gn_tracer_put(&tracer, span, &event);
        want(event, i < begins ? span->enter_ticks : span->exit_ticks);
    }
    want_bare(GN_EVENT_LEAVE, span->exit_ticks);
    gn_tracer_call(&tracer, span);
}

static void whatever_is_written_comes_out(void **state)
{
    (void)state;
    srand(11);
    wanted_count = 0;
    uint64_t ticks = 1000;
    for (int i = 0; i < 20000; i++) {
        uint64_t length = rand() % 50 ? (uint64_t)rand() % 1000 : UINT32_MAX - 2 + (uint64_t)rand() % 5;
        struct gn_call_span span = {ticks, ticks + length, SEND_NODE};
        any_call(&span);
        ticks += length + (uint64_t)rand() % 100;
        if (i % 4 == 0)
            assert_int_equal(take(0), 0);
    }
    take_all();
    assert_int_equal(gn_expand_garbled(expand), 0);
    assert_int_equal(found_count, wanted_count);
    for (size_t i = 0; i < wanted_count; i++)
        assert_memory_equal(&found[i], &wanted[i], sizeof wanted[i]);
}

/* The end stands in the call's record; in between may be what was made. */
static void collective_begins_and_ends(void **state)
{
    (void)state;
    struct gn_event end = gn_event_bare(GN_EVENT_COLLECTIVE_END, 0, 0), made = end;
    end.op = GN_COLLECTIVE_CREATE_HANDLE;
    end.comm = 0;
    made.kind = GN_EVENT_COMM_CREATE;
    made.comm = 2;
    put_at(10, &end);
    put_at(10, &made);
    call_at(10);
    take_all();
    const uint16_t kinds[] = {GN_EVENT_ENTER, GN_EVENT_COLLECTIVE_BEGIN, GN_EVENT_COMM_CREATE,
                              GN_EVENT_COLLECTIVE_END, GN_EVENT_LEAVE};
    assert_int_equal(found_count, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(found[i].kind, kinds[i]);
        assert_int_equal(found[i].ticks, i < 2 ? 10 : 15);
    }
    assert_int_equal(found[1].op, GN_COLLECTIVE_CREATE_HANDLE);
    assert_int_equal(found[1].bytes_sent, GN_BYTES_UNKNOWN);
    assert_int_equal(found[3].comm, 0);
}

/* By whatever way it is written, and whoever finds it out. */
static void numbers_that_come_late_have_the_name_of_their_receive(void **state)
{
    (void)state;
    const struct gn_call_span span = span_at(10);
    struct gn_note receive = {GN_EVENT_MPI_RECV, 1, 2, 70000, 8, 0, GN_NUMBER_LATER}, send = receive;
    send.kind = GN_EVENT_MPI_SEND;
    send.number = 3;
    gn_tracer_poll(&tracer, &span);
    const uint64_t first = gn_tracer_own_name(&tracer);
    gn_tracer_note(&tracer, &span, &receive); /* with a wide one */
    call_at(10);
    gn_tracer_note(&tracer, &span, &send);
    receive.tag = 5;
    const uint64_t second = gn_tracer_own_name(&tracer);
    gn_tracer_note(&tracer, &span, &receive);
    call_at(10);
    gn_tracer_poll(&tracer, &span);
    gn_tracer_late(&tracer, second, 7 | GN_NUMBER_UNORDERED);
    gn_tracer_late(&tracer, first, 1ull << 39); /* it has not got so many bits */
    take_all();
    struct gn_event seen[2];
    size_t messages = 0, numbers = 0;
    for (size_t i = 0; i < found_count; i++)
        if (found[i].kind == GN_EVENT_MPI_RECV) {
            assert_int_equal(found[i].number, GN_NUMBER_LATER);
            assert_int_equal(found[i].request, messages++ == 0 ? first : second);
        } else if (found[i].kind == GN_EVENT_NUMBER) {
            seen[numbers++] = found[i];
        } else if (found[i].kind == GN_EVENT_MPI_SEND) {
            assert_int_equal(found[i].number, 3);
        }
    assert_int_equal(messages, 2);
    assert_int_equal(numbers, 2);
    assert_int_equal(seen[0].request, second);
    assert_int_equal(seen[0].number, 7 | GN_NUMBER_UNORDERED);
    assert_int_equal(seen[1].request, first);
    assert_int_equal(seen[1].number, GN_UNNUMBERED);
    assert_int_equal(gn_expand_garbled(expand), 0);
}

static void names_follow_each_other(void **state)
{
    (void)state;
    struct gn_call_span span = span_at(10);
    struct gn_event post = message(GN_EVENT_MPI_IRECV_REQUEST, GN_TAG_NEIGHBOUR, 0);
    uint64_t first = 0;
    for (uint64_t i = 0; i < 20; i++) {
        post.request = gn_tracer_next_name(&tracer, &span, true);
        first = i == 0 ? post.request : first;
        assert_int_equal(post.request, first + i);
        put_at(10, &post);
    }
    call_at(10);
    take_all();
    assert_int_equal(found_count, 22);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(found[1 + i].request, first + i);
}

static void regions_and_switches(void **state)
{
    (void)state;
    gn_tracer_control(&tracer, GN_EVENT_PROGRAM_BEGIN, 1, 0, 0, 0);
    gn_tracer_control(&tracer, GN_EVENT_REGION_BEGIN, 2, 7, 31, 5);
    gn_tracer_control(&tracer, GN_EVENT_MEASUREMENT, 3, 8, 1, 0);
    gn_tracer_control(&tracer, GN_EVENT_REGION_END, 4, 9, GN_NONE, 5);
    take_all();
    assert_int_equal(found_count, 4);
    assert_int_equal(found[0].kind, GN_EVENT_PROGRAM_BEGIN);
    assert_int_equal(found[1].region, GN_REGION_NAME + 5);
    assert_int_equal(found[1].path, 31);
    assert_int_equal(found[2].request, 1);
    assert_int_equal(found[3].path, GN_NONE);
}

/* ---- loss ---- */

static void overwritten_is_told_where_it_was(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 10; i++)
        call_at(100 + 10 * i);
    assert_int_equal(take(0), 0);
    for (uint64_t i = 10; i < 10 + 3 * RECORDS; i++)
        call_at(100 + 10 * i);
    uint64_t lost = take(0);
    take_all();
    assert_true(lost > 2 * RECORDS && lost < 2 * RECORDS + RECORDS / 8);
    assert_int_equal(found[20].kind, GN_EVENT_LOST);
    assert_int_equal(found[20].request, lost);
    assert_int_equal(found[20].ticks, found[19].ticks);
    assert_int_equal(found_count, 20 + 1 + 2 * (3 * RECORDS - lost));
    assert_int_equal(found[21].kind, GN_EVENT_ENTER);
    assert_int_equal(found[21].ticks, 100 + 10 * (10 + lost));
}

/* The records of one call may be more than the ring has. */
static void call_of_a_thousand_loses_its_front(void **state)
{
    (void)state;
    struct gn_event complete = gn_event_bare(GN_EVENT_MPI_ISEND_COMPLETE, 0, 0);
    complete.request = gn_request_name(1, 3);
    for (int i = 0; i < 1000; i++)
        put_at(50, &complete);
    call_at(50);
    call_at(60);
    take_all();
    assert_int_equal(found_count, 3);
    assert_int_equal(found[0].kind, GN_EVENT_LOST);
    assert_int_equal(found[0].request, 1001);
    assert_int_equal(found[1].ticks, 60);
}

static void receive_of_a_lost_post_is_a_message(void **state)
{
    (void)state;
    struct gn_call_span span = span_at(10);
    struct gn_event post = message(GN_EVENT_MPI_IRECV_REQUEST, 7, 0),
                    send = message(GN_EVENT_MPI_ISEND, 7, 8);
    post.request = gn_tracer_next_name(&tracer, &span, false);
    put_at(10, &post);
    send.request = gn_tracer_next_name(&tracer, &span, false);
    put_at(10, &send);
    for (uint64_t i = 0; i < 2 * RECORDS; i++)
        call_at(20 + 10 * i);
    take(0);
    found_count = 0;
    struct gn_event got = message(GN_EVENT_MPI_IRECV, 7, 8),
                    sent = gn_event_bare(GN_EVENT_MPI_ISEND_COMPLETE, 0, 0);
    got.request = post.request;
    sent.request = send.request;
    put_at(100000, &got);
    put_at(100000, &sent);
    call_at(100000);
    take_all();
    assert_int_equal(found_count, 4);
    assert_int_equal(found[1].kind, GN_EVENT_MPI_RECV);
    assert_int_equal(found[1].request, 0);
    assert_int_equal(found[1].bytes_received, 8);
    assert_int_equal(found[2].kind, GN_EVENT_LOST);
    assert_int_equal(found[2].request, 1);
}

/* Records that the program scribbled over are of no generation, or the wrong one. */
static void scribbles_are_lost(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 300; i++) {
        call_at(10 * i);
        if (i == 200)
            take(0);
    }
    GN_SET(gn_ring_slots(tracer.ring)[298 % RECORDS].word[1], 12345);
    take_all();
    assert_int_equal(gn_expand_garbled(expand), 1);
    assert_int_equal(found[2 * 298].kind, GN_EVENT_LOST);
    assert_int_equal(found[2 * 298].request, 1);
    assert_int_equal(found_count, 2 * 299 + 1);
}

/* A writer that overwrites what is being read: nothing comes out that is not whole. */
static gn_shared32 stop;

static void *write_on(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; !GN_GET(stop); i++) {
        struct gn_record record = {{i, gn_record_word1(0, 0, 0, 0), i * 3, i * 5}};
        gn_tracer_write(&tracer, &record);
    }
    return NULL;
}

static void what_is_read_is_whole(void **state)
{
    (void)state;
    pthread_t writer;
    struct gn_record records[RECORDS];
    uint64_t first, taken = 0, lost = 0, next = 0;
    GN_SET(stop, 0);
    assert_int_equal(pthread_create(&writer, NULL, write_on, NULL), 0);
    for (int round = 0; round < 20000 || (taken == 0 && round < 10000000); round++) {
        size_t waiting, count = gn_rings_take(&rings, 0, records, RECORDS, &first, &waiting);
        assert_true(first >= next);
        lost += first - next;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(records[i].word[0], first + i);
            assert_int_equal(records[i].word[2], (first + i) * 3);
            assert_int_equal(records[i].word[3], (first + i) * 5);
            assert_int_equal(gn_record_generation(&records[i]), (first + i) / RECORDS % 256);
        }
        next = rings.places[0].tail;
        lost += next - (first + count);
        taken += count;
    }
    GN_SET(stop, 1);
    pthread_join(writer, NULL);
    assert_int_equal(taken + lost, next);
    assert_true(taken > 0);
}

/* ---- calls that find nothing ---- */

static void poll_at(uint64_t ticks, uint32_t node)
{
    struct gn_call_span span = {ticks, ticks + 5, node};
    gn_tracer_poll(&tracer, &span);
}

static void polls_in_a_row_are_one(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        poll_at(10 * i, TEST_NODE);
    call_at(20000);
    poll_at(30000, TEST_NODE);
    call_at(50000);
    take_all();
    assert_int_equal(tracer.head, 4);
    assert_int_equal(found_count, 8);
    assert_int_equal(found[0].kind, GN_EVENT_ENTER);
    assert_int_equal(found[0].region, GN_CALL_TEST);
    assert_int_equal(found[0].request, 1000);
    assert_int_equal(found[0].bytes_sent, 5000);
    assert_int_equal(found[1].kind, GN_EVENT_LEAVE);
    assert_int_equal(found[1].ticks, 9995);
    assert_int_equal(found[4].request, 0); /* one is a call like any other */
    assert_int_equal(found[5].ticks, 30005);
}

/* The first has the time of the row, the others are told at its end. */
static void polls_may_take_turns(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        poll_at(10 * i, i % 4 ? SEND_NODE : TEST_NODE);
    for (uint32_t node = 5; node < 8; node++)
        set_node(node, GN_CALL_IPROBE, node);
    for (uint32_t node = 5; node < 8; node++) /* the last one begins a new row */
        poll_at(10000 + node, node);
    take_all();
    assert_int_equal(found_count, 2 * 5);
    assert_int_equal(tracer.head, 4);
    const uint64_t counts[] = {250, 750, 1, 1, 0};
    for (int i = 0; i < 5; i++)
        assert_int_equal(found[2 * i].request, counts[i]);
    assert_int_equal(found[0].region, GN_CALL_TEST);
    assert_int_equal(found[0].ticks, 0);
    assert_int_equal(found[1].ticks, 10011);
    assert_int_equal(found[2].region, GN_CALL_SEND);
    assert_int_equal(found[2].bytes_sent, 5 * 750);
    assert_int_equal(found[2].ticks, 10011);
    assert_int_equal(found[3].ticks, 10011);
}

/* Computing between them, or ahead of others: a row has either all or nothing of that. */
static void polls_with_other_gaps_are_another_row(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 10; i++)
        poll_at(100000 * i, TEST_NODE);
    for (uint64_t i = 0; i < 1000; i++)
        poll_at(900010 + 10 * i, SEND_NODE);
    set_node(5, GN_CALL_IPROBE, 5);
    poll_at(2000000, 5);
    call_at(3000000);
    take_all();
    assert_int_equal(found_count, 2 * 4);
    assert_int_equal(found[0].request, 10);
    assert_int_equal(found[1].ticks, 900005);
    assert_int_equal(found[2].request, 1000);
    assert_int_equal(found[2].ticks, 900010);
    assert_int_equal(found[3].ticks, 910005);
    assert_int_equal(found[4].request, 0);
    assert_int_equal(found[4].ticks, 2000000);
}

/* One place may compute between its polls, and wait later: where a row and what comes then are long. */
static void polls_of_one_place_change(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 10; i++)
        poll_at(100000 * i, TEST_NODE);
    for (uint64_t i = 0; i < 50000; i++)
        poll_at(900010 + 10 * i, TEST_NODE);
    poll_at(1500000, TEST_NODE); /* computed ahead */
    poll_at(1500010, TEST_NODE);
    poll_at(1510000, TEST_NODE); /* not for long */
    call_at(3000000);
    take_all();
    assert_int_equal(found_count, 2 * 4);
    assert_int_equal(found[0].request, 10);
    assert_int_equal(found[1].ticks, 900005);
    assert_int_equal(found[2].request, 50000);
    assert_int_equal(found[2].ticks, 900010);
    assert_int_equal(found[3].ticks, 1400005);
    assert_int_equal(found[4].request, 3);
    assert_int_equal(found[4].ticks, 1500000);
}

/* A row that goes on is not in the ring: whoever reads at the end finds it all the same, and never twice. */
static void polls_at_the_end_are_found(void **state)
{
    (void)state;
    call_at(10);
    for (uint64_t i = 0; i < 3; i++)
        poll_at(100 + 10 * i, TEST_NODE);
    take_all();
    assert_int_equal(found_count, 4);
    assert_int_equal(found[2].request, 3);
    assert_int_equal(found[3].ticks, 125);
    found_count = 0;
    gn_tracer_end_polls(&tracer);
    take(0);
    assert_int_equal(found_count, 2);
    found_count = 0;
    gn_expand_end(expand, 0);
    assert_int_equal(found_count, 0);
}

/* ---- what a dead process leaves ---- */

static void call_that_was_never_left(void **state)
{
    (void)state;
    call_at(10);
    GN_SET(tag->locations[0].now_node, TEST_NODE);
    GN_SET(tag->locations[0].now_inside, 1);
    GN_SET(tag->locations[0].now_ticks, 40);
    take(0);
    gn_expand_end(expand, 0);
    assert_int_equal(found_count, 3);
    assert_int_equal(found[2].kind, GN_EVENT_ENTER);
    assert_int_equal(found[2].ticks, 40);
    assert_int_equal(found[2].region, GN_CALL_TEST);
    found_count = 0;
    GN_SET(tag->locations[0].now_ticks, 50);
    gn_tracer_begin(&tracer, 50,
                    (struct gn_tracer_begun){GN_EVENT_COLLECTIVE_BEGIN, GN_COLLECTIVE_BCAST, 3, 1});
    gn_expand_end(expand, 0);
    assert_int_equal(found_count, 2);
    assert_int_equal(found[1].kind, GN_EVENT_COLLECTIVE_BEGIN);
    assert_int_equal(found[1].op, GN_COLLECTIVE_BCAST);
    assert_int_equal(found[1].comm, 3);
    assert_int_equal(found[1].peer, 1);
}

/* ---- block ---- */

static void *take_slowly(void *unused)
{
    (void)unused;
    while (!GN_GET(stop)) {
        usleep(500);
        take(0);
        gn_rings_alive(&rings);
    }
    return NULL;
}

static void blocked_writer_loses_nothing(void **state)
{
    (void)state;
    pthread_t reader;
    gn_rings_alive(&rings);
    GN_SET(stop, 0);
    assert_int_equal(pthread_create(&reader, NULL, take_slowly, NULL), 0);
    for (uint64_t i = 0; i < 20 * RECORDS; i++)
        call_at(10 * i);
    GN_SET(stop, 1);
    pthread_join(reader, NULL);
    take_all();
    assert_int_equal(found_count, 2 * 20 * RECORDS);
}

static void blocked_writer_gives_a_dead_agent_up(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100 * RECORDS; i++) /* waited for once */
        call_at(10 * i);
    assert_true(tracer.given_up_at != 0);
    gn_rings_alive(&rings);
    assert_true(take(0) > 90 * RECORDS);
    call_at(1000 * RECORDS);
    assert_int_equal(take(0), 0);
}

/* The reader is another process: what it says about itself cannot hurt. */
static void nonsense_from_the_reader_is_full(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < RECORDS - 1; i++)
        call_at(10 * i);
    GN_SET(tracer.ring->tail, tracer.head + 1000);
    call_at(10 * RECORDS);
    assert_true(tracer.given_up_at != 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_ring, close_ring)
#define BLOCKING(f) cmocka_unit_test_setup_teardown(f, open_blocking, close_ring)
    const struct CMUnitTest tests[] = {
        TEST(call_is_enter_and_leave),
        TEST(location_without_ring_has_none),
        TEST(long_call_has_a_record_more),
        TEST(whatever_is_written_comes_out),
        TEST(collective_begins_and_ends),
        TEST(numbers_that_come_late_have_the_name_of_their_receive),
        TEST(names_follow_each_other),
        TEST(regions_and_switches),
        TEST(overwritten_is_told_where_it_was),
        TEST(call_of_a_thousand_loses_its_front),
        TEST(receive_of_a_lost_post_is_a_message),
        TEST(scribbles_are_lost),
        TEST(what_is_read_is_whole),
        TEST(polls_in_a_row_are_one),
        TEST(polls_may_take_turns),
        TEST(polls_with_other_gaps_are_another_row),
        TEST(polls_of_one_place_change),
        TEST(polls_at_the_end_are_found),
        TEST(call_that_was_never_left),
        BLOCKING(blocked_writer_loses_nothing),
        BLOCKING(blocked_writer_gives_a_dead_agent_up),
        BLOCKING(nonsense_from_the_reader_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

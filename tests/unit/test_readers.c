/* agent/readers — whoever watches gets every event, or is told how many it did not; nobody is waited for. */
#include "agent/readers.h"

#include "event/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { LOCATIONS = 2, EARLY = 1000, LATE = 200000, TOO_MUCH = 500000 };

/* The program's side. */
static struct gn_definitions *definitions;
static struct gn_readers *readers;
static uint64_t pushed;

static void set_clock(void *self)
{
    (void)self;
    definitions->ticks_per_second = 1000000000;
}

static int begin(void **state)
{
    (void)state;
    definitions = gn_definitions_new();
    uint32_t name = gn_define_string(definitions, "Master thread");
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        gn_define_process(definitions, &(struct gn_process){name, GN_NONE, GN_NONE, (int32_t)i});
        gn_define_location(definitions, &(struct gn_location_def){.name = name, .process = i, .file_id = i});
    }
    readers = gn_readers_new(&(struct gn_readers_program){definitions, NULL, set_clock});
    pushed = 0;
    return readers ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    gn_readers_free(readers);
    gn_definitions_free(definitions);
    return 0;
}

static void push(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++, pushed++) {
        struct gn_event event = gn_event_bare(GN_EVENT_PROGRAM_BEGIN, pushed % LOCATIONS, pushed + 1);
        event.path = 12; /* a number of the trace's own */
        gn_readers_event(readers, &event);
    }
}

/* A reader's side. */
struct reader {
    int fd;
    struct gn_definitions *definitions;
    struct gn_wire_reader *wire;
    uint64_t events, lost, ended, last_ticks;
};

static int take_carry(void *self, uint32_t location, struct gn_error *err)
{
    (void)self, (void)err;
    assert_in_range(location, 0, LOCATIONS - 1);
    return 0;
}

static int take_event(void *self, const struct gn_event *event, uint64_t sequence, struct gn_error *err)
{
    struct reader *r = self;
    (void)sequence, (void)err;
    assert_int_equal(event->path, GN_NONE);
    r->events += event->kind != GN_EVENT_LOST;
    r->lost += event->kind == GN_EVENT_LOST ? event->request : 0;
    if (event->kind != GN_EVENT_LOST) {
        assert_true(event->ticks > r->last_ticks);
        r->last_ticks = event->ticks;
    }
    return 0;
}

static int take_end(void *self, uint32_t location, struct gn_error *err)
{
    (void)location, (void)err;
    ((struct reader *)self)->ended++;
    return 0;
}

static struct reader *come(void)
{
    struct reader *r = calloc(1, sizeof *r);
    struct gn_wire_sink sink = {r, take_carry, take_event, take_end};
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(gn_readers_add(readers, ends[1]), 0);
    r->fd = ends[0];
    r->definitions = gn_definitions_new();
    assert_int_equal(gn_wire_open(&r->wire, "a reader", r->definitions, &sink, NULL), 0);
    return r;
}

/* All there is; whether the stream has ended. */
static bool read_all(struct reader *r)
{
    static char bytes[1 << 16];
    struct gn_error err = {""};
    ssize_t count;
    while ((count = read(r->fd, bytes, sizeof bytes)) > 0)
        if (gn_wire_feed(r->wire, bytes, (size_t)count, &err) != 0)
            fail_msg("%s", err.text);
    return count == 0;
}

/* After gn_readers_finish; a pipe holds less than may wait. */
static void read_rest(struct reader *r)
{
    for (int rounds = 0; rounds < 400 && !gn_wire_is_complete(r->wire); rounds++) {
        read_all(r);
        gn_readers_wait(readers, 1);
    }
    assert_true(read_all(r) && gn_wire_is_complete(r->wire));
}

static void go(struct reader *r)
{
    gn_wire_close(r->wire);
    gn_definitions_free(r->definitions);
    close(r->fd);
    free(r);
}

static void early_readers_get_everything(void **state)
{
    (void)state;
    struct reader *first = come();
    push(EARLY);
    gn_readers_end(readers, 1);
    gn_readers_round(readers);
    struct reader *second = come();
    gn_readers_round(readers);
    read_all(first);
    read_all(second);
    gn_readers_event(readers, &(struct gn_event){.location = 0, .ticks = pushed + 1, .path = GN_NONE});
    gn_readers_finish(readers);
    assert_true(read_all(first) && read_all(second));
    for (struct reader *r = first; r; r = r == first ? second : NULL) {
        assert_int_equal(r->events, EARLY + 1);
        assert_int_equal(r->lost, 0);
        assert_int_equal(r->ended, LOCATIONS);
        assert_true(gn_wire_is_complete(r->wire));
    }
    go(first);
    go(second);
}

static void late_readers_are_told_what_was_before(void **state)
{
    (void)state;
    push(LATE);
    gn_readers_end(readers, 1);
    struct reader *r = come();
    gn_readers_round(readers);
    read_all(r);
    assert_int_equal(r->events, 0);
    assert_int_equal(r->lost, LATE);
    assert_int_equal(r->ended, 1);
    gn_readers_event(readers, &(struct gn_event){.location = 0, .ticks = pushed + 1, .path = GN_NONE});
    gn_readers_finish(readers);
    assert_true(read_all(r));
    assert_int_equal(r->events, 1);
    assert_true(gn_wire_is_complete(r->wire));
    go(r);
}

static void slow_readers_lose_events_and_know_how_many(void **state)
{
    (void)state;
    struct reader *r = come();
    gn_readers_round(readers);
    push(TOO_MUCH);
    for (int rounds = 0; rounds < 400; rounds++) { /* 64 KiB each: until there is room again */
        gn_readers_round(readers);
        read_all(r);
    }
    assert_in_range(r->events, 1, TOO_MUCH - 1);
    push(EARLY);
    gn_readers_finish(readers);
    read_rest(r);
    assert_true(r->lost > 0);
    assert_int_equal(r->events + r->lost, pushed);
    go(r);
}

static void what_waits_at_the_end_is_handed_on(void **state)
{
    (void)state;
    struct reader *slow = come(), *stuck = come();
    gn_readers_round(readers);
    push(TOO_MUCH);
    gn_readers_finish(readers);
    read_rest(slow);
    assert_int_equal(slow->events + slow->lost, pushed);
    gn_readers_free(readers);
    readers = NULL;
    assert_true(read_all(stuck));
    assert_false(gn_wire_is_complete(stuck->wire));
    go(slow);
    go(stuck);
}

static void who_goes_away_makes_room(void **state)
{
    (void)state;
    struct reader *all[GN_READERS_MAX];
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    for (int i = 0; i < GN_READERS_MAX; i++)
        all[i] = come();
    gn_readers_round(readers);
    assert_int_equal(gn_readers_add(readers, ends[1]), -EBUSY);
    go(all[0]);
    push(EARLY);
    gn_readers_round(readers);
    assert_int_equal(gn_readers_add(readers, ends[1]), 0);
    for (int i = 1; i < GN_READERS_MAX; i++)
        go(all[i]);
    close(ends[0]);
}

static void only_pipes_and_sockets_are_written_to(void **state)
{
    (void)state;
    int ends[2], pair[2], file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(gn_readers_add(readers, file), -EINVAL);
    assert_int_equal(gn_readers_add(readers, ends[0]), -EINVAL);
    assert_int_equal(gn_readers_add(readers, -1), -EINVAL);
    assert_int_equal(gn_readers_add(readers, pair[0]), 0);
    close(file);
    close(ends[0]);
    close(ends[1]);
    close(pair[1]);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(early_readers_get_everything),
        FACT(late_readers_are_told_what_was_before),
        FACT(slow_readers_lose_events_and_know_how_many),
        FACT(what_waits_at_the_end_is_handed_on),
        FACT(who_goes_away_makes_room),
        FACT(only_pipes_and_sockets_are_written_to),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

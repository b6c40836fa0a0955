/* causality/arrival: each location's order is kept, nothing is lost or doubled, the same words give the same
 * order; causality/backward: messages that an order shows backward. */
#include "causality/arrival_spec.h"
#include "causality/backward.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LOCATIONS = 7, PER_PULL = 5, MOST = 4096 };

/* A source with so many events per location; event i of location l has request i and ticks of its own. A
 * live one has nothing at every other pull. */
struct made {
    struct gn_definitions *definitions;
    uint32_t counts[LOCATIONS], done[LOCATIONS], pulls[LOCATIONS];
    bool live;
    struct gn_event batch[LOCATIONS][PER_PULL];
};

static uint64_t ticks_of(uint32_t location, uint32_t i)
{
    return 1000 + (uint64_t)i * (100 + 13 * location) / 3 + location % 3;
}

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct made *m = self;
    uint32_t n = 0;
    (void)err;
    if (m->live && m->pulls[location]++ % 2 == 0)
        return -EAGAIN;
    for (; n < PER_PULL && m->done[location] < m->counts[location]; n++) {
        uint32_t i = m->done[location]++;
        m->batch[location][n] = gn_event_bare(GN_EVENT_ENTER, location, ticks_of(location, i));
        m->batch[location][n].request = i;
    }
    *events = m->batch[location];
    return n;
}

static void close_nothing(void *self)
{
    (void)self;
}

static struct gn_source make(struct made *m, const uint32_t *counts)
{
    memset(m, 0, sizeof *m);
    m->definitions = gn_definitions_new();
    m->definitions->ticks_per_second = 1000000000;
    struct gn_process process = {.system_node = GN_NONE, .main_location = GN_NONE};
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        process.rank = (int32_t)l;
        struct gn_location_def location = {.process = gn_define_process(m->definitions, &process)};
        gn_define_location(m->definitions, &location);
        m->counts[l] = counts[l];
    }
    return (struct gn_source){m, m->definitions, pull, close_nothing};
}

struct arrivals {
    size_t count, slices;
    struct gn_event events[MOST];
    uint32_t seen[LOCATIONS];
    bool ended[LOCATIONS];
};

static void collect(struct arrivals *a, struct made *m, const char *words, const uint32_t *counts, bool live)
{
    struct gn_error err;
    struct gn_source source = make(m, counts);
    struct gn_arrival_settings settings;
    struct gn_arrival *arrival;
    struct gn_arrived arrived;
    int code;
    m->live = live;
    memset(a, 0, sizeof *a);
    assert_int_equal(gn_arrival_parse(&settings, words, &err), 0);
    assert_int_equal(gn_arrival_open(&arrival, &source, &settings, &err), 0);
    while ((code = gn_arrival_next(arrival, &arrived, &err)) == 1 || (live && code == -EAGAIN)) {
        if (code == -EAGAIN)
            continue;
        a->slices++;
        assert_false(a->ended[arrived.location]);
        a->ended[arrived.location] = arrived.count == 0;
        for (uint32_t i = 0; i < arrived.count; i++) {
            assert_int_equal(arrived.events[i].location, arrived.location);
            assert_int_equal(arrived.events[i].request, a->seen[arrived.location]++);
            assert_true(a->count < MOST);
            a->events[a->count++] = arrived.events[i];
        }
    }
    assert_int_equal(code, 0);
    assert_int_equal(gn_arrival_next(arrival, &arrived, &err), 0);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        assert_true(a->ended[l]);
        assert_int_equal(a->seen[l], counts[l]);
    }
    gn_arrival_close(arrival);
    gn_definitions_free(m->definitions);
}

static const uint32_t uneven[LOCATIONS] = {100, 0, 3, 257, 1, 40, 100};
static const char *const all_words[] = {"recorded",
                                        "roundrobin",
                                        "random",
                                        "random:42",
                                        "delayed",
                                        "delayed:buffer=1,latency=0",
                                        "delayed:buffer=1000B,record=10,latency=1us..20us,seed=9",
                                        "delayed:buffer=30,flush=200ns,latency=5us"};
static struct arrivals first, second;
static struct made made;

/* Two locations with given events. */
struct lanes {
    const struct gn_event *events[2];
    uint32_t left[2];
};

static int64_t pull_lane(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct lanes *lanes = self;
    const uint32_t count = lanes->left[location];
    (void)err;
    *events = lanes->events[location];
    lanes->left[location] = 0;
    return count;
}

static int keep(void *self, const struct gn_event *event, struct gn_error *err)
{
    struct arrivals *a = self;
    (void)err;
    a->events[a->count++] = *event;
    return 0;
}

static int keep_end(void *self, uint32_t location, struct gn_error *err)
{
    (void)err;
    ((struct arrivals *)self)->ended[location] = true;
    return 0;
}

static void test_each_location_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all_words / sizeof all_words[0]; i++) {
        collect(&first, &made, all_words[i], uneven, false);
        collect(&second, &made, all_words[i], uneven, false);
        assert_int_equal(first.count, second.count);
        assert_memory_equal(first.events, second.events, first.count * sizeof first.events[0]);
    }
}

static void test_live_source(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all_words / sizeof all_words[0]; i++)
        collect(&first, &made, all_words[i], uneven, true);
}

static void test_recorded_is_by_time(void **state)
{
    (void)state;
    collect(&first, &made, "recorded", uneven, false);
    for (size_t i = 1; i < first.count; i++) {
        const struct gn_event *a = &first.events[i - 1], *b = &first.events[i];
        assert_true(a->ticks < b->ticks || (a->ticks == b->ticks && a->location <= b->location));
    }
}

/* What is missing may have been at any time behind the event before it. */
static void test_a_loss_arrives_where_it_begins(void **state)
{
    (void)state;
    const struct gn_event here[] = {gn_event_bare(GN_EVENT_LOST, 0, 50), gn_event_bare(GN_EVENT_ENTER, 0, 60),
                                    gn_event_bare(GN_EVENT_LOST, 0, 90),
                                    gn_event_bare(GN_EVENT_ENTER, 0, 91)};
    const struct gn_event there[] = {gn_event_bare(GN_EVENT_ENTER, 1, 40),
                                     gn_event_bare(GN_EVENT_ENTER, 1, 70),
                                     gn_event_bare(GN_EVENT_ENTER, 1, 80)};
    const uint32_t expected[] = {50, 40, 60, 90, 70, 80, 91};
    struct lanes lanes = {.events = {here, there}, .left = {4, 3}};
    struct gn_definitions *d = gn_definitions_new();
    for (uint32_t l = 0; l < 2; l++)
        gn_define_location(d, &(struct gn_location_def){.process = 0});
    struct gn_source source = {&lanes, d, pull_lane, close_nothing};
    struct arrivals *a = calloc(1, sizeof *a);
    struct gn_error err;
    assert_non_null(a);
    assert_int_equal(gn_arrival_carry(&source, &(struct gn_arrival_sink){a, keep, keep_end}, &err), 0);
    assert_int_equal(a->count, 7);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(a->events[i].ticks, expected[i]);
    assert_true(a->ended[0] && a->ended[1]);
    free(a);
    gn_definitions_free(d);
}

static int refuse(void *self, const struct gn_event *event, struct gn_error *err)
{
    (void)self;
    (void)event;
    return gn_fail(err, -EPIPE, "no more");
}

static void test_a_sink_that_fails_ends_it(void **state)
{
    (void)state;
    static struct made m;
    static struct arrivals a;
    const uint32_t counts[LOCATIONS] = {3, 3, 3, 3, 3, 3, 3};
    struct gn_source source = make(&m, counts);
    struct gn_error err;
    assert_int_equal(gn_arrival_carry(&source, &(struct gn_arrival_sink){&a, refuse, keep_end}, &err),
                     -EPIPE);
    assert_string_equal(err.text, "no more");
    gn_definitions_free(m.definitions);
}

static void test_roundrobin_takes_turns(void **state)
{
    static const uint32_t even[LOCATIONS] = {9, 9, 9, 9, 9, 9, 9};
    (void)state;
    collect(&first, &made, "roundrobin", even, false);
    for (size_t i = 0; i < first.count; i++)
        assert_int_equal(first.events[i].location, i % LOCATIONS);
}

static void test_seeds_differ(void **state)
{
    (void)state;
    collect(&first, &made, "random:1", uneven, false);
    collect(&second, &made, "random:2", uneven, false);
    assert_memory_not_equal(first.events, second.events, first.count * sizeof first.events[0]);
}

/* A buffer of 4 is delivered when its 4th event has happened: in the order of those, after the latency. */
static void test_buffers_come_when_full(void **state)
{
    (void)state;
    collect(&first, &made, "delayed:buffer=4,latency=3us", uneven, false);
    uint64_t last_ticks = 0;
    for (size_t at = 0; at < first.count;) {
        const struct gn_event *e = &first.events[at];
        uint32_t left = uneven[e->location] - (uint32_t)e->request, length = left < 4 ? left : 4;
        assert_int_equal(e->request % 4, 0);
        for (uint32_t i = 0; i < length; i++)
            assert_int_equal(e[i].location, e->location);
        assert_true(e[length - 1].ticks >= last_ticks);
        last_ticks = e[length - 1].ticks;
        at += length;
    }
}

static void test_words(void **state)
{
    static const char *const bad[] = {"",
                                      "Recorded",
                                      "random:",
                                      "random:x",
                                      "random:-1",
                                      "random:1x",
                                      "delayedx",
                                      "delayed:buffer",
                                      "delayed:buffer=0",
                                      "delayed:buffer=B",
                                      "delayed:latency=5",
                                      "delayed:latency=2ms..1ms",
                                      "delayed:flush=-1s",
                                      "delayed:seed=",
                                      "delayed:,",
                                      "delayed:what=1"};
    struct gn_arrival_settings s;
    struct gn_error err;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err.text[0] = '\0';
        assert_int_equal(gn_arrival_parse(&s, bad[i], &err), -EINVAL);
        assert_true(err.text[0]);
    }
    assert_int_equal(
        gn_arrival_parse(&s, "delayed:buffer=100B,record=20,flush=2ms,latency=1us..2us,seed=7", &err), 0);
    assert_int_equal(s.buffer_events, 5);
    assert_int_equal(s.flush_ns, 2000000);
    assert_int_equal(s.latency_min_ns, 1000);
    assert_int_equal(s.latency_max_ns, 2000);
    assert_int_equal(s.seed, 7);
    assert_int_equal(gn_arrival_parse(&s, "delayed", &err), 0);
    assert_int_equal(s.buffer_events, 4);
}

/* ---- causality/backward ---- */

static struct gn_event message(bool send, uint32_t location, uint32_t peer, uint32_t tag)
{
    struct gn_event e = gn_event_bare(send ? GN_EVENT_MPI_SEND : GN_EVENT_MPI_RECV, location, 0);
    e.comm = 0;
    e.peer = peer;
    e.tag = tag;
    return e;
}

static void test_backward(void **state)
{
    (void)state;
    make(&made, uneven);
    uint32_t members[] = {0, 1, 2};
    struct gn_comm_def comm = {.parent = GN_NONE, .member_count = 3, .members = members};
    gn_define_comm(made.definitions, &comm);
    struct gn_backward *b = gn_backward_open(made.definitions);
    struct gn_event send = message(true, 0, 1, 5), receive = message(false, 1, 0, 5);
    struct gn_event other = message(false, 2, 0, 5), lonely = message(false, 1, 0, 6);
    assert_int_equal(gn_backward_see(b, &send), 0);
    assert_int_equal(gn_backward_see(b, &receive), 0);
    assert_int_equal(gn_backward_see(b, &receive), 1); /* its send comes only now */
    assert_int_equal(gn_backward_see(b, &send), 0);
    assert_int_equal(gn_backward_see(b, &other), 1); /* a send to somebody else does not help */
    assert_int_equal(gn_backward_see(b, &lonely), 1);
    assert_int_equal(gn_backward_count(b), 3);
    assert_int_equal(gn_backward_forgive(b, &lonely), 0);
    assert_int_equal(gn_backward_count(b), 2);
    assert_int_equal(gn_backward_receives(b), 3);
    for (uint32_t tag = 0; tag < 1000; tag++) {
        struct gn_event s = message(true, 2, 1, tag);
        assert_int_equal(gn_backward_see(b, &s), 0);
    }
    for (uint32_t tag = 0; tag < 1000; tag++) {
        struct gn_event r = message(false, 1, 2, tag);
        assert_int_equal(gn_backward_see(b, &r), 0);
    }
    assert_int_equal(gn_backward_count(b), 2);
    gn_backward_close(b);
    gn_definitions_free(made.definitions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_location_in_order),
        cmocka_unit_test(test_live_source),
        cmocka_unit_test(test_recorded_is_by_time),
        cmocka_unit_test(test_a_loss_arrives_where_it_begins),
        cmocka_unit_test(test_a_sink_that_fails_ends_it),
        cmocka_unit_test(test_roundrobin_takes_turns),
        cmocka_unit_test(test_seeds_differ),
        cmocka_unit_test(test_buffers_come_when_full),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_backward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

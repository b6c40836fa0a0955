/* agent/windows and trace/windowed — when events are kept, and which window each call belongs to. */
#include "agent/windows.h"
#include "event/definitions.h"
#include "trace/windowed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const uint64_t MS = 1000000;

/* A program that makes `rate` events a second for so long, looked at every millisecond. Returns how many are
 * kept. */
static uint64_t kept(struct gn_windows *w, double rate, double seconds)
{
    const uint64_t each = (uint64_t)(rate / 1000 + 0.5);
    uint64_t events = 0, now = MS;
    for (; now < (uint64_t)(seconds * 1e9); now += MS) {
        const bool wanted = gn_windows_wanted(w, now, events, 2);
        if (wanted && !w->is_open)
            gn_windows_open(w, now, events, false);
        if (!wanted && w->is_open)
            gn_windows_close(w, now, events, 2);
        events += w->is_open ? each : 0;
    }
    if (w->is_open)
        gn_windows_close(w, now, events, 2);
    return events;
}

static struct gn_windows windows_of(double rate)
{
    struct gn_windows w;
    gn_windows_begin(&w, rate, 42);
    return w;
}

static void few_calls_are_one_window(void **state)
{
    (void)state;
    struct gn_windows w = windows_of(20000);
    assert_int_equal(kept(&w, 1000, 60), 60000 - 1);
    assert_int_equal(w.count, 1);
}

static void many_are_kept_at_the_rate_at_first(void **state)
{
    (void)state;
    struct gn_windows w = windows_of(20000);
    const uint64_t events = kept(&w, 1000000, 2);
    assert_true(events > 20000 && events < 60000);
    assert_true(w.count > 5);
}

/* What is kept in so long, where there is more than enough (docs/windows.md). */
static double law(double rate, double seconds)
{
    const double doubles = GN_WINDOWS_DOUBLE + 2. * GN_WINDOWS_EACH;
    return doubles / log(2) * log(1 + rate * seconds * log(2) / doubles);
}

static bool is_near(double a, double b)
{
    return fabs(a - b) < b / 5;
}

static void they_grow_as_the_logarithm_of_time(void **state)
{
    (void)state;
    struct gn_windows short_ones = windows_of(20000), long_ones = windows_of(20000);
    const uint64_t few = kept(&short_ones, 500000, 30), many = kept(&long_ones, 500000, 3000);
    assert_true(is_near((double)few, law(20000, 30)) && is_near((double)many, law(20000, 3000)));
    assert_true(long_ones.count <= GN_KEPT_WINDOWS_MOST);
    for (size_t i = 1; i < long_ones.count; i++)
        assert_true(long_ones.spans[i].begin_ticks > long_ones.spans[i - 1].end_ticks);
}

/* A program that makes calls for 60 ms, and none for so long: so much of what is kept is of these. */
static void keep_silent(unsigned silent_ms)
{
    struct gn_windows w = windows_of(20000);
    uint64_t events = 0;
    double silent = 0, all = 0;
    for (uint64_t now = MS; now < 1000000 * MS; now += MS) {
        const bool is_silent = now / MS % (60 + silent_ms) >= 60,
                   wanted = gn_windows_wanted(&w, now, events, 2);
        if (wanted && !w.is_open)
            gn_windows_open(&w, now, events, false);
        if (!wanted && w.is_open)
            gn_windows_close(&w, now, events, 2);
        events += w.is_open && !is_silent ? 200 : 0;
        silent += w.is_open && is_silent;
        all += w.is_open;
    }
    assert_true(w.count > 100);
    assert_true(is_near(silent / all, silent_ms / (60. + silent_ms)));
}

static void long_waits_are_kept_as_often_as_there_are(void **state)
{
    (void)state;
    keep_silent(10);
    keep_silent(50);
    keep_silent(300);
}

/* Half of a window comes when it is closed, as from rings that filled up meanwhile. */
static void what_comes_last_is_paid_for(void **state)
{
    (void)state;
    struct gn_windows w = windows_of(20000);
    uint64_t events = 0;
    for (uint64_t now = MS; now < 3000 * MS; now += MS) {
        const bool wanted = gn_windows_wanted(&w, now, events, 2);
        if (wanted && !w.is_open)
            gn_windows_open(&w, now, events, false);
        events += w.is_open ? 10000 : 0;
        if (!wanted && w.is_open)
            gn_windows_close(&w, now, events, 2);
    }
    assert_true(w.count > 1 && events <= 3 * 20000 + 20000);
}

/* Looked at by two hosts at moments of their own; how many of the windows of the second began with one of the
 * first, which makes as many events or more. */
static void hosts_begin_at_the_same_moments(void **state)
{
    (void)state;
    for (int faster = 1; faster <= 16; faster *= 4) {
        struct gn_windows w[2];
        const uint64_t every[2] = {MS, 700000};
        uint64_t events[2] = {0, 0}, next[2] = {3 * MS, MS}, begun[2][200];
        size_t counts[2] = {0, 0};
        for (int i = 0; i < 2; i++) {
            gn_windows_begin(&w[i], 100000, (uint64_t)i);
            w[i].common = 12345;
        }
        for (uint64_t now = 1; now < 20000 * MS; now += 100000)
            for (int i = 0; i < 2; i++) {
                if (now < next[i])
                    continue;
                next[i] = now + every[i];
                const bool wanted = gn_windows_wanted(&w[i], now, events[i], 2);
                if (wanted && !w[i].is_open) {
                    gn_windows_open(&w[i], now, events[i], false);
                    if (counts[i] < 200)
                        begun[i][counts[i]++] = now;
                }
                events[i] += w[i].is_open ? (uint64_t)(i == 0 ? 1000 * faster : 700) : 0;
                if (!wanted && w[i].is_open)
                    gn_windows_close(&w[i], now, events[i], 2);
            }
        size_t met = 0;
        for (size_t a = 0, b = 0; a < counts[0] && b < counts[1];) {
            const uint64_t apart =
                begun[0][a] < begun[1][b] ? begun[1][b] - begun[0][a] : begun[0][a] - begun[1][b];
            met += apart < 2 * MS;
            if (begun[0][a] < begun[1][b])
                a++;
            else
                b++;
        }
        const size_t fewer = counts[0] < counts[1] ? counts[0] : counts[1];
        assert_true(fewer >= 10 && met >= fewer - fewer / 10 - 1);
        for (int i = 0; i < 2; i++)
            assert_true((double)events[i] < 1.5 * law(100000, 20) + 20000 * faster);
    }
}

static void without_a_moment_there_is_none(void **state)
{
    (void)state;
    struct gn_windows w;
    gn_windows_begin(&w, 100000, 1);
    w.common = 12345;
    assert_false(gn_windows_wanted(&w, 0, 0, 2));
    assert_true(gn_windows_wanted(&w, 1, 0, 2));
}

static void gaps_are_of_different_lengths(void **state)
{
    (void)state;
    struct gn_windows w = windows_of(20000);
    uint64_t least = UINT64_MAX, most = 0;
    kept(&w, 1000000, 2);
    for (size_t i = 1; i < w.count && i < 10; i++) {
        const uint64_t gap = w.spans[i].begin_ticks - w.spans[i - 1].end_ticks;
        least = gap < least ? gap : least;
        most = gap > most ? gap : most;
    }
    assert_true(most > least + least / 4);
}

static void one_that_was_overtaken_ends_there(void **state)
{
    (void)state;
    struct gn_windows w = windows_of(20000);
    assert_true(gn_windows_wanted(&w, MS, 0, 2));
    gn_windows_open(&w, 100, 0, false);
    gn_windows_cut(&w, 150, 5000, 2);
    assert_int_equal(w.count, 1);
    assert_int_equal(w.spans[0].end_ticks, 150);
    assert_false(gn_windows_wanted(&w, 2 * MS, 5000, 2));
    gn_windows_open(&w, 300, 5000, false);
    gn_windows_cut(&w, 300, 6000, 2); /* nothing was had */
    assert_int_equal(w.count, 1);
}

/* ---- events of windows ---- */

struct given {
    struct gn_source source;
    struct gn_event events[16];
    size_t count;
    bool pulled;
};

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct given *g = self;
    (void)location, (void)err;
    *events = g->events;
    const bool again = g->pulled;
    g->pulled = true;
    return again ? 0 : (int64_t)g->count;
}

static void add(struct given *g, enum gn_event_kind kind, uint64_t ticks)
{
    g->events[g->count] = gn_event_bare(kind, 0, ticks);
    g->events[g->count++].region = 0;
}

static void call(struct given *g, uint64_t enter, uint64_t leave)
{
    add(g, GN_EVENT_ENTER, enter);
    add(g, GN_EVENT_LEAVE, leave);
}

static struct gn_definitions *one_location(void)
{
    struct gn_definitions *d = gn_definitions_new();
    gn_define_location(d, &(struct gn_location_def){.name = gn_define_string(d, "thread")});
    gn_define_region(d,
                     &(struct gn_region_def){.name = gn_define_string(d, "MPI_Recv"), .role = GN_ROLE_MPI});
    gn_define_region(d,
                     &(struct gn_region_def){.name = gn_define_string(d, "main"), .role = GN_ROLE_FUNCTION});
    return d;
}

static size_t count_in(struct gn_windowed *w, size_t window, const struct gn_event **first)
{
    struct gn_source source;
    struct gn_error err;
    gn_windowed_source(w, window, &source);
    const int64_t count = source.pull(source.self, 0, first, &err);
    assert_int_equal(source.pull(source.self, 0, first, &err), 0);
    assert_int_equal((uint64_t)count, gn_windowed_events(w, window));
    gn_windowed_source(w, window, &source);
    source.pull(source.self, 0, first, &err);
    return (size_t)count;
}

static void a_call_is_where_it_was_left(void **state)
{
    (void)state;
    const struct gn_kept_window windows[] = {{100, 200}, {300, 400}, {500, 600}};
    struct gn_definitions *d = one_location();
    struct given g = {.source = {.self = &g, .definitions = d, .pull = pull}};
    struct gn_windowed *w;
    struct gn_error err;
    const struct gn_event *first;
    add(&g, GN_EVENT_ENTER, 10); /* a function: no call of MPI, it goes where its own time is */
    g.events[0].region = 1;
    call(&g, 50, 150);  /* began before the first one */
    call(&g, 190, 250); /* ended in no window */
    call(&g, 260, 310);
    call(&g, 320, 330);
    add(&g, GN_EVENT_ENTER, 390); /* never left: its last event counts */
    add(&g, GN_EVENT_MPI_SEND, 395);
    assert_int_equal(gn_windowed_read(&w, &g.source, windows, 3, GN_WINDOWED_CALLS, &err), 0);
    assert_int_equal(count_in(w, 0, &first), 2);
    assert_int_equal(first[0].ticks, 50);
    assert_int_equal(count_in(w, 1, &first), 6);
    assert_int_equal(first[0].ticks, 260);
    assert_int_equal(count_in(w, 2, &first), 0);
    gn_windowed_free(w);
    gn_definitions_free(d);
}

static void nothing_is_no_window(void **state)
{
    (void)state;
    struct gn_definitions *d = one_location();
    struct given g = {.source = {.self = &g, .definitions = d, .pull = pull}};
    struct gn_windowed *w;
    struct gn_error err;
    call(&g, 50, 150);
    assert_int_equal(gn_windowed_read(&w, &g.source, NULL, 0, GN_WINDOWED_CALLS, &err), 0);
    gn_windowed_free(w);
    gn_windowed_free(NULL);
    gn_definitions_free(d);
}

static void region(struct given *g, enum gn_event_kind kind, uint64_t ticks, uint32_t which)
{
    add(g, kind, ticks);
    g->events[g->count - 1].region = which;
}

static void regions_that_are_open_are_carried(void **state)
{
    (void)state;
    const struct gn_kept_window windows[] = {{100, 200}, {300, 400}, {500, 600}};
    struct gn_definitions *d = one_location();
    struct given g = {.source = {.self = &g, .definitions = d, .pull = pull}};
    struct gn_windowed *w;
    struct gn_error err;
    const struct gn_event *first;
    region(&g, GN_EVENT_ENTER, 10, 1);
    call(&g, 110, 120);
    region(&g, GN_EVENT_ENTER, 150, 1); /* another one, in it */
    call(&g, 310, 320);
    region(&g, GN_EVENT_LEAVE, 330, 1);
    region(&g, GN_EVENT_LEAVE, 450, 1);
    call(&g, 510, 520);
    assert_int_equal(gn_windowed_read(&w, &g.source, windows, 3, GN_WINDOWED_PARTS, &err), 0);
    static const struct {
        uint64_t ticks;
        enum gn_event_kind kind;
    } expected[3][8] = {{{100, GN_EVENT_ENTER},
                         {110, GN_EVENT_ENTER},
                         {120, GN_EVENT_LEAVE},
                         {150, GN_EVENT_ENTER},
                         {200, GN_EVENT_LEAVE},
                         {200, GN_EVENT_LEAVE}},
                        {{300, GN_EVENT_ENTER},
                         {300, GN_EVENT_ENTER},
                         {310, GN_EVENT_ENTER},
                         {320, GN_EVENT_LEAVE},
                         {330, GN_EVENT_LEAVE},
                         {400, GN_EVENT_LEAVE}},
                        {{510, GN_EVENT_ENTER}, {520, GN_EVENT_LEAVE}}};
    static const size_t counts[] = {6, 6, 2};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(count_in(w, i, &first), counts[i]);
        for (size_t k = 0; k < counts[i]; k++) {
            assert_int_equal(first[k].ticks, expected[i][k].ticks);
            assert_int_equal(first[k].kind, expected[i][k].kind);
        }
    }
    gn_windowed_free(w);
    gn_definitions_free(d);
}

/* Windows of 100 ticks with 100 between them, as one. */
static void windows_that_are_joined_have_no_time_between_them(void **state)
{
    (void)state;
    const struct gn_kept_window windows[] = {{100, 200}, {300, 400}, {500, 600}};
    struct gn_definitions *d = one_location();
    struct given g = {.source = {.self = &g, .definitions = d, .pull = pull}};
    struct gn_windowed *w;
    struct gn_error err;
    const struct gn_event *first;
    region(&g, GN_EVENT_ENTER, 10, 1);
    call(&g, 50, 110);  /* began before */
    call(&g, 190, 310); /* in two of them */
    call(&g, 350, 700); /* in two of them, and behind the last one */
    region(&g, GN_EVENT_LEAVE, 800, 1);
    assert_int_equal(gn_windowed_read(&w, &g.source, windows, 3, GN_WINDOWED_JOINED, &err), 0);
    static const struct {
        uint64_t ticks;
        enum gn_event_kind kind;
        uint32_t region;
    } expected[] = {{100, GN_EVENT_ENTER, 1}, {100, GN_EVENT_ENTER, 0}, {110, GN_EVENT_LEAVE, 0},
                    {190, GN_EVENT_ENTER, 0}, {200, GN_EVENT_LEAVE, 0}, {200, GN_EVENT_LEAVE, 1},
                    {200, GN_EVENT_ENTER, 1}, {200, GN_EVENT_ENTER, 0}, {210, GN_EVENT_LEAVE, 0},
                    {250, GN_EVENT_ENTER, 0}, {300, GN_EVENT_LEAVE, 0}, {300, GN_EVENT_LEAVE, 1},
                    {300, GN_EVENT_ENTER, 1}, {300, GN_EVENT_ENTER, 0}, {400, GN_EVENT_LEAVE, 0},
                    {400, GN_EVENT_LEAVE, 1}};
    assert_int_equal(count_in(w, 0, &first), sizeof expected / sizeof *expected);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(first[i].ticks, expected[i].ticks);
        assert_int_equal(first[i].kind, expected[i].kind);
        assert_int_equal(first[i].region, expected[i].region);
    }
    gn_windowed_free(w);
    gn_definitions_free(d);
}

/* Two processes with a location each, in one communicator. */
struct pair {
    struct gn_source source;
    struct gn_event events[2][64];
    size_t counts[2];
    bool pulled[2];
};

static int64_t pull_of_pair(void *self, uint32_t location, const struct gn_event **events,
                            struct gn_error *err)
{
    struct pair *p = self;
    (void)err;
    *events = p->events[location];
    const bool again = p->pulled[location];
    p->pulled[location] = true;
    return again ? 0 : (int64_t)p->counts[location];
}

static struct gn_definitions *one_communicator(void)
{
    static const uint32_t processes[] = {0, 1};
    struct gn_definitions *d = one_location();
    gn_define_location(d, &(struct gn_location_def){.name = gn_define_string(d, "other"), .process = 1});
    gn_define_comm(
        d, &(struct gn_comm_def){.parent = GN_NONE, .member_count = 2, .members = (uint32_t *)processes});
    return d;
}

static void collective(struct pair *p, uint32_t location, uint64_t enter, uint64_t leave, uint64_t number)
{
    struct gn_event *at = &p->events[location][p->counts[location]];
    const enum gn_event_kind kinds[] = {GN_EVENT_ENTER, GN_EVENT_COLLECTIVE_BEGIN, GN_EVENT_COLLECTIVE_END,
                                        GN_EVENT_LEAVE};
    for (size_t i = 0; i < 4; i++) {
        at[i] = gn_event_bare(kinds[i], location, i < 2 ? enter : leave);
        at[i].comm = i == 1 || i == 2 ? 0 : GN_NONE;
        if (i == 0 || i == 3)
            at[i].region = 0;
    }
    at[2].number = number;
    p->counts[location] += 4;
}

static size_t collectives_of(struct gn_windowed *w, uint32_t location, uint64_t *first, size_t *calls)
{
    struct gn_source source;
    struct gn_error err;
    const struct gn_event *events;
    size_t begins = 0, ends = 0;
    gn_windowed_source(w, 0, &source);
    const int64_t count = source.pull(source.self, location, &events, &err);
    *first = GN_UNNUMBERED;
    *calls = 0;
    for (int64_t i = 0; i < count; i++) {
        begins += events[i].kind == GN_EVENT_COLLECTIVE_BEGIN;
        *calls += events[i].kind == GN_EVENT_ENTER;
        if (events[i].kind == GN_EVENT_COLLECTIVE_END && ends++ == 0)
            *first = events[i].number;
    }
    assert_int_equal(begins, ends);
    return ends;
}

static void collectives_begin_with_one_that_all_have(void **state)
{
    (void)state;
    const struct gn_kept_window window = {100, 1000};
    struct gn_definitions *d = one_communicator();
    struct pair p = {.source = {.self = &p, .definitions = d, .pull = pull_of_pair}};
    struct gn_windowed *w;
    struct gn_error err;
    uint64_t first;
    size_t calls;
    /* the first one runs ahead of the other, which has all of them in the window */
    for (uint64_t i = 0; i < 8; i++)
        collective(&p, 0, 20 * i + 5, 20 * i + 10, i);
    for (uint64_t i = 0; i < 8; i++)
        collective(&p, 1, 100 + 20 * i, 100 + 20 * i + 15, i);
    assert_int_equal(gn_windowed_read(&w, &p.source, &window, 1, GN_WINDOWED_CALLS, &err), 0);
    assert_true(gn_windowed_is_numbered(w));
    assert_int_equal(collectives_of(w, 0, &first, &calls), 3); /* 5, 6, 7 */
    assert_int_equal(first, 5);
    assert_int_equal(calls, 3);
    assert_int_equal(collectives_of(w, 1, &first, &calls), 3);
    assert_int_equal(first, 5);
    assert_int_equal(calls, 8); /* which are no collectives, where they are not */
    gn_windowed_free(w);
    gn_definitions_free(d);
}

static void collectives_of_joined_windows_are_those_that_all_have(void **state)
{
    (void)state;
    const struct gn_kept_window windows[] = {{100, 200}, {300, 400}, {500, 600}};
    struct gn_definitions *d = one_communicator();
    struct pair p = {.source = {.self = &p, .definitions = d, .pull = pull_of_pair}};
    struct gn_windowed *w;
    struct gn_error err;
    uint64_t first;
    size_t calls;
    /* 0 to 2 and 0 to 1; 5 to 6 and 4 to 7; 9 and none */
    for (uint64_t i = 0; i < 3; i++)
        collective(&p, 0, 110 + 10 * i, 115 + 10 * i, i);
    for (uint64_t i = 0; i < 2; i++)
        collective(&p, 0, 310 + 10 * i, 315 + 10 * i, 5 + i);
    collective(&p, 0, 510, 515, 9);
    for (uint64_t i = 0; i < 2; i++)
        collective(&p, 1, 110 + 10 * i, 115 + 10 * i, i);
    for (uint64_t i = 0; i < 4; i++)
        collective(&p, 1, 310 + 10 * i, 315 + 10 * i, 4 + i);
    assert_int_equal(gn_windowed_read(&w, &p.source, windows, 3, GN_WINDOWED_JOINED, &err), 0);
    assert_int_equal(collectives_of(w, 0, &first, &calls), 4); /* 0, 1, 5, 6 */
    assert_int_equal(first, 0);
    assert_int_equal(calls, 6);
    assert_int_equal(collectives_of(w, 1, &first, &calls), 4);
    assert_int_equal(first, 0);
    assert_int_equal(calls, 6);
    gn_windowed_free(w);
    gn_definitions_free(d);
}

/* How long until one is wanted, looked at every millisecond. */
static uint64_t wait_of(struct gn_windows *w, uint64_t now_ns, uint64_t events)
{
    uint64_t waited = 0;
    while (!gn_windows_wanted(w, now_ns + waited, events, 2) && waited < 100000 * MS)
        waited += MS;
    return waited;
}

static void those_that_are_wanted_again_begin_at_once(void **state)
{
    (void)state;
    for (uint64_t common = 0; common < 20; common++) { /* 0: of one host */
        struct gn_windows w = windows_of(20000);
        w.common = common;
        const uint64_t events = kept(&w, 1000000, 3);
        uint64_t now = 3000 * MS;
        gn_windows_set_rate(&w, 0, now);
        assert_int_equal(wait_of(&w, now, events), 100000 * MS);
        now += 100000 * MS;
        gn_windows_set_rate(&w, 20000, now);
        assert_true(wait_of(&w, now, events) <= (common ? 100 : 0) * MS);
        assert_false(gn_windows_are_whole(&w));
    }
}

static void an_open_one_ends_when_none_are_wanted(void **state)
{
    (void)state;
    struct gn_windows w = windows_of(20000);
    assert_true(gn_windows_wanted(&w, MS, 0, 2));
    gn_windows_open(&w, MS, 0, false);
    gn_windows_set_rate(&w, 0, 2 * MS);
    assert_false(gn_windows_wanted(&w, 3 * MS, 10, 2));
    gn_windows_close(&w, 3 * MS, 10, 2);
    assert_int_equal(w.count, 1);
    assert_false(gn_windows_wanted(&w, 50000 * MS, 10, 2));
}

static void a_higher_rate_waits_less(void **state)
{
    (void)state;
    struct gn_windows slow = windows_of(100), fast = windows_of(100);
    const uint64_t events = kept(&slow, 1000000, 1);
    assert_int_equal(kept(&fast, 1000000, 1), events);
    gn_windows_set_rate(&fast, 1000, 1000 * MS);
    const uint64_t waited = wait_of(&slow, 1000 * MS, events);
    assert_true(waited > 1000 * MS);
    assert_true(wait_of(&fast, 1000 * MS, events) <= waited / 10 + MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_calls_are_one_window),
        cmocka_unit_test(many_are_kept_at_the_rate_at_first),
        cmocka_unit_test(they_grow_as_the_logarithm_of_time),
        cmocka_unit_test(long_waits_are_kept_as_often_as_there_are),
        cmocka_unit_test(what_comes_last_is_paid_for),
        cmocka_unit_test(hosts_begin_at_the_same_moments),
        cmocka_unit_test(without_a_moment_there_is_none),
        cmocka_unit_test(gaps_are_of_different_lengths),
        cmocka_unit_test(one_that_was_overtaken_ends_there),
        cmocka_unit_test(a_call_is_where_it_was_left),
        cmocka_unit_test(nothing_is_no_window),
        cmocka_unit_test(regions_that_are_open_are_carried),
        cmocka_unit_test(windows_that_are_joined_have_no_time_between_them),
        cmocka_unit_test(collectives_begin_with_one_that_all_have),
        cmocka_unit_test(collectives_of_joined_windows_are_those_that_all_have),
        cmocka_unit_test(those_that_are_wanted_again_begin_at_once),
        cmocka_unit_test(an_open_one_ends_when_none_are_wanted),
        cmocka_unit_test(a_higher_rate_waits_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

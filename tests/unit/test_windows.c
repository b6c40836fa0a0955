/* agent/windows and trace/windowed — when events are kept, and which window each call belongs to. */
#include "agent/windows.h"
#include "event/definitions.h"
#include "trace/windowed.h"

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
            gn_windows_open(w, now, events);
        if (!wanted && w->is_open)
            gn_windows_close(w, now);
        events += w->is_open ? each : 0;
    }
    if (w->is_open)
        gn_windows_close(w, now);
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

static void they_grow_as_the_logarithm_of_time(void **state)
{
    (void)state;
    struct gn_windows short_ones = windows_of(20000), long_ones = windows_of(20000);
    const uint64_t few = kept(&short_ones, 500000, 30), many = kept(&long_ones, 500000, 3000);
    assert_true(many > few && many < 4 * few);
    assert_true(long_ones.count <= GN_KEPT_WINDOWS_MOST);
    for (size_t i = 1; i < long_ones.count; i++)
        assert_true(long_ones.spans[i].begin_ticks > long_ones.spans[i - 1].end_ticks);
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
    gn_windows_open(&w, 100, 0);
    gn_windows_cut(&w, 150, 5000, 2);
    assert_int_equal(w.count, 1);
    assert_int_equal(w.spans[0].end_ticks, 150);
    assert_false(gn_windows_wanted(&w, 2 * MS, 5000, 2));
    gn_windows_open(&w, 300, 5000);
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
    assert_int_equal(gn_windowed_read(&w, &g.source, windows, 3, false, &err), 0);
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
    assert_int_equal(gn_windowed_read(&w, &g.source, NULL, 0, false, &err), 0);
    gn_windowed_free(w);
    gn_windowed_free(NULL);
    gn_definitions_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_calls_are_one_window),
        cmocka_unit_test(many_are_kept_at_the_rate_at_first),
        cmocka_unit_test(they_grow_as_the_logarithm_of_time),
        cmocka_unit_test(gaps_are_of_different_lengths),
        cmocka_unit_test(one_that_was_overtaken_ends_there),
        cmocka_unit_test(a_call_is_where_it_was_left),
        cmocka_unit_test(nothing_is_no_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

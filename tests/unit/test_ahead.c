/* A source that is read ahead gives the same events as the source itself, whatever order it is asked in. */
#include "event/ahead.h"

#include "base/grow.h"
#include "synth/synth.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gn_source make(uint32_t locations, uint64_t events)
{
    struct gn_synth_settings settings = gn_synth_defaults();
    struct gn_source source;
    settings.pattern = "stencil1";
    settings.locations = locations;
    settings.events = events;
    assert_int_equal(gn_synth_open(&source, &settings, NULL), 0);
    return source;
}

/* All events of a location, one array. */
struct list {
    struct gn_event *events;
    size_t count, capacity;
    bool ended;
};

static void take(struct gn_source *source, uint32_t location, struct list *list)
{
    const struct gn_event *events;
    int64_t count = source->pull(source->self, location, &events, NULL);
    assert_true(count >= 0);
    list->ended = count == 0;
    if (count == 0)
        return;
    for (int64_t i = 0; i < count; i++) {
        assert_true(gn_grow(&list->events, &list->capacity, list->count, sizeof *events));
        memcpy(&list->events[list->count++], &events[i], sizeof *events); /* padding, too: it is compared */
    }
}

static void take_all(struct gn_source *source, struct list *lists, uint32_t locations, unsigned step)
{
    for (uint32_t left = locations, l = 0; left > 0; l = (l + step) % locations)
        if (!lists[l].ended) {
            take(source, l, &lists[l]);
            left -= lists[l].ended;
        }
}

static void compare(uint32_t locations, uint64_t events, unsigned step)
{
    struct gn_source plain = make(locations, events), ahead = make(locations, events);
    struct list *a = calloc(locations, sizeof *a), *b = calloc(locations, sizeof *b);
    assert_int_equal(gn_source_ahead(&ahead), 0);
    take_all(&plain, a, locations, 1);
    take_all(&ahead, b, locations, step);
    for (uint32_t l = 0; l < locations; l++) {
        assert_int_equal(a[l].count, b[l].count);
        assert_memory_equal(a[l].events, b[l].events, a[l].count * sizeof *a[l].events);
        free(a[l].events);
        free(b[l].events);
    }
    free(a);
    free(b);
    plain.close(plain.self);
    ahead.close(ahead.self);
}

static void the_same_events(void **state)
{
    (void)state;
    compare(1, 10000, 1);
    compare(7, 100000, 1);
    compare(7, 100000, 3);
    compare(1000, 50000, 7);
}

static void an_end_stays_an_end(void **state)
{
    (void)state;
    struct gn_source source = make(2, 100);
    struct list list = {0};
    assert_int_equal(gn_source_ahead(&source), 0);
    while (!list.ended)
        take(&source, 1, &list);
    take(&source, 1, &list);
    assert_true(list.ended);
    free(list.events);
    source.close(source.self);
}

static void closed_early(void **state)
{
    (void)state;
    for (int pulls = 0; pulls < 50; pulls += TESTS_SHARE) {
        struct gn_source source = make(5, 100000);
        struct list list = {0};
        assert_int_equal(gn_source_ahead(&source), 0);
        for (int i = 0; i < pulls; i++)
            take(&source, (uint32_t)i % 5, &list);
        free(list.events);
        source.close(source.self);
    }
}

static int64_t fail_after_one(void *self, uint32_t location, const struct gn_event **events,
                              struct gn_error *err)
{
    static const struct gn_event event;
    (void)location;
    *events = &event;
    switch ((*(int *)self)++) {
    case 0:
        return 1;
    case 1:
        return gn_fail(err, -EIO, "the disk is gone");
    default: /* a source need not say it again */
        return 0;
    }
}

static void close_nothing(void *self)
{
    (void)self;
}

static void an_error_comes_after_what_came_before_it(void **state)
{
    (void)state;
    struct gn_definitions *d = gn_definitions_new();
    gn_define_location(d, &(struct gn_location_def){.process = GN_NONE});
    int pulls = 0;
    struct gn_source source = {&pulls, d, fail_after_one, close_nothing};
    struct gn_error err = {.text = ""};
    const struct gn_event *events;
    assert_int_equal(gn_source_ahead(&source), 0);
    assert_int_equal(source.pull(source.self, 0, &events, &err), 1);
    assert_int_equal(source.pull(source.self, 0, &events, &err), -EIO);
    assert_string_equal(err.text, "the disk is gone");
    assert_int_equal(source.pull(source.self, 0, &events, &err), -EIO);
    source.close(source.self);
    gn_definitions_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_events),
        cmocka_unit_test(an_end_stays_an_end),
        cmocka_unit_test(closed_early),
        cmocka_unit_test(an_error_comes_after_what_came_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

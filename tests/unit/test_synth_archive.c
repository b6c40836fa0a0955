/* A simulated trace, written as an OTF2 archive and read again, is the same trace, whatever is in it. */
#include "trace/reader.h"
#include "synth/synth.h"
#include "trace/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char base[64];
static struct gn_error err;

static struct gn_synth_settings settings_of(const char *pattern)
{
    struct gn_synth_settings settings = gn_synth_defaults();
    settings.pattern = pattern;
    settings.locations = 7;
    settings.events = 5000;
    settings.domains = 3;
    settings.offset_ns = 1e6;
    settings.unmatched = 0.05;
    settings.lost = strcmp(pattern, "ring") == 0 ? 0.02 : 0;
    return settings;
}

static void write_archive(const struct gn_synth_settings *settings, const char *folder)
{
    struct gn_source source;
    struct gn_trace_writer *writer;
    const struct gn_event *events;
    int64_t count;
    assert_int_equal(gn_synth_open(&source, settings, &err), 0);
    assert_int_equal(gn_trace_create(&writer, folder, &err), 0);
    for (uint32_t i = 0; i < settings->locations; i++)
        while ((count = source.pull(source.self, i, &events, &err)) > 0)
            for (int64_t k = 0; k < count; k++)
                assert_int_equal(gn_trace_write(writer, i, &events[k], &err), 0);
    assert_int_equal(gn_trace_finish(writer, source.definitions, &err), 0);
    source.close(source.self);
}

/* A location of a source, event by event. */
struct cursor {
    struct gn_source source;
    const struct gn_event *events;
    int64_t left;
};

static const struct gn_event *next(struct cursor *cursor, uint32_t location)
{
    if (cursor->left == 0)
        cursor->left = cursor->source.pull(cursor->source.self, location, &cursor->events, &err);
    if (cursor->left <= 0)
        return NULL;
    cursor->left--;
    return cursor->events++;
}

/* Only what was read says which record it was. */
static void compare(struct cursor *simulated, struct cursor *read, uint32_t location)
{
    const struct gn_event *wanted, *got;
    uint32_t record = 0;
    do {
        wanted = next(simulated, location);
        got = next(read, location);
        assert_int_equal(!wanted, !got);
        if (wanted) {
            struct gn_event event = *got;
            assert_int_equal(event.record, ++record);
            event.record = 0;
            assert_memory_equal(&event, wanted, sizeof event);
        }
    } while (wanted);
    assert_int_equal(simulated->left, 0);
    assert_int_equal(read->left, 0);
}

static void compare_definitions(const struct gn_definitions *a, const struct gn_definitions *b)
{
    assert_int_equal(a->location_count, b->location_count);
    assert_int_equal(a->comm_count, b->comm_count);
    for (size_t i = 1; i < a->location_count; i++) /* who shares a clock, by whatever number */
        assert_int_equal(a->locations[i].domain == a->locations[i - 1].domain,
                         b->locations[i].domain == b->locations[i - 1].domain);
    for (size_t i = 0; i < a->comm_count; i++) {
        assert_int_equal(a->comms[i].member_count, b->comms[i].member_count);
        assert_memory_equal(a->comms[i].members, b->comms[i].members,
                            a->comms[i].member_count * sizeof *a->comms[i].members);
    }
}

static void test_an_archive_is_the_same_trace(void **state)
{
    (void)state;
    for (const struct gn_synth_pattern *p = gn_synth_patterns(); p->name; p++) {
        struct gn_synth_settings settings = settings_of(p->name);
        struct cursor simulated = {.left = 0}, read = {.left = 0};
        const struct gn_trace_report *report;
        char folder[128];
        snprintf(folder, sizeof folder, "%s/%s", base, p->name);
        write_archive(&settings, folder);
        assert_int_equal(gn_synth_open(&simulated.source, &settings, &err), 0);
        assert_int_equal(gn_trace_open(&read.source, &report, folder, &err), 0);
        compare_definitions(simulated.source.definitions, read.source.definitions);
        for (uint32_t i = 0; i < settings.locations; i++)
            compare(&simulated, &read, i);
        simulated.source.close(simulated.source.self);
        read.source.close(read.source.self);
    }
}

/* Measured offsets go into the archive as those of the location that has the clock, and come out of it. */
static void test_offsets_are_those_of_each_location(void **state)
{
    (void)state;
    struct gn_synth_settings settings = settings_of("multigrid");
    struct gn_trace_local own[8] = {{.offset_count = 0}};
    const struct gn_trace_local *locals[7];
    const struct gn_trace_report *report;
    struct gn_trace_writer *writer;
    struct gn_source simulated, read;
    const struct gn_event *events;
    char folder[128];
    int64_t count;
    settings.measured = true;
    settings.measure_error_ns = 100;
    settings.measure_period_s = 0.0001;
    snprintf(folder, sizeof folder, "%s/measured", base);
    assert_int_equal(gn_synth_open(&simulated, &settings, &err), 0);
    assert_int_equal(gn_trace_create(&writer, folder, &err), 0);
    for (uint32_t i = 0; i < settings.locations; i++)
        while ((count = simulated.pull(simulated.self, i, &events, &err)) > 0)
            for (int64_t k = 0; k < count; k++)
                assert_int_equal(gn_trace_write(writer, i, &events[k], &err), 0);
    assert_int_equal(gn_synth_measure(&simulated, &err), 0);
    const struct gn_definitions *d = simulated.definitions;
    assert_in_range(d->clock_count, 4, 8);
    for (size_t i = 0; i < d->clock_count; i++)
        own[i] = (struct gn_trace_local){.offsets = d->clocks[i].offsets, .offset_count = d->clocks[i].count};
    for (uint32_t i = 0; i < settings.locations; i++)
        locals[i] = i == 1 ? NULL : &own[d->locations[i].clock];
    assert_int_equal(gn_trace_finish_each(writer, d, locals, &err), 0);
    assert_int_equal(gn_trace_open(&read, &report, folder, &err), 0);
    assert_string_equal(gn_string(read.definitions, read.definitions->clock_bounds),
                        gn_string(d, d->clock_bounds));
    assert_int_equal(read.definitions->first_ticks, d->first_ticks);
    assert_int_equal(read.definitions->length_ticks, d->length_ticks);
    for (uint32_t i = 0; i < settings.locations; i++) {
        const struct gn_offsets_def *was = &d->clocks[d->locations[i].clock];
        const struct gn_offsets_def *is = &read.definitions->clocks[read.definitions->locations[i].clock];
        assert_int_equal(is->count, i == 1 ? 0 : was->count);
        if (i != 1)
            assert_memory_equal(is->offsets, was->offsets, was->count * sizeof *was->offsets);
    }
    simulated.close(simulated.self);
    read.close(read.self);
}

/* Writes a trace with so many more strings than it needs, and reads its events. */
static uint64_t events_with_strings(const char *folder, uint32_t strings, bool cut)
{
    struct gn_synth_settings settings = gn_synth_defaults();
    struct gn_source source;
    struct gn_trace_writer *writer;
    const struct gn_trace_report *report;
    const struct gn_event *events;
    char text[160];
    uint64_t sum = 0;
    int64_t count;
    settings.locations = 1;
    settings.events = 50000; /* several chunks */
    assert_int_equal(gn_synth_open(&source, &settings, &err), 0);
    struct gn_definitions *definitions = (struct gn_definitions *)(uintptr_t)source.definitions;
    for (uint32_t i = 0; i < strings; i++) {
        snprintf(text, sizeof text, "%0100u", i);
        assert_int_not_equal(gn_define_string(definitions, text), GN_NONE);
    }
    assert_int_equal(gn_trace_create(&writer, folder, &err), 0);
    while ((count = source.pull(source.self, 0, &events, &err)) > 0)
        for (int64_t i = 0; i < count; i++)
            assert_int_equal(gn_trace_write(writer, 0, &events[i], &err), 0);
    assert_int_equal(gn_trace_finish(writer, definitions, &err), 0);
    source.close(source.self);
    snprintf(text, sizeof text, "%s/traces/0.evt", folder);
    if (cut)
        assert_int_equal(truncate(text, 3 * 256 * 1024 + 100), 0);
    assert_int_equal(gn_trace_open(&source, &report, folder, &err), 0);
    assert_int_equal(source.definitions->location_count, 1);
    while ((count = source.pull(source.self, 0, &events, &err)) > 0)
        sum += (uint64_t)count;
    assert_int_equal(count, 0);
    source.close(source.self);
    return sum;
}

/* What is read does not end with the first chunk. */
static void test_files_may_have_several_chunks(void **state)
{
    (void)state;
    char folder[128];
    snprintf(folder, sizeof folder, "%s/few", base);
    uint64_t whole = events_with_strings(folder, 0, false);
    assert_in_range(whole, 50000, 51000);
    snprintf(folder, sizeof folder, "%s/several", base);
    assert_int_equal(events_with_strings(folder, 10000, false), whole); /* a MB of definitions */
    snprintf(folder, sizeof folder, "%s/cut", base);
    assert_in_range(events_with_strings(folder, 10000, true), whole / 2, whole - 1);
}

static int make_base(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(base, sizeof base, "%.40s/gnomon-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", base);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_archive_is_the_same_trace),
        cmocka_unit_test(test_offsets_are_those_of_each_location),
        cmocka_unit_test(test_files_may_have_several_chunks),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}

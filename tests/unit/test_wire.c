/* event/wire: what is written is read, in pieces of any size; what is damaged is an error and nothing worse.
 */
#include "event/wire.h"
#include "synth/synth.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 4096, LOCATIONS = 4 };

struct taken {
    size_t carried, ended, events;
    uint64_t sequences[LOCATIONS];
    struct gn_event all[MOST];
};

static int carry(void *self, uint32_t location, struct gn_error *err)
{
    (void)location, (void)err;
    ((struct taken *)self)->carried++;
    return 0;
}

static int event(void *self, const struct gn_event *e, uint64_t sequence, struct gn_error *err)
{
    struct taken *t = self;
    (void)err;
    if (e->location < LOCATIONS && t->events < MOST) {
        t->sequences[e->location] = sequence + 1;
        t->all[t->events++] = *e;
    }
    return 0;
}

static int end(void *self, uint32_t location, struct gn_error *err)
{
    (void)location, (void)err;
    ((struct taken *)self)->ended++;
    return 0;
}

static struct taken written, taken;

/* A stream of a small ring program, with what was written into it in `written`; to be freed. */
static char *stream(size_t *length, uint32_t only)
{
    struct gn_error err;
    struct gn_source source;
    struct gn_synth_settings settings = gn_synth_defaults();
    struct gn_wire_writer *writer;
    const struct gn_event *events;
    int fd = memfd_create("stream", MFD_CLOEXEC);
    settings.locations = LOCATIONS;
    settings.events = 2000;
    memset(&written, 0, sizeof written);
    assert_int_equal(gn_synth_open(&source, &settings, &err), 0);
    assert_int_equal(gn_wire_create(&writer, fd, source.definitions, only, &err), 0);
    for (uint32_t open = LOCATIONS, l = 0, ended[LOCATIONS] = {0}; open; l = (l + 1) % LOCATIONS) {
        int64_t count = ended[l] ? -1 : source.pull(source.self, l, &events, &err);
        for (int64_t i = 0; i < count && (only == GN_NONE || only == l); i++) {
            struct gn_event in_file = events[i]; /* the reader of the stream does not have the file */
            in_file.record = (uint32_t)i + 1;
            assert_int_equal(gn_wire_write(writer, &in_file, &err), 0);
            event(&written, &events[i], written.sequences[l], &err);
        }
        if (count == 0) {
            ended[l] = 1;
            open--;
            if (only == GN_NONE || only == l)
                assert_int_equal(gn_wire_end(writer, l, &err), 0);
        }
    }
    assert_int_equal(gn_wire_finish(writer, &err), 0);
    gn_wire_writer_close(writer);
    source.close(source.self);
    struct stat info;
    fstat(fd, &info);
    *length = (size_t)info.st_size;
    char *bytes = malloc(*length);
    assert_int_equal(pread(fd, bytes, *length, 0), *length);
    close(fd);
    return bytes;
}

/* Reads a stream in pieces; what the reader says. */
static int take(const char *bytes, size_t length, size_t piece, bool *complete, struct gn_error *err)
{
    struct gn_definitions *d = gn_definitions_new();
    struct gn_wire_sink sink = {&taken, carry, event, end};
    struct gn_wire_reader *reader;
    int code = 0;
    memset(&taken, 0, sizeof taken);
    assert_int_equal(gn_wire_open(&reader, "test", d, &sink, err), 0);
    for (size_t at = 0; at < length && code == 0; at += piece)
        code = gn_wire_feed(reader, bytes + at, length - at < piece ? length - at : piece, err);
    *complete = gn_wire_is_complete(reader);
    gn_wire_close(reader);
    gn_definitions_free(d);
    return code;
}

static void test_round_trip(void **state)
{
    static const size_t pieces[] = {1, 7, 64, 4096, 1 << 20};
    struct gn_error err;
    size_t length;
    bool complete;
    char *bytes = stream(&length, GN_NONE);
    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        assert_int_equal(take(bytes, length, pieces[i], &complete, &err), 0);
        assert_true(complete);
        assert_int_equal(taken.carried, LOCATIONS);
        assert_int_equal(taken.ended, LOCATIONS);
        assert_int_equal(taken.events, written.events);
        assert_memory_equal(taken.all, written.all, written.events * sizeof written.all[0]);
        assert_memory_equal(taken.sequences, written.sequences, sizeof taken.sequences);
    }
    free(bytes);
}

static void test_definitions(void **state)
{
    struct gn_error err;
    struct gn_source source;
    struct gn_synth_settings settings = gn_synth_defaults();
    struct gn_definitions *d = gn_definitions_new();
    struct gn_wire_sink sink = {&taken, carry, event, end};
    struct gn_wire_reader *readers[2];
    size_t length;
    (void)state;
    settings.locations = LOCATIONS;
    settings.events = 2000;
    assert_int_equal(gn_synth_open(&source, &settings, &err), 0);
    for (int i = 0; i < 2; i++) { /* two streams of one program share their definitions */
        char *bytes = stream(&length, (uint32_t)i);
        assert_int_equal(gn_wire_open(&readers[i], "test", d, &sink, &err), 0);
        assert_int_equal(gn_wire_feed(readers[i], bytes, length, &err), 0);
        gn_wire_close(readers[i]);
        free(bytes);
    }
    const struct gn_definitions *o = source.definitions;
    assert_int_equal(d->ticks_per_second, o->ticks_per_second);
    assert_int_equal(gn_string_count(d), gn_string_count(o));
    assert_int_equal(d->process_count, o->process_count);
    assert_int_equal(d->location_count, o->location_count);
    assert_int_equal(d->region_count, o->region_count);
    assert_int_equal(d->path_count, o->path_count);
    assert_int_equal(d->comm_count, o->comm_count);
    for (size_t i = 0; i < d->region_count; i++)
        assert_string_equal(gn_string(d, d->regions[i].name), gn_string(o, o->regions[i].name));
    for (size_t i = 0; i < d->comm_count; i++) {
        assert_int_equal(d->comms[i].member_count, o->comms[i].member_count);
        assert_int_equal(d->comms[i].is_self, o->comms[i].is_self);
    }
    for (size_t i = 0; i < d->process_count; i++)
        assert_int_equal(d->processes[i].main_location, o->processes[i].main_location);
    source.close(source.self);
    gn_definitions_free(d);
}

/* Wherever it stops, everything until then is there and nothing else; and it is not complete. */
static void test_truncated(void **state)
{
    struct gn_error err;
    size_t length, events = 0;
    bool complete;
    char *bytes = stream(&length, GN_NONE);
    (void)state;
    for (size_t cut = 0; cut < length; cut += cut < 2000 ? 1 : 997) {
        assert_int_equal(take(bytes, cut, 1 << 20, &complete, &err), 0);
        assert_false(complete);
        assert_true(taken.events >= events && taken.events <= written.events);
        events = taken.events;
    }
    free(bytes);
}

/* Any byte may be anything. */
static void test_damaged(void **state)
{
    struct gn_error err;
    size_t length, refused = 0;
    bool complete;
    unsigned seed = 1;
    char *bytes = stream(&length, GN_NONE), *damaged = malloc(length);
    (void)state;
    for (int round = 0; round < 3000; round++) {
        memcpy(damaged, bytes, length);
        for (int i = rand_r(&seed) % 3; i >= 0; i--) {
            size_t at = (size_t)rand_r(&seed) % (round % 2 ? 4000 : length);
            damaged[at] = (char)rand_r(&seed);
        }
        int code = take(damaged, length, 1 << 16, &complete, &err);
        assert_true(code == 0 || code == -EINVAL);
        refused += code != 0;
    }
    assert_true(refused > 100);
    free(damaged);
    free(bytes);
}

static void test_garbage(void **state)
{
    struct gn_error err;
    char bytes[4096];
    bool complete;
    unsigned seed = 7;
    (void)state;
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)rand_r(&seed);
        if (round % 2) { /* a header, and small numbers behind it */
            uint64_t rate = 1000;
            uint32_t version[2] = {1, 40};
            for (size_t i = 40; i < sizeof bytes; i++)
                bytes[i] = i % 4 == 0 ? (char)(rand_r(&seed) % 20) : 0;
            memcpy(bytes, "GNOMONEV", 8);
            memcpy(bytes + 8, version, sizeof version);
            memcpy(bytes + 16, &rate, sizeof rate);
        }
        int code = take(bytes, sizeof bytes, 100, &complete, &err);
        assert_true(code == 0 || code == -EINVAL);
        assert_true(round % 2 || code == -EINVAL);
    }
}

static void test_wrong_version(void **state)
{
    struct gn_error err;
    size_t length;
    bool complete;
    char *bytes = stream(&length, GN_NONE);
    (void)state;
    bytes[8] = 2;
    assert_int_equal(take(bytes, length, 1 << 16, &complete, &err), -EINVAL);
    assert_non_null(strstr(err.text, "version 2"));
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_truncated),  cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_garbage),    cmocka_unit_test(test_wrong_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Archives that gnomon writes, as the OTF2 library and its tools read them. */
#include "trace/writer.h"

#include "trace_example.h"

#include <otf2/otf2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <sys/mman.h>
#include <errno.h>
#include <unistd.h>

#include <cmocka.h>

static char base[64];
static struct gn_error err;

static const char *inside(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", base, name);
    return path;
}

/* ---- reading ---- */

/* What the OTF2 reader finds. */
struct found {
    uint64_t events, enters, sends, lost, paths, locations, announced;
    OTF2_TimeStamp last;
    uint64_t backward;
};

static OTF2_CallbackCode any_event(OTF2_LocationRef location, OTF2_TimeStamp time, void *self)
{
    (void)location;
    struct found *found = self;
    found->events++;
    found->backward += time < found->last;
    found->last = time;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode see_unknown(OTF2_LocationRef location, OTF2_TimeStamp time, void *self,
                                     OTF2_AttributeList *attributes)
{
    (void)attributes;
    return any_event(location, time, self);
}

static OTF2_CallbackCode see_enter(OTF2_LocationRef location, OTF2_TimeStamp time, void *self,
                                   OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    (void)region;
    struct found *found = self;
    found->enters++;
    found->paths += OTF2_AttributeList_TestAttributeByID(attributes, 0);
    return any_event(location, time, self);
}

static OTF2_CallbackCode see_send(OTF2_LocationRef location, OTF2_TimeStamp time, void *self,
                                  OTF2_AttributeList *attributes, uint32_t receiver, OTF2_CommRef comm,
                                  uint32_t tag, uint64_t length)
{
    (void)attributes;
    struct found *found = self;
    found->sends += receiver == 1 && comm == 0 && tag == 5 && length == 80;
    return any_event(location, time, self);
}

static OTF2_CallbackCode see_parameter(OTF2_LocationRef location, OTF2_TimeStamp time, void *self,
                                       OTF2_AttributeList *attributes, OTF2_ParameterRef parameter,
                                       uint64_t value)
{
    (void)attributes, (void)parameter;
    ((struct found *)self)->lost += value;
    return any_event(location, time, self);
}

static OTF2_CallbackCode see_location(void *self, OTF2_LocationRef location, OTF2_StringRef name,
                                      OTF2_LocationType type, uint64_t events, OTF2_LocationGroupRef group)
{
    (void)name, (void)type, (void)group;
    struct found *found = self;
    found->locations++;
    found->announced += events;
    return location == UINT64_MAX ? OTF2_CALLBACK_ERROR : OTF2_CALLBACK_SUCCESS;
}

static void read_definitions(OTF2_Reader *reader, struct found *found)
{
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(callbacks, see_location);
    OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks, found);
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
    uint64_t read = 0;
    assert_int_equal(OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &read), OTF2_SUCCESS);
}

static struct found read_archive(const char *folder)
{
    struct found found = {0};
    char anchor[300];
    snprintf(anchor, sizeof anchor, "%s/traces.otf2", folder);
    OTF2_Reader *reader = OTF2_Reader_Open(anchor);
    assert_non_null(reader);
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    read_definitions(reader, &found);
    for (size_t i = 0; i < EXAMPLE_LOCATIONS; i++)
        OTF2_Reader_SelectLocation(reader, example_file_ids[i]);
    OTF2_Reader_OpenDefFiles(reader);
    OTF2_Reader_OpenEvtFiles(reader);
    for (size_t i = 0; i < EXAMPLE_LOCATIONS; i++)
        assert_non_null(OTF2_Reader_GetEvtReader(reader, example_file_ids[i]));
    OTF2_GlobalEvtReader *events = OTF2_Reader_GetGlobalEvtReader(reader);
    OTF2_GlobalEvtReaderCallbacks *callbacks = OTF2_GlobalEvtReaderCallbacks_New();
    OTF2_GlobalEvtReaderCallbacks_SetUnknownCallback(callbacks, see_unknown);
    OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(callbacks, see_enter);
    OTF2_GlobalEvtReaderCallbacks_SetMpiSendCallback(callbacks, see_send);
    OTF2_GlobalEvtReaderCallbacks_SetParameterUnsignedIntCallback(callbacks, see_parameter);
    OTF2_Reader_RegisterGlobalEvtCallbacks(reader, events, callbacks, &found);
    OTF2_GlobalEvtReaderCallbacks_Delete(callbacks);
    uint64_t read = 0;
    assert_int_equal(OTF2_Reader_ReadAllGlobalEvents(reader, events, &read), OTF2_SUCCESS);
    found.events = read;
    OTF2_Reader_CloseGlobalEvtReader(reader, events);
    OTF2_Reader_CloseEvtFiles(reader);
    OTF2_Reader_Close(reader);
    return found;
}

/* ---- writing ---- */

static struct gn_trace_writer *create(const char *name)
{
    struct gn_trace_writer *writer;
    err.text[0] = '\0';
    if (gn_trace_create(&writer, inside(name), &err) != 0)
        fail_msg("%s", err.text);
    return writer;
}

static size_t write_example(struct gn_trace_writer *writer)
{
    size_t count = 0;
    for (const struct gn_event *event; (event = example_event(count)); count++)
        if (gn_trace_write(writer, example_file_ids[event->location], event, &err) != 0)
            fail_msg("event %zu: %s", count, err.text);
    return count;
}

static void finish_with(struct gn_trace_writer *writer, bool intercomm)
{
    struct gn_definitions *definitions = example_definitions(intercomm);
    if (gn_trace_finish(writer, definitions, &err) != 0)
        fail_msg("%s", err.text);
    gn_definitions_free(definitions);
}

static void finish(struct gn_trace_writer *writer)
{
    finish_with(writer, true);
}

/* Enough events of one location to fill several chunks. */
static void write_many(struct gn_trace_writer *writer, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct gn_event event = gn_event_bare(i % 2 ? GN_EVENT_LEAVE : GN_EVENT_ENTER, 1, 5000 + i);
        event.region = event.path = 0;
        assert_int_equal(gn_trace_write(writer, example_file_ids[1], &event, &err), 0);
    }
}

static void every_kind_is_written(void **state)
{
    (void)state;
    struct gn_trace_writer *writer = create("kinds");
    size_t count = write_example(writer);
    finish(writer);
    struct found found = read_archive(inside("kinds"));
    assert_int_equal(found.events, count);
    assert_int_equal(found.announced, count);
    assert_int_equal(found.locations, EXAMPLE_LOCATIONS);
    assert_int_equal(found.sends, 1);
    assert_int_equal(found.enters, 5); /* and the user's region */
    assert_int_equal(found.paths, 4);
    assert_int_equal(found.lost, 12345);
}

static int run(const char *format, ...)
{
    char command[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return system(command);
}

static void tools_read_it(void **state)
{
    (void)state;
    if (run("command -v otf2-print otf2-estimator >/dev/null") != 0)
        skip();
    struct gn_trace_writer *writer = create("tools");
    write_example(writer);
    finish(writer);
    const char *folder = inside("tools");
    assert_int_equal(
        run("otf2-print %s/traces.otf2 >%s/out 2>%s/err && test ! -s %s/err", folder, folder, folder, folder),
        0);
    assert_int_equal(run("otf2-print -G %s/traces.otf2 >%s/defs 2>&1 && grep -q 'main thread 0' %s/defs",
                         folder, folder, folder),
                     0);
    assert_int_equal(run("grep -q 'UNKNOWN TYPE\\|INVALID' %s/out %s/defs", folder, folder), 256);
}

static void python_reads_it(void **state)
{
    (void)state;
    if (run("/usr/bin/python3 -c 'import otf2' 2>/dev/null") != 0)
        skip();
    struct gn_trace_writer *writer = create("python");
    size_t count = write_example(writer);
    finish_with(writer,
                false); /* the module of OTF2 3.0.2 stumbles over any definition of an intercommunicator */
    assert_int_equal(run("/usr/bin/python3 -c 'import otf2, sys\n"
                         "with otf2.reader.open(\"%s/traces.otf2\") as trace:\n"
                         "    events = list(trace.events)\n"
                         "    paths = [a.name for _, e in events for a in (e.attributes or {})]\n"
                         "    sys.exit(len(events) != %zu or \"gnomon.path\" not in paths)'",
                         inside("python"), count),
                     0);
}

static void time_that_goes_back_is_held(void **state)
{
    (void)state;
    struct gn_trace_writer *writer = create("backward");
    const uint64_t times[] = {2000, 3000, 2500, 2999, 3001};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        struct gn_event event = gn_event_bare(GN_EVENT_ENTER, 0, times[i]);
        event.region = 0;
        assert_int_equal(gn_trace_write(writer, 0, &event, &err), 0);
    }
    finish(writer);
    const struct found found = read_archive(inside("backward"));
    assert_int_equal(found.events, 5);
    assert_int_equal(found.backward, 0);
    assert_int_equal(found.last, 3001);
}

static void many_chunks_are_written(void **state)
{
    (void)state;
    struct gn_trace_writer *writer = create("many");
    write_many(writer, 100000);
    finish(writer);
    struct found found = read_archive(inside("many"));
    assert_int_equal(found.events, 100000);
    assert_int_equal(found.backward, 0);
}

static void a_name_may_be_long(void **state)
{
    (void)state;
    enum { LONG = 1 << 20 };
    char *name = malloc(LONG);
    assert_non_null(name);
    memset(name, 'x', LONG - 1);
    name[LONG - 1] = '\0';
    struct gn_trace_writer *writer = create("long");
    write_many(writer, 10);
    struct gn_definitions *definitions = example_definitions(true);
    assert_int_not_equal(gn_define_string(definitions, name), GN_NONE);
    assert_int_equal(gn_trace_finish(writer, definitions, &err), 0);
    assert_int_equal(read_archive(inside("long")).events, 10);
    gn_definitions_free(definitions);
    free(name);
}

/* ---- more locations than mappings ---- */

/* Some events of each location in turn. */
static int write_in_turn(struct gn_trace_writer *writer, uint64_t count)
{
    int code = 0;
    for (uint64_t n = 0; n < count && code == 0; n++) {
        uint32_t location = (uint32_t)(n / 10 % EXAMPLE_LOCATIONS);
        struct gn_event event = gn_event_bare(n % 2 ? GN_EVENT_LEAVE : GN_EVENT_ENTER, location, 5000 + n);
        event.region = event.path = 0;
        code = gn_trace_write(writer, example_file_ids[location], &event, &err);
    }
    return code;
}

static void locations_share_a_mapping(void **state)
{
    (void)state;
    for (size_t most = 1; most <= EXAMPLE_LOCATIONS; most++) {
        char name[32];
        snprintf(name, sizeof name, "mapped%zu", most);
        struct gn_trace_writer *writer = create(name);
        gn_trace_map_at_most(writer, most);
        assert_int_equal(write_in_turn(writer, 60000), 0); /* more than one chunk of each */
        finish(writer);
        struct found found = read_archive(inside(name));
        assert_int_equal(found.events, 60000);
        assert_int_equal(found.announced, 60000);
        assert_int_equal(found.enters, 30000);
        assert_int_equal(found.backward, 0);
    }
}

static void a_file_that_cannot_be_mapped_again_is_an_error(void **state)
{
    (void)state;
    char path[64];
    struct gn_trace_writer *writer = create("vanished");
    gn_trace_map_at_most(writer, 1);
    assert_int_equal(write_in_turn(writer, 30), 0);
    snprintf(path, sizeof path, "vanished/traces/%llu.evt", (unsigned long long)example_file_ids[0]);
    assert_int_equal(unlink(inside(path)), 0);
    assert_int_equal(write_in_turn(writer, 1), -ENOENT);
    assert_non_null(strstr(err.text, path));
    struct gn_definitions *definitions = example_definitions(true);
    assert_int_equal(gn_trace_finish(writer, definitions, &err), -ENOENT);
    assert_non_null(strstr(err.text, path));
    gn_definitions_free(definitions);
}

/* ---- killed ---- */

static void killed_after(const char *name, uint64_t count, bool flush)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct gn_trace_writer *writer = create(name);
        write_many(writer, count);
        if (flush)
            gn_trace_flush(writer, &err);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

static void recover(const char *name)
{
    struct gn_definitions *definitions = example_definitions(true);
    if (gn_trace_recover(inside(name), definitions, &err) != 0)
        fail_msg("%s", err.text);
    gn_definitions_free(definitions);
}

static void a_killed_writer_loses_nothing(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 2, 1000, 30000, 100000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "killed%zu", i);
        killed_after(name, counts[i], i % 2);
        recover(name);
        assert_int_equal(read_archive(inside(name)).events, counts[i]);
        recover(name); /* once more: the same */
        assert_int_equal(read_archive(inside(name)).events, counts[i]);
        assert_int_equal(read_archive(inside(name)).announced, counts[i]);
    }
}

/* Killed at any instant: what gn_trace_write has returned from is there, and at most one more. */
/* Goes on behind the first `from` events, up to `to` of them. */
static void go_on(struct gn_trace_writer *writer, uint64_t from, uint64_t to)
{
    if (gn_trace_go_on(writer, 1, example_file_ids[1], from, &err) != 0)
        fail_msg("%s", err.text);
    for (uint64_t i = from; i < to; i++) {
        struct gn_event event = gn_event_bare(i % 2 ? GN_EVENT_LEAVE : GN_EVENT_ENTER, 1, 5000 + i);
        event.region = event.path = 0;
        assert_int_equal(gn_trace_write(writer, example_file_ids[1], &event, &err), 0);
    }
}

static void another_writer_goes_on(void **state)
{
    (void)state;
    /* what the first has written, where the second goes on, what it writes, and the third */
    static const uint64_t plans[][5] = {{1, 0, 10, 10, 20},
                                        {1000, 1000, 1001, 1001, 1002},
                                        {1000, 500, 900, 900, 900},
                                        {100000, 99999, 200000, 150000, 151000},
                                        {200000, 20000, 20100, 20050, 120000},
                                        {100000, 100000, 100000, 100000, 100001}};
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        const uint64_t *plan = plans[i];
        struct gn_trace_writer *writer;
        char name[32];
        snprintf(name, sizeof name, "on%zu", i);
        killed_after(name, plan[0], false);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            if (gn_trace_create_again(&writer, inside(name), &err) != 0)
                _exit(1);
            go_on(writer, plan[1], plan[2]);
            raise(SIGKILL);
        }
        assert_int_equal(waitpid(child, NULL, 0), child);
        if (i % 2) { /* the third one dies, too: what it has left is repaired */
            recover(name);
            assert_int_equal(read_archive(inside(name)).events, plan[2]);
        }
        assert_int_equal(gn_trace_create_again(&writer, inside(name), &err), 0);
        go_on(writer, plan[3], plan[4]);
        finish(writer);
        struct found found = read_archive(inside(name));
        assert_int_equal(found.events, plan[4]);
        assert_int_equal(found.announced, plan[4]);
        assert_int_equal(found.backward, 0);
        assert_int_equal(found.enters, (plan[4] + 1) / 2);
        recover(name); /* nothing is numbered twice */
        assert_int_equal(read_archive(inside(name)).events, plan[4]);
    }
}

static void events_that_are_not_there_are_an_error(void **state)
{
    (void)state;
    struct gn_trace_writer *writer;
    killed_after("fewer", 100, false);
    assert_int_equal(gn_trace_create_again(&writer, inside("fewer"), &err), 0);
    assert_int_equal(gn_trace_go_on(writer, 1, example_file_ids[1], 101, &err), -ENODATA);
    gn_trace_abandon(writer);
    recover("fewer");
    assert_int_equal(read_archive(inside("fewer")).events, 100);
}

static void a_writer_is_killed_at_any_instant(void **state)
{
    (void)state;
    uint64_t *written =
        mmap(NULL, sizeof *written, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(written != MAP_FAILED);
    for (unsigned i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "instant%u", i);
        *written = 0;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct gn_trace_writer *writer = create(name);
            for (uint64_t n = 0;; n++) {
                struct gn_event event = gn_event_bare(n % 2 ? GN_EVENT_LEAVE : GN_EVENT_ENTER, 1, 5000 + n);
                event.region = event.path = 0;
                if (gn_trace_write(writer, example_file_ids[1], &event, &err) != 0)
                    _exit(1);
                __atomic_store_n(written, n + 1, __ATOMIC_RELEASE);
            }
        }
        while (__atomic_load_n(written, __ATOMIC_ACQUIRE) < 1000 * i + 1)
            ;
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        recover(name);
        struct found found = read_archive(inside(name));
        assert_in_range(found.events, *written, *written + 1);
        assert_int_equal(found.events, found.announced);
    }
    munmap(written, sizeof *written);
}

/* Whatever a file was cut or overwritten to, an archive comes of it or an error. */
static void a_damaged_file_is_cut_to_whole_events(void **state)
{
    (void)state;
    killed_after("damaged", 1000, false);
    char file[300];
    snprintf(file, sizeof file, "%s/traces/%llu.evt", inside("damaged"),
             (unsigned long long)example_file_ids[1]);
    for (off_t size = 3000; size >= 0; size -= 101) {
        assert_int_equal(truncate(file, size), 0);
        recover("damaged");
        struct found found = read_archive(inside("damaged"));
        assert_true(found.events <= 1000);
        assert_int_equal(found.events, found.announced);
    }
}

/* Bytes from anywhere are no reason to crash, whatever comes of them. */
static void a_file_of_nonsense_is_survived(void **state)
{
    (void)state;
    struct gn_definitions *definitions = example_definitions(true);
    killed_after("nonsense", 1000, false);
    char file[300];
    snprintf(file, sizeof file, "%s/traces/%llu.evt", inside("nonsense"),
             (unsigned long long)example_file_ids[1]);
    srand(1);
    for (unsigned i = 0; i < 300; i++) {
        FILE *stream = fopen(file, "r+");
        assert_non_null(stream);
        for (unsigned n = 0; n < 20; n++) {
            fseek(stream, rand() % (n % 2 ? 18 : 5000), SEEK_SET);
            putc(rand(), stream);
        }
        fclose(stream);
        gn_trace_recover(inside("nonsense"), definitions, &err);
    }
    gn_definitions_free(definitions);
}

static void a_writer_that_gives_up_can_be_recovered(void **state)
{
    (void)state;
    struct gn_trace_writer *writer = create("abandoned");
    write_many(writer, 500);
    gn_trace_abandon(writer);
    recover("abandoned");
    assert_int_equal(read_archive(inside("abandoned")).events, 500);
}

/* ---- trouble ---- */

static void a_used_folder_is_refused(void **state)
{
    (void)state;
    struct gn_trace_writer *writer = create("used");
    gn_trace_abandon(writer);
    assert_int_equal(gn_trace_create(&writer, inside("used"), &err), -ENOTEMPTY);
    assert_non_null(strstr(err.text, "not empty"));
    assert_int_equal(gn_trace_create(&writer, inside("no/such/place"), &err), -ENOENT);
    assert_non_null(strstr(err.text, "no/such/place"));
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    struct gn_trace_writer *writer = create("full");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 300 * 1024; /* one chunk and a bit */
    setrlimit(RLIMIT_FSIZE, &limit);
    int code = 0;
    uint64_t written = 0;
    for (; written < 100000 && code == 0; written++) {
        struct gn_event event = gn_event_bare(GN_EVENT_MPI_REQUEST_TEST, 0, 1000 + written);
        event.request = written;
        code = gn_trace_write(writer, 0, &event, &err);
    }
    written--;
    setrlimit(RLIMIT_FSIZE, &before);
    assert_true(code < 0);
    assert_non_null(strstr(err.text, "0.evt"));
    finish(writer);
    assert_int_equal(read_archive(inside("full")).events, written);
}

static int make_base(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(base, sizeof base, "%s/gnomon-writer-XXXXXX", tmp && strlen(tmp) < 32 ? tmp : "/tmp");
    return mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state)
{
    (void)state;
    return run("rm -rf %s", base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_written),
        cmocka_unit_test(tools_read_it),
        cmocka_unit_test(python_reads_it),
        cmocka_unit_test(time_that_goes_back_is_held),
        cmocka_unit_test(many_chunks_are_written),
        cmocka_unit_test(a_name_may_be_long),
        cmocka_unit_test(locations_share_a_mapping),
        cmocka_unit_test(a_file_that_cannot_be_mapped_again_is_an_error),
        cmocka_unit_test(a_killed_writer_loses_nothing),
        cmocka_unit_test(a_writer_is_killed_at_any_instant),
        cmocka_unit_test(a_file_of_nonsense_is_survived),
        cmocka_unit_test(a_damaged_file_is_cut_to_whole_events),
        cmocka_unit_test(another_writer_goes_on),
        cmocka_unit_test(events_that_are_not_there_are_an_error),
        cmocka_unit_test(a_writer_that_gives_up_can_be_recovered),
        cmocka_unit_test(a_used_folder_is_refused),
        cmocka_unit_test(a_full_disk_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}

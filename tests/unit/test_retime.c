/* An archive again with other timestamps: against archives that OTF2's library wrote, and a naive decoder of
 * event files here that shares nothing with what is tested. */
#include "base/grow.h"
#include "trace/retime.h"

#include <otf2/otf2.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHUNK = 256 << 10, HEADER = 18, LOCATION = 5 };

/* The library does not free everything of an archive that it writes. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libopen-trace-format2";
}

/* ---- folders and files ---- */

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder,
           access("/dev/shm", W_OK) == 0 ? "/dev/shm/gnomon-retime.XXXXXX" : "/tmp/gnomon-retime.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* Where the kernel copies between files, perhaps. */
static int make_folder_on_disk(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/gnomon-retime.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *format, ...)
{
    char command[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof command, format, list);
    va_end(list);
    return system(command);
}

static int remove_folder(void **state)
{
    (void)state;
    return run("rm -rf '%s'", folder);
}

static const char *in_folder(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

struct bytes {
    uint8_t *at;
    size_t size;
};

static struct bytes read_file(const char *name)
{
    struct stat is;
    struct bytes b = {0};
    FILE *file = fopen(in_folder(name), "rb");
    if (!file)
        fail_msg("there is no %s", name);
    assert_int_equal(fstat(fileno(file), &is), 0);
    b.size = (size_t)is.st_size;
    b.at = malloc(b.size + 1);
    assert_non_null(b.at);
    assert_int_equal(fread(b.at, 1, b.size, file), b.size);
    fclose(file);
    return b;
}

static void write_file(const char *name, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static bool exists(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

static void assert_same_file(const char *a, const char *b)
{
    struct bytes x = read_file(a), y = read_file(b);
    if (x.size != y.size || memcmp(x.at, y.at, x.size) != 0)
        fail_msg("%s and %s differ", a, b);
    free(x.at);
    free(y.at);
}

/* ---- event files, decoded naively ---- */

struct event {
    uint64_t ticks;
    size_t at, size; /* its bytes in the file, with its attributes */
    uint8_t type;
};

struct decoded {
    struct bytes file;
    struct event *events;
    size_t count, capacity, chunks, times;
};

static uint64_t number_at(const uint8_t *at, size_t size, bool big)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)at[i] << 8 * (big ? size - 1 - i : i);
    return value;
}

static size_t size_of_record(const uint8_t *at, bool big)
{
    static const uint8_t one_number[] = {12, 13, 16, 17, 20, 21, 24, 28, 29, 30};
    if (at[0] == 5)
        return 9;
    if (at[1] != 255)
        return 2 + (size_t)at[1];
    return memchr(one_number, at[0], sizeof one_number) ? 2 : 10 + (size_t)number_at(at + 2, 8, big);
}

/* One chunk; fails where it is not as OTF2's readers need it. The size of what is used. */
static size_t decode_chunk(struct decoded *d, size_t begin)
{
    const uint8_t *bytes = d->file.at;
    size_t at = begin + HEADER, unit = at;
    bool after_time = false, first = true;
    assert_true(begin + HEADER < d->file.size && bytes[begin] == 3);
    bool big = bytes[begin + 1] == 0x23;
    static uint64_t ticks;
    assert_int_equal(number_at(bytes + begin + 2, 8, big), d->count + 1);
    while (at < d->file.size && at < begin + CHUNK && bytes[at] > 2) {
        size_t size = size_of_record(bytes + at, big);
        assert_true(at + size < begin + CHUNK && at + size < d->file.size);
        bool is_time = bytes[at] == 5;
        assert_false(is_time && after_time); /* the library reads one, and takes the second for an event */
        assert_true(is_time || !first);
        first = false, after_time = is_time;
        if (is_time) {
            ticks = number_at(bytes + at + 1, 8, big);
            d->times++;
            unit = at + size;
        } else if (bytes[at] != 6) {
            assert_true(gn_grow(&d->events, &d->capacity, d->count, sizeof *d->events));
            d->events[d->count++] = (struct event){ticks, unit, at + size - unit, bytes[at]};
            unit = at + size;
        }
        at += size;
    }
    assert_int_equal(number_at(bytes + begin + 10, 8, big), d->count);
    d->chunks++;
    return at;
}

static void decode(struct decoded *d, const char *name)
{
    memset(d, 0, sizeof *d);
    d->file = read_file(name);
    for (size_t begin = 0;; begin += CHUNK) {
        size_t at = decode_chunk(d, begin);
        if (d->file.at[at] != 0) {
            assert_int_equal(at + 2, d->file.size);
            assert_memory_equal(d->file.at + at, "\2\1", 2);
            return;
        }
        for (; at < begin + CHUNK; at++)
            assert_int_equal(d->file.at[at], 0);
    }
}

static void release(struct decoded *d)
{
    free(d->file.at);
    free(d->events);
}

/* ---- times ---- */

struct rule {
    uint64_t from;  /* the first record that changes */
    uint64_t group; /* so many events after each other get the same time; 0: each its own, shifted */
    int64_t shift;
    uint64_t calls, last_ticks;
};

static uint64_t new_time(void *self, uint64_t record, uint64_t ticks)
{
    struct rule *rule = self;
    assert_int_equal(record, ++rule->calls); /* each, in order, once */
    rule->last_ticks = ticks;
    if (record < rule->from)
        return ticks;
    return rule->group ? 1000000 + record / rule->group * 10 : ticks + (uint64_t)rule->shift;
}

static uint64_t expected_time(const struct rule *rule, uint64_t record, uint64_t ticks)
{
    struct rule other = *rule;
    other.calls = record - 1;
    return new_time(&other, record, ticks);
}

/* ---- archives ---- */

static OTF2_FlushType before_flush(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller,
                                   bool final)
{
    (void)user, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

static OTF2_Archive *begin_archive(const char *path)
{
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = before_flush};
    OTF2_Archive *a = OTF2_Archive_Open(path, "traces", OTF2_FILEMODE_WRITE, CHUNK, CHUNK,
                                        OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    assert_non_null(a);
    OTF2_Archive_SetFlushCallbacks(a, &flush, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(a);
    OTF2_Archive_SetProperty(a, "TEST::BEFORE", "1", true);
    OTF2_Archive_SetProperty(a, "GNOMON::CLOCK_BOUNDS", "coarse", true);
    OTF2_Archive_SetProperty(a, "TEST::BEHIND", "2", true);
    OTF2_Archive_OpenEvtFiles(a);
    return a;
}

/* Attributes of several types, so many that their list is long. */
static OTF2_AttributeList *some_attributes(uint64_t i)
{
    OTF2_AttributeList *list = OTF2_AttributeList_New();
    uint32_t count = i % 7 == 0 ? 40 : 2;
    for (uint32_t a = 0; a < count; a++)
        OTF2_AttributeList_AddUint64(list, a, i << 40);
    OTF2_AttributeList_AddDouble(list, count, 0.5 * (double)i);
    return list;
}

/* A record of 200 values, which does not fit into 255 bytes. */
static void write_metric(OTF2_EvtWriter *w, uint64_t ticks)
{
    OTF2_Type types[200];
    OTF2_MetricValue values[200];
    for (int i = 0; i < 200; i++) {
        types[i] = OTF2_TYPE_UINT64;
        values[i].unsigned_int = ticks * (uint64_t)i;
    }
    OTF2_EvtWriter_Metric(w, NULL, ticks, 0, 200, types, values);
}

/* Kinds that are not written any more are read for ever. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* Event i: every kind of form that records have, some of them with undefined numbers (a byte 255). */
static void write_event(OTF2_EvtWriter *w, uint64_t i, uint64_t ticks)
{
    OTF2_AttributeList *list = i % 5 == 0 ? some_attributes(i) : NULL;
    switch (i % 16) {
    case 0:
        OTF2_EvtWriter_Enter(w, list, ticks, (uint32_t)i);
        break;
    case 1:
        OTF2_EvtWriter_MpiIsendComplete(w, list, ticks, UINT64_MAX);
        break;
    case 2:
        OTF2_EvtWriter_MpiSend(w, list, ticks, 1, 0, 7, i);
        break;
    case 3:
        OTF2_EvtWriter_MpiIrecvRequest(w, list, ticks, i << 30);
        break;
    case 4:
        OTF2_EvtWriter_Leave(w, list, ticks, UINT32_MAX);
        break;
    case 5:
        if (i % 48 == 5) {
            write_metric(w, ticks);
            break;
        } /* fall through */
    case 6:
        OTF2_EvtWriter_MpiCollectiveBegin(w, list, ticks);
        break;
    case 7:
        OTF2_EvtWriter_MpiCollectiveEnd(w, list, ticks, OTF2_COLLECTIVE_OP_BARRIER, 0, UINT32_MAX, 0, 0);
        break;
    case 8:
        OTF2_EvtWriter_ParameterInt(w, list, ticks, 0, -(int64_t)i);
        break;
    case 9:
        OTF2_EvtWriter_MpiRequestTest(w, list, ticks, UINT64_MAX);
        break;
    case 10:
        OTF2_EvtWriter_MpiRequestCancelled(w, list, ticks, i % 3 ? i : UINT64_MAX);
        break;
    case 11:
        OTF2_EvtWriter_OmpFork(w, list, ticks, i % 3 ? 8 : UINT32_MAX);
        break;
    case 12:
        OTF2_EvtWriter_OmpTaskCreate(w, list, ticks, UINT64_MAX);
        break;
    case 13:
        OTF2_EvtWriter_OmpTaskSwitch(w, list, ticks, UINT64_MAX);
        break;
    case 14:
        OTF2_EvtWriter_OmpTaskComplete(w, list, ticks, UINT64_MAX);
        break;
    default:
        OTF2_EvtWriter_RmaPut(w, list, ticks, 1, 2, 3, 4);
    }
    if (list)
        OTF2_AttributeList_Delete(list);
}

#pragma GCC diagnostic pop

static void write_events(OTF2_Archive *a, uint64_t events)
{
    OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(a, LOCATION);
    for (uint64_t i = 0; i < events; i++)
        write_event(w, i, 1000 + i / 3 * 10); /* three each at the same time */
    OTF2_Archive_CloseEvtWriter(a, w);
    OTF2_Archive_CloseEvtFiles(a);
}

static void write_local_definitions(OTF2_Archive *a)
{
    uint64_t numbers[] = {7, 6, 5, 4};
    OTF2_Archive_OpenDefFiles(a);
    OTF2_DefWriter *w = OTF2_Archive_GetDefWriter(a, LOCATION);
    OTF2_IdMap *map = OTF2_IdMap_CreateFromUint64Array(4, numbers, false);
    OTF2_DefWriter_WriteClockOffset(w, 10, -3, 0.5);
    OTF2_DefWriter_WriteMappingTable(w, OTF2_MAPPING_REGION, map);
    OTF2_DefWriter_WriteClockOffset(w, 3000, 300, 1.5);
    OTF2_IdMap_Free(map);
    OTF2_Archive_CloseDefWriter(a, w);
    OTF2_Archive_CloseDefFiles(a);
}

static void write_extras(OTF2_Archive *a)
{
    uint64_t one[] = {1};
    OTF2_Archive_OpenSnapFiles(a);
    OTF2_SnapWriter *s = OTF2_Archive_GetSnapWriter(a, LOCATION);
    OTF2_SnapWriter_SnapshotStart(s, NULL, 1005, 1);
    OTF2_SnapWriter_Enter(s, NULL, 1005, 1000, 1);
    OTF2_SnapWriter_SnapshotEnd(s, NULL, 1005, 4);
    OTF2_Archive_CloseSnapWriter(a, s);
    OTF2_Archive_CloseSnapFiles(a);
    OTF2_Archive_SetNumberOfSnapshots(a, 1);
    OTF2_ThumbWriter *t =
        OTF2_Archive_GetThumbWriter(a, "name", "text", OTF2_THUMBNAIL_TYPE_REGION, 1, 1, one);
    OTF2_ThumbWriter_WriteSample(t, 1, 1, one);
    OTF2_MarkerWriter *m = OTF2_Archive_GetMarkerWriter(a);
    OTF2_MarkerWriter_WriteDefMarker(m, 3, "group", "category", OTF2_SEVERITY_LOW);
    OTF2_MarkerWriter_WriteMarker(m, 100, 20, 3, OTF2_MARKER_SCOPE_GLOBAL, 0, "before");
    OTF2_MarkerWriter_WriteMarker(m, 2000, 20, 3, OTF2_MARKER_SCOPE_LOCATION, LOCATION, "within");
    OTF2_MarkerWriter_WriteMarker(m, 2000, 5000000, 3, OTF2_MARKER_SCOPE_GLOBAL, 0, "over the end");
    OTF2_Archive_CloseMarkerWriter(a, m);
}

static void write_definitions(OTF2_Archive *a, uint64_t events)
{
    OTF2_GlobalDefWriter *g = OTF2_Archive_GetGlobalDefWriter(a);
    OTF2_GlobalDefWriter_WriteClockProperties(g, 1000000, 1000, events * 10, 1700000000000000000ull);
    OTF2_GlobalDefWriter_WriteString(g, 0, "");
    OTF2_GlobalDefWriter_WriteString(g, 1, "some text");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(g, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    OTF2_GlobalDefWriter_WriteLocationGroup(g, 0, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
    OTF2_GlobalDefWriter_WriteLocation(g, LOCATION, 0, OTF2_LOCATION_TYPE_CPU_THREAD, events, 0);
    OTF2_Archive_CloseGlobalDefWriter(a, g);
}

/* An archive with everything that archives have, in folder/in. */
static void write_archive(uint64_t events)
{
    OTF2_Archive *a = begin_archive(in_folder("in"));
    write_events(a, events);
    write_local_definitions(a);
    write_extras(a);
    write_definitions(a, events);
    assert_int_equal(OTF2_Archive_Close(a), OTF2_SUCCESS);
}

static struct gn_retime *open_retime(const char *from, const char *to)
{
    struct gn_error err = {0};
    struct gn_retime *r;
    if (gn_retime_open(&r, in_folder(from), in_folder(to), true, &err) < 0)
        fail_msg("%s", err.text);
    return r;
}

static void must(int code, const struct gn_error *err)
{
    if (code < 0)
        fail_msg("%s", err->text);
}

/* The archive again; rule NULL: as it is. */
static uint64_t retime(const char *from, const char *to, struct rule *rule)
{
    struct gn_error err = {0};
    struct gn_retime *r = open_retime(from, to);
    const struct gn_retimer retimer = {.self = rule, .time = new_time};
    const struct gn_retime_range range = {1010, 500000};
    uint64_t events = 0;
    must(gn_retime_location(r, LOCATION, rule ? &retimer : NULL, &events, &err), &err);
    must(gn_retime_rest(r, &range, true, &err), &err);
    must(gn_retime_finish(r, &err), &err);
    gn_retime_close(r);
    return events;
}

/* All bytes of all events are the same, in order, and the times those of the rule. */
static void assert_retimed(const char *from, const char *to, const struct rule *rule)
{
    struct decoded a, b;
    decode(&a, from);
    decode(&b, to);
    assert_int_equal(a.count, b.count);
    for (size_t i = 0; i < a.count; i++) {
        const struct event *x = &a.events[i], *y = &b.events[i];
        assert_int_equal(y->ticks, expected_time(rule, i + 1, x->ticks));
        assert_int_equal(x->size, y->size);
        assert_memory_equal(a.file.at + x->at, b.file.at + y->at, x->size);
    }
    release(&a);
    release(&b);
}

/* ---- events ---- */

static void the_same_timestamps_are_the_same_bytes(void **state)
{
    (void)state;
    write_archive(100000);
    struct rule same = {.from = UINT64_MAX};
    assert_int_equal(retime("in", "a", NULL), 100000);
    assert_int_equal(retime("in", "b", &same), 100000);
    assert_int_equal(same.calls, 100000);
    assert_same_file("in/traces/5.evt", "a/traces/5.evt");
    assert_same_file("in/traces/5.evt", "b/traces/5.evt");
}

static void forth_and_back_is_what_otf2_wrote(void **state)
{
    (void)state;
    write_archive(3000); /* one chunk: its end is not a matter of taste */
    struct rule forth = {.shift = 77}, back = {.shift = -77};
    retime("in", "a", &forth);
    retime("a", "b", &back);
    assert_retimed("in/traces/5.evt", "a/traces/5.evt", &forth);
    assert_same_file("in/traces/5.evt", "b/traces/5.evt");
}

static void chunks_end_where_they_are_full(void **state)
{
    (void)state;
    struct decoded a, b;
    write_archive(200000);
    struct rule together = {.group = 1000}, apart = {.group = 1};
    assert_int_equal(retime("in", "a", &together), 200000);
    assert_int_equal(retime("a", "b", &apart), 200000);
    assert_retimed("in/traces/5.evt", "a/traces/5.evt", &together);
    assert_retimed("a/traces/5.evt", "b/traces/5.evt", &apart);
    decode(&a, "a/traces/5.evt");
    decode(&b, "b/traces/5.evt");
    assert_int_equal(a.times, 201 + a.chunks - 1); /* timestamps where there are other times, and no more */
    assert_true(b.times >= 200000 && b.times < 200000 + b.chunks);
    assert_true(a.chunks > 5 && b.chunks > a.chunks);
    release(&a);
    release(&b);
}

static void any_event_may_be_the_first_that_changes(void **state)
{
    (void)state;
    struct decoded d;
    char out[32];
    write_archive(40000);
    decode(&d, "in/traces/5.evt");
    assert_true(d.chunks >= 3);
    uint64_t edge = 0; /* the first event of the second chunk */
    while (d.events[edge].at < CHUNK)
        edge++;
    const uint64_t firsts[] = {1, 2, 3, 11, edge - 1, edge, edge + 1, edge + 2, 39999, 40000};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        struct rule later = {.from = firsts[i], .shift = 1000000};
        snprintf(out, sizeof out, "out%zu", i);
        retime("in", out, &later);
        snprintf(out, sizeof out, "out%zu/traces/5.evt", i);
        assert_retimed("in/traces/5.evt", out, &later);
    }
    release(&d);
}

/* A file of small events, where what is left of a chunk has each size. */
static void chunks_of_all_fills_are_continued(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 40; i++) {
        OTF2_Archive *a = begin_archive(in_folder("in"));
        OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(a, LOCATION);
        for (uint64_t e = 0; e < 60000; e++)
            OTF2_EvtWriter_Enter(w, NULL, 1000, e < i ? 1 : 300); /* 3 bytes or 4 */
        OTF2_Archive_CloseEvtWriter(a, w);
        OTF2_Archive_CloseEvtFiles(a);
        write_definitions(a, 60000);
        OTF2_Archive_Close(a);
        struct rule last = {.from = 60000, .shift = 1}, ends = {.from = 59990 - 50 * i, .group = 1};
        retime("in", "a", &last);
        assert_retimed("in/traces/5.evt", "a/traces/5.evt", &last);
        retime("in", "b", &ends);
        assert_retimed("in/traces/5.evt", "b/traces/5.evt", &ends);
        assert_int_equal(run("rm -r %s/in %s/a %s/b", folder, folder, folder), 0);
    }
}

/* Two chunks by hand, the first with `left` bytes behind its last event, for what ends it. OTF2's writer
 * leaves one at least. Returns how many events there are. */
static uint64_t write_full_chunk(size_t left)
{
    uint8_t *bytes = calloc(1, CHUNK + 64);
    uint64_t events = 0, last;
    assert_non_null(bytes);
    memcpy(bytes, "\3\102\1", 3);
    memcpy(bytes + HEADER, "\5\350\3", 3); /* the time is 1000 */
    size_t at = HEADER + 9, end = CHUNK - left;
    for (; at < end; events++) {
        size_t size = (end - at) % 3 == 0 ? 3 : 4;
        memcpy(bytes + at, size == 3 ? "\14\1\7" : "\14\2\7\1", size);
        at += size;
    }
    assert_int_equal(at, end);
    memcpy(bytes + 10, &events, 8);
    memcpy(bytes + CHUNK, "\3\102", 2);
    last = events + 1;
    memcpy(bytes + CHUNK + 2, &last, 8);
    memcpy(bytes + CHUNK + 10, &last, 8);
    memcpy(bytes + CHUNK + HEADER, "\5\350\3\0\0\0\0\0\0\14\1\7\2\1", 14);
    write_file("in/traces/5.evt", bytes, CHUNK + HEADER + 14);
    free(bytes);
    return events + 1;
}

static void a_full_chunk_is_continued(void **state)
{
    (void)state;
    write_archive(300);
    for (size_t left = 1; left < 32; left += TESTS_SHARE) {
        uint64_t events = write_full_chunk(left);
        for (uint64_t from = events - 3; from <= events; from++) {
            struct rule later = {.from = from, .group = 1}, same = {.from = UINT64_MAX};
            assert_int_equal(retime("in", "a", &later), events);
            assert_retimed("in/traces/5.evt", "a/traces/5.evt", &later);
            assert_int_equal(truncate(in_folder("in/traces/5.evt"), CHUNK), 0); /* all of the first chunk */
            assert_int_equal(retime("in", "b", &same), events - 1);
            assert_retimed("b/traces/5.evt", "b/traces/5.evt", &(struct rule){.from = UINT64_MAX});
            write_full_chunk(left);
            assert_int_equal(run("rm -r %s/a %s/b", folder, folder), 0);
        }
    }
}

/* The library reads one event after the other, and finds any by its number. */
static void otf2_finds_events_by_number(void **state)
{
    (void)state;
    struct decoded d;
    write_archive(50000);
    struct rule rule = {.group = 2};
    retime("in", "out", &rule);
    decode(&d, "out/traces/5.evt");
    OTF2_Reader *reader = OTF2_Reader_Open(in_folder("out/traces.otf2"));
    assert_non_null(reader);
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    OTF2_Reader_SelectLocation(reader, LOCATION);
    OTF2_Reader_OpenEvtFiles(reader);
    OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, LOCATION);
    for (uint64_t number = 1; number <= d.count; number += 4999) {
        uint64_t read = 0, position = 0;
        assert_int_equal(OTF2_EvtReader_Seek(events, number), OTF2_SUCCESS);
        assert_int_equal(OTF2_Reader_ReadLocalEvents(reader, events, 1, &read), OTF2_SUCCESS);
        assert_int_equal(OTF2_EvtReader_GetPos(events, &position), OTF2_SUCCESS);
        assert_int_equal(read, 1);
        assert_int_equal(position, number);
    }
    OTF2_Reader_Close(reader);
    release(&d);
}

struct flushes {
    uint64_t times[8], stops[8];
    size_t count;
};

static OTF2_CallbackCode on_flush(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                  void *user, OTF2_AttributeList *attributes, OTF2_TimeStamp stop)
{
    struct flushes *f = user;
    (void)location, (void)position, (void)attributes;
    f->times[f->count] = time;
    f->stops[f->count++ % 8] = stop;
    return OTF2_CALLBACK_SUCCESS;
}

static void read_flushes(struct flushes *f, const char *path)
{
    uint64_t read;
    OTF2_Reader *reader = OTF2_Reader_Open(in_folder(path));
    assert_non_null(reader);
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    OTF2_Reader_SelectLocation(reader, LOCATION);
    OTF2_Reader_OpenEvtFiles(reader);
    OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, LOCATION);
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    OTF2_EvtReaderCallbacks_SetBufferFlushCallback(callbacks, on_flush);
    OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, f);
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    assert_int_equal(OTF2_Reader_ReadAllLocalEvents(reader, events, &read), OTF2_SUCCESS);
    OTF2_Reader_Close(reader);
}

static void a_flush_ends_between_the_same_events(void **state)
{
    (void)state;
    struct flushes f = {.count = 0};
    OTF2_Archive *a = begin_archive(in_folder("in"));
    OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(a, LOCATION);
    OTF2_EvtWriter_BufferFlush(w, NULL, 50, 53);   /* nothing has changed before its end */
    OTF2_EvtWriter_Enter(w, NULL, 60, 1);          /* 2 */
    OTF2_EvtWriter_BufferFlush(w, NULL, 100, 150); /* 3: after 2 events of the same time */
    OTF2_EvtWriter_Enter(w, NULL, 100, 1);         /* 4 → +1000 */
    OTF2_EvtWriter_Leave(w, NULL, 160, 1);         /* 5 */
    OTF2_EvtWriter_BufferFlush(w, NULL, 200, 260); /* 6: ends with the next event */
    for (uint64_t i = 0; i < 60000; i++)           /* over chunks */
        OTF2_EvtWriter_Enter(w, NULL, 260 + i, 1);
    OTF2_EvtWriter_BufferFlush(w, NULL, 70000, 99999); /* ends after the last event */
    OTF2_Archive_CloseEvtWriter(a, w);
    OTF2_Archive_CloseEvtFiles(a);
    write_definitions(a, 60007);
    OTF2_Archive_Close(a);
    struct rule rule = {.from = 4, .shift = 1000};
    retime("in", "out", &rule);
    assert_retimed("in/traces/5.evt", "in/traces/5.evt", &(struct rule){.from = UINT64_MAX});
    read_flushes(&f, "out/traces.otf2");
    assert_int_equal(f.count, 4);
    const uint64_t stops[] = {53, 1150, 1260, 100999};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(f.stops[i], stops[i]);
}

static void swap(uint8_t *at, size_t size)
{
    for (size_t i = 0; i < size / 2; i++) {
        uint8_t other = at[i];
        at[i] = at[size - 1 - i];
        at[size - 1 - i] = other;
    }
}

/* The other byte order, for records that are one number or have none. */
static void make_big_endian(struct bytes *b)
{
    for (size_t begin = 0, at; begin < b->size; begin += CHUNK) {
        b->at[begin + 1] = 0x23;
        swap(b->at + begin + 2, 8);
        swap(b->at + begin + 10, 8);
        for (at = begin + HEADER; b->at[at] > 2; at += size_of_record(b->at + at, false))
            if (b->at[at] == 5)
                swap(b->at + at + 1, 8);
            else if (b->at[at + 1] != 255)
                swap(b->at + at + 2, b->at[at + 1]);
    }
}

static void the_other_byte_order_stays(void **state)
{
    (void)state;
    OTF2_Archive *a = begin_archive(in_folder("in"));
    OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(a, LOCATION);
    for (uint64_t i = 0; i < 60000; i++)
        OTF2_EvtWriter_Enter(w, NULL, 1000 + i / 2, i % 10 ? (uint32_t)i : UINT32_MAX);
    OTF2_Archive_CloseEvtWriter(a, w);
    OTF2_Archive_CloseEvtFiles(a);
    write_definitions(a, 60000);
    OTF2_Archive_Close(a);
    struct rule rule = {.from = 5, .group = 1}, again = {.from = 5, .group = 1};
    retime("in", "little", &rule);
    struct bytes b = read_file("in/traces/5.evt");
    make_big_endian(&b);
    write_file("in/traces/5.evt", b.at, b.size);
    free(b.at);
    assert_int_equal(retime("in", "big", &again), 60000);
    assert_retimed("in/traces/5.evt", "big/traces/5.evt", &rule);
    struct bytes little = read_file("little/traces/5.evt");
    make_big_endian(&little);
    b = read_file("big/traces/5.evt");
    assert_int_equal(b.size, little.size);
    assert_memory_equal(b.at, little.at, b.size);
    free(b.at);
    free(little.at);
}

/* What is left of a file that was cut off ends in order, wherever that was. */
static void a_cut_file_ends_in_order(void **state)
{
    (void)state;
    struct decoded whole, d;
    write_archive(40000);
    decode(&whole, "in/traces/5.evt");
    struct bytes b = read_file("in/traces/5.evt");
    for (size_t size = b.size - 1, step = 1; size > 0; step = step * 3 / 2 + 1) {
        struct rule some = {.from = 20000, .shift = 5};
        write_file("in/traces/5.evt", b.at, size);
        uint64_t events = retime("in", "a", NULL);
        assert_int_equal(retime("in", "b", &some), events);
        decode(&d, "a/traces/5.evt");
        assert_int_equal(d.count, events);
        for (size_t i = 0; i < d.count; i++)
            assert_int_equal(d.events[i].ticks, whole.events[i].ticks);
        assert_true(d.count == 0 || whole.events[d.count - 1].at + whole.events[d.count - 1].size <= size);
        assert_true(d.count == whole.count || whole.events[d.count].at + whole.events[d.count].size > size);
        release(&d);
        assert_retimed("a/traces/5.evt", "b/traces/5.evt", &some);
        assert_int_equal(run("rm -r %s/a %s/b", folder, folder), 0);
        size = size > step ? size - step : 0;
    }
    free(b.at);
    release(&whole);
}

/* From a record on that cannot be understood nothing is left, in the first chunk or a later one, changed so
 * far or not. */
static void what_cannot_be_read_is_left_out(void **state)
{
    (void)state;
    static const uint64_t ends[] = {1, 2, 1500, 90000};
    for (size_t i = 0; i < 2 * sizeof ends / sizeof *ends; i++) {
        struct rule rule = {.shift = i % 2};
        struct gn_error err = {0};
        struct decoded before, after;
        write_archive(100000);
        decode(&before, "in/traces/5.evt");
        struct gn_retime *r = open_retime("in", "out");
        const struct gn_retimer retimer = {.self = &rule, .time = new_time, .end = ends[i / 2]};
        uint64_t events = 0;
        must(gn_retime_location(r, LOCATION, &retimer, &events, &err), &err);
        must(gn_retime_finish(r, &err), &err);
        gn_retime_close(r);
        assert_int_equal(events, retimer.end - 1);
        decode(&after, "out/traces/5.evt");
        assert_int_equal(after.count, events);
        for (size_t k = 0; k < after.count; k++)
            assert_int_equal(after.events[k].ticks, expected_time(&rule, k + 1, before.events[k].ticks));
        release(&before);
        release(&after);
        assert_int_equal(run("rm -r %s/in %s/out", folder, folder), 0);
    }
}

static int retime_code(const char *from, struct rule *rule, struct gn_error *err)
{
    struct gn_retime *r = open_retime(from, "out");
    const struct gn_retimer retimer = {.self = rule, .time = new_time};
    uint64_t events;
    int code = gn_retime_location(r, LOCATION, rule ? &retimer : NULL, &events, err);
    gn_retime_close(r);
    assert_false(exists("out.unfinished"));
    assert_false(exists("out"));
    return code;
}

static void what_is_no_event_file_is_refused(void **state)
{
    (void)state;
    struct gn_error err = {0};
    write_archive(3000);
    write_file("in/traces/5.evt", (const uint8_t *)"some text that is longer than a header", 38);
    assert_int_equal(retime_code("in", NULL, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "traces/5.evt is not an OTF2 event file"));
}

static void a_whole_file_with_other_things_in_it_is_refused(void **state)
{
    (void)state;
    struct gn_error err = {0};
    struct decoded d;
    /* a record that is none; and what looks like the end of a chunk, of the file, and of the last chunk */
    for (uint8_t kind = 0; kind <= 3; kind++) {
        struct rule rule = {.shift = 1};
        write_archive(3000);
        decode(&d, "in/traces/5.evt");
        d.file.at[d.events[1500].at] = kind;
        write_file("in/traces/5.evt", d.file.at, d.file.size);
        assert_int_equal(retime_code("in", &rule, &err), -EBADMSG);
        assert_non_null(strstr(err.text, "what follows event 1500"));
        release(&d);
        assert_int_equal(run("rm -r %s/in", folder), 0);
    }
}

static void a_location_without_a_file_gets_none(void **state)
{
    (void)state;
    write_archive(300);
    assert_int_equal(unlink(in_folder("in/traces/5.evt")), 0);
    assert_int_equal(retime("in", "out", NULL), 0);
    assert_false(exists("out/traces/5.evt"));
}

/* ---- everything else ---- */

static OTF2_CallbackCode on_clock(void *user, uint64_t resolution, uint64_t first, uint64_t length,
                                  uint64_t real)
{
    const uint64_t values[] = {resolution, first, length, real};
    memcpy(user, values, sizeof values);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_offset(void *user, uint64_t time, int64_t offset, double deviation)
{
    (void)time, (void)offset, (void)deviation;
    ++*(int *)user;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_map(void *user, OTF2_MappingType type, const OTF2_IdMap *map)
{
    uint64_t global = 0;
    assert_int_equal(type, OTF2_MAPPING_REGION);
    assert_int_equal(OTF2_IdMap_GetGlobalId(map, 1, &global), OTF2_SUCCESS);
    assert_int_equal(global, 6);
    *(int *)user += 100;
    return OTF2_CALLBACK_SUCCESS;
}

/* 100 for each mapping table, and 1 for each clock offset. */
static int local_definitions(OTF2_Reader *reader)
{
    int seen = 0;
    uint64_t read;
    OTF2_Reader_SelectLocation(reader, LOCATION);
    OTF2_Reader_OpenDefFiles(reader);
    OTF2_DefReader *local = OTF2_Reader_GetDefReader(reader, LOCATION);
    OTF2_DefReaderCallbacks *callbacks = OTF2_DefReaderCallbacks_New();
    OTF2_DefReaderCallbacks_SetClockOffsetCallback(callbacks, on_offset);
    OTF2_DefReaderCallbacks_SetMappingTableCallback(callbacks, on_map);
    OTF2_Reader_RegisterDefCallbacks(reader, local, callbacks, &seen);
    OTF2_DefReaderCallbacks_Delete(callbacks);
    assert_int_equal(OTF2_Reader_ReadAllLocalDefinitions(reader, local, &read), OTF2_SUCCESS);
    OTF2_Reader_CloseDefReader(reader, local);
    OTF2_Reader_CloseDefFiles(reader);
    return seen;
}

static void clock_properties(OTF2_Reader *reader, uint64_t clock[4])
{
    uint64_t read, said;
    OTF2_GlobalDefReader *global = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(callbacks, on_clock);
    OTF2_Reader_RegisterGlobalDefCallbacks(reader, global, callbacks, clock);
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
    assert_int_equal(OTF2_Reader_ReadAllGlobalDefinitions(reader, global, &read), OTF2_SUCCESS);
    OTF2_Reader_GetNumberOfGlobalDefinitions(reader, &said);
    assert_int_equal(read, said);
}

static OTF2_Reader *open_reader(const char *path)
{
    OTF2_Reader *reader = OTF2_Reader_Open(in_folder(path));
    assert_non_null(reader);
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    return reader;
}

static void definitions_say_the_new_times(void **state)
{
    (void)state;
    uint64_t clock[4];
    write_archive(300);
    retime("in", "out", NULL);
    OTF2_Reader *before = open_reader("in/traces.otf2"), *after = open_reader("out/traces.otf2");
    assert_int_equal(local_definitions(before), 102);
    assert_int_equal(local_definitions(after), 100);
    clock_properties(before, clock);
    assert_int_equal(clock[1], 1000);
    clock_properties(after, clock);
    const uint64_t expected[] = {1000000, 1010, 498990, 1700000000000010000ull}; /* 10 ticks of 1 us later */
    for (int i = 0; i < 4; i++)
        assert_int_equal(clock[i], expected[i]);
    OTF2_Reader_Close(before);
    OTF2_Reader_Close(after);
}

static void offsets_stay_when_asked(void **state)
{
    (void)state;
    struct gn_error err = {0};
    const struct gn_retime_range range = {1000, 4000};
    write_archive(300);
    struct gn_retime *r = open_retime("in", "out");
    must(gn_retime_rest(r, &range, false, &err), &err);
    must(gn_retime_finish(r, &err), &err);
    gn_retime_close(r);
    assert_same_file("in/traces/5.def", "out/traces/5.def");
    assert_same_file("in/traces.def", "out/traces.def");     /* the range is as it was */
    assert_same_file("in/traces/5.evt", "out/traces/5.evt"); /* which nobody asked for */
}

struct markers {
    uint64_t times[4], durations[4];
    size_t count;
};

static OTF2_CallbackCode on_marker(void *user, uint64_t time, uint64_t duration, OTF2_MarkerRef marker,
                                   OTF2_MarkerScope scope, uint64_t of, const char *text)
{
    static const char *const texts[] = {"before", "within", "over the end"};
    struct markers *m = user;
    assert_true(m->count < 3);
    assert_string_equal(text, texts[m->count]);
    assert_int_equal(marker, 3);
    assert_int_equal(of, scope == OTF2_MARKER_SCOPE_LOCATION ? LOCATION : 0);
    m->times[m->count] = time;
    m->durations[m->count++] = duration;
    return OTF2_CALLBACK_SUCCESS;
}

static void markers_are_in_the_range(void **state)
{
    (void)state;
    uint64_t read;
    struct markers m = {.count = 0};
    write_archive(300);
    retime("in", "out", NULL);
    OTF2_Reader *reader = open_reader("out/traces.otf2");
    OTF2_MarkerReader *markers = OTF2_Reader_GetMarkerReader(reader);
    OTF2_MarkerReaderCallbacks *callbacks = OTF2_MarkerReaderCallbacks_New();
    OTF2_MarkerReaderCallbacks_SetMarkerCallback(callbacks, on_marker);
    OTF2_Reader_RegisterMarkerCallbacks(reader, markers, callbacks, &m);
    OTF2_MarkerReaderCallbacks_Delete(callbacks);
    assert_int_equal(OTF2_Reader_ReadAllMarkers(reader, markers, &read), OTF2_SUCCESS);
    OTF2_Reader_Close(reader);
    const uint64_t times[] = {1010, 2000, 2000}, durations[] = {0, 20, 498000};
    assert_int_equal(m.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(m.times[i], times[i]);
        assert_int_equal(m.durations[i], durations[i]);
    }
}

static void what_else_there_is_comes_along(void **state)
{
    (void)state;
    char *value = NULL;
    uint32_t snapshots = 1, thumbnails = 0;
    write_archive(300);
    assert_int_equal(mkdir(in_folder("in/traces/sub"), 0777), 0);
    write_file("in/traces/sub/data", (const uint8_t *)"data", 4);
    write_file("in/traces/77.evt", (const uint8_t *)"of nobody", 9);
    write_file("in/notes", (const uint8_t *)"not ours", 8);
    retime("in", "out", NULL);
    assert_same_file("in/traces.0.thumb", "out/traces.0.thumb");
    assert_same_file("in/traces/sub/data", "out/traces/sub/data");
    assert_same_file("in/traces/77.evt", "out/traces/77.evt");
    assert_false(exists("out/notes"));
    assert_false(exists("out/traces/5.snap"));
    assert_false(exists("out/.gnomon-unfinished"));
    assert_false(exists("out.unfinished"));
    OTF2_Reader *reader = open_reader("out/traces.otf2");
    OTF2_Reader_GetNumberOfSnapshots(reader, &snapshots);
    OTF2_Reader_GetNumberOfThumbnails(reader, &thumbnails);
    assert_int_equal(snapshots, 0);
    assert_int_equal(thumbnails, 1);
    assert_int_equal(OTF2_Reader_GetProperty(reader, "TEST::BEHIND", &value), OTF2_SUCCESS);
    assert_string_equal(value, "2");
    free(value);
    assert_int_not_equal(OTF2_Reader_GetProperty(reader, "GNOMON::CLOCK_BOUNDS", &value), OTF2_SUCCESS);
    assert_int_equal(OTF2_Reader_GetProperty(reader, "TEST::BEFORE", &value), OTF2_SUCCESS);
    free(value);
    OTF2_Reader_Close(reader);
}

static void retime_scorep(const char *from, const char *to, int64_t shift)
{
    struct gn_error err = {0};
    const struct gn_retime_range range = {0, UINT64_MAX};
    struct gn_retime *r;
    must(gn_retime_open(&r, from, to, true, &err), &err);
    for (uint64_t location = 0; location < 4; location++) {
        struct rule rule = {.shift = shift};
        uint64_t events;
        must(gn_retime_location(r, location, &(struct gn_retimer){.self = &rule, .time = new_time}, &events,
                                &err),
             &err);
        assert_int_equal(events, rule.calls);
    }
    must(gn_retime_rest(r, &range, false, &err), &err);
    must(gn_retime_finish(r, &err), &err);
    gn_retime_close(r);
}

static void assert_empty(const char *name)
{
    struct bytes b = read_file(name);
    if (b.size)
        fail_msg("%.*s", (int)b.size, (const char *)b.at);
    free(b.at);
}

static void otf2_print_says_the_same(void **state)
{
    (void)state;
    if (run("command -v otf2-print >%s/which", folder) != 0)
        skip();
    retime_scorep(SCOREP, in_folder("there"), 1);
    retime_scorep(in_folder("there"), in_folder("back"), -1);
    assert_int_equal(run("otf2-print %s/traces.otf2 >%s/a 2>&1", SCOREP, folder), 0);
    assert_int_equal(run("otf2-print -Werror %s/back/traces.otf2 >%s/b 2>%s/errors", folder, folder, folder),
                     0);
    assert_same_file("a", "b");
    assert_empty("errors");
}

/* What reads all of an archive with OTF2's global reader, and writes to it. */
static void otf2_tools_take_it(void **state)
{
    (void)state;
    if (run("command -v otf2-print otf2-snapshots >%s/which", folder) != 0)
        skip();
    retime_scorep(SCOREP, in_folder("out"), 1000);
    assert_int_equal(
        run("otf2-print -Werror -A %s/out/traces.otf2 >%s/text 2>%s/errors", folder, folder, folder), 0);
    assert_int_equal(
        run("otf2-snapshots -n 3 %s/out/traces.otf2 >%s/text 2>>%s/errors", folder, folder, folder), 0);
    assert_int_equal(
        run("otf2-print -Werror %s/out/traces.otf2 >%s/text 2>>%s/errors", folder, folder, folder), 0);
    assert_empty("errors");
    assert_true(exists("out/traces/2.snap"));
}

/* ---- what is refused, and what is left ---- */

static int open_code(const char *from, const char *to, struct gn_error *err)
{
    struct gn_retime *r;
    int code = gn_retime_open(&r, in_folder(from), in_folder(to), true, err);
    gn_retime_close(r);
    return code;
}

static void nothing_is_overwritten(void **state)
{
    (void)state;
    struct gn_error err = {0};
    write_archive(300);
    assert_int_equal(mkdir(in_folder("full"), 0777), 0);
    write_file("full/file", (const uint8_t *)"x", 1);
    assert_int_equal(open_code("in", "full", &err), -EEXIST);
    assert_non_null(strstr(err.text, "/full is there already"));
    write_file("file", (const uint8_t *)"x", 1);
    assert_int_equal(open_code("in", "file", &err), -EEXIST);
    assert_int_equal(open_code("in", "in", &err), -EEXIST);
    assert_int_equal(open_code("in", "in/traces/new", &err), -EINVAL);
    assert_int_equal(open_code("in", "full/../in/new", &err), -EINVAL);
    assert_non_null(strstr(err.text, "name a folder outside"));
    assert_int_equal(open_code("in", "nowhere/new", &err), -ENOENT);
    assert_int_equal(symlink(in_folder("in"), in_folder("link")), 0);
    assert_int_equal(open_code("link", "in/new", &err), -EINVAL);
    assert_int_equal(gn_retime_check(in_folder("link"), in_folder("in/new"), &err), -EINVAL);
    assert_int_equal(open_code("in", ".", &err), -EINVAL);
    assert_int_equal(gn_retime_check(in_folder("in"), in_folder("new"), &err), 0);
    assert_false(exists("full.unfinished") || exists("in.unfinished") || exists("new.unfinished"));
    assert_int_equal(mkdir(in_folder("empty"), 0777), 0);
    retime("in", "empty/", NULL);
    assert_same_file("in/traces/5.evt", "empty/traces/5.evt");
}

static void out_that_appears_meanwhile_is_not_touched(void **state)
{
    (void)state;
    struct gn_error err = {0};
    const struct gn_retime_range range = {0, 1};
    write_archive(300);
    struct gn_retime *r = open_retime("in", "out");
    must(gn_retime_rest(r, &range, true, &err), &err);
    assert_int_equal(mkdir(in_folder("out"), 0777), 0);
    write_file("out/file", (const uint8_t *)"x", 1);
    assert_int_equal(gn_retime_finish(r, &err), -EEXIST);
    gn_retime_close(r);
    assert_true(exists("out/file"));
    assert_false(exists("out/traces.otf2") || exists("out.unfinished"));
}

static void what_a_killed_run_left_is_replaced(void **state)
{
    (void)state;
    struct gn_error err = {0};
    write_archive(300);
    assert_int_equal(mkdir(in_folder("out.unfinished"), 0777), 0);
    write_file("out.unfinished/precious", (const uint8_t *)"x", 1);
    assert_int_equal(open_code("in", "out", &err), -EEXIST); /* not known to be ours */
    assert_true(exists("out.unfinished/precious"));
    write_file("out.unfinished/.gnomon-unfinished", (const uint8_t *)"", 0);
    retime("in", "out", NULL);
    assert_false(exists("out/precious") || exists("out.unfinished"));
}

static void what_another_process_writes_is_left_alone(void **state)
{
    (void)state;
    struct gn_error err = {0};
    write_archive(300);
    struct gn_retime *r = open_retime("in", "out"), *helper;
    assert_int_equal(open_code("in", "out", &err), -EBUSY);
    assert_non_null(strstr(err.text, "out.unfinished is being written by another process"));
    must(gn_retime_open(&helper, in_folder("in"), in_folder("out"), false, &err), &err);
    uint64_t events;
    must(gn_retime_location(helper, LOCATION, NULL, &events, &err), &err);
    gn_retime_close(helper);
    assert_true(exists("out.unfinished/traces/5.evt")); /* the maker's to remove */
    gn_retime_close(r);
    assert_false(exists("out.unfinished"));
    assert_int_equal(gn_retime_open(&helper, in_folder("in"), in_folder("out"), false, &err), -ENOENT);
}

static void the_old_archive_may_not_be_where_the_new_one_is_made(void **state)
{
    (void)state;
    struct gn_error err = {0};
    write_archive(300);
    assert_int_equal(rename(in_folder("in"), in_folder("out.unfinished")), 0);
    write_file("out.unfinished/.gnomon-unfinished", (const uint8_t *)"", 0);
    assert_int_equal(open_code("out.unfinished", "out", &err), -EINVAL);
    assert_true(exists("out.unfinished/traces/5.evt"));
}

static void set_byte(const char *name, size_t at, uint8_t value)
{
    struct bytes b = read_file(name);
    b.at[at] = value;
    write_file(name, b.at, b.size);
    free(b.at);
}

static void other_forms_of_archives_are_refused(void **state)
{
    (void)state;
    struct gn_error err = {0};
    write_archive(300);
    for (size_t at = 28; at <= 29; at++) { /* the substrate, the compression */
        set_byte("in/traces.otf2", at, 2);
        assert_int_equal(open_code("in", "out", &err), -ENOTSUP);
        assert_non_null(strstr(err.text, "compressed or in a SION container"));
        set_byte("in/traces.otf2", at, 1);
    }
    set_byte("in/traces.otf2", 19, 0x70); /* the highest byte of the size of chunks */
    assert_int_equal(open_code("in", "out", &err), -EINVAL);
    assert_false(exists("out") || exists("out.unfinished"));
}

static void cut_definitions_are_refused(void **state)
{
    (void)state;
    struct gn_error err = {0};
    const struct gn_retime_range range = {0, 1};
    write_archive(300);
    assert_int_equal(truncate(in_folder("in/traces.def"), 60), 0);
    struct gn_retime *r = open_retime("in", "out");
    assert_int_equal(gn_retime_rest(r, &range, true, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "in/traces.def was cut off"));
    gn_retime_close(r);
}

/* No room: the limit of a file's size stands for a full disk. */
static void no_room_is_an_error(void **state)
{
    (void)state;
    struct gn_error err = {0};
    struct rlimit before, limit;
    write_archive(100000);
    struct rule rule = {.shift = 1}, late = {.from = 90000, .shift = 1};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    limit = before;
    limit.rlim_cur = 300000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int codes[] = {retime_code("in", &rule, &err), retime_code("in", &late, &err),
                   retime_code("in", NULL, &err)};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(codes[i], -EFBIG);
    assert_non_null(strstr(err.text, "more bytes to "));
    assert_non_null(strstr(err.text, "out.unfinished/traces/5.evt: File too large"));
}

static void a_folder_that_may_not_be_written_is_an_error(void **state)
{
    (void)state;
    struct gn_error err = {0};
    if (geteuid() == 0)
        skip(); /* root may */
    write_archive(300);
    assert_int_equal(mkdir(in_folder("closed"), 0555), 0);
    assert_int_equal(open_code("in", "closed/out", &err), -EACCES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
#define TEST_ON_DISK(name) cmocka_unit_test_setup_teardown(name, make_folder_on_disk, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_same_timestamps_are_the_same_bytes),
        TEST_ON_DISK(the_same_timestamps_are_the_same_bytes),
        TEST(forth_and_back_is_what_otf2_wrote),
        TEST(chunks_end_where_they_are_full),
        TEST_ON_DISK(any_event_may_be_the_first_that_changes),
        TEST(chunks_of_all_fills_are_continued),
        TEST(a_full_chunk_is_continued),
        TEST(otf2_finds_events_by_number),
        TEST(a_flush_ends_between_the_same_events),
        TEST(the_other_byte_order_stays),
        TEST(a_cut_file_ends_in_order),
        TEST(what_cannot_be_read_is_left_out),
        TEST(what_is_no_event_file_is_refused),
        TEST(a_whole_file_with_other_things_in_it_is_refused),
        TEST(a_location_without_a_file_gets_none),
        TEST(definitions_say_the_new_times),
        TEST(offsets_stay_when_asked),
        TEST(markers_are_in_the_range),
        TEST(what_else_there_is_comes_along),
        TEST(otf2_print_says_the_same),
        TEST(otf2_tools_take_it),
        TEST(nothing_is_overwritten),
        TEST(out_that_appears_meanwhile_is_not_touched),
        TEST(what_a_killed_run_left_is_replaced),
        TEST(what_another_process_writes_is_left_alone),
        TEST(the_old_archive_may_not_be_where_the_new_one_is_made),
        TEST(other_forms_of_archives_are_refused),
        TEST(cut_definitions_are_refused),
        TEST(no_room_is_an_error),
        TEST(a_folder_that_may_not_be_written_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

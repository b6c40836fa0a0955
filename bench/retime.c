/*
 * retime [EVENTS [FOLDER]]: what giving an event file other timestamps costs (trace/retime.h), as a ratio to
 * the OTF2 library reading the same file and writing each event again; and to copying its bytes. All in turn,
 * in FOLDER (/dev/shm: no disk takes part).
 */
#include "halo_step.h"
#include "timing.h"
#include "trace/copy_file.h"
#include "trace/retime_events.h"

#include "archive_maker.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROUNDS = 9, CHUNK = 1 << 20 };

static const uint64_t location = 0;

/* What took how long: in all, and of the processor outside of the kernel. */
struct took {
    double wall_ns, user_ns;
};

static struct took now(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (struct took){timing_now_ns(),
                         (double)used.ru_utime.tv_sec * 1e9 + (double)used.ru_utime.tv_usec * 1e3};
}

static struct took since(struct took begin)
{
    struct took end = now();
    return (struct took){end.wall_ns - begin.wall_ns, end.user_ns - begin.user_ns};
}

static void finish_archive(struct maker *maker, uint64_t events)
{
    maker_definitions(maker, &location, 1, 0);
    maker_world(maker, &location, &events, 1);
    maker_close(maker);
}

static uint64_t write_archive(const char *folder, uint64_t events)
{
    struct maker maker;
    maker_open(&maker, folder, CHUNK);
    OTF2_EvtWriter *w = maker_begin(&maker, location);
    for (uint64_t step = 0, time = 1000; step < events / 22; step++)
        time = write_step(w, time);
    events = maker_end(&maker, w);
    finish_archive(&maker, events);
    return events;
}

/* ---- the library ---- */

#define SHIFT 1000
#define BEGIN                                                                                                \
    OTF2_LocationRef where, OTF2_TimeStamp time, uint64_t position, void *w, OTF2_AttributeList *list
#define WRITE(kind, ...)                                                                                     \
    ((void)where, (void)position,                                                                            \
     OTF2_EvtWriter_##kind(w, list, time + SHIFT, ##__VA_ARGS__) == OTF2_SUCCESS ? OTF2_CALLBACK_SUCCESS     \
                                                                                 : OTF2_CALLBACK_INTERRUPT)

static OTF2_CallbackCode on_enter(BEGIN, OTF2_RegionRef region)
{
    return WRITE(Enter, region);
}

static OTF2_CallbackCode on_leave(BEGIN, OTF2_RegionRef region)
{
    return WRITE(Leave, region);
}

static OTF2_CallbackCode on_isend(BEGIN, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes,
                                  uint64_t request)
{
    return WRITE(MpiIsend, peer, comm, tag, bytes, request);
}

static OTF2_CallbackCode on_irecv(BEGIN, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes,
                                  uint64_t request)
{
    return WRITE(MpiIrecv, peer, comm, tag, bytes, request);
}

static OTF2_CallbackCode on_request(BEGIN, uint64_t request)
{
    return WRITE(MpiIrecvRequest, request);
}

static OTF2_CallbackCode on_complete(BEGIN, uint64_t request)
{
    return WRITE(MpiIsendComplete, request);
}

static OTF2_CallbackCode on_begin(BEGIN)
{
    return WRITE(MpiCollectiveBegin);
}

static OTF2_CallbackCode on_end(BEGIN, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t sent,
                                uint64_t received)
{
    return WRITE(MpiCollectiveEnd, op, comm, root, sent, received);
}

static OTF2_EvtReaderCallbacks *writing_callbacks(void)
{
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, on_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(callbacks, on_leave);
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback(callbacks, on_isend);
    OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(callbacks, on_irecv);
    OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(callbacks, on_request);
    OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(callbacks, on_complete);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback(callbacks, on_begin);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(callbacks, on_end);
    return callbacks;
}

/* Only the events' file: ns. */
static struct took by_library(const char *anchor, const char *out, uint64_t *events)
{
    struct maker maker;
    OTF2_EvtReaderCallbacks *callbacks = writing_callbacks();
    OTF2_Reader *reader = OTF2_Reader_Open(anchor);
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    OTF2_Reader_SelectLocation(reader, location);
    OTF2_Reader_OpenEvtFiles(reader);
    maker_open(&maker, out, CHUNK);
    struct took begin = now();
    OTF2_EvtReader *from = OTF2_Reader_GetEvtReader(reader, location);
    OTF2_EvtWriter *to = maker_begin(&maker, location);
    OTF2_Reader_RegisterEvtCallbacks(reader, from, callbacks, to);
    OTF2_Reader_ReadAllLocalEvents(reader, from, events);
    OTF2_Reader_CloseEvtReader(reader, from);
    *events = maker_end(&maker, to);
    struct took took = since(begin);
    finish_archive(&maker, *events);
    OTF2_Reader_Close(reader);
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    return took;
}

/* ---- ours ---- */

static uint64_t shifted(void *self, uint64_t record, uint64_t ticks)
{
    (void)self, (void)record;
    return ticks + SHIFT;
}

static void must(int code, const struct gn_error *err)
{
    if (code >= 0)
        return;
    fprintf(stderr, "retime: %s\n", err->text);
    exit(1);
}

static struct took by_bytes(const char *from, const char *to, uint64_t *events)
{
    struct gn_error err = {0};
    const struct gn_retimer retimer = {.time = shifted};
    struct took begin = now();
    must(gn_retime_events(from, to, CHUNK, &retimer, events, &err), &err);
    struct took took = since(begin);
    unlink(to);
    return took;
}

static struct took by_copying(const char *from, const char *to)
{
    struct gn_error err = {0};
    struct took begin = now();
    must(gn_copy_file(from, to, &err), &err);
    struct took took = since(begin);
    unlink(to);
    return took;
}

static void run(const char *format, const char *folder)
{
    char command[256];
    snprintf(command, sizeof command, format, folder);
    if (system(command) != 0)
        exit(1);
}

static void print(const char *what, const struct took *took, double events, const double base[2])
{
    double wall[ROUNDS], user[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        wall[i] = took[i].wall_ns / events;
        user[i] = took[i].user_ns / events;
    }
    struct timing_summary w = timing_summarise(wall, ROUNDS), u = timing_summarise(user, ROUNDS);
    printf("%-8s %6.1f ns/event (least %.1f), %.1f outside of the kernel (least %.1f)", what, w.median, w.min,
           u.median, u.min);
    printf("; of the library's: %.3f, %.3f\n", w.median / base[0], u.median / base[1]);
}

static void base_of(const struct took *took, double events, double base[2])
{
    double wall[ROUNDS], user[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        wall[i] = took[i].wall_ns / events;
        user[i] = took[i].user_ns / events;
    }
    base[0] = timing_summarise(wall, ROUNDS).median;
    base[1] = timing_summarise(user, ROUNDS).median;
}

int main(int count, char **arguments)
{
    uint64_t events = count > 1 ? strtoull(arguments[1], NULL, 10) : 10000000, again = 0;
    char folder[200], anchor[256], from[256], to[256], out[256];
    struct took library[ROUNDS], ours[ROUNDS], copy[ROUNDS];
    double base[2];
    snprintf(folder, sizeof folder, "%s/gnomon-bench.XXXXXX", count > 2 ? arguments[2] : "/dev/shm");
    if (!mkdtemp(folder))
        return 1;
    snprintf(anchor, sizeof anchor, "%s/a", folder);
    events = write_archive(anchor, events);
    snprintf(anchor, sizeof anchor, "%s/a/traces.otf2", folder);
    snprintf(from, sizeof from, "%s/a/traces/0.evt", folder);
    snprintf(to, sizeof to, "%s/0.evt", folder);
    snprintf(out, sizeof out, "%s/b", folder);
    for (int i = 0; i < ROUNDS; i++) {
        library[i] = by_library(anchor, out, &again);
        if (again != events)
            return 1;
        run("rm -r %s/b", folder);
        ours[i] = by_bytes(from, to, &again);
        if (again != events)
            return 1;
        copy[i] = by_copying(from, to);
    }
    base_of(library, (double)events, base);
    print("library", library, (double)events, base);
    print("retime", ours, (double)events, base);
    print("copy", copy, (double)events, base);
    run("rm -r %s", folder);
    return 0;
}

/*
 * trace_reader [LOCATIONS [EVENTS]]: what the reader costs above the OTF2 library, as a ratio to reading the
 * same archive with callbacks that do nothing; both in turn, each location to its end (`whole`) and a batch
 * of each location in turn (`turns`: with more locations than can be open, the reader opens them again and
 * again). And memory.
 */
#include "halo_step.h"
#include "timing.h"
#include "trace/reader.h"

#include "archive_maker.h"

#include <malloc.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROUNDS = 7 };

static void write_archive(const char *folder, uint32_t locations, uint64_t events)
{
    struct maker maker;
    uint64_t *ids = calloc(locations, sizeof *ids), *counts = calloc(locations, sizeof *counts);
    maker_open(&maker, folder, 1 << 20);
    for (uint32_t l = 0; l < locations; l++) {
        OTF2_EvtWriter *w = maker_begin(&maker, ids[l] = l);
        for (uint64_t step = 0, time = 1000; step < events / 22; step++)
            time = write_step(w, time);
        counts[l] = maker_end(&maker, w);
    }
    maker_definitions(&maker, ids, locations, 0);
    maker_world(&maker, ids, counts, locations);
    for (uint32_t region = 1; region <= 4; region++)
        OTF2_GlobalDefWriter_WriteRegion(maker.definitions, region, TEXT_ENTERED, TEXT_ENTERED, TEXT_EMPTY,
                                         OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE,
                                         TEXT_EMPTY, 0, 0);
    maker_close(&maker);
    free(ids);
    free(counts);
}

static OTF2_CallbackCode on_enter(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                  void *user, OTF2_AttributeList *list, OTF2_RegionRef region)
{
    (void)location, (void)time, (void)position, (void)user, (void)list, (void)region;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_isend(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                  void *user, OTF2_AttributeList *list, uint32_t receiver, OTF2_CommRef comm,
                                  uint32_t tag, uint64_t bytes, uint64_t request)
{
    (void)location, (void)time, (void)position, (void)user, (void)list, (void)receiver, (void)comm, (void)tag,
        (void)bytes, (void)request;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_request(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                    void *user, OTF2_AttributeList *list, uint64_t request)
{
    (void)location, (void)time, (void)position, (void)user, (void)list, (void)request;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_begin(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                  void *user, OTF2_AttributeList *list)
{
    (void)location, (void)time, (void)position, (void)user, (void)list;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_end(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *user,
                                OTF2_AttributeList *list, OTF2_CollectiveOp op, OTF2_CommRef comm,
                                uint32_t root, uint64_t sent, uint64_t received)
{
    (void)location, (void)time, (void)position, (void)user, (void)list, (void)op, (void)comm, (void)root,
        (void)sent, (void)received;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_EvtReaderCallbacks *empty_callbacks(void)
{
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, on_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(callbacks, on_enter);
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback(callbacks, on_isend);
    OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(callbacks, on_isend);
    OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(callbacks, on_request);
    OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(callbacks, on_request);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback(callbacks, on_begin);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(callbacks, on_end);
    return callbacks;
}

/* The library alone: definitions, then each location to its end. ns per event. */
static double read_bare(const char *anchor, uint32_t locations)
{
    uint64_t total = 0, count = 0;
    OTF2_EvtReaderCallbacks *callbacks = empty_callbacks();
    OTF2_Reader *reader = OTF2_Reader_Open(anchor);
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    OTF2_Reader_ReadAllGlobalDefinitions(reader, OTF2_Reader_GetGlobalDefReader(reader), &count);
    for (uint32_t l = 0; l < locations; l++)
        OTF2_Reader_SelectLocation(reader, l);
    OTF2_Reader_OpenEvtFiles(reader);
    double begin = timing_now_ns();
    for (uint32_t l = 0; l < locations; l++) {
        OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, l);
        OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, NULL);
        OTF2_Reader_ReadAllLocalEvents(reader, events, &count);
        OTF2_Reader_CloseEvtReader(reader, events);
        total += count;
    }
    double took = timing_now_ns() - begin;
    OTF2_Reader_Close(reader);
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    return took / (double)total;
}

static double rss_mib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static double read_ours(const char *anchor, int turns, int tell_memory)
{
    struct gn_error err = {0};
    struct gn_source source;
    const struct gn_trace_report *report;
    double before = rss_mib(), most = 0;
    if (gn_trace_open(&source, &report, anchor, &err) < 0) {
        fprintf(stderr, "trace_reader: %s\n", err.text);
        exit(1);
    }
    size_t locations = source.definitions->location_count;
    double begin = timing_now_ns(), opened = rss_mib();
    for (int more = 1; more;) {
        more = 0;
        for (uint32_t l = 0; l < locations; l++) {
            const struct gn_event *events;
            int64_t count;
            while ((count = source.pull(source.self, l, &events, &err)) > 0 && !turns)
                ;
            more |= count > 0;
        }
        if (tell_memory && most == 0)
            most = rss_mib();
    }
    double took = timing_now_ns() - begin;
    if (tell_memory)
        printf("memory: %.1f KiB per location after opening, %.1f KiB when all have been asked once\n",
               (opened - before) * 1024 / (double)locations, (most - before) * 1024 / (double)locations);
    double each = took / (double)report->events;
    source.close(source.self);
    return each;
}

int main(int count, char **arguments)
{
    uint32_t locations = count > 1 ? (uint32_t)atoi(arguments[1]) : 4;
    uint64_t events = count > 2 ? strtoull(arguments[2], NULL, 10) : 1000000;
    char folder[] = "/tmp/gnomon-bench.XXXXXX", anchor[64], command[64];
    double whole[ROUNDS], turns[ROUNDS], bare[ROUNDS];
    if (!mkdtemp(folder))
        return 1;
    snprintf(anchor, sizeof anchor, "%s/a/traces.otf2", folder);
    snprintf(command, sizeof command, "%s/a", folder);
    write_archive(command, locations, events);
    malloc_trim(0);
    read_ours(anchor, 1, 1);
    for (int i = 0; i < ROUNDS; i++) {
        double b = bare[i] = read_bare(anchor, locations);
        whole[i] = read_ours(anchor, 0, 0) / b;
        turns[i] = read_ours(anchor, 1, 0) / b;
    }
    qsort(bare, ROUNDS, sizeof *bare, timing_order);
    qsort(whole, ROUNDS, sizeof *whole, timing_order);
    qsort(turns, ROUNDS, sizeof *turns, timing_order);
    printf(
        "library alone %.1f ns per event; ours/library: whole %.2f (%.2f … %.2f), turns %.2f (%.2f … %.2f)\n",
        bare[ROUNDS / 2], whole[ROUNDS / 2], whole[0], whole[ROUNDS - 1], turns[ROUNDS / 2], turns[0],
        turns[ROUNDS - 1]);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0;
}

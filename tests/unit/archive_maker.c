#include "archive_maker.h"

#include <stdio.h>
#include <stdlib.h>

static void must(int is_fine, const char *what)
{
    if (!is_fine) {
        fprintf(stderr, "archive_maker: cannot %s\n", what);
        exit(1);
    }
}

static OTF2_FlushType before_flush(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller,
                                   bool final)
{
    (void)user, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

static OTF2_TimeStamp after_flush(void *user, OTF2_FileType type, OTF2_LocationRef location)
{
    (void)user, (void)type, (void)location;
    return 0;
}

void maker_open(struct maker *maker, const char *folder, uint64_t event_chunk)
{
    static const OTF2_FlushCallbacks flush = {before_flush, after_flush};
    *maker = (struct maker){.archive = NULL};
    maker->archive = OTF2_Archive_Open(folder, "traces", OTF2_FILEMODE_WRITE, event_chunk, 256 << 10,
                                       OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    must(maker->archive != NULL, "create an archive");
    OTF2_Archive_SetFlushCallbacks(maker->archive, &flush, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(maker->archive);
    OTF2_Archive_SetCreator(maker->archive, "archive_maker");
    must(OTF2_Archive_OpenEvtFiles(maker->archive) == OTF2_SUCCESS, "open event files");
}

OTF2_EvtWriter *maker_begin(struct maker *maker, uint64_t location)
{
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(maker->archive, location);
    must(writer != NULL, "open an event file");
    return writer;
}

uint64_t maker_end(struct maker *maker, OTF2_EvtWriter *writer)
{
    uint64_t count = 0;
    OTF2_EvtWriter_GetNumberOfEvents(writer, &count);
    must(OTF2_Archive_CloseEvtWriter(maker->archive, writer) == OTF2_SUCCESS, "write events");
    return count;
}

void maker_string(struct maker *maker, uint32_t id, const char *text)
{
    OTF2_GlobalDefWriter_WriteString(maker->definitions, id, text);
}

static void local_definitions(struct maker *maker, uint64_t location)
{
    OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(maker->archive, location);
    for (size_t i = 0; i < maker->offset_count; i++)
        if (maker->offsets[i].location == location)
            OTF2_DefWriter_WriteClockOffset(writer, maker->offsets[i].ticks, maker->offsets[i].offset_ticks,
                                            maker->offsets[i].deviation_ticks);
    OTF2_Archive_CloseDefWriter(maker->archive, writer);
}

void maker_definitions(struct maker *maker, const uint64_t *locations, uint32_t count, uint64_t length)
{
    static const char *const texts[TEXTS] = {"",       "node",           "host",   "process",
                                             "thread", "MPI_COMM_WORLD", "entered"};
    OTF2_Archive_CloseEvtFiles(maker->archive);
    OTF2_Archive_OpenDefFiles(maker->archive);
    for (uint32_t i = 0; i < count; i++)
        local_definitions(maker, locations[i]);
    OTF2_Archive_CloseDefFiles(maker->archive);
    maker->definitions = OTF2_Archive_GetGlobalDefWriter(maker->archive);
    must(maker->definitions != NULL, "write definitions");
    OTF2_GlobalDefWriter_WriteClockProperties(maker->definitions, 1000000000, 0, length,
                                              OTF2_UNDEFINED_TIMESTAMP);
    for (uint32_t i = 0; i < TEXTS; i++)
        maker_string(maker, i, texts[i]);
}

void maker_world(struct maker *maker, const uint64_t *locations, const uint64_t *events, uint32_t count)
{
    OTF2_GlobalDefWriter *d = maker->definitions;
    uint64_t *ranks = calloc(count + 1, sizeof *ranks);
    must(ranks != NULL, "get memory");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, TEXT_HOST, TEXT_NODE, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t i = 0; i < count; i++) {
        ranks[i] = i;
        OTF2_GlobalDefWriter_WriteLocationGroup(d, i, TEXT_PROCESS, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                OTF2_UNDEFINED_LOCATION_GROUP);
        OTF2_GlobalDefWriter_WriteLocation(d, locations[i], TEXT_THREAD, OTF2_LOCATION_TYPE_CPU_THREAD,
                                           events[i], i);
    }
    OTF2_GlobalDefWriter_WriteRegion(d, 0, TEXT_ENTERED, TEXT_ENTERED, TEXT_EMPTY, OTF2_REGION_ROLE_FUNCTION,
                                     OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, TEXT_EMPTY, 0, 0);
    OTF2_GlobalDefWriter_WriteGroup(d, 0, TEXT_EMPTY, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, count, locations);
    OTF2_GlobalDefWriter_WriteGroup(d, 1, TEXT_EMPTY, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, count, ranks);
    OTF2_GlobalDefWriter_WriteComm(d, 0, TEXT_WORLD, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    free(ranks);
}

void maker_close(struct maker *maker)
{
    must(OTF2_Archive_Close(maker->archive) == OTF2_SUCCESS, "close the archive");
}

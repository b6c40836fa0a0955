/*
 * What the OTF2 library itself needs to read an archive, with callbacks that do nothing:
 *
 *   read_otf2 ARCHIVE local     each location to its end, one after the other
 *   read_otf2 ARCHIVE global    all locations merged by timestamp, by the library
 *
 * Prints the number of events and seconds from opening to the last event.
 */
#include "otf2_locations.h"
#include "timing.h"

#include <stdio.h>
#include <string.h>

static void read_definitions(OTF2_Reader *reader, struct locations *all)
{
    uint64_t read;
    if (read_locations(reader, all) != OTF2_SUCCESS)
        exit(1);
    if (OTF2_Reader_OpenDefFiles(reader) == OTF2_SUCCESS) {
        for (size_t i = 0; i < all->count; i++) {
            OTF2_DefReader *local = OTF2_Reader_GetDefReader(reader, all->items[i].self);
            if (local)
                OTF2_Reader_ReadAllLocalDefinitions(reader, local, &read);
            OTF2_Reader_CloseDefReader(reader, local);
        }
        OTF2_Reader_CloseDefFiles(reader);
    }
}

static uint64_t read_local(OTF2_Reader *reader, const struct locations *all)
{
    uint64_t sum = 0, read;
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    for (size_t i = 0; i < all->count; i++) {
        OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, all->items[i].self);
        OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, NULL);
        OTF2_Reader_ReadAllLocalEvents(reader, events, &read);
        OTF2_Reader_CloseEvtReader(reader, events);
        sum += read;
    }
    return sum;
}

static uint64_t read_global(OTF2_Reader *reader, const struct locations *all)
{
    uint64_t read;
    for (size_t i = 0; i < all->count; i++)
        OTF2_Reader_GetEvtReader(reader, all->items[i].self);
    OTF2_GlobalEvtReader *events = OTF2_Reader_GetGlobalEvtReader(reader);
    OTF2_GlobalEvtReaderCallbacks *callbacks = OTF2_GlobalEvtReaderCallbacks_New();
    OTF2_Reader_RegisterGlobalEvtCallbacks(reader, events, callbacks, NULL);
    OTF2_Reader_ReadAllGlobalEvents(reader, events, &read);
    return read;
}

int main(int argc, char **argv)
{
    struct locations all = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: read_otf2 ARCHIVE local|global\n");
        return 2;
    }
    const double begin_ns = timing_now_ns();
    OTF2_Reader *reader = OTF2_Reader_Open(argv[1]);
    if (!reader)
        return 1;
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    read_definitions(reader, &all);
    OTF2_Reader_OpenEvtFiles(reader);
    uint64_t events = strcmp(argv[2], "global") == 0 ? read_global(reader, &all) : read_local(reader, &all);
    printf("%llu events %.4f s\n", (unsigned long long)events, (timing_now_ns() - begin_ns) * 1e-9);
    return 0;
}

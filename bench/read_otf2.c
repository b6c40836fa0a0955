/*
 * What the OTF2 library itself needs to read an archive, with callbacks that do nothing:
 *
 *   read_otf2 ARCHIVE local     each location to its end, one after the other
 *   read_otf2 ARCHIVE global    all locations merged by timestamp, by the library
 *
 * Prints the number of events and seconds from opening to the last event.
 */
#include <otf2/otf2.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct locations {
    OTF2_LocationRef *items;
    size_t count, capacity;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static OTF2_CallbackCode on_location(void *user, OTF2_LocationRef self, OTF2_StringRef name,
                                     OTF2_LocationType type, uint64_t events, OTF2_LocationGroupRef group)
{
    struct locations *all = user;
    (void)name, (void)type, (void)events, (void)group;
    if (all->count == all->capacity) {
        all->capacity = all->capacity ? 2 * all->capacity : 64;
        all->items = realloc(all->items, all->capacity * sizeof *all->items);
    }
    all->items[all->count++] = self;
    return OTF2_CALLBACK_SUCCESS;
}

static void read_definitions(OTF2_Reader *reader, struct locations *all)
{
    uint64_t read;
    OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(callbacks, on_location);
    OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks, all);
    OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &read);
    for (size_t i = 0; i < all->count; i++)
        OTF2_Reader_SelectLocation(reader, all->items[i]);
    if (OTF2_Reader_OpenDefFiles(reader) == OTF2_SUCCESS) {
        for (size_t i = 0; i < all->count; i++) {
            OTF2_DefReader *local = OTF2_Reader_GetDefReader(reader, all->items[i]);
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
        OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, all->items[i]);
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
        OTF2_Reader_GetEvtReader(reader, all->items[i]);
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
    double begin = now_s();
    OTF2_Reader *reader = OTF2_Reader_Open(argv[1]);
    if (!reader)
        return 1;
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    read_definitions(reader, &all);
    OTF2_Reader_OpenEvtFiles(reader);
    uint64_t events = strcmp(argv[2], "global") == 0 ? read_global(reader, &all) : read_local(reader, &all);
    printf("%llu events %.4f s\n", (unsigned long long)events, now_s() - begin);
    return 0;
}

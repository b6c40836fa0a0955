/* otf2_locations — the locations of an archive as the OTF2 library says them, for what measures the library.
 */
#ifndef GNOMON_BENCH_OTF2_LOCATIONS_H
#define GNOMON_BENCH_OTF2_LOCATIONS_H

#include <otf2/otf2.h>
#include <stdlib.h>

struct locations {
    struct {
        OTF2_LocationRef self;
        uint64_t events;
        OTF2_LocationGroupRef group;
        OTF2_StringRef name;
        OTF2_LocationType type;
    } * items;
    size_t count, capacity;
};

static OTF2_CallbackCode on_location(void *user, OTF2_LocationRef self, OTF2_StringRef name,
                                     OTF2_LocationType type, uint64_t events, OTF2_LocationGroupRef group)
{
    struct locations *all = user;
    if (all->count == all->capacity) {
        all->capacity = all->capacity ? 2 * all->capacity : 64;
        all->items = realloc(all->items, all->capacity * sizeof *all->items);
        if (!all->items)
            exit(1);
    }
    all->items[all->count].self = self;
    all->items[all->count].name = name;
    all->items[all->count].type = type;
    all->items[all->count].events = events;
    all->items[all->count++].group = group;
    return OTF2_CALLBACK_SUCCESS;
}

/* Reads the global definitions and selects all locations. What is wrong is the status of the first call that
 * fails. */
static inline OTF2_ErrorCode read_locations(OTF2_Reader *reader, struct locations *all)
{
    uint64_t read;
    OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(callbacks, on_location);
    OTF2_ErrorCode status = OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks, all);
    if (status == OTF2_SUCCESS)
        status = OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &read);
    for (size_t i = 0; status == OTF2_SUCCESS && i < all->count; i++)
        status = OTF2_Reader_SelectLocation(reader, all->items[i].self);
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
    return status;
}

#endif

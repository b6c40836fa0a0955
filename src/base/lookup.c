#include "base/lookup.h"

#include <stdlib.h>

enum { FIRST_SIZE = 256 };

static void place(struct gn_lookup_entry *entries, size_t size, struct gn_lookup_entry entry)
{
    size_t slot = entry.hash & (size - 1);
    while (entries[slot].value_plus_1)
        slot = (slot + 1) & (size - 1);
    entries[slot] = entry;
}

static bool make_room(struct gn_lookup *l)
{
    if (2 * (l->count + 1) <= l->size)
        return true;
    size_t size = l->size ? 2 * l->size : FIRST_SIZE;
    struct gn_lookup_entry *entries = calloc(size, sizeof *entries);
    if (!entries)
        return false;
    for (size_t i = 0; i < l->size; i++)
        if (l->entries[i].value_plus_1)
            place(entries, size, l->entries[i]);
    free(l->entries);
    l->entries = entries;
    l->size = size;
    return true;
}

int64_t gn_lookup_find(const struct gn_lookup *l, uint64_t hash, bool (*same)(const void *, uint32_t),
                       const void *context)
{
    if (l->size == 0)
        return GN_LOOKUP_NOTHING;
    for (size_t slot = hash & (l->size - 1); l->entries[slot].value_plus_1; slot = (slot + 1) & (l->size - 1))
        if (l->entries[slot].hash == hash && same(context, l->entries[slot].value_plus_1 - 1))
            return l->entries[slot].value_plus_1 - 1;
    return GN_LOOKUP_NOTHING;
}

bool gn_lookup_add(struct gn_lookup *l, uint64_t hash, uint32_t value)
{
    if (!make_room(l))
        return false;
    place(l->entries, l->size, (struct gn_lookup_entry){hash, value + 1});
    l->count++;
    return true;
}

void gn_lookup_clear(struct gn_lookup *l)
{
    free(l->entries);
    *l = (struct gn_lookup){NULL, 0, 0};
}

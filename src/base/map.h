/* base/map — 128-bit keys to pointers: open addressing, linear probing, no tombstones. */
#ifndef GNOMON_BASE_MAP_H
#define GNOMON_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_key {
    uint64_t a, b;
};

/* All zero: an empty map. Values are never NULL. The caller frees what values point to. */
struct gn_map {
    struct gn_map_slot {
        struct gn_key key;
        void *value;
    } * slots;
    size_t size; /* a power of two, or 0 */
    size_t count;
};

static inline size_t gn_key_hash(struct gn_key key)
{
    unsigned __int128 product =
        (unsigned __int128)(key.a ^ 0x9e3779b97f4a7c15ull) * (key.b ^ 0xd6e8feb86659fd93ull);
    return (size_t)(product ^ (product >> 64)) * 0xff51afd7ed558ccdull >> 20;
}

/* Where the value of a key is, until the map is changed; not to be set to NULL. NULL: it is not there. */
static inline void **gn_map_at(const struct gn_map *map, struct gn_key key)
{
    if (map->count == 0)
        return NULL;
    for (size_t slot = gn_key_hash(key) & (map->size - 1); map->slots[slot].value;
         slot = (slot + 1) & (map->size - 1))
        if (map->slots[slot].key.a == key.a && map->slots[slot].key.b == key.b)
            return &map->slots[slot].value;
    return NULL;
}

/* The value of a key, or NULL. */
static inline void *gn_map_find(const struct gn_map *map, struct gn_key key)
{
    void **value = gn_map_at(map, key);
    return value ? *value : NULL;
}

/* Adds a key that is not there. False: no memory, nothing changed. */
bool gn_map_add(struct gn_map *map, struct gn_key key, void *value);
/* Takes a key out; nothing happens when it is not there. */
void gn_map_remove(struct gn_map *map, struct gn_key key);
/* Takes out every entry for which drop(value, with) is true; drop may free the value. Without memory for
 * that, nothing is asked and nothing taken out. */
void gn_map_sweep(struct gn_map *map, bool (*drop)(void *value, void *with), void *with);
/* Frees the map's own memory. */
void gn_map_clear(struct gn_map *map);

#endif

#include "trace/id_map.h"

#include <stdlib.h>

/* Ids below are looked up in an array (of at most 4 MiB, however an archive numbers its things). */
#define DENSE_IDS ((uint64_t)1 << 20)

void gn_id_map_free(struct gn_id_map *map)
{
    free(map->dense);
    free(map->slots);
    *map = (struct gn_id_map){0};
}

static size_t home(const struct gn_id_map *map, uint64_t id)
{
    return (size_t)((id * 0x9e3779b97f4a7c15ull) >> 32) & (map->slot_count - 1);
}

uint32_t gn_id_map_find_sparse(const struct gn_id_map *map, uint64_t id)
{
    if (map->slot_count == 0)
        return GN_NONE;
    size_t slot = home(map, id);
    while (map->slots[slot].index != GN_NONE && map->slots[slot].id != id)
        slot = (slot + 1) & (map->slot_count - 1);
    return map->slots[slot].index;
}

static bool grow_dense(struct gn_id_map *map, uint64_t id)
{
    size_t wanted = map->dense_count ? map->dense_count : 256;
    while (wanted <= id)
        wanted *= 2;
    uint32_t *dense = reallocarray(map->dense, wanted, sizeof *dense);
    if (!dense)
        return false;
    for (size_t i = map->dense_count; i < wanted; i++)
        dense[i] = GN_NONE;
    map->dense = dense;
    map->dense_count = wanted;
    return true;
}

static void put(struct gn_id_map *map, struct gn_id_slot what)
{
    size_t slot = home(map, what.id);
    while (map->slots[slot].index != GN_NONE)
        slot = (slot + 1) & (map->slot_count - 1);
    map->slots[slot] = what;
}

static bool grow_sparse(struct gn_id_map *map)
{
    if (2 * (map->sparse_count + 1) <= map->slot_count)
        return true;
    struct gn_id_map larger = {.slot_count = map->slot_count ? 2 * map->slot_count : 64};
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < larger.slot_count; i++)
        larger.slots[i].index = GN_NONE;
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].index != GN_NONE)
            put(&larger, map->slots[i]);
    free(map->slots);
    map->slots = larger.slots;
    map->slot_count = larger.slot_count;
    return true;
}

bool gn_id_map_add(struct gn_id_map *map, uint64_t id, uint32_t index)
{
    if (id < DENSE_IDS) {
        if (id >= map->dense_count && !grow_dense(map, id))
            return false;
        map->dense[id] = index;
        return true;
    }
    if (!grow_sparse(map))
        return false;
    put(map, (struct gn_id_slot){id, index});
    map->sparse_count++;
    return true;
}

void gn_id_map_renumber(struct gn_id_map *map, const uint32_t *to)
{
    for (size_t i = 0; i < map->dense_count; i++)
        if (map->dense[i] != GN_NONE)
            map->dense[i] = to[map->dense[i]];
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].index != GN_NONE)
            map->slots[i].index = to[map->slots[i].index];
}

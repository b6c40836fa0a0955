#include "base/map.h"

#include <stdlib.h>
#include <string.h>

static void put(struct gn_map *map, struct gn_key key, void *value)
{
    size_t slot = gn_key_hash(key) & (map->size - 1);
    while (map->slots[slot].value)
        slot = (slot + 1) & (map->size - 1);
    map->slots[slot] = (struct gn_map_slot){key, value};
    map->count++;
}

static bool grow(struct gn_map *map)
{
    struct gn_map larger = {.size = map->size ? 2 * map->size : 64};
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < map->size; i++)
        if (map->slots[i].value)
            put(&larger, map->slots[i].key, map->slots[i].value);
    free(map->slots);
    *map = larger;
    return true;
}

bool gn_map_add(struct gn_map *map, struct gn_key key, void *value)
{
    if (2 * (map->count + 1) > map->size && !grow(map))
        return false;
    put(map, key, value);
    return true;
}

void gn_map_remove(struct gn_map *map, struct gn_key key)
{
    if (map->count == 0)
        return;
    const size_t mask = map->size - 1;
    size_t hole = gn_key_hash(key) & mask;
    for (; map->slots[hole].value; hole = (hole + 1) & mask)
        if (map->slots[hole].key.a == key.a && map->slots[hole].key.b == key.b)
            break;
    if (!map->slots[hole].value)
        return;
    /* whatever lies behind the hole and would not be found across it moves into it */
    for (size_t slot = (hole + 1) & mask; map->slots[slot].value; slot = (slot + 1) & mask) {
        size_t home = gn_key_hash(map->slots[slot].key) & mask;
        if (((slot - home) & mask) >= ((slot - hole) & mask)) {
            map->slots[hole] = map->slots[slot];
            hole = slot;
        }
    }
    map->slots[hole].value = NULL;
    map->count--;
}

/* Rebuilt from a copy of what stays: removing while walking would move entries past the walker. */
void gn_map_sweep(struct gn_map *map, bool (*drop)(void *value, void *with), void *with)
{
    struct gn_map_slot *stays = malloc((map->count + 1) * sizeof *stays);
    if (!stays)
        return; /* it can be tidied another time */
    size_t kept = 0;
    for (size_t i = 0; i < map->size; i++)
        if (map->slots[i].value && !drop(map->slots[i].value, with))
            stays[kept++] = map->slots[i];
    if (map->size)
        memset(map->slots, 0, map->size * sizeof *map->slots);
    map->count = 0;
    for (size_t i = 0; i < kept; i++)
        put(map, stays[i].key, stays[i].value);
    free(stays);
}

void gn_map_clear(struct gn_map *map)
{
    free(map->slots);
    memset(map, 0, sizeof *map);
}

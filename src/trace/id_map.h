/*
 * trace/id_map — an archive's numbers for things to our dense indices.
 *
 * Most archives count from 0: those are looked up in an array. Some (eztrace) use 64-bit numbers with large
 * gaps: those are hashed. Ids are kept once: the first definition counts. But teams of threads are numbered
 * apart from communicators: eztrace counts both from 1, each process by itself.
 */
#ifndef GNOMON_TRACE_ID_MAP_H
#define GNOMON_TRACE_ID_MAP_H

#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>

/* What a team of threads, or its group, is called in a map. */
#define GN_ID_OF_TEAM(id) ((uint64_t)(id) | (uint64_t)1 << 32)

struct gn_id_map {
    uint32_t *dense; /* [dense_count] index by id; GN_NONE: not there */
    struct gn_id_slot {
        uint64_t id;
        uint32_t index; /* GN_NONE: free */
    } * slots;          /* open addressing */
    size_t dense_count, slot_count, sparse_count;
};

void gn_id_map_free(struct gn_id_map *map);

/* Adds id (which must not be there); false: no memory. index is not GN_NONE. */
bool gn_id_map_add(struct gn_id_map *map, uint64_t id, uint32_t index);

/* Index i becomes to[i], for all. */
void gn_id_map_renumber(struct gn_id_map *map, const uint32_t *to);

uint32_t gn_id_map_find_sparse(const struct gn_id_map *map, uint64_t id);

/* The index of id, or GN_NONE. */
static inline uint32_t gn_id_map_find(const struct gn_id_map *map, uint64_t id)
{
    return id < map->dense_count ? map->dense[id] : gn_id_map_find_sparse(map, id);
}

#endif

#include "program/kept.h"

#include <stdlib.h>
#include <string.h>

enum {
    INSNS_MAX = 1 << 19,   /* about 60 bytes each: 32 MB of code */
    STUDIED_MAX = 1 << 17, /* 56 bytes each: 7 MB */
    PLACES_MAX = 1 << 16,
};

static void clear_map(struct gn_map *map)
{
    for (size_t i = 0; i < map->size; i++)
        free(map->slots[i].value);
    gn_map_clear(map);
}

static void forget_codes(struct gn_kept_answers *kept)
{
    for (size_t i = 0; i < kept->codes.size; i++)
        if (kept->codes.slots[i].value)
            gn_code_clear(kept->codes.slots[i].value);
    clear_map(&kept->codes);
    kept->insns = 0;
}

const struct gn_code *gn_kept_add_code(struct gn_kept_answers *kept, struct gn_key key, struct gn_code *code)
{
    struct gn_code *own = malloc(sizeof *own);
    if (!own || !gn_map_add(&kept->codes, key, own)) {
        free(own);
        gn_code_clear(code);
        return NULL;
    }
    *own = *code;
    kept->insns += own->count;
    return own;
}

void gn_kept_tidy(struct gn_kept_answers *kept)
{
    if (kept->insns > INSNS_MAX)
        forget_codes(kept);
}

/* Adds a copy of `bytes` bytes at `value`. */
static void add_copy(struct gn_map *map, struct gn_key key, const void *value, size_t bytes)
{
    void *copy = malloc(bytes);
    if (!copy)
        return;
    memcpy(copy, value, bytes);
    if (!gn_map_add(map, key, copy))
        free(copy);
}

void gn_kept_add_study(struct gn_kept_answers *kept, struct gn_key key, const struct gn_studied *items,
                       size_t count)
{
    struct gn_study *study = malloc(sizeof *study + count * sizeof *items);
    if (!study || kept->studied + count > STUDIED_MAX) {
        free(study);
        return;
    }
    study->count = count;
    memcpy(study->items, items, count * sizeof *items);
    if (gn_map_add(&kept->studies, key, study))
        kept->studied += count;
    else
        free(study);
}

void gn_kept_add_places(struct gn_kept_answers *kept, struct gn_key key,
                        const struct gn_program_place *places, size_t count, uint64_t symbol_offset)
{
    struct gn_kept_places *own = malloc(sizeof *own + count * sizeof *places);
    if (!own || kept->places.count >= PLACES_MAX) {
        free(own);
        return;
    }
    own->count = count;
    own->symbol_offset = symbol_offset;
    memcpy(own->items, places, count * sizeof *places);
    if (!gn_map_add(&kept->places, key, own))
        free(own);
}

void gn_kept_add_kind(struct gn_kept_answers *kept, struct gn_key key, int kind)
{
    if (kept->kinds.count < PLACES_MAX)
        add_copy(&kept->kinds, key, &kind, sizeof kind);
}

void gn_kept_clear(struct gn_kept_answers *kept)
{
    clear_map(&kept->kinds);
    forget_codes(kept);
    clear_map(&kept->studies);
    clear_map(&kept->places);
    memset(kept, 0, sizeof *kept);
}

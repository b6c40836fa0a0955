/* base/lookup — numbers found by what they stand for: a hash table from keys, which the caller keeps, to
 * indices in an array of the caller's. */
#ifndef GNOMON_BASE_LOOKUP_H
#define GNOMON_BASE_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GN_LOOKUP_NOTHING = -1 };

/* All zero at first. */
struct gn_lookup {
    struct gn_lookup_entry {
        uint64_t hash;
        uint32_t value_plus_1; /* 0: free */
    } * entries;
    size_t count, size;
};

/* The value that was added with this hash and for which same(context, value) holds, or GN_LOOKUP_NOTHING. */
int64_t gn_lookup_find(const struct gn_lookup *lookup, uint64_t hash,
                       bool (*same)(const void *context, uint32_t value), const void *context);

/* Adds a value (not UINT32_MAX) that is not there. False: no memory, nothing changed. */
bool gn_lookup_add(struct gn_lookup *lookup, uint64_t hash, uint32_t value);

void gn_lookup_clear(struct gn_lookup *lookup);

#endif

/*
 * graph/packed_steps — numbers by step of time, in few bytes: those of a time series (docs/profile-format.md,
 * "Series"). For each step that has any: how many steps since the last such one (1: the next), then its
 * values. All are variable-length integers of 7 bits a byte, the lowest first; values may be negative, and
 * are zigzag-coded.
 */
#ifndef GNOMON_GRAPH_PACKED_STEPS_H
#define GNOMON_GRAPH_PACKED_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GN_PACKED_MOST = 10 }; /* bytes of a number */

/* The bytes that it takes. */
static inline size_t gn_pack(uint8_t *to, uint64_t number)
{
    size_t used = 0;
    for (; number >= 0x80; number >>= 7)
        to[used++] = (uint8_t)(number | 0x80);
    to[used++] = (uint8_t)number;
    return used;
}

static inline size_t gn_pack_signed(uint8_t *to, int64_t number)
{
    return gn_pack(to, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

/* A step's values, `gap` steps after the last one that has any. */
static inline size_t gn_pack_step(uint8_t *to, uint64_t gap, const int64_t *values, size_t count)
{
    size_t used = gn_pack(to, gap);
    for (size_t i = 0; i < count; i++)
        used += gn_pack_signed(to + used, values[i]);
    return used;
}

/* What is left of some packed steps. */
struct gn_packed {
    const uint8_t *at, *end;
    size_t next; /* the step behind the last one that was read: 0 at first */
};

/* False: there is no whole number. */
static inline bool gn_unpack(struct gn_packed *p, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; p->at < p->end && shift < 64; shift += 7) {
        const uint8_t byte = *p->at++;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* The next step that has values, count of them. False: there is none, or what stands there makes no sense. */
static inline bool gn_unpack_step(struct gn_packed *p, size_t *step, int64_t *values, size_t count)
{
    uint64_t gap, value;
    if (!gn_unpack(p, &gap) || gap == 0 || gap > UINT32_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!gn_unpack(p, &value))
            return false;
        values[i] = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
    }
    *step = p->next + (size_t)gap - 1;
    p->next = *step + 1;
    return true;
}

#endif

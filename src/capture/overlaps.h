/*
 * capture/overlaps — calls of several threads that are under way at the same time and may be on one channel:
 * the standard gives them no order. Used with MPI_THREAD_MULTIPLE only; not thread-safe, the caller locks.
 */
#ifndef GNOMON_CAPTURE_OVERLAPS_H
#define GNOMON_CAPTURE_OVERLAPS_H

#include "capture/numbered.h"

#include <stdbool.h>

enum {
    GN_OVERLAPS = 255
}; /* calls at a time; of more, and of those that meet them, all are taken to overlap */

struct gn_overlaps {
    uint32_t highest; /* places in use are below */
    uint32_t beyond;  /* calls that found no place */
    struct {
        uint32_t comm;
        int32_t peer, tag;
        bool busy, unordered;
    } places[GN_OVERLAPS];
};

/* Whether a tag that may be GN_NUMBER_ANY can be another one that may be. No wildcard takes negative tags. */
static inline bool gn_tags_meet(int32_t a, int32_t b)
{
    return a == b || (a == GN_NUMBER_ANY && b >= 0) || (b == GN_NUMBER_ANY && a >= 0);
}

static inline bool gn_peers_meet(int32_t a, int32_t b)
{
    return a == b || a == GN_NUMBER_ANY || b == GN_NUMBER_ANY;
}

/* A call begins: its place, never 0. */
uint32_t gn_overlap_begin(struct gn_overlaps *overlaps, uint32_t comm, int32_t peer, int32_t tag);
/* It ends: whether it had company. */
bool gn_overlap_end(struct gn_overlaps *overlaps, uint32_t place);

#endif

/*
 * agent/rings — the agent's end of a process's rings (image/recorder_ring.h): makes the shared memory, takes
 * records out.
 *
 * The memory belongs to a program that may scribble over it. Everything that decides where we read is our own
 * copy: sizes, tails. Records are not looked at here: see agent/expand.h.
 */
#ifndef GNOMON_AGENT_RINGS_H
#define GNOMON_AGENT_RINGS_H

#include "image/recorder_ring.h"

#include <stdbool.h>

struct gn_rings {
    struct gn_ring_segment *segment;
    size_t bytes;
    uint32_t locations, ring_records;
    struct gn_rings_place {
        uint64_t tail;    /* records taken or lost; published to the process */
        uint64_t skipped; /* because the head was nonsense: how often */
    } * places;           /* per location */
};

/*
 * Makes a sparse memory file with rings of ring_records (a power of two) records for `locations` threads, and
 * maps it. *file is the caller's, to hand out and to close. 0 or a negative errno value.
 */
int gn_rings_make(struct gn_rings *rings, uint32_t locations, uint32_t ring_records, bool block, int *file);
/* Maps rings that another agent has made. Nothing counts as taken of them. */
int gn_rings_map(struct gn_rings *rings, uint32_t locations, uint32_t ring_records, int file);
void gn_rings_close(struct gn_rings *rings);

/* Takes up to max records of a location, the oldest that are there, and gives their places in the ring free.
 * Returns how many, the first of which is record *first; those before it that were not taken are lost.
 * *waiting: how many there were before. */
size_t gn_rings_take(struct gn_rings *rings, uint32_t location, struct gn_record *records, size_t max,
                     uint64_t *first, size_t *waiting);

/* Leaves out what a location has written up to now. Returns the record that comes next. */
uint64_t gn_rings_skip(struct gn_rings *rings, uint32_t location);

/* Copies up to max records of a location, the last that are there, and takes none. Returns how many, the
 * first of which is record *first. */
size_t gn_rings_last(const struct gn_rings *rings, uint32_t location, struct gn_record *records, size_t max,
                     uint64_t *first);

/* Tells the process that somebody still takes its records. */
void gn_rings_alive(struct gn_rings *rings);

#endif

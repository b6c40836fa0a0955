/*
 * live/rings — the agent's end of a process's rings (event/ring.h): makes the shared memory, takes events
 * out.
 *
 * The memory belongs to a program that may scribble over it. Everything that decides where we read is our own
 * copy: sizes, tails. A head that cannot be right costs the events in its ring, which are counted, never
 * more. Event contents are not looked at here: see live/translate.h.
 */
#ifndef GNOMON_LIVE_RINGS_H
#define GNOMON_LIVE_RINGS_H

#include "event/ring.h"

#include <stdbool.h>

struct gn_rings {
    struct gn_ring_segment *segment;
    size_t bytes;
    uint32_t locations, ring_events;
    struct gn_rings_place {
        uint64_t tail;      /* events taken; published to the process */
        uint64_t announced; /* dropped events that `lost` events have told of */
        uint64_t skipped;   /* because the head was nonsense: how often */
    } * places;             /* per location */
};

/*
 * Makes a sparse memory file with rings of ring_events (a power of two) events for `locations` threads, and
 * maps it. *file is the caller's, to hand out and to close. 0 or a negative errno value.
 */
int gn_rings_make(struct gn_rings *rings, uint32_t locations, uint32_t ring_events, bool block, int *file);
void gn_rings_close(struct gn_rings *rings);

/* Takes up to max events of a location, oldest first, and gives their places in the ring free. Returns how
 * many; *waiting (may be NULL): how many there were before. */
size_t gn_rings_take(struct gn_rings *rings, uint32_t location, struct gn_event *events, size_t max,
                     size_t *waiting);

/* How many events of a location were dropped that no `lost` event has told of. What it returns counts as
 * told. */
uint64_t gn_rings_untold(struct gn_rings *rings, uint32_t location);

/* Tells the process that somebody still takes its events. */
void gn_rings_alive(struct gn_rings *rings);

#endif

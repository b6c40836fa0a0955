/*
 * capture/tracer — writes one location's events into its ring in shared memory (event/ring.h), when the run
 * is traced.
 *
 * The hot path fills the slot at head and publishes head + 1: no lock, no allocation, no system call. How far
 * the reader has come is only looked at when the room known of is used up.
 *
 *   1. What begins in the ring also ends in it: no enter is written unless its leave will find room, and two
 *      slots for each open call or region are never given to anything else (the leave, and a `lost` event
 * ahead of it).
 *   2. A call whose enter found no room is dropped with everything in it; inside a call single events may be.
 *   3. Whatever was dropped is counted in one `lost` event as soon as there is room, in its place.
 *   4. With `block`, the writer waits for room, but never on an agent that has not moved for two seconds.
 *
 * Times in a ring do not go backward: what a call sends or begins carries the time of its enter, what it
 * receives or completes that of its leave.
 */
#ifndef GNOMON_CAPTURE_TRACER_H
#define GNOMON_CAPTURE_TRACER_H

#include "event/ring.h"

#include <stdbool.h>
#include <stdint.h>

/* The process's ring segment; NULL: not traced. */
extern struct gn_ring_segment *gn_ring_memory;

/* What became of the call under way. */
enum gn_traced { GN_UNTRACED, GN_TRACED, GN_DROPPED };

/* A location's end of its ring; part of the recorder. All zero: not traced. */
struct gn_tracer {
    struct gn_ring *ring;
    struct gn_event *events;
    uint64_t mask;
    uint64_t head;
    uint64_t limit;       /* head may go up to here without a look at tail */
    uint64_t owed;        /* dropped, and not told yet */
    uint64_t last_id;     /* of a request */
    uint64_t given_up_at; /* `alive` of the agent when waiting for it was given up, plus 1; 0: it lives */
    uint32_t location;
    uint32_t open; /* calls and regions that have begun and not ended in the ring */
    bool in_call;
    uint32_t region, path; /* of the call under way */
};

/* Takes `location`'s ring, if it has one. */
void gn_tracer_attach(struct gn_tracer *tracer, uint32_t location);

/* Begins a call: the enter is prepared, and with gn_tracer_stamp written as of `ticks`. False: dropped, with
 * everything up to its end. */
bool gn_tracer_enter(struct gn_tracer *tracer, uint32_t region, uint32_t path);
void gn_tracer_leave(struct gn_tracer *tracer, uint64_t ticks);

/* The begin (true: it was written, and its end must follow) and the end of a region. path: where it was
 * begun, of both, as of an enter and its leave; GN_NONE: not known. */
bool gn_tracer_region_begin(struct gn_tracer *tracer, uint32_t name, uint32_t path, uint64_t ticks);
void gn_tracer_region_end(struct gn_tracer *tracer, uint32_t name, uint32_t path, uint64_t ticks);

/* Makes room for `slots` events besides what is reserved (1), after a look at tail; waits if that is what the
 * user wants. False: there is none, and `dropped` events are counted. */
bool gn_tracer_make_room(struct gn_tracer *tracer, uint32_t slots, uint32_t dropped);

/* Counts events that are not written. */
void gn_tracer_drop(struct gn_tracer *tracer, uint32_t events);

static inline bool gn_tracer_room(struct gn_tracer *tracer, uint32_t slots, uint32_t dropped)
{
    if (__builtin_expect(tracer->head + slots + 2 * tracer->open <= tracer->limit && !tracer->owed, 1))
        return true;
    return gn_tracer_make_room(tracer, slots, dropped);
}

static inline struct gn_event *gn_tracer_next(struct gn_tracer *tracer)
{
    return &tracer->events[tracer->head & tracer->mask];
}

static inline void gn_tracer_publish(struct gn_tracer *tracer)
{
    enum {
        AHEAD = 8
    }; /* slots that are fetched for writing before they are needed: the ring is larger than the cache */
    __builtin_prefetch(&tracer->events[(tracer->head + AHEAD) & tracer->mask], 1);
    atomic_store_explicit(&tracer->ring->head, ++tracer->head, memory_order_release);
}

static inline void gn_tracer_stamp(struct gn_tracer *tracer, uint64_t ticks)
{
    gn_tracer_next(tracer)->ticks = ticks;
    tracer->in_call = true;
    tracer->open++;
    gn_tracer_publish(tracer);
}

/* Writes an event, or drops it. */
static inline void gn_tracer_put(struct gn_tracer *tracer, const struct gn_event *event)
{
    if (!gn_tracer_room(tracer, 1, 1))
        return;
    *gn_tracer_next(tracer) = *event;
    gn_tracer_publish(tracer);
}

/* A number for a request of this process, never 0. */
static inline uint64_t gn_tracer_new_id(struct gn_tracer *tracer)
{
    return (uint64_t)tracer->location << 48 | ++tracer->last_id;
}

#endif

/*
 * event/ring — how a measured process hands its events to the agent of its host (`gnomon run --trace`).
 *
 * One shared memory file per process: a header, the process's communicators, and a ring for each location
 * with one writer (the location's thread) and one reader (the agent). Numbers in the events are the process's
 * own:
 *
 *   region   enum gn_call_id of an MPI call; GN_RING_NAME + index into the TAG's names[] for a user's region
 *   path     index into the TAG's frames[]
 *   comm     index into comms[] below; of RMA events the window's number, counted from 0 (see windows[])
 *   location index of the location in the TAG
 *
 *   ┌ header, comms[], windows[], words[] ┐┌ ring 0: head, tail, lost │ events ┐┌ ring 1 …
 *                                           head − tail = events waiting; both only grow
 *
 * The writer publishes head after the event is written; the reader publishes tail after it has taken events.
 * When a ring is full the event is dropped and counted, and as soon as there is room a `lost` event with that
 * count stands in the dropped ones' place; or, with `block`, the writer waits as long as the agent is alive.
 * The file is sparse: what is not used takes no memory. The reader trusts nothing in it but its own tail.
 */
#ifndef GNOMON_EVENT_RING_H
#define GNOMON_EVENT_RING_H

#include "event/event.h"

#include <stdatomic.h>
#include <stddef.h>

#define GN_RING_MAGIC 0x474e49524e4f4e47ull /* "GNONRING" in memory order, little endian */
#define GN_RING_VERSION 1u
#define GN_RING_NAME 0x10000u

enum { GN_RING_COMMS = 65536, GN_RING_WINDOWS = 4096, GN_RING_WORDS = 1 << 22, GN_RING_NAME_BYTES = 64 };
enum { GN_RING_MIN_EVENTS = 256 }; /* ring_events at least: the calls of a thread, and what lies open, fit */

/* Where a communicator or window is made, all its members make it, in the same order relative to others with
 * the same members (the standard's rule for collective calls). So (members, how many with the same members
 * came before) names it across processes without a message. */
struct gn_ring_comm {
    uint32_t first_member; /* index into words[]: member_count ranks in MPI_COMM_WORLD, then other_count;
                              communicators with the same members may share them */
    uint32_t member_count;
    uint32_t other_count;               /* of an intercommunicator: of the group that is not ours */
    uint32_t instance;                  /* communicators with these members before this one, counted from 0 */
    uint32_t parent;                    /* index, or GN_NONE */
    char name[GN_RING_NAME_BYTES - 20]; /* "MPI_COMM_WORLD", or what the program named it; may be empty */
};

struct gn_ring_window {
    uint32_t comm; /* index into comms[] of a communicator with the window's members */
    uint32_t instance;
};

struct gn_ring {
    _Alignas(64) _Atomic uint64_t head; /* events written, ever */
    _Atomic uint64_t dropped;           /* ever */
    _Alignas(64) _Atomic uint64_t tail; /* events taken, ever */
};

struct gn_ring_segment {
    /* written by the agent before the segment is handed out */
    _Alignas(64) uint64_t magic; /* so that rings behind it lie on cache lines */
    uint32_t version;
    uint32_t location_capacity;
    uint64_t segment_bytes;
    uint32_t ring_events;   /* of each location; a power of two */
    uint32_t block;         /* 1: wait for room; 0: drop */
    _Atomic uint64_t alive; /* moved on by the agent at each of its rounds */
    /* written by the process; counts are published after what they count */
    _Atomic uint32_t comm_count;
    _Atomic uint32_t window_count;
    _Atomic uint32_t word_count;
    _Atomic uint32_t lost_comms; /* that found no room, or have members outside of MPI_COMM_WORLD:
                                    events on them have comm = GN_NONE */
    struct gn_ring_comm comms[GN_RING_COMMS]; /* 0: MPI_COMM_WORLD, 1: MPI_COMM_SELF */
    struct gn_ring_window windows[GN_RING_WINDOWS];
    uint32_t words[GN_RING_WORDS];
};

static inline size_t gn_ring_bytes(uint32_t ring_events)
{
    return sizeof(struct gn_ring) + (size_t)ring_events * sizeof(struct gn_event);
}

static inline size_t gn_ring_segment_bytes(uint32_t locations, uint32_t ring_events)
{
    return sizeof(struct gn_ring_segment) + locations * gn_ring_bytes(ring_events);
}

/* The ring of a location (0 ≤ location < location_capacity) and its events. */
static inline struct gn_ring *gn_ring_of(struct gn_ring_segment *segment, uint32_t location,
                                         uint32_t ring_events)
{
    return (struct gn_ring *)((char *)(segment + 1) + location * gn_ring_bytes(ring_events));
}
static inline struct gn_event *gn_ring_events(struct gn_ring *ring)
{
    return (struct gn_event *)(ring + 1);
}

_Static_assert(sizeof(struct gn_ring_segment) % 64 == 0 && sizeof(struct gn_ring) % 64 == 0,
               "rings and events lie on cache lines");

#endif

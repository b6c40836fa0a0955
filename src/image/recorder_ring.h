/*
 * image/recorder_ring — where a measured process's threads write what they did, always, and how others read
 * it: the agent that drains a trace, and whoever asks what a dead process did last.
 *
 * One shared memory file per process: a header, the process's communicators, and a ring of records
 * (image/record.h) for each location, with one writer, the location's thread.
 *
 *   ┌ header, comms[], windows[], words[] ┐┌ ring 0: head │ tail │ begun, polls │ records ┐┌ ring 1 …
 *
 * Record i lies in slot i mod R of a ring of R (a power of two). Only head is published: records before it
 * are written. The writer overwrites the oldest and never looks at a reader; the reader finds out what was
 * overwritten while it read.
 *
 *   writer, record h                              reader, from record t on
 *   W1  fence, release                            R1  head₁ = head, acquire
 *   W2  the words of slot h mod R, relaxed        R2  the words of the slots of [t, head₁), relaxed
 *   W3  head = h + 1, release                     R3  fence, acquire
 *                                                 R4  head₂ = head, relaxed
 *                                                 R5  valid are those i with i + R > head₂; the others are
 * lost
 *
 * Why it is right: W3 to R1 makes what was written visible. If R2 reads a word that W2 of a later record
 * h = i + R has written into the slot of i, then R3 is after the W1 ahead of that W2, which is after W3 of
 * record h - 1; so R4 reads h or more, and R5 says of i = h - R that it is lost. Without W1 and R3 a reader
 * of a processor with weak order could see the new words and the old head. (On x86-64 both fences cost
 * nothing.) One slot less than R is readable: that of head - R may be half written. What a process wrote
 * before it was killed is the same: its head stays, the half written slot is not one of those that are valid.
 *
 * The generation in a record, (i / R) mod 256, is no part of the proof. It tells a reader that what it found
 * is of this index, in memory that belongs to another program which may have scribbled over it.
 *
 * `block`: the writer waits, ahead of W1, until h - tail < R - 1, as long as `alive` moves. tail is written
 * by the one reader that drains, after R5, with release order; the writer reads it with acquire order, so
 * that R2 is over before W2.
 *
 * Two things are not in the ring yet, and a reader looks at them when the process has ended:
 *
 *   polls   calls in a row that found nothing, from GN_RING_POLL_NODES nodes at most that take turns;
 *           one that has other gaps than those before it begins a new row (capture/tracer.c). Their
 *           records are written when the row ends, that of the first node as record `index`, those of
 *           the others behind it: by head, how many are written. An odd seq: the process ended in the
 *           middle of adding a call; `before` says what the row was without it (gn_ring_row_of)
 *   begun   the collective under way: of the call that was entered at `ticks`; if that is what the
 *           TAG's now_ticks says, it is this one. ticks is written last, with release order
 */
#ifndef GNOMON_IMAGE_RECORDER_RING_H
#define GNOMON_IMAGE_RECORDER_RING_H

#include "image/record.h"
#include "image/seqlock.h"
#include "image/signal_samples.h"

#include <stdatomic.h>
#include <stddef.h>

#define GN_RING_MAGIC 0x474e49524e4f4e47ull /* "GNONRING" in memory order, little endian */
#define GN_RING_VERSION 6u

enum { GN_RING_COMMS = 65535, GN_RING_WINDOWS = 4096, GN_RING_WORDS = 1 << 22, GN_RING_NAME_BYTES = 64 };
enum { GN_RING_MIN_RECORDS = 256, GN_RING_POLL_NODES = 4 };
#define GN_RING_MOST_LOST (1ull << 44) /* nobody writes more between two looks: then head is nonsense */

/* Where a communicator or window is made, all its members make it, in the same order relative to others with
 * the same members (the standard's rule for collective calls). So (members, how many with the same members
 * came before) names it across processes without a message. Members are ranges of ranks in MPI_COMM_WORLD, in
 * their order: two words each, the first rank and how many. */
#define GN_RING_GROUP UINT32_MAX
struct gn_ring_comm {
    uint32_t first_word;   /* index into words[]: the ranges of its members, then those of the other group;
                              communicators with the same members may share them */
    uint32_t ranges;       /* of members */
    uint32_t other_ranges; /* of an intercommunicator: of the group that is not ours */
    uint32_t instance; /* communicators with these members before this one, counted from 0; GN_RING_GROUP: it
                          is none, but the members that an epoch of a window is for */
    uint32_t parent;   /* index, or GN_NONE */
    char name[GN_RING_NAME_BYTES - 20]; /* "MPI_COMM_WORLD", or what the program named it; may be empty */
};

struct gn_ring_window {
    uint32_t comm; /* index into comms[] of a communicator with the window's members */
    uint32_t instance;
};

struct gn_ring {
    _Alignas(64) gn_shared64 head; /* records written, ever */
    struct {
        gn_shared64 ticks;
        gn_shared32 kind, op, comm, root;
    } begun;
    _Alignas(64) struct gn_ring_polls {
        gn_shared32 seq, nodes; /* how many nodes */
        gn_shared64 index, first_ticks, last_ticks;
        struct gn_ring_poll {
            gn_shared32 node;
            gn_shared64 count, inside_ticks;
        } at[GN_RING_POLL_NODES]; /* in the order of their first call */
        struct {
            gn_shared32 place, nodes; /* the call goes to at[place] */
            gn_shared64 last_ticks, count, inside_ticks;
        } before; /* meant where seq is odd */
    } polls;
    _Alignas(64) gn_shared64 tail; /* records taken by the one who drains, ever */
};

struct gn_ring_slot {
    gn_shared64 word[4];
};

struct gn_ring_segment {
    /* written by the agent before the segment is handed out */
    _Alignas(64) uint64_t magic; /* so that rings behind it lie on cache lines */
    uint32_t version;
    uint32_t location_capacity;
    uint64_t segment_bytes;
    uint32_t ring_records; /* of each location; a power of two */
    uint32_t block;        /* 1: wait for room */
    gn_shared64 alive;     /* moved on by the one who drains at each of its rounds */
    /* written by the process; counts are published after what they count */
    gn_shared32 comm_count;
    gn_shared32 window_count;
    gn_shared32 word_count;
    gn_shared32 lost_comms; /* that found no room, or have members outside of MPI_COMM_WORLD: events on them
                               have comm = GN_NONE */
    struct gn_ring_comm comms[GN_RING_COMMS]; /* 0: MPI_COMM_WORLD, 1: MPI_COMM_SELF */
    struct gn_ring_window windows[GN_RING_WINDOWS];
    uint32_t words[GN_RING_WORDS];
    struct gn_signal_samples samples;
};

static inline size_t gn_ring_bytes(uint32_t ring_records)
{
    return sizeof(struct gn_ring) + (size_t)ring_records * sizeof(struct gn_ring_slot);
}

static inline size_t gn_ring_segment_bytes(uint32_t locations, uint32_t ring_records)
{
    return sizeof(struct gn_ring_segment) + locations * gn_ring_bytes(ring_records);
}

/* The ring of a location (0 ≤ location < location_capacity) and its slots. */
static inline struct gn_ring *gn_ring_of(struct gn_ring_segment *segment, uint32_t location,
                                         uint32_t ring_records)
{
    return (struct gn_ring *)((char *)(segment + 1) + location * gn_ring_bytes(ring_records));
}
static inline struct gn_ring_slot *gn_ring_slots(struct gn_ring *ring)
{
    return (struct gn_ring_slot *)(ring + 1);
}

_Static_assert(sizeof(struct gn_ring_segment) % 64 == 0 && sizeof(struct gn_ring) % 64 == 0,
               "rings and records lie on cache lines");

/* W1 to W3: record `head` of a ring of mask + 1 records, 1 << shift of them. */
static inline void gn_ring_write(struct gn_ring *ring, uint64_t mask, unsigned shift, uint64_t head,
                                 const struct gn_record *record)
{
    struct gn_ring_slot *slot = &gn_ring_slots(ring)[head & mask];
    atomic_thread_fence(memory_order_release);
    GN_SET(slot->word[0], record->word[0]);
    GN_SET(slot->word[1], gn_record_with_generation(record->word[1], head >> shift & 0xff));
    GN_SET(slot->word[2], record->word[2]);
    GN_SET(slot->word[3], record->word[3]);
    GN_PUBLISH(ring->head, head + 1);
}

/* A row of calls that found nothing, or what is not written of it. */
struct gn_ring_row {
    uint32_t first, nodes; /* at[first] to at[nodes - 1] are not written; none where first >= nodes */
    uint64_t index;        /* the record of at[0] */
    uint64_t first_ticks, last_ticks;
    struct {
        uint32_t node;
        uint64_t count, inside_ticks;
    } at[GN_RING_POLL_NODES];
};

/* A row that needs more than 32 bits for its time has a wide record behind the first one. */
static inline bool gn_ring_row_is_wide(const struct gn_ring_row *row)
{
    return row->last_ticks - row->first_ticks >= UINT32_MAX;
}

/* The row of a process that has ended, or whose thread is not in a call. */
static inline struct gn_ring_row gn_ring_row_of(struct gn_ring *ring)
{
    struct gn_ring_polls *polls = &ring->polls;
    const bool torn = GN_OBSERVE(polls->seq) & 1;
    const uint64_t written = GN_OBSERVE(ring->head) - GN_GET(polls->index);
    const uint32_t nodes = torn ? GN_GET(polls->before.nodes) : GN_GET(polls->nodes);
    struct gn_ring_row row = {.nodes = nodes <= GN_RING_POLL_NODES ? nodes : 0,
                              .index = GN_GET(polls->index),
                              .first_ticks = GN_GET(polls->first_ticks),
                              .last_ticks =
                                  torn ? GN_GET(polls->before.last_ticks) : GN_GET(polls->last_ticks)};
    for (uint32_t i = 0; i < row.nodes; i++) {
        const bool undo = torn && GN_GET(polls->before.place) == i;
        row.at[i].node = GN_GET(polls->at[i].node);
        row.at[i].count = undo ? GN_GET(polls->before.count) : GN_GET(polls->at[i].count);
        row.at[i].inside_ticks =
            undo ? GN_GET(polls->before.inside_ticks) : GN_GET(polls->at[i].inside_ticks);
    }
    const uint64_t told = written > 1 ? written - gn_ring_row_is_wide(&row) : written;
    row.first = told < row.nodes ? (uint32_t)told : row.nodes;
    return row;
}

/* The first record that is surely whole when head is `head` after it was read (R5). */
static inline uint64_t gn_ring_oldest(uint64_t head, uint32_t ring_records)
{
    return head < ring_records ? 0 : head - ring_records + 1;
}

#endif

/*
 * image/record — one record of the recorder: 32 bytes, four words, written by a measured thread after each
 * call (image/recorder_ring.h says where and how) and expanded by the agent into events (agent/expand.h).
 *
 *   word 0   ticks: the call was entered; of a completion: the request; else see below
 *   word 1   length: 32 │ node: 12 │ kind: 6 │ flags: 6 │ generation: 8
 *   word 2   bytes: 32 │ communicator: 16 │ tag: 16
 *   word 3   peer: 24 │ number: 40
 *
 * A call is one record, with what it communicated if that is one thing: kind is an enum gn_event_kind, or
 * GN_RECORD_NOTHING. Whatever else there is to say of it stands in records behind it (MORE says that there is
 * another one): further messages, and each request that it completed, by its name. Node is an index into the
 * nodes[] of the same location of the TAG, which knows activity and call path.
 *
 * A request's name is that of the record that started it: location and index (gn_request_name). So a start
 * does not have to carry it: the flag REQUEST says that it is one.
 *
 * What does not fit goes into one more record behind it (WIDE):
 *
 *   word 0   of a call: when it was left        word 2   bytes
 *   word 1   kind GN_RECORD_WIDE                word 3   tag of a message; of all else the bytes received
 *
 * Bytes are sent; or received (RECEIVED), or as many of each (BOTH). Instead of a tag, collectives have their
 * operation there. Kinds that are no part of a call (no flag CALL):
 *
 *   region begin, end   word 0 ticks; bytes: path, tag: name. Node 0: it is passed unrecorded (measurement is
 *                       off, or it ends with one around it)
 *   measurement         word 0 ticks; bytes: 0 off, 1 on; node of the time that it is off
 *   program begin, end  word 0 ticks; nodes 0 and 1
 *   thread create       word 0 ticks: a thread is being made; bytes: its number, from 1, of the process
 *   thread wait         word 0 ticks: it has been joined; bytes: its number
 *   thread begin, end   word 0 ticks; bytes: the number of the thread that the ring is of, 0: it has none;
 *                       one thread after the other may have the same ring
 *   GN_RECORD_POLLS     calls in a row from one node that found nothing: word 0, length and node from the
 *                       first enter to the last leave; word 2: how many; word 3: ticks inside of them. Where
 *                       several nodes took turns, the first one's record has the row's time, and those of the
 *                       others follow it, with no length, at its end
 *   GN_RECORD_OWN_WORK  word 0 ticks: the call that was written before it was left; word 2, 3: ticks of our
 *                       own work just before that call and just behind it. Of the first calls, those that
 *                       were slow, and every 64th other one that found something
 *   GN_RECORD_LATE      word 0 the name of a receive that was completed, or matched by a probe, when its
 *                       number was not known, word 3 its number. Of a blocking receive it is the name that a
 *                       request would have that began with the receive's record. Not necessarily in the ring
 *                       of that record
 */
#ifndef GNOMON_IMAGE_RECORD_H
#define GNOMON_IMAGE_RECORD_H

#include "event/event.h"

#include <stdbool.h>
#include <stdint.h>

enum gn_record_kind {
    GN_RECORD_NOTHING = 63,
    GN_RECORD_POLLS = 62,
    GN_RECORD_WIDE = 61,
    GN_RECORD_LATE = 60,
    GN_RECORD_OWN_WORK = 59
};

enum gn_record_flag {
    GN_RECORD_CALL = 1,
    GN_RECORD_MORE = 2, /* of the same call follows */
    GN_RECORD_IS_WIDE = 4,
    GN_RECORD_RECEIVED = 8,
    GN_RECORD_BOTH = 16,
    GN_RECORD_REQUEST = 32,
};

struct gn_record {
    uint64_t word[4];
};
_Static_assert(sizeof(struct gn_record) == 32, "two records are a cache line");
_Static_assert((int)GN_EVENT_KIND_COUNT <= (int)GN_RECORD_OWN_WORK, "kinds of events fit beside ours");

#define GN_RECORD_NO_NUMBER ((1ull << 40) - 1)   /* there is none */
#define GN_RECORD_LATE_NUMBER ((1ull << 40) - 2) /* a GN_RECORD_LATE brings it */
#define GN_RECORD_UNORDERED (1ull << 39)         /* flag: with others that have it, may have changed places */

enum {
    GN_RECORD_COMM_NONE = 0xffff,
    GN_RECORD_TAG_NONE = 0xffff,
    GN_RECORD_TAG_ANY = 0xfffe,
    GN_RECORD_TAG_NEIGHBOUR = 0xfffd,
    GN_RECORD_TAG_WIDE = 0xfffc,
    GN_RECORD_PEER_CODES = 0xffffff - 3, /* GN_NONE, GN_ANY, GN_ROOT_SELF, GN_ROOT_NONE, counted down */
};

/* Whether word 3 of a wide record is a tag. */
static inline bool gn_record_is_message(unsigned kind)
{
    return kind == GN_EVENT_MPI_SEND || kind == GN_EVENT_MPI_ISEND || kind == GN_EVENT_MPI_RECV ||
           kind == GN_EVENT_MPI_IRECV || kind == GN_EVENT_MPI_IRECV_REQUEST;
}

/* Whether an event starts a request, or names one that was started. */
static inline bool gn_record_starts(unsigned kind)
{
    return kind == GN_EVENT_MPI_ISEND || kind == GN_EVENT_MPI_IRECV_REQUEST || kind == GN_EVENT_NBC_REQUEST ||
           kind == GN_EVENT_RMA_PUT || kind == GN_EVENT_RMA_GET || kind == GN_EVENT_RMA_ATOMIC ||
           kind == GN_EVENT_IO_BEGIN;
}
static inline bool gn_record_names(unsigned kind)
{
    return kind == GN_EVENT_MPI_ISEND_COMPLETE || kind == GN_EVENT_MPI_IRECV ||
           kind == GN_EVENT_MPI_REQUEST_CANCELLED || kind == GN_EVENT_NBC_COMPLETE ||
           kind == GN_EVENT_RMA_COMPLETE || kind == GN_EVENT_IO_COMPLETE;
}

static inline uint64_t gn_record_word1(uint64_t length_ticks, uint32_t node, unsigned kind, unsigned flags)
{
    return (length_ticks < UINT32_MAX ? length_ticks : UINT32_MAX) | (uint64_t)(node & 0xfff) << 32 |
           (uint64_t)kind << 44 | (uint64_t)flags << 50;
}
static inline uint64_t gn_record_with_generation(uint64_t word1, uint64_t generation)
{
    return word1 | generation << 56;
}
static inline uint32_t gn_record_length(const struct gn_record *r)
{
    return (uint32_t)r->word[1];
}
static inline uint32_t gn_record_node(const struct gn_record *r)
{
    return (uint32_t)(r->word[1] >> 32) & 0xfff;
}
static inline unsigned gn_record_kind(const struct gn_record *r)
{
    return (unsigned)(r->word[1] >> 44) & 63;
}
static inline unsigned gn_record_flags(const struct gn_record *r)
{
    return (unsigned)(r->word[1] >> 50) & 63;
}
static inline unsigned gn_record_generation(const struct gn_record *r)
{
    return (unsigned)(r->word[1] >> 56);
}

static inline uint32_t gn_record_short_tag(uint32_t tag)
{
    return tag < GN_RECORD_TAG_WIDE  ? tag
           : tag == GN_NONE          ? (uint32_t)GN_RECORD_TAG_NONE
           : tag == GN_ANY           ? (uint32_t)GN_RECORD_TAG_ANY
           : tag == GN_TAG_NEIGHBOUR ? (uint32_t)GN_RECORD_TAG_NEIGHBOUR
                                     : (uint32_t)GN_RECORD_TAG_WIDE;
}
static inline uint32_t gn_record_long_tag(uint32_t tag)
{
    return tag == GN_RECORD_TAG_NONE        ? GN_NONE
           : tag == GN_RECORD_TAG_ANY       ? GN_ANY
           : tag == GN_RECORD_TAG_NEIGHBOUR ? GN_TAG_NEIGHBOUR
                                            : tag;
}
/* A rank beyond 16 million is nobody. */
static inline uint32_t gn_record_short_peer(uint32_t peer)
{
    return peer >= GN_ROOT_NONE ? peer & 0xffffff : peer < GN_RECORD_PEER_CODES ? peer : 0xffffff;
}
static inline uint32_t gn_record_long_peer(uint32_t peer)
{
    return peer >= GN_RECORD_PEER_CODES ? peer | 0xff000000 : peer;
}

static inline uint64_t gn_record_word2(uint32_t bytes, uint32_t comm, uint32_t short_tag)
{
    return bytes | (uint64_t)(comm < GN_RECORD_COMM_NONE ? comm : GN_RECORD_COMM_NONE) << 32 |
           (uint64_t)short_tag << 48;
}
static inline uint64_t gn_record_word3(uint32_t peer, uint64_t number)
{
    return gn_record_short_peer(peer) | number << 24;
}
static inline uint32_t gn_record_bytes(const struct gn_record *r)
{
    return (uint32_t)r->word[2];
}
static inline uint32_t gn_record_comm(const struct gn_record *r)
{
    uint32_t comm = (uint32_t)(r->word[2] >> 32) & 0xffff;
    return comm == GN_RECORD_COMM_NONE ? GN_NONE : comm;
}
static inline uint32_t gn_record_tag(const struct gn_record *r)
{
    return (uint32_t)(r->word[2] >> 48);
}
static inline uint32_t gn_record_peer(const struct gn_record *r)
{
    return gn_record_long_peer((uint32_t)r->word[3] & 0xffffff);
}
static inline uint64_t gn_record_number(const struct gn_record *r)
{
    return r->word[3] >> 24;
}

/* Numbers as events have them (event/event.h), in 40 bits: what does not fit is none. */
static inline uint64_t gn_record_short_number(uint64_t number)
{
    const uint64_t bare = number & ~GN_NUMBER_UNORDERED;
    if (__builtin_expect(number < GN_RECORD_UNORDERED, 1))
        return number;
    return number == GN_NUMBER_LATER         ? GN_RECORD_LATE_NUMBER
           : bare >= GN_RECORD_UNORDERED - 2 ? GN_RECORD_NO_NUMBER
                                             : GN_RECORD_UNORDERED | bare;
}
static inline uint64_t gn_record_long_number(const struct gn_record *r)
{
    const uint64_t number = gn_record_number(r);
    return number == GN_RECORD_NO_NUMBER     ? GN_UNNUMBERED
           : number == GN_RECORD_LATE_NUMBER ? GN_NUMBER_LATER
           : number & GN_RECORD_UNORDERED    ? (number ^ GN_RECORD_UNORDERED) | GN_NUMBER_UNORDERED
                                             : number;
}

/* Names a request: never 0. */
static inline uint64_t gn_request_name(uint32_t location, uint64_t index)
{
    return (uint64_t)location << 48 | ((index + 1) & ((1ull << 48) - 1));
}
static inline uint32_t gn_request_location(uint64_t name)
{
    return (uint32_t)(name >> 48);
}
static inline uint64_t gn_request_index(uint64_t name)
{
    return (name & ((1ull << 48) - 1)) - 1;
}

#endif

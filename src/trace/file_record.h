/*
 * trace/file_record — the outermost form of what is in OTF2's files: chunks of records.
 *
 *   chunk      3, byte order, number of the first event: 8 bytes, of the last: 8 │ record … │ 0, zeros …
 *              the last one, which may be shorter: … │ 2, 1
 *              definitions and markers: both numbers are 1 and 0
 *   record     type, length, that many bytes          length: a byte, or 255 and 8 bytes
 *   time       5, 8 bytes                              in event files: of the events that follow
 *   attributes 6, length, …                            … of the event that follows
 *   single     type, n, n bytes                        events that are one number; 255 alone: undefined
 *
 * No record crosses a chunk's end. Numbers have the byte order of their chunk.
 */
#ifndef GNOMON_TRACE_FILE_RECORD_H
#define GNOMON_TRACE_FILE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum gn_file_record {
    GN_RECORD_END_OF_CHUNK = 0,
    GN_RECORD_END_OF_FILE = 1,
    GN_RECORD_END_OF_LAST_CHUNK = 2,
    GN_RECORD_CHUNK = 3,
    GN_RECORD_TIME = 5,
    GN_RECORD_ATTRIBUTES = 6,
    GN_RECORD_BUFFER_FLUSH = 10 /* the one event with a second time: 8 bytes, when it ended */
};

enum { GN_LITTLE_ENDIAN_MARK = 0x42, GN_BIG_ENDIAN_MARK = 0x23 };
enum {
    GN_BYTE_ORDER_MARK =
        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? GN_LITTLE_ENDIAN_MARK : GN_BIG_ENDIAN_MARK
};

enum { GN_FIRST_EVENT_AT = 2, GN_LAST_EVENT_AT = 10, GN_CHUNK_HEADER_SIZE = 18 };
enum { GN_TIME_RECORD_SIZE = 9, GN_END_SIZE = 2 };

/* What OTF2 takes as the size of a chunk, in bytes. */
enum { GN_CHUNK_LEAST = 256 << 10, GN_CHUNK_MOST = 16 << 20 };

/* other: whether the number has not this machine's byte order. */
static inline uint64_t gn_file_number(const uint8_t *at, bool other)
{
    uint64_t number;
    memcpy(&number, at, sizeof number);
    return other ? __builtin_bswap64(number) : number;
}

static inline void gn_file_put_number(uint8_t *at, uint64_t number, bool other)
{
    if (other)
        number = __builtin_bswap64(number);
    memcpy(at, &number, sizeof number);
}

/* Whether a chunk begins here; *other: whether its numbers have not this machine's byte order. */
static inline bool gn_is_chunk(const uint8_t *at, size_t size, bool *other)
{
    if (size < GN_CHUNK_HEADER_SIZE || at[0] != GN_RECORD_CHUNK ||
        (at[1] != GN_LITTLE_ENDIAN_MARK && at[1] != GN_BIG_ENDIAN_MARK))
        return false;
    *other = at[1] != GN_BYTE_ORDER_MARK;
    return true;
}

/* Whether an event is one compressed number and nothing else: Enter, Leave, MpiIsendComplete,
 * MpiIrecvRequest, MpiRequestTest, MpiRequestCancelled, OmpFork, OmpTaskCreate, …Switch, …Complete. OTF2's
 * format has no others, and will not get any. */
static inline bool gn_is_single(uint8_t type)
{
    enum { SINGLE = 3u << 12 | 3u << 16 | 3u << 20 | 1u << 24 | 7u << 28 };
    return type < 32 && (uint32_t)SINGLE >> type & 1;
}

/* The bytes of the definition or marker at `at`, of which `left` bytes are there; 0: it is not all there, or
 * there is none: an end, or no record at all. */
static inline size_t gn_definition_size(const uint8_t *at, size_t left, bool other)
{
    if (left < 2 || at[0] <= GN_RECORD_CHUNK)
        return 0;
    size_t size = 2 + (size_t)at[1];
    if (at[1] == 255) {
        if (left < 10)
            return 0;
        uint64_t length = gn_file_number(at + 2, other);
        return length > left - 10 ? 0 : 10 + (size_t)length;
    }
    return size > left ? 0 : size;
}

/* The same of a record of an event file. */
static inline size_t gn_event_record_size(const uint8_t *at, size_t left, bool other)
{
    if (left >= GN_TIME_RECORD_SIZE && at[0] == GN_RECORD_TIME)
        return GN_TIME_RECORD_SIZE;
    if (left == 0 || at[0] == GN_RECORD_TIME)
        return 0;
    if (left >= 2 && at[1] == 255 && gn_is_single(at[0]))
        return 2;
    return gn_definition_size(at, left, other);
}

/* Whether a record of an event file is an event. */
static inline bool gn_is_event(uint8_t type)
{
    return type != GN_RECORD_TIME && type != GN_RECORD_ATTRIBUTES;
}

#endif

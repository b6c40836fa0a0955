/*
 * capture/counts — a bounded table of counts, none of which ever begins again.
 *
 *   set      8 channels, least recently used goes first; 64 sets at first, twice as many when two are full,
 * up to 32768. A channel is in one of two sets (whichever was emptier), so that sets fill up evenly. classes
 * one bit for each of 2^22 classes of channels, by hash. A channel that leaves the table sets its class's
 *            bit; a channel that is not in the table is only given a place (and begins with 0) while the bit
 * of its class is clear. So what was evicted is never taken for a new one; of new ones the share of set bits
 * is refused, which is 2 % after 10^5 evictions. gone     communicators that were freed: theirs leave the
 * table without a trace, since their numbers do not come back. Swept out 64 at a time.
 *
 * Not thread-safe; the caller locks.
 */
#ifndef GNOMON_CAPTURE_COUNTS_H
#define GNOMON_CAPTURE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    GN_COUNT_WAYS = 8,
    GN_COUNT_FIRST_SETS = 64,
    GN_COUNT_SETS = 1 << 15,
    GN_COUNT_CLASSES = 1 << 22,
    GN_COUNT_GONE = 64,
    GN_COUNT_RECENT = 128,
};

struct gn_count {
    uint64_t where; /* communicator + 1, peer; 0: free, and so are those after it in the set */
    int32_t tag;
    uint32_t used; /* the table's clock when it was last looked up */
    uint64_t next; /* GN_COUNT_SPOILED: unnumbered */
};
#define GN_COUNT_SPOILED UINT64_MAX

struct gn_counts {
    uint32_t sets; /* in use, a power of two */
    uint32_t most_sets;
    uint32_t clock; /* channels that came new */
    uint32_t gone_count;
    bool refusing; /* any class has its bit set */
    struct gn_count *recent[GN_COUNT_RECENT];
    uint32_t gone[GN_COUNT_GONE];
    uint64_t classes[GN_COUNT_CLASSES / 64];
    struct gn_count slots[GN_COUNT_SETS][GN_COUNT_WAYS];
};

/* In zeroed memory. most_sets: GN_COUNT_SETS, less in tests. */
void gn_counts_init(struct gn_counts *counts, uint32_t most_sets);

static inline uint64_t gn_count_where(uint32_t comm, int32_t peer)
{
    return ((uint64_t)comm + 1) << 32 | (uint32_t)peer;
}

/* The channel, if it is in the table. */
struct gn_count *gn_count_find(struct gn_counts *counts, uint64_t where, int32_t tag);
/* The same, new if need be; NULL: it is unnumbered. */
struct gn_count *gn_count_make(struct gn_counts *counts, uint64_t where, int32_t tag);

/* The channel is unnumbered from now on. */
void gn_count_spoil(struct gn_counts *counts, uint64_t where, int32_t tag);

/* The communicator's number is given to nobody any more. */
void gn_counts_drop_comm(struct gn_counts *counts, uint32_t comm);

/* Where the channel was found last, among others that share the place. */
static inline struct gn_count **gn_count_recent(struct gn_counts *counts, uint64_t where, int32_t tag)
{
    uint32_t mixed = ((uint32_t)where * 37 + (uint32_t)(where >> 32) * 11 + (uint32_t)tag) * 0x9e3779b1u;
    return &counts->recent[mixed >> 25];
}
_Static_assert(GN_COUNT_RECENT == 1 << 7, "the upper 7 bits");

/* gn_count_make for most calls. Valid until the next one. */
static inline struct gn_count *gn_count_at(struct gn_counts *counts, uint64_t where, int32_t tag)
{
    struct gn_count *count = *gn_count_recent(counts, where, tag);
    if (__builtin_expect(count->where != where || count->tag != tag, 0))
        return gn_count_make(counts, where, tag);
    count->used = counts->clock;
    return count;
}

#endif

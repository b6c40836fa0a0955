/*
 * clock/pair — the messages from one clock domain to another that are worth keeping, in bounded memory.
 *
 * A message (sent, received) proves that the sender's clock showed at least `sent` when the receiver's showed
 * `received`. Under rates within [a, b] it is implied by a neighbour when it lies below the line of slope a
 * that goes on from one before it, or of slope b that leads to one after it; then it is dropped. What remains
 * ascends in both readings (a monotone stack: amortised constant time for messages in order). [a, b] is
 * as wide as any assumption that is made later, so nothing is dropped that a narrower one would need.
 *
 * When the memory is full, time is cut into cells of one length, and of each cell the message with the
 * least delay is kept, beside the vertices of the hull, which carry the rate. Dropping is always sound.
 */
#ifndef GNOMON_CLOCK_PAIR_H
#define GNOMON_CLOCK_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_pair_kept {
    uint64_t received_ticks, sent_ticks;
};

struct gn_pair {
    uint64_t lo, hi;           /* [a, b]: sender's ticks per receiver's tick, in 2^-20 */
    struct gn_pair_kept *kept; /* by reading of the receiver */
    size_t count, room, capacity;
    uint64_t messages;
    uint64_t last_above_lo, last_above_hi; /* of the last kept: how far above lines of the rates */
};

/* rates: the sender's frequency over the receiver's, and how far it may be off, as a share. */
void gn_pair_begin(struct gn_pair *pair, double rate, double tolerance, size_t capacity);
void gn_pair_clear(struct gn_pair *pair);

/* False: no memory, and it is counted all the same. */
bool gn_pair_add(struct gn_pair *pair, uint64_t sent_ticks, uint64_t received_ticks);

#endif

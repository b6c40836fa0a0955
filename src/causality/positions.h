/*
 * causality/positions — which message of its channel each one is, where threads' calls overlap.
 *
 * Sends of a channel come in the order in which their calls began, receives in that in which they completed,
 * and the i-th of each have position i: then none is received before it was sent, whichever MPI took first.
 * For if t is the moment in which MPI took a message, the i-th call began no later than the i-th t, and the
 * i-th receive completed no earlier than that.
 *
 * Numbers that the source is certain of (no call that may have changed places with this one overlapped with
 * it) are better: such a message's number is its position. It may come before messages with smaller numbers
 * nevertheless, since calls are numbered a little after their events' times, so its position is kept free of
 * others and theirs are gaps, which who comes later fills: from below, and never behind a certain number that
 * it is before. What was said above still holds: were i + 1 sends taken by MPI before the one at position i
 * began, all of these had come, and one of them had taken i, since each takes the smallest that is free, or
 * its own. If a message of which that is not certain has a certain one's position, since it has come first,
 * it gives it back where nobody has asked for it so far; but of receives it must not (one that completes
 * later is one more that may have been first). Then the certain one is treated as if it were not.
 */
#ifndef GNOMON_CAUSALITY_POSITIONS_H
#define GNOMON_CAUSALITY_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Positions from `from` to before `to` that nobody has. Who has a larger number than `before` comes behind
 * that one, which was certain, and so not here. */
struct gn_gap {
    uint64_t from, to, before;
};

/* Of one side of a channel. */
struct gn_positions {
    uint64_t next; /* GN_UNNUMBERED: nobody can count any more */
    bool was_told; /* the source said a number before */
    size_t gap_count, gap_capacity;
    struct gn_gap *gaps; /* [gap_count], ascending, all before `next`; not many: the lowest are given up */
};

/* The next message's position. number: the source's, GN_UNNUMBERED: it says none. is_certain: nobody has
 * changed places with it. GN_UNNUMBERED: it is not known which one is next. 0, or -ENOMEM. */
int gn_position_take(struct gn_positions *positions, uint64_t number, bool is_certain, uint64_t *position);
/* A message with this number, which is certain, takes its position from one that is not, whose source says
 * `holder` (or GN_UNNUMBERED): that one's new position. */
uint64_t gn_position_give_back(struct gn_positions *positions, uint64_t number, uint64_t holder);
void gn_positions_clear(struct gn_positions *positions);

#endif

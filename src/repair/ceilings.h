/*
 * repair/ceilings — corrected times inside guaranteed bounds.
 *
 * The controlled logical clock only moves events forward. Where a send's time is in the middle of its bounds
 * and its receive's bounds are narrow, the receive would be pushed out of them, though the send could as well
 * have been earlier. So before the clock starts, each op gets a ceiling: the largest times at or below the
 * upper bounds that satisfy the clock condition.
 *
 *   high(e) = min( upper bound of e,
 *                  high(what depends on e elsewhere) − µ,      told by gn_replay_forward, settings.ceilings
 *                  high(the op after e) − steps,
 *                  high(the other ops of e's record) )
 *
 * What only may depend on e (ends with GN_OP_VAGUE) does not count.
 *
 * Starting at or below these, the least solution stays below them: inside the bounds wherever that is
 * possible. Where a ceiling is below the presynchronised time, the clock starts from the ceiling, and comes
 * back to the presynchronised time as gently as backward amortization would.
 */
#ifndef GNOMON_REPAIR_CEILINGS_H
#define GNOMON_REPAIR_CEILINGS_H

#include "repair/op_store.h"

/* After a pass with settings.ceilings: takes the limits of the location's sends and begins into op.high, and
 * into that of the ops before them and of the same record. Returns how many ops got a ceiling below their
 * presynchronised time that was higher before. */
uint64_t gn_ceilings_lower(struct gn_op_store *store, uint32_t location);

/* Turns op.start from the lower bound into the time that the clock starts from: not above ticks and high,
 * unless the lower bound is; towards ceilings and away from them it changes by slope (ticks per tick; 0: at
 * once). */
void gn_ceilings_settle(struct gn_op_store *store, uint32_t location, double slope);

#endif

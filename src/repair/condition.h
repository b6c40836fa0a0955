/*
 * repair/condition — does a trace satisfy the clock condition (Becker 2009, equations 1 and 2)? The verifier:
 * it shares no code with what repairs (repair/extract, replay, amortize); messages and collectives are
 * matched by the topological sort (causality/order.h), and all times are taken as any reader of the archive
 * sees them.
 *
 * For a receive: its send's time + µ ≤ its own. For the end of a collective: the same with each begin that it
 * depends on; each such pair is a logical message of the paper's figure 5. Forks, joins and barriers of
 * threads are collectives, too; what a process completes towards another one that waits for it
 * (MPI_Win_complete, MPI_Win_wait) is a message.
 *
 * What could not be checked is counted by kind: repair/condition_counts.h.
 */
#ifndef GNOMON_REPAIR_CONDITION_H
#define GNOMON_REPAIR_CONDITION_H

#include "event/stream.h"
#include "repair/condition_counts.h"

/* Pulls all events. 0 or a negative errno value with err set. */
int gn_condition_check(struct gn_source *source, const struct gn_condition_terms *terms,
                       struct gn_condition *condition, struct gn_error *err);

#endif

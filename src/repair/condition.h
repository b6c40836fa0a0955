/*
 * repair/condition — does a trace satisfy the clock condition (Becker 2009, equations 1 and 2)? The verifier:
 * it shares no code with what repairs (repair/extract, replay, amortize); messages and collectives are
 * matched by the topological sort (causality/order.h), and all times are taken as any reader of the archive
 * sees them.
 *
 * For a receive: its send's time + µ ≤ its own. For the end of a collective: the same with each begin that it
 * depends on; each such pair is a logical message of the paper's figure 5. Forks, joins and barriers of
 * threads are collectives, too. Not checked: epochs on windows between post, start, complete and wait.
 */
#ifndef GNOMON_REPAIR_CONDITION_H
#define GNOMON_REPAIR_CONDITION_H

#include "event/stream.h"
#include "repair/latency.h"
#include "repair/presync.h"

struct gn_condition_count {
    uint64_t messages;      /* checked */
    uint64_t reversed;      /* received before they were sent */
    uint64_t violating;     /* received before sent + µ; reversed ones are among them */
    int64_t worst_ticks;    /* of violating ones: how much is missing, at most */
    double error_ticks_sum; /* of reversed ones: received so much earlier than sent (table 3) */
    int64_t error_ticks_max;
};

struct gn_condition_message {
    uint32_t from, to;                  /* locations */
    int64_t sent_ticks, received_ticks; /* presynchronised */
    bool is_collective;
};

struct gn_condition {
    struct gn_condition_count messages;    /* point to point */
    struct gn_condition_count collectives; /* logical messages */
    /* logical messages that may not exist: of alltoallv and alltoallw, where who sends to whom is not
     * recorded; of collectives on windows, and those that make and free handles and memory, of which MPI does
     * not say that they synchronise; of those in which nobody sent or received anything, though they are no
     * barriers; of operations that are not known */
    struct gn_condition_count uncertain;
    uint64_t events, backward; /* backward: an event before its predecessor at its location */
    /* What could not be checked. unmatched: sends and receives without the other, and members of collectives
     * whose begin or end is missing, or who disagree; ambiguous: receives whose send is a guess */
    uint64_t unmatched, ambiguous;
    struct gn_condition_message worst; /* the one that misses most; from == GN_NONE: there is none */
};

/* Pulls all events. latency NULL: µ = 0. presync: what makes times of timestamps. 0 or a negative errno value
 * with err set. */
int gn_condition_check(struct gn_source *source, const struct gn_presync *presync,
                       const struct gn_latency *latency, struct gn_condition *condition,
                       struct gn_error *err);

/* What is missing to worst; 0: nothing. */
static inline int64_t gn_condition_worst_ticks(const struct gn_condition *condition)
{
    const int64_t message = condition->messages.worst_ticks, logical = condition->collectives.worst_ticks;
    return message > logical ? message : logical;
}

/* No certain message violates it, and no location goes back in time. */
static inline bool gn_condition_holds(const struct gn_condition *condition)
{
    return condition->messages.violating == 0 && condition->collectives.violating == 0 &&
           condition->backward == 0;
}

#endif

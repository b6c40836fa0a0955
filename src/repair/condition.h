/*
 * repair/condition — does a trace satisfy the clock condition (Becker 2009, equations 1 and 2)? The verifier:
 * it shares no code with what repairs (repair/extract, replay, amortize); messages are matched by the
 * topological sort (order/order.h), collectives by counting as written down here, and all times are taken as
 * any reader of the archive sees them.
 *
 * For a receive: its send's time + µ ≤ its own. For the end of a collective: the same with each begin that it
 * depends on; each such pair is a logical message of the paper's figure 5.
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

struct gn_condition {
    struct gn_condition_count messages;    /* point to point */
    struct gn_condition_count collectives; /* logical messages */
    struct gn_condition_count uncertain;   /* logical messages of alltoallv and alltoallw: may not exist */
    uint64_t events, backward;             /* backward: an event before its predecessor at its location */
    uint64_t unmatched, ambiguous;         /* messages that could not be checked */
    struct {
        uint32_t from, to; /* locations */
        int64_t sent_ticks, received_ticks;
        bool is_collective;
    } worst; /* the message that misses most; from == GN_NONE: there is none */
};

/* Pulls all events. latency NULL: µ = 0. presync: what makes times of timestamps. 0 or a negative errno value
 * with err set. */
int gn_condition_check(struct gn_source *source, const struct gn_presync *presync,
                       const struct gn_latency *latency, struct gn_condition *condition,
                       struct gn_error *err);

/* No certain message violates it, and no location goes back in time. */
static inline bool gn_condition_holds(const struct gn_condition *condition)
{
    return condition->messages.violating == 0 && condition->collectives.violating == 0 &&
           condition->backward == 0;
}

#endif

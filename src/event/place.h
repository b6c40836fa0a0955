/* event/place — the place of an event in an order of all of them. */
#ifndef GNOMON_EVENT_PLACE_H
#define GNOMON_EVENT_PLACE_H

#include <stdint.h>

enum {
    GN_PLACE_RELEASED = 1,   /* a predecessor will never come: its location ended or lost it */
    GN_PLACE_UNMATCHED = 2,  /* a receive without a send in the trace */
    GN_PLACE_AMBIGUOUS = 4,  /* which predecessor it has could not be told with certainty */
    GN_PLACE_CORRELATED = 8, /* sent_ticks and sender are set */
};

/* What the sort knows about an event at the moment it is reported. Times are in ticks, see struct gn_event.
 */
struct gn_place {
    uint64_t ticks; /* adjusted: never before the adjusted time of a predecessor (the paper, 2.6) */
    uint64_t
        sent_ticks;  /* raw time at which the message was sent; of a one-to-all: at which the root began */
    uint32_t sender; /* location of that event */
    uint32_t flags;  /* GN_PLACE_ */
    /* of collectives: which one of its communicator or window it is, counted from 0 in the order in which its
     * process begins them, and the member of it (of an intercommunicator's second group: behind those of the
     * first). GN_NONE: it is not known, or not yet, as of a begin that does not say what it is */
    uint32_t instance, member;
};

#endif

/*
 * analyse/givers — which calls a call was left for: of all that gave what it took, those that may have been
 * the last. Readings of one clock compare exactly, those of different ones as their bounds allow.
 */
#ifndef GNOMON_ANALYSE_GIVERS_H
#define GNOMON_ANALYSE_GIVERS_H

#include "analyse/history.h"

struct gn_span {
    double lo_ns, hi_ns;
};

/* From the enter of call `from` to that of `to`; negative where it was the other way round. */
struct gn_span gn_enter_to_enter(const struct gn_history *history, uint32_t from, uint32_t to);
/* From the enter of the call, or of the polls that it ends, to its leave. */
struct gn_span gn_call_length(const struct gn_history *history, uint32_t call);

struct gn_giver {
    uint32_t call;
    uint32_t gathering;   /* GN_NONE: a message, or a receiver */
    bool is_receiver;     /* of what the call sent */
    bool is_sure;         /* that the call was not left before this had been given */
    struct gn_span later; /* than the one that waits began to */
};

struct gn_givers {
    const struct gn_history *history;
    struct gn_giver *list; /* [count] of the call asked for last */
    size_t count, capacity;
    struct gn_last_parts *last; /* [gathering_count] those that may be last, once they have been found */
    uint32_t *parts;            /* of those */
    size_t part_count, part_capacity;
    uint32_t *latest; /* by clock domain */
    uint32_t *place;  /* by call: where it is in the list that is being made, from 1 */
};

/* All zero but history at first. 0 or -ENOMEM. */
int gn_givers_open(struct gn_givers *givers, const struct gn_history *history);
/*
 * Who may have given last of what the call took, other than its own location, and after its enter. *waited:
 * from its enter until then, 0 ≤ lo ≤ hi. Of those that are not sure the wait is at least 0. 0 or -ENOMEM.
 */
int gn_givers_of(struct gn_givers *givers, uint32_t call, struct gn_span *waited);
void gn_givers_close(struct gn_givers *givers);

#endif

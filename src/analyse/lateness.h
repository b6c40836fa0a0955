/*
 * analyse/lateness — why a location gave late: what it did, and for how long it waited itself, since it was
 * last level with the one that waits for it (the sketch in analyse/waits.h).
 */
#ifndef GNOMON_ANALYSE_LATENESS_H
#define GNOMON_ANALYSE_LATENESS_H

#include "analyse/givers.h"

/* Calls of a location in which it waited since then: they are passed on to the causes of those waits. */
enum { GN_LATENESS_WAITS = 16, GN_LATENESS_STEPS = 64 };

struct gn_late_wait {
    uint32_t call;
    struct gn_span waited; /* since the two were level */
};

struct gn_lateness {
    struct gn_span of_giver;  /* sum of its waits; those beyond the room below, too */
    struct gn_span of_waiter; /* sum of the other one's, before this one */
    struct gn_late_wait waits[GN_LATENESS_WAITS];
    size_t wait_count;
    bool is_cut; /* more calls would have had to be looked at, or some that nobody has seen: nothing is
                    certain of whose fault it was */
    uint32_t activity, inside_region, inside_path; /* as in struct gn_cause */
};

/*
 * waited: [call_count] how long each call was waited in, for all calls before these two. Looks back at most
 * GN_LATENESS_STEPS calls.
 *
 * Level are two that both took from a collective in which all give to all, or who both waited for the root of
 * one. Whoever took something from the other (a message, its part of what a root gathers, what a root sends
 * around) shows that the other one was there when it gave that: what both did before that does not count, but
 * what the taker waited for after it does. A collective of which only times say that it synchronises may have
 * made them level: then what was waited before it is possible, not certain.
 */
void gn_lateness_of(struct gn_lateness *lateness, const struct gn_history *history,
                    const struct gn_span *waited, uint32_t waiter, uint32_t giver);
/* Only what the giver computed right before its call. */
void gn_lateness_work(struct gn_lateness *lateness, const struct gn_history *history, uint32_t giver);

#endif

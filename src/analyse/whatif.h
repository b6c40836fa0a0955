/*
 * analyse/whatif — the run with some computation made faster: its new length as an interval (Benavides 2019,
 * 5.2, algorithm 6).
 *
 * One pass over the history in causal order carries, for each location, by how much earlier than it was it
 * now is: an interval [lo, hi] of reductions. A piece of a chosen activity adds its share; everything else
 * that is computed keeps its length. At a call's leave the reductions of all that it waited for meet:
 *
 *   lo = min over all of (theirs + by how much earlier than the last one they were, at least)
 *   hi = max over those that may have been the last one; at most, for each, theirs + the time from it to the
 *        leave: nothing is received before it is sent
 *
 * A receive from anybody takes what comes first. With the new times that may be another message than it was
 * (whatif_rivals.c). Where all receives that compete say the same and nobody gets an answer, what follows is
 * taken to be the same whichever message it was: then nothing comes later than if each took its old one, so
 * that lo holds, and the run gains no more than all that goes, which hi then is. Elsewhere a later receive
 * may have to wait for what it had at once, or find at once what it had waited for, and the run may even be
 * longer than it was: then all that is said is that each location computes what it computed.
 *
 * Assumed, and told with the result: the program does the same; what a call costs after the last thing it
 * waited for has come stays; a message that was there already had not taken longer than longest_ns; clocks
 * are within their bounds.
 */
#ifndef GNOMON_ANALYSE_WHATIF_H
#define GNOMON_ANALYSE_WHATIF_H

#include "analyse/history.h"

/* What is made faster. */
struct gn_whatif {
    const float *share;      /* [activity_count] 0 ≤ share ≤ 1 of its time that goes */
    const bool *at_location; /* [location_count] where; NULL: everywhere */
    const float *before; /* [call_count] instead: of all that is computed before each; NULL: by activity */
    const bool *ahead;   /* [call_count] calls that are made ahead of what is computed just before them, which
                            is   computed after them then; NULL: none */
    const double
        *sooner_ns; /* [call_count] calls that give so much sooner than they are entered; NULL: none */
};

/* Of a piece of what is computed before a call. */
static inline double gn_whatif_share(const struct gn_whatif *what, const struct gn_history *h,
                                     const struct gn_call *call, uint32_t activity)
{
    return what->before                                              ? (double)what->before[call - h->calls]
           : what->at_location && !what->at_location[call->location] ? 0
                                                                     : (double)what->share[activity];
}

struct gn_whatif_result {
    struct gn_interval length; /* of the run now */
    double reduction_lo_ns, reduction_hi_ns;
    double speedup_lo, speedup_hi; /* (old − new) / old, as the paper has it: at most 1; negative where the
                                      run may take longer, which needs may_reorder */
    bool may_reorder;              /* a receive from anybody may take another message than it did */
};

/* Memory of a pass, one per thread. NULL: no memory. The history outlives it. */
struct gn_whatif_pass;
struct gn_whatif_pass *gn_whatif_pass_new(const struct gn_history *history);
void gn_whatif_pass_free(struct gn_whatif_pass *pass);

/* With nothing chosen the length is exactly history->length. */
struct gn_whatif_result gn_whatif(struct gn_whatif_pass *pass, const struct gn_whatif *what);

#endif

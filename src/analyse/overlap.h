/*
 * analyse/overlap — messages that are begun, and completed later: what of their transfer could have gone on
 * while there was something else to do, and did not. Many libraries move large messages only inside of calls.
 *
 * Of a call that completes (or of a blocking send), beyond what it waits for as analyse/waits.h has it:
 *
 *   stalled   its partner has begun its side already, computes, and the call is left once the partner calls
 * MPI again moved     else, as long as something was computed between the begin and this call
 */
#ifndef GNOMON_ANALYSE_OVERLAP_H
#define GNOMON_ANALYSE_OVERLAP_H

#include "analyse/site_tally.h"

struct gn_overlap {
    struct gn_site_tally stalled, moved;
};

/* 0, and the caller clears; or -ENOMEM with err set. Linear in calls and what they take. */
int gn_overlap_find(struct gn_overlap *overlap, const struct gn_seen *seen, struct gn_error *err);
void gn_overlap_clear(struct gn_overlap *overlap);

#endif

/* analyse/whatif_inside — what the files of the what-if share. Not for anybody else. */
#ifndef GNOMON_ANALYSE_WHATIF_INSIDE_H
#define GNOMON_ANALYSE_WHATIF_INSIDE_H

#include "analyse/whatif.h"

/* How much earlier something is now, ns. */
struct gn_reduction {
    double lo, hi;
};

/* whatif_rivals.c */
enum gn_whatif_order {
    GN_ORDER_STAYS,   /* each receive takes the message that it took */
    GN_ORDER_IS_SAME, /* some may take another one, and what follows is the same whichever it is */
    GN_ORDER_CHANGES  /* some may take another one, and then other things may happen */
};
/* entered: [call_count] at its enter */
enum gn_whatif_order gn_whatif_order(const struct gn_history *history, const struct gn_reduction *entered);
/* How long the run is in whatever order things happen, as long as the same is done: no location does less
 * than it computes, and nothing is waited for but what is computed, called or on its way. */
struct gn_interval gn_whatif_any_order(const struct gn_history *history, const struct gn_whatif *what);

#endif

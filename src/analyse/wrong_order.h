/*
 * analyse/wrong_order — receives that wait for one message while another one, which is received later, has
 * come already: what its process computes with that one it could have computed meanwhile (Scalasca's "late
 * sender, wrong order").
 *
 * That the messages have nothing to do with each other is taken from what is computed after each of them:
 * where nothing is between two receives, both belong to what follows.
 */
#ifndef GNOMON_ANALYSE_WRONG_ORDER_H
#define GNOMON_ANALYSE_WRONG_ORDER_H

#include "analyse/site_tally.h"

/* Opens the tally and fills it. 0, and the caller clears it; or -ENOMEM with err set. Linear in calls. */
int gn_wrong_order_find(struct gn_site_tally *avoidable, const struct gn_seen *seen, struct gn_error *err);

#endif

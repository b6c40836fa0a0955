/*
 * analyse/sooner — the run if messages had been sent, or receives posted, ahead of what is computed just
 * before: by replay of its events (analyse/whatif.h). That this can be is assumed.
 */
#ifndef GNOMON_ANALYSE_SOONER_H
#define GNOMON_ANALYSE_SOONER_H

#include "analyse/seen.h"
#include "analyse/whatif.h"

/* Of those that the calls of a site wait for, in one part of what was seen: messages; or receives, where
 * these calls send. 0, or -ENOMEM with err set. */
int gn_sooner_find(struct gn_whatif_result *result, const struct gn_seen *seen, size_t part, size_t site,
                   bool are_receives, struct gn_error *err);

#endif

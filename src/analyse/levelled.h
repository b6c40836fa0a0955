/*
 * analyse/levelled — the run if one process had computed no more than the others, activity by activity: by
 * replay of its trace (analyse/whatif.h).
 */
#ifndef GNOMON_ANALYSE_LEVELLED_H
#define GNOMON_ANALYSE_LEVELLED_H

#include "analyse/whatif.h"

struct gn_levelled {
    struct gn_whatif_result mean;    /* as much as the mean of the others, where it is more */
    struct gn_whatif_result fastest; /* … as the one that computed least */
    struct gn_whatif_result even; /* … as the mean of all, where the others, who have waited, take the rest */
};

/* 0, or -ENOMEM with err set. */
int gn_levelled_find(struct gn_levelled *levelled, const struct gn_history *history, uint32_t process,
                     struct gn_error *err);

#endif

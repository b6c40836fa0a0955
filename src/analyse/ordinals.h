/* analyse/ordinals — which of its location's calls on the same path a call is: in a loop, which iteration. */
#ifndef GNOMON_ANALYSE_ORDINALS_H
#define GNOMON_ANALYSE_ORDINALS_H

#include "analyse/history.h"
#include "base/lookup.h"

struct gn_ordinals {
    uint32_t *of_call; /* [call_count] from 0 */
    struct gn_ordinals_node {
        uint32_t location, region, path; /* location GN_NONE: of the one that has made the most */
        uint32_t count;
    } * nodes; /* [node_count] */
    size_t node_count, capacity;
    struct gn_lookup index;
};

/* All zero at first. 0 or -ENOMEM; the caller clears. */
int gn_ordinals_find(struct gn_ordinals *ordinals, const struct gn_history *history);
/* How many calls of that kind the location that has made the most of them has made. */
uint32_t gn_ordinals_most(const struct gn_ordinals *ordinals, uint32_t region, uint32_t path);
void gn_ordinals_clear(struct gn_ordinals *ordinals);

#endif

/*
 * analyse/site_tally — something that is found in calls, added up by site (analyse/seen.h), and who it is of;
 * and how to walk from a call to those around it.
 */
#ifndef GNOMON_ANALYSE_SITE_TALLY_H
#define GNOMON_ANALYSE_SITE_TALLY_H

#include "analyse/seen.h"

/* All zero at first. */
struct gn_site_tally {
    const struct gn_seen *seen;
    struct gn_span *each; /* [site_count * parts] */
    double *of_ns;        /* [site_count * processes] in whose calls */
    double *for_ns;       /* … for whom */
    double *seen_ns;      /* [site_count] as it was seen */
    uint64_t *times;      /* … calls */
};

/* What has been found at a site. */
struct gn_tallied {
    struct gn_span span; /* of the run */
    double seen_ns;      /* as it was seen */
    uint64_t times;
    uint32_t process, partner;     /* in whose calls, and for whom most of it is; GN_NONE: nobody's */
    double process_ns, partner_ns; /* of it, as it was seen */
};

/* 0, and the caller clears; or -ENOMEM. */
int gn_site_tally_open(struct gn_site_tally *tally, const struct gn_seen *seen);
/* Of a call of a part; partner GN_NONE: nobody's. Nothing where the call does not count. */
void gn_site_tally_add(struct gn_site_tally *tally, size_t part, const struct gn_call *call, uint32_t partner,
                       struct gn_span span);
struct gn_tallied gn_site_tally_of(const struct gn_site_tally *tally, size_t site);
void gn_site_tally_clear(struct gn_site_tally *tally);

/* The calls of a history in the order of each location. All zero at first. */
struct gn_walk {
    uint32_t *next;      /* [call_count] GN_NONE: it is the last */
    double *computed_ns; /* [call_count] by its location from its begin until the call */
};
int gn_walk_open(struct gn_walk *walk, const struct gn_history *history);
/* What its location computes between two of its calls, the first one before the second. */
static inline double gn_walk_computed(const struct gn_walk *walk, uint32_t from, uint32_t to)
{
    return walk->computed_ns[to] - walk->computed_ns[from];
}
void gn_walk_close(struct gn_walk *walk);

#endif

/*
 * analyse/meanwhile — what a process did while others waited for it in a call: from when they came to when it
 * gave what they waited for. A wait is split over its partner's concurrent path (Sikora 2016, section 3.4),
 * backwards:
 *
 *   that waits   │enter ................................................ │ left
 *   its partner  ···· computes │ waits │ transfer │ computes │ gives ───┘
 *
 * Only waits for which it is certain who gave last are looked at.
 */
#ifndef GNOMON_ANALYSE_MEANWHILE_H
#define GNOMON_ANALYSE_MEANWHILE_H

#include "analyse/seen.h"

enum gn_meanwhile_kind {
    GN_MEANWHILE_COMPUTES, /* in a region; where none is open, after a call of the site */
    GN_MEANWHILE_WAITS,    /* in a call of the site, for others */
    GN_MEANWHILE_CALLS,    /* in a call of the site, beside waiting */
    GN_MEANWHILE_OTHER,    /* less, each, than is told; or it was not seen */
};

struct gn_meanwhile_part {
    enum gn_meanwhile_kind kind;
    size_t site;      /* in seen->sites; of none of OTHER */
    uint32_t region;  /* COMPUTES: it, whatever call it follows; GN_NONE */
    double low, high; /* share of the waiting: 0 … 1 */
};

enum { GN_MEANWHILE_PARTS = 6 };

struct gn_meanwhile {
    struct gn_meanwhile_part parts[GN_MEANWHILE_PARTS + 1]; /* the largest first, and OTHER */
    size_t count;                                           /* 0: there are no such waits */
    /* share of the waiting that is for answers: the message that is waited for was sent when what the waiting
     * process had sent last had come, and most of the wait is what was computed since */
    double answers;
    uint64_t times;
};

/* Of waits in the calls with that region and path, for the process. 0, or -ENOMEM with err set. */
int gn_meanwhile_find(struct gn_meanwhile *meanwhile, const struct gn_seen *seen, uint32_t region,
                      uint32_t path, uint32_t process, struct gn_error *err);

#endif

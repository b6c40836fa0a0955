/*
 * analyse/meanwhile — what a process did while others waited for it in a call: from when they came to when it
 * gave what they waited for. A wait is split over its partner's concurrent path (Sikora 2016, section 3.4),
 * backwards:
 *
 *   that waits   │enter ................................................ │ left
 *   its partner  ···· computes │ waits │ transfer │ computes │ gives ───┘
 *
 * Where the partner waits itself, what lies behind that is on the path of the one that it waits for, and so
 * on: these are the roots of it, of any process.
 *
 * Only waits for which it is certain who gave last are looked at.
 */
#ifndef GNOMON_ANALYSE_MEANWHILE_H
#define GNOMON_ANALYSE_MEANWHILE_H

#include "analyse/contributions.h"
#include "analyse/seen.h"

struct gn_meanwhile_part {
    enum gn_doing doing;
    uint32_t process; /* whose; of OTHER GN_NONE */
    size_t site;      /* in seen->sites; of none of OTHER */
    uint32_t region;  /* COMPUTES: it, whatever call it follows; GN_NONE */
    double low, high; /* share of the waiting: 0 … 1 */
};

enum { GN_MEANWHILE_PARTS = 6 };

/* The largest first, and OTHER; count 0: there are no such waits. */
struct gn_meanwhile_parts {
    struct gn_meanwhile_part items[GN_MEANWHILE_PARTS + 1];
    size_t count;
};

struct gn_meanwhile {
    struct gn_meanwhile_parts direct, /* of the one that is waited for */
        roots;                        /* … and of those behind its waits, in place of these */
    /* share of the waiting that is for answers: the message that is waited for was sent when what the waiting
     * process had sent last had come, and most of the wait is what was computed since */
    double answers;
    uint64_t times;
};

/* Of waits in the calls with that region and path, for the process. 0, or -ENOMEM with err set. */
int gn_meanwhile_find(struct gn_meanwhile *meanwhile, const struct gn_seen *seen, uint32_t region,
                      uint32_t path, uint32_t process, struct gn_error *err);

#endif

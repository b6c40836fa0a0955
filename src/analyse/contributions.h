/* analyse/contributions — how much of a wait is whose doing: sums by process, what it did, and where. */
#ifndef GNOMON_ANALYSE_CONTRIBUTIONS_H
#define GNOMON_ANALYSE_CONTRIBUTIONS_H

#include <stddef.h>
#include <stdint.h>

enum gn_doing {
    GN_DOING_COMPUTES, /* in a region; where none is open, after a call of the site */
    GN_DOING_WAITS,    /* in a call of the site, for others */
    GN_DOING_CALLS,    /* in a call of the site, beside waiting */
    GN_DOING_OTHER,    /* less, each, than is told; or it was not seen */
};

struct gn_contribution {
    uint32_t process;
    enum gn_doing doing;
    uint32_t region;     /* COMPUTES: it, whatever call it follows; GN_NONE */
    size_t site;         /* in gn_seen's sites; 0 with a region */
    double lo_ns, hi_ns; /* at least, at most */
};

/* Zeros are an empty one. */
struct gn_contributions {
    struct gn_contribution *items;
    size_t count, capacity;
    size_t merged; /* items up to here are of different things */
};

/* 0 or -ENOMEM. */
int gn_contributions_add(struct gn_contributions *all, const struct gn_contribution *one);

/* One item for each process, doing and place, the one with the most first. */
void gn_contributions_sort(struct gn_contributions *all);

void gn_contributions_clear(struct gn_contributions *all);

#endif

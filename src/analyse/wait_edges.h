/*
 * analyse/wait_edges — the edges between processes: in which call a location waited, for which call of whom,
 * and of which kind that is. What Scalasca's patterns name; who is to blame in the end, further up such
 * edges, is analyse/waits.h's.
 */
#ifndef GNOMON_ANALYSE_WAIT_EDGES_H
#define GNOMON_ANALYSE_WAIT_EDGES_H

#include "analyse/givers.h"
#include "base/lookup.h"

enum gn_wait_kind {
    GN_WAIT_LATE_SENDER,    /* a receive for its send */
    GN_WAIT_LATE_RECEIVER,  /* a send, or its completion, for its receive: synchronous, or large */
    GN_WAIT_BARRIER,        /* for the last one in a barrier */
    GN_WAIT_NXN,            /* … in a collective from all to all */
    GN_WAIT_LATE_BROADCAST, /* for the root that has the data */
    GN_WAIT_EARLY_REDUCE,   /* a root, for those that give */
    GN_WAIT_EARLY_SCAN,     /* for a lower rank */
    GN_WAIT_WINDOW,         /* one-sided synchronisation */
    GN_WAIT_KINDS
};

/* "late sender"; and what it means, a sentence without its end. */
const char *gn_wait_kind_name(enum gn_wait_kind kind);

struct gn_wait_edge {
    uint32_t location, region, path; /* that waits, and its call */
    uint32_t giver; /* location that gave last; GN_NONE: one of several, which of them nobody can tell */
    uint32_t giver_region, giver_path; /* of the call in which it gave */
    uint8_t kind;
    double lo_ns, hi_ns;     /* sum */
    uint64_t times, certain; /* calls that may have waited, and those that surely have, for this giver */
};

/* All zero at first. */
struct gn_wait_edges {
    struct gn_wait_edge *items; /* [count] */
    size_t count, capacity;
    struct gn_lookup index;
};

/* A call that waited, and those that it may have waited for. 0 or -ENOMEM. */
int gn_wait_edges_add(struct gn_wait_edges *edges, const struct gn_givers *givers, uint32_t call,
                      struct gn_span waited);
/* The one with the same ends, calls and kind: its index, or GN_LOOKUP_NOTHING. */
int64_t gn_wait_edges_find(const struct gn_wait_edges *edges, const struct gn_wait_edge *edge);
/* Adds to that one, or puts it there. Its index, or -ENOMEM. */
int64_t gn_wait_edges_put(struct gn_wait_edges *edges, const struct gn_wait_edge *edge);
/* By lo_ns, then hi_ns, descending. Nothing can be added or found then. */
void gn_wait_edges_sort(struct gn_wait_edges *edges);
void gn_wait_edges_clear(struct gn_wait_edges *edges);

#endif

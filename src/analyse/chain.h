/*
 * analyse/chain — how one rank's delay reaches the others: who waits for it, who waits for those, …, by the
 * edges that were seen (analyse/wait_edges.h), the largest first.
 */
#ifndef GNOMON_ANALYSE_CHAIN_H
#define GNOMON_ANALYSE_CHAIN_H

#include "analyse/seen.h"

enum { GN_CHAIN_HOPS = 5 };

struct gn_chain {
    struct gn_chain_hop {
        uint32_t waiter;       /* process; where several wait in that call, the one that waits longest */
        uint32_t waiters;      /* so many do */
        uint32_t waits_for;    /* process */
        uint32_t region, path; /* of the call */
        uint8_t kind;          /* enum gn_wait_kind */
        struct gn_span waited; /* of the run, of all of them */
        uint64_t certain;      /* as often was surely waited, as it was seen */
    } hops[GN_CHAIN_HOPS];
    size_t count;
};

/* Hops of less than floor_ns each are left out, with all that follows. edges: as gn_seen_edges has them. in:
 * the call of the first hop; NULL: that in which most is waited. */
struct gn_chain_call {
    uint32_t region, path;
};
void gn_chain_find(struct gn_chain *chain, const struct gn_definitions *definitions,
                   const struct gn_seen_edge *edges, size_t count, uint32_t process,
                   const struct gn_chain_call *in, double floor_ns);

#endif

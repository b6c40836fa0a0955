/*
 * analyse/tight — all paths that may be the critical one, as a graph: backward from the run's end, from each
 * call's leave to everything that may have been the last that it was left for.
 *
 *   leave(c) ──► enter(c)               its own enter came last, perhaps
 *            ──► enter(from)            … or a message, or the receiver of a synchronous send
 *            ──► hub ──► enter(part)    … or a collective: the parts that may have been last
 *   enter(c) ──► leave(before)          the computation before the call
 *   enter(BEGIN) ──► origin             where all paths meet
 *
 * A hub stands between the leaves and the enters of an instance's members, so that N members are 2 N edges;
 * and paths that split only because N clocks cannot be told apart meet in it. In a scan each member waits
 * for the lower ones only: there is a hub for each member, which goes on to the hub below. (That hub also
 * leads to parts which are last there, and were not last above: a few paths more than are possible, never
 * one less.)
 *
 * A vertex is certain when all paths have it. In an order in which each edge goes forward, those are the
 * vertices that are alone on the frontier (reached, not gone through yet) when their turn comes: a path from
 * any other vertex of the frontier, which lies behind, could not come back to it.
 */
#ifndef GNOMON_ANALYSE_TIGHT_H
#define GNOMON_ANALYSE_TIGHT_H

#include "analyse/history.h"

/* Vertices: call << 1 its enter, call << 1 | 1 its leave (as in steps); then a hub per part, of which those
 * instances that are no scan use only the first; then the origin. */
struct gn_tight {
    const struct gn_history *history;
    uint32_t first_hub, origin;
    uint32_t *vertices; /* [count] that are on possible paths, in the order of the paths, the origin last */
    uint8_t *marks;     /* [origin + 1] enum gn_tight_mark */
    size_t count;
    uint64_t branches; /* vertices at which it is not known where the path goes on */
    struct gn_tight_last {
        int64_t lo_ns, hi_ns; /* INT64_MIN: there are none */
        uint32_t tight;       /* how many may be it; not of a scan */
    } * lasts; /* [part_count] of a scan: when the last of the givers below came; elsewhere, at the instance's
                  first part, of all givers */
    struct gn_edge {
        uint32_t to;
        double lo_ns, hi_ns;                 /* from a leave: to it from what came last, time of the call */
        double crosses_lo_ns, crosses_hi_ns; /* as much of that in which something came from elsewhere */
    } * edges;                               /* room for those of a vertex */
};
enum gn_tight_mark { GN_TIGHT_POSSIBLE = 1, GN_TIGHT_CERTAIN = 2 };

/* 0, and the caller clears; -ENOMEM or -E2BIG with err set. The history outlives it. */
int gn_tight_find(struct gn_tight *tight, const struct gn_history *history, struct gn_error *err);
void gn_tight_clear(struct gn_tight *tight);

/* The leaves of the calls with which the run may have ended: into calls[location_count]; how many. */
size_t gn_tight_ends(const struct gn_history *history, uint32_t *calls);
/* The edges from a vertex, into tight->edges; how many: of all but the origin at least one. */
size_t gn_tight_edges(struct gn_tight *tight, uint32_t vertex);

#endif

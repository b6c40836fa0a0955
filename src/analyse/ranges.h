/*
 * analyse/ranges — how much of each of several things is on the paths that may be the critical one: the least
 * that any of them has of it, and the most.
 *
 * Which stretches all paths have is not enough: where equal ranks take turns at being last, no stretch of
 * their work is certain, but each path has a stretch of the same work. So least and most are carried from
 * vertex to vertex along the paths, for each thing by itself. A vertex with one edge hands its numbers on;
 * only where paths part or meet are they copied and compared. So the time is linear in the paths' vertices,
 * and in the things only at branches.
 */
#ifndef GNOMON_ANALYSE_RANGES_H
#define GNOMON_ANALYSE_RANGES_H

#include "analyse/tight.h"

struct gn_range {
    double lo_ns, hi_ns;
};

/* Which of the things the time of calls and pieces is; GN_NONE: none. A thing of each is keys[of_…[…]]. */
struct gn_ranges_of {
    const uint32_t *of_call, *of_piece; /* [call_count], [piece_count] numbers of rows, or GN_NONE */
    const uint32_t *keys;               /* [rows] numbers of things below count, or GN_NONE */
    size_t count;
};

/* ranges: [count + 1], the last one of what crosses between locations. 0 or -ENOMEM. The rows of vertices
 * that are on no possible path are not looked at. */
int gn_ranges_find(struct gn_range *ranges, struct gn_tight *tight, const struct gn_ranges_of *of);

#endif

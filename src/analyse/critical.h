/*
 * analyse/critical — the critical path of a run: what each activity and each call has on the chain of causes
 * that the run's length is made of, as intervals.
 *
 * Backward from the run's end: where a call was left for something that came from elsewhere, the path goes on
 * there, at the enter of the call that gave it. Where the clocks do not tell what came last, all that may
 * have are followed: a time is certainly on the path when every possible path has it, and possibly when one
 * has. See analyse/tight.h for the graph of these paths, analyse/ranges.h for what is between them.
 *
 * The time in a call is the call's from what it was left for (its own enter, or what another process gave) to
 * its leave; what comes before that is waiting, and on no path. So along each possible path the rows' times
 * add up to the time from the path's begin to the run's end.
 */
#ifndef GNOMON_ANALYSE_CRITICAL_H
#define GNOMON_ANALYSE_CRITICAL_H

#include "analyse/history.h"

struct gn_critical_row {
    uint32_t activity;     /* GN_NONE: a call, or all */
    uint32_t path, region; /* of calls: where path is GN_NONE those of the region; both GN_NONE: no call */
    uint32_t process;      /* GN_NONE: of all processes together */
    double lo_ns, hi_ns;   /* on the path: 0 ≤ lo ≤ hi ≤ length.hi of the history */
    bool is_followed;      /* there is a possible path with no more than lo; else perhaps not */
};

struct gn_critical {
    /* Only with hi_ns > 0. First those of each process; then from index first_whole on those of all processes
     * together; then from first_process on all activities and calls of a process together. Each by lo_ns,
     * then hi_ns, descending; equals by activity, path, region, process. */
    struct gn_critical_row *rows;
    size_t count, first_whole, first_process;
    double transfer_lo_ns, transfer_hi_ns; /* of the calls' time: that in which something came from another
                                              location: from what was given to the leave that it ended */
    uint64_t branches;                     /* places where clocks do not tell where the path goes on */
    uint64_t untold; /* calls on it that others may have held up, and nothing tells who: what comes before one
                        may be elsewhere */
    double untold_ns;
    uint64_t unsure; /* calls on possible paths of which it is not certain what they took */
};

/* 0, and the caller clears; or -ENOMEM or -E2BIG with err set. Linear in the history's size. */
int gn_critical_find(struct gn_critical *critical, const struct gn_history *history, struct gn_error *err);
void gn_critical_clear(struct gn_critical *critical);

#endif

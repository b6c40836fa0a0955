/*
 * analyse/sweep — which single change helps most: every activity at every process, and at all of them, made
 * faster by 5 … 50 %, and at a process that takes longer than others to the mean and to the median of them.
 * On all cores.
 *
 * A change gains no more than its share of the activity's time on the critical path (analyse/critical.h), so
 * changes are tried in the order of what they could gain, until none that is left could be among the best:
 *
 *   - certain gain: in a pass (analyse/whatif.c) a location's `lo` at a call's leave is at most that of each
 *     input that may have been the last, because for these nothing is added; so along every possible path it
 *     is at most the share of the pieces' lo_ns there, and at the end at most the least of all paths: lo_ns
 *     of a row of the critical path, where that is_followed.
 *   - possible gain: `hi` is at most that of some input that may have been the last, so at most the share of
 *     the pieces' hi_ns on some possible path: hi_ns of the row. (Not so in a scan, of which a pass follows
 *     all lower ranks; there the possible gain does not decide that something is not tried.)
 *
 * A larger share never gains less: so 50 % is tried first, and smaller ones only of what is among the best.
 * What a program does before MPI_Init, and what ends it, is no remedy: such changes come behind all others.
 *
 * Nothing of this depends on how many threads there are: changes are tried in rounds of a given size, and
 * compared with what was best before the round.
 */
#ifndef GNOMON_ANALYSE_SWEEP_H
#define GNOMON_ANALYSE_SWEEP_H

#include "analyse/critical.h"
#include "analyse/whatif.h"

enum gn_sweep_to {
    GN_SWEEP_FASTER,   /* by 5, 10, … 50 % */
    GN_SWEEP_TO_MEAN,  /* to the mean of the processes that have the activity */
    GN_SWEEP_TO_MEDIAN /* to their median */
};

struct gn_answer {
    uint32_t activity;
    uint32_t process; /* GN_NONE: all; only GN_SWEEP_FASTER */
    enum gn_sweep_to to;
    double share;         /* 0 … 1 of its time that goes */
    bool is_start_or_end; /* computation before MPI_Init, before MPI_Finalize or after the last call */
    struct gn_whatif_result result;
};

struct gn_sweep_settings {
    size_t best;                                /* answers wanted, at least 1 */
    unsigned threads;                           /* 0: one per core that this process may use */
    void (*progress)(void *self, double share); /* NULL: nobody is told; from the caller's thread */
    void *self;
};

struct gn_sweep {
    /* [count] that gain anything at all, those of the start and end last, by certain gain (reduction_lo),
     * then possible gain, descending, then by activity, process and kind. One per activity, process and kind
     * of change: the smallest share that gains as much as the largest one, to 1 ns. */
    struct gn_answer *answers;
    size_t count;
    uint64_t candidates, tried; /* the others could not be among the best */
};

/* critical: of the same history. 0, and the caller clears; or -ENOMEM with err set. */
int gn_sweep(struct gn_sweep *sweep, const struct gn_history *history, const struct gn_critical *critical,
             const struct gn_sweep_settings *settings, struct gn_error *err);
void gn_sweep_clear(struct gn_sweep *sweep);

#endif

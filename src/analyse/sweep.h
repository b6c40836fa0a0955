/*
 * analyse/sweep — which single change helps most: every activity at every process (and at all of them), made
 * faster by 5 … 50 %, to the mean and to the median of the processes; and stragglers removed. On all cores.
 *
 * A change can gain no more than its share of the activity's time on the critical path, so candidates are
 * tried in the order of what they could gain, until none that is left could be among the best.
 */
#ifndef GNOMON_ANALYSE_SWEEP_H
#define GNOMON_ANALYSE_SWEEP_H

#include "analyse/critical.h"
#include "analyse/whatif.h"

enum gn_sweep_to { GN_SWEEP_FASTER, GN_SWEEP_TO_MEAN, GN_SWEEP_TO_MEDIAN };

struct gn_answer {
    uint32_t activity;
    uint32_t process; /* GN_NONE: all */
    enum gn_sweep_to to;
    double share; /* 0 … 1 of its time that goes */
    struct gn_whatif_result result;
};

struct gn_sweep_settings {
    size_t best;                                /* answers wanted */
    unsigned threads;                           /* 0: one per core that this process may use */
    void (*progress)(void *self, double share); /* NULL: nobody is told */
    void *self;
};

struct gn_sweep {
    struct gn_answer *answers; /* [count] by certain gain (reduction_lo), descending; one per activity,
                                  process and kind of change: the smallest share that gains as much */
    size_t count;
    uint64_t candidates, tried; /* the others could not be among the best */
};

int gn_sweep(struct gn_sweep *sweep, const struct gn_history *history, const struct gn_critical *critical,
             const struct gn_sweep_settings *settings, struct gn_error *err);
void gn_sweep_clear(struct gn_sweep *sweep);

#endif

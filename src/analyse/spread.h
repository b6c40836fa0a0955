/*
 * analyse/spread — what shares that were found in windows of a run (agent/windows.h), put one after the
 * other, are in all of it.
 *
 * How a program starts and ends MPI happens once; what lies between, its middle, is what windows are a sample
 * of. So the analysis is done again of the middle alone, and that is scaled to the length of the run's; what
 * the windows have besides counts once, and what they have not may be anything.
 *
 *     run  │ MPI_Init │············ middle ············│ MPI_Finalize │
 *     seen  ├─ once ──┼─ 1 ─┤    ├─ 2 ─┤       ├─ 3 ─┤
 *
 * It is done again, too, each time without one group of the windows, every so-manieth of them: how much its
 * shares differ then says how far chance may have taken those of all (the jackknife that leaves out groups;
 * Student's t, 95 %). Windows are closer to each other in a run's beginning, so it is done of the earlier and
 * of the later half alone: had they their part of the run's time, a share would be as much higher or lower.
 * And whatever the rest was like, what was seen bounds all of it.
 */
#ifndef GNOMON_ANALYSE_SPREAD_H
#define GNOMON_ANALYSE_SPREAD_H

#include "event/kept_window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_spread;

struct gn_spread_settings {
    const struct gn_kept_window *windows; /* [count] in their order */
    size_t count;
    struct gn_kept_window run, middle; /* what they stand for, and where in it its middle is */
    const struct gn_kept_window
        *off; /* [off_count] nobody wanted windows then: they stand for nothing of it */
    size_t off_count;
};
/* The caller frees. NULL: no memory. */
struct gn_spread *gn_spread_new(const struct gn_spread_settings *settings);
void gn_spread_free(struct gn_spread *spread); /* NULL is allowed */

/* How often the analysis is to be done again; 0: there are too few windows. */
size_t gn_spread_rounds(const struct gn_spread *spread);
/* Cuts a window to what the round has of it; false: nothing. */
bool gn_spread_cut(const struct gn_spread *spread, size_t round, size_t number,
                   struct gn_kept_window *window);

/* What is added from now on was found in that round; GN_SPREAD_NO_ROUND: it is not asked for. */
#define GN_SPREAD_NO_ROUND SIZE_MAX
void gn_spread_begin(struct gn_spread *spread, size_t round);
bool gn_spread_is_in_round(const struct gn_spread *spread); /* NULL is allowed: no */
/* What bears that name is from lo to hi in the round. Of a name that several bear nothing is known. 0 or
 * -ENOMEM. */
int gn_spread_add(struct gn_spread *spread, const char *name, double lo, double hi);
/* A round could not be done: only what was seen bounds the rest. */
void gn_spread_give_up(struct gn_spread *spread);

/* In all of the run, of what is from lo to hi in all windows; both at most 1. What is in no round is nothing
 * there; with only_best it may not have been among those that were told. */
void gn_spread_of_run(const struct gn_spread *spread, const char *name, bool only_best, double lo, double hi,
                      double *run_lo, double *run_hi);

#endif

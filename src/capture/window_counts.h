/*
 * capture/window_counts — which one a collective on a window is, and which epoch a call begins or ends there.
 *
 * Collectives on a window (making it, fences, freeing it) are counted from 0, by all its members alike. Of
 * epochs between groups (MPI_Win_post … wait, MPI_Win_start … complete) each process counts its own; the n-th
 * that one opens towards another is the n-th that this one opens towards it. As long as a process names one
 * group only on a window, n is the same towards all of its members: that is the epoch's number. Once it has
 * named another one, numbers end: towards whom it is the how manyeth, no single number can say.
 *
 * Calls that are not recorded are counted, too.
 */
#ifndef GNOMON_CAPTURE_WINDOW_COUNTS_H
#define GNOMON_CAPTURE_WINDOW_COUNTS_H

#include "capture/handle.h"

#include <stdint.h>

enum gn_epoch_side {
    GN_EPOCH_ACCESS,  /* MPI_Win_start … MPI_Win_complete */
    GN_EPOCH_EXPOSURE /* MPI_Win_post … MPI_Win_wait, MPI_Win_test */
};

struct gn_epoch {
    uint32_t group;  /* a number of capture/comms; GN_NONE: not known */
    uint64_t number; /* GN_UNNUMBERED: not known */
};

/* Takes memory for the windows of gn_ring_memory. 0 or -1. */
int gn_window_counts_open(void);

/* window: a number of capture/comms; GN_NONE is allowed everywhere. After a successful call. */
uint64_t gn_window_counts_collective(uint32_t window);
struct gn_epoch gn_window_counts_begin(uint32_t window, enum gn_epoch_side side, gn_handle group);
struct gn_epoch gn_window_counts_end(uint32_t window, enum gn_epoch_side side);

#endif

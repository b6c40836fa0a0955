/*
 * analyse/pieces — a long window (agent/windows.h) as several that stand for a run one by one.
 *
 * How well windows stand for the rest of a run is known from how they differ (analyse/estimate.h). A program
 * that makes few calls has few of them, and each is long: a single one of half the run says nothing of how
 * its parts differ, although all of them were seen. So it is cut: what is counted of the pieces lies side by
 * side, and around it each has as much of its neighbours as of a window is not counted (analyse/seen.h).
 *
 *   │────────────────────────────── window ──────────────────────────────│
 *   │ ╌╌ │  counted  │ ╌╌ │
 *           │ ╌╌ │  counted  │ ╌╌ │
 *                   │ ╌╌ │  counted  │ ╌╌ │ …
 */
#ifndef GNOMON_ANALYSE_PIECES_H
#define GNOMON_ANALYSE_PIECES_H

#include "event/kept_window.h"

#include <stddef.h>

enum { GN_PIECES_OF_RUN = 24 /* that a window of all of it is cut into, where it has the events */ };

/* run: at its begin and its end a window has no margin. ticks: of what windows stand for, the run or a part
 * of it. events: of the window; least: of a piece. Returns how many pieces there are, 1: it stays as it is;
 * their ends go to `pieces`, GN_PIECES_OF_RUN of them at most. */
size_t gn_pieces_cut(struct gn_kept_window window, struct gn_kept_window run, uint64_t ticks, uint64_t events,
                     uint64_t least, struct gn_kept_window *pieces);

#endif

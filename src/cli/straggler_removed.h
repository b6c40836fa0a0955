/*
 * cli/straggler_removed — a change tried; and which change it is to remove the straggler (Benavides 2019,
 * section 6, step 2: its score applied to its region).
 *
 * A straggler's score is the share of the run for which it was busy while all others waited. Had it not been
 * late, that time would not have been: so as much of its own work goes, evenly.
 */
#ifndef GNOMON_CLI_STRAGGLER_REMOVED_H
#define GNOMON_CLI_STRAGGLER_REMOVED_H

#include "answer/whatif_report.h"

/* Fills result of the change that the report describes: where its share is an interval, for all in it. 0 or
 * -ENOMEM with err set. */
int gn_change_try(struct gn_whatif_report *report, struct gn_error *err);

/* Tries all that may help, with a progress bar, and keeps the best ones; most 0: all that help. As gn_sweep.
 */
int gn_changes_tried(struct gn_sweep *sweep, const struct gn_history *history,
                     const struct gn_critical *critical, size_t most, struct gn_error *err);

/*
 * Fills straggler, score and share of the report, which has path, history and chosen, and marks its process.
 * region: who is in it is busy (the history then has tracks); NULL: who is outside of MPI calls. 0, or a
 * negative errno value with err set: nobody holds the others up.
 */
int gn_straggler_find(struct gn_whatif_report *report, const char *region, bool *processes,
                      struct gn_error *err);

#endif

/*
 * agent/keep — what an agent has its guard keep (image/kept.h), and how the next agent goes on from it.
 */
#ifndef GNOMON_AGENT_KEEP_H
#define GNOMON_AGENT_KEEP_H

#include "clock/ticks.h"
#include "image/kept.h"
#include "agent/folder.h"
#include "agent/watched.h"

#include <time.h>

/* What is known of the run, for agents of one version of gnomon. */
struct gn_keep_run {
    struct gn_folder folder; /* its path is empty while there is none */
    struct gn_moment first_moment;
    time_t started;
    int expected;
    bool asked; /* for the sheet of the meeting of hosts */
};

/* What an agent finds. */
struct gn_kept_state {
    bool settled; /* all processes had ended */
    bool saved;   /* and the profile is complete in the run's folder */
    struct gn_keep_run run;
    bool have_run;
    int trace_file; /* of GN_KEPT_TRACE, -1 none */
};

/* All: *guard is the channel to it, -1 when there is none (agent/guard.h). */
void gn_keep_run(int *guard, const struct gn_keep_run *run);
void gn_keep_process(int *guard, const struct gn_watched_list *list, const struct gn_watched *watched);
void gn_keep_file(int *guard, enum gn_kept_kind kind, const struct gn_watched_list *list,
                  const struct gn_watched *watched, int file);
void gn_keep_no_output(int *guard, const struct gn_watched_list *list, const struct gn_watched *watched);
void gn_keep_mark(int *guard, enum gn_kept_kind kind); /* GN_KEPT_SETTLED, _SAVED, _OVER */

/* Reads what there is: `items`, which is closed. Processes come into the empty list as they were, their
 * memory mapped; traced ones had rings of ring_records records. -EPROTO: it makes no sense; what made sense
 * is in *state and the list all the same. */
int gn_keep_read(int items, uint32_t ring_records, struct gn_watched_list *list, struct gn_kept_state *state);

#endif

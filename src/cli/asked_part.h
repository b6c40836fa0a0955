/*
 * cli/asked_part — the part of a run that commands which analyse a trace look at: their options --between
 * and --live, and what they make of the trace's events.
 *
 * Of a run, seconds count as for `gnomon report --between`: from the first moment of its time series; of an
 * archive without a run from the trace's begin.
 */
#ifndef GNOMON_CLI_ASKED_PART_H
#define GNOMON_CLI_ASKED_PART_H

#include "base/error.h"
#include "event/definitions.h"
#include "event/kept_window.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* The options -d/--folder, --between and --live, for a command's argp.children. */
extern const struct argp_child gn_asked_part_options[];

bool gn_asked_part_is_set(void);
/* Of a run that goes on. */
bool gn_asked_part_is_live(void);

/* When the part is, on the clock of the definitions, whose events are all on one (trace/placed.h). trace:
 * where they are from. 0, or a negative errno value with err set. */
int gn_asked_part_find(struct gn_kept_window *part, const struct gn_definitions *definitions,
                       const char *trace, struct gn_error *err);
/* The run that is looked at does go on. */
void gn_asked_part_goes_on(void);
bool gn_asked_part_does_go_on(void);
/* Of all of that only so many windows are there, and so large a share of its time. */
void gn_asked_part_seen(size_t windows, double share);

/* Of the part that was found last, and of what there is of it; nothing where that is all of a run. Lines;
 * "between" and "seen" of a report. */
void gn_asked_part_text(FILE *out);
void gn_asked_part_json(json_t *report);

#endif

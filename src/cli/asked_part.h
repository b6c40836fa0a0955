/*
 * cli/asked_part — the part of a run that commands which analyse a trace look at: their option --between, and
 * what it makes of the trace's events.
 *
 * Of a run, seconds count as for `gnomon report --between`: from the first moment of its time series; of an
 * archive without a run from the trace's begin.
 */
#ifndef GNOMON_CLI_ASKED_PART_H
#define GNOMON_CLI_ASKED_PART_H

#include "event/stream.h"
#include "trace/windowed.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* The options -d/--folder and --between, for a command's argp.children. */
extern const struct argp_child gn_asked_part_options[];

bool gn_asked_part_is_set(void);

/* What is left of a source's events, which are all on one clock (trace/placed.h): calls that were left in the
 * part, and regions while it lasts. trace: where they are from. 0, and the caller frees *windowed, whose
 * source `part` is; or a negative errno value with err set. */
int gn_asked_part_cut(struct gn_windowed **windowed, struct gn_source *part, struct gn_source *source,
                      const char *trace, struct gn_error *err);

/* Of the part that was cut last; nothing where none was asked for. A line; "between" of a report. */
void gn_asked_part_text(FILE *out);
void gn_asked_part_json(json_t *report);

#endif

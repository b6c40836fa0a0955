/* answer/waits_report — who waits for whom, in which call: the edges between processes as a table, and as
 * JSON (docs/patterns.md, "waits"). */
#ifndef GNOMON_ANSWER_WAITS_REPORT_H
#define GNOMON_ANSWER_WAITS_REPORT_H

#include "analyse/seen.h"
#include "answer/terminal.h"

#include <jansson.h>
#include <stdio.h>

struct gn_waits_report {
    const struct gn_seen *seen;
    const struct gn_seen_edge *edges; /* [count] the longest first */
    size_t count;
    size_t top; /* that are told; 0: all */
};

void gn_waits_text(const struct gn_waits_report *report, const struct gn_terminal *terminal, FILE *out);
/* A new reference; NULL: no memory. seen: goes into it. */
json_t *gn_waits_json(const struct gn_waits_report *report, json_t *seen);

#endif

/* answer/paths_report — causal execution paths as text for a person, and as JSON and CSV for programs
 * (docs/paths.md). */
#ifndef GNOMON_ANSWER_PATHS_REPORT_H
#define GNOMON_ANSWER_PATHS_REPORT_H

#include "analyse/exec_paths.h"
#include "answer/table.h"

#include <jansson.h>
#include <stdio.h>

struct gn_paths_report {
    const char *path; /* of the trace, as it was named */
    const struct gn_history *history;
    const struct gn_exec_paths *found;
    bool is_absolute; /* partners are ranks */
    size_t top;       /* paths; 0: all */
};

void gn_paths_text(const struct gn_paths_report *report, const struct gn_terminal *terminal, FILE *out);
/* A row for each path. */
struct gn_table gn_paths_table(const struct gn_paths_report *report);
/* A new reference; NULL: no memory. */
json_t *gn_paths_json(const struct gn_paths_report *report);

#endif

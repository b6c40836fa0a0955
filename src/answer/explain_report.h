/* answer/explain_report — the problems of a run in a few lines each, and as JSON (docs/patterns.md). */
#ifndef GNOMON_ANSWER_EXPLAIN_REPORT_H
#define GNOMON_ANSWER_EXPLAIN_REPORT_H

#include "analyse/patterns.h"
#include "answer/terminal.h"

#include <jansson.h>
#include <stdio.h>

struct gn_explain_report {
    const struct gn_summary *summary; /* by activity */
    const struct gn_problems *problems;
    size_t top; /* problems that are told; 0: all */
};

void gn_explain_text(const struct gn_explain_report *report, const struct gn_terminal *terminal, FILE *out);
/* A new reference; NULL: no memory. */
json_t *gn_explain_json(const struct gn_explain_report *report);

#endif

/* answer/critical_report — the critical path as text for a person and as JSON for programs (docs/whatif.md).
 */
#ifndef GNOMON_ANSWER_CRITICAL_REPORT_H
#define GNOMON_ANSWER_CRITICAL_REPORT_H

#include "analyse/critical.h"
#include "analyse/spread.h"
#include "answer/table.h"

#include <jansson.h>
#include <stdio.h>

enum gn_critical_by { GN_CRITICAL_BY_ACTIVITY, GN_CRITICAL_BY_RANK };

struct gn_critical_report {
    const char *path; /* of the trace, as it was named */
    const struct gn_history *history;
    const struct gn_critical *critical;
    enum gn_critical_by by;
    size_t top;               /* rows; 0: all */
    struct gn_spread *spread; /* of what was seen in windows; NULL: all was */
};

void gn_critical_text(const struct gn_critical_report *report, const struct gn_terminal *terminal, FILE *out);
/* Its rows, as text, CSV and JSON. */
struct gn_table gn_critical_table(const struct gn_critical_report *report);
/* A new reference; NULL: no memory. */
json_t *gn_critical_json(const struct gn_critical_report *report);

/* The largest row, by what the report asks: "assign (kmeans.c:156): 45.2 to 45.4 % of the run, 1.20 s";
 * false: there is none. And as in the list of all; null: there is none. */
bool gn_critical_first_text(const struct gn_critical_report *report, FILE *out);
json_t *gn_critical_first_json(const struct gn_critical_report *report);

#endif

/* answer/condition_report — whether a trace satisfies the clock condition (repair/condition.h), as text for a
 * person and as JSON for programs (docs/repair-check.md). */
#ifndef GNOMON_ANSWER_CONDITION_REPORT_H
#define GNOMON_ANSWER_CONDITION_REPORT_H

#include "repair/condition.h"

#include <stdio.h>

struct gn_condition_report {
    const char *trace; /* as it was named; NULL: not to be named */
    const struct gn_definitions *definitions;
    const struct gn_condition *condition;
    const struct gn_latency *latency; /* NULL: 0 */
    enum gn_presync_kind presync;
};

void gn_condition_report_text(const struct gn_condition_report *report, FILE *out);
/* The object that docs/repair-check.md describes. -1: no memory. */
int gn_condition_report_print_json(const struct gn_condition_report *report, FILE *out);

#endif

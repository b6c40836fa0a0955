/* answer/coverage — how much of a trace a check has covered, and what may be said of dependencies that only
 * may hold (repair/condition_counts.h), in the same words wherever they stand. */
#ifndef GNOMON_ANSWER_COVERAGE_H
#define GNOMON_ANSWER_COVERAGE_H

#include "repair/condition_counts.h"

#include <jansson.h>
#include <stdio.h>

/* A line each; of what is uncertain none where there is nothing. */
void gn_coverage_text(const struct gn_condition *condition, FILE *out);
void gn_judged_text(const struct gn_condition *condition, FILE *out);

/* The objects that docs/repair-check.md describes. NULL: no memory. */
json_t *gn_coverage_json(const struct gn_condition *condition);
json_t *gn_judged_json(const struct gn_condition *condition);

#endif

/*
 * answer/report_last_calls — how the ranks of a run that came to a bad end did, and what they did last.
 */
#ifndef GNOMON_ANSWER_REPORT_LAST_CALLS_H
#define GNOMON_ANSWER_REPORT_LAST_CALLS_H

#include "answer/report.h"

#include <jansson.h>

/* A few words on when it ended, against the others: ", first", ", 1.2 ms later"; nothing where it is not
 * known. */
void gn_report_ending(const struct gn_summary *summary, const struct gn_trouble_row *trouble, FILE *out);

/* A line for each of its last calls. */
void gn_report_last_calls(const struct gn_trouble_row *trouble, const struct gn_terminal *terminal,
                          FILE *out);

/* Members `ending` and `last_calls` of docs/report-format.md. */
/* How it ended the run itself, behind how it ended; nothing of one that did not. */
void gn_report_fatal(const struct gn_trouble_row *trouble, FILE *out);

/* An object, or null. */
json_t *gn_report_fatal_json(const struct gn_trouble_row *trouble);
json_t *gn_report_ending_json(const struct gn_trouble_row *trouble);
json_t *gn_report_last_calls_json(const struct gn_trouble_row *trouble);

#endif

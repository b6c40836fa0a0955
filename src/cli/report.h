/*
 * cli/report — a summary as text for a person, as JSON and CSV for programs (docs/report-format.md).
 */
#ifndef GNOMON_CLI_REPORT_H
#define GNOMON_CLI_REPORT_H

#include "cli/findings.h"
#include "profile/summary.h"

#include <stdio.h>

struct gn_report_options {
    enum gn_by by;
    int top; /* rows to show, 0: all */
    bool raw;
    bool color;
    int width;                          /* columns */
    const char *folder;                 /* for the next command; NULL when the run could not be saved */
    const struct gn_findings *findings; /* of the run's trace; NULL: nobody has looked */
};

void gn_report_text(const struct gn_summary *summary, const struct gn_report_options *options, FILE *out);
int gn_report_json(const struct gn_summary *summary, const struct gn_report_options *options, FILE *out);
void gn_report_csv(const struct gn_summary *summary, const struct gn_report_options *options, FILE *out);

/* The report at the end of a run, to a descriptor that may be a terminal. The launcher waits for it, and it
 * is made in the agent: so the trace is not read, and the commands that do are named. */
void gn_report_after_run(sqlite3 *profile, const char *folder, int descriptor);

/* Colour and width as the descriptor, NO_COLOR and COLUMNS say. */
void gn_report_terminal(struct gn_report_options *options, int descriptor);

extern const char *const gn_by_names[];

#endif

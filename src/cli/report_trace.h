/* cli/report_trace — the trace of the run that a report is of, and what else is kept of its events. */
#ifndef GNOMON_CLI_REPORT_TRACE_H
#define GNOMON_CLI_REPORT_TRACE_H

#include "answer/report.h"
#include "cli/explained.h"

/* What was found out about a run beside its rows. */
struct gn_report_looked {
    struct gn_findings findings;       /* of its trace */
    struct gn_cli_explained explained; /* of all that is kept */
};

/* Looks at it, only with the rows that say where the time went: who asks for others asks for no more.
 * asked->findings and asked->problems are what was found then; the caller clears. */
void gn_report_look(struct gn_report_looked *looked, const struct gn_summary *summary, const char *profile,
                    bool with_trace, struct gn_report_options *asked);
void gn_report_looked_clear(struct gn_report_looked *looked);

/* In place: other commands take the run, and not its profile.db. */
void gn_report_cut_profile(char *folder);

#endif

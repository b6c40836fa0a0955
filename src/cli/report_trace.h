/* cli/report_trace — the trace of the run that a report is of, and what else is kept of its events. */
#ifndef GNOMON_CLI_REPORT_TRACE_H
#define GNOMON_CLI_REPORT_TRACE_H

#include "answer/report.h"
#include "cli/explained.h"
#include "cli/report_options.h"

/* What was found out about a run beside its rows. */
struct gn_report_looked {
    struct gn_findings findings;       /* of its trace */
    struct gn_cli_explained explained; /* of all that is kept */
};

/* What is asked of the profile db at this path, or of one world of it. */
struct gn_cli_run gn_report_run(const struct gn_report_asked *asked, sqlite3 *db, const char *profile,
                                bool is_world);
/* Looks at it after gn_cli_summarise with looked->explained, only with the rows that say where the time went:
 * who asks for others asks for no more. asked->findings and asked->problems are what was found then; the
 * caller clears. */
void gn_report_look(struct gn_report_looked *looked, const struct gn_cli_run *run, struct gn_summary *summary,
                    struct gn_report_options *asked);
void gn_report_looked_clear(struct gn_report_looked *looked);

/* In place: other commands take the run, and not its profile.db. */
void gn_report_cut_profile(char *folder);

#endif

/* cli/report_trace — the trace of the run that a report is of. */
#ifndef GNOMON_CLI_REPORT_TRACE_H
#define GNOMON_CLI_REPORT_TRACE_H

#include "answer/report.h"

/* Looks at it, only with the rows that say where the time went: who asks for others, or for a table, asks for
 * no more. asked->findings is findings then; the caller clears. */
void gn_report_look_at_trace(struct gn_findings *findings, const struct gn_summary *summary,
                             const char *profile, struct gn_report_options *asked);

/* The archive of a profile's run; false: there is none, or one per host. */
bool gn_report_trace_of(const struct gn_trace_facts *facts, const char *profile, char *path, size_t size);

/* In place: other commands take the run, and not its profile.db. */
void gn_report_cut_profile(char *folder);

#endif

/*
 * cli/findings — what a run's trace says, for its report: whom the others wait for, what would help most, and
 * what most of the run's length is. The first line of `gnomon stragglers`, `gnomon whatif` (the first at one
 * rank) and `gnomon critical`; those commands say all.
 *
 * A report is asked for often, and shall not take long: of a trace with more events than GN_FINDINGS_MOST it
 * only says which commands to run. After a run, where the launcher waits for the report, it says no more than
 * that whatever the size (gn_report_after_run).
 */
#ifndef GNOMON_CLI_FINDINGS_H
#define GNOMON_CLI_FINDINGS_H

#include "answer/report.h"

#include <jansson.h>

enum { GN_FINDINGS_MOST = 1000000 }; /* some seconds at worst */

/* trace: an archive, or a run that has one. Progress goes to standard error. What goes wrong is said in the
 * findings. The caller clears. */
void gn_findings_look(struct gn_findings *findings, const char *trace, const struct gn_terminal *terminal);
void gn_findings_clear(struct gn_findings *findings);

#endif

/* cli/explain_trace — problems of a run with a trace, priced by replay, and whom the others were seen waiting
 * for. */
#ifndef GNOMON_CLI_EXPLAIN_TRACE_H
#define GNOMON_CLI_EXPLAIN_TRACE_H

#include "analyse/patterns.h"

/* profile: path of the run's. Without a trace nothing changes; what goes wrong is said on standard error. */
void gn_explain_by_trace(struct gn_problems *problems, const struct gn_summary *summary, const char *profile);

#endif

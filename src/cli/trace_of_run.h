/* cli/trace_of_run — the trace of the run that a profile is of; trace/run_of_trace is the other way round. */
#ifndef GNOMON_CLI_TRACE_OF_RUN_H
#define GNOMON_CLI_TRACE_OF_RUN_H

#include "profile/summary.h"

/* The archive of a profile's run; false: there is none, or one per host. */
bool gn_trace_of_run(const struct gn_trace_facts *facts, const char *profile, char *path, size_t size);

#endif

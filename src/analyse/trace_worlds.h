/*
 * analyse/trace_worlds — of how many worlds of MPI processes (graph/world.h) a trace has the events.
 *
 * A trace is of what was started together. That is one world, unless the launcher was another library's.
 */
#ifndef GNOMON_ANALYSE_TRACE_WORLDS_H
#define GNOMON_ANALYSE_TRACE_WORLDS_H

#include <stdbool.h>
#include <stddef.h>

/* path: as for gn_trace_open. What the profile of its run says, where that lies beside the archive; otherwise
 * 0. */
size_t gn_trace_worlds(const char *path);

/* Whether the profile of its run says that the run, as far as it was traced, did not end normally or that not
 * all of it was measured. */
bool gn_trace_is_partial(const char *path);

/* Says on standard error, as `gnomon COMMAND`, of which world of the run the trace is, if the run is several.
 */
void gn_trace_worlds_tell(const char *path, const char *command);

#endif

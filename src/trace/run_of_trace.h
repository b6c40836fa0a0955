/* trace/run_of_trace — the run that an archive is part of: RUN/trace/traces.otf2 has RUN/profile.db beside
 * it.
 */
#ifndef GNOMON_TRACE_RUN_OF_TRACE_H
#define GNOMON_TRACE_RUN_OF_TRACE_H

#include <stdbool.h>
#include <stddef.h>

/* Path of the profile, in `size` bytes. False: there is none that could be read, or no archive at `path`. */
bool gn_run_of_trace(const char *path, char *profile, size_t size);

#endif

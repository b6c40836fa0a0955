/* agent/trace_complete — archives whose agent was killed: their events are there, what they refer to is
 * beside them (agent/part_file.h), at most about a second old. */
#ifndef GNOMON_AGENT_TRACE_COMPLETE_H
#define GNOMON_AGENT_TRACE_COMPLETE_H

#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>

/* Whether there is one in a run's folder. */
bool gn_trace_is_unfinished(const char *folder);

/* Writes the definitions of all such archives in a run's folder, and joins those of several hosts. profile:
 * with sites resolved. Not while the run goes on. Returns how many archives were completed, or a negative
 * errno value. */
int gn_trace_complete(const char *folder, sqlite3 *profile, struct gn_error *err);

/* Likewise the windows of events that the profile tells of; where nothing can be made of them, it tells why
 * instead. */
void gn_windows_complete(const char *folder, sqlite3 *profile);

#endif

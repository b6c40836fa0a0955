/*
 * agent/trace_join — the archives of several hosts become one: RUN/trace-<host>, … → RUN/trace; of windows
 * likewise.
 *
 * Event files are moved as they are: no two have the same name, as names are ranks and threads. What is the
 * same on several hosts (regions, paths, communicators) is defined once, and maps in each location's own
 * definitions lead from its numbers to those.
 *
 * Hosts have counters of their own. OTF2 clock offsets place events on one of them, the reference's. Where
 * the run's exchanges have bounded a host's clock, the offsets' deviations are those bounds
 * (trace/clock_offsets.h). Otherwise all there is is that each counter was compared with its host's
 * CLOCK_REALTIME when the agent began and when it ended: that says nothing certain about the order of events
 * on different hosts, and neither do the deviations.
 */
#ifndef GNOMON_AGENT_TRACE_JOIN_H
#define GNOMON_AGENT_TRACE_JOIN_H

#include "base/error.h"

#include <sqlite3.h>

/*
 * Joins all parts NAME-<host> in a run's folder into NAME. profile: what is known of the hosts' clocks; NULL:
 * nothing. Returns how many there were (0: nothing to do), or a negative errno value; then the parts are left
 * as they were, as far as that is possible. Not while another process does the same.
 */
int gn_trace_join(const char *folder, const char *name, sqlite3 *profile, struct gn_error *err);

/*
 * Likewise those of windows of events, where the profile has some: what all hosts have of them is noted in
 * it, or why they are of no use; then the parts are removed.
 */
void gn_trace_join_windows(const char *folder, sqlite3 *profile);

/* The profile tells of no windows of events any more, and why. */
void gn_windows_forget(sqlite3 *profile, const char *why);

/* Removes the parts NAME-<host>. */
void gn_trace_join_discard(const char *folder, const char *name);

#endif

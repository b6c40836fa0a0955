/*
 * live/trace_join — the archives of several hosts become one: RUN/trace-<host>, … → RUN/trace.
 *
 * Event files are moved as they are: no two have the same name, as names are ranks and threads. What is the
 * same on several hosts (regions, paths, communicators) is defined once, and maps in each location's own
 * definitions lead from its numbers to those.
 *
 * Hosts have counters of their own. Each counter was compared with its host's CLOCK_REALTIME when the agent
 * began and when it ended; from these, OTF2 clock offsets place events on the first host's counter. That is
 * as coarse as the hosts' clocks agree: it says nothing certain about the order of events on different hosts.
 */
#ifndef GNOMON_LIVE_TRACE_JOIN_H
#define GNOMON_LIVE_TRACE_JOIN_H

#include "base/error.h"

/* Joins all parts in a run's folder. Returns how many there were (0: nothing to do), or a negative errno
 * value; then the parts are left as they were, as far as that is possible. Not while another process does the
 * same. */
int gn_trace_join(const char *folder, struct gn_error *err);

#endif

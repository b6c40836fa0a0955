/*
 * agent/abandoned — a run whose agents and guards are all gone (a node or a cgroup was killed): its parts in
 * the run folder are what was saved last, and whoever asks for the run next makes of them what its agents
 * would have made.
 */
#ifndef GNOMON_AGENT_ABANDONED_H
#define GNOMON_AGENT_ABANDONED_H

#include "base/error.h"

/*
 * Finishes a run's folder where that is nobody else's work any more: profile.db of all parts, with source
 * places, and the archive of a trace, also where that alone is missing (the disk was full). 1: done now. 2:
 * likewise, without parts that could not be joined: they stay, and the profile says why (part/NAME). 0:
 * there is nothing to do: it has been finished, or no agent has ever been here. -EBUSY: it is still running,
 * or seems to be: *err says where. -ENODATA: nothing had been saved. -ENOENT, -ENOTDIR: there is no such
 * folder. Other negative errno values: it could not be written, and everything is as before.
 */
int gn_abandoned_finish(const char *folder, struct gn_error *err);

#endif

/*
 * agent/peek — what a run has done until now, while it goes on: its agents are asked to save it, and what
 * they save is joined here. Nothing of the run is stopped or changed.
 */
#ifndef GNOMON_AGENT_PEEK_H
#define GNOMON_AGENT_PEEK_H

#include "profile/profile.h"

/*
 * *db: a profile in memory, with source places and the fact "live"; of a run that has ended its own one. The
 * caller closes. Agents that do not answer within some seconds are taken as they were saved last. -ENODATA:
 * nothing has been saved yet; -ENOENT: there is no such run; other negative errno values. Of one that was
 * killed with its agents: see gn_abandoned_finish, ahead of this.
 */
int gn_peek(sqlite3 **db, const char *folder, struct gn_error *err);

/*
 * Likewise, and in an empty folder `copy` what a run that has ended has: profile.db, and windows of events
 * (docs/windows.md), where it keeps some and had begun one; of why there are none, *db tells. Of a run with a
 * trace there are no events. Returns 1 where the run has ended, and there is nothing in `copy`.
 */
int gn_peek_copy(sqlite3 **db, const char *folder, const char *copy, struct gn_error *err);

#endif

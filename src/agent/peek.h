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
 * nothing has been saved yet; -ENOENT: there is no such run; other negative errno values.
 */
int gn_peek(sqlite3 **db, const char *folder, struct gn_error *err);

#endif

/* agent/parts — what the hosts of a run have saved, in the folder parts/ of the run (docs/run-folder.md). */
#ifndef GNOMON_AGENT_PARTS_H
#define GNOMON_AGENT_PARTS_H

#include "profile/profile.h"

#include <stdbool.h>

/* "node17.db" has the ending ".db". */
bool gn_part_has_ending(const char *name, const char *ending);

/* Joins all parts in the folder into the empty profile db. How many could be joined, *all: each of them; when
 * none could, why the last of them could not: a negative errno value. */
int gn_parts_merge(const char *folder, sqlite3 *db, bool *all, struct gn_error *err);

#endif

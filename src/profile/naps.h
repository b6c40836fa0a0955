/*
 * profile/naps — calls that poll, and between which threads sleep: they wait. Whether a thread computes or
 * sleeps between two polls events do not tell; the samples of its processor time do.
 */
#ifndef GNOMON_PROFILE_NAPS_H
#define GNOMON_PROFILE_NAPS_H

#include "base/error.h"

#include <sqlite3.h>
#include <stdint.h>

/* Each place of polls, by all ranks. Texts as struct gn_call_gone has them (profile/virtual.h), for the time
 * of the call only. Where next to none of the time between two calls of the place was on a core, and there
 * was so much of it that samples would have seen it. 0; or what `each` returns, if that is negative; or a
 * negative errno value with err set. */
int gn_profile_naps(sqlite3 *db, int (*each)(void *self, const char *call, const char *file, int line),
                    void *self, struct gn_error *err);

/* A query for what each process did not compute between two polls (process, ns), of the edges' column own_ns:
 * where its own thread was on no core, nor ready, for most of the time, or was found asleep for half of it,
 * whatever others do there. What is beyond some hundred places of polls counts as computed. */
enum { GN_NAPS_QUERY = 5500 };
void gn_profile_naps_query(sqlite3 *db, const char *own_ns, char query[GN_NAPS_QUERY]);

#endif

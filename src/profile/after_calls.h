/*
 * profile/after_calls — what each rank computes after the calls of a place, until the next call: exactly, of
 * all of the run, where events (analyse/sections.h) may be of a part of it only.
 */
#ifndef GNOMON_PROFILE_AFTER_CALLS_H
#define GNOMON_PROFILE_AFTER_CALLS_H

#include "base/error.h"

#include <sqlite3.h>

/* Of a rank. Texts as struct gn_call_gone has them (profile/virtual.h), for the time of the call only. */
struct gn_after_calls {
    int rank;
    const char *call, *file;
    int line;
    double ns, times;
};

/* Where a program names regions, or where there was no room for all calls, what follows a call is not one
 * row, and nothing is told. 0; or what `each` returns, if that is negative; or a negative errno value with
 * err set. */
int gn_profile_after_calls(sqlite3 *db, int (*each)(void *self, const struct gn_after_calls *after),
                           void *self, struct gn_error *err);

#endif

/*
 * profile/virtual — a profile's calls as they would be had measuring cost nothing (Li & Zhang 5.3): what
 * waits for others waits for what they were delayed by, too. What gnomon has cost a thread itself is no part
 * of its own_ns to begin with (docs/profile-format.md).
 *
 * What is gone of the calls is known from events (analyse/seen.h). Here it becomes the node table that all
 * questions are asked of: one of the same name in front of it, in memory; the file is not touched.
 */
#ifndef GNOMON_PROFILE_VIRTUAL_H
#define GNOMON_PROFILE_VIRTUAL_H

#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

/* Of the time of a rank in calls of one kind from one line. */
struct gn_call_gone {
    int rank;
    const char *call, *file; /* "MPI_Recv"; with line 0 what the place is called, or "" */
    int line;
    double gone_ns; /* so much shorter than measured; below 0: longer, as the rank comes sooner */
};

/* From here on node has these, and a column measured_ns, total_ns as it was. What several call paths, or
 * threads, have of one line is less in proportion to their time. Ranks end together: each is as much earlier
 * as all are in the mean. list is put in order. Only where the run is one world. 0, or a negative errno value
 * with err set. */
int gn_profile_go_virtual(sqlite3 *db, struct gn_call_gone *list, size_t count, struct gn_error *err);

bool gn_profile_is_virtual(sqlite3 *db);

/* Of a thread's time: less than that changes nothing that anybody would tell. */
#define GN_OWN_COST_NOTED 0.001
/* What recording does to caches, and to others, is not in what it takes itself: of that, by more or less. */
#define GN_OWN_COST_BESIDE 0.1
/* … and a run without it may be shorter by as much again: a program that calls MPI every 1.1 us was so by 0.8
 * of what its calls were known to cost. */
#define GN_OWN_COST_HIDDEN 1.0

/* The largest share of a thread's time that measuring has taken. */
double gn_profile_own_share(sqlite3 *db);

#endif

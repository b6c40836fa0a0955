/*
 * profile/period — a part of a run's time: the profile as if only that had been measured, from its time
 * series (docs/profile-format.md, "Series").
 */
#ifndef GNOMON_PROFILE_PERIOD_H
#define GNOMON_PROFILE_PERIOD_H

#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* Seconds since the first of the run's processes began. */
struct gn_period {
    double from_s, to_s;
    bool may_be_empty; /* where both are in one step: nothing, else all of that step */
};

/* As the series has it. */
struct gn_period_told {
    bool is_set;
    double from_s, to_s; /* at moments of the series */
    double off_s;        /* by so much moments of other hosts are earlier or later; infinite: not known */
    double run_s;        /* until its last one */
    uint64_t from_ticks,
        to_ticks; /* of the counter that windows of events are on (profile/moments.h); 0, 0: not known */
};

/*
 * Gets ready what is asked of db when gn_world_select has been called, which comes next: this part of the
 * run. Times, counts and samples are those of the steps between the two moments that are next to what is
 * asked for. What is only known of the whole run (memory, files, processor time, shortest and longest) is not
 * known of it. to_s infinite: until the end. 0; -ENODATA: the
 * profile has no series; -ERANGE: the run has nothing there; or another negative errno value, err saying why.
 */
int gn_period_select(sqlite3 *db, const struct gn_period *period, struct gn_error *err);

/* Whether all rows of `table` (peer, completion) have a series; else -ENODATA, err saying that `what` is
 * known of all of the run only: of an older gnomon, or there was no room. */
int gn_period_has_series(sqlite3 *db, const char *table, const char *what, struct gn_error *err);

/* What was selected. */
struct gn_period_told gn_period_selected(sqlite3 *db);

#endif

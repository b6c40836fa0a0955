/* baselines/compared_run — the comparison of all methods (comparison.h) on the exchanges of a run, as its
 * profile has kept them one by one (gnomon run --keep-exchanges, gnomon clock --keep). */
#ifndef GNOMON_BASELINES_COMPARED_RUN_H
#define GNOMON_BASELINES_COMPARED_RUN_H

#include "baselines/comparison.h"
#include "profile/clock.h"

/* A clock against its parent's. */
struct gn_compared_clock {
    const char *clock, *parent; /* the profile's */
    struct gn_comparison methods[GN_COMPARED_METHODS];
};

struct gn_compared_run {
    struct gn_profile_clocks profile;
    struct gn_compared_clock *clocks; /* those with kept exchanges */
    size_t count;
};

/*
 * The exchanges' halves count as the messages among which fast sends and inversions are looked for.
 * same_counter: all clocks are known to be one and the same, as those of network namespaces are, so the truth
 * is known. 0, and the caller clears; -ENODATA: none were kept; another negative errno value with err set.
 */
int gn_compared_run(struct gn_compared_run *run, sqlite3 *db, bool same_counter, struct gn_error *err);
void gn_compared_run_clear(struct gn_compared_run *run);

#endif

/* profile/moments — when the steps of a profile's time series begin and end (docs/profile-format.md,
 * "Series"). */
#ifndef GNOMON_PROFILE_MOMENTS_H
#define GNOMON_PROFILE_MOMENTS_H

#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a host: step i is from moment i to moment i + 1. */
struct gn_host_moments {
    int64_t id;
    int64_t *ticks;
    double *at_ns; /* since the run began; never descends */
    size_t count;  /* at least 2 */
    size_t room, at_room;
};

struct gn_moments {
    struct gn_host_moments *items;
    size_t count, room; /* hosts, at least one */
    /* Whose counter is that of the run's joined events (trace/placed.h), of the items; SIZE_MAX: the clocks
     * are not known of each other. And its reading when the run's time began. */
    size_t reference;
    bool are_apart; /* those of the hosts are not known against each other */
    uint64_t begin_ticks;
};

/* Where a host's clock is not known against the others', it is as if all had begun together. 0, and the
 * caller clears; -ENODATA: the profile has no series; or another negative errno value; err says why. */
int gn_moments_read(sqlite3 *db, struct gn_moments *moments, struct gn_error *err);
void gn_moments_clear(struct gn_moments *moments);

/* Ticks since the host's first moment; a file may say anything. */
double gn_moments_since(const struct gn_host_moments *host, int64_t ticks);

#endif

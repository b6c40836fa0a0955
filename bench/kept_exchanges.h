/* The clocks of a run's hosts, and their exchanges with the reference that were kept one by one. (The
 * profile's own headers and the analyses' do not go together in one file: both have a gn_activity.) */
#ifndef GNOMON_BENCH_KEPT_EXCHANGES_H
#define GNOMON_BENCH_KEPT_EXCHANGES_H

#include "profile/clock.h"

struct kept_list {
    struct gn_exchange *list;
    size_t count;
};

struct kept_exchanges {
    struct gn_profile_clocks clocks; /* the reference, then the others */
    struct kept_list *of;            /* [clocks.count] with the reference; the reference's own is empty */
};

/* 0, and the caller clears; or a negative errno value with err set: also where a host's exchanges are with
 * another one than the reference. */
int kept_exchanges_read(struct kept_exchanges *kept, const char *run, struct gn_error *err);
void kept_exchanges_clear(struct kept_exchanges *kept);

#endif

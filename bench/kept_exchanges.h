/* The clocks of a run on two hosts, and the exchanges between them that were kept one by one. (The profile's
 * own headers and the analyses' do not go together in one file: both have a gn_activity.) */
#ifndef GNOMON_BENCH_KEPT_EXCHANGES_H
#define GNOMON_BENCH_KEPT_EXCHANGES_H

#include "profile/clock.h"

struct kept_exchanges {
    struct gn_profile_clocks clocks; /* the reference, then the other one */
    struct gn_exchange *list;
    size_t count;
};

/* 0, and the caller clears; or a negative errno value with err set. */
int kept_exchanges_read(struct kept_exchanges *kept, const char *run, struct gn_error *err);
void kept_exchanges_clear(struct kept_exchanges *kept);

#endif

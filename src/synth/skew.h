/* synth/skew — wrong clocks: what a clock with an offset, a rate and a wander of its rate shows in true time.
 */
#ifndef GNOMON_SYNTH_SKEW_H
#define GNOMON_SYNTH_SKEW_H

#include "synth/settings.h"

#define GN_SKEW_BASE_TICKS                                                                                   \
    1000000000000000ull /* what a perfect clock shows at time 0: no tick is negative                         \
                         */

/* One clock; a tick is nominally a nanosecond. */
struct gn_skew {
    double offset_ns; /* clock − truth at time 0 */
    double rate;      /* relative deviation */
    enum gn_wander wander;
    double amplitude; /* relative; its sign is the domain's own */
    double period_ns;
    double phase; /* share of the period, 0 … 1 */
};

/* The clock of a domain as the settings and their seed have it. */
struct gn_skew gn_skew_of(const struct gn_synth_settings *settings, uint32_t domain);

/* How far the clock may be, at most, from the straight line between two of its readings that are ns apart. */
double gn_skew_bend(const struct gn_skew *skew, double ns);

/* How much further the clock is by wander alone, after true_ns. */
double gn_skew_wandered(const struct gn_skew *skew, double true_ns);

static inline uint64_t gn_skew_ticks(const struct gn_skew *skew, double true_ns)
{
    double shown = true_ns + (skew->offset_ns + skew->rate * true_ns);
    if (skew->wander != GN_WANDER_NONE)
        shown += gn_skew_wandered(skew, true_ns);
    int64_t ticks = (int64_t)shown;
    ticks -= (double)ticks > shown;
    return GN_SKEW_BASE_TICKS + (uint64_t)ticks;
}

#endif

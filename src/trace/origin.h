/* trace/origin — the instant that times are counted from when they are shown: the begin of the trace, as far
 * as its definitions say when that was, else the first event that came out. */
#ifndef GNOMON_TRACE_ORIGIN_H
#define GNOMON_TRACE_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

struct gn_origin {
    bool known;
    uint64_t first_ticks;
    uint64_t ticks_per_second; /* ≥ 1 */
};

/* Seconds from the origin; negative before it. */
static inline double gn_origin_seconds(const struct gn_origin *origin, uint64_t ticks)
{
    return (double)(int64_t)(ticks - origin->first_ticks) / (double)origin->ticks_per_second;
}

/* The same in ns, rounded down, as far as 64 bits reach (292 years). */
static inline int64_t gn_origin_ns(const struct gn_origin *origin, uint64_t ticks)
{
    int64_t since_ticks = (int64_t)(ticks - origin->first_ticks);
    if (origin->ticks_per_second == 1000000000u)
        return since_ticks;
    __int128 scaled = (__int128)since_ticks * 1000000000, rate = (__int128)origin->ticks_per_second;
    __int128 ns = scaled / rate - (scaled % rate < 0);
    return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}

#endif

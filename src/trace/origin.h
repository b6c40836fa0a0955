/* trace/origin — the instant that times are counted from when they are shown: the begin of the trace, as far
 * as its definitions say when that was, else the first event that came out; and how far times can be trusted.
 */
#ifndef GNOMON_TRACE_ORIGIN_H
#define GNOMON_TRACE_ORIGIN_H

#include "clock/bounds.h"
#include "event/event.h"

#include <stdbool.h>
#include <stdint.h>

/* The bounds of the clock that each location reads, with the trace's begin at 0 ns; NULL for a clock of which
 * nothing is known. */
struct gn_event_bounds {
    const struct gn_bounds **of; /* [count] */
    size_t count;
};

struct gn_origin {
    bool known;
    uint64_t first_ticks;
    uint64_t ticks_per_second;            /* ≥ 1 */
    const struct gn_event_bounds *bounds; /* to be shown with each event; NULL: not */
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

/* Between which times an event was, by the trace's clock; INT64_MIN, INT64_MAX: that is not known. */
static inline struct gn_interval gn_origin_interval(const struct gn_origin *origin,
                                                    const struct gn_event *event)
{
    const struct gn_event_bounds *bounds = origin->bounds;
    if (!bounds || event->location >= bounds->count || !bounds->of[event->location])
        return (struct gn_interval){INT64_MIN, INT64_MAX};
    return gn_bounds_convert(bounds->of[event->location], event->ticks);
}

#endif

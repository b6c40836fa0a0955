#include "repair/presync.h"

#include <math.h>

enum { NS_PER_SECOND = 1000000000 };

#define LATEST (INT64_MAX / 2)

static int64_t clamped(__int128 ticks)
{
    return ticks < 0 ? 0 : ticks > LATEST ? LATEST : (int64_t)ticks;
}

/* ---- offsets ---- */

/* Whether there is a piece from this offset to the next. */
static bool is_piece(const struct gn_offsets_def *o, size_t piece)
{
    return piece + 1 < o->count && o->offsets[piece + 1].ticks > o->offsets[piece].ticks;
}

static double slope_of(const struct gn_offsets_def *o, size_t piece)
{
    const struct gn_clock_offset *from = &o->offsets[piece], *to = from + 1;
    return (double)((__int128)to->offset_ticks - from->offset_ticks) / (double)(to->ticks - from->ticks);
}

/* The slope times the distance. Steeper than this, a distance that doubles cannot tell from its neighbour
 * could go back by more than the reading goes on: from there on the offset stays. */
static int64_t risen(double slope, double distance)
{
    static const double STEEP = -0x1p-12, EXACT = 0x1p51, MOST = 0x1p62;
    if (slope < STEEP)
        distance = fmax(-EXACT, fmin(EXACT, distance));
    return (int64_t)fmax(-MOST, fmin(MOST, rint(slope * distance)));
}

/* What the line of the piece says, wherever the reading is. */
static int64_t on_piece(const struct gn_presync_map *map, uint64_t ticks)
{
    static const double STANDS_STILL = -0.5;
    const struct gn_clock_offset *from = &map->offsets->offsets[map->piece];
    const double distance =
        ticks >= from->ticks ? (double)(ticks - from->ticks) : -(double)(from->ticks - ticks);
    if (map->slope < STANDS_STILL)
        return clamped((__int128)from->ticks + from->offset_ticks);
    return clamped((__int128)ticks + from->offset_ticks + risen(map->slope, distance));
}

static void go_to_first(struct gn_presync_map *map)
{
    map->piece = 0;
    map->floor = 0;
    map->slope = slope_of(map->offsets, 0);
}

static void go_on(struct gn_presync_map *map)
{
    const int64_t end = on_piece(map, map->offsets->offsets[map->piece + 1].ticks);
    map->floor = end > map->floor ? end : map->floor;
    map->piece++;
    map->slope = slope_of(map->offsets, map->piece);
}

static int64_t by_offsets(struct gn_presync_map *map, uint64_t ticks)
{
    const struct gn_clock_offset *offsets = map->offsets->offsets;
    if (map->piece > 0 && ticks <= offsets[map->piece].ticks)
        go_to_first(map);
    while (ticks > offsets[map->piece + 1].ticks && is_piece(map->offsets, map->piece + 1))
        go_on(map);
    const int64_t at = on_piece(map, ticks);
    return at > map->floor ? at : map->floor;
}

static const struct gn_offsets_def *offsets_of(const struct gn_presync *presync, uint32_t location)
{
    const struct gn_definitions *d = presync->definitions;
    const uint32_t clock = d->locations[location].clock;
    if (presync->kind == GN_PRESYNC_NONE || (presync->kind == GN_PRESYNC_BOUNDS && !presync->has_offsets) ||
        clock >= d->clock_count || !is_piece(&d->clocks[clock], 0))
        return NULL;
    return &d->clocks[clock];
}

static bool are_zero(const struct gn_offsets_def *o)
{
    bool zero = o->offsets[0].offset_ticks == 0;
    for (size_t i = 0; zero && is_piece(o, i); i++)
        zero = o->offsets[i + 1].offset_ticks == 0;
    return zero;
}

/* ---- bounds ---- */

/* ns × ticks per second / 10^9, to the lower or the higher whole number. */
static __int128 scaled(const struct gn_presync *presync, int64_t ns, bool up)
{
    const uint64_t known = presync->definitions->ticks_per_second, rate = known ? known : NS_PER_SECOND;
    const int64_t below = ns % NS_PER_SECOND < 0, seconds = ns / NS_PER_SECOND - below;
    const uint64_t rest = (uint64_t)(ns - seconds * NS_PER_SECOND), round = up ? NS_PER_SECOND - 1 : 0;
    if (rate < UINT64_C(1) << 34) /* times 10^9 fits 64 bits: no division of 128 */
        return (__int128)seconds * rate + (rest * rate + round) / NS_PER_SECOND;
    return (__int128)seconds * rate + (__int128)(((unsigned __int128)rest * rate + round) / NS_PER_SECOND);
}

static int64_t saturated(__int128 value)
{
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

struct range {
    int64_t low, high; /* ticks; INT64_MIN, INT64_MAX: no bound */
};

static struct range range_of(const struct gn_presync_map *map, uint64_t ticks)
{
    const struct gn_presync *presync = map->presync;
    const struct gn_interval ns = gn_bounds_convert(map->bounds, ticks);
    return (struct range){
        ns.lo_ns == INT64_MIN ? INT64_MIN
                              : saturated(presync->epoch_ticks + scaled(presync, ns.lo_ns, false)),
        ns.hi_ns == INT64_MAX ? INT64_MAX
                              : saturated(presync->epoch_ticks + scaled(presync, ns.hi_ns, true))};
}

static __int128 middle_of(struct range r)
{
    return ((__int128)r.low + r.high) >> 1;
}

/* Where a bound is missing, the clock goes on from the last reading that has both as if its rate were the
 * archive's; not beyond a bound that is there. */
static int64_t by_bounds(const struct gn_presync_map *map, uint64_t ticks)
{
    const struct range range = range_of(map, ticks);
    __int128 at;
    if (map->known_from > map->known_to)
        return clamped(ticks);
    if (ticks < map->known_from) {
        at = middle_of(range_of(map, map->known_from)) - (__int128)(map->known_from - ticks);
        return clamped(at > range.high ? range.high : at);
    }
    if (ticks > map->known_to) {
        at = middle_of(range_of(map, map->known_to)) + (__int128)(ticks - map->known_to);
        return clamped(at < range.low ? range.low : at);
    }
    return clamped(middle_of(range));
}

static bool is_known(const struct gn_breakpoint *point)
{
    static const int64_t FARTHEST = INT64_C(1) << 62; /* 146 years: no time */
    return point->lo_ns > -FARTHEST && point->hi_ns < FARTHEST;
}

/* With a limit on the clock's rate, bounds go on outside of the table. */
static void find_known(struct gn_presync_map *map)
{
    const struct gn_breakpoint *points;
    struct gn_outside outside;
    size_t count = gn_bounds_breakpoints(map->bounds, &points, &outside), first = 0, end = count;
    while (first < end && !is_known(&points[first]))
        first++;
    while (end > first && !is_known(&points[end - 1]))
        end--;
    map->known_from = first < end ? points[first].ticks : 1;
    map->known_to = first < end ? points[end - 1].ticks : 0;
    if (first < end && first == 0 && !isinf(outside.rate_hi))
        map->known_from = 0;
    if (first < end && end == count && !isinf(outside.rate_hi))
        map->known_to = UINT64_MAX;
}

static const struct gn_bounds *bounds_of(const struct gn_presync *presync, uint32_t location)
{
    return presync->kind == GN_PRESYNC_BOUNDS && presync->bounds ? presync->bounds[location] : NULL;
}

/* ---- both ---- */

struct gn_presync_map gn_presync_map(const struct gn_presync *presync, uint32_t location)
{
    struct gn_presync_map map = {.presync = presync,
                                 .location = location,
                                 .offsets = offsets_of(presync, location),
                                 .bounds = bounds_of(presync, location)};
    if (map.offsets)
        go_to_first(&map);
    if (map.bounds)
        find_known(&map);
    return map;
}

int64_t gn_presync_ticks(struct gn_presync_map *map, uint64_t ticks)
{
    if (map->offsets)
        return by_offsets(map, ticks);
    if (map->bounds && !map->presync->has_offsets)
        return by_bounds(map, ticks);
    return clamped(ticks);
}

bool gn_presync_bounds(struct gn_presync_map *map, uint64_t ticks, int64_t *low, int64_t *high)
{
    if (!map->bounds)
        return false;
    const struct range range = range_of(map, ticks);
    *low = range.low;
    *high = range.high;
    return range.low != INT64_MIN || range.high != INT64_MAX;
}

bool gn_presync_moves(const struct gn_presync *presync, uint32_t location)
{
    const struct gn_offsets_def *offsets = offsets_of(presync, location);
    return (offsets && !are_zero(offsets)) || (!presync->has_offsets && bounds_of(presync, location));
}

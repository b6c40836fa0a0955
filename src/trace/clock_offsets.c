#include "trace/clock_offsets.h"

#include "base/grow.h"
#include "clock/clocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NS_PER_SECOND = 1000000000 };

/* ---- units ---- */

/* value × times / by, to the lower or the higher whole number. */
static __int128 scaled(__int128 value, uint64_t times, uint64_t by, bool up)
{
    __int128 product = value * (__int128)times, whole = product / (__int128)by, rest = product % (__int128)by;
    return whole + (up && rest > 0) - (!up && rest < 0);
}

static int64_t saturated(__int128 value)
{
    return value < INT64_MIN ? INT64_MIN : value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* ---- bounds → offsets ---- */

/* A breakpoint, in ns; widened_ns: by how much it is made wider on each side. */
struct point {
    struct gn_breakpoint at;
    bool unknown; /* one of its bounds is no bound */
    int64_t lower_ns, raise_ns;
};

struct points {
    struct point *items;
    size_t count, capacity;
};

static bool is_known(struct gn_interval i)
{
    return i.lo_ns != INT64_MIN && i.hi_ns != INT64_MAX;
}

static bool append(struct points *p, uint64_t ticks, struct gn_interval bounds)
{
    if (p->count && p->items[p->count - 1].at.ticks >= ticks)
        return true;
    if (!gn_grow(&p->items, &p->capacity, p->count, sizeof *p->items))
        return false;
    p->items[p->count++] =
        (struct point){.at = {ticks, bounds.lo_ns, bounds.hi_ns}, .unknown = !is_known(bounds)};
    return true;
}

static bool append_reading(struct points *p, const struct gn_clock_range *range, uint64_t ticks)
{
    return append(p, ticks, gn_bounds_convert(range->bounds, ticks));
}

/* Where nothing is known outside of the breakpoints, that begins with the very next reading. */
static bool collect(struct points *p, const struct gn_clock_range *range)
{
    const struct gn_breakpoint *known;
    struct gn_outside outside;
    const size_t count = gn_bounds_breakpoints(range->bounds, &known, &outside);
    const uint64_t first = range->first_ticks, last = range->last_ticks;
    bool room = append_reading(p, range, first);
    if (first < known[0].ticks && known[0].ticks <= last)
        room = room && append_reading(p, range, known[0].ticks - 1);
    for (size_t i = 0; i < count && room; i++)
        if (known[i].ticks > first && known[i].ticks <= last)
            room = append(p, known[i].ticks, (struct gn_interval){known[i].lo_ns, known[i].hi_ns});
    if (room && known[count - 1].ticks >= first && known[count - 1].ticks < last)
        room = append_reading(p, range, known[count - 1].ticks + 1);
    return room && append_reading(p, range, last);
}

/* By how much the line from a to b is above the lower bounds in between, or below the upper ones: the worst
 * of either, and where. */
struct excess {
    int64_t lower_ns, raise_ns;
    size_t at;
};

static __int128 on_line(const struct point *a, const struct point *b, uint64_t ticks, int64_t from,
                        int64_t to, bool up)
{
    return from + scaled((__int128)to - from, ticks - a->at.ticks, b->at.ticks - a->at.ticks, up);
}

static struct excess excess_of(const struct points *p, size_t from, size_t to)
{
    const struct point *a = &p->items[from], *b = &p->items[to];
    struct excess worst = {0, 0, from + 1};
    for (size_t i = from + 1; i < to; i++) {
        const struct point *c = &p->items[i];
        int64_t lower = saturated(on_line(a, b, c->at.ticks, a->at.lo_ns, b->at.lo_ns, true) - c->at.lo_ns);
        int64_t raise = saturated(c->at.hi_ns - on_line(a, b, c->at.ticks, a->at.hi_ns, b->at.hi_ns, false));
        int64_t larger = lower > raise ? lower : raise;
        int64_t known = worst.lower_ns > worst.raise_ns ? worst.lower_ns : worst.raise_ns;
        if (larger > known)
            worst.at = i;
        worst.lower_ns = lower > worst.lower_ns ? lower : worst.lower_ns;
        worst.raise_ns = raise > worst.raise_ns ? raise : worst.raise_ns;
    }
    return worst;
}

static int64_t size_of(const struct excess *e)
{
    return e->lower_ns > e->raise_ns ? e->lower_ns : e->raise_ns;
}

/* A stretch between two points that are kept. */
struct stretch {
    size_t from, to;
    struct excess excess;
};

static void widen(struct point *point, const struct excess *excess)
{
    if (excess->lower_ns > point->lower_ns)
        point->lower_ns = excess->lower_ns;
    if (excess->raise_ns > point->raise_ns)
        point->raise_ns = excess->raise_ns;
}

static int by_place(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Keeps `most` points: the two ends, and then again and again the one that the line over it misses by most.
 * Both ends of a stretch are widened by as much as is still missed on it, and so is every line between them.
 */
static bool thin_part(struct points *p, size_t most)
{
    struct stretch *all = malloc(most * sizeof *all);
    size_t count = 1;
    if (!all)
        return false;
    all[0] = (struct stretch){0, p->count - 1, excess_of(p, 0, p->count - 1)};
    while (count + 1 < most) {
        size_t worst = 0;
        for (size_t i = 1; i < count; i++)
            if (size_of(&all[i].excess) > size_of(&all[worst].excess))
                worst = i;
        if (size_of(&all[worst].excess) <= 0)
            break;
        size_t from = all[worst].from, at = all[worst].excess.at, to = all[worst].to;
        all[worst] = (struct stretch){from, at, excess_of(p, from, at)};
        all[count++] = (struct stretch){at, to, excess_of(p, at, to)};
    }
    qsort(all, count, sizeof *all, by_place);
    for (size_t i = 0; i < count; i++) {
        widen(&p->items[all[i].from], &all[i].excess);
        widen(&p->items[all[i].to], &all[i].excess);
    }
    for (size_t i = 0; i < count; i++)
        p->items[i] = p->items[all[i].from];
    p->items[count] = p->items[all[count - 1].to];
    p->count = count + 1;
    free(all);
    return true;
}

/* Points of which nothing is known stay: there are two at each end at most. */
static bool thin(struct points *p, size_t most)
{
    size_t before = 0, after = 0;
    while (before < p->count && p->items[before].unknown)
        before++;
    while (after < p->count - before && p->items[p->count - 1 - after].unknown)
        after++;
    const size_t known = p->count - before - after;
    const size_t room = most > before + after + 2 ? most - before - after : 2;
    if (known <= room)
        return true;
    struct points inner = {p->items + before, known, 0};
    if (!thin_part(&inner, room))
        return false;
    memmove(p->items + before + inner.count, p->items + before + known, after * sizeof *p->items);
    p->count = before + inner.count + after;
    return true;
}

/* No smaller than the whole number, which a double may not have. */
static double at_least(__int128 whole)
{
    double value = (double)whole;
    return (__int128)value < whole ? nextafter(value, INFINITY) : value;
}

static struct gn_clock_offset unknown_offset(uint64_t ticks)
{
    return (struct gn_clock_offset){ticks, 0, GN_DEVIATION_UNKNOWN};
}

static struct gn_clock_offset offset_of(const struct point *p, const struct gn_trace_scale *scale)
{
    const __int128 lo_ns = (__int128)p->at.lo_ns - p->lower_ns, hi_ns = (__int128)p->at.hi_ns + p->raise_ns;
    const __int128 away = (__int128)scale->epoch_ticks - p->at.ticks;
    const __int128 lo = scaled(lo_ns, scale->ticks_per_second, NS_PER_SECOND, false) + away;
    const __int128 hi = scaled(hi_ns, scale->ticks_per_second, NS_PER_SECOND, true) + away;
    const __int128 middle = (lo + hi) >> 1, deviation = hi - middle;
    if (p->unknown || middle < INT64_MIN / 2 || middle > INT64_MAX / 2 ||
        (double)deviation >= GN_DEVIATION_UNKNOWN)
        return unknown_offset(p->at.ticks);
    return (struct gn_clock_offset){p->at.ticks, (int64_t)middle, at_least(deviation)};
}

/* What is not known still has an offset for readers that ask for nothing better: that of its neighbour. */
static void fill_unknown(struct gn_clock_offset *offsets, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (offsets[i].deviation_ticks >= GN_DEVIATION_UNKNOWN)
            offsets[i].offset_ticks = offsets[i - 1].offset_ticks;
    for (size_t i = count - 1; i-- > 0;)
        if (offsets[i].deviation_ticks >= GN_DEVIATION_UNKNOWN && offsets[i].offset_ticks == 0)
            offsets[i].offset_ticks = offsets[i + 1].offset_ticks;
}

size_t gn_clock_offsets(struct gn_clock_offset **offsets, const struct gn_clock_range *range,
                        const struct gn_trace_scale *scale, size_t most)
{
    struct points points = {NULL, 0, 0};
    size_t count = 0;
    *offsets = NULL;
    if (collect(&points, range) && thin(&points, most))
        *offsets = malloc(points.count * sizeof **offsets);
    for (; *offsets && count < points.count; count++)
        (*offsets)[count] = offset_of(&points.items[count], scale);
    if (count)
        fill_unknown(*offsets, count);
    free(points.items);
    return count;
}

/* ---- offsets → bounds ---- */

static bool is_unknown(const struct gn_clock_offset *o)
{
    return !(o->deviation_ticks >= 0 && o->deviation_ticks < GN_DEVIATION_UNKNOWN);
}

static struct gn_breakpoint breakpoint_of(const struct gn_definitions *d, const struct gn_clock_offset *o)
{
    if (is_unknown(o)) /* an archive may say anything there */
        return (struct gn_breakpoint){o->ticks, INT64_MIN, INT64_MAX};
    const __int128 middle = (__int128)o->ticks + o->offset_ticks - d->first_ticks;
    const __int128 deviation = (__int128)ceil(o->deviation_ticks);
    const uint64_t rate = d->ticks_per_second ? d->ticks_per_second : NS_PER_SECOND;
    return (struct gn_breakpoint){o->ticks, saturated(scaled(middle - deviation, NS_PER_SECOND, rate, false)),
                                  saturated(scaled(middle + deviation, NS_PER_SECOND, rate, true))};
}

/* A clock does not go back: what was certain before a reading is certain after it, and the other way round.
 * Rounding may have bent the bounds a little: they are made wider, not tighter. */
static void straighten(const struct gn_clock_offset *offsets, struct gn_breakpoint *points, size_t count)
{
    int64_t known_ns = INT64_MIN;
    for (size_t i = count; i-- > 1;)
        if (!is_unknown(&offsets[i]) && !is_unknown(&offsets[i - 1]) && points[i - 1].lo_ns > points[i].lo_ns)
            points[i - 1].lo_ns = points[i].lo_ns;
    for (size_t i = 0; i < count; i++) {
        if (is_unknown(&offsets[i]))
            points[i].lo_ns = known_ns;
        known_ns = points[i].lo_ns;
    }
    known_ns = INT64_MAX;
    for (size_t i = 1; i < count; i++)
        if (!is_unknown(&offsets[i]) && !is_unknown(&offsets[i - 1]) && points[i].hi_ns < points[i - 1].hi_ns)
            points[i].hi_ns = points[i - 1].hi_ns;
    for (size_t i = count; i-- > 0;) {
        if (is_unknown(&offsets[i]))
            points[i].hi_ns = known_ns;
        known_ns = points[i].hi_ns;
    }
}

struct gn_bounds *gn_clock_offsets_bounds(const struct gn_definitions *definitions, uint32_t clock,
                                          struct gn_error *err)
{
    static const struct gn_outside outside = {0, INFINITY};
    const struct gn_offsets_def *def = &definitions->clocks[clock];
    struct gn_breakpoint *points = malloc((def->count + 1) * sizeof *points);
    bool any = false;
    if (!points) {
        gn_fail(err, -ENOMEM, "no memory for the bounds of a clock");
        return NULL;
    }
    for (size_t i = 0; i < def->count; i++) {
        points[i] = breakpoint_of(definitions, &def->offsets[i]);
        any |= !is_unknown(&def->offsets[i]);
    }
    if (!any) {
        gn_fail(err, -ENODATA, "the trace does not bound this clock");
        free(points);
        return NULL;
    }
    straighten(def->offsets, points, def->count);
    /* nothing is known before the first lower bound and after the last upper one: that is what is outside */
    size_t first = 0, end = def->count;
    while (first + 1 < end && points[first].lo_ns == INT64_MIN)
        first++;
    while (end > first + 1 && points[end - 1].hi_ns == INT64_MAX)
        end--;
    struct gn_bounds *bounds = gn_bounds_new(points + first, end - first, &outside, err);
    free(points);
    return bounds;
}

double gn_nominal_share(const struct gn_definitions *d)
{
    const char *text = gn_string(d, d->clock_bounds), *nominal = strstr(text, "nominal_ppb="),
               *wander = strstr(text, "wander_ppb=");
    double ppb = GN_NOMINAL_PPB;
    if (nominal)
        ppb = strtod(nominal + strlen("nominal_ppb="), NULL) +
              (wander ? strtod(wander + strlen("wander_ppb="), NULL) : 0);
    return isfinite(ppb) && ppb >= 0 && ppb < 1e9 ? ppb / 1e9 : GN_NOMINAL_PPB / 1e9;
}

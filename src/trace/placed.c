#include "trace/placed.h"

#include "base/grow.h"
#include "trace/clock_offsets.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct place {
    struct gn_event *events;
    size_t capacity;
    uint64_t last_ticks;
};

struct gn_placed {
    const struct gn_source *source;
    const struct gn_bounds *const *given;
    /* [location_count] each; of locations with the same bounds the first one's only */
    struct gn_bounds **known;              /* of what is read: everywhere, as far as its rate is known */
    struct gn_bounds **own;                /* of what is placed */
    const struct gn_bounds **before, **of; /* of each location, out of those */
    struct place *places;
    size_t location_count;
    double hz, nominal; /* ticks a second; by what share a clock's rate may differ from that */
    uint64_t first_ticks;
};

bool gn_placed_is_needed(const struct gn_definitions *d)
{
    for (size_t l = 1; l < d->location_count; l++)
        if (d->locations[l].domain != d->locations[0].domain)
            return true;
    return false;
}

static uint64_t tick_of(const struct gn_placed *p, const struct gn_bounds *bounds, uint64_t ticks)
{
    return gn_bounds_placed(bounds, ticks, p->first_ticks, p->hz);
}

/* ---- bounds ---- */

/* How steep the middle of the bounds is, against a clock of the nominal rate: at least, at most. */
struct slope {
    double least, most;
};
enum { ROUNDED_NS = 3 };

static struct slope slope_of(const struct gn_placed *p, const struct gn_breakpoint *from, size_t count,
                             const struct gn_outside *outside)
{
    const double nominal_ns = 1e9 / p->hz;
    struct slope s = {INFINITY, 0};
    for (size_t i = 1; i < count; i++) {
        const double ns = ((double)from[i].lo_ns - (double)from[i - 1].lo_ns) / 2 +
                          ((double)from[i].hi_ns - (double)from[i - 1].hi_ns) / 2;
        const double flat_ns = (double)(from[i].ticks - from[i - 1].ticks) * nominal_ns,
                     off_ns = ns - flat_ns;
        /* what was rounded to whole ns is no slope, however near two breakpoints are */
        const double slope = 1 + copysign(fmax(fabs(off_ns) - ROUNDED_NS, 0), off_ns) / flat_ns;
        s = (struct slope){fmin(s.least, slope), fmax(s.most, slope)};
    }
    const double slope = (outside->rate_lo + outside->rate_hi) / 2 / nominal_ns;
    return (struct slope){fmin(s.least, slope), fmax(s.most, slope)};
}

/*
 * What is between two placed readings is known as it was between the readings themselves: to the clock's
 * rate; and to how much the middle of the bounds is steeper or flatter than the clock. A clock of which only
 * steps are known, because what was assumed of its rate turned out to be wrong, cannot be placed so.
 */
static int rates_of_placed(const struct slope *slope, struct gn_outside *outside, struct gn_error *err)
{
    static const double most = 1e-3;
    if (!(slope->least > 1 - most && slope->most < 1 + most))
        return gn_fail(err, -ENODATA,
                       "its hosts' clocks are not known well enough to tell what was in which part of it");
    *outside = (struct gn_outside){outside->rate_lo / slope->most, outside->rate_hi / slope->least};
    return 0;
}

static int64_t less(int64_t ns, int64_t by)
{
    return ns < INT64_MIN + by ? INT64_MIN : ns - by;
}

static int64_t more(int64_t ns, int64_t by)
{
    return ns > INT64_MAX - by ? INT64_MAX : ns + by;
}

/* Bounds are straight lines between breakpoints, and so is their middle. Two ticks and what was rounded are
 * added to each side. */
static int bounds_of_placed(const struct gn_placed *p, const struct gn_bounds *bounds,
                            struct gn_bounds **placed, struct gn_error *err)
{
    const struct gn_breakpoint *from;
    struct gn_outside outside;
    const int64_t wider_ns = (int64_t)(2e9 / p->hz) + 2;
    const size_t count = gn_bounds_breakpoints(bounds, &from, &outside);
    const struct slope slope = slope_of(p, from, count, &outside);
    struct gn_breakpoint *to = calloc(count + 1, sizeof *to);
    size_t used = 0;
    int code = to ? rates_of_placed(&slope, &outside, err) : gn_fail(err, -ENOMEM, "no memory for a clock");
    for (size_t i = 0; code == 0 && i < count; i++) {
        const struct gn_interval at = gn_bounds_convert(bounds, from[i].ticks);
        if (at.lo_ns == INT64_MIN || at.hi_ns == INT64_MAX)
            code = gn_fail(err, -ENODATA, "nothing is known of the clock of one of its hosts");
        const uint64_t ticks = tick_of(p, bounds, from[i].ticks);
        if (used == 0 || ticks > to[used - 1].ticks)
            to[used++] = (struct gn_breakpoint){ticks, less(at.lo_ns, wider_ns), more(at.hi_ns, wider_ns)};
        else
            to[used - 1].hi_ns = more(at.hi_ns, wider_ns);
    }
    if (code == 0) {
        *placed = gn_bounds_new(to, used, &outside, err);
        code = *placed ? 0 : -EINVAL;
    }
    free(to);
    return code;
}

/* Beyond its breakpoints, too, where an archive says nothing but what its clocks' rates are within. */
static struct gn_bounds *known_everywhere(const struct gn_placed *p, const struct gn_bounds *bounds,
                                          struct gn_error *err)
{
    const double nominal_ns = 1e9 / p->hz;
    const struct gn_breakpoint *from;
    struct gn_outside outside;
    const size_t count = gn_bounds_breakpoints(bounds, &from, &outside);
    if (!(outside.rate_lo > 0) || !isfinite(outside.rate_hi))
        outside = (struct gn_outside){nominal_ns * (1 - p->nominal), nominal_ns * (1 + p->nominal)};
    return gn_bounds_new(from, count, &outside, err);
}

static int place_bounds(struct gn_placed *p, size_t l, struct gn_error *err)
{
    if (!p->given[l])
        return gn_fail(err, -ENODATA, "the clocks of its hosts were not compared");
    for (size_t i = 0; i < l; i++)
        if (p->given[i] == p->given[l]) {
            p->of[l] = p->of[i];
            p->before[l] = p->before[i];
            return 0;
        }
    p->known[l] = known_everywhere(p, p->given[l], err);
    p->before[l] = p->known[l];
    const int code = p->known[l] ? bounds_of_placed(p, p->known[l], &p->own[l], err) : -EINVAL;
    p->of[l] = p->own[l];
    return code;
}

static struct gn_bounds *widest_of(const struct gn_placed *p, const struct gn_bounds *bounds,
                                   struct gn_error *err)
{
    const struct gn_breakpoint *from;
    struct gn_outside outside;
    const size_t count = gn_bounds_breakpoints(bounds, &from, &outside);
    const double each_ns = 1e9 / p->hz;
    int64_t before_ns = 0, after_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const double ns = ((double)from[i].ticks - (double)p->first_ticks) * each_ns;
        before_ns = (int64_t)fmax((double)before_ns, ceil(ns - (double)from[i].lo_ns) + 1);
        after_ns = (int64_t)fmax((double)after_ns, ceil((double)from[i].hi_ns - ns) + 1);
    }
    const uint64_t all_ticks = from[count - 1].ticks - from[0].ticks + 1;
    const struct gn_breakpoint ends[2] = {{p->first_ticks, -before_ns, after_ns},
                                          {p->first_ticks + all_ticks,
                                           (int64_t)floor((double)all_ticks * each_ns) - before_ns,
                                           (int64_t)ceil((double)all_ticks * each_ns) + after_ns}};
    return gn_bounds_new(ends, 2, &outside, err);
}

int gn_placed_widen(struct gn_placed *p, struct gn_error *err)
{
    for (size_t l = 0; l < p->location_count; l++) {
        if (!p->own[l])
            continue;
        struct gn_bounds *wide = widest_of(p, p->own[l], err);
        if (!wide)
            return -ENOMEM;
        for (size_t k = l; k < p->location_count; k++)
            p->of[k] = p->of[k] == p->own[l] ? wide : p->of[k];
        gn_bounds_free(p->own[l]);
        p->own[l] = wide;
    }
    return 0;
}

/* ---- events ---- */

static int64_t pull(void *self, uint32_t location, const struct gn_event **events, struct gn_error *err)
{
    struct gn_placed *p = self;
    struct place *place = &p->places[location];
    const struct gn_event *taken;
    const int64_t count = p->source->pull(p->source->self, location, &taken, err);
    if (count <= 0)
        return count;
    while (place->capacity < (size_t)count)
        if (!gn_grow(&place->events, &place->capacity, place->capacity, sizeof *place->events))
            return gn_fail(err, -ENOMEM, "no memory for events");
    for (int64_t i = 0; i < count; i++) {
        const uint64_t ticks = tick_of(p, p->before[location], taken[i].ticks);
        place->last_ticks = ticks > place->last_ticks ? ticks : place->last_ticks;
        place->events[i] = taken[i];
        place->events[i].ticks = place->last_ticks;
    }
    *events = place->events;
    return count;
}

static void close_nothing(void *self)
{
    (void)self;
}

void gn_placed_source(struct gn_placed *p, struct gn_source *source)
{
    *source = (struct gn_source){p, p->source->definitions, pull, close_nothing};
}

const struct gn_bounds *const *gn_placed_bounds(const struct gn_placed *p)
{
    return p->of;
}

int gn_placed_new(struct gn_placed **placed, const struct gn_source *source,
                  const struct gn_bounds *const *bounds, struct gn_error *err)
{
    const struct gn_definitions *d = source->definitions;
    struct gn_placed *p = calloc(1, sizeof *p);
    *placed = p;
    if (p)
        *p = (struct gn_placed){.source = source,
                                .given = bounds,
                                .known = calloc(d->location_count + 1, sizeof *p->known),
                                .before = calloc(d->location_count + 1, sizeof *p->before),
                                .own = calloc(d->location_count + 1, sizeof *p->own),
                                .of = calloc(d->location_count + 1, sizeof *p->of),
                                .places = calloc(d->location_count + 1, sizeof *p->places),
                                .location_count = d->location_count,
                                .hz = d->ticks_per_second ? (double)d->ticks_per_second : 1,
                                .nominal = gn_nominal_share(d),
                                .first_ticks = d->first_ticks};
    int code = p && p->known && p->before && p->own && p->of && p->places
                   ? 0
                   : gn_fail(err, -ENOMEM, "no memory to place events");
    for (size_t l = 0; l < d->location_count && code == 0; l++)
        code = place_bounds(p, l, err);
    if (code != 0) {
        gn_placed_free(p);
        *placed = NULL;
    }
    return code;
}

void gn_placed_free(struct gn_placed *p)
{
    if (!p)
        return;
    for (size_t l = 0; l < p->location_count; l++) {
        if (p->own)
            gn_bounds_free(p->own[l]);
        if (p->known)
            gn_bounds_free(p->known[l]);
        if (p->places)
            free(p->places[l].events);
    }
    free(p->known);
    free(p->before);
    free(p->own);
    free(p->of);
    free(p->places);
    free(p);
}

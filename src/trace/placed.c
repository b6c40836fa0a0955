#include "trace/placed.h"

#include "base/grow.h"

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
    const struct gn_bounds *const *bounds;
    struct gn_bounds **own; /* [location_count]; of locations with the same bounds the first one's only */
    const struct gn_bounds **of;
    struct place *places;
    size_t location_count;
    double hz;
    uint64_t first_ticks;
};

bool gn_placed_is_needed(const struct gn_definitions *d)
{
    for (size_t l = 1; l < d->location_count; l++)
        if (d->locations[l].domain != d->locations[0].domain)
            return true;
    return false;
}

static uint64_t middle_of(const struct gn_placed *p, struct gn_interval at)
{
    const double width_ns = (double)at.hi_ns - (double)at.lo_ns; /* of what is out of all bounds, endless */
    const double ns = (double)at.lo_ns + (width_ns < 0x1p53 ? width_ns / 2 : 0);
    const double ticks = (double)p->first_ticks + ns * p->hz * 1e-9;
    return ticks >= 0 && ticks < 0x1p63 ? (uint64_t)ticks : 0;
}

/* ---- bounds ---- */

/* Rates per tick of this clock, as rates per tick of the trace's: of the middle of the two. */
static struct gn_outside outside_of_placed(const struct gn_placed *p, struct gn_outside o)
{
    const double middle = (o.rate_lo + o.rate_hi) / 2, each_ns = 1e9 / p->hz, rounded = 1e-9;
    if (!(o.rate_lo > 0) || isinf(middle))
        return (struct gn_outside){0, INFINITY};
    return (struct gn_outside){o.rate_lo / middle * each_ns * (1 - rounded),
                               o.rate_hi / middle * each_ns * (1 + rounded)};
}

/* Bounds are straight lines between breakpoints, and so is their middle. A tick and what was rounded are
 * added to each side. */
static struct gn_bounds *bounds_of_placed(const struct gn_placed *p, const struct gn_bounds *bounds,
                                          struct gn_error *err)
{
    const struct gn_breakpoint *from;
    struct gn_outside outside;
    const int64_t more_ns = (int64_t)(1e9 / p->hz) + 2;
    const size_t count = gn_bounds_breakpoints(bounds, &from, &outside);
    struct gn_breakpoint *to = calloc(count + 1, sizeof *to);
    size_t used = 0;
    for (size_t i = 0; to && i < count; i++) {
        const struct gn_interval at = gn_bounds_convert(bounds, from[i].ticks);
        const uint64_t ticks = middle_of(p, at);
        if (used == 0 || ticks > to[used - 1].ticks)
            to[used++] = (struct gn_breakpoint){ticks, at.lo_ns - more_ns, at.hi_ns + more_ns};
        else
            to[used - 1].hi_ns = at.hi_ns + more_ns;
    }
    outside = outside_of_placed(p, outside);
    struct gn_bounds *placed = to ? gn_bounds_new(to, used, &outside, err) : NULL;
    free(to);
    return placed;
}

static int place_bounds(struct gn_placed *p, size_t l, struct gn_error *err)
{
    if (!p->bounds[l])
        return gn_fail(err, -ENODATA, "the clocks of its hosts were not compared");
    for (size_t i = 0; i < l; i++)
        if (p->bounds[i] == p->bounds[l]) {
            p->of[l] = p->of[i];
            return 0;
        }
    p->of[l] = p->own[l] = bounds_of_placed(p, p->bounds[l], err);
    return p->own[l] ? 0 : -ENOMEM;
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
    return gn_bounds_new(ends, 2, &(struct gn_outside){0, INFINITY}, err);
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
        const uint64_t ticks = middle_of(p, gn_bounds_convert(p->bounds[location], taken[i].ticks));
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
                                .bounds = bounds,
                                .own = calloc(d->location_count + 1, sizeof *p->own),
                                .of = calloc(d->location_count + 1, sizeof *p->of),
                                .places = calloc(d->location_count + 1, sizeof *p->places),
                                .location_count = d->location_count,
                                .hz = d->ticks_per_second ? (double)d->ticks_per_second : 1,
                                .first_ticks = d->first_ticks};
    int code = p && p->own && p->of && p->places ? 0 : gn_fail(err, -ENOMEM, "no memory to place events");
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
        if (p->places)
            free(p->places[l].events);
    }
    free(p->own);
    free(p->of);
    free(p->places);
    free(p);
}

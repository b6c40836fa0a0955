#include "clock/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- points ---- */

static int by_ticks_highest_first(const void *a, const void *b)
{
    const struct gn_point *x = a, *y = b;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return x->ns > y->ns ? -1 : x->ns < y->ns;
}

static int by_ticks_lowest_first(const void *a, const void *b)
{
    const struct gn_point *x = a, *y = b;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static size_t first_of_each(struct gn_point *points, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || points[i].ticks != points[kept - 1].ticks)
            points[kept++] = points[i];
    return kept;
}

void gn_points_sort(struct gn_points *points)
{
    if (points->lower_count)
        qsort(points->lower, points->lower_count, sizeof *points->lower, by_ticks_highest_first);
    if (points->upper_count)
        qsort(points->upper, points->upper_count, sizeof *points->upper, by_ticks_lowest_first);
    points->lower_count = first_of_each(points->lower, points->lower_count);
    points->upper_count = first_of_each(points->upper, points->upper_count);
}

static gn_wide least_rise(const struct gn_rates *rates, uint64_t run)
{
    return gn_product_floor(run, rates->lo, rates->shift);
}

/* Unbounded: more than any rise. */
static gn_wide greatest_rise(const struct gn_rates *rates, uint64_t run)
{
    if (rates->unbounded)
        return run ? (gn_wide)1 << 100 : 0;
    return gn_product_ceil(run, rates->hi, rates->shift);
}

void gn_points_prune(struct gn_points *points, const struct gn_rates *rates)
{
    size_t kept = 0;
    for (size_t i = 0; i < points->lower_count; i++) {
        struct gn_point fresh = points->lower[i], *top = points->lower;
        if (kept > 0 &&
            (gn_wide)fresh.ns - top[kept - 1].ns <= least_rise(rates, fresh.ticks - top[kept - 1].ticks))
            continue;
        while (kept > 0 && (gn_wide)fresh.ns - top[kept - 1].ns >=
                               greatest_rise(rates, fresh.ticks - top[kept - 1].ticks))
            kept--;
        top[kept++] = fresh;
    }
    points->lower_count = kept;
    kept = 0;
    for (size_t i = 0; i < points->upper_count; i++) {
        struct gn_point fresh = points->upper[i], *top = points->upper;
        if (kept > 0 &&
            (gn_wide)fresh.ns - top[kept - 1].ns >= greatest_rise(rates, fresh.ticks - top[kept - 1].ticks))
            continue;
        while (kept > 0 &&
               (gn_wide)fresh.ns - top[kept - 1].ns <= least_rise(rates, fresh.ticks - top[kept - 1].ticks))
            kept--;
        top[kept++] = fresh;
    }
    points->upper_count = kept;
}

/* ---- slopes ---- */

/* Points of one kind seen from points of the other; negated, lower points are upper ones and the greatest of
 * the least slopes is the least of the greatest. */
struct view {
    const struct gn_point *points;
    size_t count;
    int sign;
};

static gn_wide ns_in(const struct view *v, size_t i)
{
    return v->sign < 0 ? -(gn_wide)v->points[i].ns : (gn_wide)v->points[i].ns;
}

/* Whether b lies on or below the line from a to c. */
static bool sinks(const struct view *v, size_t a, size_t b, size_t c)
{
    gn_wide ab = (ns_in(v, b) - ns_in(v, a)) * (gn_wide)(v->points[c].ticks - v->points[b].ticks);
    gn_wide bc = (ns_in(v, c) - ns_in(v, b)) * (gn_wide)(v->points[b].ticks - v->points[a].ticks);
    return ab <= bc;
}

static void push_hull(const struct view *v, uint32_t *hull, size_t *count, size_t fresh)
{
    while (*count >= 2 && sinks(v, hull[*count - 2], hull[*count - 1], fresh))
        --*count;
    hull[(*count)++] = (uint32_t)fresh;
}

/* a.rise / a.run < b.rise / b.run */
static bool is_less(gn_wide a_rise, uint64_t a_run, gn_wide b_rise, uint64_t b_run)
{
    return a_rise * (gn_wide)b_run < b_rise * (gn_wide)a_run;
}

/* The vertex of the hull, all of it before the target, from which the slope to the target is least. */
static size_t tangent(const struct view *below, const uint32_t *hull, size_t count, uint64_t ticks,
                      gn_wide ns)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        size_t middle = (low + high) / 2, i = hull[middle], next = hull[middle + 1];
        if (is_less(ns - ns_in(below, next), ticks - below->points[next].ticks, ns - ns_in(below, i),
                    ticks - below->points[i].ticks))
            low = middle + 1;
        else
            high = middle;
    }
    return hull[low];
}

/* The least slope from a point of `below` to a later one of `above`. */
static bool least_slope(const struct view *below, const struct view *above, struct gn_slope *slope)
{
    uint32_t *hull = malloc((below->count + 1) * sizeof *hull);
    size_t vertices = 0, next = 0;
    gn_wide best = 0;
    *slope = (struct gn_slope){0};
    if (!hull)
        return false;
    for (size_t i = 0; i < above->count; i++) {
        uint64_t ticks = above->points[i].ticks;
        for (; next < below->count && below->points[next].ticks < ticks; next++)
            push_hull(below, hull, &vertices, next);
        if (vertices == 0)
            continue;
        size_t from = tangent(below, hull, vertices, ticks, ns_in(above, i));
        gn_wide rise = ns_in(above, i) - ns_in(below, from);
        uint64_t run = ticks - below->points[from].ticks;
        if (slope->run_ticks == 0 || is_less(rise, run, best, slope->run_ticks)) {
            best = rise;
            *slope = (struct gn_slope){gn_saturate(below->sign < 0 ? -rise : rise), run,
                                       below->points[from].ticks};
        }
    }
    free(hull);
    return true;
}

bool gn_points_slopes(const struct gn_points *points, struct gn_slopes *slopes)
{
    struct view lower = {points->lower, points->lower_count, 1},
                upper = {points->upper, points->upper_count, 1};
    struct view not_lower = {points->lower, points->lower_count, -1},
                not_upper = {points->upper, points->upper_count, -1};
    return least_slope(&lower, &upper, &slopes->most) && least_slope(&not_upper, &not_lower, &slopes->least);
}

/* ---- contradictions ---- */

static bool is_contradicted(const struct gn_point *lower, const struct gn_point *upper,
                            const struct gn_rates *rates)
{
    gn_wide rise = (gn_wide)lower->ns - upper->ns;
    if (lower->ticks >= upper->ticks)
        return rise > greatest_rise(rates, lower->ticks - upper->ticks);
    return -rise < least_rise(rates, upper->ticks - lower->ticks);
}

/* What L says at an upper point is said by one of the lower points beside it. */
bool gn_points_contradict(const struct gn_points *points, const struct gn_rates *rates, size_t *lower,
                          size_t *upper)
{
    size_t l = 0;
    for (size_t u = 0; u < points->upper_count; u++) {
        while (l < points->lower_count && points->lower[l].ticks < points->upper[u].ticks)
            l++;
        for (size_t i = l > 0 ? l - 1 : 0; i <= l && i < points->lower_count; i++)
            if (is_contradicted(&points->lower[i], &points->upper[u], rates)) {
                *lower = i;
                *upper = u;
                return true;
            }
    }
    return false;
}

/* ---- bounds ---- */

/* A bound as a chain of straight lines. */
struct chain {
    struct gn_point *knots;
    size_t count;
};

static uint64_t clamp(gn_wide value, uint64_t least, uint64_t most)
{
    return value < (gn_wide)least ? least : value > (gn_wide)most ? most : (uint64_t)value;
}

/* numerator / (rates->hi - rates->lo), rounded up; both in the rates' fixed point. */
static gn_wide over_spread(gn_wide numerator, const struct gn_rates *rates)
{
    gn_wide spread = (gn_wide)(rates->hi - rates->lo);
    return spread == 0 ? 0 : (numerator + spread - 1) / spread;
}

static gn_wide scaled(uint64_t run, uint64_t mantissa)
{
    return (gn_wide)run * (gn_wide)mantissa;
}

/* Where the line of the least rate from a meets the line of the greatest rate to b. The corner is put on a
 * whole tick with the lower of the lines' values there, so that chords to it stay below both. */
static struct gn_point lower_corner(const struct gn_point *a, const struct gn_point *b,
                                    const struct gn_rates *rates)
{
    uint64_t run = b->ticks - a->ticks;
    gn_wide rise = (gn_wide)b->ns - a->ns;
    uint64_t at = run - 1;
    if (!rates->unbounded) {
        gn_wide missing = scaled(run, rates->hi) - (rise << rates->shift);
        at = clamp(over_spread(missing, rates), 1, run - 1);
    }
    gn_wide left = least_rise(rates, at), right = rise - greatest_rise(rates, run - at);
    gn_wide value = left < right ? left : right;
    return (struct gn_point){a->ticks + at, gn_saturate(a->ns + (value < 0 ? 0 : value))};
}

static struct gn_point upper_corner(const struct gn_point *a, const struct gn_point *b,
                                    const struct gn_rates *rates)
{
    uint64_t run = b->ticks - a->ticks;
    gn_wide rise = (gn_wide)b->ns - a->ns;
    uint64_t at = 1;
    if (!rates->unbounded) {
        gn_wide missing = (rise << rates->shift) - scaled(run, rates->lo);
        at = clamp(over_spread(missing, rates), 1, run - 1);
    }
    gn_wide left = greatest_rise(rates, at), right = rise - least_rise(rates, run - at);
    gn_wide value = left > right ? left : right;
    if (at == 1 && value > rise) /* no reading lies before it, whose line would be too low */
        value = rise;
    return (struct gn_point){a->ticks + at, gn_saturate(a->ns + value)};
}

typedef struct gn_point corner(const struct gn_point *, const struct gn_point *, const struct gn_rates *);

static struct chain chain_of(const struct gn_point *points, size_t count, corner *corner_of,
                             const struct gn_rates *rates)
{
    struct chain chain = {malloc(2 * count * sizeof *chain.knots), 0};
    for (size_t i = 0; chain.knots && i < count; i++) {
        if (i > 0 && points[i].ticks - points[i - 1].ticks > 1)
            chain.knots[chain.count++] = corner_of(&points[i - 1], &points[i], rates);
        chain.knots[chain.count++] = points[i];
    }
    return chain;
}

/* What the chain says at `ticks`; *knot is the last one not after it, or 0. up: rounded up, for an upper
 * bound. */
static gn_wide value_at(const struct chain *c, size_t *knot, uint64_t ticks, const struct gn_rates *rates,
                        bool up)
{
    while (*knot + 1 < c->count && c->knots[*knot + 1].ticks <= ticks)
        ++*knot;
    const struct gn_point *k = &c->knots[*knot];
    if (ticks < k->ticks) {
        uint64_t back = k->ticks - ticks;
        return k->ns - (up ? least_rise(rates, back) : greatest_rise(rates, back));
    }
    if (*knot + 1 == c->count)
        return k->ns + (up ? greatest_rise(rates, ticks - k->ticks) : least_rise(rates, ticks - k->ticks));
    gn_wide run = (gn_wide)(k[1].ticks - k->ticks);
    gn_wide part = ((gn_wide)k[1].ns - k->ns) * (gn_wide)(ticks - k->ticks); /* never negative */
    return k->ns + (up ? (part + run - 1) / run : part / run);
}

struct table {
    struct gn_breakpoint *items;
    size_t count;
};

/* Every knot of either chain is a breakpoint of both. Unbounded rates say nothing outside of their own chain.
 */
static struct table merge(const struct chain *lower, const struct chain *upper, const struct gn_rates *rates,
                          uint64_t granularity)
{
    struct table t = {malloc((lower->count + upper->count) * sizeof *t.items), 0};
    size_t l = 0, u = 0, low_knot = 0, high_knot = 0;
    while (t.items && (l < lower->count || u < upper->count)) {
        /* a reading is as much as a granularity before its moment: hi(reading) = U(reading + granularity) */
        uint64_t high = u < upper->count ? upper->knots[u].ticks : UINT64_MAX;
        high = high >= granularity ? high - granularity : 0;
        uint64_t ticks = l < lower->count && (u == upper->count || lower->knots[l].ticks <= high)
                             ? lower->knots[l].ticks
                             : high;
        while (l < lower->count && lower->knots[l].ticks <= ticks)
            l++;
        while (u < upper->count && upper->knots[u].ticks <= ticks + granularity)
            u++;
        gn_wide lo = value_at(lower, &low_knot, ticks, rates, false);
        gn_wide hi = value_at(upper, &high_knot, ticks + granularity, rates, true);
        if (lo > INT64_MIN / 2 && hi < INT64_MAX / 2)
            t.items[t.count++] = (struct gn_breakpoint){ticks, (int64_t)lo, (int64_t)hi};
    }
    return t;
}

/* A corner on a whole tick can lie a little below the point before it. */
static void make_monotone(struct table *t)
{
    for (size_t i = t->count; i-- > 1;)
        if (t->items[i - 1].lo_ns > t->items[i].lo_ns)
            t->items[i - 1].lo_ns = t->items[i].lo_ns;
    for (size_t i = 1; i < t->count; i++)
        if (t->items[i].hi_ns < t->items[i - 1].hi_ns)
            t->items[i].hi_ns = t->items[i - 1].hi_ns;
}

static int assemble(struct gn_bounds **bounds, struct chain *lower, struct chain *upper,
                    const struct gn_rates *rates, uint64_t granularity, struct gn_error *err)
{
    int code = 0;
    struct table table = {NULL, 0};
    *bounds = NULL;
    if (lower->knots && upper->knots)
        table = merge(lower, upper, rates, granularity);
    if (table.items && table.count > 0) {
        struct gn_outside outside = {ldexp((double)rates->lo, -(int)rates->shift) * (1 - 0x1p-52),
                                     rates->unbounded
                                         ? (double)INFINITY
                                         : ldexp((double)rates->hi, -(int)rates->shift) * (1 + 0x1p-52)};
        make_monotone(&table);
        *bounds = gn_bounds_new(table.items, table.count, &outside, err);
        code = *bounds ? 0 : -ERANGE;
    } else {
        code = table.items ? gn_fail(err, -ERANGE, "the messages of a clock are too far apart")
                           : gn_fail(err, -ENOMEM, "no memory for the bounds of a clock");
    }
    free(table.items);
    free(lower->knots);
    free(upper->knots);
    return code;
}

int gn_model_within(struct gn_bounds **bounds, const struct gn_points *points, const struct gn_rates *rates,
                    uint64_t granularity_ticks, struct gn_error *err)
{
    struct chain lower = chain_of(points->lower, points->lower_count, lower_corner, rates);
    struct chain upper = chain_of(points->upper, points->upper_count, upper_corner, rates);
    return assemble(bounds, &lower, &upper, rates, granularity_ticks, err);
}

/* The hull's vertices between those where lines of the steeper and of the flatter slope touch it. */
static struct chain touched_hull(const struct view *v, const struct gn_slope *steep,
                                 const struct gn_slope *flat)
{
    struct chain chain = {malloc(v->count * sizeof *chain.knots), 0};
    uint32_t *hull = malloc(v->count * sizeof *hull);
    size_t count = 0, first = 0;
    if (!hull || !chain.knots) {
        free(hull);
        free(chain.knots);
        return (struct chain){NULL, 0};
    }
    for (size_t i = 0; i < v->count; i++)
        push_hull(v, hull, &count, i);
    for (; first + 1 < count; first++) {
        const struct gn_point *a = &v->points[hull[first]], *b = &v->points[hull[first + 1]];
        gn_wide rise = ns_in(v, hull[first + 1]) - ns_in(v, hull[first]);
        if (!is_less(steep->rise_ns, steep->run_ticks, rise, b->ticks - a->ticks))
            break;
    }
    for (size_t i = first; i < count; i++) {
        chain.knots[chain.count++] = v->points[hull[i]];
        if (i + 1 == count)
            break;
        const struct gn_point *a = &v->points[hull[i]], *b = &v->points[hull[i + 1]];
        gn_wide rise = ns_in(v, hull[i + 1]) - ns_in(v, hull[i]);
        if (is_less(rise, b->ticks - a->ticks, flat->rise_ns, flat->run_ticks))
            break;
    }
    free(hull);
    return chain;
}

int gn_model_constant(struct gn_bounds **bounds, const struct gn_points *points,
                      const struct gn_slopes *slopes, uint64_t granularity_ticks, struct gn_error *err)
{
    struct view lower_view = {points->lower, points->lower_count, 1},
                upper_view = {points->upper, points->upper_count, -1};
    struct gn_slope not_least = slopes->least, not_most = slopes->most;
    not_least.rise_ns = -not_least.rise_ns;
    not_most.rise_ns = -not_most.rise_ns;
    struct gn_rates rates = {
        .shift = gn_shift_for((double)slopes->most.rise_ns / (double)slopes->most.run_ticks * 1.01)};
    rates.lo = gn_quotient_floor((uint64_t)slopes->least.rise_ns, slopes->least.run_ticks, rates.shift);
    rates.hi = gn_quotient_ceil((uint64_t)slopes->most.rise_ns, slopes->most.run_ticks, rates.shift);
    struct chain lower = touched_hull(&lower_view, &slopes->most, &slopes->least);
    struct chain upper = touched_hull(&upper_view, &not_least, &not_most);
    return assemble(bounds, &lower, &upper, &rates, granularity_ticks, err);
}

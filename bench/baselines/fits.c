#include "baselines/fits.h"

#include "baselines/corridor.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

/*
 * A bound: two half lines that meet at an anchor, in fixed point.
 *
 *      ns = origin_ns + ((ticks − origin_ticks) × rate + fraction) / 2^shift, rounded down
 *
 * rate is before or after, by the sign of the difference. |rate| < 2^62, so products have room in 128 bits.
 */
struct bound {
    uint64_t origin_ticks;
    int64_t origin_ns;
    uint64_t fraction; /* with what makes rounding down round to the nearest, or up */
    int64_t before, after;
};

/* ns are the parent's ticks since the epoch × tick_ns. */
struct time_line {
    uint64_t epoch_ticks;
    long double tick_ns;
};

enum { BURST = 8 };

struct gn_fit {
    enum gn_fit_kind kind;
    unsigned shift;
    struct bound lower, upper;

    struct time_line line;
    uint64_t child_ticks, parent_ticks; /* near all readings: what they are relative to */

    /* GN_FIT_HULL_LP */
    uint64_t grain_ticks; /* child's */
    struct gn_corridor_point *points;
    size_t count;
};

static const struct {
    const char *name;
    bool bounds;
} kinds[GN_FIT_KINDS] = {
    [GN_FIT_REGRESSION] = {"linear regression", false},
    [GN_FIT_HULL] = {"convex hull", false},
    [GN_FIT_HULL_LP] = {"hull, LP per reading", true},
    [GN_FIT_TWO_POINTS] = {"two points", false},
    [GN_FIT_FREEZER_AS_PUBLISHED] = {"FreeZer as published", true},
    [GN_FIT_FREEZER] = {"FreeZer mended", true},
};

const char *gn_fit_name(enum gn_fit_kind kind)
{
    return kinds[kind].name;
}

bool gn_fit_has_bounds(enum gn_fit_kind kind)
{
    return kinds[kind].bounds;
}

/* ---- readings relative to an origin, and the parent's time line ---- */

/* How far b is from a; right as long as that is less than 2^63. */
static int64_t since(uint64_t a_ticks, uint64_t b_ticks)
{
    return (int64_t)(b_ticks - a_ticks);
}

static int64_t clamp(__int128 value)
{
    return value < INT64_MIN ? INT64_MIN : value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

enum rounding { DOWN = -1, NEAREST = 0, UP = 1 };

/* By more than what long double may have lost. */
static long double outward(long double value, enum rounding way)
{
    return value + (int)way * fabsl(value) * 4 * LDBL_EPSILON;
}

/* A rate of the parent's ticks per child's tick, as a factor in 2^-shift ns per tick. */
static int64_t rate_of(const struct gn_fit *fit, long double parent_per_child, enum rounding way)
{
    long double rate = outward(ldexpl(parent_per_child * fit->line.tick_ns, (int)fit->shift), way);
    return (int64_t)(way == DOWN ? floorl(rate) : way == UP ? ceill(rate) : roundl(rate));
}

/* |rate| of any of the bounds is at most this, of the parent's ticks per child's. */
static int set_shift(struct gn_fit *fit, long double parent_per_child, struct gn_error *err)
{
    long double rate = fabsl(parent_per_child) * fit->line.tick_ns;
    if (!(rate < 0x1p60L))
        return gn_fail(err, -ERANGE, "the exchanges say that one clock stands still against the other");
    int bits = 60 - (rate > 0 ? ilogbl(rate) : 0);
    fit->shift = bits > 62 ? 62 : bits < 0 ? 0 : (unsigned)bits;
    return 0;
}

/* The anchor: at this reading of the child the parent's is y + beyond. */
static struct bound bound_at(const struct gn_fit *fit, int64_t x, int64_t y, long double beyond,
                             enum rounding way)
{
    int64_t parent = since(fit->line.epoch_ticks, fit->parent_ticks + (uint64_t)y);
    long double ns = outward(((long double)parent + beyond) * fit->line.tick_ns, way), whole = floorl(ns);
    uint64_t one = UINT64_C(1) << fit->shift;
    uint64_t more = way == UP ? one : way == NEAREST ? one / 2 : 0;
    return (struct bound){.origin_ticks = fit->child_ticks + (uint64_t)x,
                          .origin_ns = clamp((__int128)whole),
                          .fraction = (uint64_t)ldexpl(ns - whole, (int)fit->shift) + more};
}

/* A point: the line through (x, y), relative to the fit's origin. */
static int set_line(struct gn_fit *fit, int64_t x, long double y, long double parent_per_child,
                    struct gn_error *err)
{
    int code = set_shift(fit, parent_per_child, err);
    if (code != 0)
        return code;
    fit->lower = bound_at(fit, x, (int64_t)floorl(y), y - floorl(y), NEAREST);
    fit->lower.before = fit->lower.after = rate_of(fit, parent_per_child, NEAREST);
    fit->upper = fit->lower;
    return 0;
}

/* ---- regression ---- */

struct sums {
    long double n, x, y, xx, xy;
};

static void add_point(struct sums *sums, long double x, long double y)
{
    sums->n++;
    sums->x += x;
    sums->y += y;
}

static void add_product(struct sums *sums, long double x, long double y)
{
    x -= sums->x / sums->n;
    y -= sums->y / sums->n;
    sums->xx += x * x;
    sums->xy += x * y;
}

static void each_message(const struct gn_fit *fit, const struct gn_fit_pair *pair, struct sums *sums,
                         void (*add)(struct sums *, long double, long double))
{
    for (size_t i = 0; i < pair->count; i++) {
        const struct gn_exchange *e = &pair->exchanges[i];
        if (e->there)
            add(sums, since(fit->child_ticks, e->asked_ticks), since(fit->parent_ticks, e->heard_ticks));
        if (e->back)
            add(sums, since(fit->child_ticks, e->received_ticks),
                since(fit->parent_ticks, e->answered_ticks));
    }
}

static int fit_regression(struct gn_fit *fit, const struct gn_fit_pair *pair, struct gn_error *err)
{
    struct sums sums = {0, 0, 0, 0, 0};
    each_message(fit, pair, &sums, add_point);
    each_message(fit, pair, &sums, add_product);
    if (sums.xx == 0)
        return gn_fail(err, -EINVAL, "a line needs messages at two readings of the child's clock");
    long double x = floorl(sums.x / sums.n), rate = sums.xy / sums.xx;
    long double y = sums.y / sums.n + rate * (x - sums.x / sums.n);
    return set_line(fit, (int64_t)x, y, rate, err);
}

/* ---- two points ---- */

static int64_t round_trip(const struct gn_exchange *e)
{
    return since(e->asked_ticks, e->received_ticks) - since(e->heard_ticks, e->answered_ticks);
}

/* The exchange with the shortest round trip from first on, count of them; NULL: none is complete. Round trips
 * are differences of durations of two clocks, which is right as far as those are short. */
static const struct gn_exchange *shortest(const struct gn_exchange *first, size_t count)
{
    const struct gn_exchange *best = NULL;
    for (const struct gn_exchange *e = first; e < first + count; e++)
        if (e->there && e->back && (!best || round_trip(e) < round_trip(best)))
            best = e;
    return best;
}

/* Half of what the exchange took is before it, on both clocks. */
static int64_t child_middle(const struct gn_fit *fit, const struct gn_exchange *e)
{
    return since(fit->child_ticks, e->asked_ticks) + since(e->asked_ticks, e->received_ticks) / 2;
}

static long double parent_middle(const struct gn_fit *fit, const struct gn_exchange *e)
{
    return (long double)since(fit->parent_ticks, e->heard_ticks) +
           0.5L * (long double)since(e->heard_ticks, e->answered_ticks);
}

static int fit_two_points(struct gn_fit *fit, const struct gn_fit_pair *pair, struct gn_error *err)
{
    size_t burst = pair->burst ? pair->burst : BURST;
    if (burst > pair->count)
        burst = pair->count;
    const struct gn_exchange *first = shortest(pair->exchanges, burst);
    const struct gn_exchange *last = shortest(pair->exchanges + (pair->count - burst), burst);
    if (!first || !last || first == last)
        return gn_fail(err, -EINVAL, "the first or the last burst of exchanges has no answer");
    int64_t begin = child_middle(fit, first), end = child_middle(fit, last);
    if (begin >= end)
        return gn_fail(err, -EINVAL, "the first and the last burst are at the same time");
    long double y = parent_middle(fit, first), rise = parent_middle(fit, last) - y;
    return set_line(fit, begin, y, rise / (long double)(end - begin), err);
}

/* ---- hulls ---- */

static void add_corner(struct gn_fit *fit, int64_t x, int64_t y, bool above)
{
    fit->points[fit->count++] = (struct gn_corridor_point){x, y, above};
}

/* A reading of the parent's is not later than it says plus a grain, one of the child's neither. */
static int make_corridor(struct gn_fit *fit, const struct gn_fit_pair *pair, struct gn_error *err)
{
    fit->points = malloc(2 * pair->count * sizeof *fit->points);
    if (!fit->points)
        return gn_fail(err, -ENOMEM, "no memory for the hulls of %zu exchanges", pair->count);
    for (size_t i = 0; i < pair->count; i++) {
        const struct gn_exchange *e = &pair->exchanges[i];
        if (e->there)
            add_corner(fit, since(fit->child_ticks, e->asked_ticks),
                       since(fit->parent_ticks, e->heard_ticks) + (int64_t)pair->parent.granularity_ticks,
                       true);
        if (e->back)
            add_corner(fit,
                       since(fit->child_ticks, e->received_ticks) + (int64_t)pair->child.granularity_ticks,
                       since(fit->parent_ticks, e->answered_ticks), false);
    }
    fit->count = gn_corridor_hulls(fit->points, fit->count);
    struct gn_corridor_line line;
    if (!gn_corridor_find(fit->points, fit->count, GN_FLATTEST, 0, &line))
        return gn_fail(
            err, -EDOM,
            "no straight line has all messages on its right side: the rate between the clocks changed");
    return 0;
}

static long double value_at(const struct gn_corridor_line *line, int64_t x)
{
    return ldexpl((long double)gn_corridor_line_at(line, x, false), -GN_CORRIDOR_BITS);
}

/* The mean of two lines of the corridor is one, too. It is anchored where it is best known. */
static int fit_hull(struct gn_fit *fit, const struct gn_fit_pair *pair, struct gn_error *err)
{
    struct gn_corridor_line flat, steep;
    int code = make_corridor(fit, pair, err);
    if (code != 0)
        return code;
    gn_corridor_find(fit->points, fit->count, GN_FLATTEST, 0, &flat);
    gn_corridor_find(fit->points, fit->count, GN_STEEPEST, 0, &steep);
    int64_t x = flat.x / 2 + steep.x / 2;
    return set_line(
        fit, x, (value_at(&flat, x) + value_at(&steep, x)) / 2,
        ((long double)flat.rise / (long double)flat.run + (long double)steep.rise / (long double)steep.run) /
            2,
        err);
}

/* Of a value of the corridor, in ns since the epoch. */
static int64_t ns_of(const struct gn_fit *fit, __int128 y, enum rounding way)
{
    int64_t origin = since(fit->line.epoch_ticks, fit->parent_ticks);
    long double ticks =
        ldexpl((long double)(y + ((__int128)origin * (1 << GN_CORRIDOR_BITS))), -GN_CORRIDOR_BITS);
    long double ns = outward(ticks * fit->line.tick_ns, way);
    if (fabsl(ns) >= 0x1p63L)
        return ns < 0 ? INT64_MIN : INT64_MAX;
    return (int64_t)(way == UP ? ceill(ns) : floorl(ns));
}

/* A reading lasts for a grain: the upper bound is that of its end. */
static struct gn_interval convert_by_program(const struct gn_fit *fit, uint64_t ticks)
{
    struct gn_corridor_line line;
    struct gn_interval all = {INT64_MIN, INT64_MAX};
    int64_t x = since(fit->child_ticks, ticks), grain = (int64_t)fit->grain_ticks, end;
    if (x <= -GN_CORRIDOR_REACH || x >= GN_CORRIDOR_REACH - grain)
        return all;
    end = x + grain;
    if (gn_corridor_find(fit->points, fit->count, GN_LOWEST, x, &line))
        all.lo_ns = ns_of(fit, gn_corridor_line_at(&line, x, false), DOWN);
    if (gn_corridor_find(fit->points, fit->count, GN_HIGHEST, end, &line))
        all.hi_ns = ns_of(fit, gn_corridor_line_at(&line, end, true), UP);
    return all;
}

/* ---- FreeZer ---- */

/* Durations that contain each other, by cause and effect (algorithm 3): of the parent's per child's ticks. */
struct rates {
    long double lo, hi;
};

static int rates_between(const struct gn_exchange *first, const struct gn_exchange *last, int64_t child_grain,
                         int64_t parent_grain, struct rates *rates, struct gn_error *err)
{
    int64_t parent_inner = since(first->heard_ticks, last->answered_ticks) - parent_grain;
    int64_t child_outer = since(first->asked_ticks, last->received_ticks) + child_grain;
    int64_t parent_outer = since(first->answered_ticks, last->heard_ticks) + parent_grain;
    int64_t child_inner = since(first->received_ticks, last->asked_ticks) - child_grain;
    if (child_inner <= 0 || child_outer <= 0 || parent_inner < 0 || parent_outer <= 0)
        return gn_fail(err, -EINVAL, "rates need two exchanges of which one ends before the other begins");
    rates->lo = (long double)parent_inner / (long double)child_outer;
    rates->hi = (long double)parent_outer / (long double)child_inner;
    return 0;
}

static const struct gn_exchange *complete(const struct gn_exchange *from, const struct gn_exchange *to)
{
    int step = from < to ? 1 : -1;
    while (from != to && !(from->there && from->back))
        from += step;
    return from;
}

static int freezer_rates(struct gn_fit *fit, const struct gn_fit_pair *pair, int64_t child_grain,
                         int64_t parent_grain, struct rates *rates, struct gn_error *err)
{
    const struct gn_exchange *begin = pair->exchanges, *end = begin + pair->count - 1;
    int code =
        rates_between(complete(begin, end), complete(end, begin), child_grain, parent_grain, rates, err);
    return code ? code : set_shift(fit, fmaxl(rates->lo, rates->hi), err);
}

/* The lower bound with the lower rate and the upper one with the upper on both sides of the zero, and the
 * child's ticks around the zero taken for the parent's: as it is published. */
static int fit_freezer_as_published(struct gn_fit *fit, const struct gn_fit_pair *pair, struct gn_error *err)
{
    struct rates rates;
    int code = freezer_rates(fit, pair, 0, 0, &rates, err);
    if (code != 0)
        return code;
    const struct gn_exchange *zero = shortest(pair->exchanges, pair->count);
    int64_t wait = since(zero->asked_ticks, zero->received_ticks);
    int64_t x = since(fit->child_ticks, zero->asked_ticks) + wait / 2;
    int64_t y = since(fit->parent_ticks, zero->heard_ticks);
    fit->lower = bound_at(fit, x, y - wait / 2, 0, DOWN);
    fit->upper = bound_at(fit, x, y + (wait - wait / 2), 0, UP);
    fit->lower.before = fit->lower.after = rate_of(fit, rates.lo, DOWN);
    fit->upper.before = fit->upper.after = rate_of(fit, rates.hi, UP);
    return 0;
}

static int fit_freezer(struct gn_fit *fit, const struct gn_fit_pair *pair, struct gn_error *err)
{
    struct rates rates;
    int64_t grain = (int64_t)pair->child.granularity_ticks, grain_y = (int64_t)pair->parent.granularity_ticks;
    int code = freezer_rates(fit, pair, grain, grain_y, &rates, err);
    if (code != 0)
        return code;
    const struct gn_exchange *zero = shortest(pair->exchanges, pair->count);
    fit->lower = bound_at(fit, since(fit->child_ticks, zero->received_ticks) + grain,
                          since(fit->parent_ticks, zero->answered_ticks), 0, DOWN);
    fit->upper = bound_at(fit, since(fit->child_ticks, zero->asked_ticks) - grain,
                          since(fit->parent_ticks, zero->heard_ticks) + grain_y, 0, UP);
    fit->lower.after = fit->upper.before = rate_of(fit, rates.lo, DOWN);
    fit->lower.before = fit->upper.after = rate_of(fit, rates.hi, UP);
    return 0;
}

/* ---- all of them ---- */

static int build(struct gn_fit *fit, const struct gn_fit_pair *pair, struct gn_error *err)
{
    switch (fit->kind) {
    case GN_FIT_REGRESSION:
        return fit_regression(fit, pair, err);
    case GN_FIT_HULL:
        return fit_hull(fit, pair, err);
    case GN_FIT_HULL_LP:
        return make_corridor(fit, pair, err);
    case GN_FIT_TWO_POINTS:
        return fit_two_points(fit, pair, err);
    case GN_FIT_FREEZER_AS_PUBLISHED:
        return fit_freezer_as_published(fit, pair, err);
    case GN_FIT_FREEZER:
        return fit_freezer(fit, pair, err);
    case GN_FIT_KINDS:
        break;
    }
    return gn_fail(err, -EINVAL, "no such fit: %d", (int)fit->kind);
}

static bool near(uint64_t origin_ticks, uint64_t ticks)
{
    const uint64_t reach = GN_CORRIDOR_REACH / 2;
    return ticks - origin_ticks + reach - 1 < 2 * reach - 1;
}

static int check(const struct gn_fit *fit, const struct gn_fit_pair *pair, struct gn_error *err)
{
    if (!(pair->parent.hz >= 1 && pair->parent.hz <= 1e15) || pair->child.granularity_ticks >= UINT32_MAX ||
        pair->parent.granularity_ticks >= UINT32_MAX)
        return gn_fail(err, -EINVAL,
                       "a clock needs a frequency of 1 to 10^15 Hz and a granularity below 2^32");
    for (size_t i = 0; i < pair->count; i++) {
        const struct gn_exchange *e = &pair->exchanges[i];
        if ((e->there &&
             !(near(fit->child_ticks, e->asked_ticks) && near(fit->parent_ticks, e->heard_ticks))) ||
            (e->back &&
             !(near(fit->child_ticks, e->received_ticks) && near(fit->parent_ticks, e->answered_ticks))))
            return gn_fail(err, -ERANGE,
                           "exchange %zu: its readings are 2^61 ticks and more from the first one's", i);
    }
    return 0;
}

struct gn_fit *gn_fit_new(enum gn_fit_kind kind, const struct gn_fit_pair *pair, struct gn_error *err)
{
    const struct gn_exchange *first = pair->exchanges, *end = first + pair->count;
    while (first < end && !(first->there && first->back))
        first++;
    if (first == end) {
        gn_fail(err, -EINVAL, "not one exchange has all of its four readings");
        return NULL;
    }
    struct gn_fit *fit = calloc(1, sizeof *fit);
    if (!fit) {
        gn_fail(err, -ENOMEM, "no memory for a fit");
        return NULL;
    }
    fit->kind = kind;
    fit->line = (struct time_line){pair->epoch_ticks, 1e9L / (long double)pair->parent.hz};
    fit->child_ticks = first->asked_ticks;
    fit->parent_ticks = first->heard_ticks;
    fit->grain_ticks = pair->child.granularity_ticks;
    if (check(fit, pair, err) != 0 || build(fit, pair, err) != 0) {
        gn_fit_free(fit);
        return NULL;
    }
    return fit;
}

void gn_fit_free(struct gn_fit *fit)
{
    if (fit)
        free(fit->points);
    free(fit);
}

static inline int64_t value_of(const struct bound *bound, uint64_t ticks, unsigned shift)
{
    int64_t distance = (int64_t)(ticks - bound->origin_ticks);
    __int128 product = (__int128)distance * (distance < 0 ? bound->before : bound->after);
    __int128 ns = bound->origin_ns + ((product + (__int128)bound->fraction) >> shift);
    return clamp(ns);
}

static void convert_points(const struct gn_fit *fit, const uint64_t *ticks, struct gn_interval *intervals,
                           size_t count)
{
    const struct bound line = fit->lower;
    for (size_t i = 0; i < count; i++)
        intervals[i].lo_ns = intervals[i].hi_ns = value_of(&line, ticks[i], fit->shift);
}

static void convert_bounds(const struct gn_fit *fit, const uint64_t *ticks, struct gn_interval *intervals,
                           size_t count)
{
    const struct bound lower = fit->lower, upper = fit->upper;
    for (size_t i = 0; i < count; i++)
        intervals[i] = (struct gn_interval){value_of(&lower, ticks[i], fit->shift),
                                            value_of(&upper, ticks[i], fit->shift)};
}

void gn_fit_convert_all(const struct gn_fit *fit, const uint64_t *ticks, struct gn_interval *intervals,
                        size_t count)
{
    if (fit->kind == GN_FIT_HULL_LP) {
        for (size_t i = 0; i < count; i++)
            intervals[i] = convert_by_program(fit, ticks[i]);
    } else if (gn_fit_has_bounds(fit->kind)) {
        convert_bounds(fit, ticks, intervals, count);
    } else {
        convert_points(fit, ticks, intervals, count);
    }
}

struct gn_interval gn_fit_convert(const struct gn_fit *fit, uint64_t ticks)
{
    struct gn_interval interval;
    gn_fit_convert_all(fit, &ticks, &interval, 1);
    return interval;
}

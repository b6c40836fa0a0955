#include "clock/clocks_inside.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ASSUMED_PPB = 500000000 };

void gn_domain_drop_bounds(struct gn_domain *d)
{
    gn_bounds_free(d->bounds);
    d->bounds = NULL;
    d->has_lo = d->has_hi = false;
    d->state.reached = false;
    d->state.bounds = NULL;
    d->state.rests_on = GN_RATE_UNKNOWN;
}

void gn_domain_forget(struct gn_domain *d)
{
    memset(&d->state, 0, sizeof d->state);
    gn_domain_drop_bounds(d);
}

void gn_points_clear(struct gn_points *points)
{
    free(points->lower);
    free(points->upper);
    *points = (struct gn_points){0};
}

static bool copy(struct gn_points *to, const struct gn_points *from)
{
    *to = (struct gn_points){malloc((from->lower_count + 1) * sizeof *to->lower),
                             malloc((from->upper_count + 1) * sizeof *to->upper), from->lower_count,
                             from->upper_count};
    if (!to->lower || !to->upper) {
        gn_points_clear(to);
        return false;
    }
    memcpy(to->lower, from->lower, from->lower_count * sizeof *to->lower);
    memcpy(to->upper, from->upper, from->upper_count * sizeof *to->upper);
    return true;
}

/* One domain under one assumption. */
struct attempt {
    struct gn_domain *d;
    const struct gn_points *points;
    double nominal;  /* ns per tick */
    unsigned shift;  /* of all rates */
    uint64_t lo, hi; /* nominal rates: the outer limit */
    double nominal_ppb, wander_ppb;
    struct gn_slopes slopes;
};

static void refute(struct attempt *t, enum gn_assumption_kind kind, uint64_t first, uint64_t last,
                   double seen, double allowed)
{
    struct gn_clock_state *s = &t->d->state;
    if (s->refuted_count < (int)(sizeof s->refuted / sizeof s->refuted[0]))
        s->refuted[s->refuted_count++] = (struct gn_refutation){kind, first < last ? first : last,
                                                                first < last ? last : first, seen, allowed};
}

static double slope_of(const struct gn_slope *slope)
{
    return (double)slope->rise_ns / (double)slope->run_ticks;
}

static double ppb_beyond(double rate, double nominal)
{
    return (rate / nominal - 1) * 1e9;
}

/* least - most > spread, all in ns per tick: the clock was faster at one time than at another by more than
 * that. */
static bool differ_by_more(const struct gn_slopes *slopes, double spread)
{
    if (slopes->least.run_ticks == 0 || slopes->most.run_ticks == 0)
        return false;
    /* both slopes have a common part: only what is beyond it needs the precision */
    gn_wide cross = (gn_wide)slopes->least.rise_ns * (gn_wide)slopes->most.run_ticks -
                    (gn_wide)slopes->most.rise_ns * (gn_wide)slopes->least.run_ticks;
    return (double)cross / (double)slopes->least.run_ticks / (double)slopes->most.run_ticks >
           spread * (1 + 1e-9);
}

static void refute_slopes(struct attempt *t, enum gn_assumption_kind kind, double allowed_ppb)
{
    const struct gn_slope *least = &t->slopes.least, *most = &t->slopes.most;
    uint64_t first = least->first_ticks < most->first_ticks ? least->first_ticks : most->first_ticks;
    uint64_t a = least->first_ticks + least->run_ticks, b = most->first_ticks + most->run_ticks;
    refute(t, kind, first, a > b ? a : b, (slope_of(least) - slope_of(most)) / t->nominal * 1e9, allowed_ppb);
}

static void keep(struct attempt *t, enum gn_assumption_kind kind, struct gn_bounds *bounds, double rate_lo,
                 double rate_hi, const struct gn_points *used)
{
    gn_bounds_free(t->d->bounds);
    t->d->bounds = bounds;
    t->d->has_lo = t->d->has_hi = true;
    t->d->state.reached = true;
    t->d->state.rests_on = kind;
    t->d->state.rate_lo_ppb = ppb_beyond(rate_lo, t->nominal);
    t->d->state.rate_hi_ppb = ppb_beyond(rate_hi, t->nominal);
    t->d->state.used_there = used->upper_count;
    t->d->state.used_back = used->lower_count;
    t->d->state.bounds = bounds;
}

/* What a model came to: a clock of which nothing can be said is no error. */
static int made(int code)
{
    return code == 0 || code == -ERANGE ? 1 : code;
}

/* 1: bounds were made, or there are none; 0: the points contradict the rates; negative: no memory. */
static int within(struct attempt *t, enum gn_assumption_kind kind, const struct gn_rates *rates,
                  double allowed_ppb, struct gn_error *err)
{
    struct gn_points points;
    size_t lower, upper;
    if (!copy(&points, t->points))
        return gn_fail(err, -ENOMEM, "no memory for the bounds of a clock");
    gn_points_prune(&points, rates);
    if (gn_points_contradict(&points, rates, &lower, &upper)) {
        const struct gn_point *l = &points.lower[lower], *u = &points.upper[upper];
        double run = (double)l->ticks - (double)u->ticks, rise = (double)l->ns - (double)u->ns;
        double seen = run != 0 ? ppb_beyond(rise / run, t->nominal) : (double)INFINITY;
        refute(t, kind, l->ticks, u->ticks, seen, allowed_ppb);
        gn_points_clear(&points);
        return 0;
    }
    struct gn_bounds *bounds;
    int code = gn_model_within(&bounds, &points, rates, t->d->def.granularity_ticks, err);
    if (bounds)
        keep(t, kind, bounds, ldexp((double)rates->lo, -(int)rates->shift),
             rates->unbounded ? (double)INFINITY : ldexp((double)rates->hi, -(int)rates->shift), &points);
    gn_points_clear(&points);
    return made(code);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* A slope moved by `extra` ns per tick, as a mantissa limited by the nominal rates. */
static uint64_t below(const struct attempt *t, const struct gn_slope *slope, double extra)
{
    if (slope->run_ticks == 0 || slope->rise_ns <= 0)
        return t->lo;
    if (slope_of(slope) > 2 * t->nominal)
        return t->hi + 1;
    uint64_t rate = gn_quotient_floor((uint64_t)slope->rise_ns, slope->run_ticks, t->shift);
    uint64_t less = gn_mantissa_above(extra, t->shift);
    return larger(rate > less ? rate - less : 0, t->lo);
}

static uint64_t above(const struct attempt *t, const struct gn_slope *slope, double extra)
{
    if (slope->run_ticks == 0 || slope_of(slope) > 2 * t->nominal)
        return t->hi;
    if (slope->rise_ns <= 0)
        return 0;
    uint64_t rate = gn_quotient_ceil((uint64_t)slope->rise_ns, slope->run_ticks, t->shift) +
                    gn_mantissa_above(extra, t->shift);
    return rate < t->hi ? rate : t->hi;
}

/* The rate is constant, or stays within `wander` of one that is not known (models A and C). Average
 * rates are within `wander` of it, and so is every rate: together twice that. */
static int steady(struct attempt *t, enum gn_assumption_kind kind, double wander_ppb, struct gn_error *err)
{
    double wander = wander_ppb * 1e-9 * t->nominal;
    if (differ_by_more(&t->slopes, 2 * wander)) {
        refute_slopes(t, kind, 2 * wander_ppb);
        return 0;
    }
    struct gn_rates rates = {.lo = below(t, &t->slopes.least, 2 * wander),
                             .hi = above(t, &t->slopes.most, 2 * wander),
                             .shift = t->shift};
    if (rates.lo > rates.hi) { /* its rate is none that the frequencies allow */
        const struct gn_slope *slope = rates.lo > t->hi ? &t->slopes.least : &t->slopes.most;
        refute(t, kind, slope->first_ticks, slope->first_ticks + slope->run_ticks,
               ppb_beyond(slope_of(slope), t->nominal), t->nominal_ppb);
        return 0;
    }
    if (kind != GN_RATE_CONSTANT || rates.lo == t->lo || rates.hi == t->hi)
        return within(t, kind, &rates, 2 * wander_ppb, err);
    struct gn_bounds *bounds;
    int code = gn_model_constant(&bounds, t->points, &t->slopes, t->d->def.granularity_ticks, err);
    if (bounds)
        keep(t, kind, bounds, slope_of(&t->slopes.least), slope_of(&t->slopes.most), t->points);
    return made(code);
}

static struct attempt begin(struct gn_domain *d, const struct gn_points *points,
                            const struct gn_assumption *assumption)
{
    struct attempt t = {.d = d, .points = points, .nominal = 1e9 / d->def.hz};
    t.nominal_ppb = fmin(assumption->nominal_ppb, MAX_ASSUMED_PPB);
    t.wander_ppb = fmin(assumption->wander_ppb, MAX_ASSUMED_PPB);
    t.shift = gn_shift_for(t.nominal * 4);
    t.lo = gn_mantissa_below(t.nominal * (1 - t.nominal_ppb * 1e-9), t.shift);
    t.hi = gn_mantissa_above(t.nominal * (1 + t.nominal_ppb * 1e-9), t.shift);
    return t;
}

int gn_domain_two_sided(struct gn_domain *d, const struct gn_points *points,
                        const struct gn_assumption *assumption, struct gn_error *err)
{
    struct attempt t = begin(d, points, assumption);
    struct gn_rates nominal = {t.lo, t.hi, t.shift, false}, unknown = {0, 0, t.shift, true};
    int code = 0;
    if (!gn_points_slopes(points, &t.slopes))
        return gn_fail(err, -ENOMEM, "no memory for the bounds of a clock");
    if (assumption->kind == GN_RATE_CONSTANT)
        code = steady(&t, GN_RATE_CONSTANT, 0, err);
    else if (assumption->kind == GN_RATE_WANDERS)
        code = steady(&t, GN_RATE_WANDERS, t.wander_ppb, err);
    if (code == 0 && assumption->kind != GN_RATE_UNKNOWN)
        code = within(&t, GN_RATE_WITHIN, &nominal, t.nominal_ppb, err);
    if (code == 0)
        code = within(&t, GN_RATE_UNKNOWN, &unknown, (double)INFINITY, err);
    return code < 0 ? code : 0;
}

/* Messages of one direction only, as in a ring: one bound is known, and others may come to know their second
 * from it. The missing side is filled with what is there, for a table that can be made, and is never read. */
int gn_domain_one_sided(struct gn_domain *d, struct gn_points *points, const struct gn_assumption *assumption,
                        struct gn_error *err)
{
    struct attempt t = begin(d, points, assumption);
    struct gn_rates nominal = {t.lo, t.hi, t.shift, false};
    bool is_lower = points->lower_count > 0;
    gn_points_prune(points, &nominal);
    struct gn_points both = *points;
    if (is_lower) {
        both.upper = both.lower;
        both.upper_count = both.lower_count;
    } else {
        both.lower = both.upper;
        both.lower_count = both.upper_count;
    }
    int code = gn_model_within(&d->bounds, &both, &nominal, d->def.granularity_ticks, err);
    d->has_lo = d->bounds && is_lower;
    d->has_hi = d->bounds && !is_lower;
    return made(code) < 0 ? code : 0;
}

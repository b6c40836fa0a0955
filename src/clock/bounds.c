#include "clock/bounds.h"

#include "clock/fixed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* From its reading to the next piece's. */
struct piece {
    uint64_t ticks;
    int64_t lo_ns, hi_ns;
    uint64_t lo_rate, hi_rate; /* mantissas */
    uint64_t reach_ticks;      /* so far its readings may be converted in doubles */
};

struct gn_bounds {
    size_t count;
    unsigned shift; /* of all rates */
    bool saturates; /* some of it means "nothing is known": lines there lead out of 64 bits */
    bool unbounded; /* nothing limits hi after the last piece and lo before the first */
    /* Readings this far from the ends cannot overflow. */
    uint64_t safe_ticks;
    uint64_t lo_rate, hi_rate; /* outside */
    /* Which piece to begin the search with: by the high bits of the distance from the first. */
    unsigned bucket_shift;
    size_t bucket_count;
    uint32_t *buckets;
    struct gn_breakpoint *breakpoints;
    struct gn_outside outside;
    struct piece *pieces;
};

static const double STEEPEST = 1e12; /* ns per tick outside of the table: no clock has more */
/* Times further away than this (146 years) are not times. */
static const int64_t FARTHEST = INT64_C(1) << 62; /* ns */

static bool is_orderly(const struct gn_breakpoint *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (b[i].lo_ns > b[i].hi_ns ||
            (i > 0 &&
             (b[i].ticks <= b[i - 1].ticks || b[i].lo_ns < b[i - 1].lo_ns || b[i].hi_ns < b[i - 1].hi_ns)))
            return false;
    return true;
}

/* Mantissa of the rise over a run of more than one tick, and the largest quotient of all of them. */
static double steepest(const struct gn_breakpoint *b, size_t count)
{
    double most = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        double run = (double)(b[i + 1].ticks - b[i].ticks);
        double lo = ((double)b[i + 1].lo_ns - (double)b[i].lo_ns) / run;
        double hi = ((double)b[i + 1].hi_ns - (double)b[i].hi_ns) / run;
        if (b[i + 1].ticks - b[i].ticks > 1)
            most = fmax(most, fmax(lo, hi));
    }
    return most;
}

static void make_pieces(struct gn_bounds *bounds, const struct gn_breakpoint *b)
{
    bounds->pieces[bounds->count] = (struct piece){.ticks = UINT64_MAX}; /* nothing comes after the last */
    for (size_t i = 0; i < bounds->count; i++) {
        struct piece *p = &bounds->pieces[i];
        *p = (struct piece){b[i].ticks, b[i].lo_ns, b[i].hi_ns, bounds->lo_rate, bounds->hi_rate, 0};
        if (i + 1 == bounds->count)
            break;
        uint64_t run = b[i + 1].ticks - b[i].ticks;
        uint64_t lo_rise = (uint64_t)b[i + 1].lo_ns - (uint64_t)b[i].lo_ns;
        uint64_t hi_rise = (uint64_t)b[i + 1].hi_ns - (uint64_t)b[i].hi_ns;
        /* of a run of one tick only the first reading is ever converted */
        p->lo_rate = run > 1 ? gn_quotient_floor(lo_rise, run, bounds->shift) : 0;
        p->hi_rate = run > 1 ? gn_quotient_ceil(hi_rise, run, bounds->shift) : 0;
    }
}

static bool make_buckets(struct gn_bounds *bounds)
{
    uint64_t span = bounds->pieces[bounds->count - 1].ticks - bounds->pieces[0].ticks;
    unsigned bits = 64 - (unsigned)__builtin_clzll(span | 1), wanted = 1;
    while (((size_t)1 << wanted) < 2 * bounds->count)
        wanted++;
    bounds->bucket_shift = bits > wanted ? bits - wanted : 0;
    bounds->bucket_count = (size_t)(span >> bounds->bucket_shift) + 1;
    bounds->buckets = malloc(bounds->bucket_count * sizeof *bounds->buckets);
    if (!bounds->buckets)
        return false;
    uint32_t piece = 0;
    for (size_t i = 0; i < bounds->bucket_count; i++) {
        uint64_t first = bounds->pieces[0].ticks + ((uint64_t)i << bounds->bucket_shift);
        while (piece + 1 < bounds->count && bounds->pieces[piece + 1].ticks <= first)
            piece++;
        bounds->buckets[i] = piece;
    }
    return true;
}

/* How far into a piece readings can be converted in doubles. */
static uint64_t reach_of(const struct gn_bounds *bounds, size_t piece)
{
    const struct piece *p = &bounds->pieces[piece];
    const int64_t far = INT64_C(1) << 62; /* a sum of 64 bits has no room for more: "nothing is known" */
    if ((piece + 1 == bounds->count && bounds->unbounded) || p->lo_ns < -far || p->hi_ns > far)
        return 0;
    uint64_t rate = p->hi_rate > p->lo_rate ? p->hi_rate : p->lo_rate;
    double reach = rate ? 0x1p47 / ldexp((double)rate, -(int)bounds->shift) : 0x1p51;
    uint64_t limit = reach < 0x1p51 ? (uint64_t)reach : (uint64_t)1 << 51;
    if (piece + 1 < bounds->count && limit > p[1].ticks - p->ticks)
        limit = p[1].ticks - p->ticks;
    return limit > bounds->safe_ticks ? bounds->safe_ticks : limit;
}

static struct gn_bounds *build(const struct gn_breakpoint *breakpoints, size_t count,
                               const struct gn_outside *outside, const struct gn_rates *rates)
{
    struct gn_bounds *bounds = calloc(1, sizeof *bounds);
    struct gn_breakpoint *copy = malloc(count * sizeof *copy);
    struct piece *pieces = malloc((count + 1) * sizeof *pieces);
    if (!bounds || !copy || !pieces) {
        free(bounds);
        free(copy);
        free(pieces);
        return NULL;
    }
    memcpy(copy, breakpoints, count * sizeof *copy);
    *bounds = (struct gn_bounds){.count = count,
                                 .shift = rates->shift,
                                 .unbounded = rates->unbounded,
                                 .lo_rate = rates->lo,
                                 .hi_rate = rates->unbounded ? 0 : rates->hi,
                                 .breakpoints = copy,
                                 .pieces = pieces,
                                 .outside = *outside};
    int64_t far = INT64_MAX - 2;
    for (size_t i = 0; i<count; i += count> 1 ? count - 1 : 1) {
        int64_t lo = INT64_MAX - llabs(copy[i].lo_ns > INT64_MIN ? copy[i].lo_ns : INT64_MAX);
        int64_t hi = INT64_MAX - llabs(copy[i].hi_ns > INT64_MIN ? copy[i].hi_ns : INT64_MAX);
        far = lo < far ? lo : far;
        far = hi < far ? hi : far;
    }
    double safe =
        bounds->hi_rate ? ldexp((double)far, (int)bounds->shift) / (double)bounds->hi_rate * 0.9 : 1e19;
    bounds->safe_ticks = safe < 1 ? 0 : safe < 9e18 ? (uint64_t)safe : (uint64_t)1 << 62;
    bounds->saturates = copy[0].lo_ns < -FARTHEST || copy[count - 1].hi_ns > FARTHEST;
    make_pieces(bounds, copy);
    for (size_t i = 0; i < count; i++)
        bounds->pieces[i].reach_ticks = reach_of(bounds, i);
    if (!make_buckets(bounds)) {
        gn_bounds_free(bounds);
        return NULL;
    }
    return bounds;
}

struct gn_bounds *gn_bounds_new(const struct gn_breakpoint *breakpoints, size_t count,
                                const struct gn_outside *outside, struct gn_error *err)
{
    struct gn_rates rates = {.unbounded = isinf(outside->rate_hi) != 0};
    if (count == 0 || count > UINT32_MAX / 4 || !is_orderly(breakpoints, count)) {
        gn_fail(err, 0, "%zu breakpoints of a clock are not in order", count);
        return NULL;
    }
    if (!(outside->rate_lo >= 0) || !(outside->rate_hi >= outside->rate_lo) || outside->rate_lo > STEEPEST ||
        (!rates.unbounded && outside->rate_hi > STEEPEST)) {
        gn_fail(err, 0, "no clock has rates from %g to %g ns per tick", outside->rate_lo, outside->rate_hi);
        return NULL;
    }
    double most = steepest(breakpoints, count);
    rates.shift =
        gn_shift_for(fmax(most, rates.unbounded ? outside->rate_lo : outside->rate_hi) * 1.01 + 1e-9);
    rates.lo = gn_mantissa_below(outside->rate_lo, rates.shift);
    rates.hi = rates.unbounded ? 0 : gn_mantissa_above(outside->rate_hi, rates.shift);
    struct gn_bounds *bounds = build(breakpoints, count, outside, &rates);
    if (!bounds)
        gn_fail(err, 0, "no memory for the %zu breakpoints of a clock", count);
    return bounds;
}

struct gn_bounds *gn_bounds_reference(double hz, uint64_t granularity_ticks, uint64_t epoch_ticks,
                                      struct gn_error *err)
{
    struct gn_rates rates;
    if (!(hz >= 1) || hz > 1e12) {
        gn_fail(err, 0, "no clock has %g ticks per second", hz);
        return NULL;
    }
    /* to a 1024th of a Hz, so that a tick's length is one exact fraction */
    uint64_t frequency = (uint64_t)llround(hz * 1024);
    struct gn_outside outside = {1e9 * 1024 / (double)frequency, 1e9 * 1024 / (double)frequency};
    rates.shift = gn_shift_for(outside.rate_hi * 1.01);
    rates.lo = (uint64_t)((((gn_uwide)1000000000u * 1024) << rates.shift) / frequency);
    rates.hi = rates.lo + 1;
    rates.unbounded = false;
    struct gn_breakpoint epoch = {epoch_ticks, 0,
                                  gn_saturate(gn_product_ceil(granularity_ticks, rates.hi, rates.shift))};
    struct gn_bounds *bounds = build(&epoch, 1, &outside, &rates);
    if (!bounds)
        gn_fail(err, 0, "no memory for a clock");
    return bounds;
}

void gn_bounds_free(struct gn_bounds *bounds)
{
    if (!bounds)
        return;
    free(bounds->buckets);
    free(bounds->breakpoints);
    free(bounds->pieces);
    free(bounds);
}

size_t gn_bounds_breakpoints(const struct gn_bounds *bounds, const struct gn_breakpoint **breakpoints,
                             struct gn_outside *outside)
{
    *breakpoints = bounds->breakpoints;
    *outside = bounds->outside;
    return bounds->count;
}

static struct gn_interval before_first(const struct gn_bounds *bounds, uint64_t ticks)
{
    const struct piece *first = &bounds->pieces[0];
    uint64_t distance = first->ticks - ticks;
    gn_wide lo = (gn_wide)first->lo_ns - gn_product_ceil(distance, bounds->hi_rate, bounds->shift);
    gn_wide hi = (gn_wide)first->hi_ns - gn_product_floor(distance, bounds->lo_rate, bounds->shift);
    return (struct gn_interval){bounds->unbounded ? INT64_MIN : gn_saturate(lo), gn_saturate(hi)};
}

/* The last piece has no end: its readings can be further away than 64 bits of nanoseconds reach. */
static struct gn_interval after_last(const struct gn_bounds *bounds, uint64_t ticks)
{
    const struct piece *last = &bounds->pieces[bounds->count - 1];
    uint64_t distance = ticks - last->ticks;
    gn_wide lo = (gn_wide)last->lo_ns + gn_product_floor(distance, bounds->lo_rate, bounds->shift);
    gn_wide hi = (gn_wide)last->hi_ns + gn_product_ceil(distance, bounds->hi_rate, bounds->shift);
    return (struct gn_interval){gn_saturate(lo), bounds->unbounded && distance ? INT64_MAX : gn_saturate(hi)};
}

static inline struct gn_interval inside(const struct gn_bounds *bounds, const struct piece *piece,
                                        uint64_t ticks)
{
    uint64_t distance = ticks - piece->ticks;
    gn_wide lo = gn_product_floor(distance, piece->lo_rate, bounds->shift);
    gn_wide hi = gn_product_ceil(distance, piece->hi_rate, bounds->shift);
    if (__builtin_expect(!bounds->saturates, 1))
        return (struct gn_interval){piece->lo_ns + (int64_t)lo, piece->hi_ns + (int64_t)hi};
    return (struct gn_interval){gn_saturate(piece->lo_ns + lo), gn_saturate(piece->hi_ns + hi)};
}

static inline size_t find(const struct gn_bounds *bounds, uint64_t ticks)
{
    uint64_t bucket = (ticks - bounds->pieces[0].ticks) >> bounds->bucket_shift;
    size_t piece = bounds->buckets[bucket < bounds->bucket_count ? bucket : bounds->bucket_count - 1];
    while (piece + 1 < bounds->count && bounds->pieces[piece + 1].ticks <= ticks)
        piece++;
    return piece;
}

static inline struct gn_interval convert(const struct gn_bounds *bounds, uint64_t ticks, size_t *piece)
{
    const struct piece *first = bounds->pieces;
    size_t last = bounds->count - 1;
    if (ticks < first->ticks)
        return before_first(bounds, ticks);
    if (ticks >= first[last].ticks && (bounds->unbounded || ticks - first[last].ticks > bounds->safe_ticks))
        return after_last(bounds, ticks);
    if (ticks < first[*piece].ticks || (*piece < last && ticks >= first[*piece + 1].ticks))
        *piece = find(bounds, ticks);
    return inside(bounds, &first[*piece], ticks);
}

struct gn_interval gn_bounds_convert(const struct gn_bounds *bounds, uint64_t ticks)
{
    size_t piece = ticks < bounds->pieces[0].ticks ? 0 : find(bounds, ticks);
    return convert(bounds, ticks, &piece);
}

/* ---- on another clock ---- */

static bool is_known(struct gn_interval at)
{
    return at.lo_ns > INT64_MIN && at.hi_ns < INT64_MAX;
}

static uint64_t middle_of(struct gn_interval at, uint64_t epoch_ticks, double hz)
{
    /* relative to the epoch, so that ticks of a counter that has run for months are as exact */
    const double ns = (double)at.lo_ns + ((double)at.hi_ns - (double)at.lo_ns) / 2;
    const double ticks = floor(ns * hz * 1e-9);
    if (ticks < 0)
        return -ticks < (double)epoch_ticks ? epoch_ticks - (uint64_t)-ticks : 0;
    return ticks < 0x1p62 ? epoch_ticks + (uint64_t)ticks : UINT64_MAX;
}

uint64_t gn_bounds_placed(const struct gn_bounds *bounds, uint64_t ticks, uint64_t epoch_ticks, double hz)
{
    const struct gn_breakpoint *breakpoints;
    struct gn_outside outside;
    const size_t count = gn_bounds_breakpoints(bounds, &breakpoints, &outside);
    const struct gn_interval at = gn_bounds_convert(bounds, ticks);
    if (is_known(at))
        return middle_of(at, epoch_ticks, hz);
    const bool is_before = ticks < breakpoints[0].ticks;
    const uint64_t end =
        middle_of(gn_bounds_convert(bounds, breakpoints[is_before ? 0 : count - 1].ticks), epoch_ticks, hz);
    return is_before ? end - (end > 0) : end + (end < UINT64_MAX);
}

/* ---- many at a time ---- */

/*
 * Readings of one piece, in doubles, which the compiler does several at a time. It is as sound as the fixed
 * point: a distance below 2^51 is exact, the rates are outward by more than a product's rounding, a product
 * below 2^47 has an error below 2^-6, and three quarters more than make up for rounding to the nearest. What
 * is lost against the fixed point is at most 2 ns.
 */
static inline double to_double(uint64_t small) /* below 2^52 */
{
    uint64_t bits = small | 0x4330000000000000u;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value - 0x1p52;
}

static inline int64_t to_nearest(double small) /* magnitude below 2^51 */
{
    double shifted = small + 0x1.8p52;
    int64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return bits - 0x4338000000000000;
}

static void convert_run(const struct gn_bounds *bounds, const struct piece *piece, const uint64_t *ticks,
                        struct gn_interval *intervals, size_t count)
{
    const double lo_rate = ldexp((double)piece->lo_rate, -(int)bounds->shift) * (1 - 0x1p-50);
    const double hi_rate = ldexp((double)piece->hi_rate, -(int)bounds->shift) * (1 + 0x1p-50);
    const uint64_t origin = piece->ticks;
    const int64_t lo_ns = piece->lo_ns, hi_ns = piece->hi_ns;
    for (size_t i = 0; i < count; i++) {
        double distance = to_double(ticks[i] - origin);
        intervals[i].lo_ns = lo_ns + to_nearest(distance * lo_rate - 0.75);
        intervals[i].hi_ns = hi_ns + to_nearest(distance * hi_rate + 0.75);
    }
}

void gn_bounds_convert_all(const struct gn_bounds *bounds, const uint64_t *ticks,
                           struct gn_interval *intervals, size_t count)
{
    enum { WORTH_IT = 8 };
    size_t piece = 0;
    for (size_t i = 0; i < count;) {
        intervals[i] = convert(bounds, ticks[i], &piece);
        i++;
        uint64_t origin = bounds->pieces[piece].ticks, reach = 0;
        size_t end = i;
        if (i < count && ticks[i] - origin < bounds->pieces[piece].reach_ticks)
            for (reach = bounds->pieces[piece].reach_ticks; end < count && ticks[end] - origin < reach;)
                end++;
        if (end - i >= WORTH_IT)
            convert_run(bounds, &bounds->pieces[piece], ticks + i, intervals + i, end - i);
        else
            for (size_t k = i; k < end; k++)
                intervals[k] = inside(bounds, &bounds->pieces[piece], ticks[k]);
        i = end;
    }
}

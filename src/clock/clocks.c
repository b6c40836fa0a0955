#include "clock/clocks.h"

#include "base/grow.h"
#include "base/map.h"
#include "clock/model.h"
#include "clock/pair.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIR_CAPACITY = 8192, MIN_CAPACITY = 16, MAX_ASSUMED_PPB = 500000000, RECENT = 16 };

/* What is kept must do for whatever is assumed later. */
static const double TOLERANCE = 1e-3;

/* Messages between two domains, seen from one of them. */
struct link {
    uint32_t other;
    struct gn_pair *to_other, *from_other; /* NULL: none went this way */
};

struct domain {
    struct gn_clock_def def;
    struct gn_clock_state state;
    struct gn_bounds *bounds; /* of which one side may mean nothing yet */
    bool has_lo, has_hi;
    struct link *links;
    size_t link_count, link_capacity;
};

struct gn_clocks {
    size_t capacity;
    uint64_t epoch_ticks;
    struct domain *domains;
    size_t count, domain_capacity, link_count;
    struct gn_map pairs;
    struct gn_recent {
        uint32_t from, to;
        struct gn_pair *pair;
    } recent[RECENT];
};

struct gn_clocks *gn_clocks_new(size_t capacity)
{
    struct gn_clocks *clocks = calloc(1, sizeof *clocks);
    if (clocks)
        clocks->capacity = capacity == 0 ? PAIR_CAPACITY : capacity < MIN_CAPACITY ? MIN_CAPACITY : capacity;
    return clocks;
}

static void drop_bounds(struct domain *d)
{
    gn_bounds_free(d->bounds);
    d->bounds = NULL;
    d->has_lo = d->has_hi = false;
    d->state.reached = false;
    d->state.bounds = NULL;
    d->state.rests_on = GN_RATE_UNKNOWN;
}

static void forget_bounds(struct domain *d)
{
    memset(&d->state, 0, sizeof d->state);
    drop_bounds(d);
}

void gn_clocks_free(struct gn_clocks *clocks)
{
    if (!clocks)
        return;
    for (size_t i = 0; i < clocks->count; i++) {
        struct domain *d = &clocks->domains[i];
        for (size_t k = 0; k < d->link_count; k++)
            if (d->links[k].from_other) {
                gn_pair_clear(d->links[k].from_other);
                free(d->links[k].from_other);
            }
        free(d->links);
        forget_bounds(d);
    }
    free(clocks->domains);
    gn_map_clear(&clocks->pairs);
    free(clocks);
}

uint32_t gn_clocks_add(struct gn_clocks *clocks, const struct gn_clock_def *def)
{
    if (clocks->count >= UINT32_MAX - 1 || !(def->hz >= 1) || !(def->hz <= 1e12) ||
        !gn_grow(&clocks->domains, &clocks->domain_capacity, clocks->count, sizeof *clocks->domains))
        return UINT32_MAX;
    struct domain *fresh = &clocks->domains[clocks->count];
    *fresh = (struct domain){.def = *def};
    if (fresh->def.granularity_ticks == 0)
        fresh->def.granularity_ticks = 1;
    forget_bounds(fresh);
    return (uint32_t)clocks->count++;
}

uint32_t gn_clocks_count(const struct gn_clocks *clocks)
{
    return (uint32_t)clocks->count;
}

const struct gn_clock_def *gn_clocks_def(const struct gn_clocks *clocks, uint32_t domain)
{
    return &clocks->domains[domain].def;
}

void gn_clocks_set_epoch(struct gn_clocks *clocks, uint64_t epoch_ticks)
{
    clocks->epoch_ticks = epoch_ticks;
}

/* ---- messages ---- */

static struct gn_key key_of(uint32_t from, uint32_t to)
{
    return (struct gn_key){from, to};
}

static struct link *link_of(struct gn_clocks *clocks, uint32_t from, uint32_t to)
{
    struct domain *d = &clocks->domains[from];
    for (size_t i = 0; i < d->link_count; i++)
        if (d->links[i].other == to)
            return &d->links[i];
    if (!gn_grow(&d->links, &d->link_capacity, d->link_count, sizeof *d->links))
        return NULL;
    size_t at = d->link_count++; /* by number, so that solving does not depend on who talked first */
    for (; at > 0 && d->links[at - 1].other > to; at--)
        d->links[at] = d->links[at - 1];
    d->links[at] = (struct link){.other = to};
    return &d->links[at];
}

static struct gn_pair *new_pair(struct gn_clocks *clocks, uint32_t from, uint32_t to)
{
    struct link *out = link_of(clocks, from, to), *in = link_of(clocks, to, from);
    struct gn_pair *pair = out && in ? malloc(sizeof *pair) : NULL;
    if (!pair || !gn_map_add(&clocks->pairs, key_of(from, to), pair)) {
        free(pair);
        return NULL;
    }
    gn_pair_begin(pair, clocks->domains[from].def.hz / clocks->domains[to].def.hz, TOLERANCE,
                  clocks->capacity);
    clocks->link_count += !out->from_other; /* pairs with messages, whichever way */
    out->to_other = pair;
    in->from_other = pair;
    return pair;
}

static struct gn_pair *find_pair(const struct gn_clocks *clocks, uint32_t from, uint32_t to)
{
    return gn_map_find(&clocks->pairs, key_of(from, to));
}

static int find_or_make(struct gn_clocks *clocks, uint32_t from, uint32_t to, struct gn_recent *recent)
{
    if (from >= clocks->count || to >= clocks->count || from == to)
        return -EINVAL;
    struct gn_pair *pair = find_pair(clocks, from, to);
    if (!pair && !(pair = new_pair(clocks, from, to)))
        return -ENOMEM;
    *recent = (struct gn_recent){from, to, pair};
    return 0;
}

int gn_clocks_message(struct gn_clocks *clocks, uint32_t from, uint64_t sent_ticks, uint32_t to,
                      uint64_t received_ticks)
{
    struct gn_recent *recent = &clocks->recent[(from * 2 + to) % RECENT];
    if (!recent->pair || recent->from != from || recent->to != to) {
        int code = find_or_make(clocks, from, to, recent);
        if (code != 0)
            return code;
    }
    return gn_pair_add(recent->pair, sent_ticks, received_ticks) ? 0 : -ENOMEM;
}

uint64_t gn_clocks_messages(const struct gn_clocks *clocks, uint32_t from, uint32_t to)
{
    const struct gn_pair *pair = find_pair(clocks, from, to);
    return pair ? pair->messages : 0;
}

void gn_clocks_each_kept(const struct gn_clocks *clocks, uint32_t from, uint32_t to,
                         void (*each)(void *context, uint64_t sent_ticks, uint64_t received_ticks),
                         void *context)
{
    const struct gn_pair *pair = find_pair(clocks, from, to);
    for (size_t i = 0; pair && i < pair->count; i++)
        each(context, pair->kept[i].sent_ticks, pair->kept[i].received_ticks);
}

/* ---- solving ---- */

/* What the products of model.c have room for, and more than any clock needs: 97 years at 3 GHz, and 146. */
static bool has_room(uint64_t ticks, int64_t ns)
{
    return ticks <= INT64_MAX && ns > INT64_MIN / 2 && ns < INT64_MAX / 2;
}

/* Of two kinds, the one that claims less. */
static enum gn_assumption_kind weaker(enum gn_assumption_kind a, enum gn_assumption_kind b)
{
    static const int claims[] = {
        [GN_RATE_CONSTANT] = 3, [GN_RATE_WANDERS] = 2, [GN_RATE_WITHIN] = 1, [GN_RATE_UNKNOWN] = 0};
    return claims[a] < claims[b] ? a : b;
}

/* Whether what a domain's bounds rest on claims no less than `kind` does. */
static bool bears(const struct gn_clocks *clocks, uint32_t domain, enum gn_assumption_kind kind)
{
    const struct gn_clock_state *state = &clocks->domains[domain].state;
    return domain == 0 || !state->reached || weaker(kind, state->rests_on) == kind;
}

/* Everything that the messages with domains of known bounds say about this one; of those only that bear this
 * kind of assumption, GN_RATE_UNKNOWN: of all. False: no memory. */
static bool collect(const struct gn_clocks *clocks, const struct domain *d, enum gn_assumption_kind kind,
                    struct gn_points *points)
{
    size_t lower = 0, upper = 0;
    for (size_t i = 0; i < d->link_count; i++) {
        lower += d->links[i].from_other ? d->links[i].from_other->count : 0;
        upper += d->links[i].to_other ? d->links[i].to_other->count : 0;
    }
    *points = (struct gn_points){malloc((lower + 1) * sizeof *points->lower),
                                 malloc((upper + 1) * sizeof *points->upper), 0, 0};
    if (!points->lower || !points->upper)
        return false;
    for (size_t i = 0; i < d->link_count; i++) {
        const struct link *link = &d->links[i];
        const struct domain *other = &clocks->domains[link->other];
        if (kind != GN_RATE_UNKNOWN && !bears(clocks, link->other, kind))
            continue;
        for (size_t k = 0; other->has_lo && link->from_other && k < link->from_other->count; k++) {
            /* here it showed less than the reading and its granularity when the other showed `sent` or more
             */
            const struct gn_kept *kept = &link->from_other->kept[k];
            struct gn_interval sent = gn_bounds_convert(other->bounds, kept->sent_ticks);
            if (has_room(kept->received_ticks, sent.lo_ns) &&
                has_room(kept->received_ticks + d->def.granularity_ticks, sent.lo_ns))
                points->lower[points->lower_count++] =
                    (struct gn_point){kept->received_ticks + d->def.granularity_ticks, sent.lo_ns};
        }
        for (size_t k = 0; other->has_hi && link->to_other && k < link->to_other->count; k++) {
            const struct gn_kept *kept = &link->to_other->kept[k];
            struct gn_interval received = gn_bounds_convert(other->bounds, kept->received_ticks);
            if (has_room(kept->sent_ticks, received.hi_ns))
                points->upper[points->upper_count++] = (struct gn_point){kept->sent_ticks, received.hi_ns};
        }
    }
    gn_points_sort(points);
    return true;
}

static void clear(struct gn_points *points)
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
        clear(to);
        return false;
    }
    memcpy(to->lower, from->lower, from->lower_count * sizeof *to->lower);
    memcpy(to->upper, from->upper, from->upper_count * sizeof *to->upper);
    return true;
}

/* One domain under one assumption. */
struct attempt {
    struct domain *d;
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
        clear(&points);
        return 0;
    }
    struct gn_bounds *bounds;
    int code = gn_model_within(&bounds, &points, rates, t->d->def.granularity_ticks, err);
    if (bounds)
        keep(t, kind, bounds, ldexp((double)rates->lo, -(int)rates->shift),
             rates->unbounded ? (double)INFINITY : ldexp((double)rates->hi, -(int)rates->shift), &points);
    clear(&points);
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

static struct attempt begin(struct domain *d, const struct gn_points *points,
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

static int solve_two_sided(struct domain *d, const struct gn_points *points,
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
static int solve_one_sided(struct domain *d, struct gn_points *points, const struct gn_assumption *assumption,
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

/* A domain that is known through another one whose assumption was refuted cannot refute its own: the other's
 * bounds are too wide for that. Its own must not claim more than the other's do. */
static enum gn_assumption_kind tenable(const struct gn_clocks *clocks, const struct domain *d,
                                       enum gn_assumption_kind kind)
{
    for (size_t i = 0; i < d->link_count; i++) {
        const struct domain *other = &clocks->domains[d->links[i].other];
        if (d->links[i].other != 0 && other->state.reached)
            kind = weaker(kind, other->state.rests_on);
    }
    return kind;
}

/* What was refuted stays said when the bounds are made anew under what is tenable. */
static int solve_tenable(struct gn_clocks *clocks, struct domain *d, const struct gn_points *points,
                         const struct gn_assumption *assumption, struct gn_error *err)
{
    struct gn_assumption own = *assumption;
    own.kind = tenable(clocks, d, own.kind);
    int code = solve_two_sided(d, points, assumption, err);
    if (code < 0 || weaker(own.kind, d->state.rests_on) == d->state.rests_on)
        return code;
    drop_bounds(d);
    return solve_two_sided(d, points, &own, err);
}

/* Messages with domains that bear the assumption suffice: the others may refute it, for bounds that fell back
 * to something weaker are right for that, but neither widen the bounds nor lower what they claim. */
static int solve_apart(struct domain *d, const struct gn_points *all, const struct gn_points *sure,
                       const struct gn_assumption *assumption, struct gn_error *err)
{
    int code = solve_two_sided(d, all, assumption, err);
    if (code < 0 || d->state.refuted_count > 0 || !d->state.reached)
        return code;
    drop_bounds(d);
    return solve_two_sided(d, sure, assumption, err);
}

static int solve_points(struct gn_clocks *clocks, struct domain *d, struct gn_points *all,
                        const struct gn_points *sure, const struct gn_assumption *assumption,
                        struct gn_error *err)
{
    if (all->lower_count == 0 || all->upper_count == 0)
        return assumption->kind == GN_RATE_UNKNOWN ? 0 : solve_one_sided(d, all, assumption, err);
    bool some_left_out = false;
    for (size_t i = 0; i < d->link_count; i++)
        some_left_out |= !bears(clocks, d->links[i].other, assumption->kind);
    if (some_left_out && sure->lower_count > 0 && sure->upper_count > 0)
        return solve_apart(d, all, sure, assumption, err);
    return solve_tenable(clocks, d, all, assumption, err);
}

static int solve_one(struct gn_clocks *clocks, size_t i, const struct gn_assumption *assumption,
                     struct gn_error *err)
{
    struct domain *d = &clocks->domains[i];
    struct gn_points all = {0}, sure = {0};
    int code = 0;
    if (!collect(clocks, d, GN_RATE_UNKNOWN, &all) || !collect(clocks, d, assumption->kind, &sure)) {
        code = gn_fail(err, -ENOMEM, "no memory for the messages of a clock");
    } else if (all.lower_count + all.upper_count > 0) {
        forget_bounds(d);
        code = solve_points(clocks, d, &all, &sure, assumption, err);
    }
    clear(&all);
    clear(&sure);
    return code;
}

static int solve_reference(struct gn_clocks *clocks, struct gn_error *err)
{
    struct domain *d = &clocks->domains[0];
    d->bounds = gn_bounds_reference(d->def.hz, d->def.granularity_ticks, clocks->epoch_ticks, err);
    if (!d->bounds)
        return -ENOMEM;
    d->has_lo = d->has_hi = d->state.reached = true;
    d->state.bounds = d->bounds;
    return 0;
}

/* The domains by their distance from the reference, along messages of any direction. Returns how many. */
static size_t find_order(const struct gn_clocks *clocks, uint32_t *order, bool *seen)
{
    size_t found = 1;
    order[0] = 0;
    seen[0] = true;
    for (size_t done = 0; done < found; done++) {
        const struct domain *d = &clocks->domains[order[done]];
        for (size_t i = 0; i < d->link_count; i++)
            if (!seen[d->links[i].other]) {
                seen[d->links[i].other] = true;
                order[found++] = d->links[i].other;
            }
    }
    return found;
}

/* No two ways between any two domains, and every way goes both ways: then one look at each is enough. */
static bool is_tree(const struct gn_clocks *clocks)
{
    for (size_t i = 0; i < clocks->count; i++)
        for (size_t k = 0; k < clocks->domains[i].link_count; k++)
            if (!clocks->domains[i].links[k].to_other || !clocks->domains[i].links[k].from_other)
                return false;
    return clocks->link_count < clocks->count;
}

/* What is known of all: changes when a side comes to be known, or an assumption to be refuted. */
static size_t known_of_all(const struct gn_clocks *clocks)
{
    size_t known = 0;
    for (size_t i = 0; i < clocks->count; i++) {
        const struct domain *d = &clocks->domains[i];
        known = known * 31 + d->has_lo + 2 * (size_t)d->has_hi + 4 * (size_t)d->state.rests_on;
    }
    return known;
}

/* From the reference outward and back again, until nothing new comes to be known at all; what is known of a
 * domain tightens those that it has messages with. Sound wherever it stops, but for bounds that were made
 * from those of a domain whose assumption was refuted after that: hence the rounds, as many as a refutation
 * can need to get about. */
static int sweep(struct gn_clocks *clocks, const uint32_t *order, size_t count,
                 const struct gn_assumption *assumption, struct gn_error *err)
{
    int code = 0;
    size_t before, rounds = 0;
    do {
        before = known_of_all(clocks);
        for (size_t i = 1; i < count && code == 0; i++)
            code = solve_one(clocks, order[i], assumption, err);
        if (is_tree(clocks))
            break;
        for (size_t i = count; i-- > 1 && code == 0;)
            code = solve_one(clocks, order[i], assumption, err);
    } while (code == 0 && known_of_all(clocks) != before && ++rounds < count + 2);
    return code;
}

/* ---- the reference itself ---- */

static size_t kept_between(const struct link *link)
{
    size_t there = link->to_other ? link->to_other->count : 0,
           back = link->from_other ? link->from_other->count : 0;
    return there < back ? there : back;
}

/* Whether most of what is known of the reference at first hand refutes the assumption: then it is the
 * reference that breaks it, and those whose messages are too few to show it must not go on as if it did not.
 * Returns what is left to assume then, else the assumption's own kind. */
static enum gn_assumption_kind left_to_assume(const struct gn_clocks *clocks, enum gn_assumption_kind kind)
{
    const struct domain *reference = &clocks->domains[0];
    enum gn_assumption_kind left = kind;
    size_t all = 0, against = 0;
    for (size_t i = 0; i < reference->link_count; i++) {
        const struct domain *other = &clocks->domains[reference->links[i].other];
        size_t weight = kept_between(&reference->links[i]);
        all += weight;
        if (other->state.refuted_count == 0)
            continue;
        against += weight;
        left = weaker(left, other->state.reached ? other->state.rests_on : GN_RATE_UNKNOWN);
    }
    return 2 * against > all ? left : kind;
}

/* What was refuted of more than `kind` stays said, ahead of what is refuted now. */
static void say_again(struct gn_clock_state *now, const struct gn_clock_state *before,
                      enum gn_assumption_kind kind)
{
    struct gn_clock_state both = *now;
    int room = (int)(sizeof both.refuted / sizeof both.refuted[0]);
    both.refuted_count = 0;
    for (int i = 0; i < before->refuted_count; i++)
        if (before->refuted[i].kind != kind && weaker(before->refuted[i].kind, kind) == kind)
            both.refuted[both.refuted_count++] = before->refuted[i];
    for (int i = 0; i < now->refuted_count && both.refuted_count < room; i++)
        both.refuted[both.refuted_count++] = now->refuted[i];
    *now = both;
}

static int solve_under(struct gn_clocks *clocks, const uint32_t *order, size_t count,
                       const struct gn_assumption *less, struct gn_error *err)
{
    struct gn_clock_state *before = malloc(clocks->count * sizeof *before);
    if (!before)
        return gn_fail(err, -ENOMEM, "no memory for %zu clocks", clocks->count);
    for (size_t i = 0; i < clocks->count; i++)
        before[i] = clocks->domains[i].state;
    for (size_t i = 1; i < clocks->count; i++)
        forget_bounds(&clocks->domains[i]);
    int code = sweep(clocks, order, count, less, err);
    for (size_t i = 1; i < clocks->count; i++)
        say_again(&clocks->domains[i].state, &before[i], less->kind);
    free(before);
    return code;
}

static int solve_all(struct gn_clocks *clocks, uint32_t *order, bool *seen,
                     const struct gn_assumption *assumption, struct gn_error *err)
{
    size_t count = find_order(clocks, order, seen);
    int code = sweep(clocks, order, count, assumption, err);
    struct gn_assumption less = *assumption;
    less.kind = left_to_assume(clocks, assumption->kind);
    return code == 0 && less.kind != assumption->kind ? solve_under(clocks, order, count, &less, err) : code;
}

int gn_clocks_solve(struct gn_clocks *clocks, const struct gn_assumption *assumption, struct gn_error *err)
{
    if (clocks->count == 0)
        return 0;
    for (size_t i = 0; i < clocks->count; i++)
        forget_bounds(&clocks->domains[i]);
    int code = solve_reference(clocks, err);
    uint32_t *order = malloc(clocks->count * sizeof *order);
    bool *seen = calloc(clocks->count, sizeof *seen);
    if (code == 0 && (!order || !seen))
        code = gn_fail(err, -ENOMEM, "no memory for %zu clocks", clocks->count);
    if (code == 0)
        code = solve_all(clocks, order, seen, assumption, err);
    free(order);
    free(seen);
    return code;
}

const struct gn_clock_state *gn_clocks_state(const struct gn_clocks *clocks, uint32_t domain)
{
    return &clocks->domains[domain].state;
}

#include "analyse/givers.h"

#include "base/grow.h"
#include "clock/clocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parts of a gathering that may have been the last, for any of its members. */
struct gn_last_parts {
    uint32_t first, count;
    bool is_known;
};

/* ---- times between calls ---- */

static uint32_t domain_of(const struct gn_history *h, uint32_t call)
{
    return h->definitions->locations[h->calls[call].location].domain;
}

static struct gn_span between(struct gn_interval from, struct gn_interval to)
{
    return (struct gn_span){(double)to.lo_ns - (double)from.hi_ns, (double)to.hi_ns - (double)from.lo_ns};
}

/* Readings of one clock: so many ticks are as long as its rate allows, whatever its offset is. */
static struct gn_span tightened(const struct gn_history *h, struct gn_span span, uint64_t from, uint64_t to)
{
    const double hz = h->definitions->ticks_per_second ? (double)h->definitions->ticks_per_second : 1e9;
    const double ns = (double)(int64_t)(to - from) / hz * 1e9, wide = fabs(ns) * GN_NOMINAL_PPB * 1e-9;
    struct gn_span by_rate = {ns - wide, ns + wide};
    if (to > from) /* whatever the bounds are: an assumption on the clock may have been refuted */
        span = (struct gn_span){fmax(span.lo_ns, 0), fmax(span.hi_ns, 0)};
    else
        span = (struct gn_span){fmin(span.lo_ns, 0), fmin(span.hi_ns, 0)};
    if (by_rate.lo_ns > span.hi_ns || by_rate.hi_ns < span.lo_ns)
        return span; /* a rate beyond what is assumed of any clock */
    return (struct gn_span){fmax(span.lo_ns, by_rate.lo_ns), fmin(span.hi_ns, by_rate.hi_ns)};
}

struct gn_span gn_enter_to_enter(const struct gn_history *h, uint32_t from, uint32_t to)
{
    const struct gn_call *a = &h->calls[from], *b = &h->calls[to];
    const struct gn_span span = between(a->enter, b->enter);
    return domain_of(h, from) == domain_of(h, to) ? tightened(h, span, a->enter_ticks, b->enter_ticks) : span;
}

struct gn_span gn_call_length(const struct gn_history *h, uint32_t call)
{
    const struct gn_call *c = &h->calls[call], *first = &h->calls[c->waits_from];
    return tightened(h, between(first->enter, c->leave), first->enter_ticks, c->leave_ticks);
}

/* Whether `a` was entered before `b` for certain. */
static bool is_before(const struct gn_history *h, uint32_t a, uint32_t b)
{
    return domain_of(h, a) == domain_of(h, b) ? h->calls[a].enter_ticks < h->calls[b].enter_ticks
                                              : h->calls[a].enter.hi_ns < h->calls[b].enter.lo_ns;
}

/* ---- gatherings ---- */

/* Whether what the part gave was for the member. Of intercommunicators, which are vague, no more is told. */
static bool is_for(const struct gn_history *h, const struct gn_history_gathering *g, uint32_t part,
                   uint32_t member)
{
    const struct gn_given_part *p = &h->parts[part];
    if (!p->gives || p->call == GN_NONE)
        return false;
    if (g->shape == GN_SHAPE_ONE_TO_ALL)
        return g->root == GN_NONE || part == g->root;
    return g->shape != GN_SHAPE_PREFIX || p->member < member;
}

/* ---- the last ones ---- */

/* The latest call by its lower bound, and the latest of each clock. */
static void note(struct gn_givers *s, uint32_t *latest, uint32_t call)
{
    const struct gn_history *h = s->history;
    uint32_t *of_clock = &s->latest[domain_of(h, call)];
    if (*latest == GN_NONE || h->calls[call].enter.lo_ns > h->calls[*latest].enter.lo_ns ||
        is_before(h, *latest, call))
        *latest = call;
    if (*of_clock == GN_NONE || is_before(h, *of_clock, call))
        *of_clock = call;
}

/* Whether one of those that were noted came later for certain. */
static bool is_passed(const struct gn_givers *s, uint32_t latest, uint32_t call)
{
    const uint32_t of_clock = s->latest[domain_of(s->history, call)];
    return (latest != GN_NONE && is_before(s->history, call, latest)) ||
           (of_clock != GN_NONE && is_before(s->history, call, of_clock));
}

static void forget(struct gn_givers *s, uint32_t call)
{
    s->latest[domain_of(s->history, call)] = GN_NONE;
}

/* Parts [from, part_count) of givers->parts: only those stay that no other one comes after for certain. */
static void keep_last(struct gn_givers *s, size_t from)
{
    const struct gn_given_part *parts = s->history->parts;
    const size_t end = s->part_count;
    uint32_t latest = GN_NONE;
    for (size_t i = from; i < end; i++)
        note(s, &latest, parts[s->parts[i]].call);
    /* what is kept moves to the front: parts of the same clocks are forgotten last */
    size_t kept = from;
    for (size_t i = from; i < end; i++)
        if (!is_passed(s, latest, parts[s->parts[i]].call)) {
            const uint32_t part = s->parts[i];
            s->parts[i] = s->parts[kept];
            s->parts[kept++] = part;
        }
    for (size_t i = from; i < end; i++)
        forget(s, parts[s->parts[i]].call);
    s->part_count = kept;
}

static int collect_parts(struct gn_givers *s, uint32_t gathering, uint32_t member)
{
    const struct gn_history_gathering *g = &s->history->gatherings[gathering];
    for (uint32_t i = g->first_part; i < g->first_part + g->part_count; i++) {
        if (!is_for(s->history, g, i, member))
            continue;
        if (!gn_grow(&s->parts, &s->part_capacity, s->part_count, sizeof *s->parts))
            return -ENOMEM;
        s->parts[s->part_count++] = i;
    }
    return 0;
}

/* ---- all that a call took ---- */

static int add(struct gn_givers *s, uint32_t waiter, uint32_t call, const struct gn_take *take, bool is_sure)
{
    const struct gn_call *c = &s->history->calls[waiter];
    if (call == GN_NONE || s->history->calls[call].location == c->location)
        return 0;
    const struct gn_span later = gn_enter_to_enter(s->history, c->waits_from, call);
    if (later.hi_ns <= 0)
        return 0;
    if (s->place[call] > 0) { /* it gave several things, of which perhaps only one was surely waited for */
        s->list[s->place[call] - 1].is_sure |= is_sure;
        return 0;
    }
    if (!gn_grow(&s->list, &s->capacity, s->count, sizeof *s->list))
        return -ENOMEM;
    s->list[s->count++] =
        (struct gn_giver){.call = call,
                          .gathering = take->kind == GN_TAKE_GATHERING ? take->from : GN_NONE,
                          .is_receiver = take->kind == GN_TAKE_RECEIVER,
                          .is_sure = is_sure,
                          .later = later};
    s->place[call] = (uint32_t)s->count;
    return 0;
}

static bool is_take_sure(const struct gn_history *h, const struct gn_take *take)
{
    return take->is_certain && !(h->calls[take->call].flags & GN_CALL_UNSURE);
}

static int add_parts(struct gn_givers *s, uint32_t waiter, const struct gn_take *take, size_t first,
                     size_t count)
{
    const struct gn_history *h = s->history;
    const bool is_sure = is_take_sure(h, take);
    int code = 0;
    for (size_t i = first; i < first + count && code == 0; i++)
        code = add(s, waiter, h->parts[s->parts[i]].call, take, is_sure);
    return code;
}

static int add_gathering(struct gn_givers *s, uint32_t waiter, const struct gn_take *take)
{
    const struct gn_history_gathering *g = &s->history->gatherings[take->from];
    struct gn_last_parts *last = &s->last[take->from];
    const bool is_kept = g->shape != GN_SHAPE_PREFIX;
    const size_t first = s->part_count;
    const uint32_t member = take->member == GN_NONE ? GN_NONE : s->history->parts[take->member].member;
    int code = 0;
    if (!is_kept || !last->is_known) {
        code = collect_parts(s, take->from, member);
        if (code == 0)
            keep_last(s, first);
    }
    if (code == 0 && is_kept && !last->is_known)
        *last = (struct gn_last_parts){(uint32_t)first, (uint32_t)(s->part_count - first), true};
    if (code == 0 && is_kept)
        return add_parts(s, waiter, take, last->first, last->count);
    if (code == 0)
        code = add_parts(s, waiter, take, first, s->part_count - first);
    s->part_count = first;
    return code;
}

/* A send that is not synchronous by what it is may have been over without its receiver. */
static bool is_synchronous(const struct gn_history *h, uint32_t call)
{
    const uint32_t activity = gn_region_activity(h->definitions, h->calls[call].region);
    const unsigned traits = gn_activity_def(activity)->traits;
    return traits & GN_TRAIT_SYNCHRONOUS && !(traits & GN_TRAIT_STARTS);
}

static int add_take(struct gn_givers *s, uint32_t waiter, const struct gn_take *take)
{
    if (take->from == GN_NONE)
        return 0;
    if (take->kind == GN_TAKE_GATHERING)
        return add_gathering(s, waiter, take);
    return add(s, waiter, take->from, take,
               is_take_sure(s->history, take) ||
                   (take->kind == GN_TAKE_RECEIVER && is_synchronous(s->history, waiter)));
}

/* Only those stay that no sure one comes after for certain. */
static void keep_latest(struct gn_givers *s)
{
    size_t kept = 0;
    uint32_t latest = GN_NONE;
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].is_sure)
            note(s, &latest, s->list[i].call);
    for (size_t i = 0; i < s->count; i++)
        if (!is_passed(s, latest, s->list[i].call)) {
            const struct gn_giver giver = s->list[i];
            s->list[i] = s->list[kept];
            s->list[kept++] = giver;
        }
    for (size_t i = 0; i < s->count; i++) {
        forget(s, s->list[i].call);
        s->place[s->list[i].call] = 0;
    }
    s->count = kept;
}

static struct gn_span waited_for(const struct gn_givers *s, uint32_t call)
{
    const struct gn_span length = gn_call_length(s->history, call);
    struct gn_span waited = {0, 0};
    for (size_t i = 0; i < s->count; i++) {
        const struct gn_giver *g = &s->list[i];
        if (g->is_sure)
            waited.lo_ns = fmax(waited.lo_ns, g->later.lo_ns);
        waited.hi_ns = fmax(waited.hi_ns, g->later.hi_ns);
    }
    waited.hi_ns = fmax(fmin(waited.hi_ns, length.hi_ns), 0);
    waited.lo_ns = fmin(waited.lo_ns, waited.hi_ns);
    return waited;
}

int gn_givers_open(struct gn_givers *givers, const struct gn_history *history)
{
    const struct gn_definitions *d = history->definitions;
    size_t domains = 1;
    for (size_t i = 0; i < d->location_count; i++)
        if (d->locations[i].domain >= domains)
            domains = (size_t)d->locations[i].domain + 1;
    *givers = (struct gn_givers){.history = history,
                                 .last = calloc(history->gathering_count + 1, sizeof *givers->last),
                                 .place = calloc(history->call_count + 1, sizeof *givers->place),
                                 .latest = malloc(domains * sizeof *givers->latest)};
    if (!givers->last || !givers->latest || !givers->place) {
        gn_givers_close(givers);
        return -ENOMEM;
    }
    memset(givers->latest, 0xff, domains * sizeof *givers->latest); /* GN_NONE */
    return 0;
}

int gn_givers_of(struct gn_givers *s, uint32_t call, struct gn_span *waited)
{
    const struct gn_call *c = &s->history->calls[call];
    int code = 0;
    s->count = 0;
    for (uint32_t i = c->first_take; i < c->first_take + c->take_count && code == 0; i++)
        code = add_take(s, call, &s->history->takes[i]);
    keep_latest(s);
    *waited = waited_for(s, call);
    if (c->flags & GN_CALL_UNTOLD)
        waited->hi_ns = gn_call_length(s->history, call).hi_ns;
    return code;
}

void gn_givers_close(struct gn_givers *s)
{
    free(s->list);
    free(s->last);
    free(s->parts);
    free(s->latest);
    free(s->place);
}

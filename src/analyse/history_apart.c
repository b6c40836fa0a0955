/*
 * How much earlier one thing was than another: of what calls took, and of the parts of instances.
 *
 * Of two clocks their bounds tell. Two readings of one clock tell much more: bounds of clocks that were
 * compared over a network are some 10 us wide, but what is between two readings is known to the clock's rate.
 * So of an instance it is kept who was the last at each clock.
 */
#include "analyse/history_inside.h"

#include <math.h>
#include <stdlib.h>

/* An enter or a leave. */
struct moment {
    struct gn_interval at;
    uint64_t ticks;
    uint32_t location;
};

static struct moment entered(const struct gn_history *h, uint32_t call)
{
    const struct gn_call *c = &h->calls[call];
    return (struct moment){c->enter, c->enter_ticks, c->location};
}

static struct moment left(const struct gn_history *h, uint32_t call)
{
    const struct gn_call *c = &h->calls[call];
    return (struct moment){c->leave, c->leave_ticks, c->location};
}

static double minus(int64_t a_ns, int64_t b_ns)
{
    return (double)a_ns - (double)b_ns;
}

/* From one to another, at least; negative where the other may have been before. */
static double least_between(const struct gn_history_make *m, const struct moment *from,
                            const struct moment *to)
{
    const double least_ns = minus(to->at.lo_ns, from->at.hi_ns);
    if (m->clock[from->location] != m->clock[to->location])
        return least_ns;
    return fmax(least_ns, to->ticks >= from->ticks
                              ? gn_history_least_ns(m, to->location, to->ticks - from->ticks)
                              : -gn_history_most_ns(m, to->location, from->ticks - to->ticks));
}

static double most_between(const struct gn_history_make *m, const struct moment *from,
                           const struct moment *to)
{
    return -least_between(m, to, from);
}

/* ---- instances ---- */

/* Who gave last. */
struct last {
    uint32_t *of_clock;         /* [clock_count] the call at this clock; GN_NONE: nobody there gave */
    int64_t hi_ns, other_hi_ns; /* the latest upper bound, and that of all other clocks; INT64_MIN: none */
    uint32_t clock;             /* that has the former */
};

static void note_giver(const struct gn_history_make *m, struct last *last, uint32_t call)
{
    const struct gn_call *c = &m->h->calls[call];
    const uint32_t clock = m->clock[c->location];
    uint32_t *known = &last->of_clock[clock];
    if (*known == GN_NONE || c->enter_ticks > m->h->calls[*known].enter_ticks)
        *known = call;
    if (clock == last->clock || last->clock == GN_NONE) {
        last->hi_ns = c->enter.hi_ns > last->hi_ns ? c->enter.hi_ns : last->hi_ns;
        last->clock = clock;
    } else if (c->enter.hi_ns > last->hi_ns) {
        last->other_hi_ns = last->hi_ns;
        last->hi_ns = c->enter.hi_ns;
        last->clock = clock;
    } else if (c->enter.hi_ns > last->other_hi_ns) {
        last->other_hi_ns = c->enter.hi_ns;
    }
}

/* From a moment to when the last one gave, at least. */
static double until_last(const struct gn_history_make *m, const struct gn_history_gathering *g,
                         const struct last *last, const struct moment *from)
{
    const double least_ns = minus(g->last.lo_ns, from->at.hi_ns);
    const uint32_t near = last->of_clock[m->clock[from->location]];
    if (near == GN_NONE)
        return least_ns;
    const struct moment there = entered(m->h, near);
    const double near_ns = least_between(m, from, &there);
    return fmax(least_ns, near_ns + gn_at_least_0(minus(g->last.lo_ns, there.at.hi_ns)));
}

static struct gn_apart apart_from_last(const struct gn_history_make *m, const struct gn_history_gathering *g,
                                       const struct last *last, uint32_t call)
{
    const struct moment own = entered(m->h, m->h->calls[call].waits_from), end = left(m->h, call);
    const uint32_t clock = m->clock[end.location], near = last->of_clock[clock];
    const int64_t hi_ns = last->clock != clock ? last->hi_ns : last->other_hi_ns;
    struct gn_apart apart = {.later_ns = until_last(m, g, last, &own),
                             .ago_least_ns = hi_ns == INT64_MIN ? INFINITY : minus(end.at.lo_ns, hi_ns),
                             .ago_most_ns = minus(end.at.hi_ns, g->last.lo_ns)};
    if (near != GN_NONE) {
        const struct moment there = entered(m->h, near);
        apart.ago_least_ns = fmin(apart.ago_least_ns, least_between(m, &there, &end));
        apart.ago_most_ns = fmin(apart.ago_most_ns, most_between(m, &there, &end));
    }
    return apart;
}

/* Bounds that contradict each other may say of each part that another one was later: then nothing is known.
 */
static void keep_a_last(struct gn_history *h, const struct gn_history_gathering *g)
{
    const uint32_t end = g->first_part + g->part_count;
    bool any = false;
    for (uint32_t i = g->first_part; i < end; i++)
        any |= h->parts[i].gives && h->parts[i].is_tight;
    for (uint32_t i = g->first_part; i < end && !any; i++) {
        h->parts[i].is_tight = true;
        h->parts[i].extra_ns = 0;
    }
}

/* take_of: of each part, its number + 1. */
static void look_at(struct gn_history_make *m, const struct gn_history_gathering *g, struct last *last,
                    const uint32_t *take_of, struct gn_apart *apart)
{
    struct gn_history *h = m->h;
    const uint32_t end = g->first_part + g->part_count;
    last->hi_ns = last->other_hi_ns = INT64_MIN;
    last->clock = GN_NONE;
    for (uint32_t i = g->first_part; i < end; i++)
        if (h->parts[i].gives)
            note_giver(m, last, h->parts[i].call);
    for (uint32_t i = g->first_part; i < end; i++) {
        const struct moment own = entered(h, h->parts[i].call);
        const double least_ns = until_last(m, g, last, &own);
        h->parts[i].extra_ns = gn_at_least_0(least_ns);
        h->parts[i].is_tight = least_ns <= 0;
        if (take_of[i] && g->shape != GN_SHAPE_PREFIX)
            apart[take_of[i] - 1] = apart_from_last(m, g, last, h->takes[take_of[i] - 1].call);
    }
    keep_a_last(h, g);
    for (uint32_t i = g->first_part; i < end; i++)
        last->of_clock[m->clock[h->calls[h->parts[i].call].location]] = GN_NONE;
}

static int look_at_all(struct gn_history_make *m, struct gn_apart *apart)
{
    const struct gn_history *h = m->h;
    uint32_t *take_of = calloc(h->part_count + 1, sizeof *take_of);
    struct last last = {.of_clock = malloc((m->clock_count + 1u) * sizeof *last.of_clock)};
    const int code = take_of && last.of_clock ? 0 : -ENOMEM;
    for (uint32_t c = 0; c < m->clock_count && code == 0; c++)
        last.of_clock[c] = GN_NONE;
    for (uint32_t t = 0; t < h->take_count && code == 0; t++)
        if (h->takes[t].kind == GN_TAKE_GATHERING)
            take_of[h->takes[t].member] = t + 1;
    for (size_t g = 0; g < h->gathering_count && code == 0; g++)
        look_at(m, &h->gatherings[g], &last, take_of, apart);
    free(take_of);
    free(last.of_clock);
    return code;
}

/* Of a prefix operation, who gives last differs from member to member: by bounds alone. */
static struct gn_interval *give_prefixes(const struct gn_history *h)
{
    struct gn_interval *below = malloc((h->part_count + 1) * sizeof *below);
    for (size_t g = 0; g < h->gathering_count && below; g++) {
        struct gn_interval last = {INT64_MIN, INT64_MIN};
        for (uint32_t i = h->gatherings[g].first_part;
             h->gatherings[g].shape == GN_SHAPE_PREFIX &&
             i < h->gatherings[g].first_part + h->gatherings[g].part_count;
             i++) {
            const struct gn_interval enter = h->calls[h->parts[i].call].enter;
            below[i] = last;
            last.lo_ns = enter.lo_ns > last.lo_ns ? enter.lo_ns : last.lo_ns;
            last.hi_ns = enter.hi_ns > last.hi_ns ? enter.hi_ns : last.hi_ns;
        }
    }
    return below;
}

/* ---- what calls took ---- */

static int give(struct gn_history *h)
{
    struct gn_interval *below = give_prefixes(h);
    for (size_t t = 0; t < h->take_count && below; t++) {
        struct gn_take *take = &h->takes[t];
        if (take->kind != GN_TAKE_GATHERING)
            take->given = h->calls[take->from].enter;
        else if (h->gatherings[take->from].shape == GN_SHAPE_PREFIX)
            take->given = below[take->member];
        else
            take->given = h->gatherings[take->from].last;
    }
    free(below);
    return below ? 0 : -ENOMEM;
}

static struct gn_apart apart_by_bounds(const struct gn_history *h, const struct gn_take *take)
{
    const struct gn_call *call = &h->calls[take->call];
    const struct gn_interval own = h->calls[call->waits_from].enter;
    return (struct gn_apart){.later_ns = minus(take->given.lo_ns, own.hi_ns),
                             .ago_least_ns = minus(call->leave.lo_ns, take->given.hi_ns),
                             .ago_most_ns = minus(call->leave.hi_ns, take->given.lo_ns)};
}

static struct gn_apart apart_from(const struct gn_history_make *m, const struct gn_take *take)
{
    const uint32_t since = take->kind == GN_TAKE_RECEIVER ? take->member : m->h->calls[take->call].waits_from;
    const struct moment given = entered(m->h, take->from), end = left(m->h, take->call),
                        begin = entered(m->h, since), own = entered(m->h, m->h->calls[take->call].waits_from);
    return (struct gn_apart){.later_ns = least_between(m, &begin, &given),
                             .later_most_ns = most_between(m, &begin, &given),
                             .before_ns = least_between(m, &given, &own),
                             .ago_least_ns = least_between(m, &given, &end),
                             .ago_most_ns = most_between(m, &given, &end)};
}

int gn_history_apart(struct gn_history_make *m, struct gn_apart *apart)
{
    struct gn_history *h = m->h;
    int code = give(h);
    for (size_t t = 0; t < h->take_count && code == 0; t++)
        apart[t] = h->takes[t].kind == GN_TAKE_GATHERING ? apart_by_bounds(h, &h->takes[t])
                                                         : apart_from(m, &h->takes[t]);
    return code ? code : look_at_all(m, apart);
}

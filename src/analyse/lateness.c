#include "analyse/lateness.h"

#include <math.h>

/* Where one of the two is in looking back, and the call from whose enter on it counts. */
struct side {
    uint32_t call;  /* to be looked at next; GN_NONE: all have been */
    uint32_t since; /* the two were level at its enter; GN_NONE: not known yet */
};

struct look {
    const struct gn_history *h;
    const struct gn_span *waited;
    struct gn_lateness *out;
    double longest_ns; /* what `activity` or `inside` stands for; -1: neither yet */
};

/* ---- whether two calls made the two level ---- */

static bool took(const struct gn_history *h, uint32_t call, uint32_t gathering)
{
    const struct gn_call *c = &h->calls[call];
    for (uint32_t i = c->first_take; i < c->first_take + c->take_count; i++)
        if (h->takes[i].kind == GN_TAKE_GATHERING && h->takes[i].from == gathering)
            return true;
    return false;
}

static bool takes_part(const struct gn_history *h, uint32_t call, uint32_t gathering)
{
    const struct gn_call *c = &h->calls[call];
    for (uint32_t i = c->first_part; i < c->first_part + c->part_count; i++)
        if (h->parts[h->part_order[i]].gathering == gathering)
            return true;
    return took(h, call, gathering);
}

/* One of them took from a collective that the other one had its part in. */
static bool is_one_collective(const struct gn_history *h, uint32_t one, uint32_t other)
{
    const struct gn_call *c = &h->calls[one];
    for (uint32_t i = c->first_take; i < c->first_take + c->take_count; i++)
        if (h->takes[i].kind == GN_TAKE_GATHERING && takes_part(h, other, h->takes[i].from))
            return true;
    return false;
}

/* The latest call of the location that the call had a message from; GN_NONE: none. */
static uint32_t message_from(const struct gn_history *h, uint32_t call, uint32_t location)
{
    const struct gn_call *c = &h->calls[call];
    uint32_t latest = GN_NONE;
    for (uint32_t i = c->first_take; i < c->first_take + c->take_count; i++) {
        const struct gn_take *t = &h->takes[i];
        if (t->kind == GN_TAKE_GATHERING || t->from == GN_NONE || h->calls[t->from].location != location)
            continue;
        if (latest == GN_NONE || h->calls[t->from].enter_ticks > h->calls[latest].enter_ticks)
            latest = t->from;
    }
    return latest;
}

/* ---- what counts ---- */

/* The part of a call's wait that came after `level` had been entered. */
static struct gn_span waited_since(const struct look *l, uint32_t call, uint32_t level)
{
    const struct gn_span all = l->waited[call];
    if (level == GN_NONE || all.hi_ns <= 0)
        return all;
    const struct gn_span until = gn_enter_to_enter(l->h, l->h->calls[call].waits_from, level);
    return (struct gn_span){fmax(0, all.lo_ns - fmax(until.hi_ns, 0)),
                            fmax(0, all.hi_ns - fmax(until.lo_ns, 0))};
}

static void add_waited(struct gn_lateness *out, uint32_t call, struct gn_span waited)
{
    if (waited.hi_ns <= 0)
        return;
    out->of_giver.lo_ns += waited.lo_ns;
    out->of_giver.hi_ns += waited.hi_ns;
    if (out->wait_count < GN_LATENESS_WAITS)
        out->waits[out->wait_count++] = (struct gn_late_wait){call, waited};
}

static void add_pieces(struct look *l, uint32_t call)
{
    const struct gn_call *c = &l->h->calls[call];
    for (uint32_t i = c->first_piece; i < c->first_piece + c->piece_count; i++) {
        const struct gn_piece *p = &l->h->pieces[i];
        const double ns = (p->lo_ns + p->hi_ns) / 2;
        if (ns > l->longest_ns) {
            l->longest_ns = ns;
            l->out->activity = p->activity;
            l->out->inside_region = l->out->inside_path = GN_NONE;
        }
    }
}

/* Time in a call in which nothing was waited for: input and output, copying. */
static void add_inside(struct look *l, uint32_t call)
{
    const struct gn_span length = gn_call_length(l->h, call);
    const double ns = (length.lo_ns + length.hi_ns - l->waited[call].lo_ns - l->waited[call].hi_ns) / 2;
    if (ns <= l->longest_ns || ns <= 0)
        return;
    l->longest_ns = ns;
    l->out->activity = GN_NONE;
    l->out->inside_region = l->h->calls[call].region;
    l->out->inside_path = l->h->calls[call].path;
}

/* ---- looking back ---- */

/* Polls are one with the call that ends them. */
static uint32_t before(const struct gn_history *h, uint32_t call)
{
    return h->calls[h->calls[call].waits_from].before;
}

/* Whether the side has come to where the two were level. */
static bool is_past(const struct gn_history *h, const struct side *side)
{
    return side->call == GN_NONE ||
           (side->since != GN_NONE && h->calls[side->call].enter_ticks < h->calls[side->since].enter_ticks);
}

/* Of two calls of one location. */
static uint32_t later_of(const struct gn_history *h, uint32_t one, uint32_t other)
{
    return one != GN_NONE && h->calls[one].enter_ticks > h->calls[other].enter_ticks ? one : other;
}

static void step_giver(struct look *l, struct side *giver, struct side *waiter, uint32_t waiter_location)
{
    const uint32_t call = giver->call, level = message_from(l->h, call, waiter_location);
    add_waited(l->out, call, waited_since(l, call, level));
    add_inside(l, call);
    giver->call = call == giver->since ? GN_NONE : before(l->h, call);
    if (level != GN_NONE) {
        waiter->since = later_of(l->h, waiter->since, level);
        giver->call = GN_NONE; /* it went on from there */
    } else if (giver->call != GN_NONE) {
        add_pieces(l, l->h->calls[call].waits_from);
    }
}

static void step_waiter(struct look *l, struct side *waiter, struct side *giver, uint32_t giver_location)
{
    const uint32_t call = waiter->call, level = message_from(l->h, call, giver_location);
    const struct gn_span waited = waited_since(l, call, level);
    l->out->of_waiter.lo_ns += waited.lo_ns;
    l->out->of_waiter.hi_ns += waited.hi_ns;
    waiter->call = call == waiter->since ? GN_NONE : before(l->h, call);
    if (level != GN_NONE) {
        giver->since = later_of(l->h, giver->since, level);
        waiter->call = GN_NONE;
    }
}

/* Which side is to go back next: the one whose call began later, so that both come to what made them level.
 */
static bool is_waiter_next(const struct look *l, const struct side *waiter, const struct side *giver)
{
    if (is_past(l->h, giver) || is_past(l->h, waiter))
        return is_past(l->h, giver);
    return gn_enter_to_enter(l->h, giver->call, waiter->call).lo_ns > 0;
}

static bool are_level(const struct look *l, const struct side *waiter, const struct side *giver)
{
    return !is_past(l->h, waiter) && !is_past(l->h, giver) &&
           (is_one_collective(l->h, waiter->call, giver->call) ||
            is_one_collective(l->h, giver->call, waiter->call));
}

void gn_lateness_work(struct gn_lateness *lateness, const struct gn_history *h, uint32_t giver)
{
    struct look l = {h, NULL, lateness, -1};
    *lateness = (struct gn_lateness){.activity = GN_NONE, .inside_region = GN_NONE, .inside_path = GN_NONE};
    add_pieces(&l, giver);
}

void gn_lateness_of(struct gn_lateness *lateness, const struct gn_history *h, const struct gn_span *waited,
                    uint32_t waiter, uint32_t giver)
{
    const uint32_t waits = h->calls[waiter].location, gives = h->calls[giver].location;
    struct look l = {h, waited, lateness, -1};
    struct side from = {before(h, waiter), GN_NONE}, to = {h->calls[giver].before, GN_NONE};
    *lateness = (struct gn_lateness){.activity = GN_NONE, .inside_region = GN_NONE, .inside_path = GN_NONE};
    add_pieces(&l, giver);
    for (int i = 0; i < GN_LATENESS_STEPS && !(is_past(h, &from) && is_past(h, &to)); i++) {
        if (are_level(&l, &from, &to))
            break;
        if (is_waiter_next(&l, &from, &to))
            step_waiter(&l, &from, &to, gives);
        else
            step_giver(&l, &to, &from, waits);
    }
}

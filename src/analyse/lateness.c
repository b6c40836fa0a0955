#include "analyse/lateness.h"

#include <math.h>

/* Where one of the two is in looking back. */
struct side {
    uint32_t location;
    uint32_t call; /* to be looked at next; GN_NONE: all have been */
    uint32_t stop; /* the two were level when this call of it was over; GN_NONE: not known yet */
};

struct look {
    const struct gn_history *h;
    const struct gn_span *waited;
    struct gn_lateness *out;
    uint32_t since; /* both were there when this call of one of them was entered; GN_NONE: not known yet */
    uint64_t cut_ticks; /* before that something is left out; 0: nothing is */
    bool is_cut;        /* and one of the two has come there */
    bool is_unsure;     /* perhaps the two were level later than what is looked at now */
    double longest_ns;  /* what `activity` or `inside` stands for; -1: neither yet */
};

/* ---- what one of the two had from the other ---- */

static bool is_of(const struct gn_history *h, uint32_t part, uint32_t location)
{
    return h->parts[part].call != GN_NONE && h->calls[h->parts[part].call].location == location;
}

/* The part that the location has in it; GN_NONE: none. */
static uint32_t part_of(const struct gn_history *h, const struct gn_history_gathering *g, uint32_t location)
{
    bool is_second;
    const struct gn_definitions *d = h->definitions;
    const uint32_t process = d->locations[location].process,
                   rank = gn_comm_rank_of(d, g->comm, process, &is_second);
    if (rank < g->part_count && is_of(h, g->first_part + rank, location))
        return g->first_part + rank;
    for (uint32_t i = g->first_part; i < g->first_part + g->part_count; i++) /* of a window, of two groups */
        if (is_of(h, i, location))
            return i;
    return GN_NONE;
}

static bool waited_for_root(const struct gn_history *h, uint32_t root, uint32_t call)
{
    return gn_enter_to_enter(h, h->calls[call].waits_from, root).lo_ns > 0;
}

static bool came_after_root(const struct gn_history *h, uint32_t root, uint32_t call)
{
    return gn_enter_to_enter(h, h->calls[call].waits_from, root).hi_ns <= 0;
}

enum meeting { APART, GAVE, LEVEL, PERHAPS };

/* What a collective that `call` took from made of it and the one whose part is `other`. */
static enum meeting meeting_in(const struct gn_history *h, const struct gn_take *take, uint32_t other)
{
    const struct gn_history_gathering *g = &h->gatherings[take->from];
    const struct gn_given_part *part = &h->parts[other];
    if (g->is_vague || g->is_partial || !take->is_certain)
        return PERHAPS;
    if (g->shape == GN_SHAPE_ALL_TO_ALL && part->gives)
        return part->gets ? LEVEL : GAVE;
    if (g->shape == GN_SHAPE_ALL_TO_ALL)
        return PERHAPS;
    if (g->shape == GN_SHAPE_ALL_TO_ONE || other == g->root)
        return part->gives ? GAVE : APART;
    if (g->shape == GN_SHAPE_PREFIX)
        return part->gives && take->member != GN_NONE && part->member < h->parts[take->member].member
                   ? GAVE
                   : PERHAPS;
    const uint32_t root = h->parts[g->root].call; /* both had it from there, and waited for it or did not */
    if (waited_for_root(h, root, take->call) && waited_for_root(h, root, part->call))
        return LEVEL;
    return came_after_root(h, root, take->call) || came_after_root(h, root, part->call) ? APART : PERHAPS;
}

/* Of two calls of one location; either may be GN_NONE. */
static uint32_t later_of(const struct gn_history *h, uint32_t one, uint32_t other)
{
    if (one == GN_NONE || other == GN_NONE)
        return one == GN_NONE ? other : one;
    return h->calls[one].enter_ticks > h->calls[other].enter_ticks ? one : other;
}

/* What a call had from the other location, all that it took taken together. */
struct had {
    uint32_t given; /* the latest call of the other one that gave it something; GN_NONE: none */
    uint32_t level; /* the other one's part in a collective that made the two level; GN_NONE: there is none */
    bool is_perhaps; /* something may have made them level */
};

static void had_from_collective(const struct gn_history *h, const struct gn_take *take, uint32_t location,
                                struct had *had)
{
    const struct gn_history_gathering *g = &h->gatherings[take->from];
    const uint32_t part = part_of(h, g, location);
    const enum meeting meeting = part == GN_NONE ? APART : meeting_in(h, take, part);
    if (meeting == LEVEL)
        had->level = later_of(h, had->level, h->parts[part].call);
    else if (meeting == GAVE)
        had->given = later_of(h, had->given, h->parts[part].call);
    had->is_perhaps |= meeting == PERHAPS;
}

static struct had had_from(const struct gn_history *h, uint32_t call, uint32_t location)
{
    const struct gn_call *c = &h->calls[call];
    struct had had = {GN_NONE, GN_NONE, false};
    for (uint32_t i = c->first_take; i < c->first_take + c->take_count; i++) {
        const struct gn_take *t = &h->takes[i];
        if (t->kind == GN_TAKE_GATHERING)
            had_from_collective(h, t, location, &had);
        else if (t->from != GN_NONE && t->kind != GN_TAKE_BEGUN && h->calls[t->from].location == location)
            had.given = later_of(h, had.given, t->from);
    }
    return had;
}

/* ---- what counts ---- */

/* The part of a call's wait that came after both were there for certain. */
static struct gn_span waited_since(const struct look *l, uint32_t call)
{
    const struct gn_span all = l->waited[call];
    if (all.hi_ns <= 0)
        return all;
    struct gn_span since = all;
    if (l->since != GN_NONE) {
        const struct gn_span until = gn_enter_to_enter(l->h, l->h->calls[call].waits_from, l->since);
        since = (struct gn_span){fmax(0, all.lo_ns - fmax(until.hi_ns, 0)),
                                 fmax(0, all.hi_ns - fmax(until.lo_ns, 0))};
    }
    return (struct gn_span){l->is_unsure ? 0 : since.lo_ns, since.hi_ns};
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
        const double ns = p->kind == GN_PIECE_JOIN ? 0 : (p->lo_ns + p->hi_ns) / 2;
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

static bool is_one_clock(const struct gn_history *h, uint32_t one, uint32_t other)
{
    const struct gn_location_def *locations = h->definitions->locations;
    return locations[h->calls[one].location].domain == locations[h->calls[other].location].domain;
}

/* Whether the call was over before both were there. */
static bool is_before_since(const struct look *l, uint32_t call)
{
    if (l->since == GN_NONE)
        return false;
    const struct gn_call *c = &l->h->calls[call], *since = &l->h->calls[l->since];
    return is_one_clock(l->h, call, l->since) ? c->leave_ticks <= since->enter_ticks
                                              : c->leave.hi_ns <= since->enter.lo_ns;
}

/* Where the part of the run begins in which the call was left, if there is something else before it. */
static uint64_t cut_before(const struct gn_history *h, uint32_t call)
{
    size_t from = 0, to = h->cut_count;
    while (from < to) {
        const size_t middle = (from + to) / 2;
        if (h->cuts[middle] < h->calls[call].leave_ticks)
            from = middle + 1;
        else
            to = middle;
    }
    return from > 0 ? h->cuts[from - 1] : 0;
}

/* Whether the side has come to what lies before something that is left out. */
static bool is_cut_off(struct look *l, const struct side *side)
{
    const bool is =
        side->call != GN_NONE && l->cut_ticks > 0 && l->h->calls[side->call].leave_ticks <= l->cut_ticks;
    l->is_cut |= is;
    return is;
}

/* Whether the side has come to where the two were level. */
static bool is_past(struct look *l, const struct side *side)
{
    const struct gn_call *calls = l->h->calls;
    return is_cut_off(l, side) || side->call == GN_NONE ||
           (side->stop != GN_NONE && calls[side->call].enter_ticks <= calls[side->stop].enter_ticks) ||
           is_before_since(l, side->call);
}

/* Of two instants at which both were there, the later one. */
static void note_since(struct look *l, uint32_t given)
{
    if (given != GN_NONE && (l->since == GN_NONE || gn_enter_to_enter(l->h, l->since, given).lo_ns > 0))
        l->since = given;
}

/* Whether it went on from something that made the two level; else what it had from the other one is noted. */
static bool was_level(struct look *l, struct side *side, struct side *other)
{
    const struct had had = had_from(l->h, side->call, other->location);
    note_since(l, had.given);
    l->is_unsure |= had.is_perhaps && had.level == GN_NONE;
    if (had.level == GN_NONE)
        return false;
    other->stop = later_of(l->h, other->stop, had.level);
    side->call = GN_NONE;
    return true;
}

static void step_giver(struct look *l, struct side *giver, struct side *waiter)
{
    const uint32_t call = giver->call, began = l->h->calls[call].waits_from;
    if (was_level(l, giver, waiter))
        return;
    add_waited(l->out, call, waited_since(l, call));
    add_inside(l, call);
    giver->call = before(l->h, call);
    if (giver->call != GN_NONE && (l->since == GN_NONE || gn_enter_to_enter(l->h, l->since, began).lo_ns > 0))
        add_pieces(l, began);
}

static void step_waiter(struct look *l, struct side *waiter, struct side *giver)
{
    const uint32_t call = waiter->call;
    if (was_level(l, waiter, giver))
        return;
    const struct gn_span waited = waited_since(l, call);
    l->out->of_waiter.lo_ns += waited.lo_ns;
    l->out->of_waiter.hi_ns += waited.hi_ns;
    waiter->call = before(l->h, call);
}

/* Which side is to go back next: the one whose call was over later. What both then come to made them level
 * after all that is still to be looked at. */
static bool is_waiter_next(struct look *l, const struct side *waiter, const struct side *giver)
{
    if (is_past(l, giver) || is_past(l, waiter))
        return is_past(l, giver);
    const struct gn_call *w = &l->h->calls[waiter->call], *g = &l->h->calls[giver->call];
    return is_one_clock(l->h, waiter->call, giver->call) ? w->leave_ticks > g->leave_ticks
                                                         : w->leave.lo_ns > g->leave.lo_ns;
}

void gn_lateness_work(struct gn_lateness *lateness, const struct gn_history *h, uint32_t giver)
{
    struct look l = {.h = h, .out = lateness, .since = GN_NONE, .longest_ns = -1};
    *lateness = (struct gn_lateness){.activity = GN_NONE, .inside_region = GN_NONE, .inside_path = GN_NONE};
    add_pieces(&l, giver);
}

void gn_lateness_of(struct gn_lateness *lateness, const struct gn_history *h, const struct gn_span *waited,
                    uint32_t waiter, uint32_t giver)
{
    struct look l = {.h = h,
                     .waited = waited,
                     .out = lateness,
                     .since = GN_NONE,
                     .cut_ticks = cut_before(h, waiter),
                     .longest_ns = -1};
    struct side from = {h->calls[waiter].location, before(h, waiter), GN_NONE},
                to = {h->calls[giver].location, h->calls[giver].before, GN_NONE};
    int steps = 0;
    *lateness = (struct gn_lateness){.activity = GN_NONE, .inside_region = GN_NONE, .inside_path = GN_NONE};
    add_pieces(&l, giver);
    for (; steps < GN_LATENESS_STEPS && !(is_past(&l, &from) && is_past(&l, &to)); steps++)
        if (is_waiter_next(&l, &from, &to))
            step_waiter(&l, &from, &to);
        else
            step_giver(&l, &to, &from);
    lateness->is_cut = l.is_cut || steps == GN_LATENESS_STEPS;
}

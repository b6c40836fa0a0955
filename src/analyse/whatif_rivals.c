/*
 * Whether with new times a receive may take another message than it did, and what is known of the run then.
 *
 * Of two messages that compete, a and b, a was there when its receive, posted before b's, took it. b is taken
 * in its place when it is now earlier by more than a is and by what it came later: at least by when b was
 * sent, less when a's receive was over. What one location sends arrives in order.
 *
 * The first time that something else is taken, all that came before is as the pass says. So as long as the
 * pass finds none, there is none.
 */
#include "analyse/whatif_inside.h"

#include <math.h>

/* The least of some values, and of those that another location has. */
struct least {
    double ns, other_ns;
    uint32_t location;
};

static void note(struct least *l, double ns, uint32_t location)
{
    if (ns < l->ns) {
        if (l->location != location)
            l->other_ns = l->ns;
        l->ns = ns;
        l->location = location;
    } else if (ns < l->other_ns && location != l->location) {
        l->other_ns = ns;
    }
}

static double least_of_others(const struct least *l, uint32_t location)
{
    return l->location == location ? l->other_ns : l->ns;
}

static bool may_change(const struct gn_history *h, const struct gn_rivals *contest,
                       const struct gn_reduction *entered)
{
    struct least least = {INFINITY, INFINITY, GN_NONE}, /* of their reductions */
        before = {INFINITY, INFINITY, GN_NONE};         /* of these less when they had been received */
    for (uint32_t i = contest->first; i < contest->first + contest->count; i++) {
        const struct gn_rival *r = &h->rivals[i];
        const struct gn_call *from = &h->calls[r->from];
        const double sooner_ns = fmax(least_of_others(&least, from->location),
                                      least_of_others(&before, from->location) + (double)from->enter.lo_ns);
        if (entered[r->from].hi > sooner_ns)
            return true;
        if (!r->is_open)
            continue;
        note(&least, entered[r->from].lo, from->location);
        note(&before, entered[r->from].lo - (double)h->calls[r->to].leave.hi_ns, from->location);
    }
    return false;
}

enum gn_whatif_order gn_whatif_order(const struct gn_history *h, const struct gn_reduction *entered)
{
    enum gn_whatif_order order = GN_ORDER_STAYS;
    for (size_t i = 0; i < h->contest_count && order != GN_ORDER_CHANGES; i++)
        if ((order == GN_ORDER_STAYS || !h->contests[i].is_alike) && may_change(h, &h->contests[i], entered))
            order = h->contests[i].is_alike ? GN_ORDER_IS_SAME : GN_ORDER_CHANGES;
    return order;
}

/* ---- in any order ---- */

/* Of a call, whatever it waits for: as long as it was, or as what it took was on its way. */
static double longest(const struct gn_history *h, const struct gn_call *call)
{
    double ns = ((double)(call->leave_ticks - call->enter_ticks) + 1) * h->rate_hi[call->location];
    for (uint32_t t = call->first_take; t < call->first_take + call->take_count; t++) {
        const double room_ns = h->takes[t].room_ns;
        ns = fmax(ns, h->longest_ns > 0 ? fmin(room_ns, h->longest_ns) : room_ns);
    }
    return ns;
}

static void add_computing(const struct gn_history *h, const struct gn_call *call,
                          const struct gn_whatif *what, struct gn_reduction *ns)
{
    for (uint32_t p = call->first_piece; p < call->first_piece + call->piece_count; p++) {
        const struct gn_piece *piece = &h->pieces[p];
        const bool is_work = piece->kind == GN_PIECE_ALONE || piece->kind == GN_PIECE_BESIDE;
        const double stays = 1 - gn_whatif_share(what, h, call, piece->activity);
        ns->lo += is_work ? stays * piece->lo_ns : 0;
        ns->hi += (is_work ? stays : 1) * piece->hi_ns;
    }
}

struct gn_interval gn_whatif_any_order(const struct gn_history *h, const struct gn_whatif *what)
{
    double most_alone = 0, all = 0, latest = 0;
    for (uint32_t l = 0; l < h->definitions->location_count; l++) {
        struct gn_reduction ns = {0, 0};
        if (h->first_call[l] == GN_NONE || h->is_carried[l])
            continue;
        for (uint32_t c = h->last_call[l]; c != GN_NONE; c = h->calls[c].before) {
            add_computing(h, &h->calls[c], what, &ns);
            ns.hi += longest(h, &h->calls[c]);
        }
        most_alone = fmax(most_alone, ns.lo);
        all += ns.hi;
        latest = fmax(latest, (double)(h->calls[h->first_call[l]].enter.hi_ns - h->first.lo_ns));
    }
    const double limit = 0x1p62;
    return (struct gn_interval){(int64_t)floor(fmin(most_alone, limit)),
                                (int64_t)ceil(fmin(all + latest, limit))};
}

/*
 * What a call was left for: of its own enter and all that it took, which may have been the last, and by how
 * much the others were earlier, at least.
 *
 * What follows was assumed:
 *   - a call costs, after the last thing it waited for has come, no more for having waited less: its own part
 *     (from its enter) is not longer than from the last to the leave;
 *   - the parts of an instance of a collective cost alike: each takes, from its giving to a member's leave,
 * no longer than the last of them took;
 *   - what had come already when it was asked for had taken no longer than longest_ns: so what was given
 * earlier than that was not what the call was left for.
 */
#include "analyse/history_inside.h"

#include <math.h>
#include <stdlib.h>

/* The longest that was seen, of how many. */
struct seen {
    double most_ns;
    uint64_t count;
};

struct reach {
    double message_ns, gathering_ns;
};

static double minus(int64_t a_ns, int64_t b_ns)
{
    return (double)a_ns - (double)b_ns;
}

/* Of a prefix operation, who gives last differs from member to member. */
static struct gn_interval *give_prefixes(const struct gn_history *h)
{
    struct gn_interval *below = malloc((h->part_count + 1) * sizeof *below);
    for (size_t g = 0; g < h->gathering_count && below; g++) {
        struct gn_interval last = {INT64_MIN, INT64_MIN};
        for (uint32_t i = h->gatherings[g].first_part;
             h->gatherings[g].shape == GN_GATHER_PREFIX &&
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

static int give(struct gn_history *h)
{
    struct gn_interval *below = give_prefixes(h);
    for (size_t t = 0; t < h->take_count && below; t++) {
        struct gn_take *take = &h->takes[t];
        if (take->kind != GN_TAKE_GATHERING)
            take->given = h->calls[take->from].enter;
        else if (h->gatherings[take->from].shape == GN_GATHER_PREFIX)
            take->given = below[take->member];
        else
            take->given = h->gatherings[take->from].last;
    }
    free(below);
    return below ? 0 : -ENOMEM;
}

static struct gn_interval waiting_since(const struct gn_history *h, const struct gn_call *call)
{
    return h->calls[call->waits_from].enter;
}

/* ---- the longest ---- */

/* A single take that came certainly after the call was entered shows how long it took. */
static void see(const struct gn_history *h, const struct gn_call *call, struct seen *messages,
                struct seen *gatherings)
{
    const struct gn_interval since = waiting_since(h, call);
    const struct gn_take *last = NULL;
    for (uint32_t t = 0; t < call->take_count; t++) {
        const struct gn_take *take = &h->takes[call->first_take + t];
        if (take->is_certain && (!last || take->given.lo_ns > last->given.lo_ns))
            last = take;
    }
    if (!last || call->flags & GN_CALL_UNSURE || last->given.lo_ns < since.hi_ns)
        return;
    const double ns = minus(call->leave.hi_ns, last->given.lo_ns);
    struct seen *seen = last->kind == GN_TAKE_MESSAGE ? messages : gatherings;
    seen->most_ns = ns > seen->most_ns ? ns : seen->most_ns;
    seen->count++;
}

/*
 * What was there already cannot be seen; it may have been longer than all that was. How much longer, once in
 * a million: were delays exponential, n that were seen have a longest one that another exceeds f times with
 * probability n! Γ(f + 1) / Γ(n + f + 1).
 */
static double longer(uint64_t count)
{
    static const double ONCE_IN = 1e6;
    double low = 3, high = 1e6; /* from a single one nothing less follows */
    while (high - low > 0.01 * low) {
        const double f = sqrt(low * high), n = (double)count;
        if (lgamma(n + 1) + lgamma(f + 1) - lgamma(n + f + 1) > -log(ONCE_IN))
            low = f;
        else
            high = f;
    }
    return high;
}

static double reach_of(const struct gn_history_make *m, const struct seen *seen)
{
    const double forever = 4 * (double)GN_HISTORY_FAR_NS;
    if (m->settings->longest_ns > 0)
        return m->settings->longest_ns;
    return seen->count > 0 ? longer(seen->count) * seen->most_ns : forever;
}

static struct reach find_reach(struct gn_history_make *m)
{
    struct gn_history *h = m->h;
    struct seen messages = {0, 0}, gatherings = {0, 0};
    for (size_t c = 0; c < h->call_count; c++)
        if (h->calls[c].take_count > 0)
            see(h, &h->calls[c], &messages, &gatherings);
    const struct reach reach = {reach_of(m, &messages), reach_of(m, &gatherings)};
    h->longest_ns = messages.count ? reach.message_ns : 0;
    if (gatherings.count && reach.gathering_ns > h->longest_ns)
        h->longest_ns = reach.gathering_ns;
    return reach;
}

/* ---- calls ---- */

/* The last of all that a call waited for. */
static struct gn_interval last_of(const struct gn_history *h, const struct gn_call *call)
{
    struct gn_interval last = waiting_since(h, call);
    for (uint32_t t = 0; t < call->take_count; t++) {
        const struct gn_take *take = &h->takes[call->first_take + t];
        const struct gn_interval at = take->given;
        if (!take->is_certain)
            continue;
        last.lo_ns = at.lo_ns > last.lo_ns ? at.lo_ns : last.lo_ns;
        last.hi_ns = at.hi_ns > last.hi_ns ? at.hi_ns : last.hi_ns;
    }
    return last;
}

static void slack_of_take(const struct gn_history *h, const struct gn_call *call, struct gn_take *take,
                          const struct reach *reach)
{
    const struct gn_interval at = take->given;
    const double most_ns = take->kind == GN_TAKE_GATHERING ? reach->gathering_ns : reach->message_ns;
    const double least_ago_ns = minus(call->leave.lo_ns, at.hi_ns);
    take->extra_ns = gn_at_least_0(least_ago_ns - most_ns);
    take->room_ns = gn_at_least_0(minus(call->leave.hi_ns, at.lo_ns));
    take->is_tight = least_ago_ns <= most_ns;
    if (take->kind ==
        GN_TAKE_RECEIVER) { /* had it waited: as a call that takes a message, whose cost is its own */
        const struct gn_interval own = waiting_since(h, call);
        take->extra_ns = gn_at_least_0(minus(own.lo_ns, at.hi_ns));
        take->is_tight = at.hi_ns >= own.lo_ns;
    }
}

static void slack_of_call(struct gn_history *h, struct gn_call *call, const struct reach *reach)
{
    const struct gn_interval own = waiting_since(h, call);
    if (call->take_count == 0)
        return;
    for (uint32_t t = 0; t < call->take_count; t++)
        slack_of_take(h, call, &h->takes[call->first_take + t], reach);
    const struct gn_interval last = last_of(h, call);
    call->extra_ns = gn_at_least_0(minus(last.lo_ns, own.hi_ns));
    call->is_tight = own.hi_ns >= last.lo_ns;
    /* A wait that only one thing can have ended was ended by that. */
    bool any = call->is_tight;
    for (uint32_t t = 0; t < call->take_count; t++)
        any |= h->takes[call->first_take + t].is_tight;
    for (uint32_t t = 0; t < call->take_count && !any; t++) {
        h->takes[call->first_take + t].is_tight = true; /* then it came no earlier than the last */
        h->takes[call->first_take + t].extra_ns = 0;
    }
}

/* ---- instances ---- */

static void slack_of_part(const struct gn_history *h, const struct gn_gathering *g, struct gn_part *part)
{
    const struct gn_interval enter = h->calls[part->call].enter;
    part->extra_ns = gn_at_least_0(minus(g->last.lo_ns, enter.hi_ns));
    part->is_tight = enter.hi_ns >= g->last.lo_ns;
}

int gn_history_slack(struct gn_history_make *m)
{
    struct gn_history *h = m->h;
    for (size_t g = 0; g < h->gathering_count; g++)
        for (uint32_t i = 0; i < h->gatherings[g].part_count; i++)
            slack_of_part(h, &h->gatherings[g], &h->parts[h->gatherings[g].first_part + i]);
    if (give(h) != 0)
        return -ENOMEM;
    const struct reach reach = find_reach(m);
    for (size_t c = 0; c < h->call_count; c++)
        slack_of_call(h, &h->calls[c], &reach);
    return 0;
}

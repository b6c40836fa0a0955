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

#include <stdlib.h>

/* Three times what was seen: what was there already cannot be seen. */
static const double LONGER = 3;

struct reach {
    double message_ns, gathering_ns;
};

static double minus(int64_t a_ns, int64_t b_ns)
{
    return (double)a_ns - (double)b_ns;
}

/* When what is taken was given. */
static struct gn_interval given(const struct gn_history *h, const struct gn_take *take)
{
    return take->kind == GN_TAKE_GATHERING ? h->gatherings[take->from].last : h->calls[take->from].enter;
}

static struct gn_interval waiting_since(const struct gn_history *h, const struct gn_call *call)
{
    return h->calls[call->waits_from].enter;
}

/* ---- the longest ---- */

/* A single take that came certainly after the call was entered shows how long it took. */
static void see(const struct gn_history *h, const struct gn_call *call, struct reach *seen)
{
    const struct gn_interval since = waiting_since(h, call);
    const struct gn_take *last = NULL;
    for (uint32_t t = 0; t < call->take_count; t++) {
        const struct gn_take *take = &h->takes[call->first_take + t];
        if (take->is_certain && (!last || given(h, take).lo_ns > given(h, last).lo_ns))
            last = take;
    }
    if (!last || call->flags & GN_CALL_UNSURE || given(h, last).lo_ns < since.hi_ns)
        return;
    const double ns = minus(call->leave.hi_ns, given(h, last).lo_ns);
    double *most_ns = last->kind == GN_TAKE_MESSAGE ? &seen->message_ns : &seen->gathering_ns;
    *most_ns = ns > *most_ns ? ns : *most_ns;
}

static struct reach find_reach(struct gn_history_make *m)
{
    const struct gn_history *h = m->h;
    const double forever = 4 * (double)GN_HISTORY_FAR_NS;
    struct reach seen = {0, 0};
    for (size_t c = 0; c < h->call_count; c++)
        if (h->calls[c].take_count > 0)
            see(h, &h->calls[c], &seen);
    if (m->settings->longest_ns > 0)
        seen = (struct reach){m->settings->longest_ns, m->settings->longest_ns};
    else
        seen = (struct reach){seen.message_ns > 0 ? LONGER * seen.message_ns : forever,
                              seen.gathering_ns > 0 ? LONGER * seen.gathering_ns : forever};
    m->h->longest_ns = seen.message_ns > seen.gathering_ns ? seen.message_ns : seen.gathering_ns;
    return seen;
}

/* ---- calls ---- */

/* The last of all that a call waited for. */
static struct gn_interval last_of(const struct gn_history *h, const struct gn_call *call)
{
    struct gn_interval last = waiting_since(h, call);
    for (uint32_t t = 0; t < call->take_count; t++) {
        const struct gn_take *take = &h->takes[call->first_take + t];
        const struct gn_interval at = given(h, take);
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
    const struct gn_interval at = given(h, take);
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
    for (uint32_t t = 0; t < call->take_count && !any; t++)
        h->takes[call->first_take + t].is_tight = true;
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
    const struct reach reach = find_reach(m);
    for (size_t c = 0; c < h->call_count; c++)
        slack_of_call(h, &h->calls[c], &reach);
    return 0;
}

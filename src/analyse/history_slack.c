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
 *
 * How much earlier one thing was than another is in history_apart.c.
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

/* ---- the longest ---- */

/* A single take that came certainly after the call was entered shows how long it took. */
static void see(const struct gn_history *h, const struct gn_apart *apart, const struct gn_call *call,
                struct seen *messages, struct seen *gatherings)
{
    const uint32_t none = call->first_take + call->take_count;
    uint32_t last = none;
    for (uint32_t t = call->first_take; t < none; t++)
        if (h->takes[t].is_certain && (last == none || h->takes[t].given.lo_ns > h->takes[last].given.lo_ns))
            last = t;
    if (last == none || call->flags & GN_CALL_UNSURE || apart[last].later_ns < 0 ||
        h->takes[last].kind == GN_TAKE_RECEIVER)
        return;
    struct seen *seen = h->takes[last].kind == GN_TAKE_MESSAGE ? messages : gatherings;
    seen->most_ns = apart[last].ago_most_ns > seen->most_ns ? apart[last].ago_most_ns : seen->most_ns;
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

static struct reach find_reach(struct gn_history_make *m, const struct gn_apart *apart)
{
    struct gn_history *h = m->h;
    struct seen messages = {0, 0}, gatherings = {0, 0};
    for (size_t c = 0; c < h->call_count; c++)
        if (h->calls[c].take_count > 0)
            see(h, apart, &h->calls[c], &messages, &gatherings);
    const struct reach reach = {reach_of(m, &messages), reach_of(m, &gatherings)};
    h->longest_ns = messages.count ? reach.message_ns : 0;
    if (gatherings.count && reach.gathering_ns > h->longest_ns)
        h->longest_ns = reach.gathering_ns;
    return reach;
}

/* ---- calls ---- */

static void slack_of_take(const struct gn_history *h, struct gn_take *take, const struct gn_apart *apart,
                          const struct reach *reach)
{
    const bool gathers = take->kind == GN_TAKE_GATHERING;
    const double most_ns = gathers ? reach->gathering_ns : reach->message_ns;
    take->room_ns = gn_at_least_0(apart->ago_most_ns);
    take->is_tight = apart->ago_least_ns <= most_ns;
    take->extra_ns = gn_at_least_0(apart->ago_least_ns - most_ns);
    if (gathers && h->gatherings[take->from].is_partial) /* the last for this call may be an earlier part */
        take->extra_ns = 0;
    if (take->kind == GN_TAKE_RECEIVER) { /* one that was there before the message was did not delay it */
        take->extra_ns = fmax(take->extra_ns, -apart->later_most_ns);
        take->is_tight = take->is_tight && apart->later_most_ns >= 0;
    }
}

/* What perhaps was waited for, and came before something that certainly was, costs no more than that. */
static void limit_perhaps(struct gn_take *take, const struct gn_apart *apart, double last_ns)
{
    const double earlier_ns = last_ns + apart->before_ns;
    if (take->is_certain || (take->kind != GN_TAKE_RECEIVER && take->kind != GN_TAKE_BEGUN) || last_ns <= 0 ||
        earlier_ns <= 0)
        return;
    take->extra_ns = fmax(take->extra_ns, earlier_ns);
    take->is_tight = false;
}

static void slack_of_call(struct gn_history *h, struct gn_call *call, const struct gn_apart *apart,
                          const struct reach *reach)
{
    double last_ns = 0; /* after its own enter, at least */
    bool any = false;
    for (uint32_t t = call->first_take; t < call->first_take + call->take_count; t++) {
        slack_of_take(h, &h->takes[t], &apart[t], reach);
        if (h->takes[t].is_certain && apart[t].later_ns > last_ns)
            last_ns = apart[t].later_ns;
    }
    call->extra_ns = last_ns;
    call->is_tight = last_ns <= 0;
    for (uint32_t t = call->first_take; t < call->first_take + call->take_count; t++)
        limit_perhaps(&h->takes[t], &apart[t], last_ns);
    for (uint32_t t = call->first_take; t < call->first_take + call->take_count; t++)
        any |= h->takes[t].is_tight;
    /* A wait that only one thing can have ended was ended by that. */
    for (uint32_t t = call->first_take; t < call->first_take + call->take_count && !any && !call->is_tight;
         t++) {
        h->takes[t].is_tight = true; /* then it came no earlier than the last */
        h->takes[t].extra_ns = 0;
    }
}

/* ---- instances of which it is not known who waited for whom ---- */

/* When the first of those that take from them was left, at the earliest. */
static int64_t *earliest_leaves(const struct gn_history *h)
{
    int64_t *left_ns = malloc((h->gathering_count + 1) * sizeof *left_ns);
    for (size_t g = 0; left_ns && g < h->gathering_count; g++)
        left_ns[g] = INT64_MAX;
    for (size_t t = 0; left_ns && t < h->take_count; t++) {
        const struct gn_take *take = &h->takes[t];
        const int64_t ns = h->calls[take->call].leave.lo_ns;
        if (take->kind == GN_TAKE_GATHERING && ns < left_ns[take->from])
            left_ns[take->from] = ns;
    }
    return left_ns;
}

/* A part may be all that somebody waited for, unless it was too long before anybody was gone. */
static int slack_of_partial(struct gn_history *h, const struct reach *reach)
{
    int64_t *left_ns = earliest_leaves(h);
    for (size_t g = 0; left_ns && g < h->gathering_count; g++)
        for (uint32_t i = 0; h->gatherings[g].is_partial && i < h->gatherings[g].part_count; i++) {
            struct gn_given_part *part = &h->parts[h->gatherings[g].first_part + i];
            const double ago_ns = (double)left_ns[g] - (double)h->calls[part->call].enter.hi_ns;
            part->extra_ns = gn_at_least_0(ago_ns - reach->gathering_ns);
            part->is_tight = ago_ns <= reach->gathering_ns;
        }
    free(left_ns);
    return left_ns ? 0 : -ENOMEM;
}

int gn_history_slack(struct gn_history_make *m)
{
    struct gn_history *h = m->h;
    struct gn_apart *apart = malloc((h->take_count + 1) * sizeof *apart);
    int code = apart ? gn_history_apart(m, apart) : -ENOMEM;
    if (code == 0) {
        const struct reach reach = find_reach(m, apart);
        for (size_t c = 0; c < h->call_count; c++)
            if (h->calls[c].take_count > 0)
                slack_of_call(h, &h->calls[c], apart, &reach);
        code = slack_of_partial(h, &reach);
    }
    free(apart);
    return code;
}

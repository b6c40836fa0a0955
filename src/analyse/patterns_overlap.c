/* Messages that could be on their way while ranks compute, and are not. */
#include "analyse/overlap.h"
#include "analyse/patterns_look.h"

#include <math.h>
#include <string.h>

static const double large_bytes = 16384; /* of a message in the mean: smaller ones take next to no time */
static const double of_one = 0.75;       /* of what is stalled, for one rank */

static const struct gn_problem_pattern no_overlap = {
    .name = "overlap that does not happen",
    .remedy = "call MPI_Test now and then while computing, or let the library do it (a progress thread, "
              "hardware); or "
              "compute before the message is begun",
    .says = "large messages move only while it is in a call of MPI, and others wait"};
static const struct gn_problem_pattern no_overlap_of_all = {
    .name = "overlap that does not happen",
    .remedy =
        "call MPI_Test now and then while computing, or let the library do it (a progress thread, hardware)",
    .says = "large messages move only inside of calls, not while ranks compute"};

/* Who waits, and for whom: not a wait for what the partner does in MPI, but for that it does anything there.
 */
static void tell_hop(const struct gn_look *l, struct gn_problem *p, struct gn_call_place place,
                     const struct gn_tallied *stalled)
{
    if (stalled->process == GN_NONE || stalled->partner == GN_NONE)
        return;
    p->hop_count = 1;
    p->hops[0] = (struct gn_problem_hop){.rank = gn_look_rank(l, stalled->process),
                                         .ranks = 1,
                                         .waits_for = gn_look_rank(l, stalled->partner),
                                         .call = place.call,
                                         .kind = "no progress",
                                         .function = place.function,
                                         .file = place.file,
                                         .line = place.line,
                                         .low_s = stalled->span.lo_ns * 1e-9,
                                         .high_s = stalled->span.hi_ns * 1e-9,
                                         .certain = (int64_t)stalled->times,
                                         .own_share = -1};
}

/* Of the rank with most. */
static double time_in(const struct gn_summary *s, struct gn_call_place place)
{
    double ns = 0;
    for (size_t i = 0; i < s->row_count; i++)
        ns += gn_is_row_of(&s->rows[i], place) ? (double)s->rows[i].max_ns : 0;
    return ns * 1e-9;
}

static void look_at_site(const struct gn_look *l, const struct gn_overlap *overlap, size_t site)
{
    const struct gn_tallied stalled = gn_site_tally_of(&overlap->stalled, site),
                            moved = gn_site_tally_of(&overlap->moved, site);
    const bool is_of_one = stalled.seen_ns > moved.seen_ns && stalled.partner_ns >= of_one * stalled.seen_ns;
    const struct gn_call_place place = gn_call_place_of(l->seen, &l->seen->sites[site]);
    /* ranks may be held up one after the other */
    const double all_s = gn_look_at_most(l, (stalled.span.hi_ns + moved.span.hi_ns) * 1e-9);
    const double high = is_of_one ? all_s : fmin(all_s, time_in(l->s, place));
    if (stalled.times + moved.times == 0 || high < GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s)
        return;
    struct gn_problem p = {.pattern = is_of_one ? &no_overlap : &no_overlap_of_all,
                           .row = gn_look_row(l->s, place),
                           .rank = is_of_one ? gn_look_rank(l, stalled.partner) : -1,
                           .most_rank = stalled.partner == GN_NONE ? -1 : gn_look_rank(l, stalled.partner),
                           .share_of_rank = is_of_one ? stalled.partner_ns / stalled.seen_ns : 0,
                           .is_fixed = true,
                           .lost_high_s = high,
                           .gain_high_s = high,
                           .times = (int64_t)(stalled.times + moved.times),
                           .sure = GN_PROBLEM_POSSIBLE,
                           .assumes = GN_PROBLEM_SAME | GN_PROBLEM_PROGRESS | gn_look_assumed(l)};
    tell_hop(l, &p, place, &stalled);
    gn_problems_add(l->problems, l->s, p);
    for (size_t i = 0; i < l->problems->count; i++) { /* what messages cost is told by this */
        struct gn_problem *other = &l->problems->items[i];
        if (other->is_of_messages)
            other->gain_high_s = other->lost_high_s = fmax(0, other->lost_high_s - high);
    }
}

int gn_look_at_overlap(const struct gn_look *l, struct gn_error *err)
{
    struct gn_overlap overlap;
    const struct gn_resources_told *told = &l->s->resources;
    if (told->messages > 0 && (double)told->sent_bytes / (double)told->messages < large_bytes)
        return 0;
    const int code = gn_overlap_find(&overlap, l->seen, err);
    if (code < 0)
        return code;
    for (size_t i = 0; i < l->seen->site_count; i++)
        look_at_site(l, &overlap, i);
    gn_overlap_clear(&overlap);
    return 0;
}

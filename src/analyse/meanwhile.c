#include "analyse/meanwhile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { LONGEST_WALK = 256, MOST_STEPS = 1 << 22, DEEPEST = 64 /* waits behind each other */ };
static const double least_share = 0.02; /* of the waiting: less is not told */

struct look {
    const struct gn_seen *seen;
    const struct gn_history *h;
    struct gn_givers givers;
    struct gn_contributions direct, roots;
    double lo_ns, hi_ns;         /* of all of it */
    double answers_ns, asked_ns; /* of those of which it was looked whether they are answers */
    uint64_t answer_steps;
    uint64_t times, steps, root_steps;
};

static uint32_t process_of(const struct gn_history *h, uint32_t call)
{
    return h->definitions->locations[h->calls[call].location].process;
}

/* depth: how many waits lie between; of the roots those in between are told by what lies behind them. */
static int add(struct look *l, const struct gn_contribution *one, int depth, bool is_root)
{
    int code = 0;
    if (!(one->hi_ns > 0))
        return 0;
    if (depth == 0)
        code = gn_contributions_add(&l->direct, one);
    return code == 0 && is_root ? gn_contributions_add(&l->roots, one) : code;
}

static int walk_back(struct look *l, uint32_t gave, double left_ns, int depth);

/* Of the call `at`, of which its last part is looked at: first what it does beside waiting, then that. */
static int add_call(struct look *l, uint32_t at, double part_ns, int depth)
{
    const struct gn_call *call = &l->h->calls[at];
    const struct gn_span length = gn_call_length(l->h, at); /* with the polls that it ends */
    const int64_t site = gn_seen_site_of(l->seen, call->region, call->path);
    struct gn_span waited;
    int code = gn_givers_of(&l->givers, at, &waited);
    if (code < 0 || site < 0)
        return code;
    const uint32_t gave = l->givers.count == 1 ? l->givers.list[0].call : GN_NONE;
    const double least = fmin(part_ns, fmax(0, length.lo_ns - waited.hi_ns)),
                 most = fmin(part_ns, fmax(0, length.hi_ns - waited.lo_ns));
    const bool goes_on = gave != GN_NONE && part_ns > most && depth < DEEPEST && l->root_steps < MOST_STEPS;
    struct gn_contribution one = {process_of(l->h, at), GN_DOING_CALLS, GN_NONE, (size_t)site, least, most};
    code = add(l, &one, depth, true);
    one.doing = GN_DOING_WAITS;
    one.lo_ns = part_ns - most;
    one.hi_ns = part_ns - least;
    code = code == 0 ? add(l, &one, depth, !goes_on) : code;
    if (code < 0 || !goes_on)
        return code;
    one.hi_ns -= one.lo_ns; /* whom that is for is not certain */
    one.lo_ns = 0;
    code = one.hi_ns > 0 ? gn_contributions_add(&l->roots, &one) : 0;
    return code == 0 ? walk_back(l, gave, part_ns - most, depth + 1) : code;
}

/* What is computed after `earlier`, the end of it, so long: by the regions that are open. */
static int add_computed(struct look *l, const struct gn_call *earlier, const struct gn_call *call, double ns,
                        int depth)
{
    const int64_t site = gn_seen_site_of(l->seen, earlier->region, earlier->path);
    int code = 0;
    for (uint32_t i = call->first_piece + call->piece_count;
         i-- > call->first_piece && ns > 0 && code == 0;) {
        const struct gn_piece *piece = &l->h->pieces[i];
        const double part = piece->kind == GN_PIECE_JOIN ? 0 : fmin(ns, (piece->lo_ns + piece->hi_ns) / 2);
        const uint32_t region =
            piece->activity < l->h->activity_count ? l->h->activities[piece->activity].region : GN_NONE;
        const struct gn_contribution one = {l->h->definitions->locations[call->location].process,
                                            GN_DOING_COMPUTES,
                                            region,
                                            region == GN_NONE && site >= 0 ? (size_t)site : 0,
                                            part,
                                            part};
        ns -= part;
        if (region != GN_NONE || site >= 0)
            code = add(l, &one, depth, true);
    }
    return code;
}

/* Backwards from the call in which it gave, for so long. */
static int walk_back(struct look *l, uint32_t gave, double left_ns, int depth)
{
    uint32_t at = gave;
    int code = 0;
    for (int i = 0; i < LONGEST_WALK && left_ns > 0 && code == 0; i++) {
        const struct gn_call *call = &l->h->calls[at];
        const uint32_t before = call->before;
        if (before == GN_NONE || l->h->calls[before].region == GN_NONE)
            break;
        const struct gn_call *earlier = &l->h->calls[before];
        const double computed_ns = fmin(left_ns, gn_computed_before(l->h, call));
        code = add_computed(l, earlier, call, computed_ns, depth);
        left_ns -= computed_ns;
        const double part_ns = fmin(left_ns, gn_call_ns(l->h, earlier));
        if (part_ns > 0 && code == 0)
            code = add_call(l, before, part_ns, depth);
        left_ns -= part_ns;
        at = before;
        *(depth == 0 ? &l->steps : &l->root_steps) += 1;
    }
    return code;
}

/* The only one that may have given last, if it is of the process; GN_NONE. */
static uint32_t giver_of(const struct look *l, uint32_t process)
{
    if (l->givers.count != 1)
        return GN_NONE;
    const uint32_t call = l->givers.list[0].call;
    return process_of(l->h, call) == process ? call : GN_NONE;
}

static bool takes_from(const struct gn_history *h, const struct gn_call *call, uint32_t process,
                       uint32_t *from)
{
    for (uint32_t i = call->first_take; i < call->first_take + call->take_count; i++)
        if (h->takes[i].kind == GN_TAKE_MESSAGE &&
            h->definitions->locations[h->calls[h->takes[i].from].location].process == process) {
            *from = h->takes[i].from;
            return true;
        }
    return false;
}

/* Whether what the call `gave` sent, for which `waits` waited, may answer what was sent by who waits: most of
 * the wait is since a message of theirs was taken, after which they took none of ours. */
static bool is_answer(struct look *l, uint32_t waits, uint32_t gave, double waited_ns)
{
    static const double most_of_it = 0.5;
    const struct gn_history *h = l->h;
    const uint32_t asks = process_of(h, waits), answers = process_of(h, gave);
    double since_ns = 0;
    uint32_t from = GN_NONE, ours;
    for (uint32_t i = 0, at = gave; i < LONGEST_WALK && from == GN_NONE; i++, l->answer_steps++) {
        since_ns += gn_computed_before(h, &h->calls[at]);
        at = h->calls[at].before;
        if (at == GN_NONE || (takes_from(h, &h->calls[at], asks, &from) && since_ns < most_of_it * waited_ns))
            return false;
        since_ns += gn_call_ns(l->h, &h->calls[at]);
    }
    if (from == GN_NONE || h->calls[from].location != h->calls[waits].location)
        return false;
    for (uint32_t i = 0, at = h->calls[waits].before; i < LONGEST_WALK && at != GN_NONE;
         i++, l->answer_steps++) {
        if (at == from)
            return true;
        if (takes_from(h, &h->calls[at], answers, &ours))
            return false;
        at = h->calls[at].before;
    }
    return false;
}

static int look_at_part(struct look *l, size_t part, uint32_t region, uint32_t path, uint32_t process)
{
    int code = gn_givers_open(&l->givers, l->h);
    for (uint32_t c = 0; c < l->h->call_count && code == 0 && l->steps < MOST_STEPS; c++) {
        const struct gn_call *call = &l->h->calls[c];
        struct gn_span waited;
        if (call->region != region || call->path != path || call->take_count == 0 ||
            !gn_seen_counts(l->seen, part, call))
            continue;
        code = gn_givers_of(&l->givers, c, &waited);
        const uint32_t gave = code == 0 ? giver_of(l, process) : GN_NONE;
        if (gave == GN_NONE || waited.lo_ns <= 0)
            continue;
        l->lo_ns += waited.lo_ns;
        l->hi_ns += waited.hi_ns;
        l->times++;
        if (l->answer_steps < MOST_STEPS) { /* the first ones say what the others are */
            l->asked_ns += waited.lo_ns;
            l->answers_ns += is_answer(l, c, gave, waited.lo_ns) ? waited.lo_ns : 0;
        }
        code = walk_back(l, gave, waited.lo_ns, 0);
    }
    gn_givers_close(&l->givers);
    return code;
}

/* What is told, the largest first. What is not certain of the wait may belong to any of them. */
static void tell(const struct look *l, struct gn_contributions *all, struct gn_meanwhile_parts *parts)
{
    const double unsure_ns = fmax(0, l->hi_ns - l->lo_ns);
    double least_ns = 0, most_ns = 0;
    gn_contributions_sort(all);
    *parts = (struct gn_meanwhile_parts){.count = 0};
    for (size_t i = 0; i < all->count && parts->count < GN_MEANWHILE_PARTS && l->hi_ns > 0; i++) {
        const struct gn_contribution *one = &all->items[i];
        if (one->hi_ns < least_share * l->hi_ns)
            break;
        parts->items[parts->count++] =
            (struct gn_meanwhile_part){.doing = one->doing,
                                       .process = one->process,
                                       .site = one->site,
                                       .region = one->region,
                                       .low = one->lo_ns / l->hi_ns,
                                       .high = fmin(1, (one->hi_ns + unsure_ns) / l->hi_ns)};
        least_ns += one->lo_ns;
        most_ns += one->hi_ns;
    }
    if (parts->count > 0)
        parts->items[parts->count++] =
            (struct gn_meanwhile_part){.doing = GN_DOING_OTHER,
                                       .process = GN_NONE,
                                       .region = GN_NONE,
                                       .low = fmax(0, l->lo_ns - most_ns) / l->hi_ns,
                                       .high = fmin(1, fmax(0, l->lo_ns - least_ns + unsure_ns) / l->hi_ns)};
}

int gn_meanwhile_find(struct gn_meanwhile *m, const struct gn_seen *seen, uint32_t region, uint32_t path,
                      uint32_t process, struct gn_error *err)
{
    struct look l = {.seen = seen};
    int code = 0;
    for (size_t part = 0; part < seen->count && code == 0; part++) {
        l.h = &seen->parts[part].history;
        l.givers = (struct gn_givers){.history = l.h};
        code = look_at_part(&l, part, region, path, process);
    }
    *m = (struct gn_meanwhile){.times = l.times, .answers = l.asked_ns > 0 ? l.answers_ns / l.asked_ns : 0};
    if (code == 0) {
        tell(&l, &l.direct, &m->direct);
        tell(&l, &l.roots, &m->roots);
    }
    gn_contributions_clear(&l.direct);
    gn_contributions_clear(&l.roots);
    return code == 0 ? 0 : gn_fail(err, -ENOMEM, "no memory for what was done meanwhile");
}

#include "analyse/meanwhile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { KINDS = GN_MEANWHILE_OTHER, LONGEST_WALK = 256, MOST_STEPS = 1 << 22 };
static const double least_share = 0.02; /* of the waiting: less is not told */

struct look {
    const struct gn_seen *seen;
    const struct gn_history *h;
    struct gn_givers givers;
    struct gn_span *ns;  /* [site_count * KINDS] and, behind that, [region_count] what is computed in them */
    double lo_ns, hi_ns; /* of all of it */
    double answers_ns, asked_ns; /* of those of which it was looked whether they are answers */
    uint64_t answer_steps;
    uint64_t times, steps;
};

static void add(struct look *l, const struct gn_call *call, enum gn_meanwhile_kind kind, double lo_ns,
                double hi_ns)
{
    const int64_t site = gn_seen_site_of(l->seen, call->region, call->path);
    if (site < 0 || !(hi_ns > 0))
        return;
    l->ns[(size_t)site * KINDS + kind].lo_ns += fmax(0, lo_ns);
    l->ns[(size_t)site * KINDS + kind].hi_ns += hi_ns;
}

/* Of the call `at`, of which its last part is looked at: first what it does beside waiting, then that. */
static int add_call(struct look *l, uint32_t at, double part_ns)
{
    const struct gn_call *call = &l->h->calls[at];
    const double length_ns = gn_call_ns(l->h, call);
    struct gn_span waited;
    const int code = gn_givers_of(&l->givers, at, &waited);
    if (code < 0)
        return code;
    const double least = fmin(part_ns, fmax(0, length_ns - waited.hi_ns)),
                 most = fmin(part_ns, fmax(0, length_ns - waited.lo_ns));
    add(l, call, GN_MEANWHILE_CALLS, least, most);
    add(l, call, GN_MEANWHILE_WAITS, part_ns - most, part_ns - least);
    return 0;
}

/* What is computed after `earlier`, the end of it, so long: by the regions that are open. */
static void add_computed(struct look *l, const struct gn_call *earlier, const struct gn_call *call, double ns)
{
    struct gn_span *regions = l->ns + l->seen->site_count * KINDS;
    for (uint32_t i = call->first_piece + call->piece_count; i-- > call->first_piece && ns > 0;) {
        const struct gn_piece *piece = &l->h->pieces[i];
        const double part = piece->kind == GN_PIECE_JOIN ? 0 : fmin(ns, (piece->lo_ns + piece->hi_ns) / 2);
        const uint32_t region =
            piece->activity < l->h->activity_count ? l->h->activities[piece->activity].region : GN_NONE;
        ns -= part;
        if (region == GN_NONE) {
            add(l, earlier, GN_MEANWHILE_COMPUTES, part, part);
        } else {
            regions[region].lo_ns += part;
            regions[region].hi_ns += part;
        }
    }
}

/* Backwards from the call in which it gave, for so long. */
static int walk_back(struct look *l, uint32_t gave, double left_ns)
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
        add_computed(l, earlier, call, computed_ns);
        left_ns -= computed_ns;
        const double part_ns = fmin(left_ns, gn_call_ns(l->h, earlier));
        if (part_ns > 0)
            code = add_call(l, before, part_ns);
        left_ns -= part_ns;
        at = before;
        l->steps++;
    }
    return code;
}

/* The only one that may have given last, if it is of the process; GN_NONE. */
static uint32_t giver_of(const struct look *l, uint32_t process)
{
    if (l->givers.count != 1)
        return GN_NONE;
    const uint32_t call = l->givers.list[0].call;
    return l->h->definitions->locations[l->h->calls[call].location].process == process ? call : GN_NONE;
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

static uint32_t process_of(const struct gn_history *h, uint32_t call)
{
    return h->definitions->locations[h->calls[call].location].process;
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
        code = walk_back(l, gave, waited.lo_ns);
    }
    gn_givers_close(&l->givers);
    return code;
}

/* What is told, the largest first. What is not certain of the wait may belong to any of them. */
static void tell(const struct look *l, struct gn_meanwhile *m)
{
    const double unsure_ns = fmax(0, l->hi_ns - l->lo_ns);
    double least_ns = 0, most_ns = 0;
    const size_t at_sites = l->seen->site_count * KINDS, all = at_sites + l->seen->definitions->region_count;
    *m = (struct gn_meanwhile){.times = l->times,
                               .answers = l->asked_ns > 0 ? l->answers_ns / l->asked_ns : 0};
    while (m->count < GN_MEANWHILE_PARTS && l->hi_ns > 0 && all > 0) {
        size_t most = 0;
        for (size_t i = 1; i < all; i++)
            most = l->ns[i].hi_ns > l->ns[most].hi_ns ? i : most;
        const struct gn_span ns = l->ns[most];
        if (ns.hi_ns < least_share * l->hi_ns)
            break;
        const bool at_site = most < at_sites;
        m->parts[m->count++] = (struct gn_meanwhile_part){
            .kind = at_site ? (enum gn_meanwhile_kind)(most % KINDS) : GN_MEANWHILE_COMPUTES,
            .site = at_site ? most / KINDS : 0,
            .region = at_site ? GN_NONE : (uint32_t)(most - at_sites),
            .low = ns.lo_ns / l->hi_ns,
            .high = fmin(1, (ns.hi_ns + unsure_ns) / l->hi_ns)};
        least_ns += ns.lo_ns;
        most_ns += ns.hi_ns;
        l->ns[most] = (struct gn_span){0, 0};
    }
    if (m->count > 0)
        m->parts[m->count++] =
            (struct gn_meanwhile_part){.kind = GN_MEANWHILE_OTHER,
                                       .low = fmax(0, l->lo_ns - most_ns) / l->hi_ns,
                                       .high = fmin(1, fmax(0, l->lo_ns - least_ns + unsure_ns) / l->hi_ns)};
}

int gn_meanwhile_find(struct gn_meanwhile *m, const struct gn_seen *seen, uint32_t region, uint32_t path,
                      uint32_t process, struct gn_error *err)
{
    struct look l = {
        .seen = seen,
        .ns = calloc(seen->site_count * KINDS + seen->definitions->region_count + 1, sizeof *l.ns)};
    int code = l.ns ? 0 : -ENOMEM;
    for (size_t part = 0; part < seen->count && code == 0; part++) {
        l.h = &seen->parts[part].history;
        l.givers = (struct gn_givers){.history = l.h};
        code = look_at_part(&l, part, region, path, process);
    }
    if (code == 0)
        tell(&l, m);
    free(l.ns);
    return code == 0 ? 0 : gn_fail(err, -ENOMEM, "no memory for what was done meanwhile");
}

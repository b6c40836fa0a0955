#include "clock/clocks_inside.h"

#include <errno.h>
#include <stdlib.h>

/* Of two kinds, the one that claims less. */
static enum gn_assumption_kind weaker(enum gn_assumption_kind a, enum gn_assumption_kind b)
{
    static const int claims[] = {
        [GN_RATE_CONSTANT] = 3, [GN_RATE_WANDERS] = 2, [GN_RATE_WITHIN] = 1, [GN_RATE_UNKNOWN] = 0};
    return claims[a] < claims[b] ? a : b;
}

/* What the products of model.c have room for, and more than any clock needs: 97 years at 3 GHz, and 146. */
static bool has_room(uint64_t ticks, int64_t ns)
{
    return ticks <= INT64_MAX && ns > INT64_MIN / 2 && ns < INT64_MAX / 2;
}

/* Whether what a domain's bounds rest on claims no less than `kind` does. */
static bool bears(const struct gn_clocks *clocks, uint32_t domain, enum gn_assumption_kind kind)
{
    const struct gn_clock_state *state = &clocks->domains[domain].state;
    return domain == 0 || !state->reached || weaker(kind, state->rests_on) == kind;
}

/* Everything that the messages with domains of known bounds say about this one; of those only that bear this
 * kind of assumption, GN_RATE_UNKNOWN: of all. False: no memory. */
static bool collect(const struct gn_clocks *clocks, const struct gn_domain *d, enum gn_assumption_kind kind,
                    struct gn_points *points)
{
    size_t lower = 0, upper = 0;
    for (size_t i = 0; i < d->link_count; i++) {
        lower += d->links[i].from_other ? d->links[i].from_other->count : 0;
        upper += d->links[i].to_other ? d->links[i].to_other->count : 0;
    }
    *points = (struct gn_points){malloc((lower + 1) * sizeof *points->lower),
                                 malloc((upper + 1) * sizeof *points->upper), 0, 0};
    if (!points->lower || !points->upper)
        return false;
    for (size_t i = 0; i < d->link_count; i++) {
        const struct gn_link *link = &d->links[i];
        const struct gn_domain *other = &clocks->domains[link->other];
        if (kind != GN_RATE_UNKNOWN && !bears(clocks, link->other, kind))
            continue;
        for (size_t k = 0; other->has_lo && link->from_other && k < link->from_other->count; k++) {
            /* here it showed less than the reading and its granularity when the other showed `sent` or more
             */
            const struct gn_pair_kept *kept = &link->from_other->kept[k];
            struct gn_interval sent = gn_bounds_convert(other->bounds, kept->sent_ticks);
            if (has_room(kept->received_ticks, sent.lo_ns) &&
                has_room(kept->received_ticks + d->def.granularity_ticks, sent.lo_ns))
                points->lower[points->lower_count++] =
                    (struct gn_point){kept->received_ticks + d->def.granularity_ticks, sent.lo_ns};
        }
        for (size_t k = 0; other->has_hi && link->to_other && k < link->to_other->count; k++) {
            const struct gn_pair_kept *kept = &link->to_other->kept[k];
            struct gn_interval received = gn_bounds_convert(other->bounds, kept->received_ticks);
            if (has_room(kept->sent_ticks, received.hi_ns))
                points->upper[points->upper_count++] = (struct gn_point){kept->sent_ticks, received.hi_ns};
        }
    }
    gn_points_sort(points);
    return true;
}

/* A domain that is known through another one whose assumption was refuted cannot refute its own: the other's
 * bounds are too wide for that. Its own must not claim more than the other's do. */
static enum gn_assumption_kind tenable(const struct gn_clocks *clocks, const struct gn_domain *d,
                                       enum gn_assumption_kind kind)
{
    for (size_t i = 0; i < d->link_count; i++) {
        const struct gn_domain *other = &clocks->domains[d->links[i].other];
        if (d->links[i].other != 0 && other->state.reached)
            kind = weaker(kind, other->state.rests_on);
    }
    return kind;
}

/* What was refuted stays said when the bounds are made anew under what is tenable. */
static int solve_tenable(struct gn_clocks *clocks, struct gn_domain *d, const struct gn_points *points,
                         const struct gn_assumption *assumption, struct gn_error *err)
{
    struct gn_assumption own = *assumption;
    own.kind = tenable(clocks, d, own.kind);
    int code = gn_domain_two_sided(d, points, assumption, err);
    if (code < 0 || weaker(own.kind, d->state.rests_on) == d->state.rests_on)
        return code;
    gn_domain_drop_bounds(d);
    return gn_domain_two_sided(d, points, &own, err);
}

/* Messages with domains that bear the assumption suffice: the others may refute it, for bounds that fell back
 * to something weaker are right for that, but neither widen the bounds nor lower what they claim. */
static int solve_apart(struct gn_domain *d, const struct gn_points *all, const struct gn_points *sure,
                       const struct gn_assumption *assumption, struct gn_error *err)
{
    int code = gn_domain_two_sided(d, all, assumption, err);
    if (code < 0 || d->state.refuted_count > 0 || !d->state.reached)
        return code;
    gn_domain_drop_bounds(d);
    return gn_domain_two_sided(d, sure, assumption, err);
}

static int solve_points(struct gn_clocks *clocks, struct gn_domain *d, struct gn_points *all,
                        const struct gn_points *sure, const struct gn_assumption *assumption,
                        struct gn_error *err)
{
    if (all->lower_count == 0 || all->upper_count == 0)
        return assumption->kind == GN_RATE_UNKNOWN ? 0 : gn_domain_one_sided(d, all, assumption, err);
    bool some_left_out = false;
    for (size_t i = 0; i < d->link_count; i++)
        some_left_out |= !bears(clocks, d->links[i].other, assumption->kind);
    if (some_left_out && sure->lower_count > 0 && sure->upper_count > 0)
        return solve_apart(d, all, sure, assumption, err);
    return solve_tenable(clocks, d, all, assumption, err);
}

static int solve_one(struct gn_clocks *clocks, size_t i, const struct gn_assumption *assumption,
                     struct gn_error *err)
{
    struct gn_domain *d = &clocks->domains[i];
    struct gn_points all = {0}, sure = {0};
    int code = 0;
    if (!collect(clocks, d, GN_RATE_UNKNOWN, &all) || !collect(clocks, d, assumption->kind, &sure)) {
        code = gn_fail(err, -ENOMEM, "no memory for the messages of a clock");
    } else if (all.lower_count + all.upper_count > 0) {
        gn_domain_forget(d);
        code = solve_points(clocks, d, &all, &sure, assumption, err);
    }
    gn_points_clear(&all);
    gn_points_clear(&sure);
    return code;
}

static int solve_reference(struct gn_clocks *clocks, struct gn_error *err)
{
    struct gn_domain *d = &clocks->domains[0];
    d->bounds = gn_bounds_reference(d->def.hz, d->def.granularity_ticks, clocks->epoch_ticks, err);
    if (!d->bounds)
        return -ENOMEM;
    d->has_lo = d->has_hi = d->state.reached = true;
    d->state.bounds = d->bounds;
    return 0;
}

/* The domains by their distance from the reference, along messages of any direction. Returns how many. */
static size_t find_order(const struct gn_clocks *clocks, uint32_t *order, bool *seen)
{
    size_t found = 1;
    order[0] = 0;
    seen[0] = true;
    for (size_t done = 0; done < found; done++) {
        const struct gn_domain *d = &clocks->domains[order[done]];
        for (size_t i = 0; i < d->link_count; i++)
            if (!seen[d->links[i].other]) {
                seen[d->links[i].other] = true;
                order[found++] = d->links[i].other;
            }
    }
    return found;
}

/* No two ways between any two domains, and every way goes both ways: then one look at each is enough. */
static bool is_tree(const struct gn_clocks *clocks)
{
    for (size_t i = 0; i < clocks->count; i++)
        for (size_t k = 0; k < clocks->domains[i].link_count; k++)
            if (!clocks->domains[i].links[k].to_other || !clocks->domains[i].links[k].from_other)
                return false;
    return clocks->link_count < clocks->count;
}

/* What is known of all: changes when a side comes to be known, or an assumption to be refuted. */
static size_t known_of_all(const struct gn_clocks *clocks)
{
    size_t known = 0;
    for (size_t i = 0; i < clocks->count; i++) {
        const struct gn_domain *d = &clocks->domains[i];
        known = known * 31 + d->has_lo + 2 * (size_t)d->has_hi + 4 * (size_t)d->state.rests_on;
    }
    return known;
}

/* From the reference outward and back again, until nothing new comes to be known at all; what is known of a
 * domain tightens those that it has messages with. Sound wherever it stops, but for bounds that were made
 * from those of a domain whose assumption was refuted after that: hence the rounds, as many as a refutation
 * can need to get about. */
static int sweep(struct gn_clocks *clocks, const uint32_t *order, size_t count,
                 const struct gn_assumption *assumption, struct gn_error *err)
{
    int code = 0;
    size_t before, rounds = 0;
    do {
        before = known_of_all(clocks);
        for (size_t i = 1; i < count && code == 0; i++)
            code = solve_one(clocks, order[i], assumption, err);
        if (is_tree(clocks))
            break;
        for (size_t i = count; i-- > 1 && code == 0;)
            code = solve_one(clocks, order[i], assumption, err);
    } while (code == 0 && known_of_all(clocks) != before && ++rounds < count + 2);
    return code;
}

/* ---- the reference itself ---- */

static size_t kept_between(const struct gn_link *link)
{
    size_t there = link->to_other ? link->to_other->count : 0,
           back = link->from_other ? link->from_other->count : 0;
    return there < back ? there : back;
}

/* Whether most of what is known of the reference at first hand refutes the assumption: then it is the
 * reference that breaks it, and those whose messages are too few to show it must not go on as if it did not.
 * Returns what is left to assume then, else the assumption's own kind. */
static enum gn_assumption_kind left_to_assume(const struct gn_clocks *clocks, enum gn_assumption_kind kind)
{
    const struct gn_domain *reference = &clocks->domains[0];
    enum gn_assumption_kind left = kind;
    size_t all = 0, against = 0;
    for (size_t i = 0; i < reference->link_count; i++) {
        const struct gn_domain *other = &clocks->domains[reference->links[i].other];
        size_t weight = kept_between(&reference->links[i]);
        all += weight;
        if (other->state.refuted_count == 0)
            continue;
        against += weight;
        left = weaker(left, other->state.reached ? other->state.rests_on : GN_RATE_UNKNOWN);
    }
    return 2 * against > all ? left : kind;
}

/* What was refuted of more than `kind` stays said, ahead of what is refuted now. */
static void say_again(struct gn_clock_state *now, const struct gn_clock_state *before,
                      enum gn_assumption_kind kind)
{
    struct gn_clock_state both = *now;
    int room = (int)(sizeof both.refuted / sizeof both.refuted[0]);
    both.refuted_count = 0;
    for (int i = 0; i < before->refuted_count; i++)
        if (before->refuted[i].kind != kind && weaker(before->refuted[i].kind, kind) == kind)
            both.refuted[both.refuted_count++] = before->refuted[i];
    for (int i = 0; i < now->refuted_count && both.refuted_count < room; i++)
        both.refuted[both.refuted_count++] = now->refuted[i];
    *now = both;
}

static int solve_under(struct gn_clocks *clocks, const uint32_t *order, size_t count,
                       const struct gn_assumption *less, struct gn_error *err)
{
    struct gn_clock_state *before = malloc(clocks->count * sizeof *before);
    if (!before)
        return gn_fail(err, -ENOMEM, "no memory for %zu clocks", clocks->count);
    for (size_t i = 0; i < clocks->count; i++)
        before[i] = clocks->domains[i].state;
    for (size_t i = 1; i < clocks->count; i++)
        gn_domain_forget(&clocks->domains[i]);
    int code = sweep(clocks, order, count, less, err);
    for (size_t i = 1; i < clocks->count; i++)
        say_again(&clocks->domains[i].state, &before[i], less->kind);
    free(before);
    return code;
}

static int solve_all(struct gn_clocks *clocks, uint32_t *order, bool *seen,
                     const struct gn_assumption *assumption, struct gn_error *err)
{
    size_t count = find_order(clocks, order, seen);
    int code = sweep(clocks, order, count, assumption, err);
    struct gn_assumption less = *assumption;
    less.kind = left_to_assume(clocks, assumption->kind);
    return code == 0 && less.kind != assumption->kind ? solve_under(clocks, order, count, &less, err) : code;
}

int gn_clocks_solve(struct gn_clocks *clocks, const struct gn_assumption *assumption, struct gn_error *err)
{
    if (clocks->count == 0)
        return 0;
    for (size_t i = 0; i < clocks->count; i++)
        gn_domain_forget(&clocks->domains[i]);
    int code = solve_reference(clocks, err);
    uint32_t *order = malloc(clocks->count * sizeof *order);
    bool *seen = calloc(clocks->count, sizeof *seen);
    if (code == 0 && (!order || !seen))
        code = gn_fail(err, -ENOMEM, "no memory for %zu clocks", clocks->count);
    if (code == 0)
        code = solve_all(clocks, order, seen, assumption, err);
    free(order);
    free(seen);
    return code;
}

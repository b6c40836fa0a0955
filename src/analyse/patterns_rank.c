/* A rank that takes longer: its price by replay (analyse/levelled.h), and its chain. */
#include "analyse/patterns_look.h"

#include "analyse/levelled.h"

#include <math.h>
#include <string.h>

/* Whether it is known that what it took longer was not waiting for a core. */
static bool had_a_core(const struct gn_summary *s, const struct gn_problem *p)
{
    for (size_t i = 0; i < s->rank_count; i++)
        if (s->ranks_told[i].rank == p->rank)
            return s->ranks_told[i].preempted_s <= 0.1 * p->lost_low_s;
    return false;
}

/* How much shorter the run is when the process computes no more than the others, and when what it computes
 * is spread evenly. */
static int replay(const struct gn_look *l, uint32_t process, struct gn_span *like, struct gn_span *even,
                  struct gn_error *err)
{
    struct gn_span *each_even = l->each + l->seen->count;
    for (size_t i = 0; i < l->seen->count; i++) {
        struct gn_levelled levelled;
        const int code = gn_levelled_find(&levelled, &l->seen->parts[i].history, process, err);
        if (code < 0)
            return code;
        l->each[i].lo_ns = fmax(0, fmin(levelled.mean.reduction_lo_ns, levelled.fastest.reduction_lo_ns));
        l->each[i].hi_ns = fmax(0, fmax(levelled.mean.reduction_hi_ns, levelled.fastest.reduction_hi_ns));
        each_even[i] =
            (struct gn_span){fmax(0, levelled.even.reduction_lo_ns), fmax(0, levelled.even.reduction_hi_ns)};
    }
    *like = gn_seen_total(l->seen, l->each);
    *even = gn_seen_total(l->seen, each_even);
    return 0;
}

/* What replay and totals say together. */
static void settle(const struct gn_look *l, struct gn_problem *p, double low, double high)
{
    if (high < p->gain_low_s || low > p->gain_high_s) {
        /* what was not seen (before MPI_Init), what replay keeps as it was, several slow ranks: then both may
         * be right */
        p->gain_low_s = p->lost_low_s = fmin(low, p->gain_low_s);
        p->gain_high_s = p->lost_high_s = fmax(isfinite(high) ? high : 0, p->gain_high_s);
        return;
    }
    p->gain_low_s = p->lost_low_s = low;
    p->gain_high_s = p->lost_high_s = isfinite(high) ? high : p->gain_high_s;
    p->assumes = GN_PROBLEM_SAME | GN_PROBLEM_ALONE;
    p->is_replayed = true;
    gn_look_allow_for_repeats(l, p);
}

/* When it was the last one, in the call in which it was waited for most. Returns what of it is certain, s. */
static double tell_times(const struct gn_look *l, struct gn_problem *p, uint32_t process)
{
    for (size_t i = 0; i < l->cause_count; i++) {
        const struct gn_seen_cause *c = &l->causes[i];
        if (c->process != process)
            continue;
        p->times = c->of > 0 ? (int64_t)fmin((double)c->steps, (double)c->of) : (int64_t)c->times;
        p->first = (int64_t)c->first;
        p->last = (int64_t)c->last;
        p->of = (int64_t)c->of;
        return c->caused.lo_ns * 1e-9;
    }
    return 0;
}

/* Others wait for its messages, which it sends to whoever asks: nothing is known of another order. */
static bool see_master(const struct gn_look *l, struct gn_problem *p, uint32_t process)
{
    const struct gn_problem_hop *hop = &p->hops[0];
    if (p->hop_count == 0 || hop->ranks < 2 ||
        strcmp(hop->kind, gn_wait_kind_name(GN_WAIT_LATE_SENDER)) != 0 || !gn_look_takes_from_any(l, process))
        return false;
    p->pattern = &gn_problem_master;
    p->hop_count = 1;
    p->lost_low_s = hop->low_s / hop->ranks;
    p->gain_high_s = p->lost_high_s = fmin(hop->high_s / hop->ranks, p->own_s);
    p->gain_low_s = 0;
    p->assumes = GN_PROBLEM_SAME | gn_look_assumed(l);
    p->sure = l->seen->is_whole && hop->low_s > 0 ? GN_PROBLEM_CERTAIN : GN_PROBLEM_POSSIBLE;
    return true;
}

/* A place that few samples have named may be another one. */
static bool is_place_sure(const struct gn_activity_row *row)
{
    enum { FEW = 5 };
    return row->samples == 0 || row->samples >= FEW;
}

static int see_rank(const struct gn_look *l, struct gn_problem *p, struct gn_error *err)
{
    const uint32_t process = gn_process_of_rank(l->seen->definitions, p->rank);
    struct gn_span like, even;
    if (process == GN_NONE)
        return 0;
    gn_look_tell_chain(l, p, process, NULL, GN_PROBLEM_HOPS);
    const double certain_s = tell_times(l, p, process);
    if (see_master(l, p, process))
        return 0;
    const int code = replay(l, process, &like, &even, err);
    if (code < 0)
        return code;
    /* by step, it may be more than by its sum: then those who waited for it say how much */
    const double waited_s = p->hop_count > 0 ? p->hops[0].high_s / p->hops[0].ranks : 0;
    const double low = like.lo_ns * 1e-9, high = fmax(like.hi_ns * 1e-9, waited_s);
    const bool agrees = waited_s <= 1.1 * like.hi_ns * 1e-9;
    settle(l, p, low, high);
    gn_problem_limit_by_others(p, l->s);
    if (p->is_replayed && isfinite(even.hi_ns)) {
        p->even_low_s = even.lo_ns * 1e-9;
        p->even_high_s = even.hi_ns * 1e-9;
        if (gn_problem_is_of_work(p)) /* whoever mends it by distributing gains this much only */
            p->gain_low_s =
                fmin(p->gain_low_s, fmax(0, p->even_low_s - GN_PROBLEM_REPEATED_SHARE * l->s->elapsed_s));
    }
    p->assumes |= gn_look_assumed(l);
    /* that as much was waited for it is certain, and so is that it was computing meanwhile */
    if (p->is_replayed && l->seen->is_whole && agrees && certain_s >= low && low > 0 && had_a_core(l->s, p) &&
        is_place_sure(p->row))
        p->sure = GN_PROBLEM_CERTAIN;
    return 0;
}

/* All of the excess of a rank is taken away at once: its problems become one. */
static void join_places(const struct gn_look *l)
{
    struct gn_problems *all = l->problems;
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct gn_problem *p = &all->items[i];
        struct gn_problem *first = NULL;
        for (size_t k = 0; k < kept && !first && gn_problem_is_of_rank(p); k++)
            if (gn_problem_is_of_rank(&all->items[k]) && all->items[k].rank == p->rank)
                first = &all->items[k];
        if (!first) {
            all->items[kept++] = *p;
            continue;
        }
        first->lost_low_s += p->lost_low_s;
        first->lost_high_s += p->lost_high_s;
        first->gain_low_s += p->gain_low_s;
        first->gain_high_s += p->gain_high_s;
        first->even_s += p->even_s;
        first->more_places++;
    }
    all->count = kept;
}

int gn_look_at_ranks(const struct gn_look *l, struct gn_error *err)
{
    int code = 0;
    join_places(l);
    for (size_t i = 0; i < l->problems->count && code == 0; i++)
        if (gn_problem_is_of_rank(&l->problems->items[i]))
            code = see_rank(l, &l->problems->items[i], err);
    return code;
}

/* Waits that no rank's totals explain, told apart by who is waited for in a call. */
#include "analyse/blocks.h"
#include "analyse/patterns_look.h"
#include "analyse/sooner.h"
#include "event/activity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the run: so much of which at least was seen to be waited, where windows stand for the rest */
static const double seen_share = 0.002;
static const double of_one_of_two = 0.75; /* of the waits in a call: the other one is hardly ever late */
static const double of_one_of_many = 0.55;
static const double answers_share =
    0.5; /* of a late sender's waits: it cannot send sooner than it has computed */
static const double few_sides = 0.1;  /* of what others wait: so little is none */
static const double of_one_way = 0.9; /* of the waits for messages go in one direction */
static const double several = 2.5;    /* waits */
static const double rare = 0.1;       /* of the calls have most of what is waited for: noise */

static const struct gn_problem_pattern moving = {
    .name = "moving imbalance",
    .remedy =
        "what ranks compute is even in sum and uneven at each step: move work while the program runs, or "
        "let them meet less often; where all do the same, see what slows now this core down and now that "
        "one"};
static const struct gn_problem_pattern noise = {
    .name = "noise",
    .remedy =
        "few steps take long, at one rank or another, and all wait: see what interrupts the ranks, or let "
        "them meet less often"};
static const struct gn_problem_pattern late_sender = {
    .name = "late sender",
    .replay = "with what it sends ahead of what it computes just before",
    .remedy = "send before the other work, or let the receiver do other work first (MPI_Irecv)"};
static const struct gn_problem_pattern wrong_order = {
    .name = "wrong order of receives",
    .remedy =
        "take messages as they come (MPI_ANY_SOURCE, MPI_Waitany), or in the order in which they are sent",
    .says = "it waits for a message that is late, while others that it takes later have come"};
static const struct gn_problem_pattern late_receiver = {
    .name = "late receiver",
    .replay = "with its receives posted ahead of what it computes just before",
    .remedy = "post the receive earlier (MPI_Irecv), or let the sender go on (MPI_Isend)"};
static const struct gn_problem_pattern pipeline = {
    .name = "pipeline",
    .remedy = "each rank waits for the one before: smaller blocks let the next one begin sooner"};
/* For one rank in a collective; or for one after the other, while the others have nothing to do. */
#define IN_TURN                                                                                              \
    .name = "waiting in turn", .remedy = "what ranks do one after the other, let them do at the same time"
static const struct gn_problem_pattern turns = {IN_TURN}, one_by_one = {IN_TURN};

static const struct gn_problem_pattern answers = {
    .name = "waiting in turn",
    .remedy =
        "each waits while the other computes: let there be more than one request on its way, do other work "
        "meanwhile (MPI_Irecv), or answer before what the answer does not need"};

/* All that was waited for in a call. */
struct node {
    uint32_t region, path;
    struct gn_span caused;
    double seen_ns, squares, most_ns;
    uint64_t times, of, first, last, calls;
    uint32_t most; /* process that is waited for most */
    const struct gn_problem_pattern *pattern;
};

static void add_to_node(struct node *n, const struct gn_seen_cause *c)
{
    n->caused.lo_ns += c->caused.lo_ns;
    n->caused.hi_ns += c->caused.hi_ns;
    n->seen_ns += c->seen_ns;
    n->squares += c->squares;
    n->times += c->of > 0 ? c->steps : c->times;
    n->of = c->of > n->of ? c->of : n->of;
    n->calls = c->calls > n->calls ? c->calls : n->calls;
    if (c->seen_ns > n->most_ns) {
        n->most_ns = c->seen_ns;
        n->most = c->process;
        n->first = c->first;
        n->last = c->last;
    }
}

static int compare_nodes(const void *left, const void *right)
{
    const struct node *a = left, *b = right;
    return a->seen_ns > b->seen_ns ? -1 : a->seen_ns < b->seen_ns;
}

static size_t find_nodes(const struct gn_look *l, struct node *nodes)
{
    size_t count = 0;
    for (size_t i = 0; i < l->cause_count; i++) {
        const struct gn_seen_cause *c = &l->causes[i];
        size_t at = 0;
        while (at < count && (nodes[at].region != c->call_region || nodes[at].path != c->call_path))
            at++;
        if (at == count)
            nodes[count++] = (struct node){.region = c->call_region, .path = c->call_path, .most = GN_NONE};
        add_to_node(&nodes[at], c);
    }
    qsort(nodes, count, sizeof *nodes, compare_nodes);
    return count;
}

/* Who waits in a call, and for whom. */
struct sides {
    enum gn_wait_kind kind; /* of most of it */
    size_t waiters;         /* processes */
    double most_ns;         /* that one of them waits at most */
    bool
        is_one_way; /* for messages along the ranks in one direction, and some both wait and are waited for */
    bool is_fixed;  /* those who wait are not waited for, to speak of */
};

/* What a process waits, and is waited for, in the call that is looked at; ns. */
struct part {
    double waits, gives, most;
};

static void add_side(const struct gn_look *l, const struct gn_seen_edge *of, struct part *parts,
                     double way[2])
{
    const struct gn_definitions *d = l->seen->definitions;
    const struct gn_wait_edge *e = &of->edge;
    const uint32_t waiter = d->locations[e->location].process;
    const double ns = e->lo_ns + e->hi_ns;
    parts[waiter].waits += ns;
    parts[waiter].most += of->waited.hi_ns;
    if (e->giver == GN_NONE)
        return;
    const uint32_t giver = d->locations[e->giver].process;
    parts[giver].gives += ns;
    way[gn_look_rank(l, giver) < gn_look_rank(l, waiter)] += ns;
}

static struct sides sides_of(const struct gn_look *l, const struct node *n)
{
    const size_t processes = l->seen->definitions->process_count;
    struct sides sides = {.kind = GN_WAIT_LATE_SENDER};
    double sums[GN_WAIT_KINDS] = {0}, way[2] = {0, 0}, all = 0, both = 0, most = 0, givers = 0;
    struct part *parts = calloc(processes + 1, sizeof *parts);
    for (size_t i = 0; parts && i < l->edge_count; i++) {
        const struct gn_wait_edge *e = &l->edges[i].edge;
        if (e->region != n->region || e->path != n->path)
            continue;
        sums[e->kind] += e->lo_ns + e->hi_ns;
        add_side(l, &l->edges[i], parts, way);
    }
    for (size_t p = 0; parts && p < processes; p++) {
        sides.waiters += parts[p].waits > 0;
        all += parts[p].waits;
        most = fmax(most, parts[p].gives);
        sides.most_ns = fmax(sides.most_ns, parts[p].most);
    }
    for (size_t p = 0; parts && p < processes; p++)
        if (parts[p].gives > few_sides * most) {
            both += parts[p].waits;
            givers++;
        }
    for (int k = 0; k < GN_WAIT_KINDS; k++)
        sides.kind = sums[k] > sums[sides.kind] ? (enum gn_wait_kind)k : sides.kind;
    /* those who are waited for wait no tenth of what a rank does in the mean */
    sides.is_fixed = both * (double)processes <= few_sides * all * givers;
    sides.is_one_way =
        !sides.is_fixed && sides.waiters >= 2 && fmax(way[0], way[1]) >= of_one_way * (way[0] + way[1]);
    free(parts);
    return sides;
}

/* How many calls as long as each other would have as much of what is waited for, and as unevenly. */
static double effective_of(const struct node *n)
{
    return n->squares > 0 ? n->seen_ns * n->seen_ns / n->squares : 0;
}

static bool is_rare(const struct node *n)
{
    return n->calls > 0 && effective_of(n) <= fmax(2, rare * (double)n->calls);
}

static bool is_of_one(const struct gn_look *l, const struct node *n)
{
    return n->most_ns >= (l->s->ranks == 2 ? of_one_of_two : of_one_of_many) * n->seen_ns;
}

/* All meet in these calls, and most of the time in them is of ranks that have hardly computed since the one
 * before: that is not what they wait for each other with. */
static bool is_one_by_one(const struct gn_look *l, const struct node *n, enum gn_wait_kind kind)
{
    static const double hardly = 0.15 /* of what they are in the call */, most_of_it = 0.6;
    const size_t locations = l->seen->definitions->location_count;
    double all_ns = 0, idle_ns = 0, *since_ns = calloc(locations + 1, sizeof *since_ns);
    const bool is_met = kind == GN_WAIT_BARRIER || kind == GN_WAIT_NXN;
    for (size_t p = 0; since_ns && is_met && p < l->seen->count; p++) {
        const struct gn_seen_part *part = &l->seen->parts[p];
        const struct gn_history *h = &part->history;
        memset(since_ns, 0, locations * sizeof *since_ns);
        for (size_t c = 0; c < h->call_count; c++) {
            const struct gn_call *call = &h->calls[c];
            double *since = &since_ns[call->location];
            *since += gn_computed_before(h, call);
            if (call->region != n->region || call->path != n->path)
                continue;
            const double in_call_ns = part->weight * gn_call_ns(h, call);
            all_ns += in_call_ns;
            idle_ns += *since * part->weight <= hardly * in_call_ns ? in_call_ns : 0;
            *since = 0;
        }
    }
    free(since_ns);
    return all_ns > 0 && idle_ns >= most_of_it * all_ns;
}

/* Not of one rank, nor of some: now this one is waited for, and now that one. */
static bool is_of_any(const struct gn_problem_pattern *pattern)
{
    return pattern == &moving || pattern == &one_by_one || pattern == &noise;
}

static const struct gn_problem_pattern *pattern_of(const struct gn_look *l, const struct node *n)
{
    const struct sides sides = sides_of(l, n);
    if (!is_of_one(l, n) && sides.kind == GN_WAIT_LATE_SENDER && sides.is_one_way)
        return &pipeline;
    if (!is_of_one(l, n) && (!sides.is_fixed || l->s->ranks == 2)) /* of two, one or the other */
        return is_rare(n) ? &noise : is_one_by_one(l, n, sides.kind) ? &one_by_one : &moving;
    /* sent late now and then, more often than once: no order of calls mends that */
    if (sides.kind == GN_WAIT_LATE_SENDER && is_rare(n) && effective_of(n) >= several)
        return &noise;
    if (sides.kind == GN_WAIT_LATE_SENDER)
        return sides.waiters >= 2 && gn_look_takes_from_any(l, n->most) ? &gn_problem_master : &late_sender;
    if (sides.kind == GN_WAIT_LATE_RECEIVER)
        return &late_receiver;
    return &turns;
}

/* By who it is that waits, and for whom, whatever else they do. */
static bool is_sided(const struct gn_problem_pattern *pattern)
{
    return pattern == &late_sender || pattern == &answers || pattern == &late_receiver ||
           pattern == &pipeline || pattern == &gn_problem_master;
}

/* Those that are waited for about as long as the one that is so most. */
static void tell_late(const struct gn_look *l, const struct node *n, struct gn_problem *p)
{
    static const double as_long = 0.3;
    double *ns = calloc(l->seen->definitions->process_count + 1, sizeof *ns);
    for (size_t i = 0; ns && i < l->cause_count; i++)
        if (l->causes[i].call_region == n->region && l->causes[i].call_path == n->path)
            ns[l->causes[i].process] += l->causes[i].seen_ns;
    for (uint32_t i = 0; ns && i < l->seen->definitions->process_count; i++)
        l->late[i] = ns[i] > 0 && ns[i] >= as_long * n->most_ns;
    if (ns)
        gn_look_tell_late(l, p);
    free(ns);
}

/* The run is longer by what the late one takes longer, for which all others wait; where work is only moved,
 * all do a part of it. */
static double ranks_that_wait(const struct gn_look *l, const struct gn_problem_pattern *pattern)
{
    return fmax(1, l->s->ranks - (pattern == &noise));
}

/* What is beyond all that the others compute; no less than the run where there is no such process. */
static double without_s(const struct gn_look *l, uint32_t process)
{
    return process == GN_NONE ? l->s->elapsed_s : gn_look_without_master_s(l, process);
}

/* Several calls together are waited in no longer than there is waiting, of which each rank has its part if it
 * is for any of them, and else than what the others leave of the run. Each may be for itself,
 * as far as is known of it. */
static void limit_by_waiting(const struct gn_look *l, struct gn_problem *p)
{
    const uint32_t process =
        p->most_rank < 0 ? GN_NONE : gn_process_of_rank(l->seen->definitions, p->most_rank);
    const double most_s = is_of_any(p->pattern)
                              ? l->problems->seen.waited_high_s / ranks_that_wait(l, p->pattern)
                              : without_s(l, process);
    p->lost_high_s = fmin(p->lost_high_s, most_s);
    if (!p->is_replayed)
        p->gain_high_s = fmin(p->gain_high_s, most_s + GN_PROBLEM_REPEATED_SHARE * l->s->elapsed_s);
    gn_problem_limit(p, l->s);
}

static struct gn_problem problem_of(const struct gn_look *l, const struct node *n)
{
    static const double elsewhere = 2; /* as much as here */
    const struct gn_problem_pattern *pattern = n->pattern;
    const double ranks = ranks_that_wait(l, pattern), low = n->caused.lo_ns * 1e-9 / ranks,
                 mean = n->caused.hi_ns * 1e-9 / ranks;
    /* who is waited for waits less than the others, and the run may be longer by as much as one of them waits
     */
    const double most = fmin(sides_of(l, n).most_ns * 1e-9, without_s(l, n->most));
    const double high = is_of_any(pattern) ? mean : fmax(mean, most);
    struct gn_problem p = {.pattern = pattern,
                           .row =
                               gn_look_row(l->s, gn_call_place_at(l->seen->definitions, n->region, n->path)),
                           .rank = is_of_one(l, n) && pattern != &pipeline ? gn_look_rank(l, n->most) : -1,
                           .most_rank = gn_look_rank(l, n->most),
                           .is_fixed = is_sided(pattern) || pattern == &turns,
                           .share_of_rank = n->seen_ns > 0 ? n->most_ns / n->seen_ns : 0,
                           .lost_low_s = low,
                           .lost_high_s = high,
                           .gain_high_s = high,
                           .waited_each_s = is_of_any(pattern) ? 0 : mean,
                           .times = (int64_t)(n->of > 0 && n->times > n->of ? n->of : n->times),
                           .first = (int64_t)n->first,
                           .last = (int64_t)n->last,
                           .of = (int64_t)n->of,
                           /* who was late for want of a core was not late by itself */
                           .sure = low >= mean / 2 && low > 0 && l->seen->is_whole && !gn_look_lacks_cores(l)
                                       ? GN_PROBLEM_CERTAIN
                                       : GN_PROBLEM_POSSIBLE,
                           .assumes = GN_PROBLEM_SAME | GN_PROBLEM_ORDER | gn_look_assumed(l)};
    if (is_of_any(pattern)) {
        p.gain_low_s = gn_look_lacks_cores(l) ? 0 : low;
        /* who is late here makes others late elsewhere, which goes with it */
        if (pattern != &noise)
            p.gain_high_s = fmax(high, fmin(elsewhere * high, l->problems->seen.waited_high_s / ranks));
        gn_look_allow_for_repeats(l, &p);
        if (pattern != &one_by_one) /* who takes turns may have to */
            p.assumes &= ~(unsigned)GN_PROBLEM_ORDER;
    }
    if (pattern == &gn_problem_master)
        p.gain_high_s = fmax(p.gain_high_s, gn_look_without_master_s(l, n->most));
    if (p.rank < 0 && p.is_fixed && pattern != &pipeline)
        tell_late(l, n, &p);
    if (pattern == &noise)
        p.times = (int64_t)(effective_of(n) + 0.5);
    gn_look_tell_chain(l, &p, n->most, &(struct gn_chain_call){n->region, n->path},
                       is_sided(pattern) ? GN_PROBLEM_HOPS : 1);
    return p;
}

/* In some section, though not in all that it computes: else it has a problem of its own. */
static bool computes_longer(const struct gn_look *l, const struct node *n)
{
    static const double most_of_it = 0.5;
    const int64_t section = n->most == GN_NONE ? -1 : gn_sections_longest(&l->sections, n->most);
    if (section < 0)
        return false;
    const struct gn_section_difference d = gn_sections_differ_one(&l->sections, (size_t)section, n->most);
    return d.own_ns - d.others_ns >= most_of_it * n->caused.lo_ns / fmax(1, l->s->ranks - 1);
}

/* What is gained when messages are sent, or receives posted, ahead of what is computed just before. Where
 * that is not what they are late by, nobody knows. */
static int replay_sooner(const struct gn_look *l, const struct node *n, struct gn_problem *p,
                         struct gn_error *err)
{
    static const double most_of_it = 0.5;
    const int64_t site = gn_seen_site_of(l->seen, n->region, n->path);
    for (size_t i = 0; i < l->seen->count && site >= 0; i++) {
        struct gn_whatif_result r;
        const int code = gn_sooner_find(&r, l->seen, i, (size_t)site, p->pattern == &late_receiver, err);
        if (code < 0)
            return code;
        l->each[i] = (struct gn_span){fmax(0, r.reduction_lo_ns), fmax(0, r.reduction_hi_ns)};
    }
    const struct gn_span gain = site < 0 ? (struct gn_span){0, 0} : gn_seen_total(l->seen, l->each);
    if (!isfinite(gain.hi_ns) || gain.hi_ns * 1e-9 < most_of_it * p->waited_each_s)
        return 0;
    p->lost_low_s = p->gain_low_s = gn_look_at_most(l, gain.lo_ns * 1e-9);
    p->lost_high_s = p->gain_high_s = gn_look_at_most(l, gain.hi_ns * 1e-9);
    p->is_replayed = true;
    gn_look_allow_for_repeats(l, p);
    return 0;
}

/* Smaller blocks in all calls that are of pipes: the least number of these with which next to as much is
 * gained as with the best one; what half as large ones gain, anybody does. */
static int replay_blocks(const struct gn_look *l, const struct node *nodes, size_t count,
                         struct gn_problem *p, struct gn_error *err)
{
    static const double nearly = 0.9;
    bool *is_of_pipe = calloc(l->seen->site_count + 1, sizeof *is_of_pipe);
    struct gn_span(*found)[GN_BLOCKS_TIMES] = calloc(l->seen->count + 1, sizeof *found);
    struct gn_span gains[GN_BLOCKS_TIMES], *best = &gains[0], *chosen = &gains[0];
    int code =
        is_of_pipe && found ? 0 : gn_fail(err, -ENOMEM, "no memory for %zu calls", l->seen->site_count);
    for (size_t i = 0; i < count && is_of_pipe; i++) {
        const int64_t site = gn_seen_site_of(l->seen, nodes[i].region, nodes[i].path);
        if (site >= 0)
            is_of_pipe[site] |= nodes[i].pattern == &pipeline;
    }
    for (size_t i = 0; i < l->seen->count && code == 0; i++)
        code = gn_blocks_find(found[i], l->seen, i, is_of_pipe, err);
    for (int times = 0; times < GN_BLOCKS_TIMES && code == 0; times++) {
        bool loses = false;
        for (size_t i = 0; i < l->seen->count; i++) {
            const struct gn_span *of = &found[i][times];
            loses |= of->lo_ns < 0; /* somewhere: then the rest stands for no less than nothing */
            l->each[i] = (struct gn_span){fmax(0, of->lo_ns), fmax(0, of->hi_ns)};
        }
        gains[times] = gn_seen_total(l->seen, l->each);
        gains[times].lo_ns = loses ? 0 : gains[times].lo_ns;
        best = gains[times].lo_ns > best->lo_ns ? &gains[times] : best;
    }
    free(is_of_pipe);
    free(found);
    if (code < 0 || !(best->lo_ns * 1e-9 >= GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s))
        return code;
    while (chosen->lo_ns < nearly * best->lo_ns)
        chosen++;
    gn_look_tell_gain(l, p,
                      (struct gn_problem_gain){GN_PROBLEM_BLOCKS, 2U << (chosen - gains),
                                               chosen->lo_ns * 1e-9, chosen->hi_ns * 1e-9});
    const double repeats_s = GN_PROBLEM_REPEATED_SHARE * l->s->elapsed_s;
    p->gain_low_s = gn_look_lacks_cores(l) ? 0 : fmax(0, gains[0].lo_ns * 1e-9 - repeats_s);
    p->gain_high_s = fmax(p->gain_high_s, isfinite(chosen->hi_ns) ? chosen->hi_ns * 1e-9 + repeats_s : 0);
    p->assumes |= GN_PROBLEM_DIVIDES;
    return 0;
}

/* Who waits for answers could do as much else as it waits for them, if there is as much; who waits for
 * whoever sends something has several on their way already, and its part of the others' work is all that it
 * could do. */
static void is_of_answers(const struct gn_look *l, const struct node *n, struct gn_problem *p)
{
    const size_t processes = l->seen->definitions->process_count;
    double *waits = calloc(processes + 1, sizeof *waits), most_ns = 0;
    for (size_t i = 0; waits && i < l->edge_count; i++) {
        const struct gn_wait_edge *e = &l->edges[i].edge;
        if (e->region != n->region || e->path != n->path)
            continue;
        double *of = &waits[l->seen->definitions->locations[e->location].process];
        *of += l->edges[i].waited.hi_ns;
        if (!gn_look_takes_from_any(l, l->seen->definitions->locations[e->location].process))
            most_ns = fmax(most_ns, *of);
    }
    free(waits);
    p->pattern = &answers;
    p->lost_high_s = p->gain_high_s =
        gn_look_at_most(l, fmax(n->caused.hi_ns / fmax(1, l->s->ranks), most_ns) * 1e-9);
}

/* What of it another order would avoid; of several ranks perhaps one after the other. */
static void add_order(const struct gn_look *l, const struct node *n)
{
    const int64_t site = gn_seen_site_of(l->seen, n->region, n->path);
    const struct gn_tallied t =
        site < 0 ? (struct gn_tallied){.times = 0} : gn_site_tally_of(&l->avoidable, (size_t)site);
    if (t.times == 0 || t.process == GN_NONE || t.partner == GN_NONE)
        return;
    struct gn_problem p = problem_of(l, n);
    p.pattern = &wrong_order;
    p.rank = gn_look_rank(l, t.process);
    p.late_count = 0;
    p.waited_each_s = 0;
    p.most_rank = gn_look_rank(l, t.partner);
    p.share_of_rank = t.partner_ns / t.seen_ns;
    p.lost_low_s = p.gain_low_s = 0;
    p.gain_high_s = p.lost_high_s = gn_look_at_most(l, t.span.hi_ns * 1e-9);
    p.times = (int64_t)t.times;
    p.of = 0;
    p.sure = GN_PROBLEM_POSSIBLE;
    p.assumes = GN_PROBLEM_SAME | GN_PROBLEM_APART | gn_look_assumed(l);
    gn_look_tell_chain(l, &p, t.partner, &(struct gn_chain_call){n->region, n->path}, GN_PROBLEM_HOPS);
    gn_problems_add(l->problems, l->s, p);
}

/* Of the same rank, or of none in particular; or the other side of one: who waits for whom changes with the
 * call. */
static bool is_same_matter(const struct gn_problem *other, const struct gn_problem *p)
{
    if (other->share_of_rank <= 0)
        return false;
    if (other->pattern != p->pattern)
        return p->pattern == &turns && is_sided(other->pattern);
    return other->rank == p->rank;
}

static bool goes_along(const struct gn_look *l, const struct gn_problem *p)
{
    for (size_t i = 0; i < l->problems->count; i++) {
        struct gn_problem *other = &l->problems->items[i];
        if (!is_same_matter(other, p))
            continue;
        other->waited_each_s += p->waited_each_s;
        if (!other->is_replayed || p->is_replayed) {
            other->lost_low_s += p->lost_low_s;
            other->lost_high_s += p->lost_high_s;
        }
        if (!other->is_replayed || p->is_replayed) { /* else all that follows is in the replay */
            /* each is replayed by itself: what both gain is at least the larger one */
            other->gain_low_s =
                p->is_replayed ? fmax(other->gain_low_s, p->gain_low_s) : other->gain_low_s + p->gain_low_s;
            other->gain_high_s += p->gain_high_s;
        }
        limit_by_waiting(l, other);
        return true;
    }
    return false;
}

static bool is_startup(const struct gn_look *l, const struct node *n)
{
    return gn_activity_starts(gn_region_activity(l->seen->definitions, n->region));
}

/* Of what is waited for a rank so much follows from a problem of its own, ns: all others wait for what it
 * takes longer. */
static double told_of(const struct gn_look *l, int rank)
{
    double most_s = 0;
    for (size_t i = 0; i < l->problems->count; i++) {
        const struct gn_problem *p = &l->problems->items[i];
        if (gn_problem_is_of_rank(p) && gn_problem_has_rank(p, rank))
            most_s = fmax(most_s, p->gain_high_s / fmax(1, (double)p->late_count));
    }
    return most_s * 1e9 * fmax(1, l->s->ranks - 1);
}

/* Most of it is for ranks that have a problem of their own, or are late in a part of the run: that is it. */
static bool is_told(const struct gn_look *l, const struct node *n, bool has_phases)
{
    double told_ns = 0;
    for (size_t i = 0; i < l->cause_count; i++) {
        const struct gn_seen_cause *c = &l->causes[i];
        const int rank = gn_look_rank(l, c->process);
        if (c->call_region != n->region || c->call_path != n->path)
            continue;
        const double in_phases = has_phases ? gn_late_phases_share(&l->phases, c->process) : 0;
        const double own_ns = gn_look_has_problem(l, rank) ? fmin(c->seen_ns, told_of(l, rank)) : 0;
        told_ns += fmax(in_phases * c->seen_ns, own_ns);
    }
    return told_ns >= (l->s->ranks == 2 && !has_phases ? of_one_of_two : of_one_of_many) * n->seen_ns;
}

static bool is_worth_it(const struct gn_look *l, const struct node *n)
{
    const double ranks = fmax(1, l->s->ranks), high_s = n->caused.hi_ns * 1e-9 / ranks,
                 low_s = n->caused.lo_ns * 1e-9 / ranks;
    /* few windows may leave room for nearly anything: it takes some that was seen */
    if (n->seen_ns <= 0 || (!l->seen->is_whole && low_s < seen_share * l->s->elapsed_s))
        return false;
    return high_s >= GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s && !is_startup(l, n);
}

static const struct gn_activity_def *call_of(const struct gn_problem_meanwhile *part)
{
    return gn_activity_def(strcmp(part->what, "calls") == 0 && part->call ? gn_activity_named(part->call)
                                                                          : GN_ACTIVITY_NONE);
}

static bool is_io(const struct gn_activity_def *call)
{
    return strcmp(call->group, "io") == 0;
}

/* What was waited for was itself in calls of MPI, and not known to wait. (Files are not waited for with
 * others, but for collective operations on them, which are told as such.) */
static bool is_in_calls(const struct gn_problem *p)
{
    static const double half = 0.5;
    double share = 0;
    for (size_t i = 0; i < p->meanwhile_count; i++)
        share += strcmp(p->meanwhile[i].what, "calls") == 0 && !is_io(call_of(&p->meanwhile[i]))
                     ? p->meanwhile[i].high
                     : 0;
    return share > half;
}

/* Whom the others wait for reads or writes meanwhile, alone: that is it. */
static void see_io(const struct gn_look *l, struct gn_problem *p)
{
    static const double half = 0.5;
    const struct gn_problem_meanwhile *most = NULL;
    double share = 0;
    for (size_t i = 0; i < p->meanwhile_count; i++) {
        const struct gn_problem_meanwhile *part = &p->meanwhile[i];
        share += is_io(call_of(part)) ? part->low : 0;
        most = is_io(call_of(part)) && (!most || part->low > most->low) ? part : most;
    }
    const struct gn_activity_row *row =
        most ? gn_look_row(l->s, (struct gn_call_place){most->call, most->function, most->file, most->line})
             : NULL;
    if (share <= half || !row || row->max_rank != p->hops[0].waits_for ||
        (double)row->max_ns < of_one_of_many * (double)row->total_ns)
        return;
    p->pattern = &gn_problem_io;
    p->row = row;
    p->rank = row->max_rank;
    p->is_in_call = true;
    p->waited_each_s = 0;
    p->lost_low_s = p->gain_low_s = share * p->hops[0].low_s / p->hops[0].ranks;
    p->lost_high_s = p->gain_high_s = p->hops[0].high_s / p->hops[0].ranks;
    gn_look_allow_for_repeats(l, p);
    p->assumes &= ~(unsigned)GN_PROBLEM_ORDER;
}

/* Phases, unless most is waited for in few calls, or along the ranks in one direction. */
static int look_at_phases(const struct gn_look *l, const struct node *nodes, size_t count,
                          struct gn_error *err)
{
    double all_ns = 0, others_ns = 0;
    for (size_t i = 0; i < count && l->phases.count > 0; i++) {
        all_ns += nodes[i].seen_ns;
        const bool is_way = !is_of_one(l, &nodes[i]) && sides_of(l, &nodes[i]).is_one_way;
        others_ns += is_rare(&nodes[i]) || is_way ? nodes[i].seen_ns : 0;
    }
    return others_ns > all_ns / 2 ? 0 : gn_look_at_phases(l, err);
}

/* More than half of the others that do it take as long there as the process: then it is not that one's. */
static bool is_as_most(const struct gn_look *l, size_t site, uint32_t process)
{
    const struct gn_section_sum *sums = &l->sections.sums[site * l->sections.process_count];
    double mean_ns = 0, others = 0, as_long = 0;
    for (size_t i = 0; i < l->sections.process_count; i++) {
        others += i != process && sums[i].times > 0;
        mean_ns += i != process ? sums[i].ns : 0;
    }
    mean_ns /= fmax(1, others);
    for (size_t i = 0; i < l->sections.process_count; i++)
        as_long += i != process && sums[i].ns - mean_ns >= GN_PROBLEM_AS_LATE * (sums[process].ns - mean_ns);
    return as_long > others / 2;
}

/* What the one that is waited for computes meanwhile, where it computes longer than the others do there,
 * though not in all: then that place is the matter. */
static bool tell_section(const struct gn_look *l, const struct node *n, struct gn_problem *p)
{
    static const double most_of_it = 0.5;
    const struct gn_problem_meanwhile *m = p->meanwhile_count > 0 ? &p->meanwhile[0] : NULL;
    size_t site = 0;
    if (!m || p->rank < 0 || strcmp(m->what, "computes") != 0 || !m->call || m->low < most_of_it)
        return false;
    while (site < l->sections.site_count) {
        const struct gn_call_place at = gn_call_place_of(l->seen, &l->seen->sites[site]);
        if (at.line == m->line && strcmp(at.call, m->call) == 0 && strcmp(at.file, m->file) == 0)
            break;
        site++;
    }
    if (site == l->sections.site_count || is_as_most(l, site, n->most))
        return false;
    const struct gn_section_difference d = gn_sections_differ_one(&l->sections, site, n->most);
    const struct gn_call_place after = gn_call_place_of(l->seen, &l->seen->sites[site]);
    const struct gn_activity_row *row = gn_look_computation_after(l->s, after, d.own_ns, p->rank);
    const double longer_ns = d.own_ns - d.others_ns;
    if (!row || d.others_ns <= 0 || longer_ns < most_of_it * n->caused.lo_ns / fmax(1, l->s->ranks - 1))
        return false;
    const struct gn_problem one = gn_problem_of_slack(
        &(struct gn_problem_slack){p->rank, row, d.own_ns * 1e-9, d.others_ns * 1e-9, 0, false});
    p->pattern = one.pattern;
    p->row = one.row;
    p->own_s = one.own_s;
    p->others_s = one.others_s;
    p->is_fixed = false;
    p->share_of_rank = p->waited_each_s = 0;
    gn_look_tell_place(l->s, p, after);
    gn_problem_tell_kind(p, l->s);
    gn_problem_is_alone(p, d.others_ns * 1e-9 * fmax(0, l->s->ranks - 1));
    gn_look_tell_difference(l, p, n->most, site, d);
    /* evened there, all do a part of what was waited for; what it does less elsewhere may be behind it,
     * unless all others wait for it each time */
    const bool is_of_all = gn_look_is_met_by_all(l, p);
    p->even_low_s = is_of_all ? n->caused.lo_ns * 1e-9 / fmax(1, l->s->ranks) : 0;
    p->even_s = n->caused.hi_ns * 1e-9 / fmax(1, l->s->ranks);
    p->lost_high_s = p->gain_high_s =
        fmin(longer_ns * 1e-9,
             fmax(is_of_all ? 0 : p->lost_high_s, n->caused.hi_ns * 1e-9 / fmax(1, l->s->ranks - 1)));
    p->even_high_s = is_of_all ? p->even_s : p->lost_high_s;
    p->lost_low_s = fmin(p->lost_low_s, p->lost_high_s);
    p->gain_low_s = is_of_all && !gn_look_lacks_cores(l) ? p->lost_low_s : 0;
    gn_look_allow_for_repeats(l, p);
    p->assumes &= ~(unsigned)GN_PROBLEM_ORDER;
    p->sure = GN_PROBLEM_POSSIBLE; /* its place is by samples, and it does less elsewhere */
    return true;
}

/* All that the rank takes longer is so in what a problem of its own gains. */
static bool is_taken_away(const struct gn_look *l, int rank)
{
    bool is = false;
    for (size_t i = 0; i < l->problems->count; i++) {
        const struct gn_problem *p = &l->problems->items[i];
        is |= gn_problem_is_of_rank(p) && gn_problem_has_rank(p, rank) && p->is_replayed &&
              p->gain_high_s >= GN_PROBLEM_LEAST_SHARE * l->s->elapsed_s;
    }
    return is;
}

/* Few calls have most of the waiting, now for this rank and now for that one; who was so more often than
 * others computes longer in all, but not by half of it: that is not what the others wait for. */
static bool is_more_than_told(const struct gn_look *l, const struct node *n)
{
    static const double half = 0.5;
    const double each_s = n->caused.lo_ns * 1e-9 / fmax(1, l->s->ranks - 1);
    if (n->pattern != &noise || effective_of(n) < several || is_of_one(l, n))
        return false;
    for (size_t i = 0; i < l->problems->count; i++) {
        const struct gn_problem *p = &l->problems->items[i];
        if (gn_problem_is_of_rank(p) && p->own_s - p->others_s >= half * each_s)
            return false;
    }
    return true;
}

int gn_look_at_waits(const struct gn_look *l, struct gn_error *err)
{
    struct node *nodes = calloc(l->cause_count + 1, sizeof *nodes);
    if (!nodes)
        return gn_fail(err, -ENOMEM, "no memory for what %zu calls waited for", l->cause_count);
    const size_t count = find_nodes(l, nodes);
    int code = look_at_phases(l, nodes, count, err);
    const bool has_phases = code > 0;
    /* what goes along with others after them */
    for (size_t i = 0; i < count; i++)
        if (is_worth_it(l, &nodes[i])) {
            nodes[i].pattern = pattern_of(l, &nodes[i]);
            if (is_told(l, &nodes[i], has_phases) && !is_more_than_told(l, &nodes[i]))
                nodes[i].pattern = NULL;
        }
    code = code < 0 ? code : 0;
    for (int again = 0; again <= 1; again++)
        for (size_t i = 0; i < count && code == 0; i++) {
            if (!nodes[i].pattern || (nodes[i].pattern == &turns) != again)
                continue;
            struct gn_problem p = problem_of(l, &nodes[i]);
            if (p.is_fixed)
                code = gn_look_tell_meanwhile(l, &p, err);
            see_io(l, &p);
            if (p.pattern == &late_sender && p.answers >= answers_share)
                is_of_answers(l, &nodes[i], &p);
            if (code == 0 && (p.pattern == &late_sender || p.pattern == &late_receiver))
                code = replay_sooner(l, &nodes[i], &p, err);
            /* which may have waited for others after all; or it computes longer, and that is the matter */
            if (is_in_calls(&p) || (p.is_fixed && computes_longer(l, &nodes[i])))
                p.sure = GN_PROBLEM_POSSIBLE;
            if (goes_along(l, &p))
                continue;
            if (code == 0 && p.pattern == &gn_problem_master)
                code = gn_look_tell_half(l, &p, nodes[i].most, err);
            if (code == 0 && p.pattern == &pipeline)
                code = replay_blocks(l, nodes, count, &p, err);
            if (p.pattern == &turns && tell_section(l, &nodes[i], &p)) {
                if (!is_taken_away(l, p.rank))
                    gn_problems_add(l->problems, l->s, p);
                continue;
            }
            if (p.pattern == &turns && !is_of_one(l, &nodes[i]) &&
                computes_longer(l, &nodes[i])) { /* here, and less elsewhere */
                nodes[i].pattern = &moving;
                p = problem_of(l, &nodes[i]);
                p.gain_low_s = 0; /* what it does elsewhere may be behind it, too */
                p.sure = GN_PROBLEM_POSSIBLE;
            }
            gn_problems_add(l->problems, l->s, p);
        }
    for (size_t i = 0; i < count; i++)
        if (nodes[i].pattern)
            add_order(l, &nodes[i]);
    free(nodes);
    return code;
}

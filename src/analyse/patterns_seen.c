#include "analyse/patterns_seen.h"

#include "analyse/chain.h"
#include "analyse/levelled.h"
#include "event/activity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double least_share = 0.01; /* of the run: below it no wait is worth a line */
static const double seen_share =
    0.002; /* … so much of which at least was seen to be waited, where windows stand for the rest */
static const double hop_share = 0.1;      /* of what is lost: shorter hops of a chain are not told */
static const double of_one_of_two = 0.75; /* of the waits in a call: the other one is hardly ever late */
static const double of_one_of_many = 0.55;
static const double few_sides = 0.1;  /* of the waits are of ranks that are waited for as long */
static const double of_one_way = 0.9; /* of the waits for messages go in one direction */
static const double repeats = 0.005;  /* of the run: so much is one longer or shorter than another */
enum { FEWEST_SLICES = 6 };
static const double of_one_in_turn = 0.85; /* of what is waited for in a slice of time */
static const double rare = 0.1;            /* of the calls have most of what is waited for: noise */

struct look {
    struct gn_problems *problems;
    const struct gn_summary *s;
    const struct gn_seen *seen;
    struct gn_seen_edge *edges;
    size_t edge_count;
    struct gn_seen_cause *causes;
    size_t cause_count;
    struct gn_span *each; /* [2 * seen->count] */
};

static const struct gn_definitions *definitions_of(const struct look *l)
{
    return l->seen->definitions;
}

static int rank_of(const struct look *l, uint32_t process)
{
    return process < definitions_of(l)->process_count ? (int)definitions_of(l)->processes[process].rank : -1;
}

/* "/home/x/app.c" is "app.c" where only that is told. */
static bool is_same_file(const char *a, const char *b)
{
    const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
    return strcmp(x ? x + 1 : a, y ? y + 1 : b) == 0;
}

static const char *region_name(const struct gn_definitions *d, uint32_t region)
{
    return region < d->region_count ? gn_string(d, d->regions[region].name) : "";
}

struct call_place {
    const char *call, *function, *file;
    int line;
};

static struct call_place place_of(const struct gn_definitions *d, uint32_t region, uint32_t path)
{
    struct call_place p = {region_name(d, region), "", "", 0};
    const uint32_t at = gn_sourced_path(d, path);
    if (at == GN_NONE)
        return p;
    const uint32_t parent = d->paths[at].parent;
    p.file = gn_string(d, d->paths[at].source_file);
    p.line = (int)d->paths[at].line;
    p.function = parent < d->path_count ? region_name(d, d->paths[parent].region) : "";
    return p;
}

static bool is_row_of(const struct gn_activity_row *row, struct call_place place)
{
    if (strcmp(row->kind, "mpi") != 0 || strcmp(row->name, place.call) != 0)
        return false;
    return place.line <= 0 ? row->line <= 0
                           : row->line == place.line && is_same_file(row->file ? row->file : "", place.file);
}

/* The profile's row of a call; NULL: there is none. */
static const struct gn_activity_row *row_of(const struct gn_summary *s, struct call_place place)
{
    for (size_t i = 0; i < s->row_count; i++)
        if (is_row_of(&s->rows[i], place))
            return &s->rows[i];
    return NULL;
}

static struct call_place place_of_site(const struct gn_seen *seen, const struct gn_seen_site *site)
{
    return (struct call_place){region_name(seen->definitions, site->region), "",
                               gn_string(seen->definitions, site->source_file), (int)site->line};
}

static unsigned assumed(const struct look *l)
{
    return l->seen->is_whole ? 0 : GN_PROBLEM_WINDOWS;
}

/* ---- a rank that takes longer ---- */

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
static int replay(const struct look *l, uint32_t process, struct gn_span *like, struct gn_span *even,
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

/* What would be is known no better than one run tells of another. */
static void allow_for_repeats(const struct look *l, struct gn_problem *p)
{
    p->gain_low_s = fmax(0, p->gain_low_s - repeats * l->s->elapsed_s);
    p->gain_high_s += repeats * l->s->elapsed_s;
    p->assumes |= GN_PROBLEM_REPEATS;
}

/* What replay and totals say together. */
static void settle(const struct look *l, struct gn_problem *p, double low, double high)
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
    allow_for_repeats(l, p);
}

/* What of all ranks' time is such a call itself, whoever makes it; at most. */
static double own_share(const struct look *l, struct call_place place)
{
    double total_ns = 0, waited_ns = 0;
    for (size_t i = 0; i < l->s->row_count; i++)
        total_ns += is_row_of(&l->s->rows[i], place) ? (double)l->s->rows[i].total_ns : 0;
    for (size_t i = 0; i < l->edge_count; i++) {
        const struct call_place other =
            place_of(definitions_of(l), l->edges[i].edge.region, l->edges[i].edge.path);
        if (other.line == place.line && strcmp(other.call, place.call) == 0 &&
            strcmp(other.file, place.file) == 0)
            waited_ns += l->edges[i].waited.lo_ns;
    }
    return total_ns > 0 && l->s->total_ns > 0 ? fmax(0, total_ns - waited_ns) / (double)l->s->total_ns : -1;
}

static void tell_hop(const struct look *l, const struct gn_chain_hop *from, struct gn_problem_hop *to)
{
    const struct call_place place = place_of(definitions_of(l), from->region, from->path);
    *to = (struct gn_problem_hop){.rank = from->waiters == 1 ? rank_of(l, from->waiter) : -1,
                                  .ranks = (int)from->waiters,
                                  .waits_for = rank_of(l, from->waits_for),
                                  .call = place.call,
                                  .kind = gn_wait_kind_name((enum gn_wait_kind)from->kind),
                                  .function = place.function,
                                  .file = place.file,
                                  .line = place.line,
                                  .low_s = from->waited.lo_ns * 1e-9,
                                  .high_s = from->waited.hi_ns * 1e-9,
                                  .certain = (int64_t)from->certain,
                                  .own_share = own_share(l, place)};
}

static void tell_chain(const struct look *l, struct gn_problem *p, uint32_t process,
                       const struct gn_chain_call *in, size_t most)
{
    struct gn_chain chain;
    gn_chain_find(&chain, definitions_of(l), l->edges, l->edge_count, process, in,
                  hop_share * p->gain_high_s * 1e9);
    p->hop_count = chain.count < most ? chain.count : most;
    for (size_t i = 0; i < p->hop_count; i++)
        tell_hop(l, &chain.hops[i], &p->hops[i]);
}

/* When it was the last one, in the call in which it was waited for most. Returns what of it is certain, s. */
static double tell_times(const struct look *l, struct gn_problem *p, uint32_t process)
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

static const struct gn_problem_pattern master = {
    "master bound",
    "all wait for what one rank hands out: larger tasks, hand them out ahead, or more masters"};

/* Whether the process takes messages from whoever sends one. */
static bool takes_from_any(const struct look *l, uint32_t process)
{
    const struct gn_definitions *d = definitions_of(l);
    for (size_t p = 0; p < l->seen->count; p++) {
        const struct gn_history *h = &l->seen->parts[p].history;
        for (size_t i = 0; i < h->contest_count; i++) {
            const struct gn_rival *r = &h->rivals[h->contests[i].first];
            if (h->contests[i].count > 0 && r->is_open &&
                d->locations[h->calls[r->to].location].process == process)
                return true;
        }
    }
    return false;
}

/* Others wait for its messages, which it sends to whoever asks: nothing is known of another order. */
static bool see_master(const struct look *l, struct gn_problem *p, uint32_t process)
{
    const struct gn_problem_hop *hop = &p->hops[0];
    if (p->hop_count == 0 || hop->ranks < 2 ||
        strcmp(hop->kind, gn_wait_kind_name(GN_WAIT_LATE_SENDER)) != 0 || !takes_from_any(l, process))
        return false;
    p->pattern = &master;
    p->hop_count = 1;
    p->lost_low_s = hop->low_s / hop->ranks;
    p->gain_high_s = p->lost_high_s = fmin(hop->high_s / hop->ranks, p->own_s);
    p->gain_low_s = 0;
    p->assumes = GN_PROBLEM_SAME | assumed(l);
    p->sure = l->seen->is_whole && hop->low_s > 0 ? GN_PROBLEM_CERTAIN : GN_PROBLEM_POSSIBLE;
    return true;
}

/* A place that few samples have named may be another one. */
static bool is_place_sure(const struct gn_activity_row *row)
{
    enum { FEW = 5 };
    return row->samples == 0 || row->samples >= FEW;
}

static int see_rank(const struct look *l, struct gn_problem *p, struct gn_error *err)
{
    const uint32_t process = gn_process_of_rank(definitions_of(l), p->rank);
    struct gn_span like, even;
    if (process == GN_NONE)
        return 0;
    tell_chain(l, p, process, NULL, GN_PROBLEM_HOPS);
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
            p->gain_low_s = fmin(p->gain_low_s, fmax(0, p->even_low_s - repeats * l->s->elapsed_s));
    }
    p->assumes |= assumed(l);
    /* that as much was waited for it is certain, and so is that it was computing meanwhile */
    if (p->is_replayed && l->seen->is_whole && agrees && certain_s >= low && low > 0 && had_a_core(l->s, p) &&
        is_place_sure(p->row))
        p->sure = GN_PROBLEM_CERTAIN;
    return 0;
}

static bool is_of_rank(const struct gn_problem *p)
{
    return p->rank >= 0 && p->own_s > 0;
}

/* All of the excess of a rank is taken away at once: its problems become one. */
static void join_places(const struct look *l)
{
    struct gn_problems *all = l->problems;
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct gn_problem *p = &all->items[i];
        struct gn_problem *first = NULL;
        for (size_t k = 0; k < kept && !first && is_of_rank(p); k++)
            if (is_of_rank(&all->items[k]) && all->items[k].rank == p->rank)
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

static int see_ranks(const struct look *l, struct gn_error *err)
{
    int code = 0;
    join_places(l);
    for (size_t i = 0; i < l->problems->count && code == 0; i++)
        if (is_of_rank(&l->problems->items[i]))
            code = see_rank(l, &l->problems->items[i], err);
    return code;
}

/* ---- what of calls is waiting ---- */

/* Whether calls of a row were seen often enough to know what of them is waiting. */
static bool is_seen(const struct look *l, const struct gn_activity_row *row)
{
    const struct gn_seen *seen = l->seen;
    if (seen->is_whole)
        return true;
    for (size_t i = 0; i < seen->site_count && seen->count > 1; i++)
        if (seen->sites[i].sizes.count > 1 && is_row_of(row, place_of_site(seen, &seen->sites[i])))
            return true;
    return false;
}

static void see_collective(const struct look *l, struct gn_problem *p)
{
    struct gn_span waited = {0, 0};
    if (!is_seen(l, p->row))
        return;
    for (size_t i = 0; i < l->seen->site_count; i++) {
        if (!is_row_of(p->row, place_of_site(l->seen, &l->seen->sites[i])))
            continue;
        double most_likely;
        const struct gn_span here = gn_seen_waited(l->seen, &l->seen->sites[i], &most_likely);
        waited.lo_ns += here.lo_ns;
        waited.hi_ns += here.hi_ns;
    }
    const double mean_s = (double)p->row->mean_ns * 1e-9, ranks = fmax(1, l->s->ranks);
    p->lost_low_s = fmax(0, mean_s - waited.hi_ns * 1e-9 / ranks);
    p->gain_high_s = p->lost_high_s = fmin(p->lost_high_s, fmax(0, mean_s - waited.lo_ns * 1e-9 / ranks));
    p->lost_low_s = fmin(p->lost_low_s, p->lost_high_s);
    p->assumes = (p->assumes & ~(unsigned)GN_PROBLEM_TURNS) | assumed(l);
}

/* Messages cost no more than what is not waiting for them. */
static void see_messages(const struct look *l, struct gn_problem *p)
{
    double waited_s = 0;
    for (size_t i = 0; i < l->edge_count; i++)
        if (l->edges[i].edge.kind == GN_WAIT_LATE_SENDER || l->edges[i].edge.kind == GN_WAIT_LATE_RECEIVER)
            waited_s += l->edges[i].waited.lo_ns * 1e-9;
    p->lost_high_s = p->gain_high_s = fmax(0, p->lost_high_s - waited_s / fmax(1, l->s->ranks));
    p->assumes |= assumed(l);
}

static void see_calls(const struct look *l)
{
    for (size_t i = 0; i < l->problems->count; i++)
        if (l->problems->items[i].is_of_all && l->problems->items[i].row)
            see_collective(l, &l->problems->items[i]);
        else if (l->problems->items[i].is_of_messages)
            see_messages(l, &l->problems->items[i]);
}

/* ---- waits that no rank's totals explain ---- */

static const struct gn_problem_pattern moving = {
    "moving imbalance", "the work is even in sum and uneven at each step: move it while the program runs, or "
                        "let ranks meet less often"};
static const struct gn_problem_pattern phases = {
    "phases", "who is late changes with the part of the run: look at each by itself, and balance it there"};
static const struct gn_problem_pattern noise = {
    "noise",
    "few steps take long, at one rank or another, and all wait: see what interrupts the ranks, or let "
    "them meet less often"};
static const struct gn_problem_pattern late_sender = {
    "late sender", "send before the other work, or let the receiver do other work first (MPI_Irecv)"};
static const struct gn_problem_pattern late_receiver = {
    "late receiver", "post the receive earlier (MPI_Irecv), or let the sender go on (MPI_Isend)"};
static const struct gn_problem_pattern pipeline = {
    "pipeline", "each rank waits for the one before: smaller blocks let the next one begin sooner"};
static const struct gn_problem_pattern turns = {
    "waiting in turn", "what ranks do one after the other, let them do at the same time"};

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

static size_t find_nodes(const struct look *l, struct node *nodes)
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
    bool
        is_one_way; /* for messages along the ranks in one direction, and some both wait and are waited for */
    bool is_fixed;  /* those who wait are not waited for, to speak of */
};

/* What a process waits, and is waited for, in the call that is looked at; ns. */
struct part {
    double waits, gives;
};

static void add_side(const struct look *l, const struct gn_wait_edge *e, struct part *parts, double way[2])
{
    const struct gn_definitions *d = definitions_of(l);
    const uint32_t waiter = d->locations[e->location].process;
    const double ns = e->lo_ns + e->hi_ns;
    parts[waiter].waits += ns;
    if (e->giver == GN_NONE)
        return;
    const uint32_t giver = d->locations[e->giver].process;
    parts[giver].gives += ns;
    way[rank_of(l, giver) < rank_of(l, waiter)] += ns;
}

static struct sides sides_of(const struct look *l, const struct node *n)
{
    const size_t processes = definitions_of(l)->process_count;
    struct sides sides = {.kind = GN_WAIT_LATE_SENDER};
    double sums[GN_WAIT_KINDS] = {0}, way[2] = {0, 0}, all = 0, both = 0;
    struct part *parts = calloc(processes + 1, sizeof *parts);
    for (size_t i = 0; parts && i < l->edge_count; i++) {
        const struct gn_wait_edge *e = &l->edges[i].edge;
        if (e->region != n->region || e->path != n->path)
            continue;
        sums[e->kind] += e->lo_ns + e->hi_ns;
        add_side(l, e, parts, way);
    }
    for (size_t p = 0; parts && p < processes; p++) {
        sides.waiters += parts[p].waits > 0;
        all += parts[p].waits;
        both += fmin(parts[p].waits, parts[p].gives);
    }
    for (int k = 0; k < GN_WAIT_KINDS; k++)
        sides.kind = sums[k] > sums[sides.kind] ? (enum gn_wait_kind)k : sides.kind;
    sides.is_fixed = both <= few_sides * all;
    sides.is_one_way =
        !sides.is_fixed && sides.waiters >= 2 && fmax(way[0], way[1]) >= of_one_way * (way[0] + way[1]);
    free(parts);
    return sides;
}

static bool has_problem_of(const struct look *l, int rank)
{
    for (size_t i = 0; i < l->problems->count; i++)
        if (is_of_rank(&l->problems->items[i]) && l->problems->items[i].rank == rank)
            return true;
    return false;
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

static bool is_of_one(const struct look *l, const struct node *n)
{
    return n->most_ns >= (l->s->ranks == 2 ? of_one_of_two : of_one_of_many) * n->seen_ns;
}

/* What the processes caused in one of the slices of a trace, or in a window. */
static void add_slice(const struct look *l, size_t slice, double *caused)
{
    const struct gn_seen *seen = l->seen;
    memset(caused, 0, definitions_of(l)->process_count * sizeof *caused);
    for (size_t i = 0; i < definitions_of(l)->location_count; i++) {
        const struct gn_waits *w = &seen->parts[seen->count == 1 ? 0 : slice].waits;
        caused[definitions_of(l)->locations[i].process] +=
            seen->count == 1 ? w->slices[i * GN_WAITS_SLICES + slice]
                             : (w->caused[i].lo_ns + w->caused[i].hi_ns) / 2;
    }
}

/* Which part of all waiting those caused who caused most of it in each slice of time: nearly all, where it is
 * one and then another for long; no more than in the whole run, where it changes at every step. */
static double of_slices(const struct look *l)
{
    const size_t slices = l->seen->count == 1 ? GN_WAITS_SLICES : l->seen->count;
    double *caused = calloc(definitions_of(l)->process_count + 1, sizeof *caused), most_ns = 0, all_ns = 0;
    for (size_t s = 0; caused && s < slices; s++) {
        double most = 0;
        add_slice(l, s, caused);
        for (size_t p = 0; p < definitions_of(l)->process_count; p++) {
            most = fmax(most, caused[p]);
            all_ns += caused[p];
        }
        most_ns += most;
    }
    free(caused);
    return all_ns > 0 && slices >= FEWEST_SLICES ? most_ns / all_ns : 0;
}

static const struct gn_problem_pattern *pattern_of(const struct look *l, const struct node *n)
{
    const struct sides sides = sides_of(l, n);
    if (!is_of_one(l, n) && sides.kind == GN_WAIT_LATE_SENDER && sides.is_one_way)
        return &pipeline;
    if (!is_of_one(l, n) && !sides.is_fixed)
        return is_rare(n) ? &noise : of_slices(l) >= of_one_in_turn ? &phases : &moving;
    if (sides.kind == GN_WAIT_LATE_SENDER)
        return sides.waiters >= 2 && takes_from_any(l, n->most) ? &master : &late_sender;
    return sides.kind == GN_WAIT_LATE_RECEIVER ? &late_receiver : &turns;
}

/* By who it is that waits, and for whom, whatever else they do. */
static bool is_sided(const struct gn_problem_pattern *pattern)
{
    return pattern == &late_sender || pattern == &late_receiver || pattern == &pipeline || pattern == &master;
}

static struct gn_problem problem_of(const struct look *l, const struct node *n)
{
    const struct gn_problem_pattern *pattern = n->pattern;
    /* the run is longer by what the late one takes longer, for which all others wait; where work is only
     * moved, all do a part of it */
    const double ranks = fmax(1, l->s->ranks - (pattern == &noise)), low = n->caused.lo_ns * 1e-9 / ranks,
                 high = n->caused.hi_ns * 1e-9 / ranks;
    struct gn_problem p = {.pattern = pattern,
                           .row = row_of(l->s, place_of(definitions_of(l), n->region, n->path)),
                           .rank = is_of_one(l, n) && pattern != &pipeline ? rank_of(l, n->most) : -1,
                           .most_rank = rank_of(l, n->most),
                           .is_fixed = is_sided(pattern) || pattern == &turns,
                           .share_of_rank = n->seen_ns > 0 ? n->most_ns / n->seen_ns : 0,
                           .lost_low_s = low,
                           .lost_high_s = high,
                           .gain_high_s = high,
                           .times = (int64_t)(n->of > 0 && n->times > n->of ? n->of : n->times),
                           .first = (int64_t)n->first,
                           .last = (int64_t)n->last,
                           .of = (int64_t)n->of,
                           .sure = low > 0 && l->seen->is_whole ? GN_PROBLEM_CERTAIN : GN_PROBLEM_POSSIBLE,
                           .assumes = GN_PROBLEM_SAME | GN_PROBLEM_ORDER | assumed(l)};
    if (pattern == &moving || pattern == &phases || pattern == &noise) {
        p.gain_low_s = low;
        allow_for_repeats(l, &p);
        p.assumes &= ~(unsigned)GN_PROBLEM_ORDER;
    }
    if (pattern == &noise)
        p.times = (int64_t)(effective_of(n) + 0.5);
    tell_chain(l, &p, n->most, &(struct gn_chain_call){n->region, n->path},
               is_sided(pattern) ? GN_PROBLEM_HOPS : 1);
    return p;
}

/* One of the same kind, or the other side of one: who waits for whom changes with the call. */
static bool goes_along(const struct look *l, const struct gn_problem *p)
{
    for (size_t i = 0; i < l->problems->count; i++) {
        struct gn_problem *other = &l->problems->items[i];
        if (other->share_of_rank <= 0 ||
            (other->pattern != p->pattern && !(p->pattern == &turns && is_sided(other->pattern))))
            continue;
        other->lost_low_s += p->lost_low_s;
        other->lost_high_s += p->lost_high_s;
        other->gain_low_s += p->gain_low_s;
        other->gain_high_s += p->gain_high_s;
        gn_problem_limit(other, l->s);
        return true;
    }
    return false;
}

static bool is_startup(const struct look *l, const struct node *n)
{
    const char *name = region_name(definitions_of(l), n->region);
    return strncmp(name, "MPI_Init", 8) == 0;
}

static bool is_worth_it(const struct look *l, const struct node *n)
{
    const double ranks = fmax(1, l->s->ranks), high_s = n->caused.hi_ns * 1e-9 / ranks,
                 low_s = n->caused.lo_ns * 1e-9 / ranks;
    /* few windows may leave room for nearly anything: it takes some that was seen */
    if (n->seen_ns <= 0 || (!l->seen->is_whole && low_s < seen_share * l->s->elapsed_s))
        return false;
    return high_s >= least_share * l->s->elapsed_s && !is_startup(l, n) &&
           !(is_of_one(l, n) && has_problem_of(l, rank_of(l, n->most)));
}

static int see_waits(const struct look *l, struct gn_error *err)
{
    struct node *nodes = calloc(l->cause_count + 1, sizeof *nodes);
    if (!nodes)
        return gn_fail(err, -ENOMEM, "no memory for what %zu calls waited for", l->cause_count);
    const size_t count = find_nodes(l, nodes);
    /* what goes along with others after them */
    for (size_t i = 0; i < count; i++)
        nodes[i].pattern = is_worth_it(l, &nodes[i]) ? pattern_of(l, &nodes[i]) : NULL;
    for (int again = 0; again <= 1; again++)
        for (size_t i = 0; i < count; i++) {
            if (!nodes[i].pattern || (nodes[i].pattern == &turns) != again)
                continue;
            const struct gn_problem p = problem_of(l, &nodes[i]);
            if (!goes_along(l, &p))
                gn_problems_add(l->problems, l->s, p);
        }
    free(nodes);
    return 0;
}

/* ---- all ---- */

static bool starts_or_ends(const struct look *l, uint32_t region)
{
    const char *name = region_name(definitions_of(l), region);
    return strncmp(name, "MPI_Init", 8) == 0 || strcmp(name, "MPI_Finalize") == 0;
}

static bool may_wait(const struct gn_activity_row *row)
{
    const uint32_t call = strcmp(row->kind, "mpi") == 0 ? gn_activity_named(row->name) : GN_ACTIVITY_NONE;
    return call != GN_ACTIVITY_NONE && gn_activity_may_wait(call) && strncmp(row->name, "MPI_Init", 8) != 0 &&
           strcmp(row->name, "MPI_Finalize") != 0;
}

static void tell_seen(const struct look *l)
{
    struct gn_problems_seen *told = &l->problems->seen;
    *told = (struct gn_problems_seen){.parts = l->seen->count,
                                      .is_whole = l->seen->is_whole,
                                      .share = fmin(1, l->seen->covered_ns / l->seen->run_ns)};
    struct gn_span waited = {0, 0};
    for (size_t i = 0; i < l->seen->site_count; i++)
        if (!starts_or_ends(l, l->seen->sites[i].region)) {
            double most_likely;
            const struct gn_span here = gn_seen_waited(l->seen, &l->seen->sites[i], &most_likely);
            waited.lo_ns += here.lo_ns;
            waited.hi_ns += here.hi_ns;
            told->waited_s += most_likely * 1e-9;
        }
    for (size_t i = 0; i < l->s->row_count; i++) /* what was never seen may all be waiting */
        if (may_wait(&l->s->rows[i]) && !is_seen(l, &l->s->rows[i]))
            waited.hi_ns += (double)l->s->rows[i].total_ns;
    told->waited_low_s = waited.lo_ns * 1e-9;
    told->waited_high_s = waited.hi_ns * 1e-9;
}

void gn_seen_tell_totals(struct gn_seen *seen, const struct gn_summary *s)
{
    for (size_t i = 0; i < seen->site_count; i++) {
        struct gn_seen_site *site = &seen->sites[i];
        const struct call_place place = place_of_site(seen, site);
        site->total_ns = 0;
        for (size_t k = 0; k < s->row_count; k++)
            site->total_ns += is_row_of(&s->rows[k], place) ? (double)s->rows[k].total_ns : 0;
    }
}

int gn_problems_see(struct gn_problems *problems, const struct gn_summary *summary,
                    const struct gn_seen *seen, struct gn_error *err)
{
    struct look l = {.problems = problems,
                     .s = summary,
                     .seen = seen,
                     .each = calloc(2 * seen->count + 1, sizeof *l.each)};
    const int64_t edges = l.each ? gn_seen_edges(seen, &l.edges) : -ENOMEM;
    const int64_t causes = edges >= 0 ? gn_seen_causes(seen, &l.causes) : -ENOMEM;
    int code = causes >= 0 ? 0 : gn_fail(err, -ENOMEM, "no memory for who waited for whom");
    if (code == 0) {
        l.edge_count = (size_t)edges;
        l.cause_count = (size_t)causes;
        tell_seen(&l);
        code = see_ranks(&l, err);
        see_calls(&l);
        code = code == 0 ? see_waits(&l, err) : code;
    }
    free(l.each);
    free(l.edges);
    free(l.causes);
    return code;
}

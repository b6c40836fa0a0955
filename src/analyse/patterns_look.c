#include "analyse/patterns_look.h"

#include "analyse/meanwhile.h"
#include "event/activity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double worth_blame = 0.1; /* of what it waits itself */
static const double hop_share = 0.1;   /* of what is lost: shorter hops of a chain are not told */

const struct gn_problem_pattern gn_problem_master = {
    .name = "master bound",
    .remedy = "all wait for what one rank hands out: larger tasks, hand them out ahead, or more masters"};

int gn_look_rank(const struct gn_look *l, uint32_t process)
{
    return process < l->seen->definitions->process_count ? (int)l->seen->definitions->processes[process].rank
                                                         : -1;
}

/* "/home/x/app.c" is "app.c" where only that is told. */
static bool is_same_file(const char *a, const char *b)
{
    const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
    return strcmp(x ? x + 1 : a, y ? y + 1 : b) == 0;
}

const char *gn_region_called(const struct gn_definitions *d, uint32_t region)
{
    return region < d->region_count ? gn_string(d, d->regions[region].name) : "";
}

/* Without a line, file is what the place is called. */
static void set_place(struct gn_call_place *p, const char *file, int line)
{
    *(line > 0 ? &p->file : &p->function) = file;
    p->line = line;
}

struct gn_call_place gn_call_place_at(const struct gn_definitions *d, uint32_t region, uint32_t path)
{
    struct gn_call_place p = {gn_region_called(d, region), "", "", 0};
    const uint32_t at = gn_sourced_path(d, path);
    if (at == GN_NONE)
        return p;
    const uint32_t parent = d->paths[at].parent;
    set_place(&p, gn_string(d, d->paths[at].source_file), (int)d->paths[at].line);
    if (p.line > 0)
        p.function = parent < d->path_count ? gn_region_called(d, d->paths[parent].region) : "";
    return p;
}

bool gn_is_row_of(const struct gn_activity_row *row, struct gn_call_place place)
{
    if (strcmp(row->kind, "mpi") != 0 || strcmp(row->name, place.call) != 0)
        return false;
    if (place.line > 0)
        return row->line == place.line && is_same_file(row->file ? row->file : "", place.file);
    /* traces of before may not say what the place is called */
    return row->line <= 0 &&
           (!place.function[0] || strcmp(row->function ? row->function : "", place.function) == 0);
}

const struct gn_activity_row *gn_look_row(const struct gn_summary *s, struct gn_call_place place)
{
    for (size_t i = 0; i < s->row_count; i++)
        if (gn_is_row_of(&s->rows[i], place))
            return &s->rows[i];
    return NULL;
}

struct gn_call_place gn_call_place_of(const struct gn_seen *seen, const struct gn_seen_site *site)
{
    struct gn_call_place p = {gn_region_called(seen->definitions, site->region), "", "", 0};
    set_place(&p, gn_string(seen->definitions, site->source_file), (int)site->line);
    return p;
}

unsigned gn_look_assumed(const struct gn_look *l)
{
    return l->seen->is_whole ? 0 : GN_PROBLEM_WINDOWS;
}

void gn_look_allow_for_repeats(const struct gn_look *l, struct gn_problem *p)
{
    p->gain_low_s = fmax(0, p->gain_low_s - GN_PROBLEM_REPEATED_SHARE * l->s->elapsed_s);
    p->gain_high_s += GN_PROBLEM_REPEATED_SHARE * l->s->elapsed_s;
    p->assumes |= GN_PROBLEM_REPEATS;
}

void gn_look_tell_gain(const struct gn_look *l, struct gn_problem *p, struct gn_problem_gain gain)
{
    const double repeats_s = GN_PROBLEM_REPEATED_SHARE * l->s->elapsed_s;
    gain.low_s -= repeats_s;
    if (p->gain_count == GN_PROBLEM_GAINS || !isfinite(gain.high_s) || !(gain.low_s > 0))
        return;
    gain.high_s += repeats_s;
    p->gains[p->gain_count++] = gain;
    p->assumes |= GN_PROBLEM_REPEATS;
    gn_problem_limit(p, l->s);
}

/* What of all ranks' time is such a call itself, whoever makes it; at most. */
static double own_share(const struct gn_look *l, struct gn_call_place place)
{
    double total_ns = 0, waited_ns = 0;
    for (size_t i = 0; i < l->s->row_count; i++)
        total_ns += gn_is_row_of(&l->s->rows[i], place) ? (double)l->s->rows[i].total_ns : 0;
    for (size_t i = 0; i < l->edge_count; i++) {
        const struct gn_call_place other =
            gn_call_place_at(l->seen->definitions, l->edges[i].edge.region, l->edges[i].edge.path);
        if (other.line == place.line && strcmp(other.call, place.call) == 0 &&
            strcmp(other.file, place.file) == 0)
            waited_ns += l->edges[i].waited.lo_ns;
    }
    return total_ns > 0 && l->s->total_ns > 0 ? fmax(0, total_ns - waited_ns) / (double)l->s->total_ns : -1;
}

double gn_look_caused_ns(const struct gn_look *l, uint32_t process, uint32_t region, uint32_t path)
{
    double ns = 0;
    for (size_t i = 0; i < l->cause_count; i++)
        if (l->causes[i].process == process &&
            (region == GN_NONE || (l->causes[i].call_region == region && l->causes[i].call_path == path)))
            ns += l->causes[i].caused.lo_ns;
    return ns;
}

static void tell_hop(const struct gn_look *l, const struct gn_chain_hop *from, struct gn_problem_hop *to)
{
    const struct gn_call_place place = gn_call_place_at(l->seen->definitions, from->region, from->path);
    *to = (struct gn_problem_hop){.rank = from->waiters == 1 ? gn_look_rank(l, from->waiter) : -1,
                                  .ranks = (int)from->waiters,
                                  .waits_for = gn_look_rank(l, from->waits_for),
                                  .call = place.call,
                                  .kind = gn_wait_kind_name((enum gn_wait_kind)from->kind),
                                  .function = place.function,
                                  .file = place.file,
                                  .line = place.line,
                                  .low_s = from->waited.lo_ns * 1e-9,
                                  .high_s = from->waited.hi_ns * 1e-9,
                                  .certain = (int64_t)from->certain,
                                  .region = from->region,
                                  .path = from->path,
                                  .passes_on = from->waiters == 1 &&
                                               gn_look_caused_ns(l, from->waiter, GN_NONE, GN_NONE) <
                                                   worth_blame * from->waited.lo_ns,
                                  .own_share = own_share(l, place)};
}

/* Where the one that is waited for is late by itself, too, the chain is another one's. */
static size_t same_matter(const struct gn_look *l, const struct gn_chain *chain, size_t most)
{
    static const double half = 0.5;
    size_t count = chain->count < most ? chain->count : most;
    for (size_t i = 1; i < count; i++)
        if (gn_look_caused_ns(l, chain->hops[i].waits_for, chain->hops[i].region, chain->hops[i].path) >
            half * chain->hops[i].waited.lo_ns)
            return i;
    return count;
}

void gn_look_tell_chain(const struct gn_look *l, struct gn_problem *p, uint32_t process,
                        const struct gn_chain_call *in, size_t most)
{
    struct gn_chain chain;
    gn_chain_find(&chain, l->seen->definitions, l->edges, l->edge_count, process, in,
                  hop_share * p->gain_high_s * 1e9);
    p->hop_count = same_matter(l, &chain, most);
    for (size_t i = 0; i < p->hop_count; i++)
        tell_hop(l, &chain.hops[i], &p->hops[i]);
}

/* Whom the process waits for most in the calls of a site: a rank; -1: nobody was seen. */
static int waits_for(const struct gn_look *l, size_t site, uint32_t process)
{
    const struct gn_definitions *d = l->seen->definitions;
    double *ns = calloc(d->process_count + 1, sizeof *ns);
    uint32_t most = GN_NONE;
    for (size_t i = 0; ns && i < l->edge_count; i++) {
        const struct gn_wait_edge *e = &l->edges[i].edge;
        if (e->giver == GN_NONE || d->locations[e->location].process != process ||
            gn_seen_site_of(l->seen, e->region, e->path) != (int64_t)site)
            continue;
        const uint32_t giver = d->locations[e->giver].process;
        ns[giver] += e->lo_ns + e->hi_ns;
        most = ns[giver] > 0 && (most == GN_NONE || ns[giver] > ns[most]) ? giver : most;
    }
    free(ns);
    return most == GN_NONE ? -1 : gn_look_rank(l, most);
}

_Static_assert(GN_PROBLEM_PARTS == (int)GN_MEANWHILE_PARTS + 1, "each is told");

static size_t tell_parts(const struct gn_look *l, const struct gn_meanwhile_parts *parts,
                         struct gn_problem_meanwhile told[GN_PROBLEM_PARTS])
{
    static const char *const doings[] = {"computes", "waits", "calls", "other"};
    for (size_t i = 0; i < parts->count; i++) {
        const struct gn_meanwhile_part *part = &parts->items[i];
        const bool in_region = part->doing == GN_DOING_COMPUTES && part->region != GN_NONE;
        const struct gn_call_place place = part->doing == GN_DOING_OTHER || in_region
                                               ? (struct gn_call_place){.call = NULL}
                                               : gn_call_place_of(l->seen, &l->seen->sites[part->site]);
        told[i] = (struct gn_problem_meanwhile){
            .rank = part->process == GN_NONE ? -1 : gn_look_rank(l, part->process),
            .what = doings[part->doing],
            .call = place.call,
            .function = place.function,
            .file = place.file,
            .region = in_region ? gn_region_called(l->seen->definitions, part->region) : NULL,
            .line = place.line,
            .waits_for = part->doing == GN_DOING_WAITS ? waits_for(l, part->site, part->process) : -1,
            .low = part->low,
            .high = part->high};
    }
    return parts->count;
}

int gn_look_tell_meanwhile(const struct gn_look *l, struct gn_problem *p, struct gn_error *err)
{
    struct gn_meanwhile m;
    const uint32_t process = p->hop_count > 0 && p->hops[0].waits_for >= 0
                                 ? gn_process_of_rank(l->seen->definitions, p->hops[0].waits_for)
                                 : GN_NONE;
    if (process == GN_NONE)
        return 0;
    const int code = gn_meanwhile_find(&m, l->seen, p->hops[0].region, p->hops[0].path, process, err);
    p->meanwhile_count = p->root_count = 0;
    p->answers = 0;
    if (code == 0) {
        p->meanwhile_count = tell_parts(l, &m.direct, p->meanwhile);
        p->root_count = tell_parts(l, &m.roots, p->roots);
        p->answers = m.answers;
    }
    return code;
}

static int compare_ranks(const void *left, const void *right)
{
    const int *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

void gn_look_tell_late(const struct gn_look *l, struct gn_problem *p)
{
    p->late_count = 0;
    for (uint32_t i = 0; i < l->seen->definitions->process_count; i++) {
        const int rank = l->late[i] ? gn_look_rank(l, i) : -1;
        if (rank < 0)
            continue;
        if (p->late_count < GN_PROBLEM_LATE)
            p->late[p->late_count] = rank;
        p->late_count++;
    }
    qsort(p->late, p->late_count < GN_PROBLEM_LATE ? p->late_count : GN_PROBLEM_LATE, sizeof *p->late,
          compare_ranks);
}

/* The run is no shorter than what any rank computes, but perhaps one (negative: none), and how it starts and
 * ends. */
static double beyond_ranks_s(const struct gn_look *l, int but)
{
    double useful_s = 0, startup_s = 0;
    for (size_t i = 0; i < l->s->rank_count; i++)
        if (l->s->ranks_told[i].rank != but)
            useful_s = fmax(useful_s, l->s->ranks_told[i].useful_s);
    for (size_t i = 0; i < l->s->row_count; i++)
        if (gn_activity_starts_or_ends(gn_activity_named(l->s->rows[i].name)))
            startup_s += (double)l->s->rows[i].min_ns * 1e-9;
    return fmax(0, l->s->elapsed_s - useful_s - startup_s);
}

double gn_look_at_most(const struct gn_look *l, double gain_s)
{
    return fmin(gain_s, beyond_ranks_s(l, -1));
}

double gn_look_without_master_s(const struct gn_look *l, uint32_t master)
{
    return beyond_ranks_s(l, gn_look_rank(l, master));
}

/* Whether the range is of what is computed after the call. */
static bool is_after(const struct gn_activity_row *range, struct gn_call_place place)
{
    const char *known = place.line > 0 ? range->file : range->function;
    return range->line == place.line && known &&
           strcmp(known, place.line > 0 ? place.file : place.function) == 0;
}

static const struct gn_activity_row *range_after(const struct gn_activity_row *rows, size_t count,
                                                 struct gn_call_place place)
{
    const struct gn_activity_row *range = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct gn_activity_row *row = &rows[i];
        if (strcmp(row->kind, "computation") == 0 && row->how == GN_HOW_RANGE && is_after(row, place) &&
            (!range || row->total_ns > range->total_ns))
            range = row;
    }
    return range;
}

const struct gn_activity_row *gn_look_computation_after(const struct gn_summary *s,
                                                        struct gn_call_place place, double all_ns, int rank)
{
    const struct gn_activity_row *longest = NULL, *range = range_after(s->rows, s->row_count, place);
    double longest_ns = 0;
    for (size_t i = 0; i < s->row_count; i++) {
        const struct gn_activity_row *row = &s->rows[i];
        const double ns = rank < 0 ? (double)row->total_ns : row->max_rank == rank ? (double)row->max_ns : 0;
        const bool may_be_there = row->in_range < 0 || is_after(&s->ranges[row->in_range], place);
        if (strcmp(row->kind, "computation") == 0 && row->how == GN_HOW_SAMPLED && may_be_there &&
            ns > longest_ns) {
            longest = row;
            longest_ns = ns;
        }
    }
    /* where samples name it, little may be left of the range */
    if (longest_ns >= all_ns / 2 && (!range || (double)range->total_ns < all_ns / 2))
        return longest;
    return range ? range : range_after(s->ranges, s->range_count, place);
}

void gn_look_tell_place(const struct gn_summary *s, struct gn_problem *p, struct gn_call_place after)
{
    const struct gn_activity_row *range = range_after(s->ranges, s->range_count, after);
    if (p->row->how != GN_HOW_RANGE || !range || range->place < 0 || range->max_rank != p->rank)
        return;
    p->row = &s->rows[range->place];
    p->range = range;
}

bool gn_look_has_problem(const struct gn_look *l, int rank)
{
    for (size_t i = 0; i < l->problems->count; i++)
        if (gn_problem_is_of_rank(&l->problems->items[i]) &&
            gn_problem_has_rank(&l->problems->items[i], rank))
            return true;
    return false;
}

bool gn_look_takes_from_any(const struct gn_look *l, uint32_t process)
{
    const struct gn_definitions *d = l->seen->definitions;
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

#include "analyse/chain.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct search {
    const struct gn_definitions *d;
    const struct gn_seen_edge *edges;
    size_t count;
    uint32_t passed[GN_CHAIN_HOPS + 1]; /* processes that the chain has been at */
    size_t passed_count;
    bool *is_waiter; /* [process_count] in the hop that is looked at */
};

static uint32_t process_of(const struct search *s, uint32_t location)
{
    return location < s->d->location_count ? s->d->locations[location].process : GN_NONE;
}

static bool has_passed(const struct search *s, uint32_t process)
{
    for (size_t i = 0; i < s->passed_count; i++)
        if (s->passed[i] == process)
            return true;
    return false;
}

static bool is_for(const struct search *s, const struct gn_seen_edge *e, uint32_t process)
{
    return process_of(s, e->edge.giver) == process && !has_passed(s, process_of(s, e->edge.location));
}

/* All that wait for the process in one call; edges come with the longest first. */
static struct gn_chain_hop hop_at(const struct search *s, size_t first, uint32_t process)
{
    const struct gn_wait_edge *e = &s->edges[first].edge;
    struct gn_chain_hop hop = {.waiter = process_of(s, e->location),
                               .waits_for = process,
                               .region = e->region,
                               .path = e->path,
                               .kind = e->kind};
    memset(s->is_waiter, 0, s->d->process_count);
    for (size_t i = first; i < s->count; i++) {
        const struct gn_seen_edge *other = &s->edges[i];
        if (!is_for(s, other, process) || other->edge.region != e->region || other->edge.path != e->path ||
            other->edge.kind != e->kind)
            continue;
        const uint32_t waiter = process_of(s, other->edge.location);
        hop.waiters += !s->is_waiter[waiter];
        s->is_waiter[waiter] = true;
        hop.waited.lo_ns += other->waited.lo_ns;
        hop.waited.hi_ns += other->waited.hi_ns;
        hop.certain += other->edge.certain;
    }
    return hop;
}

static double middle(struct gn_span span)
{
    return span.hi_ns < 2 * span.lo_ns ? (span.lo_ns + span.hi_ns) / 2 : span.lo_ns;
}

static bool is_first_of_its_call(const struct search *s, size_t at, uint32_t process)
{
    for (size_t i = 0; i < at; i++)
        if (is_for(s, &s->edges[i], process) && s->edges[i].edge.region == s->edges[at].edge.region &&
            s->edges[i].edge.path == s->edges[at].edge.path &&
            s->edges[i].edge.kind == s->edges[at].edge.kind)
            return false;
    return true;
}

static bool find_hop(const struct search *s, uint32_t process, const struct gn_chain_call *in,
                     double floor_ns, struct gn_chain_hop *best)
{
    enum { MOST = 64 }; /* edges of a process that are compared: those behind are shorter */
    bool any = false;
    int seen = 0;
    for (size_t i = 0; i < s->count && seen < MOST; i++) {
        if (!is_for(s, &s->edges[i], process) ||
            (in && (s->edges[i].edge.region != in->region || s->edges[i].edge.path != in->path)))
            continue;
        seen++;
        if (!is_first_of_its_call(s, i, process))
            continue;
        const struct gn_chain_hop hop = hop_at(s, i, process);
        /* in the call that was asked for, what may only have been waited for belongs to it, too */
        const double waited_ns = in ? hop.waited.hi_ns : middle(hop.waited);
        if (waited_ns >= floor_ns && (!any || middle(hop.waited) > middle(best->waited))) {
            *best = hop;
            any = true;
        }
    }
    return any;
}

void gn_chain_find(struct gn_chain *chain, const struct gn_definitions *definitions,
                   const struct gn_seen_edge *edges, size_t count, uint32_t process,
                   const struct gn_chain_call *in, double floor_ns)
{
    struct search s = {.d = definitions,
                       .edges = edges,
                       .count = count,
                       .is_waiter = calloc(definitions->process_count + 1, sizeof *s.is_waiter)};
    *chain = (struct gn_chain){.count = 0};
    while (s.is_waiter && chain->count < GN_CHAIN_HOPS) {
        struct gn_chain_hop hop = {.waiter = GN_NONE};
        s.passed[s.passed_count++] = process;
        if (!find_hop(&s, process, chain->count == 0 ? in : NULL, floor_ns, &hop))
            break;
        chain->hops[chain->count++] = hop;
        process = hop.waiter;
    }
    free(s.is_waiter);
}

/*
 * Parts of collectives become instances: the n-th collective that each process begins on a communicator is
 * the same one. Instances that lack a member, or whose members disagree on what it was, are local matters of
 * whoever began them, and counted.
 */
#include "analyse/history_inside.h"

#include <stdlib.h>

struct kind {
    uint8_t shape;
    bool sparse, vague;
};

static struct kind kind_of(uint8_t op)
{
    switch (op) {
    case GN_COLLECTIVE_BCAST:
    case GN_COLLECTIVE_SCATTER:
        return (struct kind){.shape = GN_GATHER_FROM_ROOT};
    case GN_COLLECTIVE_SCATTERV:
        return (struct kind){.shape = GN_GATHER_FROM_ROOT, .sparse = true};
    case GN_COLLECTIVE_GATHER:
    case GN_COLLECTIVE_REDUCE:
        return (struct kind){.shape = GN_GATHER_TO_ROOT};
    case GN_COLLECTIVE_GATHERV:
        return (struct kind){.shape = GN_GATHER_TO_ROOT, .sparse = true};
    case GN_COLLECTIVE_SCAN:
    case GN_COLLECTIVE_EXSCAN:
        return (struct kind){.shape = GN_GATHER_PREFIX};
    case GN_COLLECTIVE_ALLGATHERV:
    case GN_COLLECTIVE_REDUCE_SCATTER:
        return (struct kind){.shape = GN_GATHER_ALL, .sparse = true};
    case GN_COLLECTIVE_ALLTOALLV: /* who gave to whom is not recorded */
    case GN_COLLECTIVE_ALLTOALLW:
        return (struct kind){.shape = GN_GATHER_ALL, .sparse = true, .vague = true};
    default:
        return (struct kind){.shape = GN_GATHER_ALL, .vague = op >= GN_COLLECTIVE_CREATE_HANDLE};
    }
}

/* ---- which instance ---- */

struct numbering {
    struct gn_map counts;    /* (communicator, process) → how many it has begun, + 1 */
    struct gn_map instances; /* (communicator, number) → instance + 1 */
    uint32_t *instance_of;   /* [open_part_count] */
    bool *is_doubted;        /* [gathering_count] it is none: begins are missing, or do not agree */
    size_t capacity;
};

static uint64_t group_of(const struct gn_open_part *part)
{
    return (uint64_t)(part->is_finalize ? 2 : part->is_window) << 32 | (part->is_finalize ? 0 : part->comm);
}

/* The communicator; NULL: the part is a matter of its process alone. */
static const struct gn_comm_def *comm_of(const struct gn_history_make *m, const struct gn_open_part *part)
{
    uint32_t comm = part->comm;
    if (part->is_window)
        comm = comm < m->d->window_count ? m->d->windows[comm].comm : GN_NONE;
    return comm < m->d->comm_count && !m->d->comms[comm].is_self ? &m->d->comms[comm] : NULL;
}

static uint32_t member_of(const struct gn_history_make *m, const struct gn_open_part *part)
{
    if (part->is_finalize)
        return part->process;
    const struct gn_comm_def *comm = comm_of(m, part);
    bool second = false;
    if (!comm)
        return GN_NONE;
    uint32_t rank = gn_comm_rank_of(m->d, (uint32_t)(comm - m->d->comms), part->process, &second);
    return rank == GN_NONE ? GN_NONE : rank + (second ? comm->member_count : 0);
}

static int number(struct gn_history_make *m, struct numbering *n, uint32_t index)
{
    struct gn_open_part *part = &m->open_parts[index];
    struct gn_history *h = m->h;
    n->instance_of[index] = GN_NONE;
    part->member = member_of(m, part);
    if (!part->is_counted || part->member == GN_NONE)
        return 0;
    const struct gn_key counted = {group_of(part), part->process};
    const uintptr_t count = (uintptr_t)gn_map_find(&n->counts, counted);
    gn_map_remove(&n->counts, counted);
    const struct gn_key key = {group_of(part), count};
    uintptr_t known = (uintptr_t)gn_map_find(&n->instances, key);
    if (!gn_map_add(&n->counts, counted, (void *)(count + 1)))
        return -ENOMEM;
    if (!known) {
        if (!gn_grow(&h->gatherings, &n->capacity, h->gathering_count, sizeof *h->gatherings))
            return -ENOMEM;
        const struct kind kind = kind_of(part->op);
        const bool is_between = !part->is_finalize && comm_of(m, part)->other_count > 0;
        h->gatherings[h->gathering_count] = (struct gn_gathering){
            .comm = part->is_finalize ? GN_NONE : part->comm,
            .op = part->op,
            .shape = part->is_finalize ? GN_GATHER_ALL : kind.shape,
            .is_vague = kind.vague || part->is_finalize || part->is_window || is_between,
            .is_partial = !part->is_finalize && (is_between || (kind.vague && kind.sparse)),
            .root = GN_NONE};
        known = ++h->gathering_count;
        if (!gn_map_add(&n->instances, key, (void *)known))
            return -ENOMEM;
    }
    n->instance_of[index] = (uint32_t)(known - 1);
    h->gatherings[known - 1].part_count++;
    return 0;
}

/* ---- parts by instance ---- */

static int by_member(const void *a, const void *b)
{
    const struct gn_given_part *l = a, *r = b;
    return (l->member > r->member) - (l->member < r->member);
}

static struct gn_given_part part_from(const struct gn_open_part *open, const struct gn_gathering *g,
                                      uint32_t instance)
{
    const bool sparse = kind_of(open->op).sparse;
    struct gn_given_part part = {.call = open->call, .gathering = instance, .member = open->member};
    const bool is_root = open->member == open->root || open->root == GN_ROOT_SELF;
    part.gives = g->shape == GN_GATHER_FROM_ROOT ? is_root : !sparse || open->bytes_sent > 0;
    part.gets = g->shape == GN_GATHER_FROM_ROOT ? !is_root && (!sparse || open->bytes_received > 0)
                : g->shape == GN_GATHER_TO_ROOT ? is_root
                : g->shape == GN_GATHER_PREFIX  ? open->member > 0
                                                : !sparse || open->bytes_received > 0;
    part.gets = part.gets && open->end_call != GN_NONE;
    return part;
}

/* Parts into h->parts; from[i]: which open part parts[i] was. */
static int deal_parts(struct gn_history_make *m, const struct numbering *n)
{
    struct gn_history *h = m->h;
    uint32_t first = 0;
    for (size_t g = 0; g < h->gathering_count; g++) {
        h->gatherings[g].first_part = first;
        first += h->gatherings[g].part_count;
        h->gatherings[g].part_count = 0;
    }
    h->parts = malloc((first + 1u) * sizeof *h->parts);
    h->part_count = first;
    if (!h->parts)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->open_part_count; i++) {
        if (n->instance_of[i] == GN_NONE)
            continue;
        struct gn_gathering *g = &h->gatherings[n->instance_of[i]];
        const struct gn_open_part *open = &m->open_parts[i];
        h->parts[g->first_part + g->part_count++] = part_from(open, g, n->instance_of[i]);
        if (kind_of(open->op).sparse && open->bytes_sent == GN_BYTES_UNKNOWN) /* its end was lost */
            g->is_vague = g->is_partial = true;
    }
    for (size_t g = 0; g < h->gathering_count; g++)
        qsort(h->parts + h->gatherings[g].first_part, h->gatherings[g].part_count, sizeof *h->parts,
              by_member);
    return 0;
}

/* ---- whether it is one ---- */

static uint32_t size_of(const struct gn_history_make *m, const struct gn_open_part *part)
{
    if (part->is_finalize) {
        uint32_t ranks = 0;
        for (size_t p = 0; p < m->d->process_count; p++)
            ranks += m->d->processes[p].rank >= 0;
        return ranks;
    }
    return comm_of(m, part)->member_count + comm_of(m, part)->other_count;
}

static bool is_consistent(const struct gn_history *h, const struct gn_gathering *g)
{
    for (uint32_t i = 1; i < g->part_count; i++)
        if (h->parts[g->first_part + i].member == h->parts[g->first_part + i - 1].member)
            return false;
    return true;
}

static void note_last(struct gn_history *h, struct gn_gathering *g)
{
    g->last = (struct gn_interval){INT64_MIN, INT64_MIN};
    g->is_whole = true;
    for (uint32_t i = 0; i < g->part_count; i++) {
        const struct gn_given_part *part = &h->parts[g->first_part + i];
        const struct gn_interval enter = h->calls[part->call].enter;
        g->is_whole = g->is_whole && part->gives && part->gets;
        if (g->shape == GN_GATHER_FROM_ROOT && part->gives)
            g->root = g->first_part + i;
        if (!part->gives)
            continue;
        g->last.lo_ns = enter.lo_ns > g->last.lo_ns ? enter.lo_ns : g->last.lo_ns;
        g->last.hi_ns = enter.hi_ns > g->last.hi_ns ? enter.hi_ns : g->last.hi_ns;
    }
}

static uint32_t part_of_member(const struct gn_history *h, const struct gn_gathering *g, uint32_t member)
{
    uint32_t low = g->first_part, high = g->first_part + g->part_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (h->parts[middle].member < member)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Members' ends say so: nobody who was to get anything was gone before all had come. Where each may wait for
 * some only, that says nothing about the others. */
static bool may_synchronise(const struct gn_history_make *m, const struct gn_gathering *g,
                            const struct gn_open_part *part)
{
    return !g->is_vague || g->is_partial || !m->h->parts[part_of_member(m->h, g, part->member)].gets ||
           m->h->calls[part->end_call].leave.hi_ns >= g->last.lo_ns;
}

static void refuse(struct gn_history *h, struct gn_gathering *g)
{
    for (uint32_t i = 0; i < g->part_count; i++)
        h->parts[g->first_part + i].gathering = GN_NONE;
    g->part_count = 0;
}

static bool is_one(const struct gn_history_make *m, const struct gn_gathering *g,
                   const struct gn_open_part *part)
{
    return part->op == g->op && g->part_count == size_of(m, part) && is_consistent(m->h, g) &&
           (g->shape != GN_GATHER_FROM_ROOT || g->root != GN_NONE);
}

static void check_part(struct gn_history_make *m, struct numbering *n, uint32_t index)
{
    const struct gn_open_part *part = &m->open_parts[index];
    struct gn_history *h = m->h;
    struct gn_gathering *g = &h->gatherings[n->instance_of[index]];
    if (g->part_count == 0)
        return;
    const bool is_good = is_one(m, g, part);
    if (is_good && g->last.lo_ns != INT64_MIN && g->part_count > 1 && may_synchronise(m, g, part))
        return;
    n->is_doubted[n->instance_of[index]] = !is_good && !part->is_finalize;
    h->ambiguous += !is_good && !part->is_finalize;
    refuse(h, g);
}

static int check(struct gn_history_make *m, struct numbering *n)
{
    struct gn_history *h = m->h;
    n->is_doubted = calloc(h->gathering_count + 1, sizeof *n->is_doubted);
    if (!n->is_doubted)
        return -ENOMEM;
    for (size_t g = 0; g < h->gathering_count; g++)
        note_last(h, &h->gatherings[g]);
    for (uint32_t i = 0; i < m->open_part_count; i++)
        if (n->instance_of[i] != GN_NONE)
            check_part(m, n, i);
    for (uint32_t i = 0; i < m->open_part_count; i++) {
        const struct gn_open_part *part = &m->open_parts[i];
        if (n->instance_of[i] != GN_NONE && n->is_doubted[n->instance_of[i]] && part->end_call != GN_NONE)
            h->calls[part->end_call].flags |= GN_CALL_UNSURE;
    }
    return 0;
}

/* ---- what calls take from them ---- */

/* [part_count] the step in which the last of those that give to the part was entered, + 1. */
static uint32_t *last_givers(const struct gn_history_make *m)
{
    const struct gn_history *h = m->h;
    uint32_t *last = calloc(h->part_count + 1, sizeof *last);
    for (size_t g = 0; last && g < h->gathering_count; g++) {
        const uint32_t first = h->gatherings[g].first_part, end = first + h->gatherings[g].part_count;
        uint32_t so_far = 0;
        for (uint32_t i = first; i < end; i++) {
            const uint32_t step = h->parts[i].gives ? m->entered[h->parts[i].call] + 1 : 0;
            last[i] = so_far;
            so_far = step > so_far ? step : so_far;
        }
        for (uint32_t i = first; i < end && h->gatherings[g].shape != GN_GATHER_PREFIX; i++)
            last[i] = so_far;
    }
    return last;
}

/* Where events came in an order that no program has, or nothing says that it synchronises, a call may be left
 * before all is given: it has not waited for that, then. */
static int take_all(struct gn_history_make *m, const struct numbering *n, const uint32_t *last_giver)
{
    struct gn_history *h = m->h;
    for (uint32_t i = 0; i < m->open_part_count; i++) {
        const struct gn_open_part *part = &m->open_parts[i];
        if (n->instance_of[i] == GN_NONE || h->gatherings[n->instance_of[i]].part_count == 0)
            continue;
        const struct gn_gathering *g = &h->gatherings[n->instance_of[i]];
        const uint32_t own = part_of_member(h, g, part->member);
        if (!h->parts[own].gets)
            continue;
        if (m->left[part->end_call] < last_giver[own]) {
            h->calls[part->end_call].flags |= g->is_vague ? 0 : GN_CALL_UNSURE;
            continue;
        }
        int code = gn_history_take(m, &(struct gn_take){.call = part->end_call,
                                                        .from = n->instance_of[i],
                                                        .member = own,
                                                        .kind = GN_TAKE_GATHERING,
                                                        .is_certain = !g->is_vague});
        if (code)
            return code;
    }
    return 0;
}

static int order_parts(struct gn_history *h)
{
    h->part_order = malloc((h->part_count + 1) * sizeof *h->part_order);
    if (!h->part_order)
        return -ENOMEM;
    uint32_t first = 0;
    for (size_t i = 0; i < h->part_count; i++)
        h->calls[h->parts[i].call].part_count += h->parts[i].gathering != GN_NONE;
    for (size_t c = 0; c < h->call_count; c++) {
        h->calls[c].first_part = first;
        first += h->calls[c].part_count;
        h->calls[c].part_count = 0;
    }
    for (uint32_t i = 0; i < h->part_count; i++) {
        struct gn_call *call = &h->calls[h->parts[i].call];
        if (h->parts[i].gathering != GN_NONE)
            h->part_order[call->first_part + call->part_count++] = i;
    }
    return 0;
}

int gn_history_gather(struct gn_history_make *m)
{
    struct numbering n = {.instance_of = malloc((m->open_part_count + 1) * sizeof *n.instance_of)};
    int code = n.instance_of ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < m->open_part_count && code == 0; i++)
        code = number(m, &n, i);
    code = code ? code : deal_parts(m, &n);
    code = code ? code : check(m, &n);
    uint32_t *last_giver = code ? NULL : last_givers(m);
    if (code == 0)
        code = last_giver ? take_all(m, &n, last_giver) : -ENOMEM;
    free(last_giver);
    code = code ? code : order_parts(m->h);
    gn_map_clear(&n.counts);
    gn_map_clear(&n.instances);
    free(n.instance_of);
    free(n.is_doubted);
    return code;
}

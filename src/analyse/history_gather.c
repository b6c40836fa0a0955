/*
 * Parts of collectives become instances, as the sort has numbered them. Instances that lack a member, or
 * whose members disagree on what it was, are local matters of whoever began them, and counted.
 */
#include "analyse/history_inside.h"

#include <stdlib.h>

/* ---- which instance ---- */

struct numbering {
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

static int number(struct gn_history_make *m, struct numbering *n, uint32_t index)
{
    struct gn_open_part *part = &m->open_parts[index];
    struct gn_history *h = m->h;
    n->instance_of[index] = GN_NONE;
    if (part->instance == GN_NONE || (!part->is_finalize && !comm_of(m, part)))
        return 0;
    const struct gn_key key = {group_of(part), part->instance};
    uintptr_t known = (uintptr_t)gn_map_find(&n->instances, key);
    if (!known) {
        if (!gn_grow(&h->gatherings, &n->capacity, h->gathering_count, sizeof *h->gatherings))
            return -ENOMEM;
        const bool only_may_hold = gn_collective_only_may_hold(part->op, part->is_window);
        const bool is_between = !part->is_finalize && comm_of(m, part)->other_count > 0;
        h->gatherings[h->gathering_count] = (struct gn_history_gathering){
            .comm = part->is_finalize ? GN_NONE : part->comm,
            .is_window = part->is_window,
            .op = part->op,
            .shape =
                part->is_finalize ? GN_SHAPE_ALL_TO_ALL : (uint8_t)gn_collective_shape(part->op, is_between),
            .is_vague = only_may_hold || part->is_finalize || is_between,
            .is_partial = !part->is_finalize &&
                          (is_between || gn_collective_rule(part->op).lengths == GN_LENGTHS_PAIRS),
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

/* What a member gives itself counts here, too: it may be the last one that gives. */
static struct gn_given_part part_from(const struct gn_history_make *m, const struct gn_open_part *open,
                                      const struct gn_history_gathering *g, uint32_t instance)
{
    const struct gn_comm_def *comm = open->is_finalize ? NULL : comm_of(m, open);
    const bool is_between = comm && comm->other_count > 0, sparse = gn_collective_is_sparse(open->op);
    const struct gn_collective_does does = /* the size matters to a scan's last member, which gives itself */
        gn_collective_does((enum gn_shape)g->shape, is_between, open->member, UINT32_MAX, open->root);
    struct gn_given_part part = {.call = open->call, .gathering = instance, .member = open->member};
    part.gives = g->shape == GN_SHAPE_ONE_TO_ALL
                     ? does.gives
                     : (does.gives || does.takes) && !(sparse && open->bytes_sent == 0);
    part.gets = does.takes && !(sparse && open->bytes_received == 0) && open->end_call != GN_NONE;
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
        struct gn_history_gathering *g = &h->gatherings[n->instance_of[i]];
        const struct gn_open_part *open = &m->open_parts[i];
        h->parts[g->first_part + g->part_count++] = part_from(m, open, g, n->instance_of[i]);
        if (gn_collective_is_sparse(open->op) && open->bytes_sent == GN_BYTES_UNKNOWN) /* its end was lost */
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

static bool is_consistent(const struct gn_history *h, const struct gn_history_gathering *g)
{
    for (uint32_t i = 1; i < g->part_count; i++)
        if (h->parts[g->first_part + i].member == h->parts[g->first_part + i - 1].member)
            return false;
    return true;
}

static void note_last(struct gn_history *h, struct gn_history_gathering *g)
{
    g->last = (struct gn_interval){INT64_MIN, INT64_MIN};
    g->is_whole = true;
    for (uint32_t i = 0; i < g->part_count; i++) {
        const struct gn_given_part *part = &h->parts[g->first_part + i];
        const struct gn_interval enter = h->calls[part->call].enter;
        g->is_whole = g->is_whole && part->gives && part->gets;
        if (g->shape == GN_SHAPE_ONE_TO_ALL && part->gives)
            g->root = g->first_part + i;
        if (!part->gives)
            continue;
        g->last.lo_ns = enter.lo_ns > g->last.lo_ns ? enter.lo_ns : g->last.lo_ns;
        g->last.hi_ns = enter.hi_ns > g->last.hi_ns ? enter.hi_ns : g->last.hi_ns;
    }
}

static uint32_t part_of_member(const struct gn_history *h, const struct gn_history_gathering *g,
                               uint32_t member)
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
static bool may_synchronise(const struct gn_history_make *m, const struct gn_history_gathering *g,
                            const struct gn_open_part *part)
{
    return !g->is_vague || g->is_partial || !m->h->parts[part_of_member(m->h, g, part->member)].gets ||
           m->h->calls[part->end_call].leave.hi_ns >= g->last.lo_ns;
}

static void refuse(struct gn_history *h, struct gn_history_gathering *g)
{
    for (uint32_t i = 0; i < g->part_count; i++)
        h->parts[g->first_part + i].gathering = GN_NONE;
    g->part_count = 0;
}

static bool is_one(const struct gn_history_make *m, const struct gn_history_gathering *g,
                   const struct gn_open_part *part)
{
    return part->op == g->op && g->part_count == size_of(m, part) && is_consistent(m->h, g) &&
           (g->shape != GN_SHAPE_ONE_TO_ALL || g->root != GN_NONE);
}

static void check_part(struct gn_history_make *m, struct numbering *n, uint32_t index)
{
    const struct gn_open_part *part = &m->open_parts[index];
    struct gn_history *h = m->h;
    struct gn_history_gathering *g = &h->gatherings[n->instance_of[index]];
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
        for (uint32_t i = first; i < end && h->gatherings[g].shape != GN_SHAPE_PREFIX; i++)
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
        const struct gn_history_gathering *g = &h->gatherings[n->instance_of[i]];
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
    gn_map_clear(&n.instances);
    free(n.instance_of);
    free(n.is_doubted);
    return code;
}

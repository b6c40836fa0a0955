/*
 * An order of calls in which each send that perhaps waited for its receiver is left after the receive was
 * posted. The sort's order need not be one: it keeps the members of each collective together, also of those
 * that MPI lets be left by one member before another one has come (MPI_Alltoallv, where nothing goes from one
 * to the other), and so a send may end there ahead of a receive that, in truth, its receiver had posted
 * since.
 *
 * So where the sort's order has such a send, calls are put into order again, by what certainly depends on
 * each other and by these sends; of what may come next, what was first in the sort's order. Sends that wait
 * for each other in a circle cannot all have waited: of what they hold up, what was first goes on.
 */
#include "analyse/history_inside.h"

#include <stdlib.h>
#include <string.h>

/* Things to put into order: steps, by their numbers in the sort's order, and behind them a hub for each part
 * of a collective, which comes when all has been given that the part takes. */
struct order {
    struct gn_history_make *m;
    uint32_t *certain, *perhaps; /* [things] so many have to come before it, and have not */
    uint32_t *first, *after;     /* things after thing t: after[first[t] … first[t + 1]] */
    uint8_t *is_perhaps;         /* of each of after */
    bool *is_done;
    struct queue {
        uint32_t *heap; /* the least first */
        size_t count;
    } ready, held;  /* held: only by sends */
    uint32_t *hubs; /* that come next */
    uint32_t *steps;
    size_t things, hub_count, step_count;
};

/* ---- queues ---- */

static void add(struct queue *q, uint32_t thing)
{
    size_t at = q->count++;
    for (; at > 0 && q->heap[(at - 1) / 2] > thing; at = (at - 1) / 2)
        q->heap[at] = q->heap[(at - 1) / 2];
    q->heap[at] = thing;
}

static uint32_t take(struct queue *q)
{
    const uint32_t least = q->heap[0], last = q->heap[--q->count];
    size_t at = 0;
    for (size_t next; (next = 2 * at + 1) < q->count; at = next) {
        next += next + 1 < q->count && q->heap[next + 1] < q->heap[next];
        if (q->heap[next] >= last)
            break;
        q->heap[at] = q->heap[next];
    }
    q->heap[at] = last;
    return least;
}

/* ---- what comes after what ---- */

typedef void pair(struct order *o, uint32_t before, uint32_t after, bool is_perhaps);

static void count_pair(struct order *o, uint32_t before, uint32_t after, bool is_perhaps)
{
    o->first[before + 1]++;
    (is_perhaps ? o->perhaps : o->certain)[after]++;
}

/* first[before] is where the next one goes. */
static void fill_pair(struct order *o, uint32_t before, uint32_t after, bool is_perhaps)
{
    o->is_perhaps[o->first[before]] = is_perhaps;
    o->after[o->first[before]++] = after;
}

static uint32_t hub_of(const struct order *o, uint32_t part)
{
    const struct gn_history *h = o->m->h;
    const struct gn_history_gathering *g = &h->gatherings[h->parts[part].gathering];
    return (uint32_t)h->step_count + (g->shape == GN_SHAPE_PREFIX ? part : g->first_part);
}

static void pair_gathering(struct order *o, const struct gn_history_gathering *g, pair *each)
{
    const struct gn_history_make *m = o->m;
    for (uint32_t i = g->first_part; i < g->first_part + g->part_count; i++) {
        const bool is_scan = g->shape == GN_SHAPE_PREFIX, has_next = i + 1 < g->first_part + g->part_count;
        const uint32_t to = is_scan ? i + 1 : i;
        if (m->h->parts[i].gives && (!is_scan || has_next))
            each(o, m->entered[m->h->parts[i].call], hub_of(o, to), false);
        if (is_scan && has_next)
            each(o, hub_of(o, i), hub_of(o, i + 1), false);
    }
}

static void pair_take(struct order *o, const struct gn_take *t, pair *each)
{
    const struct gn_history_make *m = o->m;
    if (t->kind == GN_TAKE_MESSAGE)
        each(o, m->entered[t->from], m->left[t->call], false);
    else if (t->kind == GN_TAKE_GATHERING && t->is_certain)
        each(o, hub_of(o, t->member), m->left[t->call], false);
}

struct pairing {
    struct order *o;
    pair *each;
};

static int pair_epoch(void *self, uint32_t waiter, uint32_t post)
{
    const struct pairing *p = self;
    p->each(p->o, p->o->m->entered[post], p->o->m->left[waiter], true);
    return 0;
}

static void pair_all(struct order *o, pair *each)
{
    const struct gn_history_make *m = o->m;
    const struct gn_history *h = m->h;
    for (uint32_t c = 0; c < h->call_count; c++) {
        each(o, m->entered[c], m->left[c], false);
        if (h->calls[c].before != GN_NONE)
            each(o, m->left[h->calls[c].before], m->entered[c], false);
    }
    for (size_t g = 0; g < h->gathering_count; g++)
        pair_gathering(o, &h->gatherings[g], each);
    for (size_t t = 0; t < h->take_count; t++)
        pair_take(o, &h->takes[t], each);
    for (size_t i = 0; i < m->matched_count; i++) {
        const uint32_t waiter = gn_history_waiter(m, &m->matched[i]);
        if (waiter != GN_NONE)
            each(o, m->entered[m->matched[i].posted], m->left[waiter], true);
    }
    gn_history_epochs_perhaps(o->m, pair_epoch, &(struct pairing){o, each});
}

static int pair_up(struct order *o)
{
    pair_all(o, count_pair);
    for (size_t t = 0; t < o->things; t++)
        o->first[t + 1] += o->first[t];
    o->after = malloc((o->first[o->things] + 1ul) * sizeof *o->after);
    o->is_perhaps = malloc(o->first[o->things] + 1ul);
    if (!o->after || !o->is_perhaps)
        return -ENOMEM;
    pair_all(o, fill_pair);
    memmove(o->first + 1, o->first, o->things * sizeof *o->first);
    o->first[0] = 0;
    return 0;
}

/* ---- the order ---- */

/* All that certainly comes before it has come. */
static void let(struct order *o, uint32_t thing)
{
    if (thing >= o->m->h->step_count)
        o->hubs[o->hub_count++] = thing;
    else
        add(o->perhaps[thing] > 0 ? &o->held : &o->ready, thing);
}

static void come(struct order *o, uint32_t thing)
{
    o->is_done[thing] = true;
    if (thing < o->m->h->step_count)
        o->steps[o->step_count++] = o->m->h->steps[thing];
    for (uint32_t i = o->first[thing]; i < o->first[thing + 1]; i++) {
        const uint32_t after = o->after[i];
        if (!o->is_perhaps[i] && --o->certain[after] == 0)
            let(o, after);
        else if (o->is_perhaps[i] && --o->perhaps[after] == 0 && o->certain[after] == 0 && !o->is_done[after])
            add(&o->ready, after);
    }
}

/* What was held and is not any more stands in both queues, and is taken out of the first that has it. */
static void put_in_order(struct order *o)
{
    for (uint32_t t = 0; t < o->things; t++)
        if (o->certain[t] == 0)
            let(o, t);
    while (o->hub_count || o->ready.count || o->held.count) {
        const uint32_t thing = o->hub_count     ? o->hubs[--o->hub_count]
                               : o->ready.count ? take(&o->ready)
                                                : take(&o->held);
        if (!o->is_done[thing])
            come(o, thing);
    }
}

/* ---- all ---- */

static int is_against(void *self, uint32_t waiter, uint32_t post)
{
    const struct gn_history_make *m = self;
    return m->entered[post] > m->left[waiter];
}

static bool holds(struct gn_history_make *m)
{
    for (size_t i = 0; i < m->matched_count; i++) {
        const uint32_t waiter = gn_history_waiter(m, &m->matched[i]);
        if (waiter != GN_NONE && m->entered[m->matched[i].posted] > m->left[waiter])
            return false;
    }
    return gn_history_epochs_perhaps(m, is_against, m) == 0;
}

static bool make_room(struct order *o)
{
    o->certain = calloc(o->things + 1, sizeof *o->certain);
    o->perhaps = calloc(o->things + 1, sizeof *o->perhaps);
    o->first = calloc(o->things + 2, sizeof *o->first);
    o->is_done = calloc(o->things + 1, sizeof *o->is_done);
    o->hubs = malloc((o->m->h->part_count + 1) * sizeof *o->hubs);
    o->ready.heap = malloc((o->m->h->step_count + 1) * sizeof *o->ready.heap);
    o->held.heap = malloc((o->m->h->step_count + 1) * sizeof *o->held.heap);
    o->steps = malloc((o->m->h->step_count + 1) * sizeof *o->steps);
    return o->certain && o->perhaps && o->first && o->is_done && o->hubs && o->ready.heap && o->held.heap &&
           o->steps;
}

static void clear(struct order *o)
{
    free(o->certain);
    free(o->perhaps);
    free(o->first);
    free(o->after);
    free(o->is_perhaps);
    free(o->is_done);
    free(o->hubs);
    free(o->ready.heap);
    free(o->held.heap);
    free(o->steps);
}

int gn_history_reorder(struct gn_history_make *m)
{
    struct gn_history *h = m->h;
    struct order o = {.m = m, .things = h->step_count + h->part_count};
    if (holds(m) || h->step_count != 2 * h->call_count || o.things >= UINT32_MAX)
        return 0;
    int code = make_room(&o) ? pair_up(&o) : -ENOMEM;
    if (code == 0)
        put_in_order(&o);
    if (code == 0 && o.step_count == h->step_count) { /* else events came in an order that no program has */
        memcpy(h->steps, o.steps, h->step_count * sizeof *h->steps);
        gn_history_renumber_steps(m);
    }
    clear(&o);
    return code;
}

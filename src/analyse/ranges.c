#include "analyse/ranges.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of vertices that are reached and not gone through yet lie in slots of a pool. */
struct walk {
    struct gn_tight *tight;
    const struct gn_ranges_of *of;
    size_t width;      /* ranges in a slot */
    uint32_t *slot_of; /* [vertices] or GN_NONE */
    struct gn_range *pool;
    uint32_t *unused; /* slots */
    size_t slots, slot_capacity, unused_count, unused_capacity;
};

static struct gn_range *slot(struct walk *w, uint32_t number)
{
    return w->pool + number * w->width;
}

static uint32_t take_slot(struct walk *w)
{
    if (w->unused_count)
        return w->unused[--w->unused_count];
    if (!gn_grow(&w->pool, &w->slot_capacity, w->slots, w->width * sizeof *w->pool) ||
        !gn_grow(&w->unused, &w->unused_capacity, w->slots, sizeof *w->unused))
        return GN_NONE;
    return (uint32_t)w->slots++;
}

static void give_back(struct walk *w, uint32_t number)
{
    w->unused[w->unused_count++] = number; /* it has room for all slots */
}

static void add_to(struct gn_range *range, double lo_ns, double hi_ns)
{
    range->lo_ns += lo_ns;
    range->hi_ns += hi_ns;
}

static uint32_t key_of(const struct walk *w, uint32_t row)
{
    return row == GN_NONE ? GN_NONE : w->of->keys[row];
}

static void add_pieces(struct walk *w, uint32_t call, struct gn_range *ranges)
{
    const struct gn_call *c = &w->tight->history->calls[call];
    for (uint32_t i = c->first_piece; i < c->first_piece + c->piece_count; i++) {
        const struct gn_piece *piece = &w->tight->history->pieces[i];
        const uint32_t key = key_of(w, w->of->of_piece[i]);
        if (key != GN_NONE)
            add_to(&ranges[key], piece->lo_ns, piece->hi_ns);
    }
}

static void merge(struct gn_range *restrict into, const struct gn_range *restrict from, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        into[i].lo_ns = from[i].lo_ns < into[i].lo_ns ? from[i].lo_ns : into[i].lo_ns;
        into[i].hi_ns = from[i].hi_ns > into[i].hi_ns ? from[i].hi_ns : into[i].hi_ns;
    }
}

/* Along an edge; the vertex's numbers are the edge's afterwards when is_last. False: no memory. */
static bool follow(struct walk *w, uint32_t number, uint32_t key, const struct gn_edge *edge, bool is_last)
{
    uint32_t *target = &w->slot_of[edge->to];
    const bool is_first = *target == GN_NONE;
    if (is_first && !is_last && (*target = take_slot(w)) == GN_NONE)
        return false;
    struct gn_range *ranges = slot(w, number), *crosses = &ranges[w->width - 1];
    const struct gn_range kept = key == GN_NONE ? *crosses : ranges[key], kept_crosses = *crosses;
    if (key != GN_NONE)
        add_to(&ranges[key], edge->lo_ns, edge->hi_ns);
    add_to(crosses, edge->crosses_lo_ns, edge->crosses_hi_ns);
    if (is_first && is_last) {
        *target = number;
        return true;
    }
    if (is_first)
        memcpy(slot(w, *target), ranges, w->width * sizeof *ranges);
    else
        merge(slot(w, *target), ranges, w->width);
    *crosses = kept_crosses;
    if (key != GN_NONE)
        ranges[key] = kept;
    if (is_last)
        give_back(w, number);
    return true;
}

static bool go_through(struct walk *w, uint32_t vertex)
{
    const uint32_t number = w->slot_of[vertex], first_hub = w->tight->first_hub;
    const bool is_call = vertex < first_hub;
    const uint32_t key = is_call && (vertex & 1) ? key_of(w, w->of->of_call[vertex >> 1]) : GN_NONE;
    if (is_call && !(vertex & 1))
        add_pieces(w, vertex >> 1, slot(w, number));
    const size_t count = gn_tight_edges(w->tight, vertex);
    for (size_t i = 0; i < count; i++)
        if (!follow(w, number, key, &w->tight->edges[i], i + 1 == count))
            return false;
    return true;
}

static bool begin(struct walk *w, const uint32_t *ends, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t number = take_slot(w);
        if (number == GN_NONE)
            return false;
        memset(slot(w, number), 0, w->width * sizeof *w->pool);
        w->slot_of[ends[i] << 1 | 1] = number;
    }
    return true;
}

static int walk(struct walk *w, uint32_t *ends, struct gn_range *ranges)
{
    const struct gn_tight *t = w->tight;
    memset(w->slot_of, 0xff, (t->origin + 1ul) * sizeof *w->slot_of);
    memset(ranges, 0, w->width * sizeof *ranges);
    if (!begin(w, ends, gn_tight_ends(t->history, ends)))
        return -ENOMEM;
    for (size_t i = 0; i < t->count && t->vertices[i] != t->origin; i++)
        if (!go_through(w, t->vertices[i]))
            return -ENOMEM;
    if (w->slot_of[t->origin] != GN_NONE)
        memcpy(ranges, slot(w, w->slot_of[t->origin]), w->width * sizeof *ranges);
    return 0;
}

int gn_ranges_find(struct gn_range *ranges, struct gn_tight *tight, const struct gn_ranges_of *of)
{
    struct walk w = {.tight = tight, .of = of, .width = of->count + 1};
    uint32_t *ends = malloc((tight->history->definitions->location_count + 1) * sizeof *ends);
    w.slot_of = malloc((tight->origin + 1ul) * sizeof *w.slot_of);
    const int code = ends && w.slot_of ? walk(&w, ends, ranges) : -ENOMEM;
    free(ends);
    free(w.slot_of);
    free(w.pool);
    free(w.unused);
    return code;
}

#include "analyse/wait_edges.h"

#include "base/grow.h"
#include "base/mix.h"
#include "event/collective.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *gn_wait_kind_name(enum gn_wait_kind kind)
{
    static const char *const names[] = {"late sender",   "late receiver",  "wait at barrier",
                                        "wait at N x N", "late broadcast", "early reduce",
                                        "early scan",    "wait at window"};
    return kind < GN_WAIT_KINDS ? names[kind] : "unknown";
}

static enum gn_wait_kind kind_of(const struct gn_history *h, uint32_t call, const struct gn_giver *giver)
{
    const uint32_t activity = gn_region_activity(h->definitions, h->calls[call].region);
    static const uint8_t of_shape[] = {[GN_SHAPE_ALL_TO_ALL] = GN_WAIT_NXN,
                                       [GN_SHAPE_ONE_TO_ALL] = GN_WAIT_LATE_BROADCAST,
                                       [GN_SHAPE_ALL_TO_ONE] = GN_WAIT_EARLY_REDUCE,
                                       [GN_SHAPE_PREFIX] = GN_WAIT_EARLY_SCAN};
    if (giver->gathering == GN_NONE && strcmp(gn_activity_def(activity)->group, "rma") == 0)
        return GN_WAIT_WINDOW;
    if (giver->gathering == GN_NONE)
        return giver->is_receiver ? GN_WAIT_LATE_RECEIVER : GN_WAIT_LATE_SENDER;
    const struct gn_history_gathering *g = &h->gatherings[giver->gathering];
    if (g->is_window)
        return GN_WAIT_WINDOW;
    return g->op == GN_COLLECTIVE_BARRIER ? GN_WAIT_BARRIER : (enum gn_wait_kind)of_shape[g->shape];
}

struct asked {
    const struct gn_wait_edge *items;
    const struct gn_wait_edge *edge;
};

static bool is_same(const void *context, uint32_t index)
{
    const struct asked *asked = context;
    const struct gn_wait_edge *a = asked->edge, *b = &asked->items[index];
    return a->location == b->location && a->region == b->region && a->path == b->path &&
           a->giver == b->giver && a->giver_region == b->giver_region && a->giver_path == b->giver_path &&
           a->kind == b->kind;
}

static uint64_t hash_of(const struct gn_wait_edge *edge)
{
    return gn_mix_at(gn_mix_at(edge->location, edge->path, edge->region),
                     (uint64_t)edge->giver << 32 | edge->giver_path,
                     (uint64_t)edge->giver_region << 8 | edge->kind);
}

int64_t gn_wait_edges_find(const struct gn_wait_edges *edges, const struct gn_wait_edge *edge)
{
    const struct asked asked = {edges->items, edge};
    return gn_lookup_find(&edges->index, hash_of(edge), is_same, &asked);
}

int64_t gn_wait_edges_put(struct gn_wait_edges *edges, const struct gn_wait_edge *edge)
{
    const int64_t at = gn_wait_edges_find(edges, edge);
    if (at == GN_LOOKUP_NOTHING) {
        if (!gn_grow(&edges->items, &edges->capacity, edges->count, sizeof *edges->items) ||
            !gn_lookup_add(&edges->index, hash_of(edge), (uint32_t)edges->count))
            return -ENOMEM;
        edges->items[edges->count] = *edge;
        return (int64_t)edges->count++;
    }
    edges->items[at].lo_ns += edge->lo_ns;
    edges->items[at].hi_ns += edge->hi_ns;
    edges->items[at].times += edge->times;
    edges->items[at].certain += edge->certain;
    return at;
}

int gn_wait_edges_add(struct gn_wait_edges *edges, const struct gn_givers *givers, uint32_t call,
                      struct gn_span waited)
{
    const struct gn_history *h = givers->history;
    const struct gn_giver *giver = &givers->list[0];
    const bool is_one = givers->count == 1, is_certain = is_one && giver->is_sure && waited.lo_ns > 0;
    const struct gn_wait_edge edge = {.location = h->calls[call].location,
                                      .region = h->calls[call].region,
                                      .path = h->calls[call].path,
                                      .giver = is_one ? h->calls[giver->call].location : GN_NONE,
                                      .giver_region = is_one ? h->calls[giver->call].region : GN_NONE,
                                      .giver_path = is_one ? h->calls[giver->call].path : GN_NONE,
                                      .kind = (uint8_t)kind_of(h, call, giver),
                                      .lo_ns = waited.lo_ns,
                                      .hi_ns = waited.hi_ns,
                                      .times = 1,
                                      .certain = is_certain};
    return gn_wait_edges_put(edges, &edge) >= 0 ? 0 : -ENOMEM;
}

static int compare(const void *left, const void *right)
{
    const struct gn_wait_edge *a = left, *b = right;
    if (a->lo_ns != b->lo_ns)
        return a->lo_ns < b->lo_ns ? 1 : -1;
    if (a->hi_ns != b->hi_ns)
        return a->hi_ns < b->hi_ns ? 1 : -1;
    if (a->location != b->location)
        return a->location < b->location ? -1 : 1;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    return a->giver < b->giver ? -1 : a->giver > b->giver;
}

void gn_wait_edges_sort(struct gn_wait_edges *edges)
{
    gn_lookup_clear(&edges->index);
    if (edges->count)
        qsort(edges->items, edges->count, sizeof *edges->items, compare);
}

void gn_wait_edges_clear(struct gn_wait_edges *edges)
{
    gn_lookup_clear(&edges->index);
    free(edges->items);
    *edges = (struct gn_wait_edges){.items = NULL};
}

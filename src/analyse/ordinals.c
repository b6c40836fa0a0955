#include "analyse/ordinals.h"

#include "base/grow.h"
#include "base/mix.h"

#include <errno.h>
#include <stdlib.h>

struct asked {
    const struct gn_ordinals_node *nodes;
    struct gn_ordinals_node node;
};

static bool is_same(const void *context, uint32_t index)
{
    const struct asked *asked = context;
    const struct gn_ordinals_node *a = &asked->node, *b = &asked->nodes[index];
    return a->location == b->location && a->region == b->region && a->path == b->path;
}

static int64_t find(const struct gn_ordinals *o, uint32_t location, uint32_t region, uint32_t path,
                    uint64_t *hash)
{
    const struct asked asked = {o->nodes, {location, region, path, 0}};
    *hash = gn_mix_at(location, path, region);
    return gn_lookup_find(&o->index, *hash, is_same, &asked);
}

/* NULL: no memory. */
static struct gn_ordinals_node *node_of(struct gn_ordinals *o, uint32_t location, uint32_t region,
                                        uint32_t path)
{
    uint64_t hash;
    const int64_t known = find(o, location, region, path, &hash);
    if (known != GN_LOOKUP_NOTHING)
        return &o->nodes[known];
    if (!gn_grow(&o->nodes, &o->capacity, o->node_count, sizeof *o->nodes) ||
        !gn_lookup_add(&o->index, hash, (uint32_t)o->node_count))
        return NULL;
    o->nodes[o->node_count] = (struct gn_ordinals_node){location, region, path, 0};
    return &o->nodes[o->node_count++];
}

int gn_ordinals_find(struct gn_ordinals *o, const struct gn_history *h)
{
    o->of_call = calloc(h->call_count + 1, sizeof *o->of_call);
    for (size_t i = 0; o->of_call && i < h->step_count; i++) {
        const uint32_t call = h->steps[i] >> 1;
        if (!(h->steps[i] & 1))
            continue;
        struct gn_ordinals_node *node =
            node_of(o, h->calls[call].location, h->calls[call].region, h->calls[call].path);
        if (!node)
            return -ENOMEM;
        const uint32_t count = ++node->count;
        o->of_call[call] = count - 1;
        node = node_of(o, GN_NONE, h->calls[call].region, h->calls[call].path);
        if (!node)
            return -ENOMEM;
        node->count = count > node->count ? count : node->count;
    }
    return o->of_call ? 0 : -ENOMEM;
}

uint32_t gn_ordinals_most(const struct gn_ordinals *o, uint32_t region, uint32_t path)
{
    uint64_t hash;
    const int64_t at = find(o, GN_NONE, region, path, &hash);
    return at == GN_LOOKUP_NOTHING ? 0 : o->nodes[at].count;
}

void gn_ordinals_clear(struct gn_ordinals *o)
{
    free(o->of_call);
    free(o->nodes);
    gn_lookup_clear(&o->index);
    *o = (struct gn_ordinals){.of_call = NULL};
}

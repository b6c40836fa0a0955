#include "clock/clocks_inside.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>

enum { PAIR_CAPACITY = 8192, MIN_CAPACITY = 16 };

/* What is kept must do for whatever is assumed later. */
static const double TOLERANCE = 1e-3;

struct gn_clocks *gn_clocks_new(size_t capacity)
{
    struct gn_clocks *clocks = calloc(1, sizeof *clocks);
    if (clocks)
        clocks->capacity = capacity == 0 ? PAIR_CAPACITY : capacity < MIN_CAPACITY ? MIN_CAPACITY : capacity;
    return clocks;
}

void gn_clocks_free(struct gn_clocks *clocks)
{
    if (!clocks)
        return;
    for (size_t i = 0; i < clocks->count; i++) {
        struct gn_domain *d = &clocks->domains[i];
        for (size_t k = 0; k < d->link_count; k++)
            if (d->links[k].from_other) {
                gn_pair_clear(d->links[k].from_other);
                free(d->links[k].from_other);
            }
        free(d->links);
        gn_domain_forget(d);
    }
    free(clocks->domains);
    gn_map_clear(&clocks->pairs);
    free(clocks);
}

uint32_t gn_clocks_add(struct gn_clocks *clocks, const struct gn_clock_def *def)
{
    if (clocks->count >= UINT32_MAX - 1 || !(def->hz >= 1) || !(def->hz <= 1e12) ||
        !gn_grow(&clocks->domains, &clocks->domain_capacity, clocks->count, sizeof *clocks->domains))
        return UINT32_MAX;
    struct gn_domain *fresh = &clocks->domains[clocks->count];
    *fresh = (struct gn_domain){.def = *def};
    if (fresh->def.granularity_ticks == 0)
        fresh->def.granularity_ticks = 1;
    gn_domain_forget(fresh);
    return (uint32_t)clocks->count++;
}

uint32_t gn_clocks_count(const struct gn_clocks *clocks)
{
    return (uint32_t)clocks->count;
}

const struct gn_clock_def *gn_clocks_def(const struct gn_clocks *clocks, uint32_t domain)
{
    return &clocks->domains[domain].def;
}

void gn_clocks_set_epoch(struct gn_clocks *clocks, uint64_t epoch_ticks)
{
    clocks->epoch_ticks = epoch_ticks;
}

/* ---- messages ---- */

static struct gn_key key_of(uint32_t from, uint32_t to)
{
    return (struct gn_key){from, to};
}

static struct gn_link *link_of(struct gn_clocks *clocks, uint32_t from, uint32_t to)
{
    struct gn_domain *d = &clocks->domains[from];
    for (size_t i = 0; i < d->link_count; i++)
        if (d->links[i].other == to)
            return &d->links[i];
    if (!gn_grow(&d->links, &d->link_capacity, d->link_count, sizeof *d->links))
        return NULL;
    size_t at = d->link_count++; /* by number, so that solving does not depend on who talked first */
    for (; at > 0 && d->links[at - 1].other > to; at--)
        d->links[at] = d->links[at - 1];
    d->links[at] = (struct gn_link){.other = to};
    return &d->links[at];
}

static struct gn_pair *new_pair(struct gn_clocks *clocks, uint32_t from, uint32_t to)
{
    struct gn_link *out = link_of(clocks, from, to), *in = link_of(clocks, to, from);
    struct gn_pair *pair = out && in ? malloc(sizeof *pair) : NULL;
    if (!pair || !gn_map_add(&clocks->pairs, key_of(from, to), pair)) {
        free(pair);
        return NULL;
    }
    gn_pair_begin(pair, clocks->domains[from].def.hz / clocks->domains[to].def.hz, TOLERANCE,
                  clocks->capacity);
    clocks->link_count += !out->from_other; /* pairs with messages, whichever way */
    out->to_other = pair;
    in->from_other = pair;
    return pair;
}

static struct gn_pair *find_pair(const struct gn_clocks *clocks, uint32_t from, uint32_t to)
{
    return gn_map_find(&clocks->pairs, key_of(from, to));
}

static int find_or_make(struct gn_clocks *clocks, uint32_t from, uint32_t to, struct gn_recent *recent)
{
    if (from >= clocks->count || to >= clocks->count || from == to)
        return -EINVAL;
    struct gn_pair *pair = find_pair(clocks, from, to);
    if (!pair && !(pair = new_pair(clocks, from, to)))
        return -ENOMEM;
    *recent = (struct gn_recent){from, to, pair};
    return 0;
}

int gn_clocks_message(struct gn_clocks *clocks, uint32_t from, uint64_t sent_ticks, uint32_t to,
                      uint64_t received_ticks)
{
    struct gn_recent *recent = &clocks->recent[(from * 2 + to) % GN_RECENT_PAIRS];
    if (!recent->pair || recent->from != from || recent->to != to) {
        int code = find_or_make(clocks, from, to, recent);
        if (code != 0)
            return code;
    }
    return gn_pair_add(recent->pair, sent_ticks, received_ticks) ? 0 : -ENOMEM;
}

uint64_t gn_clocks_messages(const struct gn_clocks *clocks, uint32_t from, uint32_t to)
{
    const struct gn_pair *pair = find_pair(clocks, from, to);
    return pair ? pair->messages : 0;
}

void gn_clocks_each_kept(const struct gn_clocks *clocks, uint32_t from, uint32_t to,
                         void (*each)(void *context, uint64_t sent_ticks, uint64_t received_ticks),
                         void *context)
{
    const struct gn_pair *pair = find_pair(clocks, from, to);
    for (size_t i = 0; pair && i < pair->count; i++)
        each(context, pair->kept[i].sent_ticks, pair->kept[i].received_ticks);
}

const struct gn_clock_state *gn_clocks_state(const struct gn_clocks *clocks, uint32_t domain)
{
    return &clocks->domains[domain].state;
}

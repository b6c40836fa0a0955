#include "capture/counts.h"

#include <stddef.h>

struct places {
    uint32_t set[2];
    uint64_t hash;
};

static struct places places_of(const struct gn_counts *counts, uint64_t where, int32_t tag)
{
    uint64_t hash = (where ^ (uint64_t)(uint32_t)tag << 20) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 32 ^ (uint32_t)tag) * 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 29;
    return (struct places){{(uint32_t)hash & (counts->sets - 1), (uint32_t)(hash >> 32) & (counts->sets - 1)},
                           hash};
}

void gn_counts_init(struct gn_counts *counts, uint32_t most_sets)
{
    counts->most_sets = most_sets;
    counts->sets = most_sets < GN_COUNT_FIRST_SETS ? most_sets : GN_COUNT_FIRST_SETS;
    for (uint32_t i = 0; i < GN_COUNT_RECENT; i++)
        counts->recent[i] = counts->slots[0];
}

static struct gn_count *find_in(struct gn_count *set, uint64_t where, int32_t tag)
{
    for (uint32_t way = 0; way < GN_COUNT_WAYS && set[way].where; way++)
        if (set[way].where == where && set[way].tag == tag)
            return &set[way];
    return NULL;
}

static struct gn_count *find_at(struct gn_counts *counts, const struct places *places, uint64_t where,
                                int32_t tag)
{
    struct gn_count *count = find_in(counts->slots[places->set[0]], where, tag);
    if (!count)
        count = find_in(counts->slots[places->set[1]], where, tag);
    if (count) {
        count->used = counts->clock;
        *gn_count_recent(counts, where, tag) = count;
    }
    return count;
}

struct gn_count *gn_count_find(struct gn_counts *counts, uint64_t where, int32_t tag)
{
    struct places places = places_of(counts, where, tag);
    return find_at(counts, &places, where, tag);
}

/* ---- classes ---- */

/* It must not follow from the sets. */
static uint32_t class_of(const struct places *places)
{
    return (uint32_t)(places->hash * 0x94d049bb133111ebu >> 40) & (GN_COUNT_CLASSES - 1);
}

static bool is_refused(const struct gn_counts *counts, const struct places *places)
{
    uint32_t class = class_of(places);
    return counts->refusing && (counts->classes[class / 64] >> class % 64 & 1);
}

static void refuse(struct gn_counts *counts, const struct places *places)
{
    uint32_t class = class_of(places);
    counts->refusing = true;
    counts->classes[class / 64] |= UINT64_C(1) << class % 64;
}

void gn_count_spoil(struct gn_counts *counts, uint64_t where, int32_t tag)
{
    struct places places = places_of(counts, where, tag);
    struct gn_count *count = find_at(counts, &places, where, tag);
    if (count)
        count->next = GN_COUNT_SPOILED;
    else
        refuse(counts, &places);
}

/* ---- room ---- */

static uint32_t fill_of(const struct gn_count *set)
{
    uint32_t fill = 0;
    while (fill < GN_COUNT_WAYS && set[fill].where)
        fill++;
    return fill;
}

/* The last one of the set takes its place. */
static void take_out(struct gn_count *set, uint32_t way)
{
    uint32_t last = fill_of(set) - 1;
    set[way] = set[last];
    set[last] = (struct gn_count){0};
}

static bool is_gone(const struct gn_counts *counts, uint64_t where)
{
    for (uint32_t i = 0; i < counts->gone_count; i++)
        if (counts->gone[i] == (uint32_t)((where >> 32) - 1))
            return true;
    return false;
}

/* Twice as many sets: each channel stays, or goes to the set that has the new bit; none can overflow. */
static void split(struct gn_counts *counts)
{
    uint32_t old = counts->sets;
    counts->sets = 2 * old;
    for (uint32_t set = 0; set < old; set++)
        for (uint32_t way = 0; way < GN_COUNT_WAYS && counts->slots[set][way].where;) {
            struct gn_count *count = &counts->slots[set][way];
            struct places places = places_of(counts, count->where, count->tag);
            uint32_t to = (places.set[0] & (old - 1)) == set ? places.set[0] : places.set[1];
            if (to == set) {
                way++;
                continue;
            }
            counts->slots[to][fill_of(counts->slots[to])] = *count;
            take_out(counts->slots[set], way);
        }
}

/* Of the 16 the one that was not used for longest; one of a communicator that is gone is as good as none. */
static struct gn_count *evict(struct gn_counts *counts, const struct places *places)
{
    struct gn_count *oldest = NULL;
    for (uint32_t i = 0; i < 2 * GN_COUNT_WAYS; i++) {
        struct gn_count *count = &counts->slots[places->set[i / GN_COUNT_WAYS]][i % GN_COUNT_WAYS];
        if (is_gone(counts, count->where))
            return count;
        if (!oldest || counts->clock - count->used > counts->clock - oldest->used)
            oldest = count;
    }
    struct places left = places_of(counts, oldest->where, oldest->tag);
    refuse(counts, &left);
    return oldest;
}

static struct gn_count *free_at(struct gn_counts *counts, const struct places *places)
{
    uint32_t fill[2] = {fill_of(counts->slots[places->set[0]]), fill_of(counts->slots[places->set[1]])};
    uint32_t emptier = fill[1] < fill[0];
    return fill[emptier] < GN_COUNT_WAYS ? &counts->slots[places->set[emptier]][fill[emptier]] : NULL;
}

struct gn_count *gn_count_make(struct gn_counts *counts, uint64_t where, int32_t tag)
{
    struct places places = places_of(counts, where, tag);
    struct gn_count *count = find_at(counts, &places, where, tag);
    if (count || is_refused(counts, &places))
        return count;
    while (!(count = free_at(counts, &places)) && counts->sets < counts->most_sets) {
        split(counts);
        places = places_of(counts, where, tag);
    }
    if (!count) {
        count = evict(counts, &places);
        if (is_refused(counts, &places)) /* it was of our own class */
            return NULL;
    }
    *count = (struct gn_count){.where = where, .tag = tag, .used = ++counts->clock};
    return *gn_count_recent(counts, where, tag) = count;
}

/* ---- communicators that are gone ---- */

static void sweep(struct gn_counts *counts)
{
    for (uint32_t set = 0; set < counts->sets; set++)
        for (uint32_t way = 0; way < GN_COUNT_WAYS && counts->slots[set][way].where;)
            if (is_gone(counts, counts->slots[set][way].where))
                take_out(counts->slots[set], way);
            else
                way++;
    counts->gone_count = 0;
}

void gn_counts_drop_comm(struct gn_counts *counts, uint32_t comm)
{
    counts->gone[counts->gone_count++] = comm;
    if (counts->gone_count == GN_COUNT_GONE)
        sweep(counts);
}

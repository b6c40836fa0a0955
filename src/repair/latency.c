/*
 * A sample is a set of (slice of time, pair of domains) with the smallest difference of receive and send in
 * each. Slices are doubled when there are too many, so the set follows from the messages, whatever their
 * order and whoever has seen them.
 *
 * The estimate is the smallest mean of a circle in any slice. Only its whole part matters, and slices cannot
 * but lower it: so each slice is asked whether it has a circle whose mean is below what is known, by Bellman
 * and Ford's algorithm on differences minus that. Nearly always there is none, which a few passes tell; when
 * there is one, its mean is the next bound, as in Newton's method.
 *
 * Where messages are few, the fast ones may close a circle only over several slices, and in one slice there
 * are but circles of slow ones. So slices are doubled as long as it can matter. The differences of a longer
 * one tell less, as clocks drift meanwhile: what they could is added there, so that drift alone never lowers
 * the estimate. What it may be too large by is then less than clocks go back in such a time (1 − γ).
 */
#include "repair/latency.h"

#include "base/grow.h"
#include "base/lookup.h"
#include "base/mix.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ENTRIES = 1 << 18, MOST_DOUBLINGS = 62 };

struct entry {
    int64_t slice; /* received / slice_ticks, to the lower whole number */
    uint32_t from, to;
    int64_t smallest; /* received − sent */
};

struct gn_latency_sample {
    uint32_t domains;
    uint32_t doublings;
    int64_t base_ticks; /* of a slice that was never doubled */
    double apart;       /* ticks per tick */
    int64_t *within;    /* [domains] smallest difference in a domain, INT64_MAX: no message */
    struct entry *entries;
    size_t count, capacity, most;
    struct gn_lookup index;
};

int gn_latency_open(struct gn_latency *latency, uint32_t domains, struct gn_error *err)
{
    *latency = (struct gn_latency){.domains = domains};
    latency->ticks = calloc((size_t)domains * domains + 1, sizeof *latency->ticks);
    return latency->ticks ? 0 : gn_fail(err, -ENOMEM, "no memory for latencies between %u domains", domains);
}

void gn_latency_close(struct gn_latency *latency)
{
    free(latency->ticks);
    *latency = (struct gn_latency){0};
}

/* ---- the sample ---- */

struct gn_latency_sample *gn_latency_sample_new(uint32_t domains, double ticks_per_second, double apart_ppm)
{
    struct gn_latency_sample *s = calloc(1, sizeof *s);
    int64_t *within = malloc(((size_t)domains + 1) * sizeof *within);
    if (!s || !within) {
        free(s);
        free(within);
        return NULL;
    }
    const double slice = ceil(ticks_per_second * 1e-3);
    const size_t pairs = (size_t)domains * domains;
    for (uint32_t i = 0; i < domains; i++)
        within[i] = INT64_MAX;
    *s = (struct gn_latency_sample){.domains = domains,
                                    .base_ticks = slice >= 1 && slice < 0x1p62 ? (int64_t)slice : 1,
                                    .apart = apart_ppm > 0 ? apart_ppm * 1e-6 : 0,
                                    .within = within,
                                    .most = 2 * pairs > LEAST_ENTRIES ? 2 * pairs : LEAST_ENTRIES};
    return s;
}

void gn_latency_sample_free(struct gn_latency_sample *sample)
{
    if (!sample)
        return;
    gn_lookup_clear(&sample->index);
    free(sample->entries);
    free(sample->within);
    free(sample);
}

static int64_t slice_of(const struct gn_latency_sample *s, int64_t ticks)
{
    const int64_t slice = ticks / s->base_ticks - (ticks % s->base_ticks < 0);
    return slice >> s->doublings;
}

static uint64_t hash_of(const struct entry *entry)
{
    return gn_mix(gn_mix((uint64_t)entry->slice) + ((uint64_t)entry->from << 32 | entry->to));
}

struct question {
    const struct entry *entries;
    struct entry key;
};

static bool is_same(const void *context, uint32_t value)
{
    const struct question *q = context;
    const struct entry *e = &q->entries[value];
    return e->slice == q->key.slice && e->from == q->key.from && e->to == q->key.to;
}

/* Of the current length of slices. */
static int put(struct gn_latency_sample *s, const struct entry *entry)
{
    const struct question question = {s->entries, *entry};
    const uint64_t hash = hash_of(entry);
    const int64_t found = gn_lookup_find(&s->index, hash, is_same, &question);
    if (found != GN_LOOKUP_NOTHING) {
        int64_t *smallest = &s->entries[found].smallest;
        *smallest = entry->smallest < *smallest ? entry->smallest : *smallest;
        return 0;
    }
    if (!gn_grow(&s->entries, &s->capacity, s->count, sizeof *s->entries) ||
        !gn_lookup_add(&s->index, hash, (uint32_t)s->count))
        return -ENOMEM;
    s->entries[s->count++] = *entry;
    return 0;
}

/* Doubles the slices; entries that fall together are put together in place. */
static int coarsen(struct gn_latency_sample *s)
{
    const size_t count = s->count;
    gn_lookup_clear(&s->index);
    s->count = 0;
    s->doublings++;
    for (size_t i = 0; i < count; i++) {
        struct entry entry = s->entries[i];
        entry.slice >>= 1;
        if (put(s, &entry) != 0)
            return -ENOMEM;
    }
    return 0;
}

static int add(struct gn_latency_sample *s, const struct entry *entry)
{
    int code = put(s, entry);
    while (code == 0 && s->count > s->most && s->doublings < MOST_DOUBLINGS)
        code = coarsen(s);
    return code;
}

static void add_within(struct gn_latency_sample *s, uint32_t domain, int64_t difference)
{
    if (difference < s->within[domain])
        s->within[domain] = difference;
}

/* Far beyond what a trace can have, and sums of many of it fit 128 bits. */
static int64_t difference_of(int64_t sent_ticks, int64_t received_ticks)
{
    const int64_t most = INT64_MAX - 1;
    const __int128 difference = (__int128)received_ticks - sent_ticks;
    return difference > most ? most : difference < -most ? -most : (int64_t)difference;
}

int gn_latency_sample_message(struct gn_latency_sample *sample, uint32_t from, uint32_t to,
                              int64_t sent_ticks, int64_t received_ticks)
{
    const int64_t difference = difference_of(sent_ticks, received_ticks);
    if (from >= sample->domains || to >= sample->domains)
        return -EINVAL;
    if (from != to)
        return add(sample, &(struct entry){slice_of(sample, received_ticks), from, to, difference});
    add_within(sample, from, difference);
    return 0;
}

/* ---- as bytes ---- */

struct packed {
    uint32_t domains, doublings;
    int64_t base_ticks;
    uint64_t count;
    /* int64_t within[domains]; struct entry entries[count]; */
};

static int by_pair(const struct entry *a, const struct entry *b)
{
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

static int by_slice(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->slice != y->slice ? (x->slice < y->slice ? -1 : 1) : by_pair(x, y);
}

int gn_latency_sample_pack(const struct gn_latency_sample *sample, void **bytes, size_t *size)
{
    const struct packed head = {sample->domains, sample->doublings, sample->base_ticks, sample->count};
    const size_t within = sample->domains * sizeof *sample->within;
    const size_t entries = sample->count * sizeof *sample->entries;
    uint8_t *at = malloc(sizeof head + within + entries);
    if (!at)
        return -ENOMEM;
    *bytes = at;
    *size = sizeof head + within + entries;
    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, sample->within, within);
    if (entries > 0)
        memcpy(at + sizeof head + within, sample->entries, entries);
    return 0;
}

static bool fits(const struct gn_latency_sample *sample, const struct packed *head, size_t size)
{
    const size_t rest = size - sizeof *head, within = sample->domains * sizeof *sample->within;
    return head->domains == sample->domains && head->doublings <= MOST_DOUBLINGS &&
           head->base_ticks == sample->base_ticks && rest >= within &&
           (rest - within) % sizeof(struct entry) == 0 &&
           (rest - within) / sizeof(struct entry) == head->count;
}

int gn_latency_sample_unpack(struct gn_latency_sample *sample, const void *bytes, size_t size)
{
    struct packed head;
    if (size < sizeof head)
        return -EINVAL;
    memcpy(&head, bytes, sizeof head);
    if (!fits(sample, &head, size))
        return -EINVAL;
    const uint8_t *at = (const uint8_t *)bytes + sizeof head;
    for (uint32_t i = 0; i < head.domains; i++, at += sizeof(int64_t)) {
        int64_t difference;
        memcpy(&difference, at, sizeof difference);
        add_within(sample, i, difference);
    }
    int code = 0;
    while (code == 0 && sample->doublings < head.doublings)
        code = coarsen(sample);
    for (uint64_t i = 0; i < head.count && code == 0; i++, at += sizeof(struct entry)) {
        struct entry entry;
        memcpy(&entry, at, sizeof entry);
        if (entry.from >= head.domains || entry.to >= head.domains || entry.from == entry.to ||
            entry.smallest == INT64_MAX)
            return -EINVAL;
        entry.slice >>= sample->doublings - head.doublings; /* add() may double them */
        code = add(sample, &entry);
    }
    return code;
}

/* ---- the smallest mean of a circle ---- */

struct node {
    __int128 distance;
    uint32_t parent; /* domain */
    int64_t edge;    /* from it: the difference */
    uint64_t mark;
};

struct circles {
    struct node *nodes; /* by domain */
    uint32_t *touched;  /* domains that occur in the slice */
    uint32_t touched_count;
    uint64_t mark;
    int64_t bound; /* whole part of the smallest mean so far; before there is any: above all of them */
    bool any;
};

static const uint32_t no_parent = UINT32_MAX;

static void touch(struct circles *c, uint32_t domain)
{
    struct node *node = &c->nodes[domain];
    if (node->mark == c->mark)
        return;
    node->mark = c->mark;
    node->parent = no_parent;
    c->touched[c->touched_count++] = domain;
}

/* Distances stay those of the slice before: clocks are much the same there, so little is left to do. */
static void start_slice(struct circles *c, const struct entry *edges, size_t count)
{
    c->mark++;
    c->touched_count = 0;
    for (size_t i = 0; i < count; i++) {
        touch(c, edges[i].from);
        touch(c, edges[i].to);
    }
}

static bool relax(struct circles *c, const struct entry *edges, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        struct node *to = &c->nodes[edges[i].to];
        const __int128 distance = c->nodes[edges[i].from].distance + edges[i].smallest - c->bound;
        if (distance < to->distance) {
            to->distance = distance;
            to->parent = edges[i].from;
            to->edge = edges[i].smallest;
            any = true;
        }
    }
    return any;
}

static int64_t whole_mean(__int128 sum, int64_t count)
{
    return (int64_t)(sum / count - (sum % count < 0));
}

/* The domain is on a circle of parents. */
static int64_t mean_of(const struct circles *c, uint32_t domain)
{
    __int128 sum = 0;
    int64_t count = 0;
    for (uint32_t i = domain; i != domain || count == 0; i = c->nodes[i].parent, count++)
        sum += c->nodes[i].edge;
    return whole_mean(sum, count);
}

/* Circles of parents have a mean below the bound: the smallest whole part of theirs; the bound itself when
 * there are none. */
static int64_t least_of_parents(struct circles *c)
{
    int64_t least = c->bound;
    const uint64_t before = c->mark;
    for (uint32_t i = 0; i < c->touched_count; i++) {
        const uint64_t mine = ++c->mark;
        uint32_t at = c->touched[i];
        while (at != no_parent && c->nodes[at].mark <= before) {
            c->nodes[at].mark = mine;
            at = c->nodes[at].parent;
        }
        if (at == no_parent || c->nodes[at].mark != mine)
            continue;
        const int64_t mean = mean_of(c, at);
        least = mean < least ? mean : least;
    }
    return least;
}

/* Whether the slice has a circle with a mean below the bound; then the bound is lower. */
static bool lower(struct circles *c, const struct entry *edges, size_t count)
{
    start_slice(c, edges, count);
    while (relax(c, edges, count)) {
        const int64_t least = least_of_parents(c);
        if (least == c->bound)
            continue;
        c->bound = least;
        c->any = true;
        return true;
    }
    return false;
}

/* What clocks could drift from each other in a slice that was doubled so often. */
static int64_t drift_of(const struct gn_latency_sample *s, uint32_t doublings)
{
    const double drift = ceil(s->apart * ldexp((double)s->base_ticks, (int)doublings));
    return drift < 0x1p62 ? (int64_t)drift : (int64_t)1 << 62;
}

/* Of slices one after the other. */
static void look_through(struct circles *c, const struct entry *edges, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && edges[end].slice == edges[first].slice;)
            end++;
        while (lower(c, edges + first, end - first))
            ;
    }
}

/* Two neighbouring slices, [first, middle) and [middle, end), become one. Returns how many entries it has. */
static size_t unite(struct entry *to, const struct entry *first, const struct entry *middle,
                    const struct entry *end, int64_t slice)
{
    struct entry *const begin = to;
    for (const struct entry *a = first, *b = middle; a < middle || b < end; to++) {
        const int order = a == middle ? 1 : b == end ? -1 : by_pair(a, b);
        *to = order > 0 ? *b : *a;
        to->slice = slice;
        if (order == 0 && b->smallest < to->smallest)
            to->smallest = b->smallest;
        a += order <= 0;
        b += order >= 0;
    }
    return (size_t)(to - begin);
}

/* What is in order stays so. Returns how many entries there are. */
static size_t double_slices(struct entry *to, const struct entry *from, size_t count)
{
    size_t made = 0;
    for (size_t first = 0, middle, end; first < count; first = end) {
        const int64_t slice = from[first].slice >> 1;
        for (middle = first; middle < count && from[middle].slice == from[first].slice;)
            middle++;
        for (end = middle; end < count && from[end].slice >> 1 == slice;)
            end++;
        made += unite(to + made, from + first, from + middle, from + end, slice);
    }
    return made;
}

/* Circles of longer slices. edges, spare: [count] each. */
static void look_further(const struct gn_latency_sample *s, struct circles *c, struct entry *edges,
                         struct entry *spare, size_t count)
{
    int64_t smallest = INT64_MAX, most = c->bound - drift_of(s, s->doublings);
    for (size_t i = 0; i < count; i++)
        smallest = edges[i].smallest < smallest ? edges[i].smallest : smallest;
    most = most > 0 ? most : 0;
    for (uint32_t k = s->doublings + 1; k <= MOST_DOUBLINGS && edges[0].slice != edges[count - 1].slice;
         k++) {
        const int64_t drift = drift_of(s, k);
        if (most == 0 || most - drift <= smallest) /* no mean is below all differences */
            break;
        struct entry *const longer = spare;
        count = double_slices(longer, edges, count);
        spare = edges;
        edges = longer;
        c->bound = most - drift;
        look_through(c, edges, count);
        most = c->bound + drift > 0 ? c->bound + drift : 0;
    }
    c->bound = most;
}

/* c->bound: the estimate, when there is any circle. */
static int find_circles(const struct gn_latency_sample *s, struct circles *c)
{
    struct entry *edges = malloc((s->count + 1) * sizeof *edges);
    struct entry *spare = malloc((s->count + 1) * sizeof *spare);
    c->nodes = calloc((size_t)s->domains + 1, sizeof *c->nodes);
    c->touched = malloc(((size_t)s->domains + 1) * sizeof *c->touched);
    const bool fits = edges && spare && c->nodes && c->touched;
    if (fits && s->count > 0) {
        memcpy(edges, s->entries, s->count * sizeof *edges);
        qsort(edges, s->count, sizeof *edges, by_slice);
        c->bound = INT64_MIN;
        for (size_t i = 0; i < s->count; i++)
            c->bound = edges[i].smallest >= c->bound ? edges[i].smallest + 1 : c->bound;
        look_through(c, edges, s->count);
        if (c->any)
            look_further(s, c, edges, spare, s->count);
    }
    free(edges);
    free(spare);
    return fits ? 0 : -ENOMEM;
}

/* ---- the estimate ---- */

/* Smallest differences of pairs; INT64_MAX where there is no message. Returns the smallest of all. */
static int64_t smallest_of_pairs(const struct gn_latency_sample *s, int64_t *ticks)
{
    const size_t pairs = (size_t)s->domains * s->domains;
    int64_t smallest = INT64_MAX;
    for (size_t i = 0; i < pairs; i++)
        ticks[i] = INT64_MAX;
    for (size_t i = 0; i < s->count; i++) {
        const struct entry *e = &s->entries[i];
        int64_t *pair = &ticks[(size_t)e->from * s->domains + e->to];
        *pair = e->smallest < *pair ? e->smallest : *pair;
        smallest = e->smallest < smallest ? e->smallest : smallest;
    }
    return smallest;
}

/* Never above the means of circles; nor, where messages are reversed, above the most that clocks are proven
 * to be wrong by: receivers that were busy whenever messages came make all circles slow, and a message would
 * be put forward by that. */
static int64_t most_between(const struct circles *c, int64_t smallest)
{
    if (smallest >= 0)
        return c->any ? c->bound : smallest;
    const int64_t wrong = smallest > -INT64_MAX ? -smallest : INT64_MAX;
    return !c->any ? 0 : c->bound < wrong ? c->bound : wrong;
}

static int64_t between_domains(const struct gn_latency_sample *s, int64_t *ticks, int64_t most)
{
    const size_t pairs = (size_t)s->domains * s->domains;
    int64_t between = INT64_MAX;
    for (size_t i = 0; i < pairs; i++) {
        if (ticks[i] == INT64_MAX)
            continue;
        if (ticks[i] < 0 || ticks[i] > most)
            ticks[i] = most;
        between = ticks[i] < between ? ticks[i] : between;
    }
    between = between == INT64_MAX ? 0 : between;
    for (size_t i = 0; i < pairs; i++)
        if (ticks[i] == INT64_MAX)
            ticks[i] = between;
    return between;
}

int gn_latency_estimate(const struct gn_latency_sample *sample, struct gn_latency *latency)
{
    struct circles c = {0};
    int code = find_circles(sample, &c);
    free(c.nodes);
    free(c.touched);
    if (code)
        return code;
    const int64_t smallest = smallest_of_pairs(sample, latency->ticks);
    latency->between_ticks = between_domains(sample, latency->ticks, most_between(&c, smallest));
    for (uint32_t i = 0; i < sample->domains; i++) {
        int64_t within = sample->within[i] == INT64_MAX || sample->within[i] < 0 ? 0 : sample->within[i];
        if (sample->count > 0 && within > latency->between_ticks)
            within = latency->between_ticks;
        latency->ticks[(size_t)i * sample->domains + i] = within;
    }
    return 0;
}

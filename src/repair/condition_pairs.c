#include "repair/condition_pairs.h"

#include "event/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef __int128 wide; /* sums of times of many members */

/* A node of a tree of partial sums. */
struct sum {
    uint64_t count;
    wide ticks;
};

/* The begins in one order: by time; or by domain, and then by time. */
struct row {
    uint32_t *order;  /* [count] givers */
    uint32_t *place;  /* [count] of each giver */
    struct sum *sums; /* [count + 1] of those that are in */
};

/* The givers of a domain: row `by_domain` from first to end; and the two latest that are in. */
struct group {
    uint32_t first, end;
    uint32_t latest, second; /* givers; GN_NONE */
};

struct tally {
    const struct gn_pair_side *givers;
    uint32_t count;
    struct row by_time, by_domain;
    struct group *groups; /* [group_count] ascending domains */
    uint32_t *group_of;   /* [count] of each giver */
    uint32_t group_count;
    uint32_t leading,
        runner_up; /* the groups whose latest giver is the latest of all, and the next; GN_NONE */
};

int64_t gn_pairs_latency(const struct gn_latency *latency, uint32_t from, uint32_t to)
{
    if (!latency)
        return 0;
    if (from != to || from >= latency->domains)
        return latency->between_ticks;
    int64_t within = gn_latency_of(latency, from, to);
    return within < latency->between_ticks ? within : latency->between_ticks;
}

/* ---- partial sums ---- */

static void sums_add(struct sum *sums, uint32_t count, uint32_t at, int64_t ticks)
{
    for (uint32_t i = at + 1; i <= count; i += i & -i) {
        sums[i].count++;
        sums[i].ticks += ticks;
    }
}

/* Of the first `count` places. */
static struct sum sums_of(const struct sum *sums, uint32_t count)
{
    struct sum all = {0, 0};
    for (uint32_t i = count; i > 0; i -= i & -i) {
        all.count += sums[i].count;
        all.ticks += sums[i].ticks;
    }
    return all;
}

/* The first place from `first` on, up to `end`, with a giver after `ticks`. */
static uint32_t place_after(const struct tally *t, const struct row *row, uint32_t first, uint32_t end,
                            int64_t ticks)
{
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (t->givers[row->order[middle]].ticks > ticks)
            end = middle;
        else
            first = middle + 1;
    }
    return first;
}

/* The givers in a row's places from first to end that are in, and after `ticks`. */
static struct sum later_than(const struct tally *t, const struct row *row, uint32_t first, uint32_t end,
                             int64_t ticks)
{
    struct sum all = sums_of(row->sums, end);
    struct sum before = sums_of(row->sums, place_after(t, row, first, end, ticks));
    return (struct sum){all.count - before.count, all.ticks - before.ticks};
}

/* ---- the begins ---- */

static int by_time(const void *a, const void *b, void *with)
{
    const struct gn_pair_side *givers = with;
    const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    if (givers[one].ticks != givers[other].ticks)
        return givers[one].ticks < givers[other].ticks ? -1 : 1;
    return one < other ? -1 : one > other;
}

static int by_domain(const void *a, const void *b, void *with)
{
    const struct gn_pair_side *givers = with;
    const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    if (givers[one].domain != givers[other].domain)
        return givers[one].domain < givers[other].domain ? -1 : 1;
    return by_time(a, b, with);
}

static void sort_row(struct tally *t, struct row *row, int (*compare)(const void *, const void *, void *))
{
    for (uint32_t i = 0; i < t->count; i++)
        row->order[i] = i;
    qsort_r(row->order, t->count, sizeof *row->order, compare, (void *)(uintptr_t)t->givers);
    for (uint32_t i = 0; i < t->count; i++)
        row->place[row->order[i]] = i;
    memset(row->sums, 0, (t->count + 1) * sizeof *row->sums);
}

static void make_groups(struct tally *t)
{
    const struct row *row = &t->by_domain;
    for (uint32_t i = 0; i < t->count; i++) {
        if (i == 0 || t->givers[row->order[i]].domain != t->givers[row->order[i - 1]].domain)
            t->groups[t->group_count++] = (struct group){i, i, GN_NONE, GN_NONE};
        t->groups[t->group_count - 1].end = i + 1;
        t->group_of[row->order[i]] = t->group_count - 1;
    }
}

/* The group of a domain; GN_NONE: it has no givers. */
static uint32_t find_group(const struct tally *t, uint32_t domain)
{
    uint32_t first = 0, end = t->group_count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (t->givers[t->by_domain.order[t->groups[middle].first]].domain < domain)
            first = middle + 1;
        else
            end = middle;
    }
    bool found =
        first < t->group_count && t->givers[t->by_domain.order[t->groups[first].first]].domain == domain;
    return found ? first : GN_NONE;
}

static void *take(char **at, size_t bytes)
{
    void *taken = *at;
    *at += (bytes + 15) & ~(size_t)15;
    return taken;
}

/* Everything that depends on the number of givers, in the scratch memory. */
static bool open_tally(struct tally *t, struct gn_pairs *p)
{
    const size_t n = p->givers.count, index = n * sizeof(uint32_t);
    const size_t sums = (n + 1) * sizeof(struct sum), groups = n * sizeof(struct group);
    const size_t bytes = 5 * (index + 16) + 2 * (sums + 16) + groups + 16;
    if (bytes > p->scratch_bytes) {
        free(p->scratch);
        p->scratch = malloc(bytes);
        p->scratch_bytes = p->scratch ? bytes : 0;
    }
    char *at = p->scratch;
    if (!at)
        return false;
    *t = (struct tally){.givers = p->givers.sides, .count = (uint32_t)n};
    t->by_time = (struct row){take(&at, index), take(&at, index), NULL};
    t->by_domain = (struct row){take(&at, index), take(&at, index), NULL};
    t->by_time.sums = take(&at, sums);
    t->by_domain.sums = take(&at, sums);
    t->groups = take(&at, groups);
    t->group_of = take(&at, index);
    t->leading = t->runner_up = GN_NONE;
    sort_row(t, &t->by_time, by_time);
    sort_row(t, &t->by_domain, by_domain);
    make_groups(t);
    return true;
}

static int64_t latest_of(const struct tally *t, uint32_t group)
{
    return group == GN_NONE ? -1 : t->givers[t->groups[group].latest].ticks;
}

static void rank_group(struct tally *t, uint32_t group)
{
    if (group == t->leading)
        return;
    if (latest_of(t, group) > latest_of(t, t->leading)) {
        t->runner_up = t->leading;
        t->leading = group;
    } else if (latest_of(t, group) > latest_of(t, t->runner_up)) {
        t->runner_up = group;
    }
}

static void let_in(struct tally *t, uint32_t giver)
{
    const int64_t ticks = t->givers[giver].ticks;
    struct group *g = &t->groups[t->group_of[giver]];
    sums_add(t->by_time.sums, t->count, t->by_time.place[giver], ticks);
    sums_add(t->by_domain.sums, t->count, t->by_domain.place[giver], ticks);
    if (g->latest == GN_NONE || ticks > t->givers[g->latest].ticks) {
        g->second = g->latest;
        g->latest = giver;
    } else if (g->second == GN_NONE || ticks > t->givers[g->second].ticks) {
        g->second = giver;
    }
    rank_group(t, t->group_of[giver]);
}

/* ---- one end ---- */

struct asking {
    const struct gn_pair_side *end;
    uint32_t group; /* of its domain; GN_NONE */
    uint32_t self;  /* its own begin, when that is in; GN_NONE */
    int64_t within, between;
};

static uint64_t count_violating(const struct tally *t, const struct asking *a)
{
    const int64_t far = a->end->ticks - a->between, near = a->end->ticks - a->within;
    uint64_t count = later_than(t, &t->by_time, 0, t->count, far).count;
    if (a->group == GN_NONE)
        return count;
    const struct group *g = &t->groups[a->group];
    count -= later_than(t, &t->by_domain, g->first, g->end, far).count;
    count += later_than(t, &t->by_domain, g->first, g->end, near).count;
    return count - (a->self != GN_NONE && t->givers[a->self].ticks > near);
}

static void count_reversed(const struct tally *t, const struct asking *a, struct gn_condition_count *count)
{
    struct sum reversed = later_than(t, &t->by_time, 0, t->count, a->end->ticks);
    if (a->self != GN_NONE && t->givers[a->self].ticks > a->end->ticks) {
        reversed.count--;
        reversed.ticks -= t->givers[a->self].ticks;
    }
    count->reversed += reversed.count;
    count->error_ticks_sum += (double)(reversed.ticks - (wide)reversed.count * a->end->ticks);
}

/* How much is missing to the end from a giver, in its domain's latest or that of another. */
static void look_at(const struct tally *t, const struct asking *a, uint32_t giver, int64_t latency,
                    struct gn_condition_count *count, struct gn_condition *whole)
{
    if (giver == GN_NONE)
        return;
    const struct gn_pair_side *begin = &t->givers[giver];
    const int64_t early = begin->ticks - a->end->ticks, missing = early + latency;
    if (early > count->error_ticks_max)
        count->error_ticks_max = early;
    if (missing <= count->worst_ticks)
        return;
    if (whole && missing > gn_condition_worst_ticks(whole))
        whole->worst = (struct gn_condition_message){begin->location, a->end->location, begin->ticks,
                                                     a->end->ticks, true};
    count->worst_ticks = missing;
}

static void look_for_worst(const struct tally *t, const struct asking *a, struct gn_condition_count *count,
                           struct gn_condition *whole)
{
    const uint32_t other = t->leading == a->group ? t->runner_up : t->leading;
    if (other != GN_NONE)
        look_at(t, a, t->groups[other].latest, a->between, count, whole);
    if (a->group == GN_NONE)
        return;
    const struct group *g = &t->groups[a->group];
    look_at(t, a, g->latest == a->self ? g->second : g->latest, a->within, count, whole);
}

/* ---- all ends ---- */

static uint64_t pairs_of(const struct gn_pairs *p)
{
    const struct gn_pair_list *from = &p->givers, *to = &p->getters;
    uint64_t pairs = 0;
    for (size_t i = 0, below = 0; i < to->count; i++) {
        while (below < from->count && from->sides[below].member < to->sides[i].member)
            below++;
        bool self = below < from->count && from->sides[below].member == to->sides[i].member;
        pairs += p->prefix ? below : from->count - self;
    }
    return pairs;
}

static bool all_is_well(const struct gn_pairs *p)
{
    const int64_t latency = p->latency ? p->latency->between_ticks : 0;
    int64_t latest = 0, earliest = INT64_MAX;
    for (size_t i = 0; i < p->givers.count; i++)
        latest = p->givers.sides[i].ticks > latest ? p->givers.sides[i].ticks : latest;
    for (size_t i = 0; i < p->getters.count; i++)
        earliest = p->getters.sides[i].ticks < earliest ? p->getters.sides[i].ticks : earliest;
    return latest <= earliest - latency;
}

static struct asking asking_of(const struct tally *t, const struct gn_pairs *p,
                               const struct gn_pair_side *end, uint32_t self)
{
    return (struct asking){.end = end,
                           .group = find_group(t, end->domain),
                           .self = self,
                           .within = gn_pairs_latency(p->latency, end->domain, end->domain),
                           .between = p->latency ? p->latency->between_ticks : 0};
}

/* What is done with each end, with all begins in that it may depend on. */
struct visit {
    void (*end)(const struct tally *t, const struct asking *a, void *with);
    void *with;
};

static void visit_ends(const struct gn_pairs *p, struct tally *t, const struct visit *visit)
{
    uint32_t next = 0, entered = 0;
    for (size_t i = 0; i < p->getters.count; i++) {
        const struct gn_pair_side *end = &p->getters.sides[i];
        while (next < t->count && t->givers[next].member < end->member)
            next++;
        for (; entered < (p->prefix ? next : t->count); entered++)
            let_in(t, entered);
        const bool self = !p->prefix && next < t->count && t->givers[next].member == end->member;
        const struct asking a = asking_of(t, p, end, self ? next : GN_NONE);
        visit->end(t, &a, visit->with);
    }
}

struct counting {
    struct gn_condition_count *count;
    struct gn_condition *whole;
};

static void count_end(const struct tally *t, const struct asking *a, void *with)
{
    const struct counting *c = with;
    c->count->violating += count_violating(t, a);
    count_reversed(t, a, c->count);
    look_for_worst(t, a, c->count, c->whole);
}

int gn_pairs_count(struct gn_pairs *p, struct gn_condition_count *count, struct gn_condition *whole)
{
    struct tally t;
    struct counting counting = {count, whole};
    if (p->givers.count == 0 || p->getters.count == 0)
        return 0;
    count->messages += pairs_of(p);
    if (all_is_well(p))
        return 0;
    if (!open_tally(&t, p))
        return -ENOMEM;
    visit_ends(p, &t, &(struct visit){count_end, &counting});
    return 0;
}

/* ---- within domains, and between them ---- */

static bool has_one_domain(const struct gn_pairs *p)
{
    const uint32_t domain = p->givers.sides[0].domain;
    for (size_t i = 0; i < p->givers.count; i++)
        if (p->givers.sides[i].domain != domain)
            return false;
    for (size_t i = 0; i < p->getters.count; i++)
        if (p->getters.sides[i].domain != domain)
            return false;
    return true;
}

static void split_end(const struct tally *t, const struct asking *a, void *with)
{
    enum { ALL = -1 }; /* all ticks are later */
    struct gn_pairs_split *split = with;
    const int64_t ticks = a->end->ticks;
    const bool is_self_in = a->self != GN_NONE;
    const bool is_self_later = is_self_in && t->givers[a->self].ticks > ticks;
    uint64_t within = 0, reversed = 0;
    if (a->group != GN_NONE) {
        const struct group *g = &t->groups[a->group];
        within = later_than(t, &t->by_domain, g->first, g->end, ALL).count;
        reversed = later_than(t, &t->by_domain, g->first, g->end, ticks).count;
    }
    split->between += later_than(t, &t->by_time, 0, t->count, ALL).count - within;
    split->between_reversed += later_than(t, &t->by_time, 0, t->count, ticks).count - reversed;
    split->within += within - is_self_in; /* the own begin is of the end's domain */
    split->within_reversed += reversed - is_self_later;
}

int gn_pairs_split(struct gn_pairs *p, struct gn_pairs_split *split)
{
    struct tally t;
    *split = (struct gn_pairs_split){0};
    if (p->givers.count == 0 || p->getters.count == 0)
        return 0;
    if (has_one_domain(p) && all_is_well(p)) {
        split->within = pairs_of(p);
        return 0;
    }
    if (!open_tally(&t, p))
        return -ENOMEM;
    visit_ends(p, &t, &(struct visit){split_end, split});
    return 0;
}

void gn_pairs_clear(struct gn_pairs *p)
{
    free(p->givers.sides);
    free(p->getters.sides);
    free(p->scratch);
    *p = (struct gn_pairs){.prefix = false};
}

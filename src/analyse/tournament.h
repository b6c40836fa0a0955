/*
 * analyse/tournament — the least of many sorted sequences' next keys, over and over: a tree of losers (Knuth,
 * The Art of Computer Programming 3, 5.4.1). A step takes one comparison per level, along a path that is
 * known before the comparisons are made; a heap takes two, and the path depends on them.
 */
#ifndef GNOMON_ANALYSE_TOURNAMENT_H
#define GNOMON_ANALYSE_TOURNAMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The order is total: by key, then by the second one, then by number; sequences that have ended come after
 * all others. */
struct gn_contestant {
    int64_t key, second;
    uint32_t number; /* of the sequence */
    uint32_t ended;  /* 0 or 1 */
};
struct gn_tournament {
    struct gn_contestant *tree; /* [0] the winner; [i] the loser between what is below 2 i and 2 i + 1 */
    size_t count;
};

static inline bool gn_contestant_wins(struct gn_contestant a, struct gn_contestant b)
{
    if (__builtin_expect(a.key != b.key, 1))
        return a.key < b.key;
    if (a.second != b.second)
        return a.second < b.second;
    return ((uint64_t)a.ended << 32 | a.number) < ((uint64_t)b.ended << 32 | b.number);
}

static inline struct gn_contestant gn_contestant(size_t number, int64_t key, int64_t second)
{
    return (struct gn_contestant){key, second, (uint32_t)number, 0};
}

/* There is nothing more in the sequence. */
static inline struct gn_contestant gn_contestant_ended(size_t number)
{
    return (struct gn_contestant){INT64_MAX, INT64_MAX, (uint32_t)number, 1};
}

/* first: [count] contestants by number, count ≥ 1. False: no memory. */
bool gn_tournament_new(struct gn_tournament *t, const struct gn_contestant *first, size_t count);
void gn_tournament_clear(struct gn_tournament *t);

/* In the place of the winner, whose number it has: the next of its sequence. */
static inline void gn_tournament_replace(struct gn_tournament *t, struct gn_contestant next)
{
    for (size_t at = (next.number + t->count) / 2; at > 0; at /= 2) {
        struct gn_contestant other = t->tree[at];
        bool loses = gn_contestant_wins(other, next);
        t->tree[at] = loses ? next : other;
        next = loses ? other : next;
    }
    t->tree[0] = next;
}

#endif

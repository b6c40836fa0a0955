/*
 * repair/condition_pairs — the logical messages of one collective: how many of them violate the clock
 * condition, without looking at each.
 *
 *   begins, sorted by time        ·  ·    ·  ·│ ·   ·     begins after end − µ: that many messages of this
 *   one end                              end − µ          end violate; their sum says by how much in all
 *
 * µ within a clock domain is another one than between domains, so the begins of the end's own domain are
 * counted apart. For scans the begins enter rank by rank, which a tree of partial sums (Fenwick) allows.
 * N members cost N log N; and N when the latest begin is before the earliest end, as in almost every instance
 * of a trace that is right.
 */
#ifndef GNOMON_REPAIR_CONDITION_PAIRS_H
#define GNOMON_REPAIR_CONDITION_PAIRS_H

#include "repair/condition_counts.h"

/* A begin that others wait for, or an end that waits for others. */
struct gn_pair_side {
    int64_t ticks;             /* 0 … INT64_MAX / 2 */
    int64_t raw_ticks;         /* as its clock showed it; the same range. For condition_judge alone */
    uint32_t member, location; /* member: ascending in a list */
    uint32_t domain;
};

struct gn_pair_list {
    struct gn_pair_side *sides; /* owned */
    size_t count, capacity;
};

/* All zero at first. The caller fills givers and getters, and starts again with counts of 0. */
struct gn_pairs {
    struct gn_pair_list givers, getters;
    bool prefix;                      /* an end waits for lower members only; otherwise for all but itself */
    const struct gn_latency *latency; /* NULL: µ = 0 */
    void *scratch;                    /* the module's own */
    size_t scratch_bytes;
};

/* Adds the pairs to *count; and to whole->worst (NULL: nobody asks), when one of them misses more than any
 * message before. 0 or -ENOMEM. */
int gn_pairs_count(struct gn_pairs *pairs, struct gn_condition_count *count, struct gn_condition *whole);

/* How many pairs there are within domains and between them, and in how many the end is before the begin. */
struct gn_pairs_split {
    uint64_t within, within_reversed, between, between_reversed;
};

/* 0 or -ENOMEM. */
int gn_pairs_split(struct gn_pairs *pairs, struct gn_pairs_split *split);
void gn_pairs_clear(struct gn_pairs *pairs);

/* µ of a logical message: between domains the smallest of any pair of domains, within one not more than
 * that. */
int64_t gn_pairs_latency(const struct gn_latency *latency, uint32_t from, uint32_t to);

#endif

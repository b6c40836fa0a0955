/*
 * analyse/global_state — when, for how long and how often a global state held that the user defines
 * (Benavides 2019, 4.5): any combination by and, or, not of "these locations, as one, are in X" and "so many
 * of these are in X". What a text asks for is made into one by cli/asked_states.
 *
 * Answers are bounds. A lane (analyse/lanes.h: a location, or all that read one clock) is at each instant in
 * one of some stages, and lanes are free to be in any of theirs. From that follows for each part of the
 * formula whether it is possible and whether it is certain:
 *
 *   of one lane alone      its stages are gone through: exact, whatever the part looks like
 *   a number over lanes    the sum of the least, and of the largest, in each lane
 *   not A                  possible where A is not certain, certain where A is not possible
 *   A and B                possible where both are, certain where both are; or: likewise
 *
 * Parts of an and, or an or, that are of one lane are taken together first. Where a lane has a say in several
 * parts all the same ("0 in A and at least 2 in B" counts 0 twice), two parts that exclude each other may
 * both be possible: what is possible is then an outer bound, and what is certain an inner one. is_narrowest
 * says where this cannot be. Where nothing is unknown all of them are exact.
 */
#ifndef GNOMON_ANALYSE_GLOBAL_STATE_H
#define GNOMON_ANALYSE_GLOBAL_STATE_H

#include "analyse/frames.h"

enum gn_global_kind {
    GN_GLOBAL_IN,    /* one who is in it */
    GN_GLOBAL_COUNT, /* so many of them are, or are not */
    GN_GLOBAL_NOT,   /* its child does not hold */
    GN_GLOBAL_AND,
    GN_GLOBAL_OR,
};

/* One location or more, as one: in it when one of them has bit `one` of its stages' states, and none of them
 * bit `none`. Single bits, or 0. */
struct gn_being_in {
    uint64_t one, none;
};
struct gn_global_who {
    uint32_t first, count; /* in gn_global.locations: different ones */
};

#define GN_GLOBAL_NO_NODE UINT32_MAX

struct gn_global_node {
    uint8_t kind;
    uint32_t child, next; /* its first child, and the next one of its parent: nodes before the parent */
    uint32_t first_who,
        who_count; /* IN: one; COUNT: those who have stages of these, which share no location */
    struct gn_being_in in;
    /* COUNT: */
    bool counts_out;         /* those that are not in it, else those that are */
    uint32_t least, most;    /* so many */
    struct gn_being_in rest; /* with counts_out: these are in this; one == 0: wherever they are */
};
struct gn_global {
    struct gn_global_node *nodes; /* the last one is the root */
    struct gn_global_who *whos;
    uint32_t *locations;
    size_t node_count, who_count, location_count;
};

/* A time in which the state may hold without a break. */
struct gn_held_period {
    int64_t from_ns, to_ns;
    uint64_t certain_ns; /* of it, in which it certainly does */
};
struct gn_held {
    struct gn_frame_time time;
    uint64_t frames; /* as in struct gn_frames: periods between changes of what is asked */
    uint64_t times_lo,
        times_hi; /* how often it began to hold, for more than no time; at the first bound, too */
    struct gn_held_period *periods;
    size_t period_count, period_capacity;
    bool is_narrowest; /* at each instant possible and certain are what follows from the bounds, not wider */
};

/* stages: [count] by location, states with the bits that the formula asks for. From the first bound to the
 * last one. 0, and the caller clears; -ENOMEM with err set. */
int gn_global_ask(struct gn_held *held, const struct gn_global *global, const struct gn_stages *stages,
                  size_t count, struct gn_error *err);
/* The same by aggregated events (gn_frames_aggregated): never narrower than what is narrowest. */
int gn_global_ask_aggregated(struct gn_held *held, const struct gn_global *global,
                             const struct gn_stages *stages, size_t count, uint64_t *sizes,
                             size_t sizes_count, struct gn_error *err);
void gn_held_clear(struct gn_held *held);

#endif

/*
 * repair/amortize — backward amortization (Becker 2009, section 3.2, figure 2): the jumps that the forward
 * pass has made in a location's clock are built up gradually before them.
 *
 * Looked at over the presynchronised time C, the shifts of a location after the forward pass are a function
 * that falls slowly (by 1 − γ) and jumps up at corrected receives. The amortized shifts
 *   - are nowhere smaller (events only move forward), and the same outside of the windows before jumps;
 *   - nowhere larger than what the successors elsewhere of sends and begins allow (op.limit), and not moved
 *     beyond guaranteed bounds (op.high);
 *   - rise as gently as these two permit: between them the function is the shortest path, a taut string,
 *     rounded down; where it follows the fall of the forward pass, which is rounded itself, to within a tick.
 * Before a single jump that is the straight line of the paper, or, where limits of sends are below it, its
 * piecewise line; where windows overlap, one path serves all jumps, in linear time. The window before a jump
 * of size Δ is Δ / slope long, and at most `longest`.
 *
 * The result is a row of knots: between two of them the shift is the straight line through both, rounded
 * down. Knots at ops are exact. Where no knots are, the shift is 0. Ops that do not move are knots where
 * their neighbours do, and where records between them are no events here (gn_op_row.has_gaps): those may not
 * push them.
 */
#ifndef GNOMON_REPAIR_AMORTIZE_H
#define GNOMON_REPAIR_AMORTIZE_H

#include "repair/op_store.h"

struct gn_knot {
    uint64_t record; /* of the location's file, from 1, when this is an op; 0: a point between two of them */
    int64_t ticks;   /* presynchronised time, ascending (equal ones: in this order) */
    int64_t shift;
    uint32_t steps; /* of an op: as in struct gn_op */
    uint32_t reserved;
};

struct gn_amortize_settings {
    double slope;          /* desired steepest rise, ticks of shift per tick; 0: no backward amortization */
    int64_t longest_ticks; /* of a window */
    uint64_t gamma_loss;   /* (1 − γ) · 2^64: the forward pass's fall, see gn_decay */
};

/* How much a shift has shrunk after `ticks` (≥ 0): floor(ticks · (1 − γ)). */
static inline int64_t gn_decay(uint64_t gamma_loss, int64_t ticks)
{
    return (int64_t)(((unsigned __int128)gamma_loss * (uint64_t)ticks) >> 64);
}

struct gn_amortize_stats {
    uint64_t jumps;
    int64_t largest_jump_ticks;
    double steepest;  /* largest rise between two knots, shift per tick; of equal ticks: as if in one */
    uint64_t limited; /* sends and begins whose limit the path touches */
    int64_t largest_shift_ticks;
};

/* Those of several locations. */
static inline void gn_amortize_stats_add(struct gn_amortize_stats *sum, const struct gn_amortize_stats *more)
{
    sum->jumps += more->jumps;
    sum->limited += more->limited;
    if (more->largest_jump_ticks > sum->largest_jump_ticks)
        sum->largest_jump_ticks = more->largest_jump_ticks;
    if (more->largest_shift_ticks > sum->largest_shift_ticks)
        sum->largest_shift_ticks = more->largest_shift_ticks;
    if (more->steepest > sum->steepest)
        sum->steepest = more->steepest;
}

/* Gets the knots of a location in order; returns 0, or a negative errno value that stops it. */
struct gn_knot_sink {
    void *self;
    int (*take)(void *self, const struct gn_knot *knot);
};

/*
 * Turns the shifts of a location's ops from those of the forward pass into the final ones, and tells the
 * knots. Ops whose time goes back are given that of the op before, and as much less shift. On entry each op
 * satisfies ticks + shift ≤ limit, and between two ops time goes on by at least `steps`; both hold
 * afterwards. Adds to *stats. 0 or a negative errno value with err set.
 */
int gn_amortize(struct gn_op_store *store, uint32_t location, const struct gn_amortize_settings *settings,
                const struct gn_knot_sink *sink, struct gn_amortize_stats *stats, struct gn_error *err);

/*
 * The same a part at a time. The store outlives it, and *sink's self and *stats do. 0 or a negative errno
 * value with err set.
 */
struct gn_amortizer;
int gn_amortizer_open(struct gn_amortizer **amortizer, struct gn_op_store *store, uint32_t location,
                      const struct gn_amortize_settings *settings, const struct gn_knot_sink *sink,
                      struct gn_amortize_stats *stats, struct gn_error *err);

/* Goes on until it has told some knots, or to the end. 1; 0: it is at the end; or a negative errno value with
 * err set. */
int gn_amortizer_go_on(struct gn_amortizer *amortizer, struct gn_error *err);
void gn_amortizer_close(struct gn_amortizer *amortizer);

#endif

/*
 * repair/knots — the knots of a location on their way from the amortization to the retiming. These two go
 * over the location together, one pulling the other: what there is of the row at any time is the knots around
 * the record that is being retimed, and what the windows that are settled together have given.
 */
#ifndef GNOMON_REPAIR_KNOTS_H
#define GNOMON_REPAIR_KNOTS_H

#include "repair/amortize.h"

struct gn_knot_row {
    struct gn_knot *knots; /* [count] */
    uint64_t count;
};

struct gn_knot_source {
    void *self;
    /* Forgets the first `done` knots of the row, and puts the next ones behind the others; they may all have
     * moved. Returns 1; 0: there were no more of them; or a negative errno value, now and ever after. NULL:
     * there are none. */
    int (*more)(void *self, uint64_t done, struct gn_knot_row *row);
};

struct gn_knots;

/* 0, and the caller closes; or a negative errno value with err set. The store outlives it. Those of several
 * locations may be open at a time, and in several threads. */
int gn_knots_open(struct gn_knots **knots, struct gn_op_store *store, uint32_t location,
                  const struct gn_amortize_settings *settings, struct gn_error *err);

/* Valid until it is closed. */
struct gn_knot_source gn_knots_source(struct gn_knots *knots);

/* So far. seconds: of the amortization alone; most: knots at a time. */
struct gn_knots_told {
    struct gn_amortize_stats stats;
    double seconds;
    uint64_t most;
};
const struct gn_knots_told *gn_knots_told(const struct gn_knots *knots);

/* 0, or what has ended the row too early, with err set. */
int gn_knots_state(const struct gn_knots *knots, struct gn_error *err);

void gn_knots_close(struct gn_knots *knots);

#endif

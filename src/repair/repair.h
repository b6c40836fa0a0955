/*
 * repair/repair — the controlled logical clock of a whole trace: measure, forward until the error is small
 * enough, limits, backward.
 */
#ifndef GNOMON_REPAIR_REPAIR_H
#define GNOMON_REPAIR_REPAIR_H

#include "repair/amortize.h"
#include "repair/replay.h"

enum { GN_REPAIR_PASSES = 4 }; /* most forward passes */

struct gn_repair_settings {
    double gamma; /* 0 < γ < 1 of the first pass; 0.99 in the paper */
    double slope; /* gn_amortize_settings */
    int64_t longest_ticks;
    int64_t threshold_ticks; /* largest shift that is not a reason for another pass; 0: three times the
                                largest violation */
    double apart_ppm;        /* gn_latency_sample_new */
    const struct gn_latency *latency; /* given; NULL: estimated */
    /* Told what is going on, at least now and then; NULL: nobody. share: 0 … 1 of the phase. */
    void (*progress)(void *self, const char *phase, double share);
    void *self;
};

struct gn_repair_pass {
    double gamma;
    bool no_latency; /* µ was taken as 0 */
    int64_t largest_shift_ticks;
};

struct gn_repair_result {
    struct gn_replay_stats before; /* of the measuring pass: in presynchronised time */
    struct gn_replay_stats after;  /* of the last forward pass */
    struct gn_repair_pass passes[GN_REPAIR_PASSES];
    uint32_t pass_count; /* 0: nothing violated the clock condition, all shifts are 0 */
    bool converged;      /* the last pass's largest shift was within the threshold */
    int64_t threshold_ticks;
    struct gn_amortize_stats amortized; /* of all processes */
    struct gn_latency latency;          /* µ that was used in the last pass; the caller closes it */
    double seconds_measure, seconds_forward, seconds_limits, seconds_backward;
};

/* The knots of a location; after gn_repair, by the process that has it. */
struct gn_knot_row {
    struct gn_knot *knots; /* [count] */
    uint64_t count;
};

struct gn_repair;
/* By all processes of the transport together. 0 or a negative errno value with err set. */
int gn_repair(struct gn_repair **repair, const struct gn_definitions *definitions, struct gn_op_store *store,
              const struct gn_transport *transport, const uint32_t *owner,
              const struct gn_repair_settings *settings, struct gn_repair_result *result,
              struct gn_error *err);
const struct gn_knot_row *gn_repair_knots(const struct gn_repair *repair, uint32_t location);
void gn_repair_close(struct gn_repair *repair);

#endif

/*
 * repair/repair — the controlled logical clock of a whole trace: measure, forward until the error is small
 * enough, backward.
 *
 * What this folder is for: timestamps of a trace that keep the order of cause and effect (Becker 2009;
 * docs/repair.md), for `gnomon sync`, and whether they do, for `gnomon check`. Nothing in it knows an
 * archive: events come in (event/stream.h), and new times of records go out (repair/retiming.h, which
 * trace/retime asks). The way of the data, a noun each:
 *
 *   presync             the first corrected time C of a timestamp
 *   extract             events → ops: what a message or a collective begins or ends with (op.h, op_store.h)
 *   replay              ops → shifts, forward. Inside (replay_inside.h): a message under way is a parcel, an
 *                       instance of a collective is a gathering, mail is what goes to other processes of the
 *                       job, and stillness is when none of them can go on
 *   transport           how these processes talk: transport_alone, transport_mpi
 *   latency             µ: sampled while measuring, estimated, or given
 *   amortize, knots     shifts → knots of a location, backward
 *   retiming            knots → the time of each record, and how much that differs
 *   condition           the verifier: events again, and nothing of the above but presync and latency
 */
#ifndef GNOMON_REPAIR_REPAIR_H
#define GNOMON_REPAIR_REPAIR_H

#include "repair/knots.h"
#include "repair/replay.h"

enum { GN_REPAIR_PASSES = 4 }; /* most forward passes */

/* Good values where nothing else is known (docs/repair-fidelity.md). γ: of presynchronised clocks, and of raw
 * ones; 1 − γ is more than such clocks drift apart. */
#define GN_REPAIR_GAMMA 0.999999
#define GN_REPAIR_GAMMA_RAW 0.9999
#define GN_REPAIR_SLOPE 0.005
#define GN_REPAIR_LONGEST_NS 200e6

enum {
    GN_REPAIR_CEILINGS = 64
}; /* most passes for guaranteed bounds: messages one after the other that they go back along */

struct gn_repair_settings {
    double gamma; /* 0 < γ < 1 of the first pass */
    double slope; /* gn_amortize_settings */
    int64_t longest_ticks;
    int64_t threshold_ticks; /* largest shift that is not a reason for another pass; 0: three times the
                                largest reversal (of given µ: violation), or what neither a smaller γ nor µ =
                                0 makes smaller */
    double apart_ppm;        /* gn_latency_sample_new */
    const struct gn_latency *latency; /* given; NULL: estimated */
    bool bounded; /* ops have guaranteed bounds: corrected times stay inside wherever that is possible */
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
    double seconds_measure, seconds_forward, seconds_backward;
};

/* Measures and passes forward, by all processes of the transport together; all that is passed outlives the
 * result. 0 or a negative errno value with err set; -ERANGE, in all of them: corrected times would be above
 * INT64_MAX / 2. */
struct gn_repair;
int gn_repair(struct gn_repair **repair, const struct gn_definitions *definitions, struct gn_op_store *store,
              const struct gn_transport *transport, const uint32_t *owner,
              const struct gn_repair_settings *settings, struct gn_repair_result *result,
              struct gn_error *err);

/* Backward amortization of a location, once each, by the process that has it; several may be open at a time.
 * *knots NULL: nothing moves, nor is there what could be pushed. 0, and the caller closes with
 * gn_repair_knots_close; or a negative errno value with err set. */
int gn_repair_knots(struct gn_repair *repair, uint32_t location, struct gn_knots **knots,
                    struct gn_error *err);

/* Adds to the result what was amortized; not by two at a time. knots NULL is allowed. 0, or the negative
 * errno value that has ended the row too early, with err set. */
int gn_repair_knots_close(struct gn_repair *repair, struct gn_knots *knots, struct gn_error *err);

/* When all have asked for their knots: result->amortized and seconds_backward, of all processes. */
int gn_repair_agree(struct gn_repair *repair, struct gn_repair_result *result, struct gn_error *err);
void gn_repair_close(struct gn_repair *repair);

#endif

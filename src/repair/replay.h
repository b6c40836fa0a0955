/*
 * repair/replay — the forward pass of the controlled logical clock over the ops of many locations (Becker
 * 2009, equations 4 and 4', sections 3.1, 4.1, 5.2), alone or together with other processes.
 *
 *   LC'(e) = max( LC'(send) + µ,                                    of receives and ends of collectives
 *                 LC'(event before) + δ,                            δ = 1 tick where time went on, else 0
 *                 C(e) + D − (1 − γ)(C(e) − C(jump)),               D: the shift at the last jump
 *                 C(e) )                            or earlier, where guaranteed bounds ask for that
 *
 * The third line is the paper's γ · interval summed up since the last jump: no rounding piles up. Each
 * location goes on until something that it needs from elsewhere is missing. What comes out is the least
 * solution of these equations: it depends neither on the order in which locations are looked at, nor on how
 * many processes there are.
 *
 * A collective costs a node per instance and process, and a tree of processes; pairs are never written down.
 *
 * Nothing waits for ever: what waits for a process that has left (GN_OP_LEFT) is passed by, and when all
 * processes wait for each other (a broken trace), the earliest op that waits is passed by.
 */
#ifndef GNOMON_REPAIR_REPLAY_H
#define GNOMON_REPAIR_REPLAY_H

#include "event/definitions.h"
#include "repair/latency.h"
#include "repair/op_store.h"
#include "repair/transport.h"

struct gn_replay_settings {
    const struct gn_latency *latency; /* by domain of gn_location_def; NULL: 0 */
    uint64_t gamma_loss;              /* (1 − γ) · 2^64, repair/amortize.h */
    bool measure;                     /* the shifts are left alone: only statistics, as if nothing moved */
    bool ceilings; /* as measure, but limits are set: the smallest op.high − µ of what depends on a send or
                      begin */
};

struct gn_replay_count {
    uint64_t messages, reversed, violating; /* in presynchronised time; the paper's figure 5 */
    uint64_t corrected;                     /* receives that were put forward explicitly */
    int64_t worst_ticks;                    /* most that is missing to send + µ */
    int64_t error_ticks_max;                /* reversed: table 3 */
    uint64_t error_ticks_sum;               /* INT64_MAX: or more */
};

struct gn_replay_stats {
    struct gn_replay_count messages;    /* point to point */
    struct gn_replay_count collectives; /* instances' ends, each against its latest predecessor */
    struct gn_replay_count uncertain;   /* messages and ends with GN_OP_VAGUE, when measuring: nothing is
                                           moved for them */
    uint64_t unmatched_sends, unmatched_receives, incomplete_collectives;
    uint64_t cut;  /* passed by because all waited for each other */
    uint64_t late; /* ops whose corrected time would be above INT64_MAX / 2, which it was made */
    int64_t largest_shift_ticks;
};

/* What is the same in all passes. owner: [process_count] which rank of the transport has the ops of a
 * process. All that is passed outlives it. 0 or a negative errno value with err set. */
struct gn_replay;
int gn_replay_open(struct gn_replay **replay, const struct gn_definitions *definitions,
                   struct gn_op_store *store, const struct gn_transport *transport, const uint32_t *owner,
                   struct gn_error *err);
void gn_replay_close(struct gn_replay *replay);

/* One pass, by all processes of the transport together, from the beginning; stats (of all processes, the same
 * everywhere). sample: gets the messages, when not NULL (of this process's receives). Unless it only
 * measures, sets op.shift of all ops and op.limit of all sends and begins (section 4.2): the smallest LC' − µ
 * of what depends on them. 0 or a negative errno value with err set; then processes that did not fail may
 * wait for ever. */
int gn_replay_forward(struct gn_replay *replay, const struct gn_replay_settings *settings,
                      struct gn_latency_sample *sample, struct gn_replay_stats *stats, struct gn_error *err);

#endif

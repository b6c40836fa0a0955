/*
 * analyse/lanes — changes whose order is certain, as sequences: what a sweep over frames goes through.
 *
 * A lane is a location, or all locations of a clock domain: readings of one clock say exactly in which order
 * its locations changed, however wide their bounds are. So a lane is in one stage after the other, and what
 * is known of a stage is the state of all of its members at once; different lanes know nothing of each other.
 *
 *   two locations, one domain     ticks   12    17    17    30
 *     0    B ──────── A                    0     0     1     1
 *     1    A ───────────── B    the lane   ├─────┤─────────────┤
 *                                          one step, one group of two (equal ticks: order unknown), one step
 *
 * Steps of one group happen in an unknown order within the same bounds.
 */
#ifndef GNOMON_ANALYSE_LANES_H
#define GNOMON_ANALYSE_LANES_H

#include "analyse/frames.h"

/* What a location is in, each excludes the others. Bits, so that "may be in" is a set. */
enum gn_stand { GN_STAND_A = 1, GN_STAND_B = 2, GN_STAND_OTHER = 4 };

struct gn_step {
    int64_t lo_ns, hi_ns; /* do not descend along a lane; the same within a group */
    uint32_t location;
    uint8_t stand; /* from here on */
    bool joined;   /* the next step belongs to the same group */
};
struct gn_lanes {
    struct gn_step *steps;
    size_t *first;     /* [count + 1] into steps */
    uint32_t *lane_of; /* [locations]; UINT32_MAX: has no stages, is not asked */
    size_t count;      /* lanes; each has steps */
    bool is_blind;     /* nothing is certain within the bounds of a group, of a single step neither */
};

/*
 * A lane per location, and per domain with several. Bounds are made consistent: they do not descend in the
 * order of ticks. Where they contradict that order, the domain's locations stay apart: an assumption on its
 * clock was refuted, and bounds of a location alone are all that is left.
 * 0, and the caller clears; -ENOMEM with err set.
 */
int gn_lanes_by_clock(struct gn_lanes *lanes, const struct gn_stages *stages, size_t count,
                      struct gn_error *err);
/* Memory for all stages, and nothing in it. 0, -ENOMEM. */
int gn_lanes_new(struct gn_lanes *lanes, const struct gn_stages *stages, size_t count, struct gn_error *err);
void gn_lanes_clear(struct gn_lanes *lanes);

uint8_t gn_stand_of(uint8_t state);

/* The question, asked of the lanes: frames.c. count: of locations. */
int gn_lanes_ask(struct gn_frames *frames, const struct gn_lanes *lanes, size_t count,
                 const struct gn_question *question, struct gn_error *err);

#endif

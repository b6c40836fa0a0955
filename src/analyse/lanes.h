/*
 * analyse/lanes — changes whose order is certain, as sequences: what a sweep over frames goes through.
 *
 * A lane is a location, or all locations of a clock domain: readings of one clock say exactly in which order
 * its locations changed, however wide their bounds are. So a lane is in one stage after the other, and what
 * is known of a stage is the state of all of its members at once; different lanes know nothing of each other.
 *
 *   ticks            12    17    30
 *   location 0       A     B             the lane: a step at 12; at 17 a group of two, which may be two
 *   location 1             A     B       moments within the clock's granularity; a step at 30
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

struct gn_step gn_step_of(uint32_t location, const struct gn_stage *stage);
/* steps: [count ≥ 1] in the order of their lower bounds. How many at the beginning have bounds that overlap,
 * however indirectly: have a point in common. */
size_t gn_steps_overlapping(const struct gn_step *steps, size_t count);
/* Makes them one group, with the least lower and the largest upper bound. */
void gn_steps_join(struct gn_step *steps, size_t count);

/* The question, asked of the lanes: frames.c. count: of locations. */
int gn_lanes_ask(struct gn_frames *frames, const struct gn_lanes *lanes, size_t count,
                 const struct gn_question *question, struct gn_error *err);

#endif

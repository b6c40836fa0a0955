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

#include "analyse/stages.h"
#include "analyse/tournament.h"
#include "base/error.h"

#include <stdbool.h>

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
/* One lane of all locations, by aggregated events (aggregate.c); sizes: as of gn_frames_aggregated. */
int gn_lanes_aggregated(struct gn_lanes *lanes, const struct gn_stages *stages, size_t count, uint64_t *sizes,
                        size_t sizes_count, struct gn_error *err);
/* Memory for all stages, and nothing in it. 0, -ENOMEM. */
int gn_lanes_new(struct gn_lanes *lanes, const struct gn_stages *stages, size_t count, struct gn_error *err);
void gn_lanes_clear(struct gn_lanes *lanes);

struct gn_step gn_step_of(uint32_t location, const struct gn_stage *stage);
/* steps: [count ≥ 1] in the order of their lower bounds. How many at the beginning have bounds that overlap,
 * however indirectly: have a point in common. */
size_t gn_steps_overlapping(const struct gn_step *steps, size_t count);
/* Makes them one group, with the least lower and the largest upper bound. */
void gn_steps_join(struct gn_step *steps, size_t count);

/* Where the stages behind a lane's next group of steps begin to be possible, and those before it end. */
struct gn_lane_bound {
    uint32_t lane;
    bool is_upper; /* the group has happened; else it may have, from here on */
    int64_t at_ns;
    const struct gn_step *begin, *end; /* of the group */
};

/* Goes through all lanes' bounds in the order of time. At the same time, what begins comes first: a lane is
 * never in no stage. */
struct gn_lane_bounds {
    const struct gn_lanes *lanes;
    const struct gn_step **next[2]; /* [lanes->count] of lower and upper bounds */
    struct gn_tournament of[2];
};

/* lanes->count ≥ 1; lanes outlive it. False: no memory, and the caller clears all the same. */
bool gn_lane_bounds_open(struct gn_lane_bounds *bounds, const struct gn_lanes *lanes);
void gn_lane_bounds_close(struct gn_lane_bounds *bounds);

static inline const struct gn_step *gn_group_end(const struct gn_step *step)
{
    while (step->joined)
        step++;
    return step + 1;
}

/* False: that was all. */
static inline bool gn_lane_bounds_next(struct gn_lane_bounds *bounds, struct gn_lane_bound *bound)
{
    struct gn_contestant lead = bounds->of[0].tree[0], trail = bounds->of[1].tree[0];
    if (trail.ended)
        return false;
    const bool is_upper = lead.ended || lead.key > trail.key;
    const uint32_t lane = is_upper ? trail.number : lead.number;
    const struct gn_step **next = &bounds->next[is_upper][lane];
    *bound =
        (struct gn_lane_bound){lane, is_upper, is_upper ? trail.key : lead.key, *next, gn_group_end(*next)};
    *next = bound->end;
    gn_tournament_replace(&bounds->of[is_upper],
                          bound->end == bounds->lanes->steps + bounds->lanes->first[lane + 1]
                              ? gn_contestant_ended(lane)
                              : gn_contestant(lane, is_upper ? bound->end->hi_ns : bound->end->lo_ns, 0));
    return true;
}

#endif

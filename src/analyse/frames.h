/*
 * analyse/frames — the periods in which no location changes region, under bounded time (distributed context
 * sensitive profiles, Benavides 2019, 5.1), and a question over them.
 *
 * A location's state at an instant is certain where the instant is after the upper bound of one change and
 * before the lower bound of the next; from a change's lower bound on the state behind it is possible. The
 * sweep goes through all locations' bounds in the order of time with counts of who is certainly and who is
 * possibly in what was asked for: O(events log locations), whatever the number of locations in a frame.
 *
 * The question: `all but one in A, that one in B`: for each location, how long it was in B while all others
 * were in A. lower: while certainly so; upper: while possibly so.
 *
 * No narrower interval follows from the bounds, for a location and clocks that nothing but their bounds
 * connects: all instants at which a location may be in one of some states can be so in one and the same run,
 * each change into them as early and out of them as late as it may be (where these cross, both at once), and
 * other clocks' changes are free to do the same. Locations that share a clock are not free; they are one
 * sequence of changes (analyse/lanes.h), for which the same holds.
 */
#ifndef GNOMON_ANALYSE_FRAMES_H
#define GNOMON_ANALYSE_FRAMES_H

#include "analyse/stages.h"
#include "base/error.h"

#include <stdbool.h>

/* How many locations have to be in A, and where the others are. Who is in A and in B, is in A. */
struct gn_question {
    uint32_t others; /* so many locations are not in A: they are in B. 1: all but one in A, that one in B; 0:
                        all in A */
};

struct gn_frame_time {
    double lo_ns, hi_ns; /* 0 ≤ lo ≤ hi */
};

/* Whole ns as doubles that are not more, and not less. */
struct gn_frame_time gn_frame_time_of(uint64_t lo_ns, uint64_t hi_ns);

struct gn_frames {
    uint64_t frames; /* periods between changes (lower or upper bounds) that are not empty */
    struct gn_frame_time
        *location; /* [count] for others = 1: of the location that is not in A. Else empty. */
    size_t count;
    struct gn_frame_time all; /* in which the question's answer is yes, whoever it is */
};

/* stages: [count] locations. 0, and the caller clears; -ENOMEM with err set. */
int gn_frames_ask(struct gn_frames *frames, const struct gn_stages *stages, size_t count,
                  const struct gn_question *question, struct gn_error *err);

/* The same as the paper has it: events whose intervals overlap are merged into one (section 5.1, figure 9),
 * and what happens inside of such an event is possible, never certain. sizes: how many events were merged
 * into each aggregated one; [sizes_count] histogram by log2 (the last one: all that are larger), may be NULL.
 * What the paper leaves open is decided in aggregate.c. */
int gn_frames_aggregated(struct gn_frames *frames, const struct gn_stages *stages, size_t count,
                         const struct gn_question *question, uint64_t *sizes, size_t sizes_count,
                         struct gn_error *err);
/* The question, asked of changes in another order (analyse/lanes.h). count: of locations. */
struct gn_lanes;
int gn_frames_of_lanes(struct gn_frames *frames, const struct gn_lanes *lanes, size_t count,
                       const struct gn_question *question, struct gn_error *err);
void gn_frames_clear(struct gn_frames *frames);

#endif

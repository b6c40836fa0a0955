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
 */
#ifndef GNOMON_ANALYSE_FRAMES_H
#define GNOMON_ANALYSE_FRAMES_H

#include "base/error.h"
#include "clock/bounds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a location is in, as far as the question goes; both, or none, too. */
enum gn_state { GN_STATE_OTHER = 0, GN_STATE_A = 1, GN_STATE_B = 2 };

/* From `at` on the location is in `state`; before its first stage it is in none (it does not run), and after
 * its last, whose state is GN_STATE_OTHER. Bounds do not descend. */
struct gn_stage {
    struct gn_interval at;
    uint8_t state; /* GN_STATE_ bits */
};
struct gn_stages {
    const struct gn_stage *stages;
    size_t count;
    uint32_t domain; /* locations with the same number read the same clock */
};

/* How many locations have to be in A, and where the others are. */
struct gn_question {
    uint32_t others; /* so many locations are not in A: they are in B. 1: all but one in A, that one in B; 0:
                        all in A */
};

struct gn_frame_time {
    double lo_ns, hi_ns; /* 0 ≤ lo ≤ hi */
};

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
 * into each aggregated one; [sizes_count] histogram by log2, may be NULL. */
int gn_frames_aggregated(struct gn_frames *frames, const struct gn_stages *stages, size_t count,
                         const struct gn_question *question, uint64_t *sizes, size_t sizes_count,
                         struct gn_error *err);
void gn_frames_clear(struct gn_frames *frames);

#endif

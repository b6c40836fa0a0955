/*
 * analyse/stages — what a location was in, one after the other, and since when: as intervals, and in the
 * order of its clock. Questions (analyse/frames.h, analyse/global_state.h) are asked over these.
 */
#ifndef GNOMON_ANALYSE_STAGES_H
#define GNOMON_ANALYSE_STAGES_H

#include "clock/bounds.h"

#include <stddef.h>
#include <stdint.h>

/* What a location is in, where a question is about two places; both, or none, too. */
enum gn_state { GN_STATE_OTHER = 0, GN_STATE_A = 1, GN_STATE_B = 2 };

/* From `at` on the location is in `state`; before its first stage it is in none (it does not run), and after
 * its last, whose state is GN_STATE_OTHER. Bounds and ticks do not descend. INT64_MIN, INT64_MAX: nothing is
 * known. */
struct gn_stage {
    struct gn_interval at;
    uint64_t state; /* GN_STATE_ bits, or one for each place that is asked for (analyse/states.h) */
    uint64_t ticks; /* of the domain's clock */
};
/* A location without stages is nobody: the question is about the others. */
struct gn_stages {
    const struct gn_stage *stages;
    size_t count;
    uint32_t domain; /* locations with the same number read the same clock: their ticks tell their order. A
                        location whose ticks are not known has a number of its own */
};

#endif

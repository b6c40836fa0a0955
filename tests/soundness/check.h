/*
 * soundness/check — what is claimed of a world's clocks, held against what is true of them.
 *
 *   bounds      a reading's interval contains the truth, at the first and the last moment of the reading;
 *               all at once gives what one by one gives, or up to 2 ns more on either side; straight lines
 * between breakpoints are right, too verdicts    before and after are never said of what was the other way
 * round states      nothing is refuted that is true; what is not connected is not called reached keeping the
 * kept messages and the breakpoints give the same bounds again
 *
 * A reading outside of its bounds is excused where the clocks do not do what is assumed, and only when the
 * assumption was reported as refuted, and what the bounds fell back to is not true, either.
 */
#ifndef GNOMON_SOUNDNESS_CHECK_H
#define GNOMON_SOUNDNESS_CHECK_H

#include "world.h"

struct tally {
    uint64_t worlds, conversions, wrong;
    uint64_t refuted, unreached, excused; /* domains, domains, conversions */
    uint64_t verdicts, wrong_verdicts;    /* of random pairs */
    uint64_t apart, decided;              /* pairs at twice the width, and how many of them are decided */
    double width_ns, over_floor;          /* sums over the following counts */
    uint64_t widths, over_floors;
    char first_wrong[256]; /* what was wrong first */
};

/* Solves the world and tries about so many conversions. What is wrong is counted. */
void check_world(const struct world *world, uint64_t seed, uint64_t conversions, struct tally *tally);

void tally_add(struct tally *sum, const struct tally *more);

#endif

/*
 * capture/delay — makes measuring dearer than it is, by a known amount, so that what is told of a run without
 * the cost of measuring it can be held against a run that had none (Li & Zhang 5.3.6). Only for tests:
 *
 *   GNOMON_TEST_COST=NS[:SEED]   of each recorded call, at most NS ns, 1000000 at most. Each process has a
 *                                share of that from its rank and SEED; a call has a random part of it, some
 *                                before the call and some behind it
 */
#ifndef GNOMON_CAPTURE_DELAY_H
#define GNOMON_CAPTURE_DELAY_H

#include <stdint.h>

struct gn_delay {
    uint64_t most_ns; /* 0: there is none */
    uint64_t random;  /* state */
    uint64_t left_ns; /* of the call under way, behind it */
};

/* text: NULL, or what the environment says. */
void gn_delay_open(struct gn_delay *delay, const char *text, uint64_t rank);

/* Neither waits in the kernel. */
void gn_delay_before(struct gn_delay *delay);
void gn_delay_after(struct gn_delay *delay);

#endif

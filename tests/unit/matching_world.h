/*
 * matching_world — a simulator of MPI's matching that knows which send each receive took, and holds the
 * numbers of capture/numbers against it.
 *
 * Ranks with threads make random calls: sends, receives (exact, any source, any tag; posted or blocking),
 * matched probes, cancels, frees, calls that fail, communicators that come and go, intercommunicators. A call
 * of a thread begins, has its effect and ends at three different moments, and the calls of other threads fall
 * between them. Messages of one process to another arrive in order, those of different ones in any.
 * Everything follows from the seed.
 */
#ifndef GNOMON_TEST_MATCHING_WORLD_H
#define GNOMON_TEST_MATCHING_WORLD_H

#include "capture/numbers.h"

struct world_options {
    uint64_t seed;
    uint64_t operations;
    uint32_t ranks, threads, tags;
    uint32_t wildcards, cancels;                          /* of 100 receives */
    uint32_t frees, failures, comm_changes, send_cancels; /* of 10000 operations */
    uint32_t sets, waiting;                               /* gn_numbers_narrow; 0: not */
};

struct world_result {
    uint64_t right, wrong, unordered, unnumbered;
    uint64_t late;    /* numbers that came after the completion */
    uint64_t missing; /* that never came although everything was settled */
    uint64_t reasons[GN_UNNUMBERED_REASONS];
};

struct world_result run_world(const struct world_options *options);

#endif

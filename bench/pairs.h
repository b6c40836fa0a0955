/*
 * Pairs of batches of MPI calls: what a tool adds to a call, measured within one process.
 *
 * A pair is one batch through MPI_X, where a preloaded tool is met, and one through PMPI_X, where it is not:
 * the same process, a few milliseconds apart, so that neither the machine's speed nor the layout of memory
 * comes between them. Patterns take turns pair by pair. A pair of which either batch was disturbed (it took
 * half as long again as the first quartile of its way: another process had the core) is left out. Rank 0
 * prints two lines for each pattern:
 *
 *   pattern NAME calls C iterations I batches B min NS q1 NS median NS q3 NS       through MPI_X
 *   added NAME calls C iterations I batches B min NS q1 NS median NS q3 NS         differences of the pairs
 *
 * nanoseconds per MPI call; C is the number of calls that a rank makes in one iteration, B counts what was
 * kept. And one line for two readings of the clock, which nobody who times a call can do without:
 *
 *   part two clock readings: iterations I batches B min NS q1 NS median NS q3 NS
 */
#ifndef BENCH_PAIRS_H
#define BENCH_PAIRS_H

#include <mpi.h>

enum pairs_way { PAIRS_THROUGH_TOOL, PAIRS_PAST_TOOL, PAIRS_WAYS };

struct pairs_pattern {
    const char *name;
    void (*run)(long iterations);
    int calls;              /* MPI calls of one rank in an iteration */
    int ranks;              /* that it is for; 0: any number */
    long iterations;        /* in a batch; 0: as many as make a batch long enough */
    double *ns[PAIRS_WAYS]; /* of each batch, per call; pairs_measure's */
};

struct pairs {
    MPI_Comm comm;
    void (*take)(enum pairs_way way); /* from now on the patterns' calls go that way */
    struct pairs_pattern *patterns;
    int count;
};

/* Measures `batches` (1 to TIMING_MAX_BATCHES) pairs of each pattern and prints. Collective on comm. A
 * pattern runs in the fourth frame when main is the first: main, pairs_measure, one of this file, run. */
void pairs_measure(const struct pairs *pairs, int batches);

#endif

/* What a program knows itself of where its processor time goes: sections by name, timed by the clock of the
 * thread and by the wall's. Printed at the end by rank 0, for all ranks: "truth NAME SECONDS ELAPSED". Header
 * only, so that each kind of build has its own. */
#ifndef GNOMON_BENCH_TRUTH_H
#define GNOMON_BENCH_TRUTH_H

#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { TRUTH_SECTIONS = 32 };

static struct {
    const char *name;
    double seconds, elapsed;
} truth_sections[TRUTH_SECTIONS];
static int truth_count;

static inline double truth_now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* SECTION(f, call): runs the call, and counts its time for f, which is the function that does the work. */
#define SECTION(function, call)                                                                              \
    do {                                                                                                     \
        static int section = -1;                                                                             \
        if (section < 0) {                                                                                   \
            section = truth_count++;                                                                         \
            truth_sections[section].name = #function;                                                        \
        }                                                                                                    \
        const double start = truth_now(CLOCK_MONOTONIC), begin = truth_now(CLOCK_THREAD_CPUTIME_ID);         \
        call;                                                                                                \
        truth_sections[section].seconds += truth_now(CLOCK_THREAD_CPUTIME_ID) - begin;                       \
        truth_sections[section].elapsed += truth_now(CLOCK_MONOTONIC) - start;                               \
    } while (0)

/* All ranks have come by the same sections in the same order. */
static inline void truth_print(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < truth_count; i++) {
        double all[2] = {0};
        const double mine[] = {truth_sections[i].seconds, truth_sections[i].elapsed};
        MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("truth %s %.6f %.6f\n", truth_sections[i].name, all[0], all[1]);
    }
}

#endif

/* What the programs here have in common: steps that are paced by sleeping, so that no other load matters, and
 * a first argument that takes the cause away ("mended"). Rank 0 prints how long the steps took. */
#ifndef GNOMON_TESTS_PATTERN_H
#define GNOMON_TESTS_PATTERN_H

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct pattern {
    int rank, size, steps;
    bool is_mended;
    double begin_s;
};

/* PACE, in the environment: so many times as long. */
static inline void pace(double ms)
{
    const char *pace = getenv("PACE");
    ms *= pace ? atof(pace) : 1;
    struct timespec t = {(long)ms / 1000, (long)(ms * 1e6) % 1000000000};
    while (ms > 0 && nanosleep(&t, &t) != 0)
        ;
}

/* PROGRAM [bad|mended] [STEPS] */
static inline struct pattern begin(int argc, char **argv, int steps)
{
    struct pattern p = {.steps = argc > 2 ? atoi(argv[2]) : steps,
                        .is_mended = argc > 1 && strcmp(argv[1], "mended") == 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p.size);
    MPI_Barrier(MPI_COMM_WORLD);
    p.begin_s = MPI_Wtime();
    return p;
}

static inline int end(const struct pattern *p)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (p->rank == 0)
        printf("%.6f\n", MPI_Wtime() - p->begin_s);
    MPI_Finalize();
    return 0;
}

#endif

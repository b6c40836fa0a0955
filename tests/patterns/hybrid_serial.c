/* The thread that calls MPI computes alone for most of each step. Mended: both threads do half of that. */
#include "hybrid.h"

static __attribute__((noinline)) void alone(double ms)
{
    SPIN(ms); /* here */
}

static __attribute__((noinline)) void together(double ms)
{
    SPIN(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 60);
    for (int i = 0; i < p.steps; i++) {
        if (!p.is_mended)
            alone(8);
#pragma omp parallel num_threads(2)
        together(p.is_mended ? 8 : 4);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return end(&p);
}

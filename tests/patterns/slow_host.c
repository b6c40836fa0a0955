/* The upper half of the ranks, which are on a host of their own, take longer in all that they compute.
 * Mended: as long. */
#include "pattern.h"

static __attribute__((noinline)) void first(double ms)
{
    pace(ms);
}

static __attribute__((noinline)) void second(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 100);
    const double factor = p.rank >= p.size / 2 && !p.is_mended ? 2 : 1;
    for (int i = 0; i < p.steps; i++) {
        double value = i, sum;
        first(2 * factor);
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        second(1.5 * factor);
        MPI_Barrier(MPI_COMM_WORLD); /* here */
    }
    return end(&p);
}

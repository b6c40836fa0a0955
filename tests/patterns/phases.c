/* In the first half rank 0 takes longer, in the second one the last rank; both as much in the end. */
#include "pattern.h"

static __attribute__((noinline)) void work(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 120);
    for (int i = 0; i < p.steps; i++) {
        const int late = i < p.steps / 2 ? 0 : p.size - 1;
        const double even = (8.0 + 2 * (p.size - 1)) / p.size;
        work(p.is_mended ? even : p.rank == late ? 8 : 2);
        MPI_Barrier(MPI_COMM_WORLD); /* here */
    }
    return end(&p);
}

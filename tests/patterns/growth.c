/* Each step takes longer than the one before, on all ranks. Mended: all as the first ones. */
#include "pattern.h"

static __attribute__((noinline)) void work(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 200);
    for (int i = 0; i < p.steps; i++) {
        MPI_Barrier(MPI_COMM_WORLD); /* here */
        work(p.is_mended ? 1 : 1 + 8.0 * i / p.steps);
    }
    return end(&p);
}

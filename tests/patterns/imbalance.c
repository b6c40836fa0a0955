/* Rank 1 computes three times as long as rank 0, on its core. Mended: as long. */
#include "hybrid.h"

static __attribute__((noinline)) void hydro(double ms)
{
    SPIN(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 100);
    for (int i = 0; i < p.steps; i++) {
        hydro(p.rank == 1 && !p.is_mended ? 9 : 3);
        MPI_Barrier(MPI_COMM_WORLD); /* here */
    }
    return end(&p);
}

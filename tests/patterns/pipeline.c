/* A sweep: each rank needs what the one before has computed, and all meet after it. Mended: blocks an eighth
 * as large, so that the next one can begin sooner. */
#include "pattern.h"

static __attribute__((noinline)) void work(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 40);
    const int blocks = p.is_mended ? 8 : 1;
    for (int i = 0; i < p.steps; i++) {
        double value = i;
        for (int b = 0; b < blocks; b++) {
            if (p.rank > 0)
                MPI_Recv(&value, 1, MPI_DOUBLE, p.rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here */
            work(8.0 / blocks);
            if (p.rank < p.size - 1)
                MPI_Send(&value, 1, MPI_DOUBLE, p.rank + 1, 1, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return end(&p);
}

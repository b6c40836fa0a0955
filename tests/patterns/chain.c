/* The last rank takes longer; each rank waits for the one behind it, and all for rank 0. */
#include "pattern.h"

static __attribute__((noinline)) void work(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 100);
    for (int i = 0; i < p.steps; i++) {
        double value = i;
        work(p.rank == p.size - 1 && !p.is_mended ? 8 : 2);
        if (p.rank < p.size - 1)
            MPI_Recv(&value, 1, MPI_DOUBLE, p.rank + 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here */
        if (p.rank > 0)
            MPI_Send(&value, 1, MPI_DOUBLE, p.rank - 1, 1, MPI_COMM_WORLD);
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* all */
    }
    return end(&p);
}

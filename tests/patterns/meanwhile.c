/* Rank 0 waits for rank 1, which computes, waits for rank 2, and computes again: a half, a third and a sixth
 * of that. Mended: rank 2 is no later than rank 1 needs it. */
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
    for (int i = 0; i < p.steps; i++) {
        double value = i;
        MPI_Barrier(MPI_COMM_WORLD);
        if (p.rank == 0)
            MPI_Recv(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (p.rank == 1) {
            first(3);
            MPI_Recv(&value, 1, MPI_DOUBLE, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here */
            second(1);
            MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        }
        if (p.rank == 2) {
            first(p.is_mended ? 3 : 5);
            MPI_Send(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        }
    }
    return end(&p);
}

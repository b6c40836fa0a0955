/* Rank 0 takes the results of the others in a given order, and works on each; the first one is always late.
 * Mended: as they come. */
#include "pattern.h"

static __attribute__((noinline)) void work(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 60);
    for (int i = 0; i < p.steps; i++) {
        int value = i;
        if (p.rank > 0) {
            work(p.rank == 1 + i % (p.size - 1) ? 8 : 5);
            MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        }
        if (p.rank == 0)
            work(3);
        for (int from = 1; p.rank == 0 && from < p.size; from++) {
            const int source = p.is_mended ? MPI_ANY_SOURCE : 1 + (i + from - 1) % (p.size - 1);
            MPI_Recv(&value, 1, MPI_INT, source, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here */
            work(1);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return end(&p);
}

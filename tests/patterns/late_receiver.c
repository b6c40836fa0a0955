/* Even ranks send synchronously to partners that compute before they receive. */
#include "pattern.h"

static __attribute__((noinline)) void work(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 100);
    const int partner = p.rank ^ 1;
    for (int i = 0; i < p.steps && partner < p.size; i++) {
        double value = i;
        if (p.rank % 2 == 0) {
            MPI_Ssend(&value, 1, MPI_DOUBLE, partner, 1, MPI_COMM_WORLD); /* here */
            work(5);
        } else {
            if (p.is_mended)
                MPI_Recv(&value, 1, MPI_DOUBLE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            work(5);
            if (!p.is_mended)
                MPI_Recv(&value, 1, MPI_DOUBLE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return end(&p);
}

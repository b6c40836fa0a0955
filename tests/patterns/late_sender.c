/* Even ranks compute before they send what their partners wait for, who compute only then. */
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
        if (p.rank % 2 == 0 && p.is_mended)
            MPI_Send(&value, 1, MPI_DOUBLE, partner, 1, MPI_COMM_WORLD);
        if (p.rank % 2 == 0) {
            work(5);
            if (!p.is_mended)
                MPI_Send(&value, 1, MPI_DOUBLE, partner, 1, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&value, 1, MPI_DOUBLE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here */
            work(5);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return end(&p);
}

/* The second thread of the last rank has more to do than all others. Mended: as much. */
#include "hybrid.h"

static __attribute__((noinline)) void work(double ms)
{
    SPIN(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 60);
    for (int i = 0; i < p.steps; i++) {
#pragma omp parallel num_threads(2)
        work(p.rank == p.size - 1 && omp_get_thread_num() == 1 && !p.is_mended ? 12 : 1);
        MPI_Barrier(MPI_COMM_WORLD); /* here */
    }
    return end(&p);
}

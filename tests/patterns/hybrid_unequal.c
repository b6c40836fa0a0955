/* The second thread has three times as much to do as the first one, which calls MPI. Mended: as much. */
#include "hybrid.h"

static __attribute__((noinline)) void work(double ms)
{
    SPIN(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 60);
    for (int i = 0; i < p.steps; i++) { /* here */
#pragma omp parallel num_threads(2)
        work(p.is_mended ? 8 : omp_get_thread_num() == 1 ? 12 : 4);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return end(&p);
}

/* All ranks add to rank 0's window, each holding the lock while it computes what to add. Mended: it computes
 * before it takes the lock. */
#include "pattern.h"

static __attribute__((noinline)) void work(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 60);
    double *base, value;
    MPI_Win window;
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    *base = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < p.steps; i++) {
        if (p.is_mended)
            work(3);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window); /* here */
        MPI_Get(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window);
        MPI_Win_flush(0, window);
        if (!p.is_mended)
            work(3);
        value++;
        MPI_Put(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Win_free(&window);
    return end(&p);
}

/* Each step another rank has four times as much to do; all have done the same in the end. */
#include "pattern.h"

static __attribute__((noinline)) void work(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 120);
    int done = 0;
    for (int i = 0; i < p.steps; i++) {
        const double even = (4.0 + (p.size - 1)) / p.size * 2;
        work(p.is_mended ? even : i % p.size == p.rank ? 8 : 2);
        MPI_Reduce_local(&i, &done, 1, MPI_INT, MPI_SUM); /* a call in between */
        MPI_Barrier(MPI_COMM_WORLD);                      /* here */
    }
    return end(&p);
}

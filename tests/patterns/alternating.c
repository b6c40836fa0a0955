/* Rank 0 takes longer to assemble, the last one to solve, at each step: who takes longer in the sum of both
 * says little of it. Mended, assembling is even. */
#include "pattern.h"

static __attribute__((noinline)) void assemble(double ms)
{
    pace(ms);
}

static __attribute__((noinline)) void solve(double ms)
{
    pace(ms);
}

static double sum(double of)
{
    double all;
    MPI_Allreduce(&of, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* here */
    return all;
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 120);
    double of = p.rank;
    for (int i = 0; i < p.steps; i++) {
        assemble(p.is_mended ? (12.0 + 2 * (p.size - 1)) / p.size : p.rank == 0 ? 12 : 2);
        of = sum(of);
        solve(p.rank == p.size - 1 ? 9 : 2);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return end(&p);
}

/* In the first third rank 0 takes longer, in the last one the last rank, in other functions and calls; in
 * between nobody does. Both as much in the end. */
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

/* From the last rank to all others. */
static void hand_out(const struct pattern *p, double *of)
{
    const int last = p->size - 1;
    for (int i = 0; i < last && p->rank == last; i++)
        MPI_Send(of, 1, MPI_DOUBLE, i, 5, MPI_COMM_WORLD);
    if (p->rank < last)
        MPI_Recv(of, 1, MPI_DOUBLE, last, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 150);
    double of = p.rank;
    const double even = (6.0 + 2 * (p.size - 1)) / p.size;
    for (int i = 0; i < p.steps / 3; i++) {
        assemble(p.is_mended ? even : p.rank == 0 ? 6 : 2);
        of = sum(of);
    }
    for (int i = 0; i < p.steps / 3; i++) {
        solve(2);
        of = sum(of);
    }
    for (int i = 0; i < p.steps / 3; i++) {
        solve(p.is_mended ? even : p.rank == p.size - 1 ? 6 : 2);
        hand_out(&p, &of);
    }
    return end(&p);
}

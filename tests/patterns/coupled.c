/* Two models, each on half of the ranks, exchange what they have computed every fifth step. One has a part
 * that the other one has not, of which the two that do it are as late as each other. Mended: the part takes
 * less. */
#include "pattern.h"

static __attribute__((noinline)) void ocean(double ms)
{
    pace(ms);
}

static __attribute__((noinline)) void dynamics(double ms)
{
    pace(ms);
}

static __attribute__((noinline)) void physics(double ms)
{
    pace(ms);
}

static void sum(MPI_Comm comm)
{
    double value = 1, all;
    MPI_Allreduce(&value, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 150);
    const int half = p.size / 2, is_air = p.rank >= half, partner = (p.rank + half) % p.size;
    double value = 1, other = 0;
    MPI_Comm model;
    MPI_Comm_split(MPI_COMM_WORLD, is_air, p.rank, &model);
    for (int i = 0; i < p.steps; i++) {
        if (is_air) {
            dynamics(3);
            MPI_Allreduce(&value, &other, 1, MPI_DOUBLE, MPI_MAX, model);
            physics(p.is_mended ? 1 : 3.5);
        } else {
            ocean(4);
        }
        sum(model);
        if (i % 5 == 4)
            MPI_Sendrecv(&value, 1, MPI_DOUBLE, partner, 1, &other, 1, MPI_DOUBLE, partner, 1, /* here */
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&model);
    return end(&p);
}

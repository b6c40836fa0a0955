/* Two halves that do not meet until the end. In the first the last rank takes four times as long as the
 * others; but the second one, in which the last rank takes longer, too, takes longer in all: nothing is
 * gained in the first. Mended: in the second it does not. */
#include "pattern.h"

static __attribute__((noinline)) void idle_half(double ms)
{
    pace(ms);
}

static __attribute__((noinline)) void busy_half(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 100);
    MPI_Comm half;
    const int second = p.rank >= p.size / 2, last = p.rank % (p.size / 2) == p.size / 2 - 1;
    MPI_Comm_split(MPI_COMM_WORLD, second, p.rank, &half);
    for (int i = 0; i < p.steps && second; i++) {
        busy_half(last && !p.is_mended ? 8 : 5);
        MPI_Barrier(half); /* here */
    }
    for (int i = 0; i < p.steps && !second; i++) {
        idle_half(last ? 4 : 1);
        MPI_Barrier(half);
    }
    MPI_Comm_free(&half);
    return end(&p);
}

/* Each step one rank after the other does its part, with a barrier behind each: as output in the order of the
 * ranks. Mended: all at once, and then as many barriers. */
#include "pattern.h"

static __attribute__((noinline)) void work(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 60);
    for (int i = 0; i < p.steps; i++)
        for (int turn = 0; turn < p.size; turn++) {
            if (p.is_mended ? turn == 0 : turn == p.rank)
                work(4);
            MPI_Barrier(MPI_COMM_WORLD); /* here */
        }
    return end(&p);
}

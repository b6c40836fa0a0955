/* The last two ranks do twice as many blocks as the others, each with a message to the next rank. By a hair
 * one of them is the last in the first half, the other one in the second: no phases for that. */
#include "pattern.h"

static __attribute__((noinline)) void block(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 100);
    const int blocks = p.rank >= p.size - 2 && !p.is_mended ? 4 : 2;
    for (int i = 0; i < p.steps; i++) {
        const int last = i < p.steps / 2 ? p.size - 1 : p.size - 2;
        for (int k = 0; k < blocks; k++) {
            int one = k, other;
            MPI_Sendrecv(&one, 1, MPI_INT, p.rank, 1, &other, 1, MPI_INT, p.rank, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            block(blocks > 2 && p.rank == last ? 2.1 : 2);
        }
        MPI_Barrier(MPI_COMM_WORLD); /* here */
    }
    return end(&p);
}

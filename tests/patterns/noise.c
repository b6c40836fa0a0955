/* One step in forty takes thirty times as long, at one rank or another. */
#include "pattern.h"

static __attribute__((noinline)) void work(double ms)
{
    pace(ms);
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 240);
    for (int i = 0; i < p.steps; i++) {
        const bool is_late = !p.is_mended && i % 40 == 17 && (i / 40) % p.size == p.rank;
        work(is_late ? 60 : 2);
        MPI_Barrier(MPI_COMM_WORLD); /* here */
    }
    return end(&p);
}

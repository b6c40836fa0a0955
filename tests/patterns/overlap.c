/* A large message is posted on both sides, and rank 1 computes before it completes it: it is not on its way
 * meanwhile, and rank 0 waits. Mended: rank 1 calls MPI_Test now and then. */
#include "pattern.h"

enum { BYTES = 4 << 20 };

static __attribute__((noinline)) void work(double ms)
{
    pace(ms);
}

static void work_and_test(double ms, MPI_Request *request)
{
    for (int i = 0; i < 20; i++) {
        int done;
        pace(ms / 20);
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 100);
    const int partner = p.rank ^ 1;
    char *buffer = calloc(1, BYTES);
    for (int i = 0; i < p.steps && partner < p.size; i++) {
        MPI_Request request;
        if (p.rank % 2)
            MPI_Irecv(buffer, BYTES, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        if (p.rank % 2 == 0) {
            MPI_Isend(buffer, BYTES, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE); /* here */
            work(6);
            continue;
        }
        if (p.is_mended)
            work_and_test(6, &request);
        else
            work(6);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    free(buffer);
    return end(&p);
}

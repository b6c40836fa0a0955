/* Rank 0 prepares each task while its worker waits. Mended: it takes a fifth as long. */
#include "pattern.h"

static __attribute__((noinline)) void prepare(double ms)
{
    pace(ms);
}

static __attribute__((noinline)) void work(double ms)
{
    pace(ms);
}

static void serve(const struct pattern *p, int tasks)
{
    int done = 0, task = 0;
    for (int open = p->size - 1; open > 0;) {
        MPI_Status status;
        MPI_Recv(&done, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        const int next = task < tasks ? task++ : -1;
        if (next >= 0)
            prepare(p->is_mended ? 0.6 : 3);
        open -= next < 0;
        MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
    }
}

static void take(void)
{
    for (int task = 0; task >= 0;) {
        MPI_Send(&task, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(&task, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here */
        if (task >= 0)
            work(2);
    }
}

int main(int argc, char **argv)
{
    struct pattern p = begin(argc, argv, 240);
    if (p.rank == 0)
        serve(&p, p.steps);
    else
        take();
    return end(&p);
}

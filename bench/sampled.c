/* sampled MILLISECONDS: each rank computes in steps of about 100 us, and meets the others after each
 * hundredth, until it has used so much processor time. Prints how many steps a rank makes in a second of it,
 * in the mean. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static __attribute__((noinline)) double step(double value)
{
    for (int i = 0; i < 25000; i++)
        value = value * 0.999999 + 1e-7;
    return value;
}

int main(int argc, char **argv)
{
    double most = (argc > 1 ? atof(argv[1]) : 1000) * 1e-3, value = 1, took = 0, least, rate, sum;
    long steps = 0;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    do {
        const double begin = used();
        for (int i = 0; i < 100; i++, steps++)
            value = step(value);
        took += used() - begin;
        MPI_Allreduce(&took, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    } while (least < most);
    rate = (double)steps / took;
    MPI_Reduce(&rate, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.3f %g\n", sum / size, value);
    MPI_Finalize();
    return 0;
}

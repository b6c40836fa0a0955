/* Like NPB's CG: a sparse matrix with random columns times a vector, dot products that all ranks add up,
 * updates of vectors. Rows are short, so that the product is memory-bound; between two calls lie from one to
 * three kernels. */
#include "truth.h"
#include <stdlib.h>

#define KERNEL static __attribute__((noinline)) void

enum { ROWS = 14000, NONZERO = 13 };

static int columns[ROWS * NONZERO];
static double values[ROWS * NONZERO], p[ROWS], q[ROWS], r[ROWS], x[ROWS], z[ROWS];

KERNEL multiply(const double *from, double *to)
{
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int k = 0; k < NONZERO; k++)
            sum += values[i * NONZERO + k] * from[columns[i * NONZERO + k]];
        to[i] = sum;
    }
}

KERNEL dot(const double *a, const double *b, double *sum)
{
    double mine = 0;
    for (int i = 0; i < ROWS; i++)
        mine += a[i] * b[i];
    *sum = mine;
}

KERNEL update(double *a, double alpha, const double *b)
{
    for (int i = 0; i < ROWS; i++)
        a[i] += alpha * b[i];
}

KERNEL smooth(void)
{
    for (int sweep = 0; sweep < 2; sweep++)
        for (int i = 1; i < ROWS - 1; i++)
            x[i] = 0.25 * (x[i - 1] + 2 * x[i] + x[i + 1]);
}

static double all(double mine)
{
    double sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int main(int argc, char **argv)
{
    const double most = argc > 1 ? atof(argv[1]) : 2;
    unsigned long seed = 12345;
    for (int i = 0; i < ROWS * NONZERO; i++) {
        seed = seed * 6364136223846793005UL + 1442695040888963407UL;
        columns[i] = (int)((seed >> 33) % ROWS);
        values[i] = (i % NONZERO ? -0.01 : 1.5);
    }
    for (int i = 0; i < ROWS; i++)
        p[i] = r[i] = x[i] = 1 + i % 3;
    MPI_Init(&argc, &argv);
    const double begin = MPI_Wtime();
    for (double now = 0, mine = 0; now < most;) {
        SECTION(multiply, multiply(p, q));
        SECTION(dot, dot(p, q, &mine));
        const double pq = all(mine);
        SECTION(update, update(z, 1 / (pq + 1e10), p));
        SECTION(dot, dot(r, r, &mine));
        const double rr = all(mine);
        SECTION(update, update(r, -1 / (rr + 1e10), q));
        SECTION(smooth, smooth());
        now = MPI_Wtime() - begin;
        MPI_Bcast(&now, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    truth_print();
    MPI_Finalize();
    return 0;
}

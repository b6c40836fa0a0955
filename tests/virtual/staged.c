/* Programs of which the time without gnomon is known by running them so: what they take between barriers is
 * held against what is told of them in virtual time, measuring being made dear (capture/delay.h). Rank 0
 * prints the seconds of each stage.
 *
 *   staged ring|stencil|master|collectives|matrix [STEPS]
 *
 * matrix is the program of Li & Zhang (5.3.6, figure 5): a master gives parts of two matrices to workers and
 * puts their parts of the product together, in stages. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, steps;
static double since;

/* Takes a core for that long, however busy others are. */
static void compute(double us)
{
    const double until = MPI_Wtime() + us * 1e-6;
    while (MPI_Wtime() < until) {
    }
}

static void stage(void)
{
    static int stages;
    MPI_Barrier(MPI_COMM_WORLD);
    if (stages++ > 0 && rank == 0)
        printf("%.6f\n", MPI_Wtime() - since);
    since = MPI_Wtime();
}

static void ring(void)
{
    int token = 0;
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < steps; i++) {
        if (rank > 0)
            MPI_Recv(&token, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(50);
        MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(&token, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Ranks take turns at having more to do. */
static void stencil(void)
{
    double out[2][64] = {{0}}, in[2][64];
    for (int i = 0; i < steps; i++) {
        MPI_Request requests[4];
        int count = 0;
        compute((i + rank) % 2 ? 60 : 140);
        for (int side = 0; side < 2; side++) {
            const int other = rank + 2 * side - 1;
            if (other < 0 || other >= size)
                continue;
            MPI_Irecv(in[side], 64, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &requests[count++]);
            MPI_Isend(out[side], 64, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &requests[count++]);
        }
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    }
}

/* Tasks of different length, handed out as workers come. */
static void master(void)
{
    int task = 0, done;
    MPI_Status status;
    if (rank > 0) {
        for (;;) {
            MPI_Send(&task, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
            MPI_Recv(&task, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (task < 0)
                return;
            compute(100 + task % 7 * 20);
        }
    }
    for (int given = 0, over = 0; over < size - 1;) {
        MPI_Recv(&done, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        compute(10);
        task = given < steps ? given : -1;
        given++;
        over += task < 0;
        MPI_Send(&task, 1, MPI_INT, status.MPI_SOURCE, 3, MPI_COMM_WORLD);
    }
}

static void collectives(void)
{
    double x = 1, y = 0;
    for (int i = 0; i < steps; i++) {
        compute(i % size == rank ? 150 : 50);
        MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        compute(30);
        MPI_Bcast(&y, 1, MPI_DOUBLE, i % size, MPI_COMM_WORLD);
        compute(30);
        MPI_Reduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    }
}

enum { N = 240 };
static double a[N][N], b[N][N], c[N][N];

/* Rows go and come one by one. */
static void matrix(void)
{
    MPI_Status status;
    for (int i = 0; i < N && rank == 0; i++)
        for (int k = 0; k < N; k++) {
            a[i][k] = i + k;
            b[i][k] = i - k;
        }
    stage();
    MPI_Bcast(b, N * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        const int to = 1 + i % (size - 1);
        if (rank == 0)
            MPI_Send(a[i], N, MPI_DOUBLE, to, i, MPI_COMM_WORLD);
        else if (rank == to)
            MPI_Recv(a[i], N, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    stage();
    for (int i = 0; i < N; i++) {
        const int by = 1 + i % (size - 1);
        if (rank == by) {
            for (int k = 0; k < N; k++) {
                c[i][k] = 0;
                for (int m = 0; m < N; m++)
                    c[i][k] += a[i][m] * b[m][k];
            }
            compute(300);
            MPI_Send(c[i], N, MPI_DOUBLE, 0, i, MPI_COMM_WORLD);
        } else if (rank == 0) {
            MPI_Recv(c[i], N, MPI_DOUBLE, by, i, MPI_COMM_WORLD, &status);
        }
    }
    stage();
    double sum = 0;
    for (int i = 0; i < N && rank == 0; i++)
        for (int k = 0; k < N; k++)
            sum += c[i][k];
    MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"ring", ring},
               {"stencil", stencil},
               {"master", master},
               {"collectives", collectives},
               {"matrix", matrix}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    steps = argc > 2 ? atoi(argv[2]) : 3000;
    stage();
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
        if (strcmp(argv[1], all[i].name) == 0)
            all[i].run();
    stage();
    MPI_Finalize();
    return 0;
}

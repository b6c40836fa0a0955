/*
 * Heat on a plate: Jacobi relaxation, rows split over the ranks.
 *
 * Each iteration exchanges the halo rows, computes, and agrees on the residual:
 *
 *     Irecv, Irecv, Isend, Isend, Waitall  |  relax()  |  Allreduce
 *
 * so a rank that computes longer makes the others wait in MPI_Allreduce. `--imbalance` makes one rank do
 * its (idempotent) update several times over. The result does not depend on that, nor on the number of
 * ranks: the residual is a maximum and the checksum an integer sum of the values' bits.
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include "options.h"

struct plate {
    long nx;               /* columns, with the fixed left and right edge */
    long rows;             /* rows of this rank, without its two halo rows */
    int up, down;          /* neighbour ranks or MPI_PROC_NULL */
    double *before, *next; /* (rows + 2) * nx values; row 0 and rows + 1 are halo or fixed edge */
};

static int plate_create(struct plate *p, long nx, long ny, int rank, int size)
{
    p->nx = nx;
    p->rows = ny / size + (rank < ny % size);
    p->up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    p->down = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    size_t count = (size_t)(p->rows + 2) * (size_t)nx;
    p->before = calloc(count, sizeof(double));
    p->next = calloc(count, sizeof(double));
    if (!p->before || !p->next)
        return -1;
    if (rank == 0) /* the upper edge is hot */
        for (long x = 0; x < nx; x++)
            p->before[x] = p->next[x] = 100.0;
    return 0;
}

static void plate_destroy(struct plate *p)
{
    free(p->before);
    free(p->next);
}

static __attribute__((noinline)) void exchange_halo(struct plate *p)
{
    MPI_Request request[4];
    int n = (int)p->nx;
    double *first = p->before + p->nx, *last = p->before + p->rows * p->nx;
    MPI_Irecv(first - p->nx, n, MPI_DOUBLE, p->up, 0, MPI_COMM_WORLD, &request[0]);
    MPI_Irecv(last + p->nx, n, MPI_DOUBLE, p->down, 1, MPI_COMM_WORLD, &request[1]);
    MPI_Isend(last, n, MPI_DOUBLE, p->down, 0, MPI_COMM_WORLD, &request[2]);
    MPI_Isend(first, n, MPI_DOUBLE, p->up, 1, MPI_COMM_WORLD, &request[3]);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
}

/* Of a material that conducts less when hot; the divisions also make the update compute-bound. */
static double conductivity(double temperature)
{
    return 1 / (1 + 1e-4 * temperature * temperature);
}

/* The mean of the four neighbours, weighted by how well they conduct. */
static double balance(double a, double b, double c, double d)
{
    double ka = conductivity(a), kb = conductivity(b), kc = conductivity(c), kd = conductivity(d);
    return (ka * a + kb * b + kc * c + kd * d) / (ka + kb + kc + kd);
}

/* Updates the first `rows` rows from `before` to `next`; returns the largest change. */
static __attribute__((noinline)) double relax(const struct plate *p, long rows)
{
    double largest = 0;
    for (long y = 1; y <= rows; y++) {
        const double *here = p->before + y * p->nx, *above = here - p->nx, *below = here + p->nx;
        double *out = p->next + y * p->nx;
        for (long x = 1; x < p->nx - 1; x++) {
            out[x] = balance(above[x], below[x], here[x - 1], here[x + 1]);
            double change = fabs(out[x] - here[x]);
            largest = change > largest ? change : largest;
        }
    }
    return largest;
}

/* The same update `factor` times over; all results are used, or the compiler would make the extra ones
 * cheaper. */
static __attribute__((noinline)) double relax_repeatedly(const struct plate *p, double factor)
{
    double largest = relax(p, p->rows);
    long extra_rows = lround((factor - 1) * (double)p->rows);
    while (extra_rows > 0) {
        long rows = extra_rows < p->rows ? extra_rows : p->rows;
        largest = fmax(largest, relax(p, rows));
        extra_rows -= rows;
    }
    return largest;
}

static __attribute__((noinline)) double iterate(struct plate *p, long iterations, long check_every,
                                                double factor)
{
    double residual = 0;
    for (long i = 1; i <= iterations; i++) {
        exchange_halo(p);
        double mine = relax_repeatedly(p, factor);
        if (i % check_every == 0 || i == iterations)
            MPI_Allreduce(&mine, &residual, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        double *swap = p->before;
        p->before = p->next;
        p->next = swap;
    }
    return residual;
}

/* Sum of the bit patterns: exact, so the same for every split into ranks. */
static uint64_t checksum(const struct plate *p)
{
    uint64_t mine = 0, all = 0;
    for (long i = p->nx; i < (p->rows + 1) * p->nx; i++) {
        uint64_t bits;
        memcpy(&bits, &p->before[i], sizeof bits);
        mine += bits;
    }
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    long nx = 1024, ny = 2048, iterations = 120, check_every = 1, slow_rank = size - 1, with_time = 0;
    double imbalance = 1;
    const struct option_spec specs[] = {
        {OPTION_NUMBER, "nx", &nx, 3, 1e6, 0, "columns"},
        {OPTION_NUMBER, "ny", &ny, 1, 1e6, 0, "rows, split over the ranks"},
        {OPTION_NUMBER, "iterations", &iterations, 0, 1e9, 0, "iterations"},
        {OPTION_NUMBER, "check-every", &check_every, 1, 1e9, 0, "iterations from one Allreduce to the next"},
        {OPTION_MAYBE_REAL, "imbalance", &imbalance, 1, 1000, 2, "the slow rank computes N (2) times over"},
        {OPTION_NUMBER, "slow-rank", &slow_rank, 0, size - 1, 0, "which rank is the slow one"},
        {OPTION_FLAG, "time", &with_time, 0, 0, 0, "also print the run time"},
        {0}};
    int stop = options_read(argc, argv, "[OPTION]...", "Heat on a plate by Jacobi relaxation.", specs, NULL,
                            rank == 0);
    if (stop != OPTIONS_RUN) {
        MPI_Finalize();
        return stop;
    }

    struct plate plate;
    if (plate_create(&plate, nx, ny, rank, size) != 0) {
        fprintf(stderr, "heat: rank %d: no memory for %ld rows of %ld\n", rank, plate.rows, nx);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    double start = MPI_Wtime();
    double residual = iterate(&plate, iterations, check_every, rank == slow_rank ? imbalance : 1);
    double seconds = MPI_Wtime() - start;
    uint64_t sum = checksum(&plate);
    if (rank == 0) {
        printf("heat: %ld x %ld, %ld iterations, residual %.6e, checksum %016llx\n", nx, ny, iterations,
               residual, (unsigned long long)sum);
        if (with_time)
            printf("heat: %.3f s\n", seconds);
    }
    plate_destroy(&plate);
    MPI_Finalize();
    return 0;
}

/*
 * Multigrid V-cycles for -u'' = 1 on a line, u = 0 at both ends; MPI calls at many depths of a recursion.
 *
 *     down(0)   smooth, restrict                              smooth
 *       up(0)                                         prolong
 *         down(1)   smooth, restrict            smooth
 *           up(1)                       prolong
 *             ...     sweep the coarsest level
 *
 * The two call each other: down(l) calls up(l), which calls down(l + 1). Cells, not points, are split
 * over the ranks: each level of a rank has half as many, so that no level needs more than the neighbours' one
 * nearest cell. `--deep N` instead runs the bare recursion N calls deep, with an MPI call at the first 64
 * depths and then at every `--every`-th, on the way down and on the way back.
 */
#include <math.h>
#include <mpi.h>
#include <sys/resource.h>
#include "options.h"

#define MAX_LEVELS 24

struct level {
    long cells;           /* of this rank */
    double width;         /* of a cell */
    double *u, *f, *work; /* cells + 2: [0] and [cells + 1] are the neighbours' */
};

static int rank, size;
static long levels = 8, coarsest_cells = 1;
static struct level level[MAX_LEVELS];

static int levels_create(void)
{
    for (long l = 0; l < levels; l++) {
        level[l].cells = coarsest_cells << (levels - 1 - l);
        level[l].width = 1.0 / ((double)level[l].cells * size);
        level[l].u = calloc(3 * (size_t)(level[l].cells + 2), sizeof(double));
        if (!level[l].u)
            return -1;
        level[l].f = level[l].u + level[l].cells + 2;
        level[l].work = level[l].f + level[l].cells + 2;
    }
    for (long i = 1; i <= level[0].cells; i++)
        level[0].f[i] = 1.0;
    return 0;
}

static void levels_destroy(void)
{
    for (long l = 0; l < levels; l++)
        free(level[l].u);
}

/* Fills the outer cells of v: the neighbours' values; at the ends such that the border's value is 0. */
static __attribute__((noinline)) void exchange_halo(double *v, long cells)
{
    int lower = rank > 0 ? rank - 1 : MPI_PROC_NULL, upper = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    v[0] = -v[1];
    v[cells + 1] = -v[cells];
    MPI_Sendrecv(&v[cells], 1, MPI_DOUBLE, upper, 0, &v[0], 1, MPI_DOUBLE, lower, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&v[1], 1, MPI_DOUBLE, lower, 1, &v[cells + 1], 1, MPI_DOUBLE, upper, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* work := f - (-u'') */
static void residual(struct level *here)
{
    exchange_halo(here->u, here->cells);
    double scale = 1 / (here->width * here->width);
    for (long i = 1; i <= here->cells; i++)
        here->work[i] = here->f[i] - (2 * here->u[i] - here->u[i - 1] - here->u[i + 1]) * scale;
}

/* Damped Jacobi. */
static __attribute__((noinline)) void smooth(struct level *here, int sweeps)
{
    double step = here->width * here->width / 3;
    for (; sweeps > 0; sweeps--) {
        residual(here);
        for (long i = 1; i <= here->cells; i++)
            here->u[i] += step * here->work[i];
    }
}

static void restrict_residual(struct level *fine, struct level *coarse)
{
    residual(fine);
    for (long i = 1; i <= coarse->cells; i++) {
        coarse->f[i] = 0.5 * (fine->work[2 * i - 1] + fine->work[2 * i]);
        coarse->u[i] = 0;
    }
}

static void prolong_correction(struct level *coarse, struct level *fine)
{
    exchange_halo(coarse->u, coarse->cells);
    for (long i = 1; i <= coarse->cells; i++) {
        fine->u[2 * i - 1] += 0.75 * coarse->u[i] + 0.25 * coarse->u[i - 1];
        fine->u[2 * i] += 0.75 * coarse->u[i] + 0.25 * coarse->u[i + 1];
    }
}

static void up(long l);

static __attribute__((noinline)) void down(long l)
{
    if (l == levels - 1) {
        smooth(&level[l], 16);
        return;
    }
    smooth(&level[l], 2);
    restrict_residual(&level[l], &level[l + 1]);
    up(l);
    smooth(&level[l], 1);
}

static __attribute__((noinline)) void up(long l)
{
    down(l + 1);
    prolong_correction(&level[l + 1], &level[l]);
}

static double residual_norm(void)
{
    double mine = 0, largest = 0;
    residual(&level[0]);
    for (long i = 1; i <= level[0].cells; i++)
        mine = fmax(mine, fabs(level[0].work[i]));
    MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}

static void solve(long iterations)
{
    for (long i = 0; i < iterations; i++)
        down(0);
    double norm = residual_norm(), middle = 0;
    double mine = rank == size / 2 ? level[0].u[size % 2 ? level[0].cells / 2 : 1] : 0;
    MPI_Allreduce(&mine, &middle, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("multigrid: %ld cycles of %ld levels, residual %.3e, u(1/2) = %.5f\n", iterations, levels,
               norm, middle);
}

/* ---- --deep: the same pair of functions without the numerics ---- */

static long deep_every;

static long message_at(long depth, long value)
{
    long result = 0;
    if (depth >= 64 && depth % deep_every != 0)
        return value;
    if (depth % 3 == 0)
        MPI_Allreduce(&value, &result, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    else
        MPI_Sendrecv(&value, 1, MPI_LONG, (rank + 1) % size, 2, &result, 1, MPI_LONG,
                     (rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return result;
}

static long deep_up(long depth, long end, long value);

static __attribute__((noinline)) long deep_down(long depth, long end, long value)
{
    value = message_at(depth, value + 1);
    if (depth + 1 < end)
        value = deep_up(depth + 1, end, value);
    return message_at(depth, value + 1);
}

static __attribute__((noinline)) long deep_up(long depth, long end, long value)
{
    value = message_at(depth, value + 2);
    if (depth + 1 < end)
        value = deep_down(depth + 1, end, value);
    return message_at(depth, value + 2);
}

static int recurse(long depth)
{
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    rlim_t needed = (rlim_t)depth * 256 + (1 << 20);
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < needed) {
        limit.rlim_cur = needed;
        if (setrlimit(RLIMIT_STACK, &limit) != 0) {
            fprintf(stderr, "multigrid: rank %d: no stack of %llu bytes allowed\n", rank,
                    (unsigned long long)needed);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    long value = deep_down(0, depth, 0);
    if (rank == 0)
        printf("multigrid: %ld calls deep, value %ld\n", depth, value);
    return value == 3 * depth - depth % 2 ? 0 : 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    long iterations = 6, deep = 0;
    deep_every = 4096;
    const struct option_spec specs[] = {
        {OPTION_NUMBER, "levels", &levels, 1, MAX_LEVELS, 0, "levels of the grid"},
        {OPTION_NUMBER, "cells", &coarsest_cells, 1, 1024, 0, "cells of each rank on the coarsest level"},
        {OPTION_NUMBER, "iterations", &iterations, 0, 1e9, 0, "V-cycles"},
        {OPTION_NUMBER, "deep", &deep, 0, 200000, 0, "instead recurse N calls deep"},
        {OPTION_NUMBER, "every", &deep_every, 1, 1e9, 0, "with --deep: MPI call at every N-th depth"},
        {0}};
    int status = options_read(argc, argv, "[OPTION]...", "Multigrid for the Poisson problem on a line.",
                              specs, NULL, rank == 0);
    if (status == OPTIONS_RUN && deep > 0) {
        status = recurse(deep);
    } else if (status == OPTIONS_RUN) {
        status = 0;
        if (levels_create() != 0) {
            fprintf(stderr, "multigrid: rank %d: no memory for %ld levels\n", rank, levels);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        solve(iterations);
        levels_destroy();
    }
    MPI_Finalize();
    return status;
}

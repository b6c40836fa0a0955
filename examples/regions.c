/*
 * A program that names its own sections, for any tool that listens; without one it runs the same.
 *
 *     gnomon_region_begin("name") ... gnomon_region_end("name")   regions, nested
 *     MPI_Pcontrol(0) ... MPI_Pcontrol(1)                         what happens between is of no interest
 *
 * Needs no library of gnomon's, only the header.
 */
#include <gnomon.h>
#include <mpi.h>
#include "options.h"

struct vector {
    long count;
    double *values;
};

static __attribute__((noinline)) void set_up(struct vector *v, int rank)
{
    gnomon_region_begin("set up");
    v->values = malloc((size_t)v->count * sizeof *v->values);
    if (!v->values) {
        fprintf(stderr, "regions: rank %d: no memory for %ld numbers\n", rank, v->count);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (long i = 0; i < v->count; i++)
        v->values[i] = (double)((i + rank) % 1000);
    gnomon_region_end("set up");
}

static __attribute__((noinline)) double compute(struct vector *v)
{
    double largest = 0;
    gnomon_region_begin("compute");
    for (long i = 0; i < v->count; i++) {
        v->values[i] = 0.5 * v->values[i] + 1;
        largest = v->values[i] > largest ? v->values[i] : largest;
    }
    gnomon_region_end("compute");
    return largest;
}

static __attribute__((noinline)) double agree(double mine)
{
    double largest = 0;
    gnomon_region_begin("agree");
    MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    gnomon_region_end("agree");
    return largest;
}

/* Not worth measuring: the first messages, which set up connections. */
static void warm_up(void)
{
    MPI_Pcontrol(0);
    for (int i = 0; i < 10; i++)
        agree(i);
    MPI_Pcontrol(1);
}

static double iterate(struct vector *v, long iterations)
{
    double largest = 0;
    for (long i = 0; i < iterations; i++) {
        gnomon_region_begin("iteration");
        largest = agree(compute(v));
        gnomon_region_end("iteration");
    }
    return largest;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    long iterations = 200;
    struct vector v = {.count = 2000000};
    const struct option_spec specs[] = {{OPTION_NUMBER, "iterations", &iterations, 0, 1e9, 0, "iterations"},
                                        {OPTION_NUMBER, "count", &v.count, 1, 1e9, 0, "numbers of each rank"},
                                        {0}};
    int stop =
        options_read(argc, argv, "[OPTION]...", "Marks its sections as regions.", specs, NULL, rank == 0);
    if (stop == OPTIONS_RUN) {
        stop = 0;
        warm_up();
        set_up(&v, rank);
        double largest = iterate(&v, iterations);
        MPI_Pcontrol(0);
        if (rank == 0)
            printf("regions: %ld iterations, largest %.6f\n", iterations, largest);
        MPI_Barrier(MPI_COMM_WORLD);
        free(v.values);
        MPI_Pcontrol(1);
    }
    MPI_Finalize();
    return stop;
}

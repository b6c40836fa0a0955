/*
 * Several threads of each rank communicate at the same time (MPI_THREAD_MULTIPLE).
 *
 * Thread t of every rank sends a token around a ring of its own: even threads on a duplicate of
 * MPI_COMM_WORLD, odd ones on MPI_COMM_WORLD with a tag of their own. Thread 0 is the main thread. If the MPI
 * does not offer the level, says so and ends with 0.
 */
#include <mpi.h>
#include <pthread.h>
#include "options.h"

#define MAX_THREADS 16

struct ring {
    pthread_t thread;
    int rank, size, tag;
    MPI_Comm comm;
    long iterations;
    long sum; /* of all tokens that came in */
};

static __attribute__((noinline)) void *run_ring(void *argument)
{
    struct ring *ring = argument;
    int right = (ring->rank + 1) % ring->size, left = (ring->rank + ring->size - 1) % ring->size;
    for (long i = 0; i < ring->iterations; i++) {
        long out = i + ring->rank, in = -1;
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_LONG, left, ring->tag, ring->comm, &request);
        MPI_Send(&out, 1, MPI_LONG, right, ring->tag, ring->comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        ring->sum += in;
    }
    return NULL;
}

/* What `sum` must be: iterations times the left neighbour's rank plus 0 + 1 + ... */
static long expected_sum(const struct ring *ring)
{
    long left = (ring->rank + ring->size - 1) % ring->size;
    return ring->iterations * left + ring->iterations * (ring->iterations - 1) / 2;
}

static void run_all(struct ring *rings, long count)
{
    for (long t = 1; t < count; t++)
        if (pthread_create(&rings[t].thread, NULL, run_ring, &rings[t]) != 0) {
            fprintf(stderr, "threads: rank %d: cannot create thread %ld\n", rings[t].rank, t);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    run_ring(&rings[0]);
    for (long t = 1; t < count; t++)
        pthread_join(rings[t].thread, NULL);
}

static int run_rings(long threads, long iterations, int rank, int size)
{
    struct ring rings[MAX_THREADS];
    for (int t = 0; t < threads; t++) {
        rings[t] = (struct ring){
            .rank = rank, .size = size, .tag = t, .comm = MPI_COMM_WORLD, .iterations = iterations};
        if (t % 2 == 0)
            MPI_Comm_dup(MPI_COMM_WORLD, &rings[t].comm);
    }
    run_all(rings, threads);
    long wrong = 0, all_wrong;
    for (int t = 0; t < threads; t++) {
        wrong += rings[t].sum != expected_sum(&rings[t]);
        if (t % 2 == 0)
            MPI_Comm_free(&rings[t].comm);
    }
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("threads: %ld rings of %d ranks, %ld rounds, %ld wrong sums\n", threads, size, iterations,
               all_wrong);
    return all_wrong != 0;
}

int main(int argc, char **argv)
{
    int rank, size, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    long threads = 3, iterations = 100;
    const struct option_spec specs[] = {
        {OPTION_NUMBER, "threads", &threads, 1, MAX_THREADS, 0, "threads of each rank"},
        {OPTION_NUMBER, "iterations", &iterations, 0, 1e9, 0, "rounds of each ring"},
        {0}};
    int status = options_read(argc, argv, "[OPTION]...", "Each thread sends tokens around its own ring.",
                              specs, NULL, rank == 0);
    if (status == OPTIONS_RUN && level < MPI_THREAD_MULTIPLE) {
        if (rank == 0)
            printf("threads: this MPI does not offer MPI_THREAD_MULTIPLE, nothing done\n");
        status = 0;
    }
    if (status == OPTIONS_RUN)
        status = run_rings(threads, iterations, rank, size);
    MPI_Finalize();
    return status;
}

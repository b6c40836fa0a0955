/*
 * What an MPI call costs, for a program and for whoever sits between it and MPI.
 *
 *   calls batches [N]       N (default 100) pairs of batches of every pattern
 *   calls iterations N      N iterations of the ring, untimed: for the size of what a tool leaves behind
 *
 * With one rank on MPI_COMM_SELF, with two between them.
 *
 * The patterns are measured in pairs of batches (pairs.h).
 */
#include "deep.h"
#include "pairs.h"
#include "timing.h"

#include <mpi.h>
#include <string.h>

static MPI_Comm comm;
static int self, other; /* ranks in comm */

/* The calls that are measured (bench/empty_pmpi.c wraps the same), by either name. */
static const struct mpi {
    __typeof__(&MPI_Iprobe) iprobe;
    __typeof__(&MPI_Sendrecv) sendrecv;
    __typeof__(&MPI_Send) send;
    __typeof__(&MPI_Recv) recv;
    __typeof__(&MPI_Isend) isend;
    __typeof__(&MPI_Irecv) irecv;
    __typeof__(&MPI_Waitall) waitall;
    __typeof__(&MPI_Allreduce) allreduce;
} ways[PAIRS_WAYS] = {
    [PAIRS_THROUGH_TOOL] = {MPI_Iprobe, MPI_Sendrecv, MPI_Send, MPI_Recv, MPI_Isend, MPI_Irecv, MPI_Waitall,
                            MPI_Allreduce},
    [PAIRS_PAST_TOOL] = {PMPI_Iprobe, PMPI_Sendrecv, PMPI_Send, PMPI_Recv, PMPI_Isend, PMPI_Irecv,
                         PMPI_Waitall, PMPI_Allreduce},
};
static const struct mpi *mpi = &ways[PAIRS_THROUGH_TOOL];

/* ---- the patterns ---- */

static __attribute__((noinline)) void iprobes(long iterations)
{
    int flag;
    for (long i = 0; i < iterations; i++)
        mpi->iprobe(other, 0, comm, &flag, MPI_STATUS_IGNORE);
}

static void run_iprobe(long iterations)
{
    deep_call(iprobes, iterations);
    DEEP_BARRIER();
}

static void run_sendrecv(long iterations)
{
    double out = 1, in;
    for (long i = 0; i < iterations; i++)
        mpi->sendrecv(&out, 1, MPI_DOUBLE, other, 0, &in, 1, MPI_DOUBLE, other, 0, comm, MPI_STATUS_IGNORE);
}

static void run_pingpong(long iterations)
{
    double ball = 1;
    for (long i = 0; i < iterations; i++) {
        if (self == 0)
            mpi->send(&ball, 1, MPI_DOUBLE, other, 0, comm);
        mpi->recv(&ball, 1, MPI_DOUBLE, other, 0, comm, MPI_STATUS_IGNORE);
        if (self != 0)
            mpi->send(&ball, 1, MPI_DOUBLE, other, 0, comm);
    }
}

static void run_ring(long iterations)
{
    double out = 1, in;
    for (long i = 0; i < iterations; i++) {
        MPI_Request requests[2];
        mpi->irecv(&in, 1, MPI_DOUBLE, other, 0, comm, &requests[0]);
        mpi->isend(&out, 1, MPI_DOUBLE, other, 0, comm, &requests[1]);
        mpi->waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void run_allreduce(long iterations)
{
    double one = 1, sum;
    for (long i = 0; i < iterations; i++)
        mpi->allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

static struct pairs_pattern patterns[] = {
    {.name = "iprobe, 12 frames", .run = run_iprobe, .calls = 1},
    {.name = "sendrecv 8 B", .run = run_sendrecv, .calls = 1, .ranks = 1},
    {.name = "ping-pong 8 B", .run = run_pingpong, .calls = 2, .ranks = 2},
    {.name = "isend/irecv/waitall", .run = run_ring, .calls = 3},
    {.name = "allreduce 8 B", .run = run_allreduce, .calls = 1},
};

static void take(enum pairs_way way)
{
    mpi = &ways[way];
}

int main(int argc, char **argv)
{
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    comm = ranks == 1 ? MPI_COMM_SELF : MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &self);
    other = ranks == 1 ? self : 1 - self;
    const char *mode = argc > 1 ? argv[1] : "batches";
    long number = argc > 2 ? atol(argv[2]) : 100;
    if (ranks > 2) {
        fprintf(stderr, "calls: one rank or two, not %d\n", ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (strcmp(mode, "iterations") == 0)
        run_ring(number);
    else if (strcmp(mode, "batches") == 0 && number > 0 && number <= TIMING_MAX_BATCHES)
        pairs_measure(&(struct pairs){comm, take, patterns, sizeof patterns / sizeof patterns[0]},
                      (int)number);
    else
        fprintf(stderr, "usage: calls [batches N|iterations N]\n");
    MPI_Finalize();
    return 0;
}

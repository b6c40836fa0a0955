/*
 * The least that a tool between a program and its MPI library can do: forward the calls that bench/calls.c
 * makes. As it is, it is the baseline "empty wrapper"; compiled with WITH_CLOCK every call is timed with two
 * readings of the clock and the sum kept, which is the least that a tool which measures can do.
 */
#include <mpi.h>

#ifdef WITH_CLOCK
#include "clock/ticks.h"

static __thread struct {
    uint64_t calls, ticks;
} spent __attribute__((tls_model("initial-exec")));

#define FORWARD(call)                                                                                        \
    uint64_t begin_ticks = gn_ticks();                                                                       \
    int result = call;                                                                                       \
    spent.ticks += gn_ticks() - begin_ticks;                                                                 \
    spent.calls++;                                                                                           \
    return result
#else
#define FORWARD(call) return call
#endif

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    FORWARD(PMPI_Iprobe(source, tag, comm, flag, status));
}

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    FORWARD(PMPI_Send(buf, count, type, dest, tag, comm));
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    FORWARD(PMPI_Recv(buf, count, type, source, tag, comm, status));
}

int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                 MPI_Status *status)
{
    FORWARD(PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                          recvtag, comm, status));
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    FORWARD(PMPI_Isend(buf, count, type, dest, tag, comm, request));
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    FORWARD(PMPI_Irecv(buf, count, type, source, tag, comm, request));
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    FORWARD(PMPI_Waitall(count, requests, statuses));
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    FORWARD(PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm));
}

/*
 * As many MPI 3.1 communication calls as practical, each once or a few times with tiny data, results checked.
 *
 * One function per family. Ends with 1 at the first wrong result, else prints the number of checks (of all
 * ranks together). Needs at least 2 ranks. `--spawn` adds MPI_Comm_spawn of two children.
 */
#include <mpi.h>
#include <unistd.h>
#include "options.h"

#define WORLD MPI_COMM_WORLD
#define MAX_RANKS 64

static int rank, size, left, right;
static long checks;

static void expect(const char *what, long got, long wanted)
{
    checks++;
    if (got == wanted)
        return;
    fprintf(stderr, "everything: rank %d: %s gave %ld instead of %ld\n", rank, what, got, wanted);
    MPI_Abort(WORLD, 1);
}

static long sum_of_ranks(void)
{
    return (long)size * (size - 1) / 2;
}

/* ---- point to point ---- */

static void blocking_sends(void)
{
    int in = -1;
    char buffer[sizeof(int) + MPI_BSEND_OVERHEAD + 64];
    void *detached;
    int detached_size;
    MPI_Request request;
    MPI_Status status;

    MPI_Irecv(&in, 1, MPI_INT, left, 1, WORLD, &request);
    MPI_Send(&rank, 1, MPI_INT, right, 1, WORLD);
    MPI_Wait(&request, &status);
    expect("Send", in, left);
    expect("Send, status", status.MPI_SOURCE, left);
    MPI_Irecv(&in, 1, MPI_INT, left, 2, WORLD, &request);
    MPI_Ssend(&rank, 1, MPI_INT, right, 2, WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("Ssend", in, left);
    MPI_Irecv(&in, 1, MPI_INT, left, 3, WORLD, &request);
    MPI_Barrier(WORLD); /* a ready send needs the receive to be there */
    MPI_Rsend(&rank, 1, MPI_INT, right, 3, WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("Rsend", in, left);
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Bsend(&rank, 1, MPI_INT, right, 4, WORLD);
    MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 4, WORLD, &status);
    MPI_Buffer_detach(&detached, &detached_size);
    expect("Bsend", in, left);
    expect("Buffer_detach", detached == buffer, 1);
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 5, &in, 1, MPI_INT, left, 5, WORLD, &status);
    expect("Sendrecv", in, left);
    in = rank;
    MPI_Sendrecv_replace(&in, 1, MPI_INT, right, 6, left, 6, WORLD, MPI_STATUS_IGNORE);
    expect("Sendrecv_replace", in, left);
    MPI_Send(&rank, 1, MPI_INT, MPI_PROC_NULL, 7, WORLD);
    MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 7, WORLD, &status);
    expect("Recv from PROC_NULL", status.MPI_SOURCE == MPI_PROC_NULL, 1);
}

static void nonblocking_sends(void)
{
    int in[4] = {-1, -1, -1, -1};
    char buffer[sizeof(int) + MPI_BSEND_OVERHEAD + 64];
    void *detached;
    int detached_size;
    MPI_Request requests[8];

    MPI_Buffer_attach(buffer, sizeof buffer);
    for (int i = 0; i < 4; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, left, 10 + i, WORLD, &requests[i]);
    MPI_Barrier(WORLD);
    MPI_Isend(&rank, 1, MPI_INT, right, 10, WORLD, &requests[4]);
    MPI_Issend(&rank, 1, MPI_INT, right, 11, WORLD, &requests[5]);
    MPI_Irsend(&rank, 1, MPI_INT, right, 12, WORLD, &requests[6]);
    MPI_Ibsend(&rank, 1, MPI_INT, right, 13, WORLD, &requests[7]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(&detached, &detached_size);
    for (int i = 0; i < 4; i++)
        expect("Isend, Issend, Irsend, Ibsend", in[i], left);
}

static void persistent_sends(void)
{
    int in[4] = {-1, -1, -1, -1}, out = 0;
    char buffer[sizeof(int) + MPI_BSEND_OVERHEAD + 64];
    void *detached;
    int detached_size;
    MPI_Request requests[8];

    MPI_Buffer_attach(buffer, sizeof buffer);
    for (int i = 0; i < 4; i++)
        MPI_Recv_init(&in[i], 1, MPI_INT, left, 20 + i, WORLD, &requests[i]);
    MPI_Send_init(&out, 1, MPI_INT, right, 20, WORLD, &requests[4]);
    MPI_Ssend_init(&out, 1, MPI_INT, right, 21, WORLD, &requests[5]);
    MPI_Bsend_init(&out, 1, MPI_INT, right, 22, WORLD, &requests[6]);
    MPI_Rsend_init(&out, 1, MPI_INT, right, 23, WORLD, &requests[7]);
    for (int round = 0; round < 3; round++) {
        out = 100 * round + rank;
        MPI_Startall(4, requests);
        MPI_Barrier(WORLD);
        for (int i = 4; i < 8; i++)
            MPI_Start(&requests[i]);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 4; i++)
            expect("Start, Startall", in[i], 100 * round + left);
    }
    for (int i = 0; i < 8; i++)
        MPI_Request_free(&requests[i]);
    MPI_Buffer_detach(&detached, &detached_size);
}

static void probes(void)
{
    int in = -1, flag = 0, count;
    MPI_Status status;
    MPI_Message message;
    MPI_Request request, sends[4];

    for (int i = 0; i < 4; i++)
        MPI_Isend(&rank, 1, MPI_INT, right, 30 + i, WORLD, &sends[i]);
    MPI_Probe(MPI_ANY_SOURCE, 30, WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    expect("Probe", count, 1);
    MPI_Recv(&in, 1, MPI_INT, status.MPI_SOURCE, 30, WORLD, MPI_STATUS_IGNORE);
    while (!flag)
        MPI_Iprobe(left, 31, WORLD, &flag, &status);
    MPI_Recv(&in, 1, MPI_INT, left, 31, WORLD, MPI_STATUS_IGNORE);
    expect("Iprobe", status.MPI_TAG, 31);
    MPI_Mprobe(left, 32, WORLD, &message, &status);
    MPI_Mrecv(&in, 1, MPI_INT, &message, &status);
    expect("Mprobe, Mrecv", in, left);
    for (flag = 0; !flag;)
        MPI_Improbe(left, 33, WORLD, &flag, &message, &status);
    in = -1;
    MPI_Imrecv(&in, 1, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    expect("Improbe, Imrecv", in, left);
    MPI_Waitall(4, sends, MPI_STATUSES_IGNORE);
}

/* Receives i from the left with tag tag + i, and the sends that answer them. */
static void start_four(int in[4], MPI_Request receives[4], MPI_Request sends[4], int tag)
{
    for (int i = 0; i < 4; i++) {
        in[i] = -1;
        MPI_Irecv(&in[i], 1, MPI_INT, left, tag + i, WORLD, &receives[i]);
        MPI_Isend(&rank, 1, MPI_INT, right, tag + i, WORLD, &sends[i]);
    }
}

static void end_four(const char *what, const int in[4], MPI_Request sends[4])
{
    for (int i = 0; i < 4; i++)
        expect(what, in[i], left);
    MPI_Waitall(4, sends, MPI_STATUSES_IGNORE);
}

static void waits_and_tests(void)
{
    int in[4], index, flag = 0, done, count, indices[4];
    MPI_Request receives[4], sends[4];
    MPI_Status status, statuses[4];

    start_four(in, receives, sends, 40);
    for (int i = 0; i < 4; i++)
        for (flag = 0; !flag;)
            MPI_Test(&receives[i], &flag, &status);
    end_four("Test", in, sends);
    start_four(in, receives, sends, 44);
    for (flag = 0; !flag;)
        MPI_Testall(4, receives, &flag, statuses);
    end_four("Testall", in, sends);
    start_four(in, receives, sends, 48);
    for (done = 0; done < 4; done += flag)
        MPI_Testany(4, receives, &index, &flag, &status);
    end_four("Testany", in, sends);
    start_four(in, receives, sends, 52);
    for (done = 0; done < 4; done += count)
        MPI_Testsome(4, receives, &count, indices, statuses);
    end_four("Testsome", in, sends);
    start_four(in, receives, sends, 56);
    for (int i = 0; i < 4; i++)
        MPI_Waitany(4, receives, &index, &status);
    end_four("Waitany", in, sends);
    start_four(in, receives, sends, 60);
    for (done = 0; done < 4; done += count)
        MPI_Waitsome(4, receives, &count, indices, MPI_STATUSES_IGNORE);
    end_four("Waitsome", in, sends);
    start_four(in, receives, sends, 64);
    for (flag = 0; !flag;)
        MPI_Request_get_status(receives[3], &flag, &status);
    expect("Request_get_status", status.MPI_TAG, 67);
    MPI_Waitall(4, receives, statuses);
    end_four("Waitall", in, sends);
}

static void datatypes(void)
{
    int table[3][3] = {{0}}, column[3] = {-1, -1, -1}, position = 0;
    char packed[64];
    MPI_Datatype vector;
    MPI_Status status;

    for (int i = 0; i < 3; i++)
        table[i][1] = 10 * rank + i;
    MPI_Type_vector(3, 1, 3, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Sendrecv(&table[0][1], 1, vector, right, 70, column, 3, MPI_INT, left, 70, WORLD, &status);
    MPI_Type_free(&vector);
    expect("Type_vector", column[2], 10 * left + 2);
    MPI_Pack(&rank, 1, MPI_INT, packed, sizeof packed, &position, WORLD);
    MPI_Pack(column, 3, MPI_INT, packed, sizeof packed, &position, WORLD);
    int length = position;
    MPI_Sendrecv_replace(packed, length, MPI_PACKED, right, 71, left, 71, WORLD, &status);
    position = 0;
    MPI_Unpack(packed, length, &position, &column[0], 1, MPI_INT, WORLD);
    expect("Pack, Unpack", column[0], left);
}

/* ---- collectives ---- */

static void finish(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void one_to_all(void)
{
    int value, in, counts[MAX_RANKS], starts[MAX_RANKS], out[2 * MAX_RANKS], own[2];
    MPI_Request request;

    MPI_Barrier(WORLD);
    MPI_Ibarrier(WORLD, &request);
    finish(&request);
    value = rank == 1 ? 42 : 0;
    MPI_Bcast(&value, 1, MPI_INT, 1, WORLD);
    expect("Bcast", value, 42);
    value = rank == 0 ? 43 : 0;
    MPI_Ibcast(&value, 1, MPI_INT, 0, WORLD, &request);
    finish(&request);
    expect("Ibcast", value, 43);
    for (int i = 0; i < size; i++) {
        counts[i] = 1 + i % 2;
        starts[i] = 2 * i;
        out[2 * i] = out[2 * i + 1] = 1000 + i;
    }
    MPI_Scatter(out, 2, MPI_INT, own, 2, MPI_INT, 0, WORLD);
    expect("Scatter", own[1], 1000 + rank);
    MPI_Iscatter(out, 2, MPI_INT, own, 2, MPI_INT, size - 1, WORLD, &request);
    finish(&request);
    expect("Iscatter", own[0], 1000 + rank);
    MPI_Scatterv(out, counts, starts, MPI_INT, own, counts[rank], MPI_INT, 0, WORLD);
    expect("Scatterv", own[counts[rank] - 1], 1000 + rank);
    own[0] = 0;
    MPI_Iscatterv(out, counts, starts, MPI_INT, own, counts[rank], MPI_INT, 0, WORLD, &request);
    finish(&request);
    expect("Iscatterv", own[0], 1000 + rank);
    in = rank == 0 ? 7 : 0;
    MPI_Scatter(out, 1, MPI_INT, rank == 0 ? MPI_IN_PLACE : &in, 1, MPI_INT, 0, WORLD);
    expect("Scatter, in place", in, rank == 0 ? 7 : out[rank]);
}

static void all_to_one(void)
{
    int counts[MAX_RANKS], starts[MAX_RANKS], in[2 * MAX_RANKS], own[2] = {rank, rank};
    long mine = rank, sum = 0;
    MPI_Request request;

    for (int i = 0; i < size; i++) {
        counts[i] = 1 + i % 2;
        starts[i] = 2 * i;
    }
    for (int last = 2 * size - 1, root = 0; root < size; root += size - 1) { /* the first and the last rank */
        in[last] = root == rank ? -1 : size - 1;
        MPI_Gather(own, 2, MPI_INT, in, 2, MPI_INT, root, WORLD);
        expect("Gather", in[last], size - 1);
        in[last] = root == rank ? -1 : size - 1;
        MPI_Igather(own, 2, MPI_INT, in, 2, MPI_INT, root, WORLD, &request);
        finish(&request);
        expect("Igather", in[last], size - 1);
    }
    in[2 * size - 2] = -1;
    MPI_Gatherv(own, counts[rank], MPI_INT, in, counts, starts, MPI_INT, 0, WORLD);
    expect("Gatherv", in[2 * size - 2], rank == 0 ? size - 1 : -1);
    in[2 * size - 2] = -1;
    MPI_Igatherv(own, counts[rank], MPI_INT, in, counts, starts, MPI_INT, 0, WORLD, &request);
    finish(&request);
    expect("Igatherv", in[2 * size - 2], rank == 0 ? size - 1 : -1);
    MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, 0, WORLD);
    expect("Reduce", sum, rank == 0 ? sum_of_ranks() : 0);
    MPI_Ireduce(&mine, &sum, 1, MPI_LONG, MPI_MAX, 0, WORLD, &request);
    finish(&request);
    expect("Ireduce", sum, rank == 0 ? size - 1 : 0);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &mine, &mine, 1, MPI_LONG, MPI_SUM, 0, WORLD);
    expect("Reduce, in place", mine, rank == 0 ? sum_of_ranks() : rank);
}

static void gathers_for_all(void)
{
    int counts[MAX_RANKS], starts[MAX_RANKS], in[2 * MAX_RANKS], own[2] = {rank, rank}, last = 2 * size - 2;
    MPI_Request request;

    for (int i = 0; i < size; i++) {
        counts[i] = 1 + i % 2;
        starts[i] = 2 * i;
    }
    MPI_Allgather(own, 2, MPI_INT, in, 2, MPI_INT, WORLD);
    expect("Allgather", in[last], size - 1);
    in[last] = -1;
    MPI_Iallgather(own, 2, MPI_INT, in, 2, MPI_INT, WORLD, &request);
    finish(&request);
    expect("Iallgather", in[last], size - 1);
    in[last] = -1;
    MPI_Allgatherv(own, counts[rank], MPI_INT, in, counts, starts, MPI_INT, WORLD);
    expect("Allgatherv", in[last], size - 1);
    in[last] = -1;
    MPI_Iallgatherv(own, counts[rank], MPI_INT, in, counts, starts, MPI_INT, WORLD, &request);
    finish(&request);
    expect("Iallgatherv", in[last], size - 1);
    for (int i = 0; i < size; i++)
        in[i] = i == rank ? rank : -1;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, WORLD);
    expect("Allgather, in place", in[right], right);
}

static void alltoalls(void)
{
    int out[MAX_RANKS], in[MAX_RANKS], counts[MAX_RANKS], starts[MAX_RANKS], bytes[MAX_RANKS];
    MPI_Datatype types[MAX_RANKS];
    MPI_Request request;

    for (int i = 0; i < size; i++) {
        out[i] = 100 * rank + i;
        counts[i] = 1;
        starts[i] = i;
        bytes[i] = i * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, WORLD);
    expect("Alltoall", in[left], 100 * left + rank);
    in[left] = -1;
    MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, WORLD, &request);
    finish(&request);
    expect("Ialltoall", in[left], 100 * left + rank);
    in[left] = -1;
    MPI_Alltoallv(out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, WORLD);
    expect("Alltoallv", in[left], 100 * left + rank);
    in[left] = -1;
    MPI_Ialltoallv(out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, WORLD, &request);
    finish(&request);
    expect("Ialltoallv", in[left], 100 * left + rank);
    in[left] = -1;
    MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, WORLD);
    expect("Alltoallw", in[left], 100 * left + rank);
    in[left] = -1;
    MPI_Ialltoallw(out, counts, bytes, types, in, counts, bytes, types, WORLD, &request);
    finish(&request);
    expect("Ialltoallw", in[left], 100 * left + rank);
}

static void add_ints(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void reductions_for_all(void)
{
    int value = rank, sum = 0, in = 1, out = 2, mine[MAX_RANKS], ones[MAX_RANKS];
    MPI_Op add;
    MPI_Request request;

    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, WORLD);
    expect("Allreduce", sum, sum_of_ranks());
    MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_MAX, WORLD, &request);
    finish(&request);
    expect("Iallreduce", sum, size - 1);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, WORLD);
    expect("Allreduce, in place", value, sum_of_ranks());
    MPI_Op_create(add_ints, 1, &add);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, add, WORLD);
    MPI_Op_free(&add);
    expect("Op_create", sum, sum_of_ranks());
    MPI_Reduce_local(&in, &out, 1, MPI_INT, MPI_SUM);
    expect("Reduce_local", out, 3);
    for (int i = 0; i < size; i++) {
        mine[i] = rank + i;
        ones[i] = 1;
    }
    long column = sum_of_ranks() + (long)size * rank;
    MPI_Reduce_scatter(mine, &sum, ones, MPI_INT, MPI_SUM, WORLD);
    expect("Reduce_scatter", sum, column);
    MPI_Ireduce_scatter(mine, &value, ones, MPI_INT, MPI_SUM, WORLD, &request);
    finish(&request);
    expect("Ireduce_scatter", value, column);
    MPI_Reduce_scatter_block(mine, &in, 1, MPI_INT, MPI_SUM, WORLD);
    expect("Reduce_scatter_block", in, column);
    MPI_Ireduce_scatter_block(mine, &out, 1, MPI_INT, MPI_SUM, WORLD, &request);
    finish(&request);
    expect("Ireduce_scatter_block", out, column);
}

static void scans(void)
{
    int sum = 0, before = -1;
    MPI_Request request;

    MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, WORLD);
    expect("Scan", sum, rank * (rank + 1) / 2);
    MPI_Iscan(&rank, &sum, 1, MPI_INT, MPI_MAX, WORLD, &request);
    finish(&request);
    expect("Iscan", sum, rank);
    MPI_Exscan(&rank, &before, 1, MPI_INT, MPI_SUM, WORLD);
    expect("Exscan", rank ? before : 0, rank * (rank - 1) / 2);
    MPI_Iexscan(&rank, &before, 1, MPI_INT, MPI_MAX, WORLD, &request);
    finish(&request);
    expect("Iexscan", rank ? before : -1, rank - 1);
}

/* The first to begin is the last to complete, and its messages are longer. */
static void overlapping_neighbourhoods(MPI_Comm row)
{
    int out[4] = {rank, rank, rank, rank}, in[4] = {-1, -1, -1, -1}, short_in[2] = {-1, -1};
    MPI_Request request;
    MPI_Ineighbor_alltoall(out, 2, MPI_INT, in, 2, MPI_INT, row, &request);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, short_in, 1, MPI_INT, row);
    finish(&request);
    expect("Neighbor_allgather within Ineighbor_alltoall, lower", in[0], rank - 1);
    expect("the same, upper", in[3], rank < size - 1 ? rank + 1 : -1);
    expect("the inner one, lower", short_in[0], rank - 1);
}

/* A ring in which more goes upward than downward. Of two ranks each is the other's lower and upper neighbour.
 */
static void closed_neighbourhood(void)
{
    MPI_Comm ring;
    int closed = 1, out[3] = {rank, rank, rank}, in[3] = {-1, -1, -1};
    int down_up[2] = {1, 2}, from_down_up[2] = {2, 1}, send_at[2] = {0, 1}, receive_at[2] = {0, 2};
    MPI_Cart_create(WORLD, 1, &size, &closed, 0, &ring);
    MPI_Neighbor_alltoallv(out, down_up, send_at, MPI_INT, in, from_down_up, receive_at, MPI_INT, ring);
    expect("ring, from below", in[1], left);
    expect("ring, from above", in[2], right);
    MPI_Comm_free(&ring);
}

/* Ranks in a row that is not closed, so that the ends have a neighbour PROC_NULL, whose slot stays -1. */
static void neighbourhoods(void)
{
    MPI_Comm row;
    int open_end = 0, out[2], in[2], counts[2] = {1, 1}, starts[2] = {0, 1}, lower, upper;
    MPI_Aint bytes[2] = {0, sizeof(int)};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Request request;

    MPI_Cart_create(WORLD, 1, &size, &open_end, 0, &row);
    MPI_Cart_shift(row, 0, 1, &lower, &upper);
    expect("Cart_shift", lower, rank > 0 ? rank - 1 : MPI_PROC_NULL);
    int below = rank > 0 ? rank - 1 : -1, above = rank < size - 1 ? rank + 1 : -1;
    for (int call = 0; call < 10; call++) {
        out[0] = out[1] = rank;
        in[0] = in[1] = -1;
        request = MPI_REQUEST_NULL;
        switch (call) {
        case 0:
            MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, row);
            break;
        case 1:
            MPI_Ineighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, row, &request);
            break;
        case 2:
            MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, counts, starts, MPI_INT, row);
            break;
        case 3:
            MPI_Ineighbor_allgatherv(out, 1, MPI_INT, in, counts, starts, MPI_INT, row, &request);
            break;
        case 4:
            MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, row);
            break;
        case 5:
            MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, row, &request);
            break;
        case 6:
            MPI_Neighbor_alltoallv(out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, row);
            break;
        case 7:
            MPI_Ineighbor_alltoallv(out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, row, &request);
            break;
        case 8:
            MPI_Neighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, row);
            break;
        case 9:
            MPI_Ineighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, row, &request);
            break;
        }
        finish(&request);
        expect("neighbourhood, lower", in[0], below);
        expect("neighbourhood, upper", in[1], above);
    }
    overlapping_neighbourhoods(row);
    MPI_Comm_free(&row);
#ifdef MPICH_VERSION
    if (size > 2)
#endif
        closed_neighbourhood();
}

static void graph_neighbourhood(void)
{
    MPI_Comm ring;
    int in = -1;
    MPI_Dist_graph_create_adjacent(WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &ring);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, &in, 1, MPI_INT, ring);
    expect("Dist_graph, Neighbor_allgather", in, left);
    MPI_Comm_free(&ring);
}

/* ---- communicators ---- */

/* The sum over the communicator of a 1 from each is its size; takes and frees it. */
static void expect_members(const char *what, MPI_Comm *comm, int members)
{
    int one = 1, sum = 0;
    if (*comm == MPI_COMM_NULL) {
        expect(what, 0, members);
        return;
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *comm);
    expect(what, sum, members);
    MPI_Comm_free(comm);
}

static void communicators(void)
{
    MPI_Comm comm;
    MPI_Group all, evens;
    MPI_Request request;
    int even_ranks[MAX_RANKS], even_count = (size + 1) / 2;

    MPI_Comm_split(WORLD, rank % 2, -rank, &comm);
    expect_members("Comm_split", &comm, rank % 2 ? size / 2 : even_count);
    MPI_Comm_split(WORLD, rank == 0 ? MPI_UNDEFINED : 0, 0, &comm);
    expect_members("Comm_split, UNDEFINED", &comm, rank == 0 ? 0 : size - 1);
    MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    expect("Comm_split_type", comm != MPI_COMM_NULL, 1);
    MPI_Comm_free(&comm);
    MPI_Comm_dup(WORLD, &comm);
    expect_members("Comm_dup", &comm, size);
    MPI_Comm_dup_with_info(WORLD, MPI_INFO_NULL, &comm);
    expect_members("Comm_dup_with_info", &comm, size);
    MPI_Comm_idup(WORLD, &comm, &request);
    finish(&request);
    expect_members("Comm_idup", &comm, size);

    for (int i = 0; i < even_count; i++)
        even_ranks[i] = 2 * i;
    MPI_Comm_group(WORLD, &all);
    MPI_Group_incl(all, even_count, even_ranks, &evens);
    MPI_Comm_create(WORLD, evens, &comm);
    expect_members("Comm_create", &comm, rank % 2 ? 0 : even_count);
    if (rank % 2 == 0) {
        MPI_Comm_create_group(WORLD, evens, 17, &comm);
        expect_members("Comm_create_group", &comm, even_count);
    }
    MPI_Group_free(&evens);
    MPI_Group_free(&all);
}

static void cartesian(void)
{
    MPI_Comm grid, row;
    int sides[2] = {0, 0}, closed[2] = {1, 0}, keep[2] = {0, 1};
    MPI_Dims_create(size, 2, sides);
    MPI_Cart_create(WORLD, 2, sides, closed, 1, &grid);
    MPI_Cart_sub(grid, keep, &row);
    expect_members("Cart_sub", &row, sides[1]);
    expect_members("Cart_create", &grid, size);
}

/* Even ranks on one side, odd ranks on the other. */
static void intercommunicator(void)
{
    MPI_Comm side, inter, merged;
    int odd = rank % 2, local_rank, remote_size, sum = 0, value = -1;
    MPI_Status status;

    MPI_Comm_split(WORLD, odd, rank, &side);
    MPI_Comm_rank(side, &local_rank);
    MPI_Intercomm_create(side, 0, WORLD, odd ? 0 : 1, 18, &inter);
    MPI_Comm_remote_size(inter, &remote_size);
    expect("Comm_remote_size", remote_size, odd ? (size + 1) / 2 : size / 2);
    int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter); /* gives the other side's sum */
    expect("Allreduce, intercommunicator", sum, remote_size);
    value = odd ? -1 : 5;
    int root = odd ? 0 : local_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(&value, 1, MPI_INT, root, inter);
    expect("Bcast, intercommunicator", value, 5);
    if (local_rank == 0) {
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 19, &value, 1, MPI_INT, 0, 19, inter, &status);
        expect("Sendrecv, intercommunicator", value, !odd);
    }
    MPI_Barrier(inter);
    MPI_Intercomm_merge(inter, odd, &merged);
    expect_members("Intercomm_merge", &merged, size);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&side);
}

/* Rank 0 on one side, all others on the other one: each side gets the sums of the other's vectors, of as many
 * numbers as there are others. */
static void unequal_intercommunicator(void)
{
    MPI_Comm side, inter;
    int alone = rank == 0, members, vector[64], counts[64], in[64];

    MPI_Comm_split(WORLD, alone, rank, &side);
    MPI_Comm_size(side, &members);
    MPI_Intercomm_create(side, 0, WORLD, alone ? 1 : 0, 20, &inter);
    int each = (size - 1) / members, sum = alone ? size - 1 : 1; /* of those who send to us */
    for (int i = 0; i < 64; i++) {
        vector[i] = 1;
        counts[i] = each;
    }
    MPI_Reduce_scatter(vector, in, counts, MPI_INT, MPI_SUM, inter);
    expect("Reduce_scatter, intercommunicator", in[each - 1], sum);
    MPI_Reduce_scatter_block(vector, in, each, MPI_INT, MPI_SUM, inter);
    expect("Reduce_scatter_block, intercommunicator", in[each - 1], sum);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&side);
}

/* ---- one-sided ---- */

/*
 * Windows of multiples of 16 bytes: with others of several ranks on a node, MPICH 4.0.2's MPI_Win_allocate
 * mixes up whose memory is whose (8 bytes each: a Put to rank 3 arrives at rank 2).
 */
#define WINDOW_INTS 4

static void window_fence(void)
{
    int *memory, in = -1, add = 1;
    MPI_Win window;
    MPI_Win_allocate(WINDOW_INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &memory, &window);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    memory[0] = memory[1] = -1;
    memory[2] = rank;
    memory[3] = 0;
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, right, 0, 1, MPI_INT, window);
    MPI_Get(&in, 1, MPI_INT, right, 2, 1, MPI_INT, window);
    MPI_Accumulate(&add, 1, MPI_INT, 0, 3, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    expect("Put, fence", memory[0], left);
    expect("Get, fence", in, right);
    expect("Accumulate, fence", memory[3], rank == 0 ? size : 0);
    MPI_Win_free(&window);
}

/* Post/start/complete/wait: I write to the right, so the left writes to me. */
static void window_pscw(void)
{
    int memory[2] = {-1, -1}, flag = 0;
    MPI_Win window;
    MPI_Group all, writers, targets;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, WORLD, &window);
    MPI_Comm_group(WORLD, &all);
    MPI_Group_incl(all, 1, &left, &writers);
    MPI_Group_incl(all, 1, &right, &targets);
    for (int round = 0; round < 2; round++) {
        MPI_Win_post(writers, 0, window);
        MPI_Win_start(targets, 0, window);
        MPI_Put(&rank, 1, MPI_INT, right, round, 1, MPI_INT, window);
        MPI_Win_complete(window);
        if (round == 0)
            MPI_Win_wait(window);
        else
            while (!flag)
                MPI_Win_test(window, &flag);
        expect("Win_post, start, complete, wait", memory[round], left);
    }
    MPI_Group_free(&targets);
    MPI_Group_free(&writers);
    MPI_Group_free(&all);
    MPI_Win_free(&window);
}

static void window_locks(void)
{
    int *memory, in = -1, one = 1, old = -1, zero = 0;
    MPI_Win window;
    MPI_Win_allocate(WINDOW_INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &memory, &window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    memory[0] = memory[1] = memory[2] = memory[3] = 0;
    MPI_Win_unlock(rank, window);
    MPI_Barrier(WORLD);

    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window);
    MPI_Put(&rank, 1, MPI_INT, right, 0, 1, MPI_INT, window);
    MPI_Win_flush_local(right, window);
    MPI_Win_flush(right, window);
    MPI_Get(&in, 1, MPI_INT, right, 0, 1, MPI_INT, window);
    MPI_Win_unlock(right, window);
    expect("Win_lock, Put, flush, Get", in, rank);

    MPI_Win_lock_all(0, window);
    MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 1, MPI_SUM, window);
    MPI_Win_flush_all(window);
    expect("Fetch_and_op", old >= 0 && old < size, 1);
    MPI_Compare_and_swap(&one, &zero, &old, MPI_INT, right, 2, window); /* only I write there */
    MPI_Win_flush_local_all(window);
    MPI_Win_flush(right, window);
    expect("Compare_and_swap", old, 0);
    MPI_Get_accumulate(&one, 1, MPI_INT, &old, 1, MPI_INT, right, 3, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_flush(right, window);
    expect("Get_accumulate", old, 0);
    MPI_Win_sync(window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(WORLD);

    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    expect("Fetch_and_op, sum", memory[1], rank == 0 ? size : 0);
    expect("Compare_and_swap, value", memory[2], 1);
    expect("Get_accumulate, value", memory[3], 1);
    MPI_Win_unlock(rank, window);
    MPI_Win_free(&window);
}

static void window_requests(void)
{
    int *memory, in = -1, one = 1, old = -1;
    MPI_Win window;
    MPI_Request request;
    MPI_Win_allocate(WINDOW_INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &memory, &window);
    MPI_Win_lock_all(0, window);
    memory[0] = memory[1] = 0;
    MPI_Win_sync(window);
    MPI_Barrier(WORLD);
    MPI_Rput(&rank, 1, MPI_INT, right, 0, 1, MPI_INT, window, &request);
    finish(&request);
    MPI_Win_flush(right, window);
    MPI_Rget(&in, 1, MPI_INT, right, 0, 1, MPI_INT, window, &request);
    finish(&request);
    expect("Rput, Rget", in, rank);
    MPI_Raccumulate(&one, 1, MPI_INT, right, 1, 1, MPI_INT, MPI_SUM, window, &request);
    finish(&request);
    MPI_Win_flush(right, window);
    MPI_Rget_accumulate(&one, 1, MPI_INT, &old, 1, MPI_INT, right, 1, 1, MPI_INT, MPI_SUM, window, &request);
    finish(&request);
    expect("Raccumulate, Rget_accumulate", old, 1);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

static void window_shared(void)
{
    MPI_Comm node;
    MPI_Win window;
    MPI_Aint bytes;
    int *memory, *neighbour, node_rank, node_size, unit;
    MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &node_rank);
    MPI_Comm_size(node, &node_size);
    MPI_Win_allocate_shared(WINDOW_INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &memory, &window);
    MPI_Win_fence(0, window);
    *memory = node_rank;
    MPI_Win_fence(0, window);
    int next = (node_rank + 1) % node_size;
    MPI_Win_shared_query(window, next, &bytes, &unit, &neighbour);
    expect("Win_allocate_shared", *neighbour, next);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_Comm_free(&node);
}

/* ---- files ---- */

static void open_file(char *path, size_t path_size, MPI_File *file)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, path_size, "%s/everything.%ld", folder ? folder : "/tmp", (long)getpid());
    MPI_Bcast(path, (int)path_size, MPI_CHAR, 0, WORLD);
    int error = MPI_File_open(WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, file);
    expect("File_open", error, MPI_SUCCESS);
}

static void file_explicit_offsets(MPI_File file)
{
    int in = -1, at = rank * (int)sizeof(int), at_right = right * (int)sizeof(int);
    MPI_Offset bytes;
    MPI_Status status;
    MPI_Request request;
    MPI_File_write_at_all(file, at, &rank, 1, MPI_INT, &status);
    MPI_File_sync(file);
    MPI_Barrier(WORLD);
    MPI_File_read_at_all(file, at_right, &in, 1, MPI_INT, &status);
    expect("File_write_at_all, read_at_all", in, right);
    MPI_File_get_size(file, &bytes);
    expect("File_get_size", bytes, (long)(size * sizeof(int)));
    int out = rank + 100;
    MPI_Barrier(WORLD);
    MPI_File_write_at(file, at, &out, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, at, &in, 1, MPI_INT, &status);
    expect("File_write_at, read_at", in, rank + 100);
    out = rank + 200;
    MPI_File_iwrite_at(file, at, &out, 1, MPI_INT, &request);
    finish(&request);
    MPI_File_iread_at(file, at, &in, 1, MPI_INT, &request);
    finish(&request);
    expect("File_iwrite_at, iread_at", in, rank + 200);
    out = rank + 300;
    MPI_File_write_at_all_begin(file, at, &out, 1, MPI_INT);
    MPI_File_write_at_all_end(file, &out, &status);
    MPI_File_read_at_all_begin(file, at, &in, 1, MPI_INT);
    MPI_File_read_at_all_end(file, &in, &status);
    expect("File_write_at_all_begin, end", in, rank + 300);
}

/* Through a view, each rank sees only its own numbers: every `size`-th. */
static void file_view(MPI_File file)
{
    int out[2] = {rank, rank + 10}, in[2] = {-1, -1};
    MPI_Datatype every_nth;
    MPI_Request request;
    MPI_Offset position;
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(size * sizeof(int)), &every_nth);
    MPI_Type_commit(&every_nth);
    MPI_File_set_view(file, (MPI_Offset)(rank * sizeof(int)), MPI_INT, every_nth, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, out, 2, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read_all(file, in, 2, MPI_INT, MPI_STATUS_IGNORE);
    expect("File_set_view, write_all, read_all", in[1], rank + 10);
    out[0] = rank + 20;
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_iwrite(file, out, 1, MPI_INT, &request);
    finish(&request);
    MPI_File_get_position(file, &position);
    expect("File_get_position", position, 1);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_iread(file, in, 1, MPI_INT, &request);
    finish(&request);
    expect("File_iwrite, iread", in[0], rank + 20);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_write(file, out, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read(file, in, 1, MPI_INT, MPI_STATUS_IGNORE);
    expect("File_write, read", in[0], rank + 10);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_Type_free(&every_nth);
}

/* The shared pointer: who writes first is open, so the sum is checked; `ordered` is in the order of ranks. */
static void file_shared_pointer(MPI_File file)
{
    int in = -1, sum = 0;
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_write_shared(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(WORLD);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_read_shared(file, &in, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, WORLD);
    expect("File_write_shared, read_shared", sum, sum_of_ranks());
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    int out = rank + 50;
    MPI_File_write_ordered(file, &out, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(WORLD);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_read_ordered(file, &in, 1, MPI_INT, MPI_STATUS_IGNORE);
    expect("File_write_ordered, read_ordered", in, rank + 50);
}

static void files(void)
{
    char path[256] = "";
    MPI_File file;
    open_file(path, sizeof path, &file);
    file_explicit_offsets(file);
    MPI_Barrier(WORLD);
    file_view(file);
    MPI_Barrier(WORLD);
    file_shared_pointer(file);
    MPI_File_close(&file);
    if (rank == 0)
        expect("File_delete", MPI_File_delete(path, MPI_INFO_NULL), MPI_SUCCESS);
}

/* ---- processes ---- */

#define CHILDREN 2

/* What parents and children do with each other; each side's contribution is 1, so sums are sizes. */
static void talk_to_other_world(MPI_Comm inter, int other_size, int high, int total)
{
    MPI_Comm merged;
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    expect("Allreduce with the other world", sum, other_size);
    MPI_Intercomm_merge(inter, high, &merged);
    expect_members("Intercomm_merge with the other world", &merged, total);
    MPI_Comm_disconnect(&inter);
}

static void spawn(char *program)
{
    MPI_Comm children;
    int errors[CHILDREN];
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    int error = MPI_Comm_spawn(program, MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, WORLD, &children, errors);
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_ARE_FATAL);
    if (error != MPI_SUCCESS) { /* Debian's MPICH 4.0.2 cannot */
        if (rank == 0)
            printf("everything: MPI_Comm_spawn does not work here, left out\n");
        return;
    }
    talk_to_other_world(children, CHILDREN, 0, size + CHILDREN);
}

static int child(MPI_Comm parents)
{
    int parent_count;
    MPI_Comm_remote_size(parents, &parent_count);
    talk_to_other_world(parents, parent_count, 1, parent_count + CHILDREN);
    MPI_Finalize();
    return 0;
}

static void everything(void)
{
    blocking_sends();
    nonblocking_sends();
    persistent_sends();
    probes();
    waits_and_tests();
    datatypes();
    one_to_all();
    all_to_one();
    gathers_for_all();
    alltoalls();
    reductions_for_all();
    scans();
    neighbourhoods();
    graph_neighbourhood();
    communicators();
    cartesian();
    intercommunicator();
    if (size <= 64)
        unequal_intercommunicator();
    window_fence();
    window_pscw();
    window_locks();
    window_requests();
    window_shared();
    files();
}

int main(int argc, char **argv)
{
    MPI_Comm parents;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL)
        return child(parents);

    long with_spawn = 0;
    const struct option_spec specs[] = {
        {OPTION_FLAG, "spawn", &with_spawn, 0, 0, 0, "also start two more processes by MPI_Comm_spawn"}, {0}};
    int stop = options_read(argc, argv, "[OPTION]...", "Calls everything once and checks the results.", specs,
                            NULL, rank == 0);
    if (stop == OPTIONS_RUN && (size < 2 || size > MAX_RANKS)) {
        if (rank == 0)
            fprintf(stderr, "everything: needs 2 to %d ranks\n", MAX_RANKS);
        stop = 2;
    }
    if (stop == OPTIONS_RUN) {
        stop = 0;
        everything();
        if (with_spawn)
            spawn(argv[0]);
        long all = 0;
        MPI_Reduce(&checks, &all, 1, MPI_LONG, MPI_SUM, 0, WORLD);
        if (rank == 0)
            printf("everything: %ld checks passed\n", all);
    }
    MPI_Finalize();
    return stop;
}

#include "capture/classes.h"

#include "capture/facts.h"
#include "capture/requests.h"
#include "capture/real.h"

#include <sys/mman.h>

/* ---- point to point ---- */

static void add_bytes(struct gn_call *call, uint64_t bytes)
{
    call->bytes += bytes;
    call->messages++;
}

/* A datatype is only looked at when there are elements of it: some libraries accept MPI_DATATYPE_NULL with a
 * count of 0, and would raise an error at our question. */
static uint64_t bytes_in(struct gn_recorder *r, int64_t count, gn_handle type)
{
    return count > 0 ? (uint64_t)count * gn_type_size(r, type) : 0;
}

static void sent(struct gn_call *call, int count, gn_handle type, int dest, gn_handle comm)
{
    if (dest == gn_flavour.proc_null || count < 0)
        return;
    struct gn_recorder *r = call->recorder;
    uint64_t bytes = bytes_in(r, count, type);
    add_bytes(call, bytes);
    gn_record_sent(r, call->node, gn_world_rank(r, comm, dest), bytes);
}

static bool is_ignored(const struct gn_call *call, const void *status)
{
    return status == gn_sentinels[call->binding].status_ignore;
}

static void own_status(struct gn_call *call, void **status)
{
    if (is_ignored(call, *status))
        *status = call->own_status;
}

static int source_of(const void *status)
{
    return *(const int *)((const char *)status + gn_flavour.source_offset);
}

/* Bytes that arrived, or -1. Fortran's status is the same memory in both flavours. */
static int64_t bytes_of(const void *status)
{
    int64_t bytes = -1; /* MPI_Count: more than an int holds */
    if (GN_PMPI(Get_elements_x, (const void *, gn_handle, int64_t *))(status, gn_flavour.byte_type, &bytes) !=
        0)
        return -1;
    return bytes < 0 ? -1 : bytes;
}

static void received(struct gn_call *call, gn_handle comm, const void *status)
{
    int source = source_of(status);
    int64_t bytes = bytes_of(status);
    if (source < 0 || bytes < 0) /* MPI_PROC_NULL, an empty status */
        return;
    add_bytes(call, (uint64_t)bytes);
    gn_record_received(call->recorder, call->node, gn_world_rank(call->recorder, comm, source),
                       (uint64_t)bytes);
}

void gn_after_send(struct gn_call *call, int count, gn_handle type, int dest, gn_handle comm)
{
    sent(call, count, type, dest, comm);
}

void gn_before_recv(struct gn_call *call, void **status)
{
    own_status(call, status);
}

void gn_after_recv(struct gn_call *call, int source, gn_handle comm, void *status)
{
    if (source != gn_flavour.proc_null)
        received(call, comm, status);
}

/* The message handle does not tell its communicator: the size is known, the peer is not. */
void gn_after_mrecv(struct gn_call *call, void *status)
{
    int64_t bytes = source_of(status) >= 0 ? bytes_of(status) : -1;
    if (bytes >= 0)
        add_bytes(call, (uint64_t)bytes);
}

void gn_after_sendrecv(struct gn_call *call, int count, gn_handle type, int dest, int source, gn_handle comm,
                       void *status)
{
    sent(call, count, type, dest, comm);
    if (source != gn_flavour.proc_null)
        received(call, comm, status);
}

/* ---- requests ---- */

static void follow(struct gn_call *call, gn_handle handle, struct gn_request request)
{
    request.recorder = call->recorder;
    request.node = call->node;
    if (!gn_request_follow(handle, &request))
        GN_LOST(call->recorder, requests);
}

/* A named source is translated now, while its communicator surely exists. */
static struct gn_request receive_from(struct gn_call *call, int source, gn_handle comm, uint8_t kind)
{
    struct gn_request request = {.kind = kind, .to_null = source == gn_flavour.proc_null};
    if (source == gn_flavour.any_source)
        request.comm = comm & gn_flavour.handle_mask;
    else if (!request.to_null) {
        request.peer = gn_world_rank(call->recorder, comm, source);
        request.peer_known = 1;
    }
    return request;
}

void gn_after_irecv(struct gn_call *call, int source, gn_handle comm, void *request)
{
    if (source != gn_flavour.proc_null)
        follow(call, gn_request_handle(call->binding, request, 0),
               receive_from(call, source, comm, GN_RECEIVE));
}

void gn_after_imrecv(struct gn_call *call, void *request)
{
    follow(call, gn_request_handle(call->binding, request, 0),
           (struct gn_request){.comm = 0, .kind = GN_RECEIVE});
}

void gn_after_recv_init(struct gn_call *call, int source, gn_handle comm, void *request)
{
    follow(call, gn_request_handle(call->binding, request, 0),
           receive_from(call, source, comm, GN_PERSISTENT_RECEIVE));
}

void gn_after_send_init(struct gn_call *call, int count, gn_handle type, int dest, gn_handle comm,
                        void *request)
{
    struct gn_request persistent = {.kind = GN_PERSISTENT_SEND, .to_null = dest == gn_flavour.proc_null};
    if (!persistent.to_null) {
        persistent.bytes = bytes_in(call->recorder, count, type);
        persistent.peer = gn_world_rank(call->recorder, comm, dest);
    }
    follow(call, gn_request_handle(call->binding, request, 0), persistent);
}

static void started(struct gn_call *call, gn_handle handle)
{
    int32_t position = gn_request_find(handle);
    if (position < 0)
        return;
    struct gn_request *request = gn_request_at(position);
    request->active = 1;
    if (request->kind != GN_PERSISTENT_SEND || request->to_null)
        return;
    add_bytes(call, request->bytes);
    gn_record_sent(call->recorder, call->node, request->peer, request->bytes);
}

void gn_after_start(struct gn_call *call, void *request)
{
    started(call, gn_request_handle(call->binding, request, 0));
}

void gn_after_startall(struct gn_call *call, int count, void *requests)
{
    for (int i = 0; i < count; i++)
        started(call, gn_request_handle(call->binding, requests, (uint32_t)i));
}

void gn_forget_requests(unsigned binding, int count, const void *requests)
{
    if (gn_is_closed())
        return;
    for (int i = 0; i < count; i++) {
        int32_t position = gn_request_find(gn_request_handle(binding, requests, (uint32_t)i));
        if (position >= 0)
            gn_request_drop(position);
    }
}

static gn_shared32 ever_cancelled;

void gn_after_cancel(struct gn_call *call)
{
    (void)call;
    GN_SET(ever_cancelled, 1);
}

static bool was_cancelled(const void *status)
{
    int flag = 0;
    if (GN_GET(ever_cancelled))
        GN_PMPI(Test_cancelled, (const void *, int *))(status, &flag);
    return flag != 0;
}

/* Working space for a list of count requests. The status array is used when the caller ignores statuses. */
static bool list_space(struct gn_recorder *r, uint32_t count)
{
    if (__builtin_expect(count <= r->list.capacity, 1))
        return true;
    uint32_t capacity = 256;
    while (capacity < count)
        capacity *= 2;
    size_t each = sizeof(int32_t) + sizeof(gn_handle) + gn_flavour.status_bytes;
    char *memory = mmap(NULL, capacity * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    if (r->list.capacity)
        munmap(r->list.handles, r->list.capacity * each);
    r->list.capacity = capacity;
    r->list.handles = (gn_handle *)memory;
    r->list.statuses = memory + capacity * sizeof(gn_handle);
    r->list.positions = (int32_t *)(r->list.statuses + capacity * gn_flavour.status_bytes);
    return true;
}

/* Takes hold of the followed requests among the caller's. True when there are any. */
static bool hold(struct gn_call *call, int count, void *requests)
{
    struct gn_recorder *r = call->recorder;
    call->list_count = 0;
    if (count <= 0)
        return false;
    if (!list_space(r, (uint32_t)count)) {
        GN_LOST(r, requests);
        return false;
    }
    call->requests = requests;
    call->list_count = (uint32_t)count;
    for (uint32_t i = 0; i < call->list_count; i++) {
        gn_handle handle = gn_request_handle(call->binding, requests, i);
        int32_t position = gn_request_find(handle);
        r->list.positions[i] = position;
        r->list.handles[i] = handle;
        if (position < 0)
            continue;
        gn_request_hold(position);
        call->followed++;
    }
    r->list.held = call->followed ? call->list_count : 0;
    return call->followed > 0;
}

static void record_completion(struct gn_call *call, const struct gn_request *request, const void *status)
{
    struct gn_recorder *r = call->recorder;
    int source = source_of(status);
    int64_t bytes = was_cancelled(status) || source < 0 ? -1 : bytes_of(status);
    if (bytes < 0)
        return;
    /* Only the owner of a location may write into it; another thread's completion counts where it happened.
     */
    uint32_t node = request->recorder == r ? request->node : call->node;
    gn_record_size(r, node, (uint64_t)bytes);
    if (request->peer_known)
        gn_record_received(r, node, request->peer, (uint64_t)bytes);
    else if (request->comm)
        gn_record_received(r, node, gn_world_rank(r, request->comm, source), (uint64_t)bytes);
}

static void completed(struct gn_call *call, uint32_t i, const void *status)
{
    struct gn_recorder *r = call->recorder;
    if (i >= call->list_count || r->list.positions[i] < 0)
        return;
    int32_t position = r->list.positions[i];
    struct gn_request *request = gn_request_at(position);
    if (request->kind == GN_RECEIVE || (request->kind == GN_PERSISTENT_RECEIVE && request->active))
        record_completion(call, request, status);
    request->active = 0;
    if (request->kind == GN_RECEIVE)
        gn_request_drop(position);
    else
        gn_request_release(position, r->list.handles[i]);
    r->list.positions[i] = -1;
    call->followed--;
}

void gn_settle_requests(struct gn_call *call)
{
    struct gn_recorder *r = call->recorder;
    for (uint32_t i = 0; i < call->list_count; i++) {
        int32_t position = r->list.positions[i];
        if (position < 0)
            continue;
        if (gn_request_handle(call->binding, call->requests, i) == r->list.handles[i])
            gn_request_release(position, r->list.handles[i]);
        else
            gn_request_drop(position);
    }
    call->followed = 0;
    r->list.held = 0;
}

void gn_drop_held(struct gn_recorder *r)
{
    for (uint32_t i = 0; i < r->list.held; i++)
        if (r->list.positions[i] >= 0) {
            gn_request_drop(r->list.positions[i]);
            GN_LOST(r, requests);
        }
    r->list.held = 0;
}

/* Which request of the list completed. Fortran counts from 1, but MPICH's mpi_f08 hands out C's index: where
 * the library left a trace (the handle is gone), that decides. */
static uint32_t which(const struct gn_call *call, int index)
{
    int base = gn_flavour.first_index[call->binding];
    const int tries[] = {index - base, index - 1 + base};
    for (int t = 0; t < 2 && call->binding != GN_C; t++) {
        uint32_t i = (uint32_t)tries[t];
        if (tries[t] >= 0 && i < call->list_count &&
            gn_request_handle(call->binding, call->requests, i) != call->recorder->list.handles[i])
            return i;
    }
    return (uint32_t)(index - base);
}

static void own_statuses(struct gn_call *call, void **statuses)
{
    if (*statuses == gn_sentinels[call->binding].statuses_ignore)
        *statuses = call->recorder->list.statuses;
}

static const void *status_in(const void *statuses, int i)
{
    return (const char *)statuses + (size_t)i * gn_flavour.status_bytes;
}

void gn_before_wait(struct gn_call *call, void *request, void **status)
{
    if (hold(call, 1, request))
        own_status(call, status);
}

void gn_after_wait(struct gn_call *call, void *status)
{
    if (call->followed)
        completed(call, 0, status);
}

void gn_after_test(struct gn_call *call, const int *flag, void *status)
{
    if (call->followed && *flag)
        completed(call, 0, status);
}

void gn_before_waitall(struct gn_call *call, int count, void *requests, void **statuses)
{
    if (hold(call, count, requests))
        own_statuses(call, statuses);
}

void gn_after_waitall(struct gn_call *call, void *statuses)
{
    for (uint32_t i = 0; call->followed && i < call->list_count; i++)
        completed(call, i, status_in(statuses, (int)i));
}

void gn_after_testall(struct gn_call *call, const int *flag, void *statuses)
{
    if (call->followed && *flag)
        gn_after_waitall(call, statuses);
}

void gn_before_waitany(struct gn_call *call, int count, void *requests, void **status)
{
    if (hold(call, count, requests))
        own_status(call, status);
}

void gn_after_waitany(struct gn_call *call, const int *index, void *status)
{
    if (call->followed && *index != gn_flavour.undefined)
        completed(call, which(call, *index), status);
}

void gn_after_testany(struct gn_call *call, const int *flag, const int *index, void *status)
{
    if (call->followed && *flag)
        gn_after_waitany(call, index, status);
}

void gn_after_waitsome(struct gn_call *call, const int *outcount, const int *indices, void *statuses)
{
    if (!call->followed || *outcount == gn_flavour.undefined)
        return;
    for (int i = 0; i < *outcount; i++)
        completed(call, which(call, indices[i]), status_in(statuses, i));
}

/* ---- collectives ---- */

static void contribute(struct gn_call *call, int64_t count, gn_handle type)
{
    if (count >= 0)
        add_bytes(call, bytes_in(call->recorder, count, type));
}

static bool in_place(const struct gn_call *call, const void *buffer)
{
    return buffer == gn_sentinels[call->binding].in_place;
}

/* On an intercommunicator the root's own arguments mean nothing, and its root is MPI_ROOT or MPI_PROC_NULL
 * (both negative in both flavours). */
void gn_after_bcast(struct gn_call *call, int count, gn_handle type, int root)
{
    (void)root;
    if (root != gn_flavour.proc_null)
        contribute(call, count, type);
}

/* Only the senders contribute: not the root of an intercommunicator, whose datatype may mean nothing. */
void gn_after_reduce(struct gn_call *call, int count, gn_handle type, int root)
{
    if (root >= 0)
        contribute(call, count, type);
}

void gn_after_local(struct gn_call *call, int count, gn_handle type)
{
    contribute(call, count, type);
}

void gn_after_gather(struct gn_call *call, const void *sendbuf, int sendcount, gn_handle sendtype,
                     int recvcount, gn_handle recvtype, int root)
{
    if (root >= 0 && in_place(call, sendbuf))
        contribute(call, recvcount, recvtype);
    else if (root >= 0)
        contribute(call, sendcount, sendtype);
}

void gn_after_gatherv(struct gn_call *call, const void *sendbuf, int sendcount, gn_handle sendtype,
                      const int *recvcounts, gn_handle recvtype, int root, gn_handle comm)
{
    if (root >= 0 && in_place(call, sendbuf))
        contribute(call, recvcounts[gn_comm_rank(comm)], recvtype);
    else if (root >= 0)
        contribute(call, sendcount, sendtype);
}

void gn_after_allgather(struct gn_call *call, const void *sendbuf, int sendcount, gn_handle sendtype,
                        int recvcount, gn_handle recvtype)
{
    if (in_place(call, sendbuf))
        contribute(call, recvcount, recvtype);
    else
        contribute(call, sendcount, sendtype);
}

void gn_after_allgatherv(struct gn_call *call, const void *sendbuf, int sendcount, gn_handle sendtype,
                         const int *recvcounts, gn_handle recvtype, gn_handle comm)
{
    if (in_place(call, sendbuf))
        contribute(call, recvcounts[gn_comm_rank(comm)], recvtype);
    else
        contribute(call, sendcount, sendtype);
}

void gn_after_scatter(struct gn_call *call, const void *recvbuf, int recvcount, gn_handle recvtype, int root)
{
    if (root >= 0 && !in_place(call, recvbuf))
        contribute(call, recvcount, recvtype);
}

static int64_t sum(const int *counts, int n)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++)
        total += counts[i];
    return total;
}

void gn_after_alltoall(struct gn_call *call, const void *sendbuf, int sendcount, gn_handle sendtype,
                       int recvcount, gn_handle recvtype, gn_handle comm)
{
    int64_t partners = gn_comm_partners(comm);
    if (in_place(call, sendbuf))
        contribute(call, partners * recvcount, recvtype);
    else
        contribute(call, partners * sendcount, sendtype);
}

void gn_after_alltoallv(struct gn_call *call, const void *sendbuf, const int *sendcounts, gn_handle sendtype,
                        const int *recvcounts, gn_handle recvtype, gn_handle comm)
{
    int partners = gn_comm_partners(comm);
    if (in_place(call, sendbuf))
        contribute(call, sum(recvcounts, partners), recvtype);
    else
        contribute(call, sum(sendcounts, partners), sendtype);
}

static void contribute_each(struct gn_call *call, const int *counts, const void *types, int n)
{
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++)
        if (counts[i] > 0)
            bytes += (uint64_t)counts[i] *
                     gn_type_size(call->recorder, gn_type_handle(call->binding, types, (uint32_t)i));
    add_bytes(call, bytes);
}

void gn_after_alltoallw(struct gn_call *call, const void *sendbuf, const int *sendcounts,
                        const void *sendtypes, const int *recvcounts, const void *recvtypes, gn_handle comm)
{
    int partners = gn_comm_partners(comm);
    if (in_place(call, sendbuf))
        contribute_each(call, recvcounts, recvtypes, partners);
    else
        contribute_each(call, sendcounts, sendtypes, partners);
}

void gn_after_reduce_scatter(struct gn_call *call, const int *recvcounts, gn_handle type, gn_handle comm)
{
    int size = 0;
    GN_PMPI(Comm_size, (gn_handle, int *))(comm, &size);
    contribute(call, sum(recvcounts, size), type);
}

void gn_after_reduce_scatter_block(struct gn_call *call, int recvcount, gn_handle type, gn_handle comm)
{
    int size = 0;
    GN_PMPI(Comm_size, (gn_handle, int *))(comm, &size);
    contribute(call, (int64_t)size * recvcount, type);
}

void gn_after_neighbor_alltoall(struct gn_call *call, int count, gn_handle type, gn_handle comm)
{
    contribute(call, (int64_t)gn_comm_neighbours(comm) * count, type);
}

void gn_after_neighbor_alltoallv(struct gn_call *call, const int *counts, gn_handle type, gn_handle comm)
{
    contribute(call, sum(counts, gn_comm_neighbours(comm)), type);
}

void gn_after_neighbor_alltoallw(struct gn_call *call, const int *counts, const void *types, gn_handle comm)
{
    contribute_each(call, counts, types, gn_comm_neighbours(comm));
}

/* ---- one-sided, files, handles ---- */

void gn_after_rma_put(struct gn_call *call, int count, gn_handle type, int target, gn_handle win)
{
    if (target == gn_flavour.proc_null)
        return;
    struct gn_recorder *r = call->recorder;
    uint64_t bytes = bytes_in(r, count, type);
    add_bytes(call, bytes);
    gn_record_sent(r, call->node, gn_world_rank_of_window(r, win, target), bytes);
}

void gn_after_rma_get(struct gn_call *call, int count, gn_handle type, int target, gn_handle win)
{
    if (target == gn_flavour.proc_null)
        return;
    struct gn_recorder *r = call->recorder;
    uint64_t bytes = bytes_in(r, count, type);
    add_bytes(call, bytes);
    gn_record_received(r, call->node, gn_world_rank_of_window(r, win, target), bytes);
}

void gn_after_rma_op(struct gn_call *call, gn_handle type, int target, gn_handle win)
{
    gn_after_rma_get(call, 1, type, target, win);
}

void gn_after_io(struct gn_call *call, int count, gn_handle type)
{
    contribute(call, count, type);
}

void gn_forget_handles(void)
{
    atomic_fetch_add_explicit(&gn_era, 1, memory_order_relaxed);
}

void gn_forget_comm(unsigned binding, void *comm)
{
    if (!gn_is_closed())
        gn_requests_lose_comm(gn_comm_handle(binding, comm, 0));
    gn_forget_handles();
}

#include "capture/classes.h"

#include "capture/comms.h"
#include "capture/facts.h"
#include "capture/real.h"
#include "capture/traced.h"

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

/* False: nothing was, to MPI_PROC_NULL. */
static bool sent(struct gn_call *call, int count, gn_handle type, int dest, gn_handle comm)
{
    if (dest == gn_flavour.proc_null || count < 0)
        return false;
    struct gn_recorder *r = call->recorder;
    uint64_t bytes = bytes_in(r, count, type);
    add_bytes(call, bytes);
    gn_record_sent(r, call->node, gn_world_rank(r, comm, dest), bytes);
    return true;
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

static void received(struct gn_call *call, gn_handle comm, const void *status)
{
    int source = gn_status_source(status);
    int64_t bytes = gn_status_bytes(status);
    if (source < 0 || bytes < 0) /* MPI_PROC_NULL, an empty status */
        return;
    add_bytes(call, (uint64_t)bytes);
    gn_record_received(call->recorder, call->node, gn_world_rank(call->recorder, comm, source),
                       (uint64_t)bytes);
    if (call->traced)
        gn_record_note(call, &(struct gn_note){.kind = GN_EVENT_MPI_RECV,
                                               .comm = gn_known_comm(call->recorder, comm),
                                               .peer = (uint32_t)source,
                                               .tag = (uint32_t)gn_status_tag(status),
                                               .bytes = (uint64_t)bytes});
}

void gn_after_send(struct gn_call *call, int count, gn_handle type, int dest, int tag, gn_handle comm)
{
    if (sent(call, count, type, dest, comm) && call->traced)
        gn_traced_sent(call, comm, dest, tag, call->bytes);
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
    int64_t bytes = gn_status_source(status) >= 0 ? gn_status_bytes(status) : -1;
    if (bytes < 0)
        return;
    add_bytes(call, (uint64_t)bytes);
    if (call->traced && call->id)
        gn_traced_arrived(call, call->id, call->number, status, (uint64_t)bytes);
}

void gn_after_sendrecv(struct gn_call *call, int count, gn_handle type, int dest, int tag, int source,
                       gn_handle comm, void *status)
{
    if (sent(call, count, type, dest, comm) && call->traced)
        gn_traced_sent(call, comm, dest, tag, call->bytes);
    if (source != gn_flavour.proc_null)
        received(call, comm, status);
}

/* ---- requests ---- */

gn_handle gn_new_request(struct gn_call *call, const void *request)
{
    gn_handle handle = gn_request_handle(call->binding, request, 0);
    call->fortran = gn_fortran_learn(call->binding, request, handle);
    return handle;
}

bool gn_follow(struct gn_call *call, gn_handle handle, struct gn_request request,
               const struct gn_request_trace *trace, const struct gn_part *parts)
{
    request.recorder = call->recorder;
    request.node = call->node;
    request.since_ticks = call->exit_ticks;
    request.fortran = call->fortran;
    enum gn_follow_result result =
        gn_request_follow(call->recorder->location_index, handle, &request, trace, parts);
    if (result == GN_NO_ROOM)
        GN_LOST(call->recorder, requests);
    return result == GN_FOLLOWED;
}

void gn_after_isend(struct gn_call *call, int count, gn_handle type, int dest, int tag, gn_handle comm,
                    void *request)
{
    if (!sent(call, count, type, dest, comm) || !call->traced)
        return;
    gn_traced_isend(call, comm, dest, tag, gn_new_request(call, request));
}

/* Follows a receive that is under way from now on. */
static void follow_receive(struct gn_call *call, gn_handle handle, struct gn_request request,
                           struct gn_note *post)
{
    struct gn_request_trace trace = {.comm = post->comm};
    trace.id = post->request = gn_traced_name(call, false);
    gn_record_note(call, post);
    gn_follow(call, handle, request, trace.id ? &trace : NULL, NULL);
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

void gn_after_irecv(struct gn_call *call, int source, int tag, gn_handle comm, void *request)
{
    if (source == gn_flavour.proc_null)
        return;
    gn_handle handle = gn_new_request(call, request);
    struct gn_request receive = receive_from(call, source, comm, GN_RECEIVE);
    if (call->traced) {
        struct gn_note post = gn_traced_posted(call, source, tag, comm);
        follow_receive(call, handle, receive, &post);
    } else {
        gn_follow(call, handle, receive, NULL, NULL);
    }
}

/* A matched probe takes its message out of the queue as a receive does that is posted there and then: in the
 * trace it is that receive's post, and the MPI_Mrecv or the end of the MPI_Imrecv its completion. */
void gn_after_mprobe(struct gn_call *call, int source, int tag, gn_handle comm, void *message_handle)
{
    if (!call->traced || source == gn_flavour.proc_null)
        return;
    struct gn_note post = gn_traced_posted(call, source, tag, comm);
    follow_receive(call, gn_message_handle(call->binding, message_handle, 0),
                   (struct gn_request){.kind = GN_MESSAGE}, &post);
}

void gn_after_improbe(struct gn_call *call, int source, int tag, gn_handle comm, const int *flag,
                      void *message_handle)
{
    call->idle = !*flag;
    if (*flag)
        gn_after_mprobe(call, source, tag, comm, message_handle);
}

void gn_after_iprobe(struct gn_call *call, const int *flag)
{
    call->idle = !*flag;
}

void gn_before_imrecv(struct gn_call *call, void *message_handle)
{
    call->id = 0;
    if (!gn_ring_memory)
        return;
    gn_handle handle = gn_message_handle(call->binding, message_handle, 0);
    int32_t position = gn_request_find(handle, call->enter_ticks);
    if (position < 0 || gn_request_at(position)->kind != GN_MESSAGE ||
        (position = gn_request_take(handle, call->enter_ticks)) < 0)
        return;
    if (gn_request_at(position)->traced) {
        call->id = gn_request_trace_at(position)->id;
        call->number = gn_request_trace_at(position)->comm;
    }
    gn_request_drop(position);
}

void gn_before_mrecv(struct gn_call *call, void *message_handle, void **status)
{
    own_status(call, status);
    gn_before_imrecv(call, message_handle);
}

void gn_after_imrecv(struct gn_call *call, void *request)
{
    struct gn_request_trace trace = {.id = call->id, .comm = call->number};
    gn_follow(call, gn_new_request(call, request), (struct gn_request){.comm = 0, .kind = GN_RECEIVE},
              call->id ? &trace : NULL, NULL);
}

/* Has no id before it is started. */
static const struct gn_request_trace *persistent_trace(const struct gn_call *call, gn_handle comm, int peer,
                                                       int tag, uint64_t bytes,
                                                       struct gn_request_trace *trace)
{
    if (!call->traced)
        return NULL;
    *trace = (struct gn_request_trace){.comm = gn_known_comm(call->recorder, comm),
                                       .peer = (uint32_t)peer,
                                       .tag = (uint32_t)tag,
                                       .bytes_sent = bytes};
    return trace;
}

void gn_after_recv_init(struct gn_call *call, int source, int tag, gn_handle comm, void *request)
{
    struct gn_request_trace trace;
    gn_follow(call, gn_new_request(call, request), receive_from(call, source, comm, GN_PERSISTENT_RECEIVE),
              persistent_trace(call, comm, source == gn_flavour.any_source ? (int)GN_ANY : source,
                               tag == gn_flavour.any_tag ? (int)GN_ANY : tag, 0, &trace),
              NULL);
}

void gn_after_send_init(struct gn_call *call, int count, gn_handle type, int dest, int tag, gn_handle comm,
                        void *request)
{
    struct gn_request_trace trace;
    struct gn_request persistent = {.kind = GN_PERSISTENT_SEND, .to_null = dest == gn_flavour.proc_null};
    if (!persistent.to_null) {
        persistent.bytes = bytes_in(call->recorder, count, type);
        persistent.peer = gn_world_rank(call->recorder, comm, dest);
    }
    gn_follow(call, gn_new_request(call, request), persistent,
              persistent_trace(call, comm, dest, tag, persistent.bytes, &trace), NULL);
}

static void started(struct gn_call *call, gn_handle handle)
{
    int32_t position = gn_request_find(handle, call->enter_ticks);
    if (position < 0)
        return;
    struct gn_request *request = gn_request_at(position);
    request->active = 1;
    if (request->traced && !request->to_null)
        gn_traced_started(call, request, gn_request_trace_at(position));
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
        int32_t position = gn_request_take(gn_request_handle(binding, requests, (uint32_t)i), GN_NEWEST);
        if (position >= 0)
            gn_request_drop(position);
    }
}

void gn_after_cancel(struct gn_call *call)
{
    (void)call;
    gn_cancel_seen();
}

/* Working space for a list of count requests. What it outgrows is left where it is (together less than what
 * it has now): a call of which only its return address tells that it is still under way may have its statuses
 * there. The status array is used when the caller ignores statuses. */
static bool list_space(struct gn_recorder *r, uint32_t count)
{
    if (__builtin_expect(count <= r->list.capacity, 1))
        return true;
    uint32_t capacity = 256;
    while (capacity < count)
        capacity *= 2;
    size_t each = sizeof(gn_handle) + gn_flavour.status_bytes;
    char *memory = mmap(NULL, capacity * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    r->list.capacity = capacity;
    r->list.handles = (gn_handle *)memory;
    r->list.statuses = memory + capacity * sizeof(gn_handle);
    return true;
}

/* Keeps what the caller's list was: the library writes into it. False: there is nothing in it, or no room. */
static bool keep_list(struct gn_call *call, int count, void *requests)
{
    struct gn_recorder *r = call->recorder;
    if (count <= 0 || !requests) /* MPI has an error for a null pointer */
        return false;
    if (!list_space(r, (uint32_t)count)) {
        GN_LOST(r, requests);
        return false;
    }
    call->requests = requests;
    call->list_count = r->list.kept = (uint32_t)count;
    r->list.before_ticks = call->enter_ticks;
    gn_requests_copy(call->binding, requests, (uint32_t)count, r->list.handles);
    gn_requests_completing(r->location_index, true);
    return true;
}

static gn_handle listed(const struct gn_recorder *r, uint32_t i)
{
    return gn_request_copied(r->list.handles, i);
}

static void list_is_settled(struct gn_recorder *r)
{
    r->list.kept = 0;
    gn_requests_completing(r->location_index, false);
}

void gn_before_request_free(struct gn_call *call, void *request)
{
    keep_list(call, 1, request);
}

void gn_after_request_free(struct gn_call *call)
{
    int32_t position = call->list_count ? gn_request_take(listed(call->recorder, 0), call->enter_ticks) : -1;
    if (position < 0)
        return;
    gn_traced_end_of_request(call, position, false);
    gn_request_drop(position);
}

/* ---- completions ---- */

static void record_completion(struct gn_call *call, const struct gn_request *request, const void *status)
{
    struct gn_recorder *r = call->recorder;
    int source = gn_status_source(status);
    int64_t bytes = gn_status_cancelled(status) || source < 0 ? -1 : gn_status_bytes(status);
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

static bool is_persistent(const struct gn_request *request)
{
    return request->kind == GN_PERSISTENT_RECEIVE || request->kind == GN_PERSISTENT_SEND;
}

static void completed(struct gn_call *call, uint32_t i, const void *status)
{
    if (i >= call->list_count)
        return;
    gn_handle handle = listed(call->recorder, i);
    int32_t position = gn_request_take(handle, call->enter_ticks);
    if (position < 0)
        return;
    struct gn_request *request = gn_request_at(position);
    if (request->kind == GN_RECEIVE || (request->kind == GN_PERSISTENT_RECEIVE && request->active))
        record_completion(call, request, status);
    if (request->traced && call->traced)
        gn_traced_completed(call, position, status);
    request->active = 0;
    if (is_persistent(request))
        gn_request_release(position, handle);
    else
        gn_request_drop(position);
}

/* Of a call that failed, those are over that are no longer in the caller's list. */
static void settle_failed(struct gn_call *call)
{
    for (uint32_t i = 0; i < call->list_count; i++) {
        gn_handle handle = listed(call->recorder, i);
        int32_t position = -1;
        if (gn_request_handle(call->binding, call->requests, i) != handle)
            position = gn_request_take(handle, call->enter_ticks);
        if (position < 0)
            continue;
        gn_traced_end_of_request(call, position, false);
        gn_request_drop(position);
    }
}

void gn_settle_requests(struct gn_call *call, int result)
{
    if (result != 0)
        settle_failed(call);
    list_is_settled(call->recorder);
}

void gn_drop_kept(struct gn_recorder *r)
{
    for (uint32_t i = 0; i < r->list.kept; i++) {
        int32_t position = gn_request_take(listed(r, i), r->list.before_ticks);
        if (position < 0)
            continue;
        gn_request_drop(position);
        GN_LOST(r, requests);
    }
    list_is_settled(r);
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
            gn_request_handle(call->binding, call->requests, i) != listed(call->recorder, i))
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
    if (keep_list(call, 1, request))
        own_status(call, status);
}

void gn_after_wait(struct gn_call *call, void *status)
{
    completed(call, 0, status);
}

void gn_after_test(struct gn_call *call, const int *flag, void *status)
{
    if (*flag)
        completed(call, 0, status);
    else
        call->idle = true;
}

void gn_before_waitall(struct gn_call *call, int count, void *requests, void **statuses)
{
    if (keep_list(call, count, requests))
        own_statuses(call, statuses);
}

void gn_after_waitall(struct gn_call *call, void *statuses)
{
    for (uint32_t i = 0; i < call->list_count; i++)
        completed(call, i, status_in(statuses, (int)i));
}

void gn_after_testall(struct gn_call *call, const int *flag, void *statuses)
{
    if (*flag)
        gn_after_waitall(call, statuses);
    else
        call->idle = true;
}

void gn_before_waitany(struct gn_call *call, int count, void *requests, void **status)
{
    if (keep_list(call, count, requests))
        own_status(call, status);
}

void gn_after_waitany(struct gn_call *call, const int *index, void *status)
{
    if (*index != gn_flavour.undefined)
        completed(call, which(call, *index), status);
}

void gn_after_testany(struct gn_call *call, const int *flag, const int *index, void *status)
{
    if (*flag)
        gn_after_waitany(call, index, status);
    else
        call->idle = true;
}

void gn_after_waitsome(struct gn_call *call, const int *outcount, const int *indices, void *statuses)
{
    if (*outcount == gn_flavour.undefined)
        return;
    call->idle = *outcount == 0;
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
    contribute(call, sum(recvcounts, gn_comm_size(comm)), type);
}

void gn_after_reduce_scatter_block(struct gn_call *call, int recvcount, gn_handle type, gn_handle comm)
{
    contribute(call, (int64_t)gn_comm_size(comm) * recvcount, type);
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

void gn_forget_window(unsigned binding, const void *window)
{
    if (!gn_is_closed())
        gn_window_forget(gn_win_handle(binding, window, 0));
    gn_forget_handles();
}

void gn_before_win_free(struct gn_call *call, const void *window)
{
    if (call->traced)
        gn_traced_win_begin(call, GN_COLLECTIVE_DESTROY_HANDLE,
                            gn_window_number(gn_win_handle(call->binding, window, 0)));
    gn_forget_window(call->binding, window);
}

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

void gn_before_comm_free(struct gn_call *call, void *comm)
{
    if (call->traced)
        call->number = gn_comm_number(gn_comm_handle(call->binding, comm, 0));
    gn_forget_comm(call->binding, comm);
}

void gn_after_comm_free(struct gn_call *call)
{
    if (call->traced)
        gn_traced_comm(call, GN_EVENT_COMM_DESTROY, call->number);
}

void gn_forget_comm(unsigned binding, void *comm)
{
    if (!gn_is_closed()) {
        gn_requests_lose_comm(gn_comm_handle(binding, comm, 0));
        gn_comm_forget(gn_comm_handle(binding, comm, 0));
    }
    gn_forget_handles();
}

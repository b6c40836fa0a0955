#include "capture/classes.h"

#include "capture/facts.h"
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

/* The message events of the trace: what is sent or posted has the time of the call's enter, what has arrived
 * or is complete that of its leave. comm is a number. */
static struct gn_event message(const struct gn_call *call, enum gn_event_kind kind, uint32_t comm,
                               uint32_t peer, uint32_t tag)
{
    bool at_exit = kind == GN_EVENT_MPI_RECV || kind == GN_EVENT_MPI_IRECV;
    struct gn_event event =
        gn_event_bare(kind, call->recorder->location_index, at_exit ? call->exit_ticks : call->enter_ticks);
    event.comm = comm;
    event.peer = peer;
    event.tag = tag;
    return event;
}

static void trace_sent(struct gn_call *call, gn_handle comm, int dest, int tag, uint64_t bytes)
{
    struct gn_event event =
        message(call, GN_EVENT_MPI_SEND, gn_comm_number(comm), (uint32_t)dest, (uint32_t)tag);
    event.bytes_sent = bytes;
    gn_record_event(call, &event);
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

static int tag_of(const void *status)
{
    return *(const int *)((const char *)status + gn_flavour.tag_offset);
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
    if (call->traced) {
        struct gn_event event = message(call, GN_EVENT_MPI_RECV, gn_comm_number(comm), (uint32_t)source,
                                        (uint32_t)tag_of(status));
        event.bytes_received = (uint64_t)bytes;
        gn_record_event(call, &event);
    }
}

void gn_after_send(struct gn_call *call, int count, gn_handle type, int dest, int tag, gn_handle comm)
{
    if (sent(call, count, type, dest, comm) && call->traced)
        trace_sent(call, comm, dest, tag, call->bytes);
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

static void trace_arrived(struct gn_call *call, uint64_t id, uint32_t comm, const void *status,
                          uint64_t bytes)
{
    struct gn_event event =
        message(call, GN_EVENT_MPI_IRECV, comm, (uint32_t)source_of(status), (uint32_t)tag_of(status));
    event.request = id;
    event.bytes_received = bytes;
    gn_record_event(call, &event);
}

/* The message handle does not tell its communicator: the size is known, the peer is not. */
void gn_after_mrecv(struct gn_call *call, void *status)
{
    int64_t bytes = source_of(status) >= 0 ? bytes_of(status) : -1;
    if (bytes < 0)
        return;
    add_bytes(call, (uint64_t)bytes);
    if (call->traced && call->id)
        trace_arrived(call, call->id, call->number, status, (uint64_t)bytes);
}

void gn_after_sendrecv(struct gn_call *call, int count, gn_handle type, int dest, int tag, int source,
                       gn_handle comm, void *status)
{
    if (sent(call, count, type, dest, comm) && call->traced)
        trace_sent(call, comm, dest, tag, call->bytes);
    if (source != gn_flavour.proc_null)
        received(call, comm, status);
}

/* ---- requests ---- */

static bool follow(struct gn_call *call, gn_handle handle, struct gn_request request,
                   const struct gn_request_trace *trace, const struct gn_part *parts)
{
    request.recorder = call->recorder;
    request.node = call->node;
    bool followed = gn_request_follow(handle, &request, trace, parts);
    if (!followed)
        GN_LOST(call->recorder, requests);
    return followed;
}

static struct gn_event completion(const struct gn_call *call, enum gn_event_kind kind,
                                  const struct gn_request_trace *trace)
{
    struct gn_event event = gn_event_bare(kind, call->recorder->location_index, call->exit_ticks);
    event.request = trace->id;
    return event;
}

static void trace_completion(struct gn_call *call, uint8_t kind, const struct gn_request_trace *trace,
                             const struct gn_part *parts);

/* For small sends (and collectives of one rank) both libraries hand out one and the same handle, of a request
 * that is complete: which of them a Wait is for cannot be told. While one of them is followed, the others are
 * over at once. */
static bool is_shared(gn_handle handle)
{
    int32_t position = gn_request_find(handle);
    if (position < 0)
        return false;
    uint8_t kind = gn_request_at(position)->kind;
    return kind >= GN_SEND && kind != GN_MESSAGE;
}

static void follow_to_the_end(struct gn_call *call, gn_handle handle, enum gn_request_kind kind,
                              const struct gn_request_trace *trace, const struct gn_part *parts)
{
    if (is_shared(handle) || !follow(call, handle, (struct gn_request){.kind = kind}, trace, parts))
        trace_completion(call, kind, trace, parts);
}

void gn_traced_request(struct gn_call *call, gn_handle handle, enum gn_request_kind kind,
                       const struct gn_event *start, struct gn_request_trace trace)
{
    if (call->traced != GN_TRACED) {
        gn_record_event(call, start);
        return;
    }
    struct gn_event event = *start;
    trace.id = event.request = gn_tracer_new_id(&call->recorder->tracer);
    gn_record_event(call, &event);
    follow_to_the_end(call, handle, kind, &trace, NULL);
}

void gn_traced_parts_later(struct gn_call *call, gn_handle handle, uint32_t comm, const struct gn_part *parts,
                           uint32_t count)
{
    struct gn_request_trace trace = {.comm = comm, .parts = count};
    if (count > GN_REQUEST_PARTS)
        trace.parts = GN_REQUEST_PARTS;
    if (call->traced != GN_TRACED)
        trace.parts = 0;
    if (count > trace.parts)
        gn_tracer_drop(&call->recorder->tracer, count - trace.parts);
    if (trace.parts == 0)
        return;
    for (uint32_t i = 0; i < trace.parts; i++) {
        struct gn_event event =
            message(call, GN_EVENT_MPI_IRECV_REQUEST, comm, parts[i].peer, GN_TAG_NEIGHBOUR);
        event.request = gn_tracer_new_id(&call->recorder->tracer);
        trace.id = i == 0 ? event.request : trace.id;
        gn_record_event(call, &event);
    }
    follow_to_the_end(call, handle, GN_NEIGHBOURS, &trace, parts);
}

void gn_after_isend(struct gn_call *call, int count, gn_handle type, int dest, int tag, gn_handle comm,
                    void *request)
{
    if (!sent(call, count, type, dest, comm) || !call->traced)
        return;
    struct gn_event event =
        message(call, GN_EVENT_MPI_ISEND, gn_comm_number(comm), (uint32_t)dest, (uint32_t)tag);
    event.bytes_sent = call->bytes;
    gn_traced_request(call, gn_request_handle(call->binding, request, 0), GN_SEND, &event,
                      (struct gn_request_trace){.comm = event.comm});
}

static struct gn_event posted(const struct gn_call *call, int source, int tag, gn_handle comm)
{
    return message(call, GN_EVENT_MPI_IRECV_REQUEST, gn_comm_number(comm),
                   source == gn_flavour.any_source ? GN_ANY : (uint32_t)source,
                   tag == gn_flavour.any_tag ? GN_ANY : (uint32_t)tag);
}

/* Follows a receive that is under way from now on. */
static void follow_receive(struct gn_call *call, gn_handle handle, struct gn_request request,
                           struct gn_event *event)
{
    struct gn_request_trace trace = {.comm = event->comm};
    if (call->traced == GN_TRACED)
        trace.id = event->request = gn_tracer_new_id(&call->recorder->tracer);
    gn_record_event(call, event);
    follow(call, handle, request, trace.id ? &trace : NULL, NULL);
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
    gn_handle handle = gn_request_handle(call->binding, request, 0);
    struct gn_request receive = receive_from(call, source, comm, GN_RECEIVE);
    if (__builtin_expect(call->traced, 0)) {
        struct gn_event event = posted(call, source, tag, comm);
        follow_receive(call, handle, receive, &event);
    } else {
        follow(call, handle, receive, NULL, NULL);
    }
}

/* A matched probe takes its message out of the queue as a receive does that is posted there and then: in the
 * trace it is that receive's post, and the MPI_Mrecv or the end of the MPI_Imrecv its completion. */
void gn_after_mprobe(struct gn_call *call, int source, int tag, gn_handle comm, void *message_handle)
{
    if (!call->traced || source == gn_flavour.proc_null)
        return;
    struct gn_event event = posted(call, source, tag, comm);
    follow_receive(call, gn_message_handle(call->binding, message_handle, 0),
                   (struct gn_request){.kind = GN_MESSAGE}, &event);
}

void gn_after_improbe(struct gn_call *call, int source, int tag, gn_handle comm, const int *flag,
                      void *message_handle)
{
    if (*flag)
        gn_after_mprobe(call, source, tag, comm, message_handle);
}

void gn_before_imrecv(struct gn_call *call, void *message_handle)
{
    call->id = 0;
    if (!gn_ring_memory)
        return;
    gn_handle handle = gn_message_handle(call->binding, message_handle, 0);
    int32_t position = gn_request_find(handle);
    if (position < 0 || gn_request_at(position)->kind != GN_MESSAGE || !gn_request_hold(position, handle))
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
    follow(call, gn_request_handle(call->binding, request, 0),
           (struct gn_request){.comm = 0, .kind = GN_RECEIVE}, call->id ? &trace : NULL, NULL);
}

/* Has no id before it is started. */
static const struct gn_request_trace *persistent_trace(const struct gn_call *call, gn_handle comm, int peer,
                                                       int tag, uint64_t bytes,
                                                       struct gn_request_trace *trace)
{
    if (!call->traced)
        return NULL;
    *trace = (struct gn_request_trace){
        .comm = gn_comm_number(comm), .peer = (uint32_t)peer, .tag = (uint32_t)tag, .bytes_sent = bytes};
    return trace;
}

void gn_after_recv_init(struct gn_call *call, int source, int tag, gn_handle comm, void *request)
{
    struct gn_request_trace trace;
    follow(call, gn_request_handle(call->binding, request, 0),
           receive_from(call, source, comm, GN_PERSISTENT_RECEIVE),
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
    follow(call, gn_request_handle(call->binding, request, 0), persistent,
           persistent_trace(call, comm, dest, tag, persistent.bytes, &trace), NULL);
}

static void trace_started(struct gn_call *call, const struct gn_request *request,
                          struct gn_request_trace *trace)
{
    bool receive = request->kind == GN_PERSISTENT_RECEIVE;
    struct gn_event event = message(call, receive ? GN_EVENT_MPI_IRECV_REQUEST : GN_EVENT_MPI_ISEND,
                                    trace->comm, trace->peer, trace->tag);
    event.bytes_sent = trace->bytes_sent;
    trace->id = call->traced == GN_TRACED ? gn_tracer_new_id(&call->recorder->tracer) : 0;
    event.request = trace->id;
    gn_record_event(call, &event);
}

static void started(struct gn_call *call, gn_handle handle)
{
    int32_t position = gn_request_find(handle);
    if (position < 0)
        return;
    struct gn_request *request = gn_request_at(position);
    request->active = 1;
    if (request->traced && !request->to_null)
        trace_started(call, request, gn_request_trace_at(position));
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
        if (position >= 0 && !gn_request_hold(position, handle))
            position = -1;
        r->list.positions[i] = position;
        r->list.handles[i] = handle;
        call->followed += position >= 0;
    }
    r->list.held = call->followed ? call->list_count : 0;
    return call->followed > 0;
}

/* ---- what completions tell the trace ---- */

void gn_traced_parts(struct gn_call *call, uint32_t comm, const struct gn_part *parts, uint32_t count,
                     uint64_t first_id)
{
    enum gn_event_kind kind = first_id ? GN_EVENT_MPI_IRECV : GN_EVENT_MPI_RECV;
    for (uint32_t i = 0; i < count; i++) {
        struct gn_event event = message(call, kind, comm, parts[i].peer, GN_TAG_NEIGHBOUR);
        event.request = first_id ? first_id + i : 0;
        event.bytes_received = parts[i].bytes;
        gn_record_event(call, &event);
    }
}

static void trace_completion(struct gn_call *call, uint8_t kind, const struct gn_request_trace *trace,
                             const struct gn_part *parts)
{
    static const enum gn_event_kind kinds[] = {
        [GN_PERSISTENT_SEND] = GN_EVENT_MPI_ISEND_COMPLETE,
        [GN_SEND] = GN_EVENT_MPI_ISEND_COMPLETE,
        [GN_COLLECTIVE] = GN_EVENT_NBC_COMPLETE,
        [GN_ONE_SIDED] = GN_EVENT_RMA_COMPLETE,
        [GN_FILE] = GN_EVENT_IO_COMPLETE,
    };
    if (kind == GN_NEIGHBOURS) {
        gn_traced_parts(call, trace->comm, parts, trace->parts, trace->id);
        return;
    }
    struct gn_event event = completion(call, kinds[kind], trace);
    if (kind == GN_COLLECTIVE || kind == GN_ONE_SIDED)
        event.comm = trace->comm;
    if (kind == GN_COLLECTIVE) {
        event.op = trace->op;
        event.peer = trace->root;
    }
    if (kind == GN_COLLECTIVE || kind == GN_FILE) {
        event.bytes_sent = trace->bytes_sent;
        event.bytes_received = trace->bytes_received;
    }
    gn_record_event(call, &event);
}

/* Nothing more will be known of it: it was cancelled or freed, or failed. Of a send that was freed the
 * message goes its way; for the program it is complete. */
static void trace_end_of_request(struct gn_call *call, int32_t position, bool cancelled)
{
    const struct gn_request *request = gn_request_at(position);
    if (!request->traced || !call->traced || !gn_request_trace_at(position)->id)
        return;
    struct gn_request_trace *trace = gn_request_trace_at(position);
    bool receive =
        request->kind == GN_RECEIVE || request->kind == GN_PERSISTENT_RECEIVE || request->kind == GN_MESSAGE;
    if (receive || cancelled) {
        struct gn_event event = completion(call, GN_EVENT_MPI_REQUEST_CANCELLED, trace);
        gn_record_event(call, &event);
    } else {
        trace_completion(call, request->kind, trace, gn_request_parts_at(position));
    }
    trace->id = 0;
}

static void trace_completed(struct gn_call *call, int32_t position, const void *status)
{
    const struct gn_request *request = gn_request_at(position);
    struct gn_request_trace *trace = gn_request_trace_at(position);
    bool receive = request->kind == GN_RECEIVE || request->kind == GN_PERSISTENT_RECEIVE;
    int64_t bytes = -1;
    if (!trace->id)
        return;
    if (was_cancelled(status))
        trace_end_of_request(call, position, true);
    else if (receive && source_of(status) >= 0 && (bytes = bytes_of(status)) >= 0)
        trace_arrived(call, trace->id, trace->comm, status, (uint64_t)bytes);
    else
        trace_end_of_request(call, position, false);
    trace->id = 0;
}

void gn_before_request_free(struct gn_call *call, void *request)
{
    gn_handle handle = gn_request_handle(call->binding, request, 0);
    int32_t position = gn_request_find(handle);
    if (position < 0 || !gn_request_hold(position, handle))
        return;
    call->exit_ticks = call->enter_ticks;
    trace_end_of_request(call, position, false);
    gn_request_drop(position);
}

/* ---- completions ---- */

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

static bool is_persistent(const struct gn_request *request)
{
    return request->kind == GN_PERSISTENT_RECEIVE || request->kind == GN_PERSISTENT_SEND;
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
    if (request->traced && call->traced)
        trace_completed(call, position, status);
    request->active = 0;
    if (is_persistent(request))
        gn_request_release(position, r->list.handles[i]);
    else
        gn_request_drop(position);
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
        if (gn_request_handle(call->binding, call->requests, i) == r->list.handles[i]) {
            gn_request_release(position, r->list.handles[i]);
            continue;
        }
        trace_end_of_request(call, position, false);
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

static void trace_window(struct gn_call *call, enum gn_event_kind kind, uint32_t window, uint64_t ticks)
{
    struct gn_event event = gn_event_bare(kind, call->recorder->location_index, ticks);
    event.comm = window;
    if (kind == GN_EVENT_RMA_COLLECTIVE_BEGIN || kind == GN_EVENT_RMA_COLLECTIVE_END)
        event.op = call->op;
    gn_record_event(call, &event);
}

void gn_traced_win_begin(struct gn_call *call, uint8_t op, uint32_t window)
{
    call->op = op;
    call->number = window;
    trace_window(call, GN_EVENT_RMA_COLLECTIVE_BEGIN, window, call->enter_ticks);
}

void gn_traced_win_end(struct gn_call *call)
{
    trace_window(call, GN_EVENT_RMA_COLLECTIVE_END, call->number, call->exit_ticks);
}

uint32_t gn_made_window(unsigned binding, gn_handle comm, const void *window)
{
    return gn_is_closed() || !gn_ring_memory ? GN_NONE
                                             : gn_window_define(gn_win_handle(binding, window, 0), comm);
}

void gn_traced_made_window(struct gn_call *call, gn_handle comm, const void *window)
{
    call->number = gn_made_window(call->binding, comm, window);
    trace_window(call, GN_EVENT_RMA_WIN_CREATE, call->number, call->exit_ticks);
}

void gn_traced_window_gone(struct gn_call *call)
{
    trace_window(call, GN_EVENT_RMA_WIN_DESTROY, call->number, call->exit_ticks);
}

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

void gn_traced_win_sync(struct gn_call *call, gn_handle window)
{
    trace_window(call, GN_EVENT_RMA_SYNC, gn_window_number(window), call->exit_ticks);
}

void gn_traced_rma(struct gn_call *call, enum gn_event_kind kind, int target, gn_handle window,
                   const void *request)
{
    if (target == gn_flavour.proc_null)
        return;
    struct gn_event event = message(call, kind, gn_window_number(window), (uint32_t)target, GN_NONE);
    event.bytes_sent = kind == GN_EVENT_RMA_GET ? 0 : call->bytes;
    event.bytes_received = kind == GN_EVENT_RMA_PUT ? 0 : call->bytes;
    if (request)
        gn_traced_request(call, gn_request_handle(call->binding, request, 0), GN_ONE_SIDED, &event,
                          (struct gn_request_trace){.comm = event.comm});
    else
        gn_record_event(call, &event);
}

/* Split collectives end with their begin: what their end call does is seen as time only. */
void gn_traced_io(struct gn_call *call, const void *request)
{
    struct gn_event event =
        gn_event_bare(GN_EVENT_IO_BEGIN, call->recorder->location_index, call->enter_ticks);
    event.bytes_sent = call->bytes;
    if (request) {
        gn_traced_request(call, gn_request_handle(call->binding, request, 0), GN_FILE, &event,
                          (struct gn_request_trace){.bytes_sent = call->bytes});
        return;
    }
    event.request = call->traced == GN_TRACED ? gn_tracer_new_id(&call->recorder->tracer) : 0;
    gn_record_event(call, &event);
    event.kind = GN_EVENT_IO_COMPLETE;
    event.ticks = call->exit_ticks;
    gn_record_event(call, &event);
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

uint32_t gn_made_comm(unsigned binding, gn_handle parent, const void *comm, gn_handle like)
{
    return gn_is_closed() || !gn_ring_memory ? GN_NONE
                                             : gn_comm_define(gn_comm_handle(binding, comm, 0), parent, like);
}

static void trace_comm(struct gn_call *call, enum gn_event_kind kind, uint32_t comm)
{
    struct gn_event event = gn_event_bare(kind, call->recorder->location_index, call->exit_ticks);
    event.comm = comm;
    if (comm != GN_NONE)
        gn_record_event(call, &event);
}

void gn_traced_made_comm(struct gn_call *call, gn_handle parent, const void *comm, gn_handle like)
{
    trace_comm(call, GN_EVENT_COMM_CREATE, gn_made_comm(call->binding, parent, comm, like));
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
        trace_comm(call, GN_EVENT_COMM_DESTROY, call->number);
}

void gn_forget_comm(unsigned binding, void *comm)
{
    if (!gn_is_closed()) {
        gn_requests_lose_comm(gn_comm_handle(binding, comm, 0));
        gn_comm_forget(gn_comm_handle(binding, comm, 0));
    }
    gn_forget_handles();
}

#include "capture/classes.h"

#include "capture/comms.h"
#include "capture/counting.h"
#include "capture/facts.h"
#include "capture/partitioned.h"
#include "capture/real.h"
#include "capture/traced.h"

#include <pthread.h>
#include <sys/mman.h>

/* ---- point to point ---- */

static void add_bytes(struct gn_capture_call *call, uint64_t bytes)
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

/* Of a call that is not recorded, this is all: it was counted. */
static void sent(struct gn_capture_call *call, int64_t count, gn_handle type, int dest, gn_handle comm)
{
    struct gn_recorder *r = call->recorder;
    if (!r)
        return;
    uint64_t bytes = bytes_in(r, count, type);
    add_bytes(call, bytes);
    gn_record_sent(r, call->node, gn_world_rank(r, comm, dest), bytes);
}

static bool is_ignored(const struct gn_capture_call *call, const void *status)
{
    return status == gn_sentinels[call->binding].status_ignore;
}

static void own_status(struct gn_capture_call *call, void **status)
{
    if (is_ignored(call, *status))
        *status = call->own_status;
}

/* The event of a receive that is posted, or of a matched probe. Its name. */
static uint64_t record_post(struct gn_capture_call *call, int source, int tag, uint32_t comm)
{
    if (!call->traced)
        return 0;
    struct gn_note post = gn_traced_posted(source, tag, comm);
    post.request = gn_traced_name(call, false);
    gn_record_note(call, &post);
    return post.request;
}

struct post {
    uint32_t comm;
    uint64_t name; /* of the post's record; 0: there is none */
};

/* Of a message that was received at once the trace has whom it came from. That anybody might have sent it
 * stands in a post of its own, as of a receive that is under way. */
static void record_message(struct gn_capture_call *call, const struct post *posted, const void *status,
                           uint64_t bytes, uint64_t number)
{
    if (posted->name)
        gn_traced_arrived(call, posted->name, posted->comm, status, bytes, number);
    else
        gn_record_note(call, &(struct gn_note){.kind = GN_EVENT_MPI_RECV,
                                               .comm = posted->comm,
                                               .peer = (uint32_t)gn_status_source(status),
                                               .tag = (uint32_t)gn_status_tag(status),
                                               .bytes = bytes,
                                               .number = number});
}

static void received(struct gn_capture_call *call, int source, int tag, gn_handle comm, const void *status)
{
    const int from = gn_status_source(status);
    const int64_t bytes = call->recorder ? gn_status_bytes(status) : -1;
    const bool is_empty = from < 0 || bytes < 0;
    struct post posted = {.comm = gn_counts_comm(call, comm)};
    if (source == gn_flavour.any_source && !is_empty)
        posted.name = record_post(call, source, tag, posted.comm);
    const uint64_t own = call->traced && !posted.name ? gn_tracer_own_name(&call->recorder->tracer) : 0;
    const uint64_t number = gn_counted_receive(call, posted.comm, status, posted.name ? posted.name : own);
    if (is_empty)
        return;
    add_bytes(call, (uint64_t)bytes);
    gn_record_received(call->recorder, call->node, gn_world_rank(call->recorder, comm, from),
                       (uint64_t)bytes);
    if (call->traced)
        record_message(call, &posted, status, (uint64_t)bytes, number);
}

void gn_after_send(struct gn_capture_call *call, int64_t count, gn_handle type, int dest, int tag,
                   gn_handle comm)
{
    if (dest == gn_flavour.proc_null)
        return;
    const uint32_t number = gn_counts_comm(call, comm);
    const uint64_t n = gn_counted_send(call, number, dest, tag);
    sent(call, count, type, dest, comm);
    if (call->traced)
        gn_record_note(call, &(struct gn_note){.kind = GN_EVENT_MPI_SEND,
                                               .comm = number,
                                               .peer = (uint32_t)dest,
                                               .tag = (uint32_t)tag,
                                               .bytes = call->bytes,
                                               .number = n});
}

void gn_before_recv(struct gn_capture_call *call, void **status)
{
    own_status(call, status);
}

void gn_after_recv(struct gn_capture_call *call, int source, int tag, gn_handle comm, void *status)
{
    if (source != gn_flavour.proc_null)
        received(call, source, tag, comm, status);
}

/* The message handle does not tell its communicator: the size is known, the peer is not. */
void gn_after_mrecv(struct gn_capture_call *call, void *status)
{
    int64_t bytes = call->recorder && gn_status_source(status) >= 0 ? gn_status_bytes(status) : -1;
    if (bytes < 0)
        return;
    add_bytes(call, (uint64_t)bytes);
    if (call->traced && call->id)
        gn_traced_arrived(call, call->id, call->number, status, (uint64_t)bytes, call->count);
}

void gn_after_sendrecv(struct gn_capture_call *call, int64_t count, gn_handle type, int dest, int tag,
                       int source, int recvtag, gn_handle comm, void *status)
{
    gn_after_send(call, count, type, dest, tag, comm);
    if (source != gn_flavour.proc_null)
        received(call, source, recvtag, comm, status);
}

/* ---- requests ---- */

/* A send is followed in any case: it may be cancelled. */
void gn_after_isend(struct gn_capture_call *call, int64_t count, gn_handle type, int dest, int tag,
                    gn_handle comm, void *request)
{
    if (dest == gn_flavour.proc_null)
        return;
    const struct gn_request send = {.kind = GN_SEND,
                                    .at = {.comm = gn_counts_comm(call, comm), .source = dest, .tag = tag}};
    const uint64_t n = gn_counted_send(call, send.at.comm, dest, tag);
    sent(call, count, type, dest, comm);
    const gn_handle handle = gn_new_request(call, request);
    if (call->traced)
        gn_traced_isend(call, handle, &send, n);
    else
        gn_follow(call, handle, send, NULL, NULL);
}

static void follow_receive(struct gn_capture_call *call, gn_handle handle, struct gn_request request,
                           uint64_t name)
{
    const struct gn_request_trace trace = {.id = name, .comm = request.at.comm};
    gn_follow(call, handle, request, name ? &trace : NULL, NULL);
}

static struct gn_receive receive_at(const struct gn_capture_call *call, int source, int tag, gn_handle comm)
{
    return (struct gn_receive){
        .comm = gn_counts_comm(call, comm), .source = gn_counts_source(source), .tag = gn_counts_tag(tag)};
}

/* A named source is translated now, while its communicator surely exists. */
static struct gn_request receive_from(struct gn_capture_call *call, int source, int tag, gn_handle comm,
                                      uint8_t kind)
{
    struct gn_request request = {
        .kind = kind, .to_null = source == gn_flavour.proc_null, .at = receive_at(call, source, tag, comm)};
    if (!call->recorder)
        return request;
    if (source == gn_flavour.any_source)
        request.comm = comm & gn_flavour.handle_mask;
    else if (!request.to_null) {
        request.peer = gn_world_rank(call->recorder, comm, source);
        request.peer_known = 1;
    }
    return request;
}

void gn_after_irecv(struct gn_capture_call *call, int source, int tag, gn_handle comm, void *request)
{
    if (source == gn_flavour.proc_null)
        return;
    gn_handle handle = gn_new_request(call, request);
    struct gn_request receive = receive_from(call, source, tag, comm, GN_RECEIVE);
    gn_counted_post(call->inside[GN_NUMBER_RECEIVE], &receive);
    follow_receive(call, handle, receive, record_post(call, source, tag, receive.at.comm));
}

/* A matched probe takes its message out of the queue as a receive does that is posted there and then: in the
 * trace it is that receive's post, and the MPI_Mrecv or the end of the MPI_Imrecv its completion. */
void gn_after_mprobe(struct gn_capture_call *call, int source, int tag, gn_handle comm, void *message_handle,
                     void *status)
{
    if (source == gn_flavour.proc_null)
        return;
    struct gn_request message = {
        .kind = GN_MESSAGE, .counting = GN_MATCHED, .at = {.comm = gn_counts_comm(call, comm)}};
    const uint64_t name = record_post(call, source, tag, message.at.comm);
    message.at.number = gn_counted_receive(call, message.at.comm, status, name);
    follow_receive(call, gn_message_handle(call->binding, message_handle, 0), message, name);
}

void gn_after_improbe(struct gn_capture_call *call, int source, int tag, gn_handle comm, const int *flag,
                      void *message_handle, void *status)
{
    call->idle = !*flag;
    if (*flag)
        gn_after_mprobe(call, source, tag, comm, message_handle, status);
    else
        gn_counts_none(call, GN_NUMBER_RECEIVE);
}

void gn_after_iprobe(struct gn_capture_call *call, const int *flag)
{
    call->idle = !*flag;
}

void gn_before_imrecv(struct gn_capture_call *call, void *message_handle)
{
    call->id = 0;
    call->count = GN_UNNUMBERED;
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
    call->count = gn_request_at(position)->at.number;
    gn_request_drop(position);
}

void gn_before_mrecv(struct gn_capture_call *call, void *message_handle, void **status)
{
    own_status(call, status);
    gn_before_imrecv(call, message_handle);
}

void gn_after_imrecv(struct gn_capture_call *call, void *request)
{
    struct gn_request_trace trace = {.id = call->id, .comm = call->number};
    gn_follow(call, gn_new_request(call, request),
              (struct gn_request){
                  .comm = 0, .kind = GN_RECEIVE, .counting = GN_MATCHED, .at = {.number = call->count}},
              call->id ? &trace : NULL, NULL);
}

/* Has no id before it is started. */
static const struct gn_request_trace *persistent_trace(const struct gn_capture_call *call, uint32_t comm,
                                                       int peer, int tag, uint64_t bytes,
                                                       struct gn_request_trace *trace)
{
    if (!call->traced)
        return NULL;
    *trace = (struct gn_request_trace){
        .comm = comm, .peer = (uint32_t)peer, .tag = (uint32_t)tag, .bytes_sent = bytes};
    return trace;
}

void gn_after_recv_init(struct gn_capture_call *call, int source, int tag, gn_handle comm, void *request)
{
    struct gn_request_trace trace;
    const struct gn_request receive = receive_from(call, source, tag, comm, GN_PERSISTENT_RECEIVE);
    gn_follow(call, gn_new_request(call, request), receive,
              persistent_trace(call, receive.at.comm, source == gn_flavour.any_source ? (int)GN_ANY : source,
                               tag == gn_flavour.any_tag ? (int)GN_ANY : tag, 0, &trace),
              NULL);
}

void gn_after_send_init(struct gn_capture_call *call, int64_t count, gn_handle type, int dest, int tag,
                        gn_handle comm, void *request)
{
    struct gn_request_trace trace;
    struct gn_request persistent = {
        .kind = GN_PERSISTENT_SEND,
        .to_null = dest == gn_flavour.proc_null,
        .at = {.comm = gn_counts_comm(call, comm), .source = dest, .tag = tag},
    };
    if (call->recorder && !persistent.to_null) {
        persistent.bytes = bytes_in(call->recorder, count, type);
        persistent.peer = gn_world_rank(call->recorder, comm, dest);
    }
    gn_follow(call, gn_new_request(call, request), persistent,
              persistent_trace(call, persistent.at.comm, dest, tag, persistent.bytes, &trace), NULL);
}

/* The request is the receive's, where there is one: when the send is over is not known. */
static void send_of_exchange(struct gn_capture_call *call, const struct gn_request *send, void *request,
                             bool alone)
{
    const uint64_t n = gn_counted_send(call, send->at.comm, send->at.source, send->at.tag);
    if (alone && call->traced)
        gn_traced_isend(call, gn_new_request(call, request), send, n);
    else if (alone)
        gn_follow(call, gn_new_request(call, request), *send, NULL, NULL);
    else if (call->traced)
        gn_traced_isend_alone(call, send, n);
}

void gn_after_isendrecv(struct gn_capture_call *call, int64_t count, gn_handle type, int dest, int sendtag,
                        int source, int recvtag, gn_handle comm, void *request)
{
    const bool receives = source != gn_flavour.proc_null;
    if (dest != gn_flavour.proc_null) {
        const struct gn_request send = {
            .kind = GN_SEND, .at = {.comm = gn_counts_comm(call, comm), .source = dest, .tag = sendtag}};
        sent(call, count, type, dest, comm);
        send_of_exchange(call, &send, request, !receives);
    }
    if (!receives)
        return;
    gn_handle handle = gn_new_request(call, request);
    struct gn_request receive = receive_from(call, source, recvtag, comm, GN_EXCHANGE);
    gn_counted_post(call->inside[GN_NUMBER_RECEIVE], &receive);
    follow_receive(call, handle, receive, record_post(call, source, recvtag, receive.at.comm));
}

/* ---- partitioned ---- */

void gn_made_partitioned(gn_handle comm, int peer, int tag, bool receives)
{
    if (!gn_is_closed() && peer != gn_flavour.proc_null)
        gn_partitioned_tag(gn_comm_number(comm), peer, tag, receives);
}

static void follow_partitioned(struct gn_capture_call *call, struct gn_request request, int64_t count,
                               gn_handle type, gn_handle comm, void *handle)
{
    const int peer = request.at.source;
    struct gn_request_trace trace;
    const struct gn_request_trace *told = NULL;
    request.to_null = peer == gn_flavour.proc_null;
    request.at.comm = gn_counts_comm(call, comm);
    uint32_t channel = request.to_null ? GN_NONE
                                       : gn_partitioned_tag(request.at.comm, peer, request.at.tag,
                                                            request.kind == GN_PARTITIONED_RECEIVE);
    if (call->recorder && !request.to_null) {
        request.bytes = bytes_in(call->recorder, count, type);
        request.peer = gn_world_rank(call->recorder, comm, peer);
    }
    request.at.tag = (int32_t)channel;
    if (channel == GN_NONE)
        request.counting = GN_NEVER_COUNTED;
    else
        told = persistent_trace(call, request.at.comm, peer, (int)channel, request.bytes, &trace);
    if (channel == GN_NONE && !request.to_null && call->traced)
        gn_traced_lost(call, 1);
    gn_follow(call, gn_new_request(call, handle), request, told, NULL);
}

void gn_after_psend_init(struct gn_capture_call *call, int partitions, int64_t count, gn_handle type,
                         int dest, int tag, gn_handle comm, void *request)
{
    follow_partitioned(call,
                       (struct gn_request){.kind = GN_PERSISTENT_SEND, .at = {.source = dest, .tag = tag}},
                       partitions * count, type, comm, request);
}

void gn_after_precv_init(struct gn_capture_call *call, int partitions, int64_t count, gn_handle type,
                         int source, int tag, gn_handle comm, void *request)
{
    follow_partitioned(
        call, (struct gn_request){.kind = GN_PARTITIONED_RECEIVE, .at = {.source = source, .tag = tag}},
        partitions * count, type, comm, request);
}

/* ---- lists of requests ---- */

/* Lists of calls that are not recorded: those may be nested. */
static struct gn_request_list *spare_lists;
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;

static struct gn_request_list *take_list(void)
{
    pthread_mutex_lock(&spare_lock);
    struct gn_request_list *list = spare_lists;
    if (list)
        spare_lists = list->next;
    pthread_mutex_unlock(&spare_lock);
    if (list)
        return list;
    list = mmap(NULL, sizeof *list, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return list == MAP_FAILED ? NULL : list;
}

static void give_list(struct gn_request_list *list)
{
    pthread_mutex_lock(&spare_lock);
    list->next = spare_lists;
    spare_lists = list;
    pthread_mutex_unlock(&spare_lock);
}

/* Working space for a list of count requests. What it outgrows is left where it is (together less than what
 * it has now): a call of which only its return address tells that it is still under way may have its statuses
 * there. The status array is used when the caller ignores statuses. */
static bool list_space(struct gn_request_list *list, uint32_t count)
{
    if (__builtin_expect(count <= list->capacity, 1))
        return true;
    uint32_t capacity = 256;
    while (capacity < count)
        capacity *= 2;
    size_t each = sizeof(gn_handle) + gn_flavour.status_bytes;
    char *memory = mmap(NULL, capacity * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    list->capacity = capacity;
    list->handles = (gn_handle *)memory;
    list->statuses = memory + capacity * sizeof(gn_handle);
    return true;
}

/* Keeps what the caller's list was: the library writes into it. False: there is nothing in it, or no room. */
static bool keep_list(struct gn_capture_call *call, int count, void *requests)
{
    struct gn_recorder *r = call->recorder;
    if (count <= 0 || !requests) /* MPI has an error for a null pointer */
        return false;
    struct gn_request_list *list = r ? &r->list : take_list();
    if (!list || !list_space(list, (uint32_t)count)) {
        if (r)
            GN_LOST(r, requests);
        else if (list)
            give_list(list);
        return false;
    }
    call->list = list;
    call->requests = requests;
    call->list_count = list->kept = (uint32_t)count;
    list->before_ticks = call->enter_ticks;
    gn_requests_copy(call->binding, requests, (uint32_t)count, list->handles);
    gn_requests_completing(gn_follow_location(call), true);
    return true;
}

static gn_handle listed(const struct gn_capture_call *call, uint32_t i)
{
    return gn_request_copied(call->list->handles, i);
}

/* ---- starts ---- */

static uint64_t counted_start(struct gn_request *request)
{
    if (request->kind == GN_PERSISTENT_COLLECTIVE)
        return gn_counted_persistent(request);
    if (!gn_request_counts(request))
        return GN_UNNUMBERED;
    if (request->kind == GN_PERSISTENT_SEND)
        return gn_counted_start(request);
    gn_counted_post(request->inside, request);
    return GN_UNNUMBERED;
}

/* A persistent request that is to be started, or was; NULL: it is not followed. */
static struct gn_request *startable(const struct gn_capture_call *call, uint32_t i)
{
    int32_t position = gn_request_find(listed(call, i), call->enter_ticks);
    struct gn_request *request = position < 0 ? NULL : gn_request_at(position);
    return request && gn_request_counts(request) && !request->to_null ? request : NULL;
}

/* Open MPI's start makes a new request where the old one, complete for the program, is not yet so for the
 * library: under which handle it goes on. -1: there is no room for it. */
static int32_t replaced(struct gn_capture_call *call, int32_t position, const void *requests, uint32_t i)
{
    const gn_handle before = listed(call, i), handle = gn_request_handle(call->binding, requests, i);
    if (__builtin_expect(handle == before, 1))
        return position;
    const uint32_t width = call->binding == GN_C ? gn_flavour.handle_bytes : (uint32_t)sizeof(int);
    const uint32_t fortran =
        gn_fortran_learn(call->binding, (const char *)requests + (size_t)i * width, handle);
    position = gn_request_take(before, call->enter_ticks);
    return position < 0
               ? -1
               : gn_request_refile(gn_follow_location(call), position, handle, fortran, call->exit_ticks);
}

static void started(struct gn_capture_call *call, const void *requests, uint32_t i)
{
    int32_t position = gn_request_find(listed(call, i), call->enter_ticks);
    if (position >= 0)
        position = replaced(call, position, requests, i);
    if (position < 0) { /* it may be a message */
        gn_counts_give_up();
        return;
    }
    struct gn_request *request = gn_request_at(position);
    if (request->active) /* nobody has seen how it ended: it failed */
        gn_counted_lost(request);
    request->active = 1;
    request->starter = call->recorder;
    request->start_ticks = call->exit_ticks;
    request->start_node = call->node;
    if (request->to_null)
        return;
    const uint64_t n = counted_start(request);
    if (request->traced && call->traced)
        gn_traced_started(call, request, gn_request_trace_at(position), n);
    if (!call->recorder)
        return;
    if (request->kind == GN_PERSISTENT_SEND || request->contributes)
        add_bytes(call, request->bytes);
    if (request->kind == GN_PERSISTENT_SEND)
        gn_record_sent(call->recorder, call->node, request->peer, request->bytes);
}

/* What the handles are: the library may replace them. */
void gn_before_startall(struct gn_capture_call *call, int count, void *requests)
{
    if (!keep_list(call, count, requests) && count > 0 && requests)
        gn_counts_give_up();
    for (uint32_t i = 0; gn_counts_threads && i < call->list_count; i++) {
        struct gn_request *request = startable(call, i);
        if (request)
            gn_counts_begin_start(request);
    }
}

void gn_before_start(struct gn_capture_call *call, void *request)
{
    gn_before_startall(call, 1, request);
}

/* Some of them may have been started. */
void gn_failed_start(struct gn_capture_call *call)
{
    for (uint32_t i = 0; i < call->list_count; i++) {
        struct gn_request *request = startable(call, i);
        if (request)
            gn_counts_unfollowed(request);
    }
}

void gn_after_start(struct gn_capture_call *call, void *requests)
{
    for (uint32_t i = 0; i < call->list_count; i++)
        started(call, requests, i);
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

void gn_before_cancel(struct gn_capture_call *call, const void *request)
{
    const gn_handle handle = gn_request_handle(call->binding, request, 0);
    gn_cancel_seen();
    int32_t position = gn_request_take(handle, call->enter_ticks);
    if (position < 0) {
        gn_counts_cancel_unfollowed();
        return;
    }
    gn_counted_cancel(gn_request_at(position));
    gn_request_release(position, handle);
}

void gn_before_request_free(struct gn_capture_call *call, void *request)
{
    keep_list(call, 1, request);
}

void gn_after_request_free(struct gn_capture_call *call)
{
    int32_t position = call->list_count ? gn_request_take(listed(call, 0), call->enter_ticks) : -1;
    if (position < 0)
        return;
    if (gn_request_at(position)->active) /* or it failed: then it is complete, and it is not known of what */
        gn_counted_lost(gn_request_at(position));
    gn_traced_end_of_request(call, position, false);
    gn_request_drop(position);
}

/* ---- completions ---- */

static void record_completion(struct gn_capture_call *call, const struct gn_request *request,
                              const void *status)
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

/* Their statuses need not say what arrived. */
static void record_as_posted(struct gn_capture_call *call, const struct gn_request *request)
{
    struct gn_recorder *r = call->recorder;
    uint32_t node = request->recorder == r ? request->node : call->node;
    if (request->kind == GN_PARTITIONED_RECEIVE)
        gn_record_size(r, node, request->bytes);
    gn_record_received(r, node, request->peer, request->bytes);
}

/* Of nodes of another location only that they are of one is known here. */
static void record_way(struct gn_capture_call *call, const struct gn_request *request)
{
    const uint64_t start = request->start_ticks;
    if (!request->starter || !call->recorder || (gn_request_is_persistent(request) && !request->active))
        return;
    gn_record_completion(call->recorder, request->starter == call->recorder ? request->start_node : 0,
                         call->node, call->exit_ticks > start ? call->exit_ticks - start : 0,
                         call->enter_ticks > start ? call->enter_ticks - start : 0);
}

static uint64_t counted_completion(struct gn_request *request, const void *status, uint64_t name)
{
    if (request->kind == GN_EXCHANGE && gn_receives_from_anybody(request))
        gn_counted_lost(request);
    if (request->kind == GN_EXCHANGE || request->kind == GN_PARTITIONED_RECEIVE)
        return gn_counted_complete_as_posted(request, name);
    return gn_counted_complete(request, status, name);
}

static void completed(struct gn_capture_call *call, uint32_t i, const void *status)
{
    if (i >= call->list_count)
        return;
    gn_handle handle = listed(call, i);
    int32_t position = gn_request_take(handle, call->enter_ticks);
    if (position < 0)
        return;
    struct gn_request *request = gn_request_at(position);
    const uint64_t name = request->traced ? gn_request_trace_at(position)->id : 0;
    const uint64_t n = counted_completion(request, status, name);
    const bool recorded = request->recorder && call->recorder;
    if (recorded &&
        (request->kind == GN_RECEIVE || (request->kind == GN_PERSISTENT_RECEIVE && request->active)))
        record_completion(call, request, status);
    else if (recorded && ((request->kind == GN_PARTITIONED_RECEIVE && request->active && !request->to_null) ||
                          (request->kind == GN_EXCHANGE && request->peer_known)))
        record_as_posted(call, request);
    record_way(call, request);
    if (request->traced && call->traced)
        gn_traced_completed(call, position, status, n);
    else if (request->traced)
        gn_request_trace_at(position)->id = 0;
    request->active = 0;
    if (gn_request_is_persistent(request))
        gn_request_release(position, handle);
    else
        gn_request_drop(position);
}

/* Of a call that failed, those are over that are no longer in the caller's list. */
static void settle_failed(struct gn_capture_call *call)
{
    for (uint32_t i = 0; i < call->list_count; i++) {
        gn_handle handle = listed(call, i);
        int32_t position = -1;
        if (gn_request_handle(call->binding, call->requests, i) != handle)
            position = gn_request_take(handle, call->enter_ticks);
        if (position < 0)
            continue;
        gn_counted_lost(gn_request_at(position));
        gn_traced_end_of_request(call, position, false);
        gn_request_drop(position);
    }
}

void gn_settle_requests(struct gn_capture_call *call, int result)
{
    if (result != 0)
        settle_failed(call);
    call->list->kept = 0;
    gn_requests_completing(gn_follow_location(call), false);
    if (!call->recorder)
        give_list(call->list);
}

void gn_drop_kept(struct gn_recorder *r)
{
    for (uint32_t i = 0; i < r->list.kept; i++) {
        int32_t position = gn_request_take(gn_request_copied(r->list.handles, i), r->list.before_ticks);
        if (position < 0)
            continue;
        gn_counted_lost(gn_request_at(position));
        gn_request_drop(position);
        GN_LOST(r, requests);
    }
    r->list.kept = 0;
    gn_requests_completing(r->location_index, false);
}

/* Which request of the list completed. Fortran counts from 1, but MPICH's mpi_f08 hands out C's index: where
 * the library left a trace (the handle is gone), that decides. */
static uint32_t which(const struct gn_capture_call *call, int index)
{
    int base = gn_flavour.first_index[call->binding];
    const int tries[] = {index - base, index - 1 + base};
    for (int t = 0; t < 2 && call->binding != GN_C; t++) {
        uint32_t i = (uint32_t)tries[t];
        if (tries[t] >= 0 && i < call->list_count &&
            gn_request_handle(call->binding, call->requests, i) != listed(call, i))
            return i;
    }
    return (uint32_t)(index - base);
}

static void own_statuses(struct gn_capture_call *call, void **statuses)
{
    if (*statuses == gn_sentinels[call->binding].statuses_ignore)
        *statuses = call->list->statuses;
}

static const void *status_in(const void *statuses, int i)
{
    return (const char *)statuses + (size_t)i * gn_flavour.status_bytes;
}

void gn_before_wait(struct gn_capture_call *call, void *request, void **status)
{
    if (keep_list(call, 1, request))
        own_status(call, status);
}

void gn_after_wait(struct gn_capture_call *call, void *status)
{
    completed(call, 0, status);
}

void gn_after_test(struct gn_capture_call *call, const int *flag, void *status)
{
    if (*flag)
        completed(call, 0, status);
    else
        call->idle = true;
}

void gn_before_waitall(struct gn_capture_call *call, int count, void *requests, void **statuses)
{
    if (keep_list(call, count, requests))
        own_statuses(call, statuses);
}

void gn_after_waitall(struct gn_capture_call *call, void *statuses)
{
    for (uint32_t i = 0; i < call->list_count; i++)
        completed(call, i, status_in(statuses, (int)i));
}

void gn_after_testall(struct gn_capture_call *call, const int *flag, void *statuses)
{
    if (*flag)
        gn_after_waitall(call, statuses);
    else
        call->idle = true;
}

void gn_before_waitany(struct gn_capture_call *call, int count, void *requests, void **status)
{
    if (keep_list(call, count, requests))
        own_status(call, status);
}

void gn_after_waitany(struct gn_capture_call *call, const int *index, void *status)
{
    if (*index != gn_flavour.undefined)
        completed(call, which(call, *index), status);
}

void gn_after_testany(struct gn_capture_call *call, const int *flag, const int *index, void *status)
{
    if (*flag)
        gn_after_waitany(call, index, status);
    else
        call->idle = true;
}

void gn_after_waitsome(struct gn_capture_call *call, const int *outcount, const int *indices, void *statuses)
{
    if (*outcount == gn_flavour.undefined)
        return;
    call->idle = *outcount == 0;
    for (int i = 0; i < *outcount; i++)
        completed(call, which(call, indices[i]), status_in(statuses, i));
}

/* ---- neighbourhoods ---- */

static void contribute(struct gn_capture_call *call, int64_t count, gn_handle type)
{
    if (count >= 0)
        add_bytes(call, bytes_in(call->recorder, count, type));
}

static int64_t sum(struct gn_count_array counts, int n)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++)
        total += gn_count_array_at(counts, i);
    return total;
}

static void contribute_each(struct gn_capture_call *call, struct gn_count_array counts, const void *types,
                            int n)
{
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++)
        if (gn_count_array_at(counts, i) > 0)
            bytes += (uint64_t)gn_count_array_at(counts, i) *
                     gn_type_size(call->recorder, gn_type_handle(call->binding, types, (uint32_t)i));
    add_bytes(call, bytes);
}

void gn_after_neighbor_allgather(struct gn_capture_call *call, int64_t count, gn_handle type)
{
    contribute(call, count, type);
}

void gn_after_neighbor_alltoall(struct gn_capture_call *call, int64_t count, gn_handle type, gn_handle comm)
{
    contribute(call, (int64_t)gn_comm_neighbours(comm) * count, type);
}

void gn_after_neighbor_alltoallv(struct gn_capture_call *call, struct gn_count_array counts, gn_handle type,
                                 gn_handle comm)
{
    contribute(call, sum(counts, gn_comm_neighbours(comm)), type);
}

void gn_after_neighbor_alltoallw(struct gn_capture_call *call, struct gn_count_array counts,
                                 const void *types, gn_handle comm)
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

void gn_before_win_free(struct gn_capture_call *call, const void *window)
{
    if (call->traced)
        gn_traced_win_begin(call, GN_COLLECTIVE_DESTROY_HANDLE,
                            gn_window_number(gn_win_handle(call->binding, window, 0)));
    gn_forget_window(call->binding, window);
}

void gn_after_rma_put(struct gn_capture_call *call, int64_t count, gn_handle type, int target, gn_handle win)
{
    if (target == gn_flavour.proc_null)
        return;
    struct gn_recorder *r = call->recorder;
    uint64_t bytes = bytes_in(r, count, type);
    add_bytes(call, bytes);
    gn_record_sent(r, call->node, gn_world_rank_of_window(r, win, target), bytes);
}

void gn_after_rma_get(struct gn_capture_call *call, int64_t count, gn_handle type, int target, gn_handle win)
{
    if (target == gn_flavour.proc_null)
        return;
    struct gn_recorder *r = call->recorder;
    uint64_t bytes = bytes_in(r, count, type);
    add_bytes(call, bytes);
    gn_record_received(r, call->node, gn_world_rank_of_window(r, win, target), bytes);
}

void gn_after_rma_op(struct gn_capture_call *call, gn_handle type, int target, gn_handle win)
{
    gn_after_rma_get(call, 1, type, target, win);
}

void gn_after_io(struct gn_capture_call *call, int64_t count, gn_handle type)
{
    contribute(call, count, type);
}

void gn_forget_handles(void)
{
    atomic_fetch_add_explicit(&gn_era, 1, memory_order_relaxed);
}

void gn_before_comm_free(struct gn_capture_call *call, void *comm)
{
    if (call->traced)
        call->number = gn_comm_number(gn_comm_handle(call->binding, comm, 0));
    gn_forget_comm(call->binding, comm);
}

void gn_after_comm_free(struct gn_capture_call *call)
{
    if (call->traced)
        gn_traced_comm(call, GN_EVENT_COMM_DESTROY, call->number);
}

void gn_forget_comm(unsigned binding, void *comm)
{
    if (!gn_is_closed()) {
        const gn_handle handle = gn_comm_handle(binding, comm, 0);
        const uint32_t number = gn_ring_memory ? gn_comm_number(handle) : GN_NONE;
        gn_requests_lose_comm(handle, number);
        gn_comm_forget(handle);
        if (number != GN_NONE && gn_comm_number(handle) == GN_NONE) /* not one of MPI's own */
            gn_counted_comm_gone(number);
    }
    gn_forget_handles();
}

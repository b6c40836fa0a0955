#include "capture/traced.h"

#include "capture/facts.h"
#include "capture/follow.h"

/* ---- messages ---- */

struct gn_event gn_traced_message(const struct gn_capture_call *call, enum gn_event_kind kind, uint32_t comm,
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

struct gn_note gn_traced_posted(int source, int tag, uint32_t comm)
{
    return (struct gn_note){.kind = GN_EVENT_MPI_IRECV_REQUEST,
                            .comm = comm,
                            .peer = source == gn_flavour.any_source ? GN_ANY : (uint32_t)source,
                            .tag = tag == gn_flavour.any_tag ? GN_ANY : (uint32_t)tag,
                            .number = GN_UNNUMBERED};
}

void gn_traced_arrived(struct gn_capture_call *call, uint64_t id, uint32_t comm, const void *status,
                       uint64_t bytes, uint64_t number)
{
    gn_record_note(call, &(struct gn_note){.kind = GN_EVENT_MPI_IRECV,
                                           .comm = comm,
                                           .peer = (uint32_t)gn_status_source(status),
                                           .tag = (uint32_t)gn_status_tag(status),
                                           .request = id,
                                           .bytes = bytes,
                                           .number = number});
}

/* ---- requests ---- */

uint64_t gn_traced_name(struct gn_capture_call *call, bool alone)
{
    struct gn_call_span span = gn_span_of(call);
    return call->traced ? gn_tracer_next_name(&call->recorder->tracer, &span, alone) : 0;
}

void gn_traced_lost(struct gn_capture_call *call, uint32_t events)
{
    struct gn_event event = gn_event_bare(GN_EVENT_LOST, call->recorder->location_index, call->exit_ticks);
    event.request = events;
    gn_record_event(call, &event);
}

void gn_traced_parts(struct gn_capture_call *call, uint32_t comm, const struct gn_capture_part *parts,
                     uint32_t count, uint64_t first_id)
{
    enum gn_event_kind kind = first_id ? GN_EVENT_MPI_IRECV : GN_EVENT_MPI_RECV;
    for (uint32_t i = 0; i < count; i++) {
        struct gn_event event = gn_traced_message(call, kind, comm, parts[i].peer, GN_TAG_NEIGHBOUR);
        event.request = first_id ? first_id + i : 0;
        event.bytes_received = parts[i].bytes;
        gn_record_event(call, &event);
    }
}

static struct gn_event completion(const struct gn_capture_call *call, enum gn_event_kind kind,
                                  const struct gn_request_trace *trace)
{
    struct gn_event event = gn_event_bare(kind, call->recorder->location_index, call->exit_ticks);
    event.request = trace->id;
    return event;
}

static void trace_completion(struct gn_capture_call *call, uint8_t kind, const struct gn_request_trace *trace,
                             const struct gn_capture_part *parts)
{
    static const enum gn_event_kind kinds[] = {
        [GN_COLLECTIVE] = GN_EVENT_NBC_COMPLETE,
        [GN_PERSISTENT_COLLECTIVE] = GN_EVENT_NBC_COMPLETE,
        [GN_ONE_SIDED] = GN_EVENT_RMA_COMPLETE,
        [GN_FILE] = GN_EVENT_IO_COMPLETE,
    };
    if (kind == GN_NEIGHBOURS) {
        gn_traced_parts(call, trace->comm, parts, trace->parts, trace->id);
        return;
    }
    if (kind == GN_SEND || kind == GN_PERSISTENT_SEND) {
        gn_record_note(call, &(struct gn_note){.kind = GN_EVENT_MPI_ISEND_COMPLETE,
                                               .comm = GN_NONE,
                                               .peer = GN_NONE,
                                               .tag = GN_NONE,
                                               .request = trace->id,
                                               .number = GN_UNNUMBERED});
        return;
    }
    struct gn_event event = completion(call, kinds[kind], trace);
    bool collective = kind == GN_COLLECTIVE || kind == GN_PERSISTENT_COLLECTIVE;
    if (collective || kind == GN_ONE_SIDED)
        event.comm = trace->comm;
    if (collective) {
        event.op = trace->op;
        event.peer = trace->root;
    }
    if (collective || kind == GN_FILE) {
        event.bytes_sent = trace->bytes_sent;
        event.bytes_received = trace->bytes_received;
    }
    gn_record_event(call, &event);
}

static void follow_to_the_end(struct gn_capture_call *call, gn_handle handle, struct gn_request request,
                              const struct gn_request_trace *trace, const struct gn_capture_part *parts)
{
    if (!gn_follow(call, handle, request, trace, parts))
        trace_completion(call, request.kind, trace, parts);
}

void gn_traced_request(struct gn_capture_call *call, gn_handle handle, enum gn_request_kind kind,
                       const struct gn_event *start, struct gn_request_trace trace)
{
    struct gn_event event = *start;
    trace.id = event.request = gn_traced_name(call, false);
    gn_record_event(call, &event);
    follow_to_the_end(call, handle, (struct gn_request){.kind = (uint8_t)kind}, &trace, NULL);
}

static struct gn_request_trace begin_isend(struct gn_capture_call *call, const struct gn_request *send,
                                           uint64_t number)
{
    struct gn_note note = {.kind = GN_EVENT_MPI_ISEND,
                           .comm = send->at.comm,
                           .peer = (uint32_t)send->at.source,
                           .tag = (uint32_t)send->at.tag,
                           .request = gn_traced_name(call, false),
                           .bytes = call->bytes,
                           .number = number};
    gn_record_note(call, &note);
    return (struct gn_request_trace){.id = note.request, .comm = note.comm};
}

void gn_traced_isend(struct gn_capture_call *call, gn_handle handle, const struct gn_request *send,
                     uint64_t number)
{
    struct gn_request_trace trace = begin_isend(call, send, number);
    follow_to_the_end(call, handle, *send, &trace, NULL);
}

void gn_traced_isend_alone(struct gn_capture_call *call, const struct gn_request *send, uint64_t number)
{
    struct gn_request_trace trace = begin_isend(call, send, number);
    trace_completion(call, GN_SEND, &trace, NULL);
}

void gn_traced_parts_later(struct gn_capture_call *call, gn_handle handle, uint32_t comm,
                           const struct gn_capture_part *parts, uint32_t count)
{
    struct gn_request_trace trace = {.comm = comm, .parts = count};
    if (count > GN_REQUEST_PARTS)
        trace.parts = GN_REQUEST_PARTS;
    if (count > trace.parts)
        gn_traced_lost(call, count - trace.parts);
    if (trace.parts == 0)
        return;
    for (uint32_t i = 0; i < trace.parts; i++) {
        struct gn_event event =
            gn_traced_message(call, GN_EVENT_MPI_IRECV_REQUEST, comm, parts[i].peer, GN_TAG_NEIGHBOUR);
        event.request = gn_traced_name(call, true);
        trace.id = i == 0 ? event.request : trace.id;
        gn_record_event(call, &event);
    }
    follow_to_the_end(call, handle, (struct gn_request){.kind = GN_NEIGHBOURS}, &trace, parts);
}

static bool is_receive(const struct gn_request *request)
{
    return request->kind == GN_RECEIVE || request->kind == GN_PERSISTENT_RECEIVE ||
           request->kind == GN_PARTITIONED_RECEIVE || request->kind == GN_EXCHANGE;
}

static struct gn_event start_of_message(const struct gn_capture_call *call, const struct gn_request *request,
                                        const struct gn_request_trace *trace)
{
    enum gn_event_kind kind = is_receive(request) ? GN_EVENT_MPI_IRECV_REQUEST : GN_EVENT_MPI_ISEND;
    struct gn_event event = gn_traced_message(call, kind, trace->comm, trace->peer, trace->tag);
    event.bytes_sent = is_receive(request) ? 0 : trace->bytes_sent;
    return event;
}

static struct gn_event start_of_collective(const struct gn_capture_call *call,
                                           const struct gn_request_trace *trace)
{
    struct gn_event event =
        gn_event_bare(GN_EVENT_NBC_REQUEST, call->recorder->location_index, call->enter_ticks);
    event.comm = trace->comm;
    event.op = trace->op;
    event.peer = trace->root;
    event.bytes_sent = trace->bytes_sent;
    event.bytes_received = trace->bytes_received;
    return event;
}

void gn_traced_started(struct gn_capture_call *call, const struct gn_request *request,
                       struct gn_request_trace *trace, uint64_t number)
{
    struct gn_event event = request->kind == GN_PERSISTENT_COLLECTIVE
                                ? start_of_collective(call, trace)
                                : start_of_message(call, request, trace);
    event.number = number;
    event.request = trace->id = gn_traced_name(call, false);
    gn_record_event(call, &event);
}

void gn_traced_end_of_request(struct gn_capture_call *call, int32_t position, bool cancelled)
{
    const struct gn_request *request = gn_request_at(position);
    if (!request->traced || !call->traced || !gn_request_trace_at(position)->id)
        return;
    struct gn_request_trace *trace = gn_request_trace_at(position);
    if (is_receive(request) || request->kind == GN_MESSAGE || cancelled || request->cancelling) {
        struct gn_event event = completion(call, GN_EVENT_MPI_REQUEST_CANCELLED, trace);
        gn_record_event(call, &event);
    } else {
        trace_completion(call, request->kind, trace, gn_request_parts_at(position));
    }
    trace->id = 0;
}

/* Its status need not say what arrived. */
static void arrived_as_posted(struct gn_capture_call *call, const struct gn_request *request, uint64_t id,
                              uint64_t number)
{
    gn_record_note(call, &(struct gn_note){.kind = GN_EVENT_MPI_IRECV,
                                           .comm = request->at.comm,
                                           .peer = (uint32_t)request->at.source,
                                           .tag = (uint32_t)request->at.tag,
                                           .request = id,
                                           .bytes = request->bytes,
                                           .number = number});
}

void gn_traced_completed(struct gn_capture_call *call, int32_t position, const void *status, uint64_t number)
{
    const struct gn_request *request = gn_request_at(position);
    struct gn_request_trace *trace = gn_request_trace_at(position);
    int64_t bytes = -1;
    if (!trace->id)
        return;
    if (request->kind == GN_PARTITIONED_RECEIVE ||
        (request->kind == GN_EXCHANGE && !gn_receives_from_anybody(request)))
        arrived_as_posted(call, request, trace->id, number);
    else if (request->kind == GN_EXCHANGE)
        gn_traced_end_of_request(call, position, true);
    else if (gn_status_cancelled(status))
        gn_traced_end_of_request(call, position, true);
    else if (is_receive(request) && gn_status_source(status) >= 0 && (bytes = gn_status_bytes(status)) >= 0)
        gn_traced_arrived(call, trace->id, trace->comm, status, (uint64_t)bytes, number);
    else
        gn_traced_end_of_request(call, position, false);
    trace->id = 0;
}

/* ---- one-sided, files, communicators ---- */

static struct gn_event window_event(const struct gn_capture_call *call, enum gn_event_kind kind,
                                    uint32_t window)
{
    struct gn_event event = gn_event_bare(kind, call->recorder->location_index, call->exit_ticks);
    event.comm = window;
    if (kind == GN_EVENT_RMA_COLLECTIVE_END)
        event.op = call->op;
    return event;
}

static void trace_window(struct gn_capture_call *call, enum gn_event_kind kind, uint32_t window)
{
    struct gn_event event = window_event(call, kind, window);
    gn_record_event(call, &event);
}

static void end_collective(struct gn_capture_call *call, uint64_t number)
{
    struct gn_event event = window_event(call, GN_EVENT_RMA_COLLECTIVE_END, call->number);
    event.number = number;
    gn_record_event(call, &event);
}

void gn_traced_win_begin(struct gn_capture_call *call, uint8_t op, uint32_t window)
{
    call->op = op;
    call->number = window;
    if (call->traced)
        gn_tracer_begin(&call->recorder->tracer, call->enter_ticks,
                        (struct gn_tracer_begun){GN_EVENT_RMA_COLLECTIVE_BEGIN, op, window, GN_NONE});
}

void gn_traced_win_end(struct gn_capture_call *call)
{
    end_collective(call, gn_window_counts_collective(call->number));
}

void gn_traced_fence_end(struct gn_capture_call *call, int result)
{
    end_collective(call, result == 0 ? gn_window_counts_collective(call->number) : GN_UNNUMBERED);
}

void gn_made_fence(gn_handle window)
{
    if (!gn_is_closed() && gn_ring_memory)
        gn_window_counts_collective(gn_window_number(window));
}

uint32_t gn_made_window(unsigned binding, gn_handle comm, const void *window)
{
    if (gn_is_closed() || !gn_ring_memory)
        return GN_NONE;
    const uint32_t number = gn_window_define(gn_win_handle(binding, window, 0), comm);
    gn_window_counts_collective(number);
    return number;
}

void gn_traced_made_window(struct gn_capture_call *call, gn_handle comm, const void *window, int result)
{
    if (result == 0)
        call->number = gn_made_window(call->binding, comm, window);
    end_collective(call, call->number == GN_NONE ? GN_UNNUMBERED : 0);
    if (result == 0)
        trace_window(call, GN_EVENT_RMA_WIN_CREATE, call->number);
}

void gn_traced_window_gone(struct gn_capture_call *call)
{
    trace_window(call, GN_EVENT_RMA_WIN_DESTROY, call->number);
}

void gn_traced_win_sync(struct gn_capture_call *call, gn_handle window)
{
    trace_window(call, GN_EVENT_RMA_SYNC, gn_window_number(window));
}

static void trace_epoch(struct gn_capture_call *call, gn_handle window, struct gn_epoch epoch)
{
    struct gn_event event = window_event(call, GN_EVENT_RMA_SYNC, gn_window_number(window));
    event.tag = epoch.group;
    event.number = epoch.number;
    gn_record_event(call, &event);
}

void gn_traced_epoch(struct gn_capture_call *call, enum gn_epoch_side side, gn_handle group, gn_handle window)
{
    trace_epoch(call, window, gn_window_counts_begin(gn_window_number(window), side, group));
}

void gn_traced_epoch_end(struct gn_capture_call *call, enum gn_epoch_side side, gn_handle window)
{
    trace_epoch(call, window, gn_window_counts_end(gn_window_number(window), side));
}

void gn_made_epoch(enum gn_epoch_side side, gn_handle group, gn_handle window)
{
    if (!gn_is_closed() && gn_ring_memory)
        gn_window_counts_begin(gn_window_number(window), side, group);
}

void gn_traced_rma(struct gn_capture_call *call, enum gn_event_kind kind, int target, gn_handle window,
                   const void *request)
{
    if (target == gn_flavour.proc_null)
        return;
    struct gn_event event =
        gn_traced_message(call, kind, gn_window_number(window), (uint32_t)target, GN_NONE);
    event.bytes_sent = kind == GN_EVENT_RMA_GET ? 0 : call->bytes;
    event.bytes_received = kind == GN_EVENT_RMA_PUT ? 0 : call->bytes;
    if (request)
        gn_traced_request(call, gn_new_request(call, request), GN_ONE_SIDED, &event,
                          (struct gn_request_trace){.comm = event.comm});
    else
        gn_record_event(call, &event);
}

/* Split collectives end with their begin: what their end call does is seen as time only. */
void gn_traced_io(struct gn_capture_call *call, const void *request)
{
    struct gn_event event =
        gn_event_bare(GN_EVENT_IO_BEGIN, call->recorder->location_index, call->enter_ticks);
    event.bytes_sent = call->bytes;
    if (request) {
        gn_traced_request(call, gn_new_request(call, request), GN_FILE, &event,
                          (struct gn_request_trace){.bytes_sent = call->bytes});
        return;
    }
    event.request = gn_traced_name(call, false);
    gn_record_event(call, &event);
    event.kind = GN_EVENT_IO_COMPLETE;
    event.ticks = call->exit_ticks;
    gn_record_event(call, &event);
}

uint32_t gn_made_comm(unsigned binding, gn_handle parent, const void *comm, gn_handle like)
{
    return gn_is_closed() || !gn_ring_memory ? GN_NONE
                                             : gn_comm_define(gn_comm_handle(binding, comm, 0), parent, like);
}

void gn_traced_comm(struct gn_capture_call *call, enum gn_event_kind kind, uint32_t comm)
{
    struct gn_event event = gn_event_bare(kind, call->recorder->location_index, call->exit_ticks);
    event.comm = comm;
    if (comm != GN_NONE)
        gn_record_event(call, &event);
}

void gn_traced_made_comm(struct gn_capture_call *call, gn_handle parent, const void *comm, gn_handle like)
{
    gn_traced_comm(call, GN_EVENT_COMM_CREATE, gn_made_comm(call->binding, parent, comm, like));
}

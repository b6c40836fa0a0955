/*
 * capture/traced — the events that MPI calls write into the trace, besides their enter and leave.
 *
 * Called by the generated wrappers and by capture/classes, only where call->traced says so. Requests get
 * their number here and keep it to their completion; what collectives say of their data is in
 * capture/collectives.c.
 */
#ifndef GNOMON_CAPTURE_TRACED_H
#define GNOMON_CAPTURE_TRACED_H

#include "capture/comms.h"
#include "capture/count_array.h"
#include "capture/recorder.h"
#include "capture/requests.h"
#include "capture/window_counts.h"

/* What the program's arguments say about the data of a collective; what a call does not have is 0 or NULL.
 * Where there is only one count or type, it stands on both sides. */
struct gn_buffers {
    const void *sendbuf, *recvbuf;
    int64_t sendcount, recvcount;
    struct gn_count_array sendcounts, recvcounts;
    gn_handle sendtype, recvtype;
    const void *sendtypes, *recvtypes; /* arrays as the binding has them */
};

enum { GN_NO_ROOT = INT32_MIN };

/* After any collective but those of neighbourhoods, for the profile: the bytes of its own contribution. */
void gn_after_collective(struct gn_capture_call *call, enum gn_collective op, gn_handle comm, int root,
                         const struct gn_buffers *buffers);
/* Ahead of a blocking collective: comm is only looked up in our own table. */
void gn_traced_begin(struct gn_capture_call *call, enum gn_collective op, gn_handle comm, int root);
/* After it. buffers is NULL when it failed, and was one all the same: others may be in it. */
void gn_traced_end(struct gn_capture_call *call, enum gn_collective op, gn_handle comm, int root,
                   const struct gn_buffers *buffers);
/* After the start of a nonblocking one. */
void gn_traced_start(struct gn_capture_call *call, enum gn_collective op, gn_handle comm, int root,
                     const struct gn_buffers *buffers, const void *request);
/* After a neighbourhood collective; request is NULL for a blocking one. */
void gn_traced_neighbours(struct gn_capture_call *call, gn_handle comm, const struct gn_buffers *buffers,
                          const void *request);

/* After a call that made a persistent collective, which is followed from here on; what its class has counted
 * is kept for the starts. gn_made_persistent: of a call that is not recorded. */
void gn_after_collective_init(struct gn_capture_call *call, enum gn_collective op, gn_handle comm, int root,
                              const struct gn_buffers *buffers, const void *request);
void gn_made_persistent(gn_handle comm);

/* What a call made: the new handle stands in *comm or *window. `like` as in capture/comms.h. gn_made_… also
 * for calls that are not recorded; they give the number. */
uint32_t gn_made_comm(unsigned binding, gn_handle parent, const void *comm, gn_handle like);
uint32_t gn_made_window(unsigned binding, gn_handle comm, const void *window);
void gn_traced_made_comm(struct gn_capture_call *call, gn_handle parent, const void *comm, gn_handle like);
/* After the call, whatever its result: the end of the collective, too. */
void gn_traced_made_window(struct gn_capture_call *call, gn_handle comm, const void *window, int result);
void gn_traced_window_gone(struct gn_capture_call *call);

void gn_traced_win_begin(struct gn_capture_call *call, uint8_t op, uint32_t window);
void gn_traced_win_end(struct gn_capture_call *call);
void gn_traced_win_sync(struct gn_capture_call *call, gn_handle window);
/* A fence has ended; result: MPI's. */
void gn_traced_fence_end(struct gn_capture_call *call, int result);
/* An epoch between groups begins, or ends, at a process that accesses others' windows, or is accessed. */
void gn_traced_epoch(struct gn_capture_call *call, enum gn_epoch_side side, gn_handle group,
                     gn_handle window);
void gn_traced_epoch_end(struct gn_capture_call *call, enum gn_epoch_side side, gn_handle window);
/* The same of calls that are not recorded. */
void gn_made_fence(gn_handle window);
void gn_made_epoch(enum gn_epoch_side side, gn_handle group, gn_handle window);
void gn_traced_rma(struct gn_capture_call *call, enum gn_event_kind kind, int target, gn_handle window,
                   const void *request);
void gn_traced_io(struct gn_capture_call *call, const void *request);

/* Name for a request that the next event of this call starts; `alone` as of gn_tracer_next_name. */
uint64_t gn_traced_name(struct gn_capture_call *call, bool alone);
/* Events that are not written. */
void gn_traced_lost(struct gn_capture_call *call, uint32_t events);
/* A request begins: `start` is its event, and gets its id. It is followed to its completion. */
void gn_traced_request(struct gn_capture_call *call, gn_handle handle, enum gn_request_kind kind,
                       const struct gn_event *start, struct gn_request_trace trace);
/* The receives of a neighbourhood collective: posted now, to arrive when the request completes; or arrived
 * now. first_id: of the first one's post, the others follow; 0: not posted before. */
void gn_traced_parts_later(struct gn_capture_call *call, gn_handle handle, uint32_t comm,
                           const struct gn_capture_part *parts, uint32_t count);
void gn_traced_parts(struct gn_capture_call *call, uint32_t comm, const struct gn_capture_part *parts,
                     uint32_t count, uint64_t first_id);

/* An event of a message: what is sent or posted has the time of the call's enter, what has arrived or is
 * complete that of its leave. comm is a number. */
struct gn_event gn_traced_message(const struct gn_capture_call *call, enum gn_event_kind kind, uint32_t comm,
                                  uint32_t peer, uint32_t tag);
/* A nonblocking send, which is followed to its completion. */
void gn_traced_isend(struct gn_capture_call *call, gn_handle handle, const struct gn_request *send,
                     uint64_t number);
/* One whose end nobody sees: complete at once. */
void gn_traced_isend_alone(struct gn_capture_call *call, const struct gn_request *send, uint64_t number);
/* The post of a receive; not written yet. */
struct gn_note gn_traced_posted(int source, int tag, uint32_t comm);
void gn_traced_arrived(struct gn_capture_call *call, uint64_t id, uint32_t comm, const void *status,
                       uint64_t bytes, uint64_t number);

/* A persistent request is started; number: of what it sends. */
void gn_traced_started(struct gn_capture_call *call, const struct gn_request *request,
                       struct gn_request_trace *trace, uint64_t number);
/* A followed request that has a trace is complete. */
void gn_traced_completed(struct gn_capture_call *call, int32_t position, const void *status, uint64_t number);
/* Nothing more will be known of it: it was cancelled or freed, or failed. Of a send that was freed the
 * message goes its way; for the program it is complete. */
void gn_traced_end_of_request(struct gn_capture_call *call, int32_t position, bool cancelled);

/* An event about a communicator, by number; of GN_NONE there is none. */
void gn_traced_comm(struct gn_capture_call *call, enum gn_event_kind kind, uint32_t comm);

#endif

/*
 * capture/counting — what MPI calls tell capture/numbers, recorded or not: counting never stops.
 *
 * A call that gn_enter does not record (switched off, from a callback inside another call, in a thread that
 * found no room) goes the same way through its wrapper with call->recorder NULL: the functions of
 * capture/classes then do what follows requests and counts, and nothing else. Not counted are calls outside
 * of MPI_Init and the end, and those that the MPI library makes itself inside of another one: they lie in its
 * modules, a callback does not.
 *
 *   before the real call   gn_counts_begin      MPI_THREAD_MULTIPLE: it may send or receive there
 *   after it               gn_counted_…         a message, a receive posted, the end of one, a collective
 *                          gn_counts_failed     it failed, and may have done so all the same
 *
 * What cannot be followed ends the counting for good: everything later is unnumbered (gn_counts_give_up). So
 * does a call that was left by a jump, which may or may not have sent or received, and messages that an error
 * handler sends from within a call that is a message itself.
 */
#ifndef GNOMON_CAPTURE_COUNTING_H
#define GNOMON_CAPTURE_COUNTING_H

#include "capture/numbers.h"
#include "capture/recorder.h"
#include "capture/request.h"

/* NULL: nobody would see the numbers. Another thread may end the counting at any time: what a call does goes
 * by one look at it, and the tables stay. */
extern _Atomic(struct gn_number_tables *) gn_numbers;
extern bool gn_counts_threads; /* MPI_THREAD_MULTIPLE */

/* 0 or -1. */
int gn_counts_open(void);
void gn_counts_threaded(void);

/* Begins a call that gn_enter has refused. False: it is not counted, just call through. */
bool gn_enter_unrecorded(struct gn_capture_call *call, uint32_t activity, void *caller, void *frame);

/* A request is cancelled that is not followed: as what it had counted, nobody knows. */
void gn_counts_cancel_unfollowed(void);
/* The communicator's number for counting. */
uint32_t gn_counts_comm(const struct gn_capture_call *call, gn_handle comm);

/* ---- around calls; MPI_PROC_NULL is left out here ---- */

/* Only with gn_counts_threads; call->inside[side] is 0 otherwise. */
void gn_counts_begin(struct gn_capture_call *call, enum gn_number_side side, int peer, int tag,
                     gn_handle comm);
/* It succeeded, and there was no message (MPI_Improbe). */
void gn_counts_none(struct gn_capture_call *call, enum gn_number_side side);
void gn_counts_failed(struct gn_capture_call *call, enum gn_number_side side, int peer, int tag,
                      gn_handle comm);

/* GN_NUMBER_ANY for MPI_ANY_SOURCE, MPI_ANY_TAG. */
int32_t gn_counts_source(int source);
int32_t gn_counts_tag(int tag);

static inline uint64_t gn_counted_send(struct gn_capture_call *call, uint32_t comm, int dest, int tag)
{
    struct gn_number_tables *numbers = GN_GET(gn_numbers);
    return numbers ? gn_number_send(numbers, call->inside[GN_NUMBER_SEND], comm, dest, tag) : GN_UNNUMBERED;
}
/* name: under which a number that comes later is told. */
uint64_t gn_counted_receive(struct gn_capture_call *call, uint32_t comm, const void *status, uint64_t name);

/* ---- receives that are under way ---- */

/* The receive that request->at describes. */
void gn_counted_post(uint32_t inside, struct gn_request *request);
/* Before a persistent request is started, with MPI_THREAD_MULTIPLE; and after it, of a send: its number. */
void gn_counts_begin_start(struct gn_request *request);
uint64_t gn_counted_start(struct gn_request *request);
/* It is complete as its status says. Its number; under `name` it may come later. */
uint64_t gn_counted_complete(struct gn_request *request, const void *status, uint64_t name);
/* … of one whose status need not say anything: as it was posted. */
uint64_t gn_counted_complete_as_posted(struct gn_request *request, uint64_t name);
/* The start of a persistent collective: its number on the communicator that it has for itself. */
uint64_t gn_counted_persistent(const struct gn_request *request);
/* A request ends, and nobody knows how: freed; or it may have failed. */
void gn_counted_freed(struct gn_request *request);
void gn_counted_lost(struct gn_request *request);
/* Before MPI_Cancel. */
void gn_counted_cancel(struct gn_request *request);
/* It will be started, and nobody will see it; or it may have been: its channel is unnumbered from here on. */
void gn_counts_unfollowed(const struct gn_request *request);

/* ---- collectives, communicators ---- */

/* Into call->count. result: of the call. */
void gn_counted_collective(struct gn_capture_call *call, uint32_t comm, int result);
void gn_counted_comm_gone(uint32_t comm);

#endif

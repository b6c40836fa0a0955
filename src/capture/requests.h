/*
 * capture/requests — the requests under way: of a nonblocking receive, source and size are known when it
 * completes; of all, which call completed them.
 *
 * One table for the process, because any thread may complete any request. No lock: 8 keys share a cache line,
 * a look-up reads one line (two when the first was full at insertion), insertion claims a free key by
 * compare-and-swap, removal stores zero.
 *
 * Calls that wait or test look requests up after the library has answered, and only those that it has
 * completed: a call that tests a thousand requests and completes none looks up none. The handle alone tells
 * which request it was, and here lies the difficulty: from the moment in which the library completes a
 * request to our look-up, it may have given the same handle to a request that another thread starts and
 * follows.
 *
 *   free ──follow──► followed ──take (after Wait/Test)──► busy ──drop──► free
 *                       ▲                                   │
 *                       └──────── release (persistent) ─────┘
 *
 *   1. While another thread is in a call that completes requests (gn_requests_completing), a handle that is
 *      followed again gets an entry of its own beside the one that is there: the older one's end may be about
 *      to be looked up. Of several, a call means the newest that was followed before the call began: the
 *      program had its handle by then, and a newer one has got it only after this one was complete.
 *   2. While there is no such thread, an entry under a handle that is given out again is one whose end was
 *      not seen (it ended in a call that is not ours): the new one replaces it, and all others of its handle.
 *      Until then it does no harm, because it is not the newest.
 *
 * For 1 to hold, the mark has to be seen by whoever gets the handle: it is set before the library is called,
 * and the library hands the handle from thread to thread.
 */
#ifndef GNOMON_CAPTURE_REQUESTS_H
#define GNOMON_CAPTURE_REQUESTS_H

#include "capture/recorder.h"
#include "capture/request.h"

/* Takes the table's memory. 0 or -1. */
int gn_requests_open(void);
/* Whether from now on one thread at a time calls MPI (any level but MPI_THREAD_MULTIPLE). */
void gn_requests_serial(bool one_at_a_time);

/* Whether a location is in a call that completes requests: from before the library is called until what it
 * completed was taken. */
void gn_requests_completing(uint32_t location, bool inside);

/*
 * Starts following handle, for location; request->since_ticks says when it was started. trace and parts
 * (GN_REQUEST_PARTS at most) may be NULL. For small sends (and collectives of one rank) both libraries hand
 * out one and the same handle, of a request that is complete: which of them a Wait is for cannot be told.
 * While one of them is followed, the others are not, and over at once.
 */
enum gn_follow_result { GN_NO_ROOM, GN_FOLLOWED, GN_SHARED };
enum gn_follow_result gn_request_follow(uint32_t location, gn_handle handle, const struct gn_request *request,
                                        const struct gn_request_trace *trace,
                                        const struct gn_capture_part *parts);

#define GN_NEWEST UINT64_MAX /* before_ticks: of all */

/* Position of the request of that handle that a call means which began at before_ticks, or -1; gn_request_at
 * gives its record. */
int32_t gn_request_find(gn_handle handle, uint64_t before_ticks);
struct gn_request *gn_request_at(int32_t position);
/* Of a traced one. */
struct gn_request_trace *gn_request_trace_at(int32_t position);
struct gn_capture_part *gn_request_parts_at(int32_t position);

/* A communicator ends: receives from anybody on it can no longer be asked for their peer, and persistent
 * requests on it, by its number, are orphaned. */
void gn_requests_lose_comm(gn_handle comm, uint32_t number);

/* Finds a request and takes it out of others' reach, to drop it or to release it. -1: it is not followed. */
int32_t gn_request_take(gn_handle handle, uint64_t before_ticks);
void gn_request_release(int32_t position, gn_handle handle); /* a persistent one goes on */
void gn_request_drop(int32_t position);                      /* completed or freed */
/* One that was taken goes on under another handle, which it has since then. Its position, or -1: no room, and
 * it is dropped. fortran: of the new handle. */
int32_t gn_request_refile(uint32_t location, int32_t position, gn_handle handle, uint32_t fortran,
                          uint64_t since_ticks);

#endif

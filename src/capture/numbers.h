/*
 * capture/numbers — the number of each message on its channel, and of each collective on its communicator.
 *
 * A message is (communicator, source, destination, tag, n): n counts the sends of the channel in the order in
 * which they were made, and the receives that took a message of it in the order in which they were posted.
 * MPI's matching never overtakes, so the two n are the same message, and each process counts for itself. All
 * n begin with 0.
 *
 * What a receive counts on is known when it has completed, and its number only when all are settled that were
 * posted before it and might have taken a message of its channel. So a receive is told here three times, and
 * its number comes with, or after, its completion:
 *
 *   post ──► complete ──► number, or GN_NUMBER_LATER: a wildcard or a cancel ahead of it is not settled yet;
 *     │                   late() is called with the caller's id as soon as it is
 *     ├────► cancel (before MPI_Cancel) ──► complete or cancelled, as the status says
 *     └────► freed (MPI_Request_free on an active one; one that failed is first cancelled, then freed)
 *
 *   exact receive, nothing unsettled ahead   counts when it is posted (one look-up)
 *   wildcard                                 counts on its channel when it completes, at its place in posting
 * order posted behind a wildcard that may take   waits for it messages of its channel cancelled those behind
 * it on its channel move up by one; who completed between the MPI_Cancel and its outcome waits for the
 * outcome wildcard that is freed or fails          nobody will know what it took: what is posted on the
 * channels that it might have taken from is unnumbered from there on matched probe a receive that is posted
 * and complete at once (gn_number_receive) MPI_PROC_NULL                            is no message: do not
 * call persistent                               each start is a send or a post. Several of one channel in one
 * MPI_Startall count in the order of the array: the standard leaves it open, both libraries do it so
 *
 * Rules for the caller
 *  1. Call for every message, whether the call is recorded or not: counting never stops.
 *  2. A communicator is a number that is never given twice (not the handle). GN_NUMBER_NO_COMM: not known,
 * nothing is numbered. gn_number_comm_gone when it is freed; persistent requests that outlive it are on
 * GN_NUMBER_NO_COMM.
 *  3. On an intercommunicator peers are ranks of the other group, as in the program's arguments: who joins
 * numbers of two processes has to tell its sides apart.
 *  4. Messages of collectives (neighbours) have a negative tag of the caller's: no wildcard takes those.
 *  5. MPI_THREAD_MULTIPLE: gn_number_enter before the real call, with the arguments as they are (handles are
 * not looked at), and its result into send, post, receive, failed, or gn_number_leave when the call had no
 * effect. Two calls that overlap in time and may be on one channel have no order: both get
 * GN_NUMBER_UNORDERED. With 0 in place of enter's result a message is taken to overlap with something. At
 * lower levels: no enter, always 0.
 *
 * Bounded: one mmap at the start. A channel that finds no room takes the place of one that was not used for
 * longest; that one is unnumbered from then on (capture/counts.h says how this is remembered).
 * Single-threaded: no lock. With MPI_THREAD_MULTIPLE one lock for sends and one for receives, held for a
 * look-up.
 */
#ifndef GNOMON_CAPTURE_NUMBERS_H
#define GNOMON_CAPTURE_NUMBERS_H

#include "capture/numbered.h"

#include <stdbool.h>
#include <stdint.h>

struct gn_number_tables;

/* Takes all memory: 15 MB of address space, of which a program of a hundred channels touches 52 KB. NULL: no
 * memory. */
struct gn_number_tables *gn_numbers_open(gn_number_late *late);
void gn_numbers_close(struct gn_number_tables *numbers);
/* The program runs with MPI_THREAD_MULTIPLE; before its first message. */
void gn_numbers_threaded(struct gn_number_tables *numbers);
/* For tests: room for sets * 8 channels a side and 4 * waiting receives that wait, of `waiting` patterns. */
void gn_numbers_narrow(struct gn_number_tables *numbers, uint32_t sets, uint32_t waiting);
uint64_t gn_numbers_unnumbered(const struct gn_number_tables *numbers, enum gn_unnumbered reason);

/* ---- only with MPI_THREAD_MULTIPLE ---- */

/* A call that may send to or receive from peer begins (peer, tag may be GN_NUMBER_ANY for receives). Never 0.
 */
uint32_t gn_number_enter(struct gn_number_tables *numbers, enum gn_number_side side, uint32_t comm,
                         int32_t peer, int32_t tag);
/* It has ended and neither sent nor posted anything (a probe that found nothing, wrong arguments). */
void gn_number_leave(struct gn_number_tables *numbers, enum gn_number_side side, uint32_t inside);

/* ---- after the real call ---- */

/* A message was sent. Its number. */
uint64_t gn_number_send(struct gn_number_tables *numbers, uint32_t inside, uint32_t comm, int32_t dest,
                        int32_t tag);
/* A receive is under way; source and tag as the program named them. */
void gn_number_post(struct gn_number_tables *numbers, uint32_t inside, struct gn_receive *receive,
                    uint32_t comm, int32_t source, int32_t tag);
/* A message was taken by a blocking receive or a matched probe: source and tag as in its status. Its number,
 * or GN_NUMBER_LATER (then id comes back). */
uint64_t gn_number_receive(struct gn_number_tables *numbers, uint32_t inside, uint32_t comm, int32_t source,
                           int32_t tag, uint64_t id, void *context);
/* The call failed and may have sent or taken a message all the same (a truncated one): its channel, or
 * whatever a wildcard might have taken from, is unnumbered from here on. */
void gn_number_failed(struct gn_number_tables *numbers, enum gn_number_side side, uint32_t inside,
                      uint32_t comm, int32_t peer, int32_t tag);
/* A collective begins: its number on the communicator. Before or after the call, the same everywhere. */
uint64_t gn_number_collective(struct gn_number_tables *numbers, uint32_t comm);
/* It failed, and may be one for others all the same: those that follow are unnumbered. */
void gn_number_collective_failed(struct gn_number_tables *numbers, uint32_t comm);
/* A send was cancelled, which the standard has deprecated: its channel is unnumbered from here on, and of
 * what was numbered on it before, all from this one's number on is wrong; say so where the numbers were
 * written. */
void gn_number_send_cancelled(struct gn_number_tables *numbers, uint32_t comm, int32_t dest, int32_t tag);

/* ---- how a posted receive ends: each exactly once ---- */

/* Before MPI_Cancel of it; then one of the others all the same. */
void gn_number_cancel(struct gn_number_tables *numbers, struct gn_receive *receive);
/* It has a message of source and tag (of its status). Its number, or GN_NUMBER_LATER (then id comes back). */
uint64_t gn_number_complete(struct gn_number_tables *numbers, struct gn_receive *receive, int32_t source,
                            int32_t tag, uint64_t id, void *context);
/* It is complete, cancelled (MPI_Test_cancelled): it took nothing. */
void gn_number_cancelled(struct gn_number_tables *numbers, struct gn_receive *receive, void *context);
/* It was freed while active: what a wildcard takes will not be known, an exact one takes its message. After
 * gn_number_cancel: nor whether it took anything. */
void gn_number_freed(struct gn_number_tables *numbers, struct gn_receive *receive, void *context);

/* One was cancelled of which nobody knows which: none that has not ended yet has a number. */
void gn_number_void(struct gn_number_tables *numbers);

/* A communicator is freed; its number never comes back. Receives on it that wait for others stay unnumbered.
 */
void gn_number_comm_gone(struct gn_number_tables *numbers, uint32_t comm, void *context);

#endif

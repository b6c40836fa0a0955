/*
 * event/event — the vocabulary of everything that is measured: one event.
 *
 * Read this page first. A program's execution is, for each location (a thread of a rank), a sequence of
 * events in the order in which they happened there. Sources (the capture's ring, an OTF2 archive, the
 * generator) produce them, consumers (the sort, a writer, an analysis) take them, and no consumer knows the
 * source: see event/stream.h. What the numbers in an event refer to is in event/definitions.h.
 *
 *   source ──pull, per location──► order/ (causal order) ──push──► consumer
 *
 * Kinds are those of OTF2, in OTF2's words. An MPI call is an enter, the records of what it communicated, and
 * a leave:
 *
 *   MPI_Send    enter  mpi_send                                     leave
 *   MPI_Recv    enter  mpi_recv                                     leave
 *   MPI_Isend   enter  mpi_isend(request)                           leave … mpi_isend_complete(request)
 *   MPI_Irecv   enter  mpi_irecv_request(request)                   leave … mpi_irecv(request, message)
 *   MPI_Bcast   enter  collective_begin           collective_end    leave
 *   MPI_Ibcast  enter  nbc_request(request)                         leave … nbc_complete(request)
 *
 * Each start of a partitioned request is one message, MPI_Isend's or MPI_Irecv's. A neighbourhood collective
 * is the messages it consists of, with the tag GN_TAG_NEIGHBOUR. The message events of a call lie between its
 * enter and its leave; a completion lies inside of the Wait or Test that found it, or of the call that
 * started it where that was over at once. Bytes of a collective are those of this rank's buffers, each
 * counted once.
 */
#ifndef GNOMON_EVENT_EVENT_H
#define GNOMON_EVENT_EVENT_H

#include "event/collective.h"

#include <stdint.h>

/* X(KIND, name): the names are what `gnomon order --to jsonl` prints and --when compares with. */
#define GN_EVENT_KINDS(X)                                                                                    \
    X(ENTER, enter) /* region, path; of a row of calls that found nothing: request: how many, bytes_sent:    \
                       ticks inside of them; 0 of any other */                                               \
    X(LEAVE, leave) /* region, path */                                                                       \
    X(MPI_SEND, mpi_send)                           /* comm, peer = receiver, tag, bytes_sent */             \
    X(MPI_ISEND, mpi_isend)                         /* the same, and request */                              \
    X(MPI_ISEND_COMPLETE, mpi_isend_complete)       /* request */                                            \
    X(MPI_IRECV_REQUEST, mpi_irecv_request)         /* request; comm, peer, tag as posted, where known */    \
    X(MPI_RECV, mpi_recv)                           /* comm, peer = sender, tag, bytes_received */           \
    X(MPI_IRECV, mpi_irecv)                         /* the same, and request */                              \
    X(MPI_REQUEST_TEST, mpi_request_test)           /* request: tested, not complete */                      \
    X(MPI_REQUEST_CANCELLED, mpi_request_cancelled) /* request */                                            \
    X(COLLECTIVE_BEGIN, collective_begin)           /* op, comm, root, bytes where known */                  \
    X(COLLECTIVE_END, collective_end)               /* op, comm, root, bytes */                              \
    X(NBC_REQUEST, nbc_request)                     /* request; op, comm, root where known */                \
    X(NBC_COMPLETE, nbc_complete)                   /* request, op, comm, root, bytes */                     \
    X(COMM_CREATE, comm_create)                     /* comm */                                               \
    X(COMM_DESTROY, comm_destroy)                   /* comm */                                               \
    X(RMA_WIN_CREATE, rma_win_create)               /* window in comm */                                     \
    X(RMA_WIN_DESTROY, rma_win_destroy)             /* window in comm */                                     \
    X(RMA_COLLECTIVE_BEGIN, rma_collective_begin)   /* op, window in comm, root, where known */              \
    X(RMA_COLLECTIVE_END, rma_collective_end)       /* op, window in comm, root, bytes */                    \
    X(RMA_PUT, rma_put)                             /* window in comm, peer = target, bytes_sent, request */ \
    X(RMA_GET, rma_get)           /* window in comm, peer = target, bytes_received, request */               \
    X(RMA_ATOMIC, rma_atomic)     /* window in comm, peer = target, both bytes, request */                   \
    X(RMA_COMPLETE, rma_complete) /* window in comm, request: an operation is complete */                    \
    X(RMA_SYNC, rma_sync)         /* window in comm: any other synchronisation, lock, unlock; tag: of post,  \
                                     start, complete, wait a communicator of their group, where known */     \
    X(IO_BEGIN, io_begin)         /* bytes, request */                                                       \
    X(IO_COMPLETE, io_complete)   /* bytes, request */                                                       \
    X(THREAD_FORK, thread_fork)                                                                              \
    X(THREAD_JOIN, thread_join)                                                                              \
    X(THREAD_BEGIN, thread_begin) /* comm: of its team (OpenMP); GN_NONE: a thread that was created alone,   \
                                     request: its number, 0: it has none */                                  \
    X(THREAD_END, thread_end)     /* the same */                                                             \
    X(REGION_BEGIN, region_begin) /* region: a name the user gave a part of the program; path */             \
    X(REGION_END, region_end)     /* region, path */                                                         \
    X(MEASUREMENT, measurement)   /* request 0: off from here, 1: on again */                                \
    X(PROGRAM_BEGIN, program_begin)                                                                          \
    X(PROGRAM_END, program_end)                                                                              \
    X(LOST, lost)     /* request = how many events of this location are missing here */                      \
    X(NUMBER, number) /* of a message received before: request: its number_name, number. Only in archives */ \
    X(THREAD_CREATE, thread_create) /* request: the number of the thread that is made */                     \
    X(THREAD_WAIT, thread_wait)     /* the same: it has ended, and was waited for */                         \
    X(LOCK_ACQUIRE, lock_acquire)   /* request: the lock, of its process's threads, in the upper 32 bits,    \
                                       which acquisition of it this is in the lower ones */                  \
    X(LOCK_RELEASE, lock_release)   /* the same, of what it was acquired by */                               \
    X(OWN_WORK, own_work)           /* gnomon's own, around the call left before it: request: ticks just     \
                                       before it, bytes_sent: just behind it. Only of some calls */

enum gn_event_kind {
#define X(KIND, name) GN_EVENT_##KIND,
    GN_EVENT_KINDS(X)
#undef X
        GN_EVENT_KIND_COUNT
};

#define GN_NONE UINT32_MAX           /* no region, path, comm, peer, root, … */
#define GN_ANY (UINT32_MAX - 1)      /* peer or tag of a posted receive: MPI_ANY_SOURCE, MPI_ANY_TAG */
#define GN_TAG_NEIGHBOUR 0x7ffffff0u /* tag of the messages of neighbourhood collectives */
#define GN_TAG_PARTITIONED                                                                                   \
    0x40000000u /* tags from here on: pairs of partitioned requests (capture/partitioned.h) */

/* The number of a message on its channel, of a collective on its communicator or window, or of an epoch on
 * its window, where the source tells it (capture/numbers.h and window_counts.h say what it counts). */
#define GN_UNNUMBERED UINT64_MAX         /* not known, and never will be */
#define GN_NUMBER_LATER (UINT64_MAX - 1) /* a `number` event brings it, under the name in `request` */
/* A flag: this message and others of the numbers beside it that have the flag, too, may have changed places.
 * Compare with the two above first: they have all bits. */
#define GN_NUMBER_UNORDERED (UINT64_C(1) << 63)

/* One event; a cache line. Fields that a kind does not have are 0 (numbers) or GN_NONE (references); see the
 * table above for those it has. */
struct gn_event {
    uint64_t ticks;    /* raw reading of the clock of the location's clock domain */
    uint32_t location; /* index of a definition, like region, path and comm */
    uint16_t kind;     /* enum gn_event_kind */
    uint8_t op;        /* enum gn_collective */
    uint8_t reserved;
    union {
        struct {
            uint32_t region;
            uint32_t path; /* calling context */
        };
        uint64_t number; /* gn_event_has_number says of which kinds; GN_UNNUMBERED is GN_NONE twice */
    };
    uint32_t comm; /* communicator; of RMA events the window */
    uint32_t peer; /* rank in comm: the other end of a message, the root of a collective, the target */
    uint32_t tag;
    uint32_t record; /* which record of the location's event file it is, from 1 (low 32 bits), counting those
                        that are no events here, too; 0: it does not come from a file */
    uint64_t
        request; /* identifies a request from its start to its completion, within the location's process */
    uint64_t bytes_sent;
    uint64_t bytes_received;
};

_Static_assert(sizeof(struct gn_event) == 64, "an event is a cache line");

/* Name of a kind, in the table's spelling; "unknown" for a number that is none. */
const char *gn_event_name(unsigned kind);
/* Begins of collectives, which may not know their bytes. */
static inline int gn_event_begins(unsigned kind)
{
    return kind == GN_EVENT_COLLECTIVE_BEGIN || kind == GN_EVENT_NBC_REQUEST ||
           kind == GN_EVENT_RMA_COLLECTIVE_BEGIN;
}

/* Messages sent and received, and collectives; of nonblocking ones their starts; epochs of windows. */
static inline int gn_event_has_number(unsigned kind)
{
    return kind == GN_EVENT_MPI_SEND || kind == GN_EVENT_MPI_ISEND || kind == GN_EVENT_MPI_RECV ||
           kind == GN_EVENT_MPI_IRECV || kind == GN_EVENT_COLLECTIVE_END || kind == GN_EVENT_NBC_REQUEST ||
           kind == GN_EVENT_RMA_COLLECTIVE_END || kind == GN_EVENT_RMA_SYNC || kind == GN_EVENT_NUMBER;
}

/* An event with nothing in it but its kind, place and time: references are GN_NONE, bytes of begins unknown.
 */
static inline struct gn_event gn_event_bare(enum gn_event_kind kind, uint32_t location, uint64_t ticks)
{
    const uint64_t bytes = gn_event_begins(kind) ? GN_BYTES_UNKNOWN : 0;
    return (struct gn_event){.ticks = ticks,
                             .location = location,
                             .kind = (uint16_t)kind,
                             .op = GN_COLLECTIVE_UNKNOWN,
                             .region = GN_NONE,
                             .path = GN_NONE,
                             .comm = GN_NONE,
                             .peer = GN_NONE,
                             .tag = GN_NONE,
                             .bytes_sent = bytes,
                             .bytes_received = bytes};
}

#endif

/*
 * capture/requests — the requests whose completion tells something: nonblocking receives (source and size are
 * known then), persistent ones, and when the run is traced all others too.
 *
 * One table for the process, because any thread may complete any request. No lock: 8 keys share a cache line,
 * a look-up reads one line (two when the first was full at insertion), insertion claims a free key by
 * compare-and-swap, removal stores zero. While a completion call holds a request, its key is "busy": the MPI
 * library may give the same handle out again inside the call, and that one is a new request.
 *
 *   free ──follow──► followed ──hold (before Wait/Test)──► busy ──done──► free (persistent: followed)
 *                        ▲                                   └─not yet──► followed
 *                        └───────────────────────────────────────┘
 */
#ifndef GNOMON_CAPTURE_REQUESTS_H
#define GNOMON_CAPTURE_REQUESTS_H

#include "capture/recorder.h"

/* The first three are always followed, the others when the run is traced. */
enum gn_request_kind {
    GN_RECEIVE,
    GN_PERSISTENT_RECEIVE,
    GN_PERSISTENT_SEND,
    GN_SEND,
    GN_COLLECTIVE,
    GN_NEIGHBOURS, /* a neighbourhood collective */
    GN_ONE_SIDED,
    GN_FILE,
    GN_MESSAGE, /* matched by a probe and not yet received; its handle is an MPI_Message */
};

struct gn_request {
    struct gn_recorder *recorder; /* who posted it */
    gn_handle comm;               /* receive from anybody: to ask who it was; 0 when that is gone */
    uint64_t bytes;               /* persistent send: per start */
    uint32_t node;                /* of the posting call */
    uint32_t peer;                /* rank in MPI_COMM_WORLD of the named source or the destination */
    uint8_t kind;                 /* enum gn_request_kind */
    uint8_t active;               /* persistent: started and not completed */
    uint8_t to_null;              /* persistent: the peer is MPI_PROC_NULL */
    uint8_t peer_known;
    uint8_t traced; /* it has a gn_request_trace */
};

/* What the events about a request have in common. */
struct gn_request_trace {
    uint64_t id; /* 0: a persistent one that is not active */
    uint64_t bytes_sent, bytes_received;
    uint32_t comm; /* number, or a window's */
    uint32_t peer, tag;
    uint32_t root;
    uint32_t parts; /* messages that a neighbourhood collective receives */
    uint8_t op;
};

enum { GN_REQUEST_PARTS = 32 };

/* Takes the table's memory. 0 or -1. */
int gn_requests_open(bool traced);

/* Starts following handle. trace and parts (GN_REQUEST_PARTS at most) may be NULL. False when there is no
 * room.
 */
bool gn_request_follow(gn_handle handle, const struct gn_request *request,
                       const struct gn_request_trace *trace, const struct gn_part *parts);

/* Position of a followed request, or -1; gn_request_at gives its record. */
int32_t gn_request_find(gn_handle handle);
struct gn_request *gn_request_at(int32_t position);
/* Of a traced one. */
struct gn_request_trace *gn_request_trace_at(int32_t position);
struct gn_part *gn_request_parts_at(int32_t position);

/* A communicator ends: receives from anybody on it can no longer be asked for their peer. */
void gn_requests_lose_comm(gn_handle comm);

/* False: another thread holds or has completed it. Where the library gives several requests one handle, both
 * may have found it. */
bool gn_request_hold(int32_t position, gn_handle handle);
void gn_request_release(int32_t position, gn_handle handle); /* not completed, or persistent */
void gn_request_drop(int32_t position);                      /* completed or freed */

#endif

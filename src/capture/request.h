/* capture/request — what is remembered of one request from its start to its completion (capture/requests). */
#ifndef GNOMON_CAPTURE_REQUEST_H
#define GNOMON_CAPTURE_REQUEST_H

#include "capture/handle.h"
#include "capture/numbered.h"

#include <stdbool.h>
#include <stdint.h>

struct gn_recorder;

enum gn_request_kind {
    GN_RECEIVE,
    GN_PERSISTENT_RECEIVE,
    GN_PERSISTENT_SEND,
    GN_PARTITIONED_RECEIVE,
    GN_EXCHANGE, /* the receive of an MPI_Isendrecv; MPICH 4.0 does not fill its status */
    GN_PERSISTENT_COLLECTIVE,
    GN_SEND,
    GN_COLLECTIVE,
    GN_NEIGHBOURS, /* a neighbourhood collective */
    GN_ONE_SIDED,
    GN_FILE,
    GN_MESSAGE, /* matched by a probe and not yet received; its handle is an MPI_Message */
};

/* Whether capture/numbers has to be told how a receive ends. */
enum gn_request_counting {
    GN_NOT_COUNTED,
    GN_POSTED,
    GN_MATCHED,       /* not any more: at.number is its number, from the probe */
    GN_NEVER_COUNTED, /* a partitioned one whose channel cannot be told */
};

struct gn_request {
    struct gn_recorder *recorder; /* who posted it; NULL: it was not recorded */
    uint64_t since_ticks;         /* the call that made it returned */
    /* … and of the one that started it, which for a persistent one is another */
    struct gn_recorder *starter;
    uint64_t start_ticks;
    uint32_t start_node;
    gn_handle comm;  /* receive from anybody: to ask who it was; 0 when that is gone */
    uint64_t bytes;  /* persistent: per start */
    uint32_t node;   /* of the posting call */
    uint32_t peer;   /* rank in MPI_COMM_WORLD of the named source or the destination */
    uint8_t kind;    /* enum gn_request_kind */
    uint8_t active;  /* persistent: started and not completed */
    uint8_t to_null; /* persistent: the peer is MPI_PROC_NULL */
    uint8_t peer_known;
    uint8_t contributes; /* persistent collective: bytes of this rank count at each start */
    uint8_t traced;      /* it has a gn_request_trace */
    uint8_t counting;    /* enum gn_request_counting */
    uint8_t cancelling;
    uint8_t orphaned; /* its communicator is gone */
    uint32_t fortran; /* its number in Fortran plus 1, where that is not the handle; 0: none was given */
    uint32_t inside;  /* persistent: gn_number_enter's, while it is started */
    /* Up to GN_SEND: its communicator by number, peer and tag as the program named them; and how it counts */
    struct gn_receive at;
};

static inline bool gn_request_is_persistent(const struct gn_request *request)
{
    return request->kind == GN_PERSISTENT_RECEIVE || request->kind == GN_PERSISTENT_SEND ||
           request->kind == GN_PARTITIONED_RECEIVE || request->kind == GN_PERSISTENT_COLLECTIVE;
}
/* Whether each start of it is a message that has a number. */
static inline bool gn_request_counts(const struct gn_request *request)
{
    return gn_request_is_persistent(request) && request->kind != GN_PERSISTENT_COLLECTIVE &&
           request->counting != GN_NEVER_COUNTED;
}
static inline bool gn_receives_from_anybody(const struct gn_request *request)
{
    return request->at.source == GN_NUMBER_ANY || request->at.tag == GN_NUMBER_ANY;
}

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

#endif

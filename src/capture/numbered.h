/* capture/numbered — the words of capture/numbers: sides, wildcards, receives under way, and why something
 * has no number. */
#ifndef GNOMON_CAPTURE_NUMBERED_H
#define GNOMON_CAPTURE_NUMBERED_H

#include "event/event.h" /* GN_UNNUMBERED, GN_NUMBER_LATER (late() will be called), GN_NUMBER_UNORDERED */

#include <stdint.h>

enum { GN_NUMBER_ANY = INT32_MIN }; /* MPI_ANY_SOURCE, MPI_ANY_TAG */
#define GN_NUMBER_NO_COMM UINT32_MAX

enum gn_number_side { GN_NUMBER_SEND, GN_NUMBER_RECEIVE };

/* A receive under way, in the record of its request: 24 bytes, may be moved, owns nothing. */
struct gn_receive {
    uint64_t number; /* or a place among those that wait */
    uint32_t epoch;
    uint32_t comm;
    int32_t source, tag;
};

/* Why something has no number; counted since the start. */
enum gn_unnumbered {
    GN_UNNUMBERED_COMM,    /* GN_NUMBER_NO_COMM, or freed while the receive waited */
    GN_UNNUMBERED_ROOM,    /* the channel was evicted, or there was no room to wait */
    GN_UNNUMBERED_FAILED,  /* after a call of the channel that failed, or was cancelled without an outcome */
    GN_UNNUMBERED_FREED,   /* behind a wildcard that was freed or failed */
    GN_UNNUMBERED_OVERLAP, /* GN_NUMBER_UNORDERED: calls of several threads at the same time */
    GN_UNNUMBERED_REASONS
};

/* The number of an earlier completion: the id that was given with it, and GN_UNNUMBERED or its number. Called
 * inside of those functions that have a context, on the calling thread, which may hold a lock: do not call
 * gn_number_….
 */
typedef void gn_number_late(void *context, uint64_t id, uint64_t number);

#endif

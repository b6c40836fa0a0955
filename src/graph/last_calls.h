/*
 * graph/last_calls — how a process ended that did not end well, and what each of its threads did last.
 *
 * agent/last_calls takes it out of the process's recorder, gn_graph_add_process keeps it, gn_summarise tells
 * it. A process that returned from MPI_Finalize has none: what is kept of a run does not grow with its
 * length.
 */
#ifndef GNOMON_GRAPH_LAST_CALLS_H
#define GNOMON_GRAPH_LAST_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GN_LAST_CALLS = 8, /* of each thread */
    GN_LAST_COMM_BYTES = 48
};

/* Peers, tags and roots that are none; the first two as in the tables. */
enum { GN_LAST_OUTSIDE = -1, GN_LAST_ANY = -2, GN_LAST_UNKNOWN = -3 };

/* What a call sent, or received. */
struct gn_last_side {
    int64_t messages; /* 0, with a peer: of a receive that is posted, what it asks for */
    int64_t peer;     /* rank in MPI_COMM_WORLD; GN_LAST_UNKNOWN: none, or several different ones */
    int64_t tag;      /* likewise */
    int64_t bytes;    /* of a collective: this rank's buffers */
};

struct gn_last_call {
    uint32_t thread;
    uint32_t activity, path; /* enum gn_call_id; index into the TAG's frames[] */
    bool open;               /* it had not returned */
    uint64_t enter_ticks, leave_ticks;
    int64_t calls; /* 1; of a row of calls that found nothing: how many */
    struct gn_last_side sent, received;
    int64_t completed; /* requests that it found complete */
    int64_t root;      /* rank in MPI_COMM_WORLD */
    char comm[GN_LAST_COMM_BYTES];
};

struct gn_last_calls {
    /* It ended between these two readings of the counter that its host's agent reads. 0, 0: it runs. */
    uint64_t after_ticks, before_ticks;
    size_t count;
    struct gn_last_call *calls; /* by thread, and in their order */
};

#endif

/*
 * profile/last_calls — how a process ended that did not end well, and what each of its threads did last.
 *
 * live/last_calls takes it out of the process's recorder, gn_profile_add keeps it (tables ending and
 * last_call of docs/profile-format.md), gn_summarise tells it. A process that returned from MPI_Finalize has
 * none: what is kept of a run does not grow with its length.
 */
#ifndef GNOMON_PROFILE_LAST_CALLS_H
#define GNOMON_PROFILE_LAST_CALLS_H

#include "base/error.h"

#include <sqlite3.h>
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
    uint32_t activity, path; /* enum gn_call; index into the TAG's frames[] */
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

/* What it takes to find the rows that a process's numbers stand for. */
struct gn_last_calls_place {
    int64_t process;
    const int64_t *callpaths; /* rows by index in frames[] */
    uint32_t callpath_count;
    uint64_t start_ticks; /* of the process */
    double tick_ns;
};

int gn_profile_add_last_calls(sqlite3 *db, const struct gn_last_calls *last,
                              const struct gn_last_calls_place *place, struct gn_error *err);

/* ---- told again ---- */

struct gn_last_call_row {
    int thread;
    char *name, *function, *file; /* of the call's place; function and file NULL: not known */
    int line;
    bool open;
    int64_t enter_ns;      /* since the process began */
    int64_t before_end_ns; /* from its enter to its process's end */
    int64_t length_ns;
    int64_t calls, completed, root;
    struct gn_last_side sent, received;
    char *comm; /* NULL: none */
};

struct gn_ending {
    bool known;
    int64_t lo_ns, hi_ns; /* on the run's time line */
    bool first;           /* nobody is known to have ended before it */
    /* How long after the first one. */
    int64_t later_lo_ns, later_hi_ns;
};

struct gn_summary;

/* Fills endings and last calls of the troubles, and sorts them: who called MPI_Abort, then as they ended; of
 * those that ended together, what happened by itself ahead of what was done to others. */
void gn_summarise_endings(sqlite3 *db, struct gn_summary *summary);
struct gn_trouble_row;
void gn_summary_clear_calls(struct gn_trouble_row *trouble);

#endif

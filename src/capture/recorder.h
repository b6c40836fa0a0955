/*
 * capture/recorder — writes one location's task activity graph while its thread runs.
 *
 * What happens at an MPI call (the hot path; no lock, no allocation, no system call):
 *
 *   gn_enter   call path → node (capture/paths), publish "inside node", read the clock
 *   real call
 *   gn_leave   edge from the previous node, node statistics, publish "outside"
 *
 * The clock is read last before and first after the real call: our own work falls into the edges (the
 * computation), where its cost is known and subtracted in compensated times; the nodes (MPI) are clean.
 *
 * All memory is taken with mmap when a thread makes its first call; when a table is full, the overflow node
 * and edge take over and a counter says so. Nothing here touches the program's malloc.
 */
#ifndef GNOMON_CAPTURE_RECORDER_H
#define GNOMON_CAPTURE_RECORDER_H

#include "capture/delay.h"
#include "capture/handle.h"
#include "capture/paths.h"
#include "capture/tracer.h"
#include "clock/ticks.h"
#include "image/tag.h"

#include <stdbool.h>

enum {
    GN_MAX_REGION_DEPTH = 64,
    GN_TYPE_CACHE = 64,
    GN_RANK_CACHE = 512,
    GN_COMM_CACHE = 16,
    GN_MAX_NEIGHBOURS = 1024
};

struct gn_recorder;

/* One MPI call under way; lives on the wrapper's stack. */
struct gn_capture_call {
    struct gn_recorder *recorder; /* NULL: it is not recorded, only counted (capture/counting) */
    uint64_t begin_ticks;         /* wrapper entered; only when sampled or exact */
    uint64_t enter_ticks;         /* just before the real call */
    uint64_t exit_ticks;          /* just after it; the wrapper sets it */
    uint64_t bytes;               /* filled by the class of the call */
    uint32_t messages;
    uint32_t node;
    bool sampled;
    bool exact;      /* timed from begin_ticks on, and its cost booked as it was */
    uint8_t binding; /* enum gn_binding of the entry point */
    bool traced;     /* there is a ring to write in */
    bool idle;       /* it tested, and found nothing */
    uint8_t op;      /* enum gn_collective, of a window's call */
    /* for the classes that follow requests: see requests.h */
    uint32_t list_count;          /* 0: it completes no requests */
    uint32_t fortran;             /* of the request that it has started: struct gn_request */
    void *requests;               /* the caller's array */
    struct gn_request_list *list; /* what that was */
    /* for capture/counting */
    uint32_t inside[2]; /* by enum gn_number_side */
    uint64_t count;     /* the number of the collective, or of the message that a matched probe found */
    uint32_t depth;     /* not recorded: how many of these it is nested in */
    /* for the trace */
    uint64_t id;              /* of the message that a matched probe found */
    uint32_t number;          /* of a communicator or window that the call is about */
    uint32_t collective_comm; /* number of the one whose members take part in it */
    long long own_status[8];  /* stands in for MPI_STATUS_IGNORE */
};

/* The gate is closed before MPI_Init, after the end, and in every child process: it lies in a page that
 * the kernel wipes on fork. */
struct gn_gate {
    gn_shared32 open;
};
extern struct gn_gate *gn_gate;

static inline bool gn_is_closed(void)
{
    return __builtin_expect(!GN_GET(gn_gate->open), 0);
}

/* The process's segment; NULL while there is none. */
extern struct gn_tag *gn_segment;

/* Opens recording into `segment` (mapped, taken from the agent); the calling thread becomes location 0, with
 * its graph starting at start_ticks. Returns 0, or -ENOMEM with nothing changed. */
int gn_recorder_open(struct gn_tag *segment, uint64_t start_ticks);
void gn_recorder_close(void);

/* From here on the calling thread's calls cost more (capture/delay.h), if it says so. */
void gn_recorder_delay(const char *spec, int rank);

/* Begins a call of activity `call` (enum gn_call_id) made from return address `caller`, with the frame
 * address of the wrapper. False: not recorded, just call through (before MPI_Init, nested, switched off, no
 * room). */
bool gn_enter(struct gn_capture_call *call, uint32_t activity, void *caller, void *frame);
/* Ends it. result is the call's return code; 0 is success. */
void gn_leave(struct gn_capture_call *call, int result);

/* The calling thread's recorder; NULL: it has none yet, or found no room. */
struct gn_recorder *gn_recorder_here(void);

/* Whether the return address of a call is still where it was put; true where that cannot be known. */
bool gn_return_address_stands(struct gn_registers at);

/* What gn_leave does for a call that is not recorded. In counting.c. */
void gn_leave_unrecorded(struct gn_capture_call *call, int result);
/* From now on nothing is numbered. In counting.c. */
void gn_counts_give_up(void);
/* A call is made there: whether the thread's unrecorded calls under way were left by a jump. In
 * counting.c. */
void gn_counts_notice_jump(struct gn_registers at);
/* Writes the numbers that were found out late. */
void gn_tell_late(struct gn_recorder *recorder);

/* Ends a completion call with that result. In classes.c; called by gn_leave. */
void gn_settle_requests(struct gn_capture_call *call, int result);
/* Requests in the list of a call that was left by a jump are followed no more. In classes.c. */
void gn_drop_kept(struct gn_recorder *recorder);

/* Adds messages to or from `peer` (rank in MPI_COMM_WORLD or GN_PEER_OUTSIDE) at a node of this location. */
void gn_record_sent(struct gn_recorder *recorder, uint32_t node, uint32_t peer, uint64_t bytes);
void gn_record_received(struct gn_recorder *recorder, uint32_t node, uint32_t peer, uint64_t bytes);
/* A request that a call at node `from` of this location (0: of another one) started is complete at `to`: so
 * long after that call was left, and as long ahead of this one. */
void gn_record_completion(struct gn_recorder *recorder, uint32_t from, uint32_t to, uint64_t ticks,
                          uint64_t ahead_ticks);
/* Adds a size to a node outside of its own call (a nonblocking receive that completed). */
void gn_record_size(struct gn_recorder *recorder, uint32_t node, uint64_t bytes);

/* Arguments of a call that says whom it is about, as its binding has them: what an error is told with. */
struct gn_capture_asked {
    uint64_t enter_ticks; /* of that call */
    gn_handle comm;
    int32_t peer, tag;
    uint8_t asks, binding;
};

/* The call that the calling thread is in, and what it asked of whom. */
struct gn_open_call {
    uint32_t location;
    uint64_t enter_ticks;
    const struct gn_capture_asked *asked; /* NULL: of nobody */
};
/* False: it is in none that is recorded. */
bool gn_record_open_call(struct gn_open_call *open);

/* The calling thread's last `ticks` were our own work, not the program's. */
void gn_record_own_work(uint64_t ticks);

/* Control activities. */
/* entered_ticks: when our own work for it began; 0: now; later_ticks: how much longer it goes on. False: it
 * is not recorded: within a call of MPI, or there is no room. */
bool gn_record_region(const char *name, bool begin, void *caller, void *frame, uint64_t entered_ticks,
                      uint64_t later_ticks);
void gn_record_switch(bool on, void *caller, void *frame);
void gn_record_end(uint64_t ticks);

/* Threads made by the program, by number (capture/threads.c). Whether the calling thread's are recorded now.
 */
bool gn_record_threads(void);
/* It has created one, or waited for its end (thread_create, thread_wait). */
void gn_record_thread(enum gn_event_kind kind, uint64_t ticks, uint32_t number);
/* It is one, and begins here. */
void gn_record_thread_began(uint32_t number);

/* Something that the call under way did. */
static inline void gn_record_event(struct gn_capture_call *call, const struct gn_event *event);
/* Cores that do not share their counter may make a call end before it began. */
static inline struct gn_call_span gn_span_of(const struct gn_capture_call *call)
{
    uint64_t exit_ticks = call->exit_ticks > call->enter_ticks ? call->exit_ticks : call->enter_ticks;
    return (struct gn_call_span){call->enter_ticks, exit_ticks, call->node};
}

/* Counts in the location of this call. */
#define GN_LOST(recorder, what) GN_ADD((recorder)->location->lost_##what, 1)

/* Small direct-mapped caches of facts that would cost a call into MPI; `era` of the cache is compared with
 * gn_era, which moves on when a handle is freed and may be given out again. */
extern gn_shared32 gn_era;

struct gn_type_entry {
    gn_handle type;
    uint64_t size;
};
struct gn_rank_entry {
    gn_handle comm;
    int32_t rank;
    uint32_t world;
};

struct gn_comm_entry {
    gn_handle comm; /* 0: none */
    uint32_t number;
    int rank;   /* own; -1: the library was not asked yet */
    bool inter; /* likewise */
};

/* Neighbours in a process topology: ranks, MPI_PROC_NULL among them. */
struct gn_neighbours {
    bool pairs; /* a grid: what goes to out[2 d] arrives from in[2 d + 1] and the other way round */
    int in_count, out_count;
    int in[GN_MAX_NEIGHBOURS], out[GN_MAX_NEIGHBOURS];
    int weights[GN_MAX_NEIGHBOURS]; /* MPI insists on telling them */
};
/* A message of a neighbourhood collective. */
struct gn_capture_part {
    uint32_t peer;
    uint64_t bytes;
};

/* Working space for a call's list of requests, mapped at first need and grown. */
struct gn_request_list {
    uint32_t capacity;
    uint64_t before_ticks; /* when that call began */
    uint32_t kept;         /* length of the list of the call under way */
    gn_handle *handles;    /* that list, as gn_requests_copy has it */
    char *statuses;
    struct gn_request_list *next; /* among those that are spare */
};

/* A number that was not known when its message was received, and that message's name. */
struct gn_capture_late {
    uint64_t name, number;
};
enum { GN_MOST_LATE = 16384 }; /* what one call can find out; of more it stays unknown */

struct gn_recorder {
    struct gn_location *location;
    struct gn_tracer tracer;
    uint32_t location_index;
    uint32_t previous_node;
    uint64_t previous_exit_ticks;
    uint32_t last_edge;
    uint32_t countdown;       /* events until the next sampled one */
    uint64_t smallest_sample; /* ticks; 0: none yet */
    uint64_t owed_ticks;      /* cost after the last call, known exactly; lies in the next edge */
    bool inside;
    bool off;
    uint32_t late_count;
    struct gn_capture_asked asked;
    struct gn_registers inside_from; /* where that call was made */
    uint32_t walk_end;               /* of the last walk: of that call's */
    uint32_t off_node;
    uint32_t region_depth;
    uint32_t regions_beyond; /* begun deeper than the stack keeps */
    struct {
        uint32_t name, path;
        uint64_t begin_ticks;
    } regions[GN_MAX_REGION_DEPTH];
    uint32_t era;
    struct gn_type_entry types[GN_TYPE_CACHE];
    struct gn_rank_entry ranks[GN_RANK_CACHE];
    struct gn_comm_entry comms[GN_COMM_CACHE];
    uint32_t next_edge[GN_MAX_NODES];      /* the edge last taken from each node */
    uint32_t last_peer[GN_MAX_NODES];      /* the peer record last used at each node */
    uint32_t node_table[2 * GN_MAX_NODES]; /* open addressing, index + 1 */
    uint32_t edge_table[2 * GN_MAX_EDGES];
    uint32_t peer_table[2 * GN_MAX_PEERS];
    uint32_t last_completion[GN_MAX_NODES]; /* the record last used for each node that completes */
    uint32_t completion_table[2 * GN_MAX_COMPLETIONS];
    struct gn_request_list list;
    struct gn_neighbours neighbours; /* working space for neighbourhood collectives */
    struct gn_capture_part parts[GN_MAX_NEIGHBOURS];
    struct gn_paths paths;
    struct gn_capture_late late[GN_MOST_LATE];
    struct gn_delay delay; /* only in tests */
};

/* Ahead of the real call, which may be one that is counted only. */
static inline void gn_record_asked(struct gn_capture_call *call, enum gn_asks asks, int peer, int tag,
                                   gn_handle comm)
{
    if (__builtin_expect(call->recorder != NULL, 1))
        call->recorder->asked =
            (struct gn_capture_asked){call->enter_ticks, comm, peer, tag, (uint8_t)asks, call->binding};
}

static inline void gn_record_event(struct gn_capture_call *call, const struct gn_event *event)
{
    struct gn_call_span span = gn_span_of(call);
    if (call->traced)
        gn_tracer_put(&call->recorder->tracer, &span, event);
}

static inline void gn_record_note(struct gn_capture_call *call, const struct gn_note *note)
{
    struct gn_call_span span = gn_span_of(call);
    if (call->traced)
        gn_tracer_note(&call->recorder->tracer, &span, note);
}

#endif

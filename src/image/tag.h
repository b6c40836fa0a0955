/*
 * image/tag — the task activity graph (TAG) of one process, as it lies in shared memory.
 *
 * The paper's structure (Sikora 2016, sections 2.1, 3.1.3, 3.1.4): communication and control activities are
 * nodes, what ran between two consecutive ones is an edge, both carry statistics; an observer reads
 * them at any instant without stopping the process. Ours has one graph per location (thread), fixed arrays,
 * 32-bit indices and no pointers, so that a copy at another address is valid as it is.
 *
 *   segment ┌ header: who, when, what state ──────────────────────────────┐
 *           │ modules[]   executables and libraries that frames lie in    │ shared by the process's
 *           │ frames[]    call paths as a trie; index = call path id      │ locations, append only
 *           │ sources[]   places in source files, of interpreted frames   │
 *           │ names[]     names of user regions                           │
 *           ├ location 0: counters, nodes[], edges[], peers[], completions[] ┤ one writer each
 *           ├ location 1: …                                               │
 *           └─────────────────────────────────────────────────────────────┘
 *
 * The segment is a sparse memory file: only what is used takes memory, and the size of what is used depends
 * on the program's structure, never on how long it ran. Invariants:
 *   1. frames[i].parent < i; frame 0 is the root (outside of all call paths).
 *   2. node 0 is the start of the location, node 1 its end, node 2 stands for all nodes that found no room;
 *      edge 0 likewise for edges. Indices below the published count are valid for ever.
 *   3. In one consistent record: count*min <= total <= count*max, and the time histogram adds up to count.
 *   4. Times are ticks of the location's clock domain.
 */
#ifndef GNOMON_IMAGE_TAG_H
#define GNOMON_IMAGE_TAG_H

#include "event/activity.h"
#include "image/seqlock.h"
#include "unwind/python_code.h"

#include <stddef.h>

#define GN_TAG_MAGIC 0x4741544e4f4e4731ull /* "1GNONTAG" in memory order, little endian */
#define GN_TAG_VERSION 5u

enum {
    GN_MAX_MODULES = 512,
    GN_MAX_FRAMES = 32768,
    GN_MAX_SOURCES = 8192,
    GN_MAX_NAMES = 1024,
    GN_NAME_BYTES = 64,
    GN_PATH_BYTES = 472,
    GN_BUILD_ID_BYTES = 20,
    GN_FUNCTION_BYTES = 112,
    GN_MAX_LOCATIONS = 128,
    GN_MAX_NODES = 4096,
    GN_MAX_EDGES = 16384,
    GN_MAX_PEERS = 16384,
    GN_MAX_COMPLETIONS = 2048,
    GN_BUCKETS = 48,
};

enum gn_tag_state {
    GN_STATE_EMPTY,   /* made by the agent, not yet taken */
    GN_STATE_RUNNING, /* MPI_Init was entered */
    GN_STATE_FINAL,   /* MPI_Finalize has returned */
    GN_STATE_EXITED,  /* the process ended in an orderly way (exit handlers ran) */
};

/* Statistics of durations, exact: the squares are summed in 128 bits, so that spread has no rounding. */
struct gn_stats {
    gn_shared64 count;
    gn_shared64 total_ticks;
    gn_shared64 min_ticks;
    gn_shared64 max_ticks;
    gn_shared64 squares_low; /* sum of ticks², low and high half */
    gn_shared64 squares_high;
};

struct gn_tag_node {
    gn_shared32 seq;
    gn_shared32 activity; /* enum gn_call_id or enum gn_activity */
    gn_shared32 path;     /* index into frames[] */
    gn_shared32 name;     /* index into names[] for regions, else 0 */
    struct gn_stats time;
    gn_shared64 errors;                /* calls that returned something other than MPI_SUCCESS */
    gn_shared64 messages;              /* messages or contributions with a known size */
    gn_shared64 bytes;                 /* their sum */
    gn_shared64 time_log2[GN_BUCKETS]; /* [i]: durations of 2^(i-1) <= ticks < 2^i; [0]: zero; last: longer */
    gn_shared64 size_log2[GN_BUCKETS]; /* likewise, bytes */
};

struct gn_tag_edge {
    gn_shared32 seq;
    gn_shared32 from;  /* node */
    gn_shared32 to;    /* node */
    gn_shared32 exact; /* passages whose cost of measuring is known exactly, in probe_ticks */
    struct gn_stats time;
    gn_shared64 bytes;       /* moved by the calls this edge led to */
    gn_shared64 probe_ticks; /* cost of measuring inside of the exact passages */
};

/* Messages between this location and one peer at one node. */
struct gn_tag_peer {
    gn_shared32 seq;
    gn_shared32 node;
    gn_shared32 peer; /* rank in MPI_COMM_WORLD; GN_PEER_OUTSIDE: another world */
    gn_shared32 reserved;
    gn_shared64 sent_messages;
    gn_shared64 sent_bytes;
    gn_shared64 received_messages;
    gn_shared64 received_bytes;
};

#define GN_PEER_OUTSIDE 0xffffffffu

/* Requests that one call has started and another one completed (Sikora 2016, definition 11). Times begin when
 * the one that started them was left. */
struct gn_tag_completion {
    gn_shared32 seq;
    gn_shared32 from; /* node that started them; 0: a call of another thread */
    gn_shared32 to;   /* node that completed them */
    gn_shared32 reserved;
    gn_shared64 count;
    gn_shared64 total_ticks; /* until the completing call was left */
    gn_shared64 ahead_ticks; /* of that, until it was entered */
    gn_shared64 max_ticks;
    gn_shared64 time_log2[GN_BUCKETS]; /* of what total_ticks is the sum of */
};

struct gn_location {
    gn_shared32 seq;
    gn_shared32 in_use; /* 1 while a thread owns it; threads may follow each other */
    gn_shared32 thread_id;
    gn_shared64 python_state; /* its PyThreadState, where it runs Python: see gn_tag.python; 0: none */
    gn_shared32 node_count;
    gn_shared32 edge_count;
    gn_shared32 peer_count;
    gn_shared32 completion_count;
    gn_shared32 now_node;    /* the node being executed, or the last one executed */
    gn_shared32 now_inside;  /* 1: executing now_node; 0: computing after it; 2: ended after it */
    gn_shared64 now_ticks;   /* since when */
    gn_shared64 first_ticks; /* the present (or last) owner began */
    gn_shared64 past_ticks;  /* time of all owners that have ended */
    gn_shared64 events;
    /* The cost of measuring: the first events and all slow ones (a path that is new, or unwound in full) are
     * timed exactly, of the rest every 64th. */
    gn_shared64 sampled_events;
    gn_shared64 sampled_ticks;
    gn_shared64 exact_events;
    gn_shared64 exact_ticks;
    gn_shared64 unwound;    /* stacks that the library's unwinder had to unwind; all others were walked */
    gn_shared64 learned;    /* frames that were new to a walk */
    gn_shared64 lost_nodes; /* events that went to the overflow node */
    gn_shared64 lost_edges;
    gn_shared64 lost_peers;
    gn_shared64 lost_completions;
    gn_shared64 lost_requests; /* nonblocking receives whose completion could not be followed */
    gn_shared64 lost_paths;    /* call paths cut because frames[] was full */
    gn_shared64 lost_calls;    /* left by a jump out of them (an error handler's longjmp) */
    gn_shared64 lost_regions;  /* nested deeper than is kept */
    struct gn_tag_node nodes[GN_MAX_NODES];
    struct gn_tag_edge edges[GN_MAX_EDGES];
    struct gn_tag_peer peers[GN_MAX_PEERS];
    struct gn_tag_completion completions[GN_MAX_COMPLETIONS];
};

struct gn_tag_frame {
    uint32_t parent;
    uint16_t module; /* index into modules[]; 0: unknown */
    uint16_t folded; /* 1: a cycle of recursion was folded at this frame */
    uint64_t offset; /* return address minus the module's load base; GN_MODULE_PYTHON: index into sources[] */
};

/* A line of a function in a source file: where a frame of an interpreter is. What is text here can be
 * compared between processes; image/source_line makes of it what stands in the place of an offset there. */
struct gn_source_line {
    uint32_t module;      /* of kind GN_MODULE_PYTHON */
    uint32_t line;        /* 0: unknown */
    uint32_t first_line;  /* of the function */
    uint32_t function_of; /* index of the first source of the same function: equal for all of its lines */
    char function[GN_FUNCTION_BYTES];
};

enum gn_module_kind {
    GN_MODULE_ELF,
    GN_MODULE_INTERPRETER, /* its frames stand for those of a program in another language */
    GN_MODULE_PYTHON,      /* a source file: path is its name, nothing else is known */
};

struct gn_module {
    uint64_t base; /* load base (dlpi_addr), for people; merging uses build id and offset */
    uint64_t first_address, end_address;
    uint32_t kind; /* enum gn_module_kind */
    uint32_t build_id_bytes;
    uint8_t build_id[GN_BUILD_ID_BYTES];
    char path[GN_PATH_BYTES];
};

/* Who starts the processes of a job. */
enum gn_launcher {
    GN_LAUNCHER_NONE,
    GN_LAUNCHER_OPENMPI, /* mpirun, orterun, prterun */
    GN_LAUNCHER_HYDRA,   /* MPICH's mpiexec and mpirun */
    GN_LAUNCHER_SLURM,   /* srun */
    GN_LAUNCHERS
};

enum { GN_LAUNCHES = GN_LAUNCHERS - 1, GN_GROUP_BYTES = 28 };

/* What a launcher has told a process in its environment. Which of several the MPI library believes shows only
 * when it has been initialized: graph/world.h. */
struct gn_launch {
    uint32_t launcher;          /* enum gn_launcher */
    int32_t rank, size;         /* which of how many processes it is */
    char group[GN_GROUP_BYTES]; /* the same for all that were started together, and for nobody else */
};

/* What a call of the process's asks of whom, as its arguments have it. */
enum gn_asks { GN_ASKS_NOBODY, GN_ASKS_TO, GN_ASKS_FROM, GN_ASKS_ROOT };

enum gn_fatal_state { GN_FATAL_NONE, GN_FATAL_ERROR, GN_FATAL_ABORT, GN_FATAL_EXIT, GN_FATAL_WRITING };

enum { GN_ERROR_TEXT_BYTES = 192, GN_ERROR_CLASS_BYTES = 32 };

/* The MPI error that the library was told last, or MPI_Abort, or exit() inside of a call, of which the
 * process did not come back. */
struct gn_fatal {
    gn_shared32 state; /* enum gn_fatal_state: what follows holds, as long as the thread is in that call */
    uint32_t location;
    uint64_t enter_ticks;                  /* of the call */
    int32_t code;                          /* as the library has it; MPI_Abort's argument */
    uint32_t asks;                         /* enum gn_asks */
    int32_t peer, tag;                     /* a rank in the call's communicator */
    uint32_t in_world;                     /* 1: that is MPI_COMM_WORLD */
    char class_name[GN_ERROR_CLASS_BYTES]; /* "MPI_ERR_TRUNCATE"; "": of none that has a name */
    char text[GN_ERROR_TEXT_BYTES];        /* what the library says of it */
};

struct gn_tag {
    /* written by the agent before the segment is handed out */
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint64_t segment_bytes;
    uint32_t location_capacity;
    uint32_t counter; /* enum gn_tick_source: what all ticks in here are readings of */
    /* written by the process */
    gn_shared32 state; /* enum gn_tag_state */
    gn_shared32 location_count;
    gn_shared32 module_count;
    gn_shared32 frame_count;
    gn_shared32 source_count;
    gn_shared32 name_count;
    gn_shared32 partial;        /* 1: capture stepped aside; message says why */
    gn_shared32 missed_threads; /* threads that found no free location */
    uint32_t pid;
    int32_t rank;  /* in MPI_COMM_WORLD, -1 until known */
    int32_t world; /* size of MPI_COMM_WORLD */
    int32_t thread_level;
    gn_shared32 threads_reused;
    char flavour[16]; /* "openmpi" or "mpich" */
    char library[64]; /* MPI library version, first line */
    char exe[GN_PATH_BYTES];
    char message[256];
    struct gn_launch launches[GN_LAUNCHES]; /* written by the agent; the rest is GN_LAUNCHER_NONE */
    int32_t spawner;     /* the process whose MPI_Comm_spawn started it, 0: none; by the agent */
    gn_shared32 spawned; /* processes that this one started in that way */
    struct gn_fatal fatal;
    gn_shared64 start_ticks;     /* the process began (the library was loaded) */
    gn_shared64 init_ticks;      /* MPI_Init was entered */
    gn_shared64 finalized_ticks; /* MPI_Finalize returned; 0: not */
    gn_shared64 end_ticks;       /* orderly end of the process; 0: not */
    gn_shared64 cpu_ns; /* processor time of the whole process, as last read: by itself at MPI_Finalize and at
                           its end, by the agent where it did not get there; 0: not known */
    gn_shared64 startup_cpu_ns; /* of it, gnomon's for taking this segment and meeting other hosts */
    uint64_t first_moment_ticks, first_moment_ns; /* struct gn_moment at MPI_Init */
    gn_shared32 python_known;                     /* 1: what follows is said */
    struct gn_python_known python; /* where the interpreter's things are, for who looks from outside */
    struct gn_module modules[GN_MAX_MODULES];
    struct gn_tag_frame frames[GN_MAX_FRAMES];
    struct gn_source_line sources[GN_MAX_SOURCES]; /* 0 is none */
    char names[GN_MAX_NAMES][GN_NAME_BYTES];
    struct gn_location locations[]; /* location_capacity of them */
};

static inline size_t gn_tag_bytes(uint32_t locations)
{
    return sizeof(struct gn_tag) + locations * sizeof(struct gn_location);
}

/* How many find room in so many bytes. */
static inline uint32_t gn_tag_locations(size_t bytes)
{
    const size_t locations =
        bytes > sizeof(struct gn_tag) ? (bytes - sizeof(struct gn_tag)) / sizeof(struct gn_location) : 0;
    return locations < GN_MAX_LOCATIONS ? (uint32_t)locations : GN_MAX_LOCATIONS;
}

/* What a thread had computed ahead of the call that it is in since now_ticks, which is counted only when that
 * is left: of its time what neither its nodes (but regions) nor its edges have, whose sum is `counted`. 0:
 * nothing, or these make no sense. */
static inline uint64_t gn_tag_ahead(uint64_t now_ticks, uint64_t first_ticks, uint64_t past_ticks,
                                    uint64_t counted)
{
    const uint64_t all = now_ticks - first_ticks + past_ticks;
    return now_ticks > first_ticks && all <= INT64_MAX && counted < all ? all - counted : 0;
}

/* 0 for 0, else 1 + floor(log2(value)), capped at the last bucket. */
static inline unsigned gn_bucket(uint64_t value)
{
    unsigned bucket = value ? 64u - (unsigned)__builtin_clzll(value) : 0u;
    return bucket < GN_BUCKETS ? bucket : GN_BUCKETS - 1u;
}

static inline void gn_stats_add(struct gn_stats *stats, uint64_t ticks)
{
    uint64_t count = GN_GET(stats->count);
    unsigned __int128 square = (unsigned __int128)ticks * ticks;
    uint64_t low = GN_GET(stats->squares_low);
    uint64_t new_low = low + (uint64_t)square;
    GN_SET(stats->squares_low, new_low);
    GN_ADD(stats->squares_high, (uint64_t)(square >> 64) + (new_low < low));
    GN_ADD(stats->total_ticks, ticks);
    if (count == 0 || ticks < GN_GET(stats->min_ticks))
        GN_SET(stats->min_ticks, ticks);
    if (ticks > GN_GET(stats->max_ticks))
        GN_SET(stats->max_ticks, ticks);
    GN_SET(stats->count, count + 1);
}

#endif

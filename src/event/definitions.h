/*
 * event/definitions — what the numbers in events refer to: who ran (hosts, processes, locations), what was
 * called (regions, call paths), and with whom (communicators, windows).
 *
 * Plain arrays indexed by the references in events, which only grow: what is there stays as it is, so that
 * a live source can add to them while events flow. Strings are references into one interned store; string 0
 * is the empty one. All memory belongs to the struct; readers may look at the arrays, gn_define_* adds to
 * them.
 *
 *   system node (machine, host) ◄── process (a rank: OTF2's location group) ◄── location (a thread)
 *   communicator: member processes in the order of their ranks         call path: parent, region, line
 */
#ifndef GNOMON_EVENT_DEFINITIONS_H
#define GNOMON_EVENT_DEFINITIONS_H

#include "event/activity.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>

/* A node of the machine's description; its parent comes before it. */
struct gn_system_node {
    uint32_t name, class_name; /* strings: "node17", "node" */
    uint32_t parent;           /* GN_NONE: a root */
    bool is_domain;            /* locations below share a clock (OTF2: shared memory domain) */
};

struct gn_process {
    uint32_t name;          /* string */
    uint32_t system_node;   /* GN_NONE: unknown */
    uint32_t main_location; /* the thread that messages are addressed to; GN_NONE until one is defined */
    int32_t rank;           /* in MPI_COMM_WORLD; -1: not an MPI process */
};

/* A reading of a clock at which it was compared with the trace's, the one that first_ticks and length_ticks
 * of the definitions are on. trace/clock_offsets.h says when offset ± deviation are bounds. */
struct gn_clock_offset {
    uint64_t ticks;
    int64_t offset_ticks; /* of the trace's clock minus this one */
    double deviation_ticks;
};

struct gn_offsets_def {
    struct gn_clock_offset *offsets; /* ascending readings */
    size_t count;
};

struct gn_location_def {
    uint32_t name;    /* string */
    uint32_t process; /* index */
    uint32_t domain;  /* clock domain: locations with the same number read the same clock */
    uint64_t file_id; /* how the archive calls it (OTF2's location reference: sparse, up to 64 bits) */
    uint64_t events;  /* how many, as the archive says; UINT64_MAX: unknown */
    uint32_t clock;   /* its offsets from the trace's clock; 0: they are not known */
};

/* Roles as far as anything here depends on them. */
enum gn_region_role {
    GN_ROLE_UNKNOWN,
    GN_ROLE_FUNCTION,
    GN_ROLE_MPI,
    GN_ROLE_USER,
    GN_ROLE_BARRIER /* of a team of threads (OpenMP), also one that another construct implies */
};

struct gn_region_def {
    uint32_t name;        /* string */
    uint32_t source_file; /* string; 0: unknown */
    uint32_t begin_line, end_line;
    uint8_t role;      /* enum gn_region_role */
    uint32_t activity; /* of a region of MPI: which one, as its name says (event/activity.h); set by
                          gn_define_region; GN_ACTIVITY_NONE */
};

/* One call: region was called from (source_file, line) in the region of the parent. */
struct gn_path_def {
    uint32_t parent; /* GN_NONE: outermost; else smaller than its own index */
    uint32_t region;
    uint32_t source_file; /* string, of the call site; 0: unknown; with line 0, what the site is called:
                             "f+0x1c" */
    uint32_t line;
};

struct gn_comm_def {
    uint32_t name;         /* string */
    uint32_t parent;       /* communicator it was made from, or GN_NONE */
    uint32_t member_count; /* processes of the (local) group */
    uint32_t other_count;  /* of an intercommunicator: of the second group; 0: an intracommunicator */
    bool is_self; /* MPI_COMM_SELF and its like: for each process the one with itself as the only member; it
                     has no members here */
    uint32_t *members; /* [member_count] processes in the order of their ranks, then [other_count] */
};

struct gn_window_def {
    uint32_t name; /* string */
    uint32_t comm;
};

struct gn_definitions {
    struct gn_system_node *system_nodes;
    struct gn_process *processes;
    struct gn_location_def *locations;
    struct gn_region_def *regions;
    struct gn_path_def *paths;
    struct gn_comm_def *comms;
    struct gn_window_def *windows;
    struct gn_offsets_def *clocks; /* the first one is empty */
    size_t clock_count;
    uint32_t clock_bounds; /* string: what guarantees the clocks' bounds (docs/trace-format.md); 0: nothing */
    size_t system_node_count, process_count, location_count, region_count, path_count, comm_count,
        window_count;
    uint64_t ticks_per_second;
    uint64_t first_ticks, length_ticks;   /* of the whole trace, as far as known; length 0: unknown */
    uint64_t realtime_ns;                 /* Unix time at first_ticks; 0: unknown */
    struct gn_definitions_inside *inside; /* interned strings, capacities */
};

/* An empty set: string 0, nothing else. NULL: no memory. Freed with everything in it by gn_definitions_free
 * (NULL is allowed). */
struct gn_definitions *gn_definitions_new(void);
void gn_definitions_free(struct gn_definitions *definitions);

/* The text of a string; "" for a number that is none. Valid until the next string is added. */
const char *gn_string(const struct gn_definitions *definitions, uint32_t string);
size_t gn_string_count(const struct gn_definitions *definitions);

/* What a clock domain (of gn_location_def) is called: the host, or the process where each has a clock. */
const char *gn_domain_name(const struct gn_definitions *definitions, uint32_t domain);

/* Each adds one definition (a copy of *what; the members of a communicator are copied, too) and returns its
 * index; GN_NONE: no memory. A string that is known already keeps its number. The caller answers for
 * references being valid. A location that is the first of its process becomes its main location. */
uint32_t gn_define_string(struct gn_definitions *definitions, const char *text);
uint32_t gn_define_system_node(struct gn_definitions *definitions, const struct gn_system_node *what);
uint32_t gn_define_process(struct gn_definitions *definitions, const struct gn_process *what);
uint32_t gn_define_location(struct gn_definitions *definitions, const struct gn_location_def *what);
uint32_t gn_define_region(struct gn_definitions *definitions, const struct gn_region_def *what);
uint32_t gn_define_path(struct gn_definitions *definitions, const struct gn_path_def *what);
uint32_t gn_define_comm(struct gn_definitions *definitions, const struct gn_comm_def *what);
uint32_t gn_define_window(struct gn_definitions *definitions, const struct gn_window_def *what);
/* Equal to the clock added last: that one's index. */
uint32_t gn_define_clock(struct gn_definitions *definitions, const struct gn_offsets_def *what);

/* The activity that a region is; GN_ACTIVITY_NONE, also for a reference that is none. */
static inline uint32_t gn_region_activity(const struct gn_definitions *definitions, uint32_t region)
{
    return region < definitions->region_count ? definitions->regions[region].activity : GN_ACTIVITY_NONE;
}

/* The path of which it is known where it was called: itself, or the innermost around it (a function of Python
 * around a call that it makes in C). GN_NONE: there is none. */
uint32_t gn_sourced_path(const struct gn_definitions *definitions, uint32_t path);

/* The process with a rank in MPI_COMM_WORLD; GN_NONE: there is none. */
uint32_t gn_process_of_rank(const struct gn_definitions *definitions, int64_t rank);

/* The rank of a process in a communicator (of an intercommunicator: in the group it belongs to, with *second
 * set to whether that is the second one), or GN_NONE. second may be NULL. At most logarithmic time after the
 * first question about a communicator, which must not come from several threads at a time. */
uint32_t gn_comm_rank_of(const struct gn_definitions *definitions, uint32_t comm, uint32_t process,
                         bool *second);
/* The process that `process` means by rank `peer` of comm (of an intercommunicator: in the other group);
 * GN_NONE: none. */
uint32_t gn_comm_peer(const struct gn_definitions *definitions, uint32_t comm, uint32_t process,
                      uint32_t peer);

#endif

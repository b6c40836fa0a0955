/*
 * graph/graph — the task activity graphs of the processes of a run, as plain values: no shared memory, no
 * ticks, no database.
 *
 *   image/snapshot ──► gn_graph_add_process ──┐                      ┌──► profile/write: a file
 *   profile/read: a file ─────────────────────┼──► struct gn_graph ──┤
 *   another host's graph ──► gn_graph_join ───┘                      └──► whoever asks
 *
 * What a graph consists of is rows of a few kinds. Some kinds are known by what they say (a module by its
 * path and build id, a place by module and offset, a call path by the chain of places, an activity by what it
 * does on which path, a world by its key): of each there is one in a graph, whoever adds it. The others
 * belong to one process. gn_graph_fields describes every kind once; joining, storing and reading follow from
 * that description and name no kind.
 */
#ifndef GNOMON_GRAPH_GRAPH_H
#define GNOMON_GRAPH_GRAPH_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kind refers only to those above it, and to rows ahead of it of its own. */
enum gn_graph_kind {
    GN_GRAPH_HOST,
    GN_GRAPH_MODULE,
    GN_GRAPH_SITE,
    GN_GRAPH_INLINED,
    GN_GRAPH_PATH,
    GN_GRAPH_ACTIVITY,
    GN_GRAPH_COMPUTATION,
    GN_GRAPH_WORLD,
    GN_GRAPH_MOMENT,
    GN_GRAPH_PROCESS,
    GN_GRAPH_LOCATION,
    GN_GRAPH_NODE,
    GN_GRAPH_EDGE,
    GN_GRAPH_PEER,
    GN_GRAPH_COMPLETION,
    GN_GRAPH_LOST,
    GN_GRAPH_ENDING,
    GN_GRAPH_FATAL,
    GN_GRAPH_LAST_CALL,
    GN_GRAPH_SAMPLING,
    GN_GRAPH_SAMPLE,
    GN_GRAPH_COUNTER,
    GN_GRAPH_RESOURCE,
    GN_GRAPH_KINDS
};

#define GN_GRAPH_NONE UINT32_MAX   /* in the place of an index: there is none */
#define GN_GRAPH_UNKNOWN INT64_MIN /* in the place of a number; of a double: not a number */
enum { GN_GRAPH_ROOT = 0 };        /* the call path outside of all others */

/* What they mean is in docs/profile-format.md, where each field has its name. Texts are the graph's. */
struct gn_graph_host {
    const char *name;
};

struct gn_graph_module {
    const char *path, *build_id;
    int64_t has_lines;
};

struct gn_graph_site {
    uint32_t module;
    int64_t offset, resolved;
    const char *function, *file;
    int64_t line, symbol_offset;
    const char *label;
    const char *loop_function, *loop_file;
    int64_t loop_line;
};

struct gn_graph_inlined {
    uint32_t site;
    int64_t depth;
    const char *function, *file;
    int64_t line;
};

struct gn_graph_path {
    uint32_t parent, site;
    int64_t depth, folded;
};

struct gn_graph_activity {
    const char *kind, *name, *call_group;
    uint32_t callpath;
};

/* Where the code between two activities is: what it begins behind, and ends at. */
struct gn_graph_computation {
    uint32_t from_activity, to_activity;
    const char *function, *file;
    int64_t line;
    const char *until_function, *until_file;
    int64_t until_line;
};

struct gn_graph_world {
    const char *key;
    int64_t size;
    const char *launcher, *launch;
    int64_t launched, launched_rank, spawner;
};

/* Series of a host's nodes, edges and samples have a step from each moment to the next. */
struct gn_graph_moment {
    uint32_t host;
    int64_t number; /* from 0 on: the begin of the first step */
    int64_t ticks;  /* of the host's counter */
};

struct gn_graph_process {
    int64_t rank;
    uint32_t host, world_id;
    int64_t pid;
    const char *exe, *flavour, *library;
    int64_t world, thread_level;
    const char *ended;
    int64_t exit_status, complete;
    const char *message;
    double tick_ns;
    int64_t elapsed_ns, init_ns, finalized_ns;
    const char *clock_domain;
    int64_t cpu_ns, startup_cpu_ns, traced, spawned;
    int64_t start_ticks; /* when it began, of the host's counter */
};

/* A thread, or several that followed each other. */
struct gn_graph_location {
    uint32_t process, last_activity;
    int64_t thread, thread_id, elapsed_ns, events;
    double probe_ns_per_event;
    int64_t probe_ns, last_inside, last_ns, unwound;
};

/* Counts by powers of two, kept without the zeros around them. */
struct gn_graph_histogram {
    uint32_t at;         /* of the first one that is kept */
    uint8_t first, used; /* which one that is, and how many are kept */
    uint8_t all;         /* 0: there is no histogram */
};

/* Numbers by step of time: graph/packed_steps.h. So many of nodes, edges and samples (profile/period.c asks
 * for them in SQL). */
enum {
    GN_SERIES_OF_NODE = 4,
    GN_SERIES_OF_EDGE = 3,
    GN_SERIES_OF_SAMPLE = 2,
    GN_SERIES_OF_PEER = 4,
    GN_SERIES_OF_COMPLETION = 3
};
struct gn_graph_bytes {
    const uint8_t *at; /* the graph's; NULL: not known */
    size_t count;
};

struct gn_graph_node {
    uint32_t location, activity;
    int64_t count, total_ns, min_ns, max_ns;
    double spread_ns;
    int64_t open_ns, errors, messages, bytes;
    struct gn_graph_histogram time_log2, size_log2;
    struct gn_graph_bytes series; /* by step: count, time, messages, bytes */
};

struct gn_graph_edge {
    uint32_t location, from_activity, to_activity;
    int64_t count, total_ns, own_ns, min_ns, max_ns;
    double spread_ns;
    int64_t bytes;
    struct gn_graph_bytes series; /* by step: count, total_ns, own_ns */
};

struct gn_graph_peer {
    uint32_t location, activity;
    int64_t peer, sent_messages, sent_bytes, received_messages, received_bytes;
    struct gn_graph_bytes series; /* by step: all four */
};

/* Requests that one call has started, and another one completed. */
struct gn_graph_completion {
    uint32_t location, from_activity, to_activity; /* from: of a start, what another thread has started */
    int64_t count, total_ns, ahead_ns, max_ns;
    struct gn_graph_histogram time_log2;
    struct gn_graph_bytes series; /* by step: count, total_ns, ahead_ns */
};

struct gn_graph_lost {
    uint32_t process;
    const char *what;
    int64_t count;
};

struct gn_graph_ending {
    uint32_t process;
    int64_t after_ticks, before_ticks;
};

struct gn_graph_fatal {
    uint32_t process;
    const char *kind;
    int64_t thread, code;
    const char *class, *text, *asks;
    int64_t peer, tag, in_world;
};

struct gn_graph_last_call {
    uint32_t process, activity;
    int64_t thread, position, inside, enter_ns, length_ns, calls;
    int64_t sent_messages, sent_to, sent_tag, sent_bytes;
    int64_t received_messages, received_from, received_tag, received_bytes;
    int64_t completed;
    const char *communicator;
    int64_t root;
};

/* How a process was sampled. */
struct gn_graph_sampling {
    uint32_t process;
    const char *state, *reason;
    int64_t time_ns, samples, bursts, by_place, unattributed, lost,
        helpers;         /* time: that the samples stand for */
    int64_t is_whole;    /* all threads that make calls were sampled, from MPI_Init to the end */
    int64_t with_kernel; /* what the kernel does for them is in the samples, at the place that called it */
};

/* Samples of a location in one place: of what it computes from one activity to the next, or, without a next
 * one, inside of the activity. */
struct gn_graph_sample {
    uint32_t location, from_activity, to_activity;
    uint32_t site;   /* innermost in the program's own code; GN_GRAPH_NONE: in other places */
    uint32_t called; /* function of a library that it called there; GN_GRAPH_NONE: it was not in one */
    int64_t other_threads, how, count, time_ns;
    struct gn_graph_bytes series; /* by step: count, time_ns */
};

/* What a metric of the kernel's (graph/metrics.h) came to in a process. */
struct gn_graph_counter {
    uint32_t process;
    int64_t metric;
    const char *name;
    int64_t total, samples, is_scaled;
    const char *reason; /* why it, or a part of it, was not counted; NULL: it was */
};

/* What the kernel told of a process. */
struct gn_graph_resource {
    uint32_t process;
    int64_t peak_bytes, peak_age_ns, read_bytes, written_bytes, storage_read_bytes, storage_written_bytes;
    int64_t preempted_ns;
    const char *cores;
    double cores_quota;
    double core_mhz, core_most_mhz;
    int64_t resident_bytes, remote_bytes;
};

/* ---- what the rows are made of ---- */

enum gn_graph_type {
    GN_GRAPH_INTEGER,   /* int64_t; where it is not told: 0 */
    GN_GRAPH_NUMBER,    /* int64_t; where it is not told: GN_GRAPH_UNKNOWN */
    GN_GRAPH_REAL,      /* double; where it is not told: not a number */
    GN_GRAPH_TEXT,      /* const char *; where it is not told: NULL */
    GN_GRAPH_OF,        /* uint32_t, a row of another kind; without that row this one means nothing */
    GN_GRAPH_MAY_BE_OF, /* likewise, or GN_GRAPH_NONE */
    GN_GRAPH_HISTOGRAM, /* struct gn_graph_histogram */
    GN_GRAPH_BYTES      /* struct gn_graph_bytes; where it is not told: nothing, NULL */
};

struct gn_graph_field {
    const char *name;
    enum gn_graph_type type;
    enum gn_graph_kind of; /* GN_GRAPH_OF, GN_GRAPH_MAY_BE_OF */
    bool is_key;           /* what a row is known by */
    size_t offset;
};

struct gn_graph_fields {
    const char *name; /* of the kind */
    size_t row_bytes;
    const struct gn_graph_field *fields;
    size_t count;
    bool is_known; /* one row for each key */
};

extern const struct gn_graph_fields gn_graph_fields[GN_GRAPH_KINDS];

/* ---- the graph ---- */

struct gn_graph;

/* NULL: no memory. */
struct gn_graph *gn_graph_new(void);
void gn_graph_free(struct gn_graph *graph);

size_t gn_graph_count(const struct gn_graph *graph, enum gn_graph_kind kind);
/* The first of the rows of a kind, valid until one is added. It is the caller who knows its type. */
void *gn_graph_rows(const struct gn_graph *graph, enum gn_graph_kind kind);

/* Whatever finds no memory is left out, and noticed here: 0, or -ENOMEM with err set. */
int gn_graph_check(const struct gn_graph *graph, struct gn_error *err);

/* The graph's own copy of a text, the same for equal ones. NULL stays NULL. */
const char *gn_graph_text(struct gn_graph *graph, const char *text);

/* Adds a row, whose texts are the graph's. Its index: where the kind is known by a key, that of the row that
 * has it already. GN_GRAPH_NONE: no memory. */
uint32_t gn_graph_put(struct gn_graph *graph, enum gn_graph_kind kind, const void *row);
/* GN_GRAPH_NONE: there is none with its key. */
uint32_t gn_graph_find(const struct gn_graph *graph, enum gn_graph_kind kind, const void *row);

/* A histogram of `all` counts, 255 at most; and back. */
struct gn_graph_histogram gn_graph_keep_counts(struct gn_graph *graph, const uint64_t *counts, size_t all);
void gn_graph_counts(const struct gn_graph *graph, const struct gn_graph_histogram *histogram,
                     uint64_t *counts);

/* The graph's own copy. NULL with no bytes: there is no memory. */
struct gn_graph_bytes gn_graph_keep_bytes(struct gn_graph *graph, const void *bytes, size_t count);

/* Takes off all rows of processes that came after the first `processes`. */
void gn_graph_shrink(struct gn_graph *graph, size_t processes);

#endif

/*
 * live/watched — the processes that an agent watches: what is known of each, and how it ended.
 */
#ifndef GNOMON_LIVE_WATCHED_H
#define GNOMON_LIVE_WATCHED_H

#include "graph/tag.h"
#include "live/rings.h"

#include <stdbool.h>

struct gn_watched {
    int pid;
    int handle;             /* pidfd, -1 once it has ended */
    bool enlisted;          /* a `gnomon run` became this process */
    bool covered;           /* it or a process it started called MPI_Init */
    bool traced;            /* it has rings for its events */
    int core_group;         /* on which cores it may run: host_clock.h */
    int rank;               /* as the launcher said, -1 unknown */
    int error_output;       /* its standard error, -1 when not given */
    struct gn_tag *segment; /* NULL until MPI_Init */
    size_t segment_bytes;
    int segment_file;
    bool recorded;                    /* rings is there: what its threads did last */
    struct gn_rings rings;            /* the drain's, where the process is traced */
    uint64_t end_ticks;               /* 0 while it runs */
    uint64_t alive_ticks, seen_ticks; /* our counter: it ended between the two; seen: 0 while it runs */
    const char *ended;                /* "running", "exit", "signal", "unknown" */
    int exit_status;
};

struct gn_watched_list {
    struct gn_watched *items;
    size_t count, capacity;
};

/* The entry of pid, made when there is none; NULL when it cannot be watched (it is gone already, no memory).
 */
struct gn_watched *gn_watched_add(struct gn_watched_list *list, int pid);
struct gn_watched *gn_watched_find(struct gn_watched_list *list, int pid);

/* The enlisted process that pid descends from, or NULL: programs started by a script or an interpreter. */
struct gn_watched *gn_watched_ancestor(struct gn_watched_list *list, int pid);

/* Makes the segment of a process: a sparse memory file that no /dev/shm can fill. 0 or a negative errno
 * value. */
int gn_watched_make_segment(struct gn_watched *watched, uint32_t locations);

/* Reads the processor time of a process that has not said so itself into its segment; nothing where it is not
 * known. */
void gn_watched_read_cpu(struct gn_watched *watched);

/* Makes the recorder of a process that has its segment and is not traced: rings that nobody drains. A
 * descriptor for the process, which the caller closes, or a negative errno value. */
int gn_watched_make_rings(struct gn_watched *watched);

/* Notes that its handle became readable: it has ended. */
void gn_watched_ended(struct gn_watched *watched);

#endif

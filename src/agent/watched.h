/*
 * agent/watched — the processes that an agent watches: what is known of each, and how it ended.
 */
#ifndef GNOMON_AGENT_WATCHED_H
#define GNOMON_AGENT_WATCHED_H

#include "image/tag.h"
#include "agent/rings.h"

#include <stdbool.h>

struct gn_resources;
struct gn_resources_pace;

struct gn_watched {
    int pid;
    int handle;     /* pidfd, -1 once it has ended */
    bool enlisted;  /* a `gnomon run` became this process */
    int of;         /* the enlisted one that it descends from, or is: its place in the list; -1 none */
    bool traced;    /* it has rings for its events */
    int core_group; /* on which cores it may run: host_clock.h */
    int rank;       /* as the launcher said, -1 unknown */
    struct gn_launch launches[GN_LAUNCHES];
    int spawner;            /* the process that spawned it, 0: none */
    int error_output;       /* its standard error, -1 when not given */
    struct gn_tag *segment; /* NULL until MPI_Init */
    size_t segment_bytes;
    int segment_file;
    bool recorded;                    /* rings is there: what its threads did last */
    struct gn_rings rings;            /* the drain's, where the process is traced */
    int rings_file;                   /* of an agent that went on after another one; -1 otherwise */
    struct gn_resources *resources;   /* agent/resources.h; NULL: no memory for it */
    uint64_t end_ns;                  /* 0 while it runs; monotonic clock */
    uint64_t end_ticks;               /* 0 while it runs */
    uint64_t alive_ticks, seen_ticks; /* our counter: it ended between the two; seen: 0 while it runs */
    const char *ended;                /* "running", "exit", "signal", "unknown" */
    int exit_status;
    char unmeasured[300]; /* why, as it has said itself; empty: it has not */
};

struct gn_watched_list {
    struct gn_watched *items;
    size_t count, capacity;
};

/* The entry of pid, made when there is none; NULL when it cannot be watched (it is gone already, no memory).
 */
struct gn_watched *gn_watched_add(struct gn_watched_list *list, int pid);
struct gn_watched *gn_watched_find(struct gn_watched_list *list, int pid);

/* A new entry, of a process that another agent has watched: takes its handle over. NULL: no memory. */
struct gn_watched *gn_watched_again(struct gn_watched_list *list, int pid, int handle);

/* Frees what the list has, but for handles, segments and files: those end with the agent. */
void gn_watched_clear(struct gn_watched_list *list);

/* The enlisted process that pid descends from, or NULL: programs started by a script or an interpreter. */
struct gn_watched *gn_watched_ancestor(struct gn_watched_list *list, int pid);

/* Whether there is something measured of a process. */
bool gn_watched_is_measured(const struct gn_watched *watched);

/* Whether something was measured of an enlisted process, or of one that it started, whatever else it started
 * that was not. */
bool gn_watched_is_covered(const struct gn_watched_list *list, const struct gn_watched *enlisted);

/* Makes the segment of a process: a sparse memory file that no /dev/shm can fill. 0 or a negative errno
 * value. */
int gn_watched_make_segment(struct gn_watched *watched, uint32_t locations);

/* Takes over the segment that another agent has made, as it is. */
int gn_watched_map_segment(struct gn_watched *watched, int file);

/* Whether it is on its way out, killed or exiting, although its end is not told yet: a program that has
 * crashed is cleared away for a while. Also true of one whose first thread alone has ended. False where /proc
 * does not say. */
bool gn_watched_is_dying(const struct gn_watched *watched);

/* Reads the processor time of a process that has not said so itself into its segment; nothing where it is not
 * known. */
void gn_watched_read_cpu(struct gn_watched *watched);

/* Makes the recorder of a process that has its segment and is not traced: rings that nobody drains. A
 * descriptor for the process, which the caller closes, or a negative errno value. */
int gn_watched_make_rings(struct gn_watched *watched);

/* Takes over rings that another agent has made, as they are: of so many records, 0: those that nobody drains.
 */
int gn_watched_map_rings(struct gn_watched *watched, uint32_t ring_records, int file);

/* Reads what the kernel tells of all that run, when it is time to. */
void gn_watched_read_resources(struct gn_watched_list *list, struct gn_resources_pace *pace);

/* Notes that its handle became readable: it has ended. */
void gn_watched_ended(struct gn_watched *watched);

#endif

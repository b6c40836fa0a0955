/*
 * agent/translate — from the numbers of each measured process to definitions that all processes of the host
 * share (agent/expand.h says what the former are).
 *
 *   process              shared
 *   call, name        →  region          by name
 *   frame, region     →  path            by (parent's path, module, offset) up to the root, then the region
 *   comm              →  communicator    by (members, instance)
 *   window            →  window          by (communicator, instance)
 *   location          →  location        one definition each
 *
 * A path is numbered when it is first met, as a node of a tree of frames: which function, file and line a
 * frame is needs the executables, and is found out at the end (agent/trace_part.h). Contents of rings are not
 * trusted: a reference to nothing becomes GN_NONE, an event of no known kind is refused, and both are
 * counted.
 */
#ifndef GNOMON_AGENT_TRANSLATE_H
#define GNOMON_AGENT_TRANSLATE_H

#include "exchange/simulated.h"
#include "event/definitions.h"
#include "image/tag.h"
#include "image/recorder_ring.h"

/* A node of the tree of paths: a frame, or the region that was called from the parent's frame. */
struct gn_path_node {
    uint32_t parent; /* GN_NONE: outermost; else a smaller index */
    uint32_t module; /* of a frame: index into modules; GN_NONE: a region */
    uint64_t what;   /* of a frame: the return address minus the load base; else the region */
};

struct gn_trace_module { /* as the profile knows it */
    char path[GN_PATH_BYTES];
    char build_id[2 * GN_BUILD_ID_BYTES + 1]; /* hexadecimal */
};

/* The host's. Events carry indices of definitions, but in `path` that of a node. */
struct gn_translate {
    struct gn_definitions *definitions; /* without paths and the regions of frames */
    struct gn_path_node *nodes;
    struct gn_trace_module *modules;
    size_t node_count, module_count;
    uint32_t host;                    /* system node */
    uint64_t first_ticks, last_ticks; /* of all events; first > last: there are none */
    struct gn_simulated_clock clock;  /* that events are put on in tests; inactive: they stay */
    struct gn_translate_inside *inside;
};

/* What was read from a file (agent/part_file.h) and has no paths yet goes on growing, as if it had been made
 * here: what is met again is not defined again. False: no memory. */
bool gn_translate_go_on(struct gn_translate *translate);

/* The location that a process of such a file has there; GN_NONE: none. */
uint32_t gn_translate_location(const struct gn_translate *translate, int rank, int pid, uint32_t location);

/* A process's. */
struct gn_local;

/* NULL: no memory. */
struct gn_translate *gn_translate_new(const char *machine, const char *host);
struct gn_translate *gn_translate_empty(void); /* to be filled from a file */
void gn_translate_free(struct gn_translate *translate);

/* The instances (image/recorder_ring.h) of all communicators and windows, by their indices; set takes the
 * arrays over.
 */
const uint32_t *gn_translate_comm_instances(const struct gn_translate *translate);
const uint32_t *gn_translate_window_instances(const struct gn_translate *translate);
void gn_translate_set_instances(struct gn_translate *translate, uint32_t *of_comms, uint32_t *of_windows);

/*
 * Begins with a process: it is `rank` of MPI_COMM_WORLD, or unknown (-1), or there is another with this rank
 * already; then it becomes a process beside the world. tag and rings stay the caller's and outlive the
 * result, which gn_local_free gives back. NULL: no memory.
 */
struct gn_local *gn_local_new(struct gn_translate *translate, struct gn_tag *tag, size_t tag_bytes,
                              struct gn_ring_segment *rings, uint32_t locations, int rank, int world,
                              int pid);
void gn_local_free(struct gn_local *local);

/* The definition of one of its locations, made when it is asked for first; GN_NONE: no memory. */
uint32_t gn_local_location(struct gn_local *local, uint32_t location);
bool gn_local_knows(const struct gn_local *local, uint32_t location); /* whether it was */

/* Translates an event of a location in place. now_ticks: no event can be later. False: it is no event. */
bool gn_local_event(struct gn_local *local, uint32_t location, struct gn_event *event, uint64_t now_ticks);

/* References and events that made no sense, so far. */
uint64_t gn_local_garbled(const struct gn_local *local);

/* Names that the program gave communicators since they were first met. */
void gn_local_names(struct gn_local *local);

#endif

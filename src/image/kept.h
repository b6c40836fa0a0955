/*
 * image/kept — what the guard of a host (agent/guard.h) keeps for its agent, so that another agent can go on
 * where one has died.
 *
 * The agent sends items, one in a message, with a descriptor or without, ahead of anything that leans on
 * them: memory is kept before a process gets it. An item with the kind and number of one that is there takes
 * its place, and its descriptor unless it brings one of its own. The guard does not look into it. The next
 * agent finds all of them in a memory file, in the order in which they were first sent, and their descriptors
 * open.
 *
 * A datagram is sent whole or not at all, and what was sent before a kill is received: an item is never half
 * kept, and never without its descriptor.
 */
#ifndef GNOMON_IMAGE_KEPT_H
#define GNOMON_IMAGE_KEPT_H

#include <stdint.h>

enum gn_kept_kind {
    GN_KEPT_RUN = 1,    /* the run's; a memory file with what the agent knows of it */
    GN_KEPT_PROCESS,    /* number: which of those that are watched; its pidfd */
    GN_KEPT_SEGMENT,    /* likewise; its graph */
    GN_KEPT_RINGS,      /* its recorder */
    GN_KEPT_OUTPUT,     /* its standard error */
    GN_KEPT_UNMEASURED, /* a memory file: why it is not measured, as it has said itself */
    GN_KEPT_TRACE,      /* memory: how far the trace is written */
    GN_KEPT_SETTLED,    /* no process can come any more: the guard closes the socket */
    GN_KEPT_SAVED,      /* the run's profile is in its folder, as it stays */
    GN_KEPT_OVER /* the report is out: the guard lets go of everything, nobody goes on after this agent */
};

struct gn_kept {
    uint32_t kind, number;
    int32_t file;   /* for the next agent: a descriptor, -1 none */
    int32_t forget; /* 1: the item is dropped, and its descriptor closed */
    struct gn_kept_process {
        uint64_t end_ticks, alive_ticks, seen_ticks;
        int32_t pid, rank, core_group, exit_status, spawner, of;
        uint8_t enlisted, traced, how; /* how it ended: an index, 0 it runs */
    } process;
};

#endif

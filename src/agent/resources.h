/*
 * agent/resources — what the kernel tells of a process that runs: memory, files, cores and how long it waited
 * for one. Read from outside, once in a while: of one that has ended the last reading is what is known, and
 * how old it is.
 */
#ifndef GNOMON_AGENT_RESOURCES_H
#define GNOMON_AGENT_RESOURCES_H

#include "graph/graph.h"

#include <stdbool.h>

/* Of one process; all zero at first. */
struct gn_resources {
    struct gn_graph_resource told; /* cores is that one below */
    char cores[256];
    uint64_t read_at_ns; /* the last reading of its memory, monotonic clock; 0: none */
    struct gn_thread_wait {
        int thread;
        uint64_t ns; /* that it was ready to run and had no core */
        bool there;
    } * waits;
    size_t wait_count, wait_capacity;
    uint64_t gone_ns;             /* of threads that have ended */
    double mhz_sum, most_mhz_sum; /* of all readings while it ran */
    int mhz_count, most_mhz_count;
    uint64_t memory_next_ns, memory_between_ns; /* when it is to be read again where its memory is */
    uint64_t core_next_ns;                      /* … and how fast its core runs */
};

/* As it is now; what may not be read any more stays as it was. NULL: nothing is kept. */
void gn_resources_read(struct gn_resources *resources, int pid);
/* The same of one whose end has just been seen, and what is then known: NULL, nothing. */
const struct gn_graph_resource *gn_resources_told(struct gn_resources *resources, uint64_t end_ns);

/* When all processes of an agent are to be read: soon at first, then once a second, and never for more than a
 * thousandth of the time. */
struct gn_resources_pace {
    uint64_t next_ns, between_ns;
};
/* All have been read, from started_ns until now. */
void gn_resources_next(struct gn_resources_pace *pace, uint64_t started_ns, uint64_t now_ns);

#endif

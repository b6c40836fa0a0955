/* agent/live — orders event streams (event/wire.h) as they arrive from running programs, through pipes,
 * sockets and files. */
#ifndef GNOMON_AGENT_LIVE_H
#define GNOMON_AGENT_LIVE_H

#include "analyse/ordering.h"

struct gn_live_counts {
    uint64_t streams;
    uint64_t died;       /* that ended without their mark; what waited for them has been released */
    uint64_t broken;     /* of them: because what came was no event stream any more */
    uint64_t duplicates; /* events that came twice */
    uint64_t undefined;  /* references to nothing */
    bool interrupted;    /* by SIGINT or SIGTERM */
};

/*
 * Reads the streams called names (the folder of a running program, a FIFO, a file, a UNIX socket to connect
 * to, or
 * "-": standard input) until
 * all have ended, and pushes their events as they come; after whatever has arrived at once the output is
 * flushed. definitions are those that the ordering was opened with. A stream that breaks off is an error of
 * that stream only, told on standard error. 0; -ECANCELED: the ordering has enough; other negative values
 * with err set.
 */
int gn_live_run(char **names, size_t count, struct gn_definitions *definitions, struct gn_ordering *ordering,
                const struct gn_output *output, struct gn_live_counts *counts, struct gn_error *err);

#endif

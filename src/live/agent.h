/*
 * live/agent — one process per host and job that outlives the ranks: it hands out the shared segments,
 * watches the processes, takes the final snapshots whatever their end was, and finishes the run's folder.
 *
 * The first `gnomon run` on the host starts it by binding the job's socket; the others find it there. It is
 * nobody's child (the program never sees it in wait), holds no descriptor of the launcher but the standard
 * error of the lowest rank, through which it prints the report, and ends by itself when the last process has
 * ended.
 *
 *        bind ok                    hello(s)                all ended
 *   gn_agent_enlist ──► agent: listening ──► watching ──────────► finishing ──► gone
 */
#ifndef GNOMON_LIVE_AGENT_H
#define GNOMON_LIVE_AGENT_H

#include "base/error.h"
#include "live/exchanges.h"
#include "live/job.h"
#include "live/trace_part.h"

#include <sqlite3.h>
#include <stdbool.h>

struct gn_agent_settings {
    const char *command; /* the program and its arguments, for the record */
    const char *program; /* its name */
    const char *into;    /* run folder given by the front `gnomon run`, or NULL */
    bool quiet;          /* print no report */
    int output;          /* where the report and messages go, a descriptor; 0: standard error */
    uint32_t locations;  /* threads per process that can be measured */
    struct gn_trace_settings trace;
    struct gn_exchange_settings exchange;
    const char *config; /* effective settings as text, kept in the folder */
    /* Prints the report of a profile to a descriptor. The folder is for the reader to name in the next
     * command. */
    void (*report)(sqlite3 *profile, const char *folder, int descriptor);
};

/*
 * Makes this process known to the job's agent on this host, starting the agent when there is none. Returns 0
 * and the agent's socket name, or a negative errno value; the caller then runs the program unmeasured.
 */
int gn_agent_enlist(const struct gn_job *job, const struct gn_agent_settings *settings, char socket_name[64],
                    struct gn_error *err);

/* Connects to an agent and asks for its index-th segment, mapped read-only into *segment with its size. The
 * agent is named by its socket. -ENOENT: no such index. */
struct gn_tag;
int gn_agent_attach(const char *socket_name, int index, struct gn_tag **segment, unsigned long *bytes,
                    struct gn_error *err);

#endif

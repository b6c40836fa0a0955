/*
 * live/enlist — what `gnomon run` does in each rank, before it becomes the program: it makes itself known to
 * the agent of the job on this host, and starts it when there is none.
 *
 * Every rank goes through here, thousands at a time, so all of this needs nothing but the C library. The
 * agent needs a dozen more libraries: it is another program, started once per host.
 *
 *   rank ── connect, refused ── bind ── fork, fork, exec ──► agent (live/agent.h): reads the order, listens
 *        └─ connect ── hello ──────────────────────────────►
 */
#ifndef GNOMON_LIVE_ENLIST_H
#define GNOMON_LIVE_ENLIST_H

#include "base/error.h"
#include "live/exchanges.h"
#include "live/job.h"
#include "live/trace_part.h"

#include <stdbool.h>
#include <stdint.h>

/* How the agent reports the run. */
enum gn_agent_report_kind {
    GN_REPORT_RUN,         /* as `gnomon run` does */
    GN_REPORT_FOLDER,      /* the folder alone, for `gnomon clock`; removed when nobody reads that */
    GN_REPORT_FOLDER_KEPT, /* likewise, but it stays */
    GN_AGENT_REPORTS
};

struct gn_agent_settings {
    const char *executable; /* the program with the command `agent` */
    const char *command;    /* the program that is measured and its arguments, for the record */
    const char *program;    /* its name */
    const char *into;       /* run folder given by the front `gnomon run`, or NULL */
    bool quiet;             /* print no report */
    int output;             /* where the report and messages go, a descriptor; 0: standard error */
    uint32_t locations;     /* threads per process that can be measured */
    struct gn_trace_settings trace;
    struct gn_exchange_settings exchange;
    const char *config; /* effective settings as text, kept in the folder */
    enum gn_agent_report_kind report;
};

#define GN_AGENT_ORDER_MAGIC 0x6f72646572310000ull

/* The same, for a program that is started: never leaves the machine, nor this version of gnomon. */
struct gn_agent_order {
    uint64_t magic;
    struct gn_job job;
    int listener, launcher_error, launcher_handle; /* descriptors, -1 none */
    enum gn_agent_report_kind report;
    bool quiet;
    uint32_t locations;
    struct gn_trace_settings trace;
    struct gn_exchange_settings exchange;
    char command[1024], program[4096], into[4096], config[4096];
};

/*
 * Makes this process known to the job's agent on this host, starting the agent when there is none. Returns 0
 * and the agent's socket name, or a negative errno value; the caller then runs the program unmeasured.
 */
int gn_agent_enlist(const struct gn_job *job, const struct gn_agent_settings *settings, char socket_name[64],
                    struct gn_error *err);

#endif

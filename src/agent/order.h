/* agent/order — what an agent is told to do by who starts it. */
#ifndef GNOMON_AGENT_ORDER_H
#define GNOMON_AGENT_ORDER_H

#include "agent/job.h"
#include "exchange/exchanges.h"

#include <stdbool.h>
#include <stdint.h>

struct gn_trace_settings {
    uint32_t ring_records; /* per location, a power of two; 0: no trace */
    bool block;            /* a full ring makes the program wait */
    double windows_rate;   /* events a second of a host that are kept, in windows; 0: all of them are */
    double hz;             /* of the counter, as the other hosts were told; 0: to be measured */
};

struct gn_sample_settings {
    unsigned hz;      /* of each thread; 0: no samples */
    bool by_signal;   /* threads say themselves where they are (image/signal_samples.h) */
    uint32_t metrics; /* a bit for each (graph/metrics.h) that is counted, too */
};

enum { GN_SAMPLE_HZ = 100, GN_SAMPLE_MOST_HZ = 1000 }; /* of each thread */
enum { GN_WINDOWS_MOST_RATE = 100000000 };

/* How the agent reports the run. */
enum gn_agent_report_kind {
    GN_REPORT_RUN,         /* as `gnomon run` does */
    GN_REPORT_EXPLAINED,   /* … and why it took as long */
    GN_REPORT_FOLDER,      /* the folder alone, for `gnomon clock`; removed when nobody reads that */
    GN_REPORT_FOLDER_KEPT, /* likewise, but it stays */
    GN_AGENT_REPORTS
};

struct gn_agent_settings {
    const char *executable; /* the program with the command `agent` */
    const char *guard;      /* the program with the command `guard`, NULL: this one stays what it is */
    const char *command;    /* the program that is measured and its arguments, for the record */
    const char *program;    /* its name */
    const char *into;       /* run folder given by the front `gnomon run`, or NULL */
    const char *link;       /* to the capture library, removed at the run's end; NULL: none */
    const char *where;      /* else: the folder to make it in, NULL or empty for the working directory */
    bool quiet;             /* print no report */
    int output;             /* where the report and messages go, a descriptor; 0: standard error */
    uint32_t locations;     /* threads per process that can be measured */
    struct gn_trace_settings trace;
    struct gn_sample_settings sample;
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
    struct gn_sample_settings sample;
    struct gn_exchange_settings exchange;
    char command[1024], program[4096], into[4096], link[96], where[4096], config[4096];
};

#endif

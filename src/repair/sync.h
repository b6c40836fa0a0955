/*
 * repair/sync — repairs the timestamps of a trace: reads it, runs the controlled logical clock over it
 * (repair/repair.h), and writes it again with the new times (trace/retime.h). By one process, or by those of
 * an MPI job together; each has the events of some processes of the trace.
 *
 * A list of passes, each a line of the table in sync.c that says what it needs and what it makes.
 */
#ifndef GNOMON_REPAIR_SYNC_H
#define GNOMON_REPAIR_SYNC_H

#include "repair/condition.h"
#include "repair/extract.h"
#include "repair/latency_spec.h"
#include "repair/repair.h"
#include "repair/retiming.h"
#include "repair/sync_clocks.h"

/* Who is told while it goes on. Functions that are NULL are not called. */
struct gn_sync_watcher {
    void *self;
    void (*show)(void *self, const char *phase, double share); /* often; need not return */
    /* From here on `clean` has to be called with its argument if the program ends; NULL: nothing has to. */
    void (*unfinished)(void *self, void (*clean)(void *argument), void *argument);
    void (*gives_up)(void *self, const char *why); /* the whole job ends: the others would wait */
};

struct gn_sync_settings {
    const char *trace; /* as for gn_trace_open */
    const char *out;   /* folder of the new archive, which is not there yet or empty */
    enum gn_sync_presync presync;
    double gamma;          /* between 0 and 1; 0: by what it starts from */
    double slope;          /* of the backward amortization; 0: none */
    double longest_ns;     /* of its windows */
    double threshold_ns;   /* 0: three times the largest violation */
    uint64_t memory_bytes; /* of ops, before a file is used */
    struct gn_latency_spec latency;
    bool verify;
    bool keeps_going; /* although event files are missing, or are of no location */
    const struct gn_transport *transport;
    struct gn_bounds_asker bounds; /* outlives the report */
    struct gn_sync_watcher watcher;
};

/* Whose time gn_sync measures itself; the rest is in the result. */
enum gn_sync_phase {
    GN_SYNC_READ,
    GN_SYNC_REPAIR,
    GN_SYNC_WRITE,
    GN_SYNC_VERIFY,
    GN_SYNC_PHASES,
    GN_SYNC_UNTIMED = GN_SYNC_PHASES
};

/* The same in all processes, but for the times. Times are ticks of the archive. */
struct gn_sync_report {
    const char *trace, *out;
    const struct gn_definitions *definitions;
    struct gn_sync_clocks clocks;
    struct gn_extract_stats events;
    struct gn_repair_result repair;
    bool is_unchanged;             /* nothing violated the clock condition: all timestamps are as they were */
    uint64_t written;              /* events */
    struct gn_deviation deviation; /* of changed ones */
    bool was_verified;
    struct gn_condition condition; /* of the new archive */
    uint64_t truncated, missing_files;
    uint32_t ranks; /* processes that worked together */
    double seconds[GN_SYNC_PHASES];
    bool is_bad_input; /* after an error: of the trace, of where OUT is to be, or of a file that is named */
    struct gn_source source; /* what definitions and clocks belong to */
};

/*
 * By all processes of the transport together. 0, and the caller clears the report; or a negative errno value
 * with err saying what; empty: another process says it. Then there is no new archive: what was written of it
 * is removed, and only is_bad_input is set.
 */
int gn_sync(const struct gn_sync_settings *settings, struct gn_sync_report *report, struct gn_error *err);
void gn_sync_report_clear(struct gn_sync_report *report);

#endif

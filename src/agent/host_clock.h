/*
 * agent/host_clock — this host's clock in a run: the counter that its events are on, and, in a job on several
 * hosts, how it was compared with the others'.
 *
 *   open ──► sheet ──► begin ──► end ──► save
 *      │       (the envoy meets the others: docs/clock-meeting.md)
 *      └───────────────────────────────► save     one host, or the hosts did not meet
 *
 * Where cores have counters of their own, each group of cores that shares one is a clock domain: "host" for
 * the group of the first core, whose counter the agent reads, "host/2" and so on for the others. A process
 * whose threads may run on cores of several groups has none (docs/clocks.md).
 */
#ifndef GNOMON_AGENT_HOST_CLOCK_H
#define GNOMON_AGENT_HOST_CLOCK_H

#include "base/error.h"
#include "capture/protocol.h"
#include "clock/core_groups.h"
#include "clock/counter.h"
#include "exchange/exchanges.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum { GN_DOMAIN_BYTES = 80 };

struct gn_host_clock {
    const char *host;
    struct gn_counter counter;      /* without a name until it has been measured */
    uint64_t first_ticks;           /* when the agent began, of the processor's counter */
    struct gn_exchanges *exchanges; /* NULL: one host, or they could not be opened */
    struct gn_sheet *sheet;         /* while the hosts meet */
    size_t sheet_bytes;
    bool asked;                /* an envoy has gone */
    struct gn_endpoint *hosts; /* of all hosts that have met, NULL: they have not */
    uint32_t count, own;
    bool began;
    struct gn_core_groups groups; /* at the begin; none: they were not looked for */
    bool mixed;                   /* several were found too late: nothing is known of any time of this host */
    struct gn_error problem;      /* why this host is not compared, empty: it is, or there is no other */
};

/* Ahead of all else, when times of several processes are going to be compared: finds out whether the cores
 * share the counter, in 20 ms or a little more, and binds this thread to cores that do. */
void gn_host_clock_begin(struct gn_host_clock *clock);

/* Notes on which group of cores a process may run now; *group is GN_CORE_NOT_OURS before the first time. Once
 * in a while, since programs change that. */
void gn_host_clock_watch(const struct gn_host_clock *clock, int pid, int *group);

/* The reading of that group's counter, in this thread. */
uint64_t gn_host_clock_now(const struct gn_host_clock *clock, int group);

/* A reading of ours as it stands in exchanges, traces and profiles: the same, but in tests of clocks. */
uint64_t gn_host_clock_shown(const struct gn_host_clock *clock, uint64_t ticks);

/* The domain that times of processes of that group are on; NULL: none. Known after save. */
const char *gn_host_clock_domain(const struct gn_host_clock *clock, int group, char name[GN_DOMAIN_BYTES]);

/* The job is on several hosts: opens the exchanges. Once. */
void gn_host_clock_open(struct gn_host_clock *clock, const struct gn_exchange_settings *settings);

/* The sheet for the envoy: a memory file, which the caller hands on and closes. world, local and first_rank
 * as in struct gn_sheet. -EALREADY: somebody has it; -ENOTSUP: nothing to meet for; other negative errno. */
int gn_host_clock_sheet(struct gn_host_clock *clock, int world, int local, int first_rank);

/* The envoy has come back: hosts in its table, 0 when there is none, and why. */
void gn_host_clock_met(struct gn_host_clock *clock, int hosts, const char *why_not);

/* All ranks have ended: the last exchanges. Takes 2 seconds at most. */
void gn_host_clock_end(struct gn_host_clock *clock);

/* Measures the counter, once, where that has not been done: it takes a core for 10 to 20 ms, and whatever
 * saves wants to know. */
void gn_host_clock_measure(struct gn_host_clock *clock);

/* Writes what is known into a profile. Tries all cores for 50 ms at most: after the end of the program. */
int gn_host_clock_save(struct gn_host_clock *clock, sqlite3 *db, struct gn_error *err);

/* The same in the middle of the run, for the case that this is the last that is heard of this host. */
int gn_host_clock_checkpoint(struct gn_host_clock *clock, sqlite3 *db, struct gn_error *err);

void gn_host_clock_clear(struct gn_host_clock *clock);

#endif

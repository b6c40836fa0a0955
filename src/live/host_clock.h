/*
 * live/host_clock — this host's clock in a run: the counter that its events are on, and, in a job on several
 * hosts, how it was compared with the others'.
 *
 *   open ──► sheet ──► begin ──► end ──► save
 *      │       (the envoy meets the others: docs/clock-meeting.md)
 *      └───────────────────────────────► save     one host, or the hosts did not meet
 */
#ifndef GNOMON_LIVE_HOST_CLOCK_H
#define GNOMON_LIVE_HOST_CLOCK_H

#include "base/error.h"
#include "capture/protocol.h"
#include "live/exchanges.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct gn_host_clock {
    const char *host;
    uint64_t first_ticks;           /* when the agent began, of the processor's counter */
    struct gn_exchanges *exchanges; /* NULL: one host, or they could not be opened */
    struct gn_sheet *sheet;         /* while the hosts meet */
    size_t sheet_bytes;
    bool asked;                /* an envoy has gone */
    struct gn_endpoint *hosts; /* of all hosts that have met, NULL: they have not */
    uint32_t count, own;
    bool began;
    struct gn_error problem; /* why this host is not compared, empty: it is, or there is no other */
};

/* The job is on several hosts: opens the exchanges. Once. */
void gn_host_clock_open(struct gn_host_clock *clock, const struct gn_exchange_settings *settings);

/* The sheet for the envoy: a memory file, which the caller hands on and closes. world, local and first_rank
 * as in struct gn_sheet. -EALREADY: somebody has it; -ENOTSUP: nothing to meet for; other negative errno. */
int gn_host_clock_sheet(struct gn_host_clock *clock, int world, int local, int first_rank);

/* The envoy has come back: hosts in its table, 0 when there is none, and why. */
void gn_host_clock_met(struct gn_host_clock *clock, int hosts, const char *why_not);

/* All ranks have ended: the last exchanges. Takes 2 seconds at most. */
void gn_host_clock_end(struct gn_host_clock *clock);

/* Writes what is known into a profile. Tries all cores for 50 ms at most: after the end of the program. */
int gn_host_clock_save(struct gn_host_clock *clock, sqlite3 *db, struct gn_error *err);

void gn_host_clock_clear(struct gn_host_clock *clock);

#endif

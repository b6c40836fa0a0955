/*
 * exchange/exchanges — the agent's exchanges of clock readings with the agents of the run's other hosts.
 *
 * Hosts form a tree: host 0 is the reference, each other host asks its parent, so that the time to calibrate
 * grows with the depth. A thread of the agent answers the children and asks the parent: bursts of questions
 * at the start, ever more rarely down to a low rate during the run, and once more at the end. Datagrams carry
 * a message authentication code under the run's key; whatever does not verify, was seen before or was not
 * asked for changes nothing.
 *
 *   child                                  parent
 *     QUESTION (number) ───────────────────►  heard
 *     received  ◄─────────────────────────── ANSWER (number)
 *               ◄─────────────────────────── READINGS (number, heard, answered, moment of the run)
 *
 * READINGS follow on their own, so that `answered` can be read as late as possible, by the kernel where it
 * can. A question is answered once, however often it comes: readings of one answer cannot be taken for
 * another's. See docs/clock-exchanges.md.
 */
#ifndef GNOMON_EXCHANGE_EXCHANGES_H
#define GNOMON_EXCHANGE_EXCHANGES_H

#include "base/error.h"
#include "clock/clocks.h"
#include "clock/exchange.h"
#include "exchange/endpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_exchange_settings {
    unsigned branching;   /* children per host, 0: 4; 1 makes a chain */
    unsigned interval_ms; /* between bursts in the long run, 0: 100 */
    unsigned burst;       /* questions per burst, 0: 8 */
    size_t keep;          /* exchanges to keep one by one for comparisons, 0: none */
    bool no_kernel_stamps;
};

/* What has become of a host's exchanges with its parent. */
struct gn_exchange_report {
    uint32_t parent;                    /* index of the host asked; UINT32_MAX: this is the reference */
    uint64_t asked, answered, narrowed; /* questions; answered ones; those that kernel time stamps narrowed */
    uint64_t served;                    /* questions of others answered */
    uint64_t refused;                   /* datagrams that did not verify or came again */
    const char
        *problem; /* what there is to tell the user: unreachable, no permission, stepped; NULL: nothing */
};

struct gn_exchanges;

/* Opens the socket and fills the endpoint of this host. Nothing is sent yet. Errors: negative errno. */
int gn_exchanges_open(struct gn_exchanges **exchanges, const char *host,
                      const struct gn_exchange_settings *settings, struct gn_error *err);
const struct gn_endpoint *gn_exchanges_endpoint(const struct gn_exchanges *exchanges);

/* Begins, in a thread of its own: hosts[own] is this host. key and hosts are copied. */
int gn_exchanges_begin(struct gn_exchanges *exchanges, const uint8_t key[GN_KEY_BYTES],
                       const struct gn_endpoint *hosts, uint32_t count, uint32_t own, struct gn_error *err);

/*
 * How long the run has lasted, in ns, as all hosts have it: since host 0 began, by as much less as a datagram
 * from the parent takes, and as its parent's took. 0: not known (yet). From any thread, at no cost.
 */
uint64_t gn_exchanges_moment(struct gn_exchanges *exchanges);
/* A number that is the same on all hosts of the run, and of another run another one; 0 before the begin,
 * never 0 when there is a moment. From any thread. */
uint64_t gn_exchanges_common(const struct gn_exchanges *exchanges);

/* The last burst, and a while of serving for children that have not had theirs: bounded by patience_ms. */
void gn_exchanges_end(struct gn_exchanges *exchanges, unsigned patience_ms);

/* After the end. clocks: domain 0 is the parent, 1 this host; NULL for the reference, and when the parent
 * takes no part. kept: the exchanges that were to be kept, in the order of asking. All stay the exchanges'.
 */
const struct gn_exchange_report *gn_exchanges_report(const struct gn_exchanges *exchanges);
const struct gn_clocks *gn_exchanges_clocks(const struct gn_exchanges *exchanges);
const struct gn_exchange *gn_exchanges_kept(const struct gn_exchanges *exchanges, size_t *count);

/* What the above give, in the middle of it all: a copy, but for a problem that is only told at the end. Holds
 * the exchanges up for less than a millisecond. 0 or -ENOMEM; the caller clears. */
struct gn_exchange_snapshot {
    struct gn_exchange_report report;
    struct gn_clocks *clocks;
    struct gn_exchange *kept;
    size_t kept_count;
};
int gn_exchanges_snapshot(struct gn_exchanges *exchanges, struct gn_exchange_snapshot *snapshot);
void gn_exchange_snapshot_clear(struct gn_exchange_snapshot *snapshot);

void gn_exchanges_free(struct gn_exchanges *exchanges);

#endif

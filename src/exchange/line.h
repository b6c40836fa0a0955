/* exchange/line — what a host asks and answers with: its socket, the run's key, its place in the run, its
 * clock, and how long the run has lasted.
 */
#ifndef GNOMON_EXCHANGE_LINE_H
#define GNOMON_EXCHANGE_LINE_H

#include "exchange/simulated.h"
#include "exchange/datagram.h"
#include "exchange/stamped_socket.h"
#include "clock/ticks.h"

#include <stdatomic.h>

struct gn_exchange_line {
    struct gn_stamped_socket socket;
    uint8_t key[GN_DATAGRAM_KEY_BYTES];
    uint32_t own;
    struct gn_simulated_clock simulated;
    atomic_ullong began_ns; /* of the run's time, by this host's CLOCK_MONOTONIC_RAW; 0: not known yet */
    uint64_t refused;       /* datagrams that did not verify, came again or were not asked for */
};

/* Sealed before the clock is read. left: as gn_stamped_socket_send. */
static inline int gn_line_send(struct gn_exchange_line *line, const struct gn_exchange_peer *to,
                               const struct gn_datagram *d, struct gn_reading *left)
{
    uint8_t bytes[GN_DATAGRAM_BYTES];
    gn_datagram_seal(bytes, d, line->key);
    return gn_stamped_socket_send(&line->socket, to, bytes, sizeof bytes, left);
}

/* What this host's clock showed: the counter, unless a test has given it another. */
static inline uint64_t gn_line_shown(const struct gn_exchange_line *line, const struct gn_reading *reading)
{
    return gn_simulated_reading(&line->simulated, gn_reading_best(&line->socket, reading));
}

/* Of the run's time, which begins when its first host's exchanges do; 0: not known yet. From any thread. */
static inline uint64_t gn_line_moment(struct gn_exchange_line *line)
{
    const uint64_t began_ns = atomic_load(&line->began_ns), now_ns = gn_monotonic_ns();
    return began_ns && now_ns > began_ns ? now_ns - began_ns : 0;
}

#endif

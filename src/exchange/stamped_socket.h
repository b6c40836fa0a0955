/*
 * exchange/stamped_socket — a UDP socket whose datagrams come and go with readings of the counter: from
 * before they left, from after they arrived, as near to the wire as can be had.
 *
 * The plain readings are those of this process around its system calls. The kernel's time stamps are nearer:
 * it stamps a datagram just before the driver has it, and as soon as it comes from there. They narrow the
 * plain ones, never replace them: no stamp, or none that can be told in ticks, is no harm.
 *
 * Stamps of sent datagrams come back by number. Datagrams that failed to be sent are not counted here: should
 * the kernel have counted them, stamps are taken for those of later datagrams, which is too early to narrow
 * anything, and not for those of earlier ones, which would be wrong.
 */
#ifndef GNOMON_EXCHANGE_STAMPED_SOCKET_H
#define GNOMON_EXCHANGE_STAMPED_SOCKET_H

#include "base/error.h"
#include "clock/counter.h"
#include "exchange/kernel_clock.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one datagram. Departures: narrow >= plain, arrivals: narrow <= plain; equal without a stamp. */
struct gn_reading {
    uint64_t plain_ticks, narrow_ticks;
    int64_t stamp_ns; /* the kernel's, of an arrival that is not narrowed yet; 0: none */
};

/* The other end, and which of our addresses it knows us by. */
struct gn_exchange_peer {
    struct sockaddr_in6 address; /* IPv4 as ::ffff:a.b.c.d */
    struct in6_addr local;       /* :: when it does not matter */
    uint32_t interface;
};

struct gn_stamped_socket {
    int fd;
    bool only_v4;
    uint16_t port;
    bool kernel;         /* stamps are asked for */
    const char *why_not; /* why not; NULL: they are, or were not wanted */
    uint32_t next_stamp; /* number of the next datagram with one */
    unsigned missing;    /* stamps in a row that did not come in time */
    struct gn_kernel_clock clock;
};

/* Any address, any port. counter: measured. Errors: negative errno. */
int gn_stamped_socket_open(struct gn_stamped_socket *socket, const struct gn_counter *counter, bool kernel,
                           struct gn_error *err);
void gn_stamped_socket_close(struct gn_stamped_socket *socket);

/* left NULL: nobody wants to know when. 0, or a negative errno value. Does not wait, but for a stamp that is
 * under way: not longer than a millisecond. */
int gn_stamped_socket_send(struct gn_stamped_socket *socket, const struct gn_exchange_peer *to,
                           const void *bytes, size_t size, struct gn_reading *left);

/* The length of the datagram, which may be more than was there to take; -EAGAIN: there is none. */
long gn_stamped_socket_receive(struct gn_stamped_socket *socket, struct gn_exchange_peer *from, void *bytes,
                               size_t size, struct gn_reading *arrived);

/* To be done soon after receiving, with datagrams that are worth it. */
void gn_stamped_socket_narrow(struct gn_stamped_socket *socket, struct gn_reading *arrived);

/* Stamps that came too late are thrown away, and an error of the socket, so that poll() does not tell of them
 * again. */
void gn_stamped_socket_discard(struct gn_stamped_socket *socket);

/* Asks the kernel whether the readings since this was last called may be believed. */
void gn_stamped_socket_check(struct gn_stamped_socket *socket);

/* The narrow reading, if it may be believed by the last check. */
uint64_t gn_reading_best(const struct gn_stamped_socket *socket, const struct gn_reading *reading);

#endif

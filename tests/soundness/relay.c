/*
 * relay — joins network interfaces, late by other times in one direction than in the other, and loses
 * datagrams.
 *
 *     relay UP_US DOWN_US LOSS_PERCENT INTERFACE...
 *
 * The last byte of a host's hardware address is its number. What goes to a host with a lower number is on its
 * way for UP_US, anything else for DOWN_US; each with a tail of random length. Only UDP is lost: TCP would
 * recover, but slowly. Frames keep the kernel's header for unfinished checksums, so that nobody has to
 * compute them here.
 */
#include "base/mix.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { PORTS = 16, WAITING = 1024, FRAME = 70000, HEADER = 10 /* struct virtio_net_hdr */ };

struct frame {
    uint64_t due_ns;
    int from, size; /* size 0: a free place */
    unsigned char bytes[FRAME];
};

struct relay {
    double up_ns, down_ns, loss;
    int ports;
    struct pollfd port[PORTS];
    struct frame *waiting;
    uint64_t state;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int open_port(const char *name)
{
    int on = 1, socket_fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(name)};
    struct packet_mreq all = {.mr_ifindex = address.sll_ifindex, .mr_type = PACKET_MR_PROMISC};
    if (socket_fd < 0 || address.sll_ifindex == 0 ||
        setsockopt(socket_fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) < 0 ||
        setsockopt(socket_fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) < 0 ||
        bind(socket_fd, (struct sockaddr *)&address, sizeof address) < 0)
        fail(name);
    return socket_fd;
}

static bool is_lost(struct relay *relay, const unsigned char *frame)
{
    bool is_udp = frame[12] == 8 && frame[13] == 0 && frame[23] == 17;
    return is_udp && gn_mix_unit(gn_mix_next(&relay->state)) < relay->loss;
}

static double delay_ns(struct relay *relay, const unsigned char *frame)
{
    if (frame[0] & 1)
        return 0; /* to all */
    double base = frame[5] < frame[11] ? relay->up_ns : relay->down_ns;
    return base + gn_mix_exponential(gn_mix_next(&relay->state), base / 10);
}

static struct frame *free_place(struct relay *relay)
{
    for (int i = 0; i < WAITING; i++)
        if (relay->waiting[i].size == 0)
            return &relay->waiting[i];
    return NULL;
}

static void take(struct relay *relay, int port)
{
    struct frame *frame;
    while ((frame = free_place(relay))) {
        struct sockaddr_ll from;
        socklen_t length = sizeof from;
        ssize_t size =
            recvfrom(relay->port[port].fd, frame->bytes, FRAME, 0, (struct sockaddr *)&from, &length);
        if (size < 0)
            return;
        if (from.sll_pkttype == PACKET_OUTGOING || size < HEADER + 34 ||
            is_lost(relay, frame->bytes + HEADER))
            continue;
        frame->from = port;
        frame->due_ns = now_ns() + (uint64_t)delay_ns(relay, frame->bytes + HEADER);
        frame->size = (int)size;
    }
}

/* Sends what is due. Returns how long nothing will be, at most 100 ms. */
static uint64_t send_due(struct relay *relay)
{
    uint64_t now = now_ns(), next = now + 100000000;
    for (int i = 0; i < WAITING; i++) {
        struct frame *frame = &relay->waiting[i];
        if (frame->size == 0)
            continue;
        if (frame->due_ns > now) {
            next = frame->due_ns < next ? frame->due_ns : next;
            continue;
        }
        for (int port = 0; port < relay->ports; port++)
            if (port != frame->from && send(relay->port[port].fd, frame->bytes, (size_t)frame->size, 0) < 0 &&
                errno != ENOBUFS && errno != EAGAIN && errno != ENETDOWN)
                fail("sending");
        frame->size = 0;
    }
    return next - now;
}

int main(int argc, char **argv)
{
    struct relay relay = {.state = 1};
    if (argc < 6 || argc - 4 > PORTS) {
        fprintf(stderr, "usage: relay UP_US DOWN_US LOSS_PERCENT INTERFACE...\n");
        return 2;
    }
    relay.up_ns = atof(argv[1]) * 1000;
    relay.down_ns = atof(argv[2]) * 1000;
    relay.loss = atof(argv[3]) / 100;
    relay.ports = argc - 4;
    relay.waiting = calloc(WAITING, sizeof *relay.waiting);
    if (!relay.waiting)
        fail("memory");
    for (int i = 0; i < relay.ports; i++)
        relay.port[i] = (struct pollfd){open_port(argv[4 + i]), POLLIN, 0};
    for (;;) {
        uint64_t wait_ns = send_due(&relay);
        struct timespec timeout = {0, (long)wait_ns};
        if (ppoll(relay.port, (nfds_t)relay.ports, &timeout, NULL) < 0 && errno != EINTR)
            fail("waiting");
        for (int i = 0; i < relay.ports; i++)
            take(&relay, i);
    }
}

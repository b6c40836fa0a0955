#include "agent/rendezvous.h"

#include "capture/channel.h"
#include "clock/ticks.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { NAP_MS = 20 };

static int taken(const struct gn_rendezvous *r, const struct gn_channel_peer *by, struct gn_error *err)
{
    return gn_fail(
        err, -EADDRINUSE,
        "another user (uid %u, process %d) has taken the name of gnomon's agent on this host, @%s; "
        "the next run has another name",
        by->user, by->pid, r->name);
}

static int no_answer(const struct gn_rendezvous *r, struct gn_error *err)
{
    return gn_fail(
        err, -EADDRINUSE,
        "cannot start or reach gnomon's agent on this host: nobody answers to its name, @%s, and it "
        "is not free (`ss -xlp` says to root whose it is)",
        r->name);
}

static void nap(struct gn_rendezvous *r, uint64_t since_ns)
{
    usleep(NAP_MS * 1000);
    r->waited_ms += (unsigned)((gn_monotonic_ns() - since_ns) / 1000000);
}

int gn_rendezvous_come(struct gn_rendezvous *r, int *connection, int *listener, struct gn_error *err)
{
    struct gn_channel_peer peer;
    *listener = -1;
    while (r->waited_ms < GN_CHANNEL_PATIENCE_MS) {
        uint64_t begin_ns = gn_monotonic_ns();
        *connection = gn_channel_connect(r->name, GN_CHANNEL_PATIENCE_MS - r->waited_ms, &peer);
        if (*connection >= 0)
            return 0;
        if (*connection == -EPERM)
            return taken(r, &peer, err);
        *connection = -1;
        *listener = gn_channel_listen(r->name);
        if (*listener >= 0)
            return 0;
        if (*listener != -EADDRINUSE)
            return gn_fail(err, *listener, "cannot make a socket for gnomon's agent on this host: %s",
                           strerror(-*listener));
        nap(r, begin_ns);
    }
    return no_answer(r, err);
}

/*
 * capture/channel — the local socket between agent, ranks and readers; messages of capture/protocol.h. Part
 * of the capture library too: takes no memory from the program.
 */
#ifndef GNOMON_CAPTURE_CHANNEL_H
#define GNOMON_CAPTURE_CHANNEL_H

#include "capture/protocol.h"

#include <stdbool.h>
#include <sys/types.h>

struct gn_channel_peer {
    int pid;
    unsigned user;
};

enum { GN_CHANNEL_PATIENCE_MS = 1900 }; /* for a name that nobody known answers to */

/* A listening socket of that abstract name; -EADDRINUSE when somebody listens already. */
int gn_channel_listen(const char *name);
/*
 * A connection to whoever listens by that name, if it is the same user: anybody can compute a name, and take
 * it before the agent does. Waits for room in a full queue for patience_ms at most (0: no limit), as nothing
 * is known yet of whose it is; and for each answer 10 s. peer may be NULL. Negative errno; -EPERM: peer is
 * another user, who has been sent nothing; -EAGAIN: the queue stayed full.
 */
int gn_channel_connect(const char *name, unsigned patience_ms, struct gn_channel_peer *peer);
/* Whether somebody listens, or at least listened a moment ago. Does not wait. */
bool gn_channel_is_there(const char *name);
/* One packet of `size` bytes with, when descriptor >= 0, that descriptor along; never SIGPIPE. 0, -errno, or
 * -EPROTO when not all of it went. */
int gn_channel_pass(int fd, const void *bytes, size_t size, int descriptor);
/* The other end of it: the bytes that came (no more than size), 0 at the end, or -errno. *descriptor is -1
 * when none came. */
ssize_t gn_channel_take(int fd, void *bytes, size_t size, int *descriptor);

/* Sends a message and, when descriptor >= 0, that descriptor along. */
int gn_channel_send(int fd, const struct gn_message *message, int descriptor);
/* Receives a well-formed message; *descriptor is -1 when none came. -ECONNRESET: the other end is gone;
 * -EPROTO: it said something else. */
int gn_channel_receive(int fd, struct gn_message *message, int *descriptor);
/* Who is at the other end: who connected, or who began to listen. -EPERM when that is another user. */
int gn_channel_peer(int fd, struct gn_channel_peer *peer);

#endif

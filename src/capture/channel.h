/*
 * capture/channel — the local socket between agent, ranks and readers; messages of capture/protocol.h. Part
 * of the capture library too: takes no memory from the program.
 */
#ifndef GNOMON_CAPTURE_CHANNEL_H
#define GNOMON_CAPTURE_CHANNEL_H

#include "capture/protocol.h"

/* A listening socket of that abstract name; -EADDRINUSE when somebody listens already. */
int gn_channel_listen(const char *name);
/* A connection to it, with time limits set; negative errno. */
int gn_channel_connect(const char *name);
/* Sends a message and, when descriptor >= 0, that descriptor along. */
int gn_channel_send(int fd, const struct gn_message *message, int descriptor);
/* Receives a well-formed message; *descriptor is -1 when none came. -EPROTO otherwise. */
int gn_channel_receive(int fd, struct gn_message *message, int *descriptor);
/* Whether the other end runs as the same user; its process id in *pid. */
int gn_channel_peer(int fd, int *pid);

#endif

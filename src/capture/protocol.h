/*
 * capture/protocol — what a measured process, `gnomon run` and readers say to the agent of their host.
 *
 * One datagram-preserving local socket (AF_UNIX, SOCK_SEQPACKET, abstract name from GNOMON_AGENT), one
 * request and one reply per connection. The other end is checked by its credentials (same user), the message
 * by magic, version and size; whatever does not fit is dropped.
 *
 *   gnomon run → agent   GN_HELLO_RUN   "I am about to become the program"  (+ its standard error)
 *   capture    → agent   GN_HELLO_RANK  "MPI_Init was called here"          (reply: + the segment)
 *   capture    → agent   GN_HELLO_TRACE "and I am to be traced"             (reply: + the ring segment)
 *   reader     → agent   GN_ATTACH      "give me the i-th segment"          (reply: + the segment)
 *   reader     → agent   GN_STREAM      "write me the events"               (+ a pipe's or socket's end to
 * write to)
 */
#ifndef GNOMON_CAPTURE_PROTOCOL_H
#define GNOMON_CAPTURE_PROTOCOL_H

#include <stdint.h>

#define GN_PROTOCOL_MAGIC 0x4e474147u
#define GN_PROTOCOL_VERSION 1u

enum gn_message_kind { GN_HELLO_RUN = 1, GN_HELLO_RANK, GN_ATTACH, GN_REPLY, GN_HELLO_TRACE, GN_STREAM };

struct gn_message {
    uint32_t magic, version, kind;
    int32_t status;    /* reply: 0, or a negative errno value */
    int32_t pid;       /* hello; checked against the socket's credentials */
    int32_t rank;      /* hello run: rank as the launcher says, -1 unknown; attach: index of the segment */
    int32_t agent_pid; /* reply */
    char text[512];    /* hello run: program; reply: run folder, or the reason of a refusal */
};

#endif

/*
 * capture/protocol — what a measured process, `gnomon run` and readers say to the agent of their host.
 *
 * One datagram-preserving local socket (AF_UNIX, SOCK_SEQPACKET, abstract name from GNOMON_AGENT), one
 * request and one reply per connection. The other end is checked by its credentials (same user), the message
 * by magic, version and size; whatever does not fit is dropped.
 *
 *   gnomon run → agent   GN_HELLO_RUN   "I am about to become the program"  (+ its standard error)
 *   capture    → agent   GN_HELLO_RANK  "MPI_Init was called here"          (reply: + the segment)
 *   capture    → agent   GN_UNMEASURED  "I go on without you"               (text: why)
 *   capture    → agent   GN_HELLO_TRACE "and my recorder?"                  (reply: + the ring segment; text:
 *                                                                            why it is not traced, if it is
 * not) capture    → agent   GN_MEET        "I can speak for this host"         (reply: + the sheet) capture
 * → agent   GN_MET         "its table is filled in"            (or not: text says why) reader     → agent
 * GN_ATTACH      "give me the i-th segment"          (reply: + the segment) reader     → agent   GN_STREAM
 * "write me the events"               (+ a pipe's or socket's end to write to)
 */
#ifndef GNOMON_CAPTURE_PROTOCOL_H
#define GNOMON_CAPTURE_PROTOCOL_H

#include <stdint.h>

#define GN_PROTOCOL_MAGIC 0x4e474147u
#define GN_PROTOCOL_VERSION 1u

enum gn_message_kind {
    GN_HELLO_RUN = 1,
    GN_HELLO_RANK,
    GN_ATTACH,
    GN_REPLY,
    GN_HELLO_TRACE,
    GN_STREAM,
    GN_MEET,
    GN_MET,
    GN_UNMEASURED
};

struct gn_message {
    uint32_t magic, version, kind;
    int32_t status;    /* hello run: the process of this host that spawned it, 0: none; hello rank: MiB of
                          addresses that the segment may take, 0: no limit; reply: 0, or a negative
                          errno value; meet: size of MPI_COMM_WORLD; met: 1 when the
                          ranks of the hosts in the table are all there are */
    int32_t pid;       /* hello; checked against the socket's credentials */
    int32_t rank;      /* hello run: rank as the launcher says, -1 unknown; attach: index of the segment;
                          meet: rank in MPI_COMM_WORLD; reply to hello rank: 1 when the job may be on several
                          hosts; met: hosts in the table */
    int32_t agent_pid; /* reply */
    char text[512];    /* hello run: program; unmeasured: why; reply: run folder, or the reason of a
                          refusal */
};

#define GN_SHEET_MAGIC 0x474e4d54u

enum { GN_SHEET_KEY_BYTES = 32, GN_SHEET_NAME_BYTES = 64 };

/*
 * Memory that agent and envoy share for as long as the hosts of a run meet (docs/clock-meeting.md): the agent
 * says who this host is, the envoy carries it to the others through MPI and fills in the table. An entry is
 * what an agent tells the others of itself; only agents know what it is.
 *
 *   header │ own entry │ table: entries of all hosts that meet, in their order
 */
struct gn_sheet {
    uint32_t magic;
    uint32_t entry_bytes;
    int32_t world;       /* ranks of the job, as the launcher said; room for as many entries */
    int32_t local;       /* of them on this host and measured */
    int32_t first_rank;  /* the lowest of them */
    uint32_t count, own; /* filled in: hosts that meet, and which of them this is */
    char host[GN_SHEET_NAME_BYTES];
    uint8_t key[GN_SHEET_KEY_BYTES]; /* a proposal; filled in: the first host's */
};

#endif

/*
 * capture/segment — obtains this process's shared segment from the agent of the host.
 * The connection lasts for one exchange; no descriptor stays open in the user's process.
 */
#ifndef GNOMON_CAPTURE_SEGMENT_H
#define GNOMON_CAPTURE_SEGMENT_H

#include "capture/protocol.h"
#include "image/recorder_ring.h"
#include "image/tag.h"

#include <stdbool.h>

enum {
    GN_ADDRESS_SHARE = 10, /* of a limited address space, a tenth is as much as we take */
    GN_ADDRESS_OTHER =
        100 << 20 /* what we take beside the segment: rings of 64 threads, requests, communicators */
};

/* Bytes of addresses that a segment may take where so many are all that a process has. */
static inline size_t gn_segment_room(size_t addresses)
{
    const size_t share = addresses / GN_ADDRESS_SHARE;
    return share > GN_ADDRESS_OTHER ? share - GN_ADDRESS_OTHER : 0;
}

/*
 * Asks the agent whose abstract socket name is `agent` for a segment and maps it, not inherited by children.
 * As large as the limit of this process's
 * addresses (ulimit -v) allows. Gives up after a few seconds. *several: the job may be on several hosts.
 * Returns 0 and the segment, or a negative errno value with `reason` (size bytes) saying why.
 */
int gn_segment_take(const char *agent, struct gn_tag **segment, bool *several, char *reason,
                    unsigned long size);

/* The same for the recorder; asked for after the other one. reason says why it is not traced: empty, it is.
 */
int gn_segment_take_rings(const char *agent, struct gn_ring_segment **segment, char *reason,
                          unsigned long size);

/* Lets the agent know that this process is not measured, and why. */
void gn_segment_decline(const char *agent, const char *reason);

#endif

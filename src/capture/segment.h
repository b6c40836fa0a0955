/*
 * capture/segment — obtains this process's shared segment from the agent of the host.
 * The connection lasts for one exchange; no descriptor stays open in the user's process.
 */
#ifndef GNOMON_CAPTURE_SEGMENT_H
#define GNOMON_CAPTURE_SEGMENT_H

#include "capture/protocol.h"
#include "image/recorder_ring.h"
#include "graph/tag.h"

#include <stdbool.h>

/*
 * Asks the agent whose abstract socket name is `agent` for a segment and maps it, not inherited by children.
 * Gives up after a few seconds. *several: the job may be on several hosts. Returns 0 and the segment, or a
 * negative errno value with `reason` (size bytes) saying why.
 */
int gn_segment_take(const char *agent, struct gn_tag **segment, bool *several, char *reason,
                    unsigned long size);

/* The same for the recorder; asked for after the other one. reason says why it is not traced: empty, it is.
 */
int gn_segment_take_rings(const char *agent, struct gn_ring_segment **segment, char *reason,
                          unsigned long size);

#endif

/* capture/follow — a request that a call has started: from here on capture/requests has it, or it is counted
 * as lost. */
#ifndef GNOMON_CAPTURE_FOLLOW_H
#define GNOMON_CAPTURE_FOLLOW_H

#include "capture/recorder.h"
#include "capture/requests.h"

/* The location whose table of requests a call uses. */
static inline uint32_t gn_follow_location(const struct gn_capture_call *call)
{
    return call->recorder ? call->recorder->location_index : GN_MAX_LOCATIONS;
}

/* The handle of a request that this call has started. */
gn_handle gn_new_request(struct gn_capture_call *call, const void *request);
/* Follows a request that this call has started, to its completion. trace and parts may be NULL. False: it is
 * shared (capture/requests.h), or there is no room, which is counted. */
bool gn_follow(struct gn_capture_call *call, gn_handle handle, struct gn_request request,
               const struct gn_request_trace *trace, const struct gn_capture_part *parts);

#endif

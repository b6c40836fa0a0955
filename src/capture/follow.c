#include "capture/follow.h"

#include "capture/counting.h"
#include "capture/facts.h"

gn_handle gn_new_request(struct gn_capture_call *call, const void *request)
{
    gn_handle handle = gn_request_handle(call->binding, request, 0);
    call->fortran = gn_fortran_learn(call->binding, request, handle);
    return handle;
}

bool gn_follow(struct gn_capture_call *call, gn_handle handle, struct gn_request request,
               const struct gn_request_trace *trace, const struct gn_capture_part *parts)
{
    request.recorder = call->recorder;
    request.node = call->node;
    request.since_ticks = call->exit_ticks;
    request.starter = call->recorder;
    request.start_ticks = call->exit_ticks;
    request.start_node = call->node;
    request.fortran = call->fortran;
    enum gn_follow_result result =
        gn_request_follow(gn_follow_location(call), handle, &request, trace, parts);
    if (result != GN_NO_ROOM)
        return result == GN_FOLLOWED;
    if (call->recorder)
        GN_LOST(call->recorder, requests);
    gn_counted_freed(&request);
    if (gn_request_counts(&request))
        gn_counts_unfollowed(&request);
    return false;
}

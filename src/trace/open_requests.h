/*
 * trace/open_requests — which requests of a process are open, to count what an archive gets wrong about them.
 *
 * A request may be started by one thread and completed by another. Locations are read in any order, so with
 * several of them a completion may be seen before the start: then only the sums are known at the end (and a
 * request that is started again while open counts as one that never completes).
 */
#ifndef GNOMON_TRACE_OPEN_REQUESTS_H
#define GNOMON_TRACE_OPEN_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_open_requests {
    struct gn_open_request {
        uint64_t id;
        int64_t balance; /* starts − completions; 0: a free slot */
    } * slots;
    size_t slot_count, count;
    bool several; /* locations in this process */
};

enum gn_request_fault { GN_REQUEST_FINE, GN_REQUEST_REUSED, GN_REQUEST_UNKNOWN };

void gn_open_requests_free(struct gn_open_requests *requests);

/* change: 1 started, −1 completed. Requests that there is no memory for are taken as fine. */
enum gn_request_fault gn_open_requests_change(struct gn_open_requests *requests, uint64_t id, int change);

/* At the end of the process: how many never completed, and how many completed without a start. */
void gn_open_requests_sum(const struct gn_open_requests *requests, uint64_t *open, uint64_t *unknown);

#endif

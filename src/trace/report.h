/* trace/report — what is not as it should be in an archive that is read. */
#ifndef GNOMON_TRACE_REPORT_H
#define GNOMON_TRACE_REPORT_H

#include <stdint.h>

/* What was found in the archive that is not as it should be. Final for a location when its last event is
 * pulled. */
struct gn_trace_report {
    char creator[128]; /* as the archive says */
    uint64_t events;   /* pulled */
    uint64_t skipped;  /* records of kinds that are not events here */
    /* counted repairs */
    uint64_t backward;  /* timestamps before the one ahead of it at the same location: kept as they are */
    uint64_t undefined; /* references to nothing: replaced by GN_NONE */
    uint64_t redefined; /* definitions given twice: the first one counts */
    uint64_t reused_requests;   /* started again while open: the first one never completes */
    uint64_t unknown_requests;  /* completed without having been started */
    uint64_t open_requests;     /* never completed */
    uint64_t open_collectives;  /* begun and not ended */
    uint64_t unbalanced_leaves; /* leaves without an enter; enters without a leave */
    uint64_t beyond_end; /* events after the trace's end as its clock properties say, or after a thread's */
    uint64_t missing_files; /* locations without an event file that are not defined to be without events */
    uint64_t truncated;     /* locations whose file ends in the middle */
    uint64_t miscounted;    /* locations with another number of events than their definition says */
    uint64_t *ends; /* [location_count] the first record of its file that cannot be read; 0: there is none */
};

#endif

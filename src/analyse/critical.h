/*
 * analyse/critical — the critical path of a run: what each activity and each call has on the chain of causes
 * that the run's length is made of, as intervals.
 *
 * Backward from the run's end: where a call was left for something that came from elsewhere, the path goes on
 * there. Where the clocks do not tell what came last, all that may have are followed: a time is certainly on
 * the path when every possible path has it, and possibly when one has.
 */
#ifndef GNOMON_ANALYSE_CRITICAL_H
#define GNOMON_ANALYSE_CRITICAL_H

#include "analyse/history.h"

struct gn_critical_row {
    uint32_t activity; /* GN_NONE: a call, at path */
    uint32_t path;     /* call path of calls; GN_NONE: an activity */
    uint32_t process;
    double lo_ns, hi_ns; /* on the path, of this process */
};

struct gn_critical {
    struct gn_critical_row *rows; /* [count] by lo_ns, descending; only with hi_ns > 0 */
    size_t count;
    double transfer_lo_ns, transfer_hi_ns; /* between processes: from what was given to the leave it ended */
    uint64_t branches;                     /* places where clocks do not tell where the path goes on */
};

/* 0 or -ENOMEM with err set. */
int gn_critical_find(struct gn_critical *critical, const struct gn_history *history, struct gn_error *err);
void gn_critical_clear(struct gn_critical *critical);

#endif

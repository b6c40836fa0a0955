/*
 * analyse/trace_clocks — the clocks of a trace's hosts against one of them, with bounds that hold: from what
 * the program's own messages prove (causality/clock_facts.h), and from the exchanges of the run that the
 * trace belongs to, where its profile.db lies beside it.
 */
#ifndef GNOMON_ANALYSE_TRACE_CLOCKS_H
#define GNOMON_ANALYSE_TRACE_CLOCKS_H

#include "clock/clocks.h"
#include "causality/clock_facts.h"
#include "profile/clock.h"

/* 0 ns is first_ticks on the reference's clock: the begin of the trace, as in all that gnomon shows of it. */
struct gn_trace_clocks {
    struct gn_clocks *clocks; /* solved; domain 0 is the reference: rank 0's host */
    uint32_t count;           /* of domains */
    char **names;             /* [count] of the host, or of the process where each has a clock of its own */
    uint32_t *domain_of;      /* [location_count] domain of each location of the trace; GN_NONE: the host's
                                 processes have different counters, nothing is known of its times */
    size_t location_count;
    uint64_t first_ticks;
    struct gn_profile_clocks run;      /* of the run that the trace belongs to; empty: none */
    uint64_t exchanged;                /* messages of gnomon's own exchanges among those that were used */
    struct gn_clock_facts_stats facts; /* what the program's messages gave */
};

/*
 * path: as for gn_trace_open (trace/reader.h). Reads the trace once. The caller clears *clocks, unless an
 * error is returned: a negative errno value with err set. A trace with one domain has one clock, the
 * reference, and nothing is read of it.
 */
int gn_trace_clocks(struct gn_trace_clocks *clocks, const char *path, const struct gn_assumption *assumption,
                    struct gn_error *err);
void gn_trace_clocks_clear(struct gn_trace_clocks *clocks);

#endif

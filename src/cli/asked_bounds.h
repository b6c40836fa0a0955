/* cli/asked_bounds — what is known of a trace's clocks (cli/known_bounds), for those who ask only when they
 * need it (repair/sync_clocks.h). */
#ifndef GNOMON_CLI_ASKED_BOUNDS_H
#define GNOMON_CLI_ASKED_BOUNDS_H

#include "analyse/known_bounds.h"
#include "repair/sync_clocks.h"

struct gn_asked_bounds {
    const char *trace;
    struct gn_known_bounds known;
    bool is_known;
};

/* trace: as for gn_trace_open. *asked stays where it is, and is cleared after whatever has asked. */
struct gn_bounds_asker gn_asked_bounds(struct gn_asked_bounds *asked, const char *trace);
void gn_asked_bounds_clear(struct gn_asked_bounds *asked);

/* As `gnomon COMMAND`, on standard error: which clocks nothing is known of and what was refuted, where the
 * bounds are used; and of which of its run's worlds the trace is. */
void gn_asked_bounds_tell(const struct gn_asked_bounds *asked, const struct gn_sync_clocks *clocks,
                          const char *command);

#endif

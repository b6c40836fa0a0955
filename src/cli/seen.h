/* cli/seen — what was seen of a run's events (analyse/seen.h), from its trace or from its windows. */
#ifndef GNOMON_CLI_SEEN_H
#define GNOMON_CLI_SEEN_H

#include "analyse/known_bounds.h"
#include "analyse/seen.h"
#include "profile/summary.h"
#include "trace/placed.h"
#include "trace/reader.h"
#include "trace/windowed.h"

struct gn_cli_seen {
    bool *naps; /* cli/naps.h */
    struct gn_seen seen;
    bool is_raw; /* times are as measured, not as if that had cost nothing */
    struct gn_source source;
    struct gn_known_bounds known;
    struct gn_placed *placed; /* events of several clocks; NULL: of one, or all are looked at together */
    const struct gn_bounds *const *bounds; /* of each location's clock, as events have its ticks */
    struct gn_windowed *windowed;
    struct gn_kept_window *chosen; /* of a trace that is too large, or of a part of the run, what was looked
                                      at; NULL: all */
    size_t chosen_count;
};

/* Whether there is anything to see it in: windows, or a trace, which is looked at only with_trace. profile:
 * path of the run's. */
bool gn_cli_can_see(const struct gn_summary *summary, const char *profile, bool with_trace);

/* is_raw: as struct gn_cli_seen has it. command: "explain", for the progress; NULL: a large trace is not
 * looked at. 0, and the caller closes; or a negative errno value with err saying why: it is not whole, or too
 * large. The summary outlives it. */
int gn_cli_see(struct gn_cli_seen *opened, const struct gn_summary *summary, const char *profile, bool is_raw,
               const char *command, struct gn_error *err);
void gn_cli_seen_close(struct gn_cli_seen *opened);

#endif

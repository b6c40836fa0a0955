/*
 * cli/history — the history of a trace (analyse/history.h) for commands: finds the trace, what bounds its
 * clocks, reads it with a progress bar on standard error, and says what is missing.
 */
#ifndef GNOMON_CLI_HISTORY_H
#define GNOMON_CLI_HISTORY_H

#include "analyse/history.h"
#include "analyse/known_bounds.h"
#include "analyse/spread.h"
#include "profile/summary.h"
#include "trace/placed.h"
#include "trace/reader.h"

struct gn_cli_history {
    char path[4096]; /* the trace or the run, as it was named, printable; the newest run where it was not */
    struct gn_source source;
    const struct gn_trace_report *found;
    struct gn_known_bounds known;
    struct gn_placed *placed;    /* a part of what hosts with clocks of their own did; else NULL */
    struct gn_kept_window *kept; /* of a run whose events were kept in windows only, and not all */
    size_t kept_count;
    double run_s;                 /* how long the run was; 0: not known */
    struct gn_kept_window middle; /* from the last end of MPI_Init to the first begin of MPI_Finalize, on the
                                     counter of the only host; 0: not known */
    struct gn_kept_window off[GN_WINDOWS_OFF_MOST]; /* [off_count] nobody wanted windows then */
    size_t off_count;
    double init_s, finalize_s;     /* of its ranks, the longest */
    bool is_partial;               /* and it ended before its time */
    char no_windows[400];          /* why there are none, of several hosts; "" */
    struct gn_kept_window *chosen; /* what is looked at: parts of those, or the part that is asked for */
    size_t chosen_count;
    uint64_t *cuts;             /* between windows, one after the other */
    bool *naps;                 /* cli/naps.h */
    char files[4096];           /* where all that is, or the copy of a run that goes on */
    struct gn_kept_window part; /* that is asked for */
    bool is_whole;              /* of which all was seen */
    struct gn_spread *spread;   /* of windows, with has_spread; else NULL */
    struct gn_history history;
};

/* The same run, without some of its windows (analyse/spread.h). */
struct gn_cli_again {
    const struct gn_spread *spread;
    size_t round;
};

struct gn_cli_history_settings {
    const char *command; /* "stragglers": for the bar and what is said */
    double longest_ns;   /* see struct gn_history_settings */
    bool has_tracks;
    bool has_spread; /* of shares that are found in windows it is wanted what they are in all of the run */
    const struct gn_cli_again *again; /* a run that was opened before; NULL: as is asked for */
    uint64_t most_events; /* a trace with more by its definitions is not read: -EFBIG; 0: any is */
};

/*
 * path: an OTF2 archive, or a run that has one; NULL: the newest run here. 0, and the caller closes; or a
 * negative errno value with err saying what is wrong and what to do (a run without a trace: how to get one).
 */
int gn_cli_history_open(struct gn_cli_history *opened, const char *path,
                        const struct gn_cli_history_settings *settings, struct gn_error *err);
void gn_cli_history_close(struct gn_cli_history *opened);

/* Of the part that is asked for: from the last end of MPI_Init to the first begin of MPI_Finalize. */
struct gn_kept_window gn_cli_history_middle(const struct gn_cli_history *opened);

/* Says on standard error, as `gnomon COMMAND`, what the results do without: parts of the trace that are
 * missing, clocks that nothing is known of, assumptions that were refuted. */
void gn_cli_history_tell(const struct gn_cli_history *opened, const char *command);

#endif

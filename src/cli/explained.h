/* cli/explained — a run's time and its problems, of its profile and of what was seen of its events. */
#ifndef GNOMON_CLI_EXPLAINED_H
#define GNOMON_CLI_EXPLAINED_H

#include "analyse/patterns_seen.h"
#include "answer/terminal.h"
#include "cli/seen.h"

struct gn_cli_explained {
    struct gn_problems problems;
    bool is_open, is_virtual; /* the summary's times are virtual, and so are those of what was seen */
    struct gn_cli_seen seen;  /* with the texts of the problems */
};

/* What is asked. */
struct gn_cli_run {
    sqlite3 *db;         /* the run's profile, or of one world of it */
    const char *profile; /* its path; NULL: nothing is known but that */
    bool is_world;       /* … of one world */
    int64_t trace_most;  /* a trace of no more events is read; windows always are */
    bool raw;            /* times are as measured, not as if that had cost nothing */
    const char *command; /* who says on standard error what goes wrong, and draws progress; NULL: nobody */
};

/*
 * Fills *summary as gn_summarise does. Where measuring has cost more than GN_OWN_COST_NOTED of some rank's
 * time and events were kept, in virtual time: what waited for others that were delayed by it is less, too.
 * Then the events are read here, and *explained is open. The caller clears the summary, and closes. 0, or a
 * negative errno value with err set, and there is nothing to clear or close.
 */
int gn_cli_summarise(struct gn_cli_explained *explained, const struct gn_cli_run *run, enum gn_by by,
                     struct gn_summary *summary, struct gn_error *err);

/* The run's problems. summary: by activity, of gn_cli_summarise, which comes first. The summary outlives it.
 */
void gn_cli_explain(struct gn_cli_explained *explained, const struct gn_cli_run *run,
                    const struct gn_summary *summary);
/* Tells the summary's rows of calls what of them was seen to be waiting. */
void gn_cli_tell_waited(const struct gn_cli_explained *explained, struct gn_summary *summary);
/* Instead of the problems, the edges between processes that they are found in: so many (0: all), to standard
 * output. terminal: NULL: as JSON. 0, or a negative errno value with err set. */
int gn_cli_explained_waits(const struct gn_cli_explained *explained, size_t top,
                           const struct gn_terminal *terminal, struct gn_error *err);
void gn_cli_explained_close(struct gn_cli_explained *explained);

#endif

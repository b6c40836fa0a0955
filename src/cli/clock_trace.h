/* cli/clock_trace — the clocks of a trace's hosts in the form in which a profile has them, for the report. */
#ifndef GNOMON_CLI_CLOCK_TRACE_H
#define GNOMON_CLI_CLOCK_TRACE_H

#include "answer/clock_report.h"
#include "analyse/trace_clocks.h"

struct gn_clock_trace {
    struct gn_trace_clocks trace;
    struct gn_clock_row *rows; /* [trace.count] */
};

/* Whether path names an archive rather than a run: an anchor file, or a folder with one and no profile. */
bool gn_clock_trace_named(const char *path);

/* Reads the whole trace. 0, or negative errno; then there is nothing to clear. */
int gn_clock_trace_read(struct gn_clock_trace *read, const char *path, const struct gn_assumption *assumption,
                        struct gn_error *err);
void gn_clock_trace_clear(struct gn_clock_trace *read);

#endif

/*
 * agent/wanted — what a running job is to measure from now on, as somebody asks for it from outside: lines in
 * parts/wanted of the run's folder, which the agent of each host looks for (docs/run-folder.md).
 *
 *   gnomon live RUN --windows 1000 ──► parts/wanted ──► agents ──► parts/<host>.open: what each does now
 */
#ifndef GNOMON_AGENT_WANTED_H
#define GNOMON_AGENT_WANTED_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Rates, 0: none of them. */
struct gn_wanted {
    bool has_windows, has_sample, has_metrics; /* else they stay as they are */
    double windows_rate;                       /* events a second of a host that are kept in windows */
    unsigned sample_hz;                        /* of each thread */
    uint32_t metrics;                          /* a bit for each that is counted (graph/metrics.h) */
};

/* What was read last. */
struct gn_wanted_seen {
    struct timespec time;
    ino_t file;
};

/* Into a run's folder, in one piece, beside what was wanted before. 0 or a negative errno value. */
int gn_wanted_write(const char *folder, const struct gn_wanted *wanted, struct gn_error *err);

/* What has been wanted since *seen, which is moved on; false: nothing new, or nothing that makes sense. */
bool gn_wanted_read(const char *folder, struct gn_wanted_seen *seen, struct gn_wanted *wanted);

#endif

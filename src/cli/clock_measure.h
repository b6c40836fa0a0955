/*
 * cli/clock_measure — one rank's part in measuring the clocks of a job's hosts: as a run of a program that
 * does nothing but wait.
 *
 *   gnomon clock ──fork──► gnomon clock-wait   the measured MPI program
 *        │                        ╎ watched
 *        │ ◄───pipe─── the host's agent        when the run's profile is complete
 *        ▼
 *   reads the profile, prints
 *
 * The process that the launcher started stays and waits, because it is the one whose exit status counts.
 */
#ifndef GNOMON_CLI_CLOCK_MEASURE_H
#define GNOMON_CLI_CLOCK_MEASURE_H

#include "base/error.h"
#include "agent/job.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

struct gn_clock_measuring {
    double seconds;
    const char *mpi; /* gn_mpi_library_load's */
    bool keep;       /* the folder stays when nobody is left to read it */
    bool exchanges;  /* keep each exchange, for comparisons */
};

/*
 * Takes part, until the run's profile is complete. Returns 1 and the run's folder on the rank that is to tell
 * the result, 0 on the others; negative errno with the reason in err when nothing was measured. What the
 * agent has to say otherwise goes to standard error.
 */
int gn_clock_measure(const struct gn_job *job, const struct gn_clock_measuring *measuring, char *folder,
                     size_t size, struct gn_error *err);

/* What the agent reports to the process that waits: its run's folder. The first one removes it when nobody is
 * left to read that. */
void gn_clock_measure_tell(sqlite3 *profile, const char *folder, int descriptor);
void gn_clock_measure_tell_kept(sqlite3 *profile, const char *folder, int descriptor);

/* Removes the folder of a finished run and what gnomon has put there. */
void gn_clock_measure_forget(const char *folder);

#endif

/* cli/start — what makes this process one that is measured, once it has become an MPI program. */
#ifndef GNOMON_CLI_START_H
#define GNOMON_CLI_START_H

#include "agent/enlist.h"

/*
 * Makes this process known to the agent of its job on this host (started when there is none), and puts the
 * capture library and what it has to know into the environment, for the program that the caller executes
 * next. settings: all but the agent's executable, which is found here, and where runs go (cli/place.h).
 * pcontrol: the dialect of MPI_Pcontrol, NULL for the usual one. activities: names of functions that are to
 * be activities, with commas, or NULL; of those for which it cannot be done, standard error says why. 0, or a
 * negative errno value: the program can be executed all the same, unmeasured; -ETIMEDOUT concerns this
 * process, all others all of the job's on this host.
 */
int gn_start_measured(const struct gn_job *job, const struct gn_agent_settings *settings,
                      const char *pcontrol, const char *activities, struct gn_error *err);

/* The same for a process that a measured program has spawned. by: "PID:SOCKET" of the process that did, and
 * of its agent (capture/spawn.h). */
int gn_start_spawned(const struct gn_job *job, const struct gn_agent_settings *settings, const char *pcontrol,
                     const char *by, struct gn_error *err);

#endif

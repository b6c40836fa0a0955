/*
 * agent/enlist — what `gnomon run` does in each rank, before it becomes the program: it makes itself known to
 * the agent of the job on this host, and starts it when there is none.
 *
 * Every rank goes through here, thousands at a time, so all of this needs nothing but the C library. The
 * agent needs a dozen more libraries: it is another program, started once per host by a guard that needs
 * none.
 *
 *   rank ── connect, refused ── bind ── fork, fork ──► guard (agent/guard.h) ── fork, exec ──► agent
 *        └─ connect ── hello ──────────────────────────────────────────────────────────────►  (agent/agent.h)
 */
#ifndef GNOMON_AGENT_ENLIST_H
#define GNOMON_AGENT_ENLIST_H

#include "base/error.h"
#include "agent/order.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Makes this process known to the job's agent on this host, starting the agent when there is none. Returns 0
 * and the agent's socket name, or a negative errno value; the caller then runs the program unmeasured.
 */
int gn_agent_enlist(const struct gn_job *job, const struct gn_agent_settings *settings, char socket_name[64],
                    struct gn_error *err);

/* The same for a process that process `spawner` of this host has spawned (MPI_Comm_spawn): only to that one's
 * agent. */
int gn_agent_enlist_spawned(const struct gn_job *job, const struct gn_agent_settings *settings,
                            const char *socket_name, int spawner, struct gn_error *err);

#endif

/*
 * agent/rendezvous — how a rank finds the agent of its job on this host, whoever else is on it.
 *
 * The agent's name is computed from what all ranks of the job know, and a name that is not on the file system
 * (containers see it, too) is whoever's takes it first. So another user can have it. Whose it is, the kernel
 * says as soon as there is a connection: nothing is sent to another user, and nobody is waited for who has
 * not been seen to be the same one, but for two seconds, all together.
 *
 *   connect ──► the same user: the agent        ──► connection
 *      ├──────► another user                    ──► -EADDRINUSE, at once
 *      ├──────► nobody, and the name is free    ──► listener, for the agent that the caller starts
 *      └──────► a name that nobody answers to   ──► again, and -EADDRINUSE after two seconds
 */
#ifndef GNOMON_AGENT_RENDEZVOUS_H
#define GNOMON_AGENT_RENDEZVOUS_H

#include "base/error.h"

struct gn_rendezvous {
    const char *name;   /* gn_job_socket */
    unsigned waited_ms; /* for somebody unknown; 0 at first */
};

/*
 * *connection: to the agent, or -1; then *listener is for an agent to be started. The caller may come again
 * when that was in vain. Errors: negative errno; -EADDRINUSE: all ranks of this host find the same.
 */
int gn_rendezvous_come(struct gn_rendezvous *r, int *connection, int *listener, struct gn_error *err);

#endif

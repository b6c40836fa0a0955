/*
 * agent/guard — one small process per host and job that outlives the agent: it starts it, holds what is lost
 * with a process that holds it (the memory of the ranks, their process handles, the socket), and when the
 * agent has died, by whatever, starts another one, which goes on from there.
 *
 *   gnomon run ── fork, fork ──► guard ── fork, exec ──► agent (agent/agent.h)
 *                                  ▲  items (image/kept.h)  │
 *                                  └────────────────────────┘
 *
 * It needs nothing but the C library, sleeps in one recvmsg until its agent says something or is gone, and
 * ends when the agent has ended by itself. An agent whose guard was killed goes on without one.
 */
#ifndef GNOMON_AGENT_GUARD_H
#define GNOMON_AGENT_GUARD_H

#include <sys/types.h>

/*
 * Becomes the guard, in a process that was made for it. executable: the program with the command `agent`;
 * order: the agent's (agent/enlist.h), open as all that it names.
 */
_Noreturn void gn_guard_run(const char *executable, int order);

/* ---- the agent's side ---- */

struct gn_kept;

/* Has the guard at the other end of `channel` keep an item, with a copy of the descriptor `file` (-1: with
 * the one that it has). A guard that is gone is forgotten: *channel becomes -1, and nothing more is sent. */
void gn_guard_keep(int *channel, const struct gn_kept *item, int file);

#endif

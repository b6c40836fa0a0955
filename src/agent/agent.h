/*
 * agent/agent — one process per host and job that outlives the ranks: it hands out the shared segments,
 * watches the processes, takes the final snapshots whatever their end was, and finishes the run's folder.
 *
 * The first `gnomon run` on the host starts it by binding the job's socket (agent/enlist.h); the others find
 * it there. It is nobody's child (the program never sees it in wait), holds no descriptor of the launcher but
 * the standard error of the lowest rank, through which it prints the report, and ends by itself when the last
 * process has ended.
 *
 *        bind ok                    hello(s)                all ended
 *   gn_agent_enlist ──► agent: listening ──► watching ──────────► finishing ──► gone
 *
 * What it must not lose it has its guard keep (agent/guard.h), ahead of telling anybody of it. When it dies,
 * the guard starts another one, which goes on with the same processes, memory and folder (agent/keep.h).
 */
#ifndef GNOMON_AGENT_AGENT_H
#define GNOMON_AGENT_AGENT_H

#include "base/error.h"
#include "agent/report.h"

/* Becomes the agent that gn_agent_enlist has ordered: file is the descriptor of the order; guard, of the
 * channel to its guard; kept, of what the agent before it has kept, -1: it is the first. reports: by kind.
 * Returns only when the order makes no sense: -EPROTO. */
int gn_agent_run(int file, int guard, int kept, gn_agent_report *const reports[GN_AGENT_REPORTS]);

#endif

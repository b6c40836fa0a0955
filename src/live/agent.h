/*
 * live/agent — one process per host and job that outlives the ranks: it hands out the shared segments,
 * watches the processes, takes the final snapshots whatever their end was, and finishes the run's folder.
 *
 * The first `gnomon run` on the host starts it by binding the job's socket (live/enlist.h); the others find
 * it there. It is nobody's child (the program never sees it in wait), holds no descriptor of the launcher but
 * the standard error of the lowest rank, through which it prints the report, and ends by itself when the last
 * process has ended.
 *
 *        bind ok                    hello(s)                all ended
 *   gn_agent_enlist ──► agent: listening ──► watching ──────────► finishing ──► gone
 */
#ifndef GNOMON_LIVE_AGENT_H
#define GNOMON_LIVE_AGENT_H

#include "base/error.h"
#include "live/enlist.h"

#include <sqlite3.h>

/* Prints the report of a profile to a descriptor. The folder is for the reader to name in the next command.
 */
typedef void gn_agent_report(sqlite3 *profile, const char *folder, int descriptor);

/* Becomes the agent that gn_agent_enlist has ordered: file is the descriptor that it was given. reports: by
 * kind. Returns only when the order makes no sense: -EPROTO. */
int gn_agent_run(int file, gn_agent_report *const reports[GN_AGENT_REPORTS]);

/* Connects to an agent and asks for its index-th segment, mapped read-only into *segment with its size. The
 * agent is named by its socket. -ENOENT: no such index. */
struct gn_tag;
int gn_agent_attach(const char *socket_name, int index, struct gn_tag **segment, unsigned long *bytes,
                    struct gn_error *err);

#endif

/* agent/report — how a run is told at its end; the agent is given this, it prints nothing itself. */
#ifndef GNOMON_AGENT_REPORT_H
#define GNOMON_AGENT_REPORT_H

#include "agent/order.h"

#include <sqlite3.h>

/* Prints the report of a profile to a descriptor. The folder is for the reader to name in the next command.
 */
typedef void gn_agent_report(sqlite3 *profile, const char *folder, int descriptor);

#endif

/* cli/after_run — the report at the end of a run. */
#ifndef GNOMON_CLI_AFTER_RUN_H
#define GNOMON_CLI_AFTER_RUN_H

#include <sqlite3.h>

/* To a descriptor that may be a terminal; folder: the run's, NULL: it was not saved. The launcher waits for
 * it, and it is made in the agent: so a trace is not read, and the commands that do are named. Windows are
 * small, and are. */
void gn_report_after_run(sqlite3 *profile, const char *folder, int descriptor);

/* … and behind it what `gnomon explain` says, for which a trace is read, too. */
void gn_explain_after_run(sqlite3 *profile, const char *folder, int descriptor);

#endif

/* cli/clock_compare — what other methods make of the exchanges that a profile has kept one by one. */
#ifndef GNOMON_CLI_CLOCK_COMPARE_H
#define GNOMON_CLI_CLOCK_COMPARE_H

#include "cli/clock_report.h"

/*
 * Fills `compared` of every clock with kept exchanges, each against its parent's. The exchanges' halves count
 * as the messages among which fast sends and inversions are looked for. same_counter: all clocks are known to
 * be one and the same, as those of network namespaces are, so the truth is known. 0; -ENODATA: none were
 * kept; other negative errno with the reason in err.
 */
int gn_clock_compare(struct gn_clock_report *report, sqlite3 *db, bool same_counter, struct gn_error *err);

#endif

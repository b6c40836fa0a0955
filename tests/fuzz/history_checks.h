/*
 * history_checks — all analyses of a trace (analyse/), and what must be so of each, whatever the trace is.
 */
#ifndef GNOMON_TEST_HISTORY_CHECKS_H
#define GNOMON_TEST_HISTORY_CHECKS_H

#include "analyse/history.h"

/* Ends the process (abort) when it is not so. */
void history_must(bool fact, const char *what);

/* Reads the source and asks everything of it. The source stays the caller's. 0, or the negative errno value
 * of gn_history_read, which then has a text and nothing to clear. */
int history_check(struct gn_source *source, const struct gn_history_settings *settings);

#endif

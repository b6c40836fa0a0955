/*
 * cli/run_launcher — `gnomon run` in front of a launcher: gnomon goes in front of the program in its command
 * line, waits, and shows the report.
 */
#ifndef GNOMON_CLI_RUN_LAUNCHER_H
#define GNOMON_CLI_RUN_LAUNCHER_H

#include "cli/run_options.h"

/* The exit status; ends as the launcher ended, by the same signal too. words: its command line. */
int gn_run_launcher(const struct gn_run_options *options, char **words);

/* Becomes the program, unmeasured. Returns the exit status where it cannot, which has been said. */
int gn_run_become(char **words);

#endif

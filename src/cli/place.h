/*
 * cli/place — where runs go, and where the last one is looked for: the folder that -d/--folder names, else
 * GNOMON_FOLDER, else the working directory.
 */
#ifndef GNOMON_CLI_PLACE_H
#define GNOMON_CLI_PLACE_H

#include "base/error.h"

#include <argp.h>
#include <stddef.h>

/* The option -d/--folder, for a command's argp.children. */
extern const struct argp_child gn_place_option[];

/* Where the last run is looked for; "." when no folder is named. */
const char *gn_place_of_runs(void);

/* The run or the trace that a command names. NULL: the newest run there, finished or not; -ENOENT when there
 * is none. A folder in which runs are: its newest. */
int gn_place_find(const char *name, char *path, size_t size, struct gn_error *err);

/* The folder that runs are to go to, made when it is not there; empty when none is named. Negative errno: it
 * cannot be written. */
int gn_place_open(char *path, size_t size, struct gn_error *err);

/* Waits for agents that write down a run that has just ended, at most half a minute. run: its folder. */
void gn_place_wait(const char *run);

#endif

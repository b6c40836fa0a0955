/* cli/region_names — regions of a trace by their names. */
#ifndef GNOMON_CLI_REGION_NAMES_H
#define GNOMON_CLI_REGION_NAMES_H

#include "analyse/history.h"

/* (*chosen)[region]: those that have one of the names, among those that a location was in. history has
 * tracks. 0, and the caller frees *chosen; -ENOENT for a name that no region has, with err naming the nearest
 * one; -ENOMEM. */
int gn_regions_named(bool **chosen, const struct gn_history *history, const char *const *names, size_t count,
                     struct gn_error *err);

#endif

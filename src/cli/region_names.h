/* cli/region_names — regions of a trace by their names. */
#ifndef GNOMON_CLI_REGION_NAMES_H
#define GNOMON_CLI_REGION_NAMES_H

#include "analyse/history.h"

#include <argp.h>

enum { GN_REGION_NAMES = 16 };

/* As an option that may be given again says them. */
struct gn_region_names {
    const char *list[GN_REGION_NAMES];
    size_t count;
};

/* One more; too many end gnomon, as wrong usage. */
void gn_region_name_option(struct argp_state *state, struct gn_region_names *names, const char *name);

/* As gn_regions_named; NULL without any name. */
int gn_regions_chosen(bool **chosen, const struct gn_history *history, const struct gn_region_names *names,
                      struct gn_error *err);

/* (*chosen)[region]: those that have one of the names, among those that a location was in. history has
 * tracks. 0, and the caller frees *chosen; -ENOENT for a name that no region has, with err naming the nearest
 * one; -ENOMEM. */
int gn_regions_named(bool **chosen, const struct gn_history *history, const char *const *names, size_t count,
                     struct gn_error *err);

#endif

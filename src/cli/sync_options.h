/* cli/sync_options — what may be said to `gnomon sync`. */
#ifndef GNOMON_CLI_SYNC_OPTIONS_H
#define GNOMON_CLI_SYNC_OPTIONS_H

#include "repair/sync.h"

#include <argp.h>

struct gn_sync_arguments {
    struct gn_sync_settings settings;
    bool json;
    bool accepts_partial; /* what could not be checked is no failure */
};

extern const struct argp_option gn_sync_options[];
error_t gn_sync_parse(int key, char *value, struct argp_state *state); /* input: gn_sync_arguments */

#endif

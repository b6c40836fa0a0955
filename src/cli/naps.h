/* cli/naps — between which polls of a run's events threads sleep, as its profile says (profile/naps.h). */
#ifndef GNOMON_CLI_NAPS_H
#define GNOMON_CLI_NAPS_H

#include "event/definitions.h"

#include <stdbool.h>

/* By call path; the caller frees. NULL: none, or nobody knows. */
bool *gn_cli_naps(const char *profile, const struct gn_definitions *definitions);

#endif

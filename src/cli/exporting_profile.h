/* cli/exporting_profile — a run's profile in another format: its call tree, for flame graphs. */
#ifndef GNOMON_CLI_EXPORTING_PROFILE_H
#define GNOMON_CLI_EXPORTING_PROFILE_H

#include "base/error.h"

#include <stdbool.h>

bool gn_export_is_of_profile(const char *format);

/* To `path`, NULL: standard output; of `run`, NULL: the newest one here. 0, or a negative errno value. */
int gn_export_profile(const char *format, const char *path, const char *run, struct gn_error *err);

#endif

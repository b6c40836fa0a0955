/* cli/clock_show — the clocks of a run, a profile or a trace, printed as the options say. */
#ifndef GNOMON_CLI_CLOCK_SHOW_H
#define GNOMON_CLI_CLOCK_SHOW_H

#include "cli/clock_options.h"

#include <sqlite3.h>

/* All of them: the exit status, or a negative errno value with err set. */

/* source: of the profile, for messages. folder: what to name to see it again, or empty. */
int gn_clock_show_database(const struct gn_clock_options *options, sqlite3 *db, const char *source,
                           const char *folder, struct gn_error *err);
int gn_clock_show_profile(const struct gn_clock_options *options, const char *profile, const char *folder,
                          struct gn_error *err);
int gn_clock_show_run(const struct gn_clock_options *options, struct gn_error *err);
int gn_clock_show_trace(const struct gn_clock_options *options, struct gn_error *err);

#endif

/* cli/report_parts — `gnomon report --by time`: parts of the run, one after the other. */
#ifndef GNOMON_CLI_REPORT_PARTS_H
#define GNOMON_CLI_REPORT_PARTS_H

#include "cli/report_options.h"
#include "profile/world.h"

/* Of a world of the run (NULL: all of it), to standard output. 0, or a negative errno value with err set. */
int gn_report_parts(sqlite3 *db, const struct gn_report_asked *asked, const struct gn_world *world,
                    struct gn_error *err);

#endif

/* cli/name_list — all names that may be asked for in a trace (gnomon whatif --list). */
#ifndef GNOMON_CLI_NAME_LIST_H
#define GNOMON_CLI_NAME_LIST_H

#include "cli/analysis_options.h"

/* Prints them. 0, or a negative errno value with err set. */
int gn_name_list_print(const struct gn_cli_history *opened, enum gn_format format, struct gn_error *err);

#endif

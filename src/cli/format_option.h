/* cli/format_option — the value of --format, for all commands. */
#ifndef GNOMON_CLI_FORMAT_OPTION_H
#define GNOMON_CLI_FORMAT_OPTION_H

#include <argp.h>
#include <stdbool.h>

enum gn_format { GN_FORMAT_TEXT, GN_FORMAT_JSON, GN_FORMAT_CSV };

/* Text, json or csv; anything else ends gnomon, as wrong usage. */
enum gn_format gn_format_option(struct argp_state *state, const char *value);

/* Of a command that has no table: whether it is json; anything but text ends gnomon likewise. */
bool gn_json_option(struct argp_state *state, const char *value);

#endif

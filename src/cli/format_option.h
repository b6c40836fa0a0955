/* cli/format_option — "--format text" or "--format json" on the command line. */
#ifndef GNOMON_CLI_FORMAT_OPTION_H
#define GNOMON_CLI_FORMAT_OPTION_H

#include <argp.h>
#include <stdbool.h>
#include <string.h>

/* Whether it is json; the program ends with a message (argp's) when it is neither. */
static inline bool gn_format_is_json(const char *value, struct argp_state *state)
{
    const bool is_json = strcmp(value, "json") == 0;
    if (!is_json && strcmp(value, "text") != 0)
        argp_error(state, "--format %s: text or json is expected", value);
    return is_json;
}

#endif

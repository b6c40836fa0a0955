#include "cli/format_option.h"

#include <string.h>

static enum gn_format parse(struct argp_state *state, const char *value, enum gn_format last,
                            const char *expected)
{
    static const char *const names[] = {
        [GN_FORMAT_TEXT] = "text", [GN_FORMAT_JSON] = "json", [GN_FORMAT_CSV] = "csv"};
    for (int i = 0; i <= (int)last; i++)
        if (strcmp(value, names[i]) == 0)
            return (enum gn_format)i;
    argp_error(state, "--format %s: %s is expected", value, expected);
    return GN_FORMAT_TEXT;
}

enum gn_format gn_format_option(struct argp_state *state, const char *value)
{
    return parse(state, value, GN_FORMAT_CSV, "text, json or csv");
}

bool gn_json_option(struct argp_state *state, const char *value)
{
    return parse(state, value, GN_FORMAT_JSON, "text or json") == GN_FORMAT_JSON;
}

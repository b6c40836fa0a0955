#include "cli/rate_option.h"

#include <stdlib.h>
#include <string.h>

unsigned long gn_rate_option(const struct argp_state *state, const char *option, const char *value,
                             unsigned long most)
{
    char *end;
    const unsigned long rate = strtoul(value, &end, 10);
    if (strcmp(value, "off") == 0)
        return 0;
    if (*end || *value < '0' || *value > '9' || rate < 1 || rate > most)
        argp_error(state, "--%s %s: off or a number from 1 to %lu is expected", option, value, most);
    return rate;
}

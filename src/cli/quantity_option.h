/* cli/quantity_option — a number with a unit as the value of an option. */
#ifndef GNOMON_CLI_QUANTITY_OPTION_H
#define GNOMON_CLI_QUANTITY_OPTION_H

#include "base/quantity.h"

#include <argp.h>

/* The value of --option (without the dashes), as gn_quantity reads it; anything else ends gnomon, as wrong
 * usage. */
static inline double gn_quantity_option(struct argp_state *state, const char *option, const char *text,
                                        enum gn_quantity kind)
{
    double value = 0;
    if (gn_quantity(text, kind, &value) != 0)
        argp_error(state, "--%s %s: %s", option, text, gn_quantity_hint(kind));
    return value;
}

#endif

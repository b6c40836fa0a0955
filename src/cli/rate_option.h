/* cli/rate_option — a whole number a second as the value of an option, or "off". */
#ifndef GNOMON_CLI_RATE_OPTION_H
#define GNOMON_CLI_RATE_OPTION_H

#include <argp.h>

/* From 1 to `most`, 0 for "off"; anything else ends gnomon, as wrong usage. option: its name, for the
 * message. */
unsigned long gn_rate_option(const struct argp_state *state, const char *option, const char *value,
                             unsigned long most);

#endif

/* cli/period_option — the part of a run that is looked at: --between, and --live, of one that goes on. */
#ifndef GNOMON_CLI_PERIOD_OPTION_H
#define GNOMON_CLI_PERIOD_OPTION_H

#include "profile/period.h"

#include <argp.h>

enum { GN_KEY_BETWEEN = 1025, GN_KEY_LIVE };

#define GN_OPTION_BETWEEN                                                                                    \
    {                                                                                                        \
        "between", GN_KEY_BETWEEN, "T1,T2", 0,                                                               \
            "Only of this part of the run, in seconds since it began, or with units (2,3.5; 90s,2000ms; "    \
            "10, "                                                                                           \
            "until the end)",                                                                                \
            0                                                                                                \
    }

#define GN_OPTION_LIVE                                                                                       \
    {                                                                                                        \
        "live", GN_KEY_LIVE, NULL, 0, "Of a run that goes on: what it has done until now", 0                 \
    }

/* "T1,T2", where T1 is 0 and T2 the end when there is none; anything else ends gnomon, as wrong usage. */
struct gn_period gn_period_option(struct argp_state *state, const char *value);

#endif

#include "cli/period_option.h"

#include "base/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* False: it is none. */
static bool read_time(const char *text, double *seconds)
{
    char *end;
    const double number = strtod(text, &end);
    double ns;
    if (end != text && *end == '\0') {
        *seconds = number;
        return isfinite(number) && number >= 0;
    }
    if (gn_quantity(text, GN_QUANTITY_TIME_NS, &ns) != 0 || !(ns >= 0))
        return false;
    *seconds = ns * 1e-9;
    return true;
}

struct gn_period gn_period_option(struct argp_state *state, const char *value)
{
    char from[64];
    struct gn_period period = {.from_s = 0, .to_s = INFINITY};
    const char *comma = strchr(value, ',');
    const size_t length = comma ? (size_t)(comma - value) : sizeof from;
    bool good = length < sizeof from;
    if (good) {
        memcpy(from, value, length);
        from[length] = '\0';
        good = (!from[0] || read_time(from, &period.from_s)) &&
               (!comma[1] || read_time(comma + 1, &period.to_s)) && period.to_s > period.from_s;
    }
    if (!good)
        argp_error(state,
                   "--between %s: two times are expected, the first ahead of the second, in seconds or with "
                   "a unit, such as 2,3.5 or 500ms,2s",
                   value);
    return period;
}

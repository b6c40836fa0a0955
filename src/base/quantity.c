#include "base/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct unit {
    enum gn_quantity kind;
    const char *name;
    double value;
} units[] = {
    {GN_QUANTITY_COUNT, "", 1},         {GN_QUANTITY_TIME_NS, "ns", 1},
    {GN_QUANTITY_TIME_NS, "us", 1e3},   {GN_QUANTITY_TIME_NS, "ms", 1e6},
    {GN_QUANTITY_TIME_NS, "s", 1e9},    {GN_QUANTITY_RATE_PPM, "ppb", 1e-3},
    {GN_QUANTITY_RATE_PPM, "ppm", 1},   {GN_QUANTITY_RATE_PPM, "%", 1e4},
    {GN_QUANTITY_SHARE, "", 1},         {GN_QUANTITY_SHARE, "%", 0.01},
    {GN_QUANTITY_BYTES, "KiB", 0x1p10}, {GN_QUANTITY_BYTES, "MiB", 0x1p20},
    {GN_QUANTITY_BYTES, "GiB", 0x1p30},
};

const char *gn_quantity_hint(enum gn_quantity kind)
{
    static const char *const hints[] = {
        [GN_QUANTITY_COUNT] = "a whole number is expected, such as 64 or 1e9",
        [GN_QUANTITY_TIME_NS] = "a time is expected, such as 500ns, 20us, 3ms or 1.5s",
        [GN_QUANTITY_RATE_PPM] = "a rate is expected, such as 5ppm, 30ppb or 0.1%",
        [GN_QUANTITY_SHARE] = "a share is expected, such as 0.01 or 1%",
        [GN_QUANTITY_BYTES] = "a size is expected, such as 64MiB or 1GiB",
    };
    return hints[kind];
}

int gn_quantity(const char *text, enum gn_quantity kind, double *value)
{
    char *end;
    if (!isdigit((unsigned char)*text) && *text != '.') /* no sign, nan, inf, space */
        return -EINVAL;
    double number = strtod(text, &end);
    if (end == text || !isfinite(number))
        return -EINVAL;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        bool fits = units[i].kind == kind && strcmp(units[i].name, end) == 0;
        if (!fits && !(kind != GN_QUANTITY_COUNT && units[i].kind == kind && number == 0 && *end == '\0'))
            continue;
        if (kind == GN_QUANTITY_COUNT && (number > 1e18 || number != (double)(uint64_t)number))
            return -EINVAL;
        if (!isfinite(number * units[i].value))
            return -EINVAL;
        *value = number * units[i].value;
        return 0;
    }
    return -EINVAL;
}

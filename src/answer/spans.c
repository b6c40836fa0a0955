#include "answer/spans.h"

#include "answer/quantities.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *join(double lo, double hi, int digits, const char *unit, char text[GN_SPAN_TEXT])
{
    const double step = pow(10, -digits);
    char low[24], high[24];
    snprintf(low, sizeof low, "%.*f", digits, floor(lo / step * (1 + 1e-15)) * step);
    snprintf(high, sizeof high, "%.*f", digits, ceil(hi / step * (1 - 1e-15)) * step);
    if (lo == hi) /* known exactly: rounded to the nearest */
        snprintf(text, GN_SPAN_TEXT, "%.*f %s", digits, hi, unit);
    else if (strcmp(low, high) == 0)
        snprintf(text, GN_SPAN_TEXT, "%s %s", high, unit);
    else
        snprintf(text, GN_SPAN_TEXT, "%s to %s %s", low, high, unit);
    return text;
}

const char *gn_span_time(double lo_ns, double hi_ns, char text[GN_SPAN_TEXT])
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t unit = 0;
    if (hi_ns >= GN_NOBODY_KNOWS_NS) {
        char low[GN_QUANTITY_TEXT];
        snprintf(text, GN_SPAN_TEXT, "%s or more", gn_duration_text(lo_ns, low));
        return text;
    }
    while (unit < 3 && hi_ns < units[unit].ns)
        unit++;
    const double hi = hi_ns / units[unit].ns;
    const int digits = unit == 3 ? 0 : hi >= 1e4 ? 0 : hi >= 1000 ? 1 : hi >= 100 ? 2 : hi >= 10 ? 3 : 4;
    return join(lo_ns / units[unit].ns, hi, unit > 0 && digits == 4 ? 3 : digits, units[unit].name, text);
}

const char *gn_span_share(double lo, double hi, char text[GN_SPAN_TEXT])
{
    return join(100 * lo, 100 * hi, 2, "%", text);
}

json_t *gn_span_json(double lo, double hi, double unit)
{
    return json_pack("{s:f, s:f}", "lo", lo * unit, "hi", hi * unit);
}

#include "answer/quantities.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Of three significant digits those behind the point. */
static int digits_of(double shown)
{
    return fabs(shown) >= 99.95 ? 0 : fabs(shown) >= 9.995 ? 1 : 2;
}

/* round: to the nearest integer, or up. */
static const char *duration(double ns, double (*rounded)(double), char text[GN_QUANTITY_TEXT])
{
    static const struct {
        double from_ns, ns;
        const char *name;
    } units[] = {{999.5e6, 1e9, "s"}, {999.5e3, 1e6, "ms"}, {999.5, 1e3, "us"}, {0, 1, "ns"}};
    size_t unit = 0;
    if (!(fabs(ns) < GN_NOBODY_KNOWS_NS))
        return strcpy(text, "unknown");
    while (fabs(ns) < units[unit].from_ns)
        unit++;
    const double shown = ns / units[unit].ns;
    const int digits = units[unit].ns <= 1 && shown == round(shown) ? 0 : digits_of(shown);
    const double step = pow(10, -digits);
    snprintf(text, GN_QUANTITY_TEXT, "%.*f %s", digits, rounded(shown / step) * step, units[unit].name);
    return text;
}

/* What is a step already stays one, whatever the division has made of it. */
static double up(double value)
{
    return ceil(value * (1 - 1e-15));
}

const char *gn_duration_text(double ns, char text[GN_QUANTITY_TEXT])
{
    return duration(ns, round, text);
}

const char *gn_width_text(double ns, char text[GN_QUANTITY_TEXT])
{
    return duration(ns, up, text);
}

const char *gn_ticks_text(double ticks, double ticks_per_second, char text[GN_QUANTITY_TEXT])
{
    return gn_duration_text(ticks * 1e9 / ticks_per_second, text);
}

const char *gn_bytes_text(double bytes, char text[GN_QUANTITY_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;
    if (!isfinite(bytes))
        return strcpy(text, "unknown");
    for (; fabs(bytes) >= 1023.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    snprintf(text, GN_QUANTITY_TEXT, "%.*f %s", unit ? digits_of(bytes) : 0, bytes, units[unit]);
    return text;
}

const char *gn_amount_text(double amount, char text[GN_QUANTITY_TEXT])
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};
    size_t unit = 0;
    if (!isfinite(amount))
        return strcpy(text, "unknown");
    for (; fabs(amount) >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        amount /= 1000;
    snprintf(text, GN_QUANTITY_TEXT, "%.*f%s", unit ? digits_of(amount) : 0, amount, units[unit]);
    return text;
}

const char *gn_count_text(int64_t count, char text[GN_QUANTITY_TEXT])
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%" PRId64, count), out = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
            text[out++] = ',';
        text[out++] = digits[i];
    }
    text[out] = '\0';
    return text;
}

const char *gn_share_text(double share, char text[GN_QUANTITY_TEXT])
{
    const double percent = 100 * share, size = fabs(percent);
    if (!isfinite(share))
        return strcpy(text, "unknown");
    if (size == 0 || size == 100)
        snprintf(text, GN_QUANTITY_TEXT, "%.0f %%", size == 0 ? 0 : percent);
    else if (size >= 0.995)
        snprintf(text, GN_QUANTITY_TEXT, "%.1f %%", percent);
    else
        snprintf(text, GN_QUANTITY_TEXT, "%.*f %%", (int)fmin(12, 1 - floor(log10(size) + 1e-12)), percent);
    return text;
}

const char *gn_part_text(double share, char text[GN_QUANTITY_TEXT])
{
    const double percent = 100 * share;
    if (!isfinite(share) || percent == 0 || percent == 100)
        return gn_share_text(share, text);
    if (percent > 0 && percent < 0.01)
        return strcpy(text, "<0.01 %");
    snprintf(text, GN_QUANTITY_TEXT, "%.*f %%", percent >= 0.995 ? 1 : 2, percent);
    return text;
}

const char *gn_offset_text(double lo_ns, double hi_ns, char text[GN_QUANTITY_TEXT])
{
    char half[GN_QUANTITY_TEXT];
    double middle = lo_ns / 2 + hi_ns / 2;
    const double size = fabs(middle);
    if (!isfinite(middle))
        return strcpy(text, "unknown");
    middle = size < 0.5 ? 0 : middle; /* no "-0" */
    gn_width_text((hi_ns - lo_ns) / 2, half);
    if (size >= 1e9)
        snprintf(text, GN_QUANTITY_TEXT, "%+.9f s ± %.16s", middle / 1e9, half);
    else if (size >= 1e6)
        snprintf(text, GN_QUANTITY_TEXT, "%+.6f ms ± %.16s", middle / 1e6, half);
    else if (size >= 1e4)
        snprintf(text, GN_QUANTITY_TEXT, "%+.3f us ± %.16s", middle / 1e3, half);
    else
        snprintf(text, GN_QUANTITY_TEXT, middle == 0 ? "%.0f ns ± %.16s" : "%+.0f ns ± %.16s", middle, half);
    return text;
}

const char *gn_rate_text(double lo_ppb, double hi_ppb, char text[GN_QUANTITY_TEXT])
{
    const double middle = (lo_ppb + hi_ppb) / 2e3, half = (hi_ppb - lo_ppb) / 2e3;
    const int digits = half >= 10 ? 0 : half >= 1 ? 1 : half >= 0.1 ? 2 : 3;
    if (!isfinite(middle) || half > 1e5)
        return strcpy(text, "unknown");
    const double last = pow(10, -digits);
    const bool zero = fabs(middle) < last / 2; /* no "-0" */
    snprintf(text, GN_QUANTITY_TEXT, zero ? "%.*f ± %.*f ppm" : "%+.*f ± %.*f ppm", digits, zero ? 0 : middle,
             digits, half + last / 2);
    return text;
}

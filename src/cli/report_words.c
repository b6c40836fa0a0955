#include "cli/report_words.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

const char *gn_report_seconds(double ns, char text[16])
{
    double value = fabs(ns);
    const char *unit = value >= 1e9 ? "s" : value >= 1e6 ? "ms" : value >= 1e3 ? "us" : "ns";
    double shown = value >= 1e9 ? ns / 1e9 : value >= 1e6 ? ns / 1e6 : value >= 1e3 ? ns / 1e3 : ns;
    int digits = fabs(shown) >= 99.95 || shown == 0 ? 0 : fabs(shown) >= 9.995 ? 1 : 2;
    snprintf(text, 16, "%.*f %s", digits, shown, unit);
    return text;
}

const char *gn_report_size(int64_t bytes, char text[16])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 4; unit++)
        value /= 1024;
    snprintf(text, 16, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

const char *gn_report_base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

void gn_report_cut(FILE *out, const char *text, int columns)
{
    int used = 0;
    for (const char *c = text; *c; c++) {
        bool continues = ((unsigned char)*c & 0xc0) == 0x80;
        if (!continues && used++ >= columns - 1 && c[1]) {
            fputs("…", out);
            return;
        }
        fputc(*c, out);
    }
}

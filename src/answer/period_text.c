#include "answer/period_text.h"

#include <math.h>
#include <stdio.h>

const char *gn_period_text(const struct gn_period_told *p, char text[GN_PERIOD_TEXT])
{
    static const double least_s = 1e-3;
    char length[GN_QUANTITY_TEXT], run[GN_QUANTITY_TEXT], off[GN_QUANTITY_TEXT];
    const int used = snprintf(text, GN_PERIOD_TEXT, "%s, from %.3f to %.3f s of %s",
                              gn_duration_text((p->to_s - p->from_s) * 1e9, length), p->from_s, p->to_s,
                              gn_duration_text(p->run_s * 1e9, run));
    if (isinf(p->off_s))
        snprintf(text + used, (size_t)(GN_PERIOD_TEXT - used),
                 " (the hosts' clocks were not compared: each from its own begin)");
    else if (p->off_s >= least_s)
        snprintf(text + used, (size_t)(GN_PERIOD_TEXT - used), " (on other hosts up to %s off)",
                 gn_duration_text(p->off_s * 1e9, off));
    return text;
}

json_t *gn_period_object(const struct gn_period_told *p)
{
    return p->is_set ? json_pack("{s:f, s:f, s:o, s:f}", "from_s", p->from_s, "to_s", p->to_s, "off_s",
                                 isfinite(p->off_s) ? json_real(p->off_s) : json_null(), "run_s", p->run_s)
                     : json_null();
}

#include "answer/period_text.h"

#include <stdio.h>

const char *gn_period_text(const struct gn_period_told *p, char text[GN_PERIOD_TEXT])
{
    char length[GN_QUANTITY_TEXT], run[GN_QUANTITY_TEXT];
    snprintf(text, GN_PERIOD_TEXT, "%s, from %.3f to %.3f s of %s",
             gn_duration_text((p->to_s - p->from_s) * 1e9, length), p->from_s, p->to_s,
             gn_duration_text(p->run_s * 1e9, run));
    return text;
}

json_t *gn_period_object(const struct gn_period_told *p)
{
    return p->is_set ? json_pack("{s:f, s:f, s:f}", "from_s", p->from_s, "to_s", p->to_s, "run_s", p->run_s)
                     : json_null();
}

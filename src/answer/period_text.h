/* answer/period_text — the part of a run that an answer is of. */
#ifndef GNOMON_ANSWER_PERIOD_TEXT_H
#define GNOMON_ANSWER_PERIOD_TEXT_H

#include "answer/quantities.h"
#include "profile/period.h"

#include <jansson.h>

enum { GN_PERIOD_TEXT = 6 * GN_QUANTITY_TEXT };

/* "1.01 s, from 1.00 to 2.01 s of 6.35 s" */
const char *gn_period_text(const struct gn_period_told *period, char text[GN_PERIOD_TEXT]);
/* docs/report-format.md, "between". */
json_t *gn_period_object(const struct gn_period_told *period);

#endif

/*
 * answer/report_clocks — the lines of a report that say how well moments of different ranks can be compared.
 */
#ifndef GNOMON_ANSWER_REPORT_CLOCKS_H
#define GNOMON_ANSWER_REPORT_CLOCKS_H

#include "profile/summary.h"

#include <stdio.h>

/* One line, without a heading, and one for each host that there is something to tell about. */
void gn_report_clocks(const struct gn_summary *summary, FILE *out);

/* Whether one of them should be seen. */
bool gn_report_clocks_trouble(const struct gn_summary *summary);

#endif

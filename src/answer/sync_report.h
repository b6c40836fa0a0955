/* answer/sync_report — what `gnomon sync` has done, as text of one screen and as JSON (docs/repair.md). */
#ifndef GNOMON_ANSWER_SYNC_REPORT_H
#define GNOMON_ANSWER_SYNC_REPORT_H

#include "repair/sync.h"

#include <stdio.h>

void gn_sync_report_text(const struct gn_sync_report *report, FILE *out);
void gn_sync_report_json(const struct gn_sync_report *report, FILE *out);

/* ---- what both have worked out ---- */

/* µ in the last pass, of pairs of domains that have locations. */
struct gn_sync_latency {
    bool has_between; /* there are several domains */
    double within_least_ns, within_most_ns, between_least_ns, between_most_ns;
};

struct gn_sync_latency gn_sync_latency(const struct gn_sync_report *report);
double gn_sync_ns(const struct gn_sync_report *report, double ticks);
/* Above which change of an interval's length struct gn_deviation counts, in percent. */
extern const double gn_sync_thresholds[GN_DEVIATIONS];

static inline double gn_sync_percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

#endif

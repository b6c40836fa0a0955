/* answer/report_resources — how well a run used what it had: efficiency, cores, memory, files, messages. */
#ifndef GNOMON_ANSWER_REPORT_RESOURCES_H
#define GNOMON_ANSWER_REPORT_RESOURCES_H

#include "profile/summary.h"

#include <jansson.h>
#include <stdio.h>

/* " · 7.9 of 8 cores busy", where that is known. */
void gn_report_cores(const struct gn_summary *summary, FILE *out);
/* "efficiency 71 % = load balance 83 % × communication 86 %" of what is known. */
void gn_report_efficiency(const struct gn_efficiency *efficiency, FILE *out);
/* Lines on memory, messages and files, and on hosts where there are several. */
void gn_report_resources(const struct gn_summary *summary, FILE *out);

/* Members of docs/report-format.md. */
json_t *gn_report_efficiency_json(const struct gn_efficiency *efficiency);
json_t *gn_report_resources_json(const struct gn_summary *summary);
json_t *gn_report_counters_json(const struct gn_summary *summary);
json_t *gn_report_threads_json(const struct gn_summary *summary);
json_t *gn_report_ranks_json(const struct gn_summary *summary);
json_t *gn_report_hosts_json(const struct gn_summary *summary);

#endif

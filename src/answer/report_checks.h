/*
 * answer/report_checks — whether a measurement is to be trusted: a list of what was checked, each with what
 * was found.
 */
#ifndef GNOMON_ANSWER_REPORT_CHECKS_H
#define GNOMON_ANSWER_REPORT_CHECKS_H

#include "answer/report.h"

enum gn_check_verdict { GN_CHECK_GOOD, GN_CHECK_UNKNOWN, GN_CHECK_FAILED };

struct gn_report_check {
    const char *name; /* one word, stable */
    enum gn_check_verdict verdict;
    bool is_told; /* the screen says it anyway */
    char text[512];
};

enum { GN_CHECKS = 10 };

void gn_report_checks_of(const struct gn_summary *summary, struct gn_report_check checks[GN_CHECKS]);
/* All of them, for people; those that failed and are not told elsewhere, for the screen. */
void gn_report_checks_text(const struct gn_summary *summary, const struct gn_report_options *options,
                           FILE *out);
void gn_report_failed_checks(const struct gn_summary *summary, const struct gn_report_options *options,
                             FILE *out);
/* docs/report-format.md, "checks". */
json_t *gn_report_checks_json(const struct gn_summary *summary);

#endif

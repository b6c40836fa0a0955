/*
 * cli/report_words — durations, sizes and names as the report for people has them.
 */
#ifndef GNOMON_CLI_REPORT_WORDS_H
#define GNOMON_CLI_REPORT_WORDS_H

#include <stdint.h>
#include <stdio.h>

/* Three significant digits with a unit, eight columns at most. */
const char *gn_report_seconds(double ns, char text[16]);
const char *gn_report_size(int64_t bytes, char text[16]);
const char *gn_report_base_name(const char *path); /* NULL: "" */

/* Cuts to columns, counting bytes of UTF-8 sequences once. */
void gn_report_cut(FILE *out, const char *text, int columns);

#endif

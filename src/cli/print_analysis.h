/* cli/print_analysis — what an analysis has found, to standard output in the form that was asked for. */
#ifndef GNOMON_CLI_PRINT_ANALYSIS_H
#define GNOMON_CLI_PRINT_ANALYSIS_H

#include "cli/analysis_options.h"
#include "answer/critical_report.h"
#include "answer/frames_report.h"
#include "answer/paths_report.h"
#include "answer/stragglers_report.h"
#include "answer/whatif_report.h"

/* 0, or a negative errno value with err set. */
int gn_print_stragglers(const struct gn_stragglers_report *report, enum gn_format format,
                        struct gn_error *err);
int gn_print_whatif(const struct gn_whatif_report *report, enum gn_format format, struct gn_error *err);
int gn_print_sweep(const struct gn_sweep_report *report, enum gn_format format, struct gn_error *err);
int gn_print_critical(const struct gn_critical_report *report, enum gn_format format, struct gn_error *err);
int gn_print_paths(const struct gn_paths_report *report, enum gn_format format, struct gn_error *err);
int gn_print_frames(const struct gn_frames_report *report, enum gn_format format, struct gn_error *err);

#endif

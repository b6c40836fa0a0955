/* cli/report_options — what `gnomon report` is asked for. */
#ifndef GNOMON_CLI_REPORT_OPTIONS_H
#define GNOMON_CLI_REPORT_OPTIONS_H

#include "answer/report.h"
#include "cli/format_option.h"
#include "cli/locate.h"

struct gn_report_asked {
    struct gn_report_options options;
    enum gn_format format;
    const char *run;
    bool no_trace;
    struct gn_located_part part;
};

/* Options that make no sense end gnomon, as wrong usage. */
void gn_report_options(struct gn_report_asked *asked, int argc, char **argv);

#endif

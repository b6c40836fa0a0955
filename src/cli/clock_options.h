/* cli/clock_options — which clocks `gnomon clock` is asked about, and under what assumption. */
#ifndef GNOMON_CLI_CLOCK_OPTIONS_H
#define GNOMON_CLI_CLOCK_OPTIONS_H

#include "cli/clock_measure.h"
#include "cli/format_option.h"
#include "answer/clock_report.h"

struct gn_clock_options {
    const char *run; /* NULL: measure */
    bool launched;   /* this is a rank */
    bool last, assume_given, wander_given, nominal_given;
    enum gn_format format;
    struct gn_assumption assumption;
    struct gn_clock_report_options options;
    struct gn_clock_measuring measuring;
    bool measuring_given; /* an option that only means something when measuring */
};

/* Options that make no sense end gnomon, as wrong usage. launched is false. */
void gn_clock_options(struct gn_clock_options *options, int argc, char **argv);

#endif

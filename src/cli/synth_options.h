/* cli/synth_options — what `gnomon synth` is told to simulate, and where to write it. */
#ifndef GNOMON_CLI_SYNTH_OPTIONS_H
#define GNOMON_CLI_SYNTH_OPTIONS_H

#include "synth/synth.h"

struct gn_synth_options {
    struct gn_synth_settings settings;
    const char *pattern, *output;
    bool to_stream;
};

/* Options that make no sense end gnomon, as wrong usage; so does --list, which is answered. */
void gn_synth_options(struct gn_synth_options *options, int argc, char **argv);

#endif

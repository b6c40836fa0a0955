/* cli/frames_asked — a question of `gnomon frames`, from its words to its answer. */
#ifndef GNOMON_CLI_FRAMES_ASKED_H
#define GNOMON_CLI_FRAMES_ASKED_H

#include "analyse/scores.h"
#include "cli/analysis_options.h"

struct gn_frames_asked {
    const char *trace, *question;
    enum gn_scored by;
    bool is_aggregated;
    enum gn_format format;
    size_t top;
};

/* Reads the trace and prints the answer. 0, or a negative errno value with err set. */
int gn_frames_answer(const struct gn_frames_asked *asked, struct gn_error *err);

#endif

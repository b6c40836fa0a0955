/*
 * cli/asked_change — what `gnomon whatif` is asked to make faster: a region, at some ranks, by how much; or
 * the straggler removed.
 */
#ifndef GNOMON_CLI_ASKED_CHANGE_H
#define GNOMON_CLI_ASKED_CHANGE_H

#include "cli/analysis_options.h"

#include <argp.h>

enum { GN_ASKED_RANKS = 1024 };

struct gn_asked_change {
    const char *region; /* NULL: everything */
    int64_t ranks[GN_ASKED_RANKS];
    size_t rank_count; /* 0: everywhere */
    double faster;     /* share; < 0: not said */
    bool removes_straggler;
};

/* As options say it; what makes no sense ends gnomon, as wrong usage. */
void gn_asked_change_ranks(struct argp_state *state, struct gn_asked_change *change, const char *value);
void gn_asked_change_faster(struct argp_state *state, struct gn_asked_change *change, const char *value);
/* After all options: those that need each other. */
void gn_asked_change_check(struct argp_state *state, const struct gn_asked_change *change);

/* Tries it, and prints what it gives. 0, or a negative errno value with err set: -ENOENT for a region or a
 * rank that the trace has not. */
int gn_asked_change_answer(const struct gn_asked_change *change, const struct gn_cli_history *opened,
                           enum gn_format format, struct gn_error *err);

#endif

/*
 * answer/frames_report — for how long who was where at the same time: as text for a person, as CSV and JSON
 * for programs (docs/frames.md).
 */
#ifndef GNOMON_ANSWER_FRAMES_REPORT_H
#define GNOMON_ANSWER_FRAMES_REPORT_H

#include "analyse/global_state.h"
#include "analyse/scores.h"
#include "analyse/spread.h"
#include "answer/table.h"

#include <jansson.h>
#include <stdio.h>

enum { GN_FRAMES_SIZES = 24 };

struct gn_frames_row {
    uint32_t group;
    struct gn_frame_time time;
};

struct gn_frames_report {
    const char *path;
    const char *question; /* printable */
    const struct gn_history *history;
    const struct gn_groups *groups;
    const struct gn_frames *frames;
    const struct gn_frames *aggregated; /* by events whose bounds overlap, as the paper has it; NULL */
    const struct gn_held *held; /* of a question for any state, whose frames have no rows; else NULL */
    const uint64_t *sizes;      /* [GN_FRAMES_SIZES] of these, by powers of two */
    enum gn_scored by;
    bool is_all, names_one;   /* the question is about all of them; about one against the others */
    size_t top;               /* rows; 0: all */
    struct gn_spread *spread; /* of what was seen in windows; NULL: all was */
    /* gn_frames_rank fills these */
    struct gn_frames_row *rows; /* those that it may have been, most first */
    size_t row_count;
    struct gn_held_period *periods; /* of held: the longest first; NULL */
    size_t period_count;
};

/* 0, and the caller frees rows and periods; or -ENOMEM with err set. */
int gn_frames_rank(struct gn_frames_report *report, struct gn_error *err);

/* All that it says for how long it was so: of all of them, then of each. */
struct gn_table gn_frames_table(const struct gn_frames_report *report);
void gn_frames_text(const struct gn_frames_report *report, const struct gn_terminal *terminal, FILE *out);
/* Its rows. 0, or -ENOMEM. */
int gn_frames_csv(const struct gn_frames_report *report, FILE *out);
/* A new reference; NULL: no memory. */
json_t *gn_frames_json(const struct gn_frames_report *report);

#endif

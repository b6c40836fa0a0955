/*
 * answer/whatif_report — the run with something made faster, and what would help most: as text for a person
 * and as JSON for programs (docs/whatif.md).
 */
#ifndef GNOMON_ANSWER_WHATIF_REPORT_H
#define GNOMON_ANSWER_WHATIF_REPORT_H

#include "analyse/sweep.h"
#include "analyse/spread.h"
#include "answer/table.h"

#include <jansson.h>
#include <stdio.h>

/* One change, and what it gives. */
struct gn_whatif_report {
    const char *path; /* of the trace, as it was named */
    const struct gn_history *history;
    const char *region;        /* as it was asked for; NULL: all that is computed */
    const bool *chosen;        /* [activity_count] made faster */
    const bool *processes;     /* [process_count] where; NULL: everywhere */
    double share_lo, share_hi; /* 0 … 1 of its time that goes; the same but for a straggler, and of a part */
    double part_lo,
        part_hi; /* so much of what is chosen is the region; 1: all, but for places that samples know */
    /* of a straggler that is removed; GN_NONE: none is */
    uint32_t straggler;
    double score_lo, score_hi; /* percent of the run */
    struct gn_whatif_result result;
    struct gn_spread *spread; /* of what was seen in windows; NULL: all was */
};

/* The best of many. */
struct gn_sweep_report {
    const char *path;
    const struct gn_history *history;
    const struct gn_sweep *sweep;
    struct gn_spread *spread; /* of what was seen in windows; NULL: all was */
};

void gn_whatif_text(const struct gn_whatif_report *report, const struct gn_terminal *terminal, FILE *out);
void gn_sweep_text(const struct gn_sweep_report *report, const struct gn_terminal *terminal, FILE *out);
/* The change, as CSV. */
struct gn_table gn_whatif_table(const struct gn_whatif_report *report);
/* The answers, as text and as CSV. */
struct gn_table gn_sweep_table(const struct gn_sweep_report *report);
/* New references; NULL: no memory. */
json_t *gn_whatif_json(const struct gn_whatif_report *report);
json_t *gn_sweep_json(const struct gn_sweep_report *report);

/* An answer in a line: "assign (kmeans.c:156) at rank 3, 35 % faster: speedup 20.1 to 20.6 %, …"; and as in
 * the list of all. */
void gn_sweep_answer_text(const struct gn_history *history, const struct gn_answer *answer, FILE *out);
json_t *gn_sweep_answer_json(const struct gn_history *history, const struct gn_answer *answer);

/* "faster", "to_mean", "to_median". */
const char *gn_sweep_to_name(enum gn_sweep_to to);

#endif

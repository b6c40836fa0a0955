/* answer/report_time — parts of a run, one after the other, each in a line. */
#ifndef GNOMON_ANSWER_REPORT_TIME_H
#define GNOMON_ANSWER_REPORT_TIME_H

#include "answer/table.h"
#include "profile/summary.h"

struct gn_time_part {
    struct gn_period_told period;
    struct gn_efficiency efficiency; /* of its ranks then */
    double mpi_share;
    int64_t calls, bytes;
    char most[600]; /* what takes most of the ranks' time in it, "": nothing */
    double share;
    int rank; /* that takes longest in it */
};

/* What a summary, by activity, of a part of the run says. */
struct gn_time_part gn_time_part_of(const struct gn_summary *summary, const struct gn_terminal *terminal);

struct gn_time_report {
    const struct gn_time_part *parts;
    size_t count;
};

/* The report outlives the table. */
struct gn_table gn_time_table(const struct gn_time_report *report);
/* docs/report-format.md, "By time". */
json_t *gn_time_json(const struct gn_time_report *report);

#endif

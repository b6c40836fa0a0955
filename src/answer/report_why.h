/*
 * answer/report_why — why the run took as long: one sentence, from one predicate. Ranks that had no core come
 * first: of them nothing else can be said. Then the computation whose uneven distribution over the ranks
 * costs most.
 */
#ifndef GNOMON_ANSWER_REPORT_WHY_H
#define GNOMON_ANSWER_REPORT_WHY_H

#include "answer/terminal.h"
#include "profile/summary.h"

#include <jansson.h>

enum gn_why_kind {
    GN_WHY_NOTHING,   /* nothing stands out */
    GN_WHY_PREEMPTED, /* ranks were ready and had no core */
    GN_WHY_IMBALANCE,
};

struct gn_why {
    enum gn_why_kind kind;
    const struct gn_host_row *host;    /* where ranks had fewest cores; NULL: not known */
    const struct gn_activity_row *row; /* of the imbalance */
    double cost_s;                     /* what an even distribution would spare, at most */
    double preempted_s;                /* of its slowest rank, not a number: not known */
};

/* A rank that had no core for so much of its time tells little of what it computes. */
#define GN_WHY_PREEMPTED_SHARE 0.1

/* Rows of *summary are by activity. */
struct gn_why gn_report_why(const struct gn_summary *summary);
/* A sentence with no end; false: there is nothing to say. */
bool gn_report_why_text(const struct gn_summary *summary, const struct gn_why *why,
                        const struct gn_terminal *terminal, char *text, size_t size);
/* docs/report-format.md, "cause". */
json_t *gn_report_why_json(const struct gn_summary *summary, const struct gn_why *why);

#endif

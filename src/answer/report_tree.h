/* answer/report_tree — the call tree of a run: inclusive time from main downwards, folded to what matters. */
#ifndef GNOMON_ANSWER_REPORT_TREE_H
#define GNOMON_ANSWER_REPORT_TREE_H

#include "answer/report.h"

/* What takes less than a hundredth of its time is one line with its like, unless all is asked for. 0, or
 * -ENOMEM. */
int gn_report_tree_text(const struct gn_summary *summary, const struct gn_report_options *options, FILE *out);
/* docs/report-format.md, "tree". NULL: no memory. */
json_t *gn_report_tree_json(const struct gn_summary *summary);
int gn_report_tree_csv(const struct gn_summary *summary, FILE *out);

#endif

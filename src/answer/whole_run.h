/* answer/whole_run — tables of what was seen in windows of a run: what their shares are in all of it. */
#ifndef GNOMON_ANSWER_WHOLE_RUN_H
#define GNOMON_ANSWER_WHOLE_RUN_H

#include "analyse/spread.h"
#include "answer/table.h"

/* For a table's `whole`, which lives as long as the spread. NULL: all was seen. only_best: its rows are not
 * all that there are. */
struct gn_table_whole gn_whole_run(struct gn_spread *spread, bool only_best);

#endif

/* profile/rows — what writing and reading a graph's tables share. */
#ifndef GNOMON_PROFILE_ROWS_H
#define GNOMON_PROFILE_ROWS_H

#include "profile/profile.h"

/* Whether rows of other kinds refer to these by a number of their own, the column id. */
bool gn_rows_have_ids(enum gn_graph_kind kind);

#endif

/*
 * profile/summary_tree — the rows of a report as a tree: functions by who calls them, and in each what it
 * spends its time on. A computation hangs from the last function that the call ahead of it and the call
 * behind it have in common.
 */
#ifndef GNOMON_PROFILE_SUMMARY_TREE_H
#define GNOMON_PROFILE_SUMMARY_TREE_H

#include "profile/summary.h"

struct gn_call_node {
    char *function;                    /* of a function; NULL: of a row */
    const struct gn_activity_row *row; /* of the summary: what is done there; NULL: a function */
    uint32_t first, next;              /* of its children, of its parent's: indices, 0 none; largest first */
    uint32_t parent;
    int64_t total_ns; /* with all below it */
};

/* nodes[0] is all of it. */
struct gn_call_tree {
    struct gn_call_node *nodes;
    size_t count;
};

#endif

/*
 * profile/summary_tree — the rows of a report as a tree: functions by who calls them, loops that calls stand
 * in, and in each what it spends its time on. A computation hangs from the last function or loop that the
 * call ahead of it and the call behind it have in common.
 */
#ifndef GNOMON_PROFILE_SUMMARY_TREE_H
#define GNOMON_PROFILE_SUMMARY_TREE_H

#include "profile/pace.h"
#include "profile/summary.h"

struct gn_counted {
    bool known;        /* else nothing is said of it */
    int64_t low, high; /* of all ranks; high -1: not known */
    int64_t likely;    /* if each way from call to call was the one that leaves the fewest functions */
};

/* What was counted without a probe (program/iterations.h), of all ranks together. */
struct gn_call_counts {
    struct gn_counted
        entries; /* of a loop; of a function, how often it was called with a call of MPI in it */
    struct gn_counted iterations;        /* of a loop */
    int64_t least_of_rank, most_of_rank; /* iterations, where they are exact */
    struct gn_pace pace;                 /* of a loop that each rank enters once */
};

struct gn_call_node {
    char *function; /* of a function, or of the one that a loop is in; NULL: of a row */
    bool is_loop;
    char *file;          /* of a loop its place, of a function the statement that calls it; NULL: not known */
    int line;            /* likewise; 0: not known */
    char *doubt, *label; /* of a loop: why its counts may be wrong, its address */
    const struct gn_activity_row *row; /* of the summary: what is done there; NULL: a function or loop */
    uint32_t first, next;              /* of its children, of its parent's: indices, 0 none; largest first */
    uint32_t parent;
    int64_t total_ns; /* with all below it */
    struct gn_call_counts counts;
};

/* nodes[0] is all of it. */
struct gn_call_tree {
    struct gn_call_node *nodes;
    size_t count;
};

/* Leaves of the tree what is at the nodes that a path leads to, and below: "main/solve/loop@heat.c:110",
 * functions by name, or by the statement that calls them ("solve@heat.c:40"), loops by file and line, from
 * the outermost on; what stands ahead of the first part may be left out, and then all that are called so are
 * meant. False: there is none. */
bool gn_call_tree_narrow(struct gn_call_tree *tree, const char *path);

#endif

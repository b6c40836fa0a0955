/*
 * profile/tree_parts — what each call stands in: the functions that its line is in, inlined ones in place,
 * and the loops of these.
 */
#ifndef GNOMON_PROFILE_TREE_PARTS_H
#define GNOMON_PROFILE_TREE_PARTS_H

#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_tree_part {
    char *function; /* its name; of a loop the function that it is in */
    int64_t loop;   /* of table loop; 0: a function */
    char *file;     /* of a loop where it is; of a function the statement in it that calls what is next */
    int line;       /* likewise; 0: not known */
    char *doubt, *label; /* of a loop; NULL: not known; label: what it is called without a line */
};

struct gn_tree_parts { /* of one site, outermost first */
    struct gn_tree_part *items;
    size_t count;
};

struct gn_tree_step { /* of table callpath */
    int64_t parent, site;
};

/* All of a profile. Ids are below the counts; what is not there is zero. */
struct gn_tree_sites {
    struct gn_tree_parts *sites;
    struct gn_tree_step *steps;
    int64_t site_count, step_count;
    bool has_loops; /* the profile has been looked through for them */
};

/* Whether two are the same node of a tree, below the same one, but for the statements that call them. */
bool gn_tree_same_part(const struct gn_tree_part *a, const struct gn_tree_part *b);

/* Caller clears, also after an error. */
int gn_tree_sites_read(struct gn_tree_sites *sites, sqlite3 *db, struct gn_error *err);
void gn_tree_sites_clear(struct gn_tree_sites *sites);

#endif

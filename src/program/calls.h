/*
 * program/calls — call paths, and where the code between the calls that two of them end in is.
 */
#ifndef GNOMON_PROGRAM_CALLS_H
#define GNOMON_PROGRAM_CALLS_H

#include "program/modules.h"

enum { GN_CALLS_MAX = 512 };

struct gn_call_address {
    const struct gn_opened_module *module;
    uint64_t offset; /* of the return address, from the load base */
};

struct gn_calls { /* outermost first; what is further out than fits is left away */
    size_t count;
    struct gn_call_address items[GN_CALLS_MAX];
};

/* Of two paths that both have calls: the first step in which they differ, or the last common one. */
size_t gn_calls_parting(const struct gn_calls *from, const struct gn_calls *to);

/*
 * The code between two activities lies in the innermost procedure that both call paths have in common,
 * between the calls it makes on the way to them. When control cannot go from the first call to the second
 * inside of it (no loop around them), that procedure was left and entered again: then it is a loop of one of
 * its callers. False: nothing better is known than the calls themselves.
 */
bool gn_calls_between(const struct gn_calls *from, const struct gn_calls *to, struct gn_program_place *place);

#endif

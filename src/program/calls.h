/*
 * program/calls — call paths.
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

#endif

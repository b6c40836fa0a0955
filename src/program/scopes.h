/*
 * program/scopes — the blocks and inlined functions of one function, as a tree of address ranges.
 *
 * One loop asks for the functions around hundreds of addresses, and each answer from the debug information
 * itself would parse the same entries again. So a function's tree is read once, and is plain numbers from
 * then on.
 */
#ifndef GNOMON_PROGRAM_SCOPES_H
#define GNOMON_PROGRAM_SCOPES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GN_SCOPE_NONE = UINT32_MAX,
    GN_FRAMES_MAX = 64 /* functions inlined into each other that are told apart */
};

struct gn_scope {
    Dwarf_Die die;
    uint32_t child, next; /* indices in the order of the file, or GN_SCOPE_NONE */
    uint32_t first_range, range_count;
    bool inlined;               /* an inlined function; else a block, or the function itself */
    const char *call_file;      /* where an inlined function was called; NULL when unknown */
    int call_line, call_column; /* 0 when unknown */
};

struct gn_scopes {
    struct gn_scope *items; /* items[0] is the function */
    size_t count, room;
    struct gn_scope_range {
        uint64_t low, high; /* [low, high) */
    } * ranges;
    size_t range_count, range_room;
};

/* body: the entry of the compilation unit that has the function. What does not fit into memory, or beyond
 * what an honest file has, is left out. NULL: no memory at all. Caller frees with gn_scopes_free. */
struct gn_scopes *gn_scopes_read(Dwarf_Die *function, Dwarf_Die *body);
void gn_scopes_free(struct gn_scopes *scopes);

/* The function and the inlined functions around pc, outermost first, as indices; returns their number, at
 * least 1. */
size_t gn_scopes_chain(const struct gn_scopes *scopes, uint64_t pc, uint32_t *chain, size_t max);

#endif

/*
 * program/symbols — which symbol holds an address, for files without debug information.
 *
 * libdwfl reads its whole table for each question, a millisecond and more in a large library. Here the table
 * is read once, at the first question, and searched by address. The answer is the one that libdwfl gives: of
 * the global symbols that hold the address the narrowest, else of the local ones; where there is none, the
 * nearest label without a size below it in the same section, which is rare and left to libdwfl.
 */
#ifndef GNOMON_PROGRAM_SYMBOLS_H
#define GNOMON_PROGRAM_SYMBOLS_H

#include "program/spans.h"

#include <elfutils/libdwfl.h>

/* All zero at first. */
struct gn_symbols {
    bool tried, complete;
    struct gn_spans globals, locals;
    struct gn_spans labels;   /* without a size, as ranges of one byte */
    struct gn_spans sections; /* that are loaded */
};

/*
 * Name of the symbol of `module` that holds `address` (as libdwfl has it, its bias included), or NULL.
 * *from_start: bytes from the symbol's beginning. The name belongs to the module.
 */
const char *gn_symbols_find(struct gn_symbols *symbols, Dwfl_Module *module, Dwarf_Addr address,
                            uint64_t *from_start);
/* After a search for that address: whether what was found reaches there by its size. */
bool gn_symbols_hold(const struct gn_symbols *symbols, Dwarf_Addr address);
void gn_symbols_clear(struct gn_symbols *symbols);

#endif

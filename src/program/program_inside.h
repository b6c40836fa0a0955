/*
 * program/program_inside — the handle, shared by program.c and between.c.
 *
 * Three kinds of address occur. An offset counts from the load base, which is the same as an address in the
 * ELF file's own headers. libdwfl places the module somewhere and adds elf_bias. The separate debug file may
 * have been moved against the module (prelink): its addresses ("pc") are offset + debug_shift.
 */
#ifndef GNOMON_PROGRAM_INSIDE_H
#define GNOMON_PROGRAM_INSIDE_H

#include "program/code.h"
#include "program/kept.h"
#include "program/program.h"
#include "program/symbols.h"
#include "program/units.h"

#include <elfutils/libdwfl.h>

struct gn_program {
    Dwfl *dwfl;
    Dwfl_Module *module;
    Elf *elf; /* the file that runs, not its debug file */
    Dwarf_Addr elf_bias;
    uint64_t debug_shift;
    struct gn_symbols symbols;
    struct gn_units *units;     /* NULL without debug information */
    struct gn_machine *machine; /* opened by the first question about code */
    bool machine_tried;
    void *strings; /* tsearch tree of the strings handed out */
    struct gn_kept_answers kept;
};

/* The program's own copy of text, one per different text; NULL when text is NULL or memory ran out. Frees
 * text. */
const char *gn_program_keep(struct gn_program *program, char *text);

void gn_program_set_place(struct gn_program *program, struct gn_frame *frame, bool inlined,
                          struct gn_program_place *place);

/* Opened by the first question; NULL: a machine whose code is not understood. */
struct gn_machine *gn_program_machine(struct gn_program *program);

/* The symbol that holds offset, as the file writes it, or NULL. */
const char *gn_program_symbol(struct gn_program *program, uint64_t offset, uint64_t *symbol_offset);

#endif

/*
 * program/program_inside — the handle, shared by the files of the room.
 *
 * Three kinds of address occur. An offset counts from the load base, which is the same as an address in the
 * ELF file's own headers. libdwfl places the module somewhere and adds elf_bias. The separate debug file may
 * have been moved against the module (prelink): its addresses ("pc") are offset + debug_shift.
 */
#ifndef GNOMON_PROGRAM_INSIDE_H
#define GNOMON_PROGRAM_INSIDE_H

#include "program/code.h"
#include "program/kept.h"
#include "program/methods.h"
#include "program/program.h"
#include "program/symbols.h"
#include "program/units.h"
#include "unwind/table.h"

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
    struct gn_unwind_table unwind; /* of the file as it lies on the disk */
    bool unwind_tried;
    struct gn_methods methods; /* of an extension module of Python */
    const char *library;       /* what people call it: its soname, else the file's name */
    void *strings;             /* tsearch tree of the strings handed out */
    struct gn_kept_answers kept;
};

/* The program's own copy of text, one per different text; NULL when text is NULL or memory ran out. Frees
 * text. */
const char *gn_program_keep(struct gn_program *program, char *text);

void gn_program_set_place(struct gn_program *program, struct gn_frame *frame, bool inlined,
                          struct gn_program_place *place);

/* Opened by the first question; NULL: a machine whose code is not understood. */
struct gn_machine *gn_program_machine(struct gn_program *program);

/* The symbol that holds offset, as the file writes it, or NULL. One without a size holds what follows it in
 * its function. */
const char *gn_program_symbol(struct gn_program *program, uint64_t offset, uint64_t *symbol_offset);

/* Reads methods, and what gn_program_library says; false: no memory. */
bool gn_program_read_library(struct gn_program *program, const char *path);

/* Without the packages that an extension module of Python is in: "MPI.Comm.recv" of "mpi4py.MPI.Comm.recv".
 */
char *gn_program_shorten(const struct gn_program *program, char *name);

/* One place that is unnamed, or has its name from Python; 0: there is no unwind table for offset. */
size_t gn_program_unnamed(struct gn_program *program, uint64_t offset, struct gn_program_place *place,
                          uint64_t *from_start);

#endif

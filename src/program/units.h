/*
 * program/units — debug information by address: which functions (inlined ones unfolded) and which source
 * lines an address belongs to.
 *
 * libdw's own lookups are not used for this: dwarf_getscopes recurses as deep as the file says, does not find
 * procedures contained in a Fortran procedure (their code lies outside of the parent's), and neither it nor
 * the address table (.debug_aranges, which clang leaves out) remembers anything between calls. Here every
 * compilation unit is walked at most once, with a fixed depth and a budget for the whole file.
 *
 * Addresses are those of the debug file ("pc"), not offsets from the load base.
 */
#ifndef GNOMON_PROGRAM_UNITS_H
#define GNOMON_PROGRAM_UNITS_H

#include "program/scopes.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_units;

enum { GN_FUNCTION_RANGES_MAX = 8 };

/* One level of a (possibly inlined) call chain. Strings belong to the debug file. */
struct gn_frame {
    Dwarf_Die die;         /* DW_TAG_inlined_subroutine or DW_TAG_subprogram; die.addr NULL: no function */
    const char *directory; /* of the compilation; NULL when unknown */
    const char *file;      /* as recorded, may be relative to directory; NULL when unknown */
    int line, column;      /* 0 when unknown */
};

/* The code of one physical function, which may be in several pieces (hot and cold). */
struct gn_function {
    Dwarf_Die die;
    uint64_t entry; /* where it begins, which need not be its lowest address */
    size_t range_count;
    struct {
        uint64_t low, high; /* [low, high), ascending and without overlap */
    } ranges[GN_FUNCTION_RANGES_MAX];
};

/* Returns 0 or -ENOMEM; a damaged file gives what could be read of it. */
int gn_units_open(struct gn_units **out, Dwarf *dwarf);
void gn_units_close(struct gn_units *units);

bool gn_units_have_lines(const struct gn_units *units);

/* Innermost first; returns the number of frames written, 0 when the debug information does not know pc. A
 * chain longer than max loses its outermost frames. */
size_t gn_units_frames(struct gn_units *units, uint64_t pc, struct gn_frame *frames, size_t max);

/* A statement of this line and column (0: any) begins at pc, if only one of which no instruction is left. */
bool gn_units_begins_at(struct gn_units *units, uint64_t pc, int line, int column);

/* Whether the unit around pc says where each statement begins, if only one of which no instruction is left,
 * or there is none of that kind. clang does, and gcc from version 8 on, of C and C++, but for options that
 * keep it from that (-g1, -gno-statement-frontiers, -fselective-scheduling), and of what was not optimized.
 * Of others it is not known. */
bool gn_units_tell_statements(struct gn_units *units, uint64_t pc);

/* Whether code around pc that was made one of several pieces has no line, or no column if they were in one:
 * clang's. */
bool gn_units_merge_places(struct gn_units *units, uint64_t pc);

/* The line of the first row of several at pc; 0: there is none. */
int gn_units_first_line(struct gn_units *units, uint64_t pc);

/* The last row ahead of pc that has a line: its address. False: there is none in this unit. */
bool gn_units_row_before(struct gn_units *units, uint64_t pc, uint64_t *address);

/* The physical function around pc. */
bool gn_units_function(struct gn_units *units, uint64_t pc, struct gn_function *function);

/* The function's name as a person writes it: a new string, or NULL when it has none or memory ran out. */
char *gn_units_name(struct gn_units *units, Dwarf_Die *die);

#endif

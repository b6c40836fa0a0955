/*
 * unwind/table — finds the unwind information of an address in an executable or library that is in memory, by
 * the sorted table that the linker leaves beside it (.eh_frame_hdr; Linux Standard Base Core, section 10.6).
 */
#ifndef GNOMON_UNWIND_TABLE_H
#define GNOMON_UNWIND_TABLE_H

#include "unwind/cfi.h"

struct gn_unwind_table {
    struct gn_cfi_bytes bytes; /* of the segment that holds it and .eh_frame */
    uintptr_t header;          /* address of .eh_frame_hdr; 0: the module has none */
};

/* The rule of the code around `pc`, which lies in the table's module (an address inside of the call, not
 * behind it), and where its procedure begins: 0 when unknown. A module without a table: GN_RULE_END; with one
 * of a form that is not understood: GN_RULE_SLOW. */
struct gn_rule gn_unwind_rule(const struct gn_unwind_table *table, enum gn_cfi_machine machine, uintptr_t pc,
                              uintptr_t *function);

/* The procedure [*begin, *end) around `pc`, as far as its unwind information goes: a procedure that the
 * compiler has cut into pieces has one for each. False: there is none for pc, or it is not understood. */
bool gn_unwind_procedure(const struct gn_unwind_table *table, uintptr_t pc, uintptr_t *begin, uintptr_t *end);

/* The first procedure that begins at `from` or behind it. False: there is none, or it is not understood. */
bool gn_unwind_next(const struct gn_unwind_table *table, uintptr_t from, uintptr_t *begin, uintptr_t *end);

#endif

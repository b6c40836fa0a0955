/*
 * program/jump_tables — jumps by tables, as compilers make them of a `switch` (x86-64):
 *
 *     cmp $5, %eax        or sub
 *     ja  default
 *     lea table(%rip), %rdx
 *     movslq (%rdx,%rax,4), %rax
 *     add %rdx, %rax
 *     jmp *%rax           or, in code that is not relocated, jmp *table(,%rax,8)
 *
 * with a few others in between. The comparison says how many entries there are. In a loop the table's address
 * is often loaded ahead of it, into a register that the function uses for nothing else.
 */
#ifndef GNOMON_PROGRAM_JUMP_TABLES_H
#define GNOMON_PROGRAM_JUMP_TABLES_H

#include "program/instructions.h"

struct cs_insn; /* capstone.h */

/* What was seen last. Instructions; GN_CODE_NONE: none. */
struct gn_jump_pattern {
    size_t compared, bounded, loaded; /* of the comparison, of the branch behind it, of lea */
    size_t added;                     /* of an add to `sum` of the base */
    uint64_t most, table;
    unsigned sum;  /* x86_reg */
    uint32_t base; /* index in gn_code.bases, or GN_CODE_BASES */
};
#define GN_JUMP_PATTERN                                                                                      \
    ((struct gn_jump_pattern){                                                                               \
        .compared = GN_CODE_NONE, .bounded = GN_CODE_NONE, .loaded = GN_CODE_NONE, .added = GN_CODE_NONE})

/* Of the registers (x86_reg) that calls leave as they were: 0 … GN_CODE_BASES - 1, by any of its names; or
 * GN_CODE_BASES. */
uint32_t gn_saved_register(unsigned reg);

/* Looks at instruction `at`, which raw is; adds to code->switches what may be one. False: no memory. */
bool gn_jump_tables_follow(struct gn_jump_pattern *p, struct gn_code *code, const struct cs_insn *raw,
                           size_t at);

/* When all of the function was seen: where the jump's table is. False: it is not known. */
bool gn_jump_tables_settle(const struct gn_code *code, struct gn_code_switch *jump);

#endif

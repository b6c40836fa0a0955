/*
 * program/code — the machine code of one function as a list of instructions, of which only the control flow
 * is kept. x86-64 and AArch64.
 */
#ifndef GNOMON_PROGRAM_CODE_H
#define GNOMON_PROGRAM_CODE_H

#include "program/instructions.h"

#include <gelf.h>

struct gn_machine; /* a disassembler for one module, with its imported symbols */

/* Returns 0, -ENOTSUP (another processor) or -ENOMEM. The machine reads elf until it is closed. */
int gn_machine_open(struct gn_machine **out, Elf *elf);
void gn_machine_close(struct gn_machine *machine);

/* Whether the module calls one of these in other modules; names end with a NULL. */
bool gn_machine_imports(const struct gn_machine *machine, const char *const *names);

struct cs_insn;
/* The instruction at address (x86-64), until the machine looks at another one; NULL: none. */
const struct cs_insn *gn_machine_look(struct gn_machine *machine, uint64_t address);

/* Appends the code of [low, high); pieces of one function are read in ascending order, then finished. Returns
 * 0, -ENOEXEC (no such bytes in the file), -E2BIG (beyond any honest function) or -ENOMEM. */
int gn_code_read(struct gn_code *code, struct gn_machine *machine, uint64_t low, uint64_t high);
/* Tells jumps inside the function from jumps out of it, and looks up what is called. */
void gn_code_finish(struct gn_code *code, struct gn_machine *machine);
void gn_code_clear(struct gn_code *code);

/* The index of the first instruction that starts at address or behind it; code->count when there is none. */
size_t gn_code_from(const struct gn_code *code, uint64_t address);

/* The index of the instruction that holds an offset, or GN_CODE_NONE. */
size_t gn_code_holding(const struct gn_code *code, uint64_t offset);

/* The jump by a table at an instruction; NULL: it is none, or not understood. */
const struct gn_code_switch *gn_code_switch_at(const struct gn_code *code, size_t insn);

/* The index of the instruction that starts at address, or GN_CODE_NONE. */
size_t gn_code_at(const struct gn_code *code, uint64_t address);

#endif

/*
 * program/code — the machine code of one function as a list of instructions, of which only the control flow
 * is kept. x86-64 and AArch64.
 */
#ifndef GNOMON_PROGRAM_CODE_H
#define GNOMON_PROGRAM_CODE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gn_machine; /* a disassembler for one module, with its imported symbols */

enum gn_code_kind {
    GN_CODE_PLAIN,
    GN_CODE_JUMP,      /* always, to target (in this function) */
    GN_CODE_BRANCH,    /* perhaps, to target (in this function or 0) */
    GN_CODE_SWITCH,    /* a jump to a computed address */
    GN_CODE_CALL,      /* comes back */
    GN_CODE_TAIL_CALL, /* a jump out of this function */
    GN_CODE_RETURN,
    GN_CODE_STOP, /* never continues: a trap, or bytes that are no instruction */
};

struct gn_insn {
    uint64_t address; /* offset from the load base */
    uint64_t target;  /* of a jump, branch or call; 0 when unknown */
    const char
        *callee; /* symbol called through the linkage table; NULL for a direct call until the owner sets it */
    uint16_t size;
    bool waits;   /* it says that its thread has nothing to do: a pause in a loop, a system call */
    bool fills;   /* it does nothing: what compilers put between pieces of code */
    bool acts;    /* it writes to memory, other than where a function has its own variables */
    uint8_t kind; /* enum gn_code_kind */
    uint16_t
        sort; /* of writes: a digest of the operation and a fixed address, to tell two of one line apart */
};
_Static_assert(sizeof(struct gn_insn) == 32, "there are many");

/* The ways control can take, by instruction: those of i are ends[first[i]] .. ends[first[i + 1] - 1]. */
struct gn_code_edges {
    size_t *first;
    uint32_t *ends;
};

/* A jump by a table: its instruction, and where it may lead (indices, in gn_code.ways). */
struct gn_code_switch {
    size_t insn, first, count;
    uint64_t table; /* offset from the load base */
    uint32_t width; /* bytes of an entry: 4, relative to the table; 8, an address */
};

struct gn_code {
    struct gn_insn *items; /* ascending by address */
    size_t count, room;
    size_t entry; /* index of the one that the function begins with; 0 until its owner knows better */
    struct gn_code_switch *switches; /* those that are understood, ascending by insn */
    size_t switch_count, switch_room;
    uint32_t *ways;
    size_t way_count, way_room;
    struct gn_code_edges to, from; /* set by gn_flow_connect (program/flow.h), NULL before */
};

#define GN_CODE_NONE SIZE_MAX

/* Returns 0, -ENOTSUP (another processor) or -ENOMEM. The machine reads elf until it is closed. */
int gn_machine_open(struct gn_machine **out, Elf *elf);
void gn_machine_close(struct gn_machine *machine);

/* Whether the module calls one of these in other modules; names end with a NULL. */
bool gn_machine_imports(const struct gn_machine *machine, const char *const *names);

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

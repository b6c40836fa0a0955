/*
 * program/instructions — what is kept of a function's machine code: an instruction each, and jumps by tables.
 */
#ifndef GNOMON_PROGRAM_INSTRUCTIONS_H
#define GNOMON_PROGRAM_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    uint32_t base;  /* the table is what one of gn_code.bases holds; GN_CODE_BASES: it is known */
};

enum { GN_CODE_BASES = 6 };

/* A register that calls leave as it was: what the function puts into it. */
struct gn_code_base {
    uint64_t table; /* an address, offset from the load base */
    bool has_table, has_other;
};

struct gn_code {
    struct gn_insn *items; /* ascending by address */
    size_t count, room;
    size_t entry; /* index of the one that the function begins with; 0 until its owner knows better */
    struct gn_code_switch *switches; /* those that are understood, ascending by insn */
    size_t switch_count, switch_room;
    struct gn_code_base bases[GN_CODE_BASES];
    uint32_t *ways;
    size_t way_count, way_room;
    struct gn_code_edges to, from; /* set by gn_flow_connect (program/flow.h), NULL before */
};

#define GN_CODE_NONE SIZE_MAX

#endif

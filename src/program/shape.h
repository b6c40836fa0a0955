/*
 * program/shape — a function as a whole: its code, its loops, what they are called, and what is doubtful
 * about them.
 *
 * A loop of the machine code is not always one of the source: compilers take the first round out of one, make
 * two of it, or let an inner and an outer one begin at the same instruction. What can be seen of that is
 * told, and a count that rests on such a loop is no more than likely.
 */
#ifndef GNOMON_PROGRAM_SHAPE_H
#define GNOMON_PROGRAM_SHAPE_H

#include "program/flow.h"
#include "program/program_inside.h"

enum gn_loop_doubt {
    GN_DOUBT_NO_LINES = 1,     /* it may be two, one in the other, and no lines tell */
    GN_DOUBT_ENTRIES = 2,      /* it can be entered in more than one place */
    GN_DOUBT_JUMPS = 4,        /* it holds a jump to a computed address */
    GN_DOUBT_COPIES = 8,       /* a call in it stands in the code more than once, in it or beside it */
    GN_DOUBT_SHARED_HEAD = 16, /* it may be two, one in the other */
    GN_DOUBT_EXCEPTIONS = 32,  /* exceptions may lead into it */
    GN_DOUBT_SETJMP = 64,      /* the function has a call that may come back more than once */
    GN_DOUBT_MERGED =
        256, /* it begins in the middle of its body: what others have alike was made one with it */
    GN_DOUBT_RECURSION = 128, /* the function calls itself */
};

struct gn_shape_loop {
    struct gn_program_place place; /* line 0: not known */
    unsigned doubts;               /* bits of enum gn_loop_doubt */
};

struct gn_function_shape {
    struct gn_program *program;
    const struct gn_code *code; /* NULL: it could not be read */
    struct gn_flow flow;
    struct gn_shape_loop *loops; /* by loop of flow */
    bool catches;                /* an exception may end in it, and it goes on */
    uint8_t *measured;           /* by instruction: a call that is measured */
    uint8_t *silent;             /* … control may come past it without a call that is measured */
};

/* The function around offset, without its loops' doubts (program/doubts.h). False: its code is not known, or
 * no memory; there is nothing to clear then. It must be cleared before program/kept gives code up
 * (gn_kept_tidy). */
bool gn_shape_read(struct gn_function_shape *shape, struct gn_program *program, uint64_t offset);
void gn_shape_clear(struct gn_function_shape *shape);

/* Whether an instruction is in a loop or in one inside of it. */
bool gn_shape_is_in(const struct gn_function_shape *shape, size_t insn, size_t loop);

/* Whether control may leave the loop behind an instruction. */
bool gn_shape_leads_out(const struct gn_function_shape *shape, size_t insn, size_t loop);

static inline const struct gn_insn *gn_shape_insn(const struct gn_function_shape *shape, size_t i)
{
    return &shape->code->items[i];
}

#endif

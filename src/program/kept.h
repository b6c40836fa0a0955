/*
 * program/kept — what was found out about a module and will be asked again.
 *
 * Thousands of questions about one program concern the same few functions: the same code lies between many
 * pairs of calls, many ranks ask the same. So each function is disassembled once, each study of a called
 * function made once (as long as it would come out the same), and each question answered once. The memory is
 * bounded: code is given up when there is too much of it, and beyond the limits nothing more is kept.
 */
#ifndef GNOMON_PROGRAM_KEPT_H
#define GNOMON_PROGRAM_KEPT_H

#include "base/map.h"
#include "program/code.h"
#include "program/place.h"

/* What is known of a function, and all functions that were looked at for it, itself first. */
struct gn_program_finding {
    bool possible; /* the function can be passed without an MPI call */
};

struct gn_studied {
    uint64_t entry; /* offset of the function */
    struct gn_program_finding finding;
};

struct gn_study {
    size_t count;
    struct gn_studied items[];
};

struct gn_kept_places { /* of gn_program_places */
    size_t count;
    uint64_t symbol_offset;
    struct gn_program_place items[];
};

/* All zero at first. */
struct gn_kept_answers {
    struct gn_map codes;   /* address of a function's entry in the debug information to struct gn_code */
    size_t insns;          /* of all of them */
    struct gn_map studies; /* function's offset and level to struct gn_study */
    size_t studied;        /* items of all of them */
    struct gn_map places;  /* offset */
    struct gn_map kinds;   /* offset to int: of gn_runtime_at */
};

/* Takes over a code that was just read, in memory of its own; NULL, and it is cleared: no memory. */
const struct gn_code *gn_kept_add_code(struct gn_kept_answers *kept, struct gn_key key, struct gn_code *code);

/* Gives up code when there is too much of it: only while nobody uses any. */
void gn_kept_tidy(struct gn_kept_answers *kept);

/* Each of these copies what it is given, or does nothing when there is no room. */
void gn_kept_add_study(struct gn_kept_answers *kept, struct gn_key key, const struct gn_studied *items,
                       size_t count);
void gn_kept_add_places(struct gn_kept_answers *kept, struct gn_key key,
                        const struct gn_program_place *places, size_t count, uint64_t symbol_offset);
void gn_kept_add_kind(struct gn_kept_answers *kept, struct gn_key key, int kind);

void gn_kept_clear(struct gn_kept_answers *kept);

#endif

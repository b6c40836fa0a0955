/*
 * program/work — the deepest loop in a piece of a function and in the functions called there.
 */
#ifndef GNOMON_PROGRAM_WORK_H
#define GNOMON_PROGRAM_WORK_H

#include "program/flow.h"
#include "program/program_inside.h"

enum { GN_WORK_FUNCTIONS_MAX = 48 }; /* called functions looked at for one answer */

/* One question and the called functions already studied for it; all zero but for program at first. */
struct gn_work {
    struct gn_program *program;
    struct gn_studied seen[GN_WORK_FUNCTIONS_MAX];
    size_t seen_count;
    /* The lowest number of a function, from 1, whose finding the study in hand has taken from seen; 0: it met
     * the limit above. A study that took nothing from before itself would come out the same anywhere. */
    size_t leaned_on;
};

/* The function around offset, calls named, connected; NULL when it cannot be read. Stays until the next
 * question. */
const struct gn_code *gn_work_read(struct gn_program *program, uint64_t offset);

bool gn_work_is_call(const struct gn_insn *insn);

/* Whether it calls MPI so that a trace shows it. */
bool gn_work_is_recorded(const struct gn_insn *insn);

/* Whether control can come out of the called function without such a call: true where that is not known. */
bool gn_work_is_silent(struct gn_work *work, const struct gn_insn *insn);

/* Closes the paths through MPI calls that a trace would show. */
void gn_work_block_mpi(struct gn_flow *flow);

/* Closes the paths through functions that cannot return without such a call. Returns whether there were any.
 * level: 0 for the function asked about, one more for each call below it. */
bool gn_work_block_calls(struct gn_work *work, struct gn_flow *flow, int level);

/* The best loop among the instructions inside the flow; call once per flow. */
struct gn_program_finding gn_work_find(struct gn_work *work, struct gn_flow *flow, int level);

/* Step n of a walk over all instructions in address order, beginning at the start of the flow. */
size_t gn_work_nth(const struct gn_flow *flow, size_t n);

#endif

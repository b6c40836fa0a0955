/*
 * program/work — what runs in a function and in those that it calls: whether control can pass it without a
 * call that is recorded.
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

#endif

/*
 * program/doubts — why a loop of the machine code may not be one of the source, or what was counted of it not
 * all.
 */
#ifndef GNOMON_PROGRAM_DOUBTS_H
#define GNOMON_PROGRAM_DOUBTS_H

#include "program/shape.h"

/* gn_shape_read, with the doubts of all loops, and whether the function catches exceptions. */
bool gn_doubts_read(struct gn_function_shape *shape, struct gn_program *program, uint64_t offset);

/* "a computed jump in it" of bits of enum gn_loop_doubt: the first of them; "" of none. */
const char *gn_loop_doubt_text(unsigned doubts);

#endif

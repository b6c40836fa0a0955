/*
 * program/source — which source line stands best for an instruction or a loop.
 */
#ifndef GNOMON_PROGRAM_SOURCE_H
#define GNOMON_PROGRAM_SOURCE_H

#include "program/flow.h"
#include "program/program_inside.h"

/* The innermost place at offset that is not in the standard library, nor in gnomon.h; false when its line is
 * not known. */
bool gn_source_frame(struct gn_program *program, uint64_t offset, struct gn_frame *frame);

/* The line at offset in the function that place names, inlined or not; 0: there is none. */
int gn_source_line_in(struct gn_program *program, uint64_t offset, const struct gn_program_place *place);

/* Whether the code at offset is of gnomon.h, which says nothing about the work done. */
bool gn_source_is_region_mark(struct gn_program *program, uint64_t offset);

/* The function and line of a loop (one of flow->loops); false when not known. */
bool gn_source_of_loop(struct gn_program *program, const struct gn_flow *flow, const struct gn_loop *loop,
                       struct gn_program_place *place);

#endif

/*
 * program/source — which source line stands best for an instruction or a loop.
 */
#ifndef GNOMON_PROGRAM_SOURCE_H
#define GNOMON_PROGRAM_SOURCE_H

#include "program/flow.h"
#include "program/program_inside.h"

/* The line at offset in the function that place names, inlined or not; 0: there is none. */
int gn_source_line_in(struct gn_program *program, uint64_t offset, const struct gn_program_place *place);

/* … and its column; 0: there is none. */
int gn_source_column_in(struct gn_program *program, uint64_t offset, const struct gn_program_place *place);

/* A statement in the place's line and column (0: any) and function begins at offset, if only one of which no
 * instruction is left. */
bool gn_source_begins_at(struct gn_program *program, uint64_t offset, const struct gn_program_place *place);

/* Whether such a statement would be told of at offset. */
bool gn_source_tells_statements(struct gn_program *program, uint64_t offset);

/* Whether code at offset that was made one of several pieces has no place of one of them. */
bool gn_source_merges_places(struct gn_program *program, uint64_t offset);

/* The function and line of a loop (one of flow->loops); false when not known. */
bool gn_source_of_loop(struct gn_program *program, const struct gn_flow *flow, const struct gn_loop *loop,
                       struct gn_program_place *place);

#endif

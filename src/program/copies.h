/*
 * program/copies — whether the machine code has several pieces of what is one in the source: a round taken
 * out of a loop, loops for each case, rounds that do something by turns made one.
 */
#ifndef GNOMON_PROGRAM_COPIES_H
#define GNOMON_PROGRAM_COPIES_H

#include "program/shape.h"

/* Adds GN_DOUBT_COPIES to the loops that it may concern. False: no memory. */
bool gn_copies_doubt(struct gn_function_shape *shape);

#endif

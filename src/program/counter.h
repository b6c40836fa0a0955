/*
 * program/counter — whether a loop's test goes by a counter that each round makes one more or less: then the
 * machine code's rounds are the source's. (x86-64)
 */
#ifndef GNOMON_PROGRAM_COUNTER_H
#define GNOMON_PROGRAM_COUNTER_H

#include "program/shape.h"

/* branch: one of the loop's tests. Where each of these has its own step of the counter, no test was left out.
 */
bool gn_counter_goes_by_one(const struct gn_function_shape *shape, size_t loop, size_t branch, size_t tests);

#endif

/*
 * trace/path_stack — call paths of the regions that a location is in. A leave has the path of its enter, so
 * archives say it only where it is another one; writer and reader find it here.
 */
#ifndef GNOMON_TRACE_PATH_STACK_H
#define GNOMON_TRACE_PATH_STACK_H

#include "event/event.h"

#include <stddef.h>

/* All zero: empty. Regions inside of very many others, and those there is no memory for, have no path. */
struct gn_path_stack {
    uint32_t *paths; /* of the outermost regions */
    size_t count, capacity;
    size_t depth; /* ≥ count */
};

void gn_path_stack_enter(struct gn_path_stack *stack, uint32_t path);
/* The path of the region entered last; GN_NONE: none was, or it is not known. */
uint32_t gn_path_stack_leave(struct gn_path_stack *stack);
void gn_path_stack_free(struct gn_path_stack *stack);

#endif

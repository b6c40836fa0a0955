#include "trace/path_stack.h"

#include "base/grow.h"

#include <stdlib.h>

enum { DEEPEST = 1 << 16 };

void gn_path_stack_enter(struct gn_path_stack *stack, uint32_t path)
{
    if (stack->count == stack->depth && stack->depth < DEEPEST &&
        gn_grow(&stack->paths, &stack->capacity, stack->count, sizeof *stack->paths))
        stack->paths[stack->count++] = path;
    stack->depth++;
}

uint32_t gn_path_stack_leave(struct gn_path_stack *stack)
{
    if (stack->depth == 0)
        return GN_NONE;
    return stack->depth-- == stack->count ? stack->paths[--stack->count] : GN_NONE;
}

void gn_path_stack_free(struct gn_path_stack *stack)
{
    free(stack->paths);
    *stack = (struct gn_path_stack){0};
}

#include "program/shape.h"

#include "program/source.h"
#include "program/work.h"

#include <stdlib.h>
#include <string.h>

bool gn_shape_is_in(const struct gn_function_shape *shape, size_t insn, size_t loop)
{
    for (size_t at = shape->flow.loop_of[insn]; at != GN_CODE_NONE; at = shape->flow.loops[at].parent)
        if (at == loop)
            return true;
    return false;
}

bool gn_shape_leads_out(const struct gn_function_shape *shape, size_t insn, size_t loop)
{
    const struct gn_code *code = shape->code;
    for (size_t edge = code->to.first[insn]; edge < code->to.first[insn + 1]; edge++)
        if (!gn_shape_is_in(shape, code->to.ends[edge], loop))
            return true;
    return false;
}

static bool know_calls(struct gn_function_shape *shape)
{
    struct gn_work *work = calloc(1, sizeof *work);
    shape->measured = calloc(shape->code->count, 1);
    shape->silent = calloc(shape->code->count, 1);
    const bool done = work && shape->measured && shape->silent;
    for (size_t i = 0; done && i < shape->code->count; i++) {
        const struct gn_insn *insn = gn_shape_insn(shape, i);
        *work = (struct gn_work){.program = shape->program};
        shape->measured[i] = gn_work_is_recorded(insn);
        shape->silent[i] = gn_work_is_call(insn) && gn_work_is_silent(work, insn);
    }
    free(work);
    return done;
}

static bool find_loops(struct gn_function_shape *shape)
{
    if (gn_flow_init(&shape->flow, shape->code, shape->code->entry) != 0)
        return false;
    memset(shape->flow.inside, 1, shape->code->count); /* all that can run once the function was entered */
    if (gn_flow_find_loops(&shape->flow) != 0)
        return false;
    shape->loops = calloc(shape->flow.loop_count + 1, sizeof *shape->loops);
    for (size_t i = 0; shape->loops && gn_program_has_lines(shape->program) && i < shape->flow.loop_count;
         i++)
        if (!gn_source_of_loop(shape->program, &shape->flow, &shape->flow.loops[i], &shape->loops[i].place))
            shape->loops[i].place = (struct gn_program_place){0};
    return shape->loops != NULL;
}

bool gn_shape_read(struct gn_function_shape *shape, struct gn_program *program, uint64_t offset)
{
    *shape = (struct gn_function_shape){.program = program, .code = gn_work_read(program, offset)};
    if (shape->code && find_loops(shape) && know_calls(shape))
        return true;
    gn_shape_clear(shape);
    return false;
}

void gn_shape_clear(struct gn_function_shape *shape)
{
    if (shape->code)
        gn_flow_clear(&shape->flow);
    free(shape->loops);
    free(shape->measured);
    free(shape->silent);
    *shape = (struct gn_function_shape){.code = NULL};
}

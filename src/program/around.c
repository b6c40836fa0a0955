/* program/around — the loop around an address (gn_program_loops). */
#include "program/program_inside.h"
#include "program/source.h"
#include "program/work.h"

#include <stdlib.h>
#include <string.h>

/* One function with its loops: the questions about it follow each other. */
struct around {
    struct gn_program *program;
    const struct gn_code *code; /* NULL: none */
    bool has_flow;
    struct gn_flow flow;
    struct gn_program_place *places; /* by loop, each found when it is asked for */
    bool *known;
};

static void leave(struct around *a)
{
    if (a->has_flow)
        gn_flow_clear(&a->flow);
    free(a->places);
    free(a->known);
    *a = (struct around){.program = a->program};
}

static void enter(struct around *a, const struct gn_code *code)
{
    leave(a);
    a->code = code;
    a->has_flow = gn_flow_init(&a->flow, code, code->entry) == 0;
    if (!a->has_flow)
        return;
    memset(a->flow.inside, 1, code->count);
    if (gn_flow_find_loops(&a->flow) != 0)
        a->flow.loop_count = 0;
    a->places = calloc(a->flow.loop_count + 1, sizeof *a->places);
    a->known = calloc(a->flow.loop_count + 1, sizeof *a->known);
}

static bool holds(const struct gn_code *code, uint64_t address)
{
    return code && gn_code_holding(code, address) != GN_CODE_NONE;
}

static struct gn_program_place loop_at(struct around *a, uint64_t address)
{
    const struct gn_program_place none = {0};
    const size_t i = gn_code_holding(a->code, address);
    const size_t loop =
        a->has_flow && a->flow.loop_count > 0 && i != GN_CODE_NONE ? a->flow.loop_of[i] : GN_CODE_NONE;
    if (loop == GN_CODE_NONE || !a->places || !a->known)
        return none;
    if (!a->known[loop] && !gn_source_of_loop(a->program, &a->flow, &a->flow.loops[loop], &a->places[loop]))
        a->places[loop] = none;
    a->known[loop] = true;
    return a->places[loop];
}

void gn_program_loops(struct gn_program *program, const uint64_t *offsets, size_t count,
                      struct gn_program_place *places)
{
    struct around a = {.program = program};
    memset(places, 0, count * sizeof *places);
    if (!gn_program_has_lines(program) || !gn_program_machine(program))
        return;
    for (size_t i = 0; i < count; i++) {
        if (!holds(a.code, offsets[i])) {
            leave(&a);
            gn_kept_tidy(&program->kept);
            const struct gn_code *code = gn_work_read(program, offsets[i]);
            if (code)
                enter(&a, code);
        }
        if (a.code)
            places[i] = loop_at(&a, offsets[i]);
    }
    leave(&a);
}

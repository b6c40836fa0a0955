/*
 * What runs between two calls of one function (gn_program_between).
 *
 * 1. The instructions that can run are those on some path from the one to the other. Two events that follow
 *    each other in a trace have no third between them, so paths through other MPI calls are ruled out, and so
 *    are paths through functions that cannot return without an MPI call. Where that leaves no path at all
 *    (a call this file does not understand), the exclusions are dropped one after the other.
 * 2. The deepest loop is the best guess for where time goes (work.c).
 * 3. Without loops, the first call; without calls, the first other line.
 *
 * Limits: code in other modules and behind function pointers is not looked into.
 */
#include "program/names.h"
#include "program/program_inside.h"
#include "program/source.h"
#include "program/work.h"

#include <stdlib.h>
#include <string.h>

static bool names_work(const struct gn_insn *insn)
{
    return gn_work_is_call(insn) &&
           (!insn->callee || (!gn_name_is_mpi(insn->callee) && !gn_name_is_instrumentation(insn->callee) &&
                              !gn_name_is_region_mark(insn->callee)));
}

static bool same_line(const struct gn_frame *a, const struct gn_frame *b)
{
    return a->line == b->line && a->file && b->file && strcmp(a->file, b->file) == 0;
}

static bool first_call(struct gn_program *program, const struct gn_flow *flow, struct gn_program_place *place)
{
    for (size_t n = 0; n < flow->code->count; n++) {
        size_t i = gn_work_nth(flow, n);
        struct gn_frame frame;
        if (!flow->inside[i] || flow->roles[i] == GN_FLOW_GOAL || !names_work(&flow->code->items[i]))
            continue;
        if (gn_source_is_region_mark(program, flow->code->items[i].address) ||
            !gn_source_frame(program, flow->code->items[i].address, &frame))
            continue;
        gn_program_set_place(program, &frame, false, place);
        return true;
    }
    return false;
}

/* The first line that is neither of the two. */
static bool first_line_but(struct gn_program *program, const struct gn_flow *flow,
                           const struct gn_frame *not_this, const struct gn_frame *nor_this,
                           struct gn_program_place *place)
{
    for (size_t n = 0; n < flow->code->count; n++) {
        size_t i = gn_work_nth(flow, n);
        struct gn_frame frame;
        if (!flow->inside[i] || !gn_source_frame(program, flow->code->items[i].address, &frame))
            continue;
        if (same_line(&frame, not_this) || same_line(&frame, nor_this))
            continue;
        gn_program_set_place(program, &frame, false, place);
        return true;
    }
    return false;
}

/* Sets roles back to the two calls alone. */
static void set_ends(struct gn_flow *flow, size_t from_call, size_t to_call)
{
    memset(flow->roles, GN_FLOW_OPEN, flow->code->count);
    if (from_call != GN_CODE_NONE)
        flow->roles[from_call] = GN_FLOW_BLOCKED;
    flow->roles[to_call] = GN_FLOW_GOAL;
}

static bool reach_goal(struct gn_work *work, struct gn_flow *flow, size_t from_call, size_t to_call)
{
    set_ends(flow, from_call, to_call);
    gn_work_block_mpi(flow);
    if (gn_flow_reach(flow) > 0) {
        if (!gn_work_block_calls(work, flow, 0) || gn_flow_reach(flow) > 0)
            return true;
        set_ends(flow, from_call, to_call);
        gn_work_block_mpi(flow);
        return gn_flow_reach(flow) > 0;
    }
    set_ends(flow, from_call, to_call);
    return gn_flow_reach(flow) > 0;
}

/* The instruction after which control comes to `address`, or GN_CODE_NONE. */
static size_t call_before(const struct gn_code *code, uint64_t address)
{
    size_t low = gn_code_from(code, address);
    if (low == 0 || code->items[low - 1].address + code->items[low - 1].size != address)
        return GN_CODE_NONE;
    return low - 1;
}

static int answer(struct gn_work *work, struct gn_flow *flow, uint64_t from, uint64_t to,
                  struct gn_program_place *place)
{
    struct gn_frame before = {0}, after = {0};
    struct gn_program_finding finding = gn_work_find(work, flow, 0);
    if (finding.depth > 0) {
        *place = finding.place;
        return 1;
    }
    if (first_call(work->program, flow, place))
        return 1;
    gn_source_frame(work->program, from - 1, &before);
    gn_source_frame(work->program, to - 1, &after);
    /* Arguments of the second call are often made ready before anything else: its line comes last. */
    return first_line_but(work->program, flow, &before, &after, place) ||
           first_line_but(work->program, flow, &before, &before, place);
}

static int between(struct gn_work *work, const struct gn_code *code, uint64_t from, uint64_t to,
                   struct gn_program_place *place)
{
    struct gn_flow flow;
    size_t start = gn_code_at(code, from);
    size_t from_call = call_before(code, from), to_call = call_before(code, to);
    if (start == GN_CODE_NONE || to_call == GN_CODE_NONE || gn_flow_init(&flow, code, start) < 0)
        return 0;
    int found = 0;
    if (reach_goal(work, &flow, from_call, to_call))
        found = answer(work, &flow, from, to, place);
    gn_flow_clear(&flow);
    return found;
}

static struct gn_program_answer find_answer(struct gn_program *program, uint64_t from, uint64_t to)
{
    struct gn_program_answer found = {.found = false};
    struct gn_work *work = calloc(1, sizeof *work);
    if (!work)
        return found;
    work->program = program;
    gn_kept_tidy(&program->kept);
    const struct gn_code *code = gn_work_read(program, from - 1);
    if (code)
        found.found = between(work, code, from, to, &found.place);
    free(work);
    return found;
}

int gn_program_between(struct gn_program *program, uint64_t from, uint64_t to, struct gn_program_place *place)
{
    if (!gn_program_has_lines(program) || from == 0 || to == 0 || !gn_program_machine(program))
        return 0;
    struct gn_key key = {from, to};
    const struct gn_program_answer *known = gn_map_find(&program->kept.answers, key);
    struct gn_program_answer found = known ? *known : find_answer(program, from, to);
    if (!known)
        gn_kept_add_answer(&program->kept, key, &found);
    if (found.found)
        *place = found.place;
    return found.found;
}

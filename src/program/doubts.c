#include "program/doubts.h"

#include "program/copies.h"
#include "program/names.h"
#include "program/source.h"
#include "program/work.h"

#include <stdlib.h>
#include <string.h>

static void doubt_all_around(struct gn_function_shape *shape, size_t insn, unsigned doubt)
{
    for (size_t at = shape->flow.loop_of[insn]; at != GN_CODE_NONE; at = shape->flow.loops[at].parent)
        shape->loops[at].doubts |= doubt;
}

/* Ways into a loop other than through its head. */
static void doubt_entries(struct gn_function_shape *shape, size_t from, size_t to)
{
    for (size_t at = shape->flow.loop_of[to]; at != GN_CODE_NONE; at = shape->flow.loops[at].parent)
        if (shape->flow.loops[at].head != to && !gn_shape_is_in(shape, from, at))
            shape->loops[at].doubts |= GN_DOUBT_ENTRIES;
}

/* Code that nothing leads to is where exceptions are caught, if it leads anywhere. */
static bool *find_unreached(const struct gn_function_shape *shape)
{
    const struct gn_code *code = shape->code;
    bool *unreached = malloc(code->count * sizeof *unreached);
    size_t *stack = malloc(code->count * sizeof *stack), depth = 0;
    if (unreached && stack) {
        memset(unreached, true, code->count * sizeof *unreached);
        unreached[code->entry] = false;
        stack[depth++] = code->entry;
    }
    while (unreached && depth > 0) {
        const size_t at = stack[--depth];
        for (size_t edge = code->to.first[at]; edge < code->to.first[at + 1]; edge++)
            if (unreached[code->to.ends[edge]]) {
                unreached[code->to.ends[edge]] = false;
                stack[depth++] = code->to.ends[edge];
            }
    }
    if (!stack) {
        free(unreached);
        unreached = NULL;
    }
    free(stack);
    return unreached;
}

static bool doubt_edges(struct gn_function_shape *shape)
{
    const struct gn_code *code = shape->code;
    bool *unreached = find_unreached(shape);
    for (size_t i = 0; unreached && i < code->count; i++)
        if (unreached[i] && code->items[i].kind == GN_CODE_RETURN)
            shape->catches = true;
    for (size_t i = 0; unreached && i < code->count; i++)
        for (size_t edge = code->to.first[i]; edge < code->to.first[i + 1]; edge++) {
            const size_t to = code->to.ends[edge];
            if (!unreached[i])
                doubt_entries(shape, i, to);
            else if (!unreached[to] && !code->items[i].fills) {
                doubt_all_around(shape, to, GN_DOUBT_EXCEPTIONS);
                shape->catches = true;
            }
        }
    free(unreached);
    return unreached != NULL;
}

/* The smallest line, in the loop's function, of what leads to `from` without leaving the loop or passing its
 * head again. 0: not known. */
static int first_line_of_round(struct gn_function_shape *shape, size_t loop, size_t from, bool *seen,
                               size_t *stack)
{
    const struct gn_code *code = shape->code;
    const size_t head = shape->flow.loops[loop].head;
    size_t depth = 0;
    int first = 0;
    memset(seen, 0, code->count * sizeof *seen);
    seen[from] = true;
    stack[depth++] = from;
    while (depth > 0) {
        const size_t at = stack[--depth];
        const int line =
            gn_source_line_in(shape->program, gn_shape_insn(shape, at)->address, &shape->loops[loop].place);
        if (line > 0 && (first == 0 || line < first))
            first = line;
        for (size_t edge = code->from.first[at]; at != head && edge < code->from.first[at + 1]; edge++) {
            const size_t before = code->from.ends[edge];
            if (seen[before] || !gn_shape_is_in(shape, before, loop))
                continue;
            seen[before] = true;
            stack[depth++] = before;
        }
    }
    return first;
}

/* Two loops that begin at one instruction are found as one. Then the rounds of the inner one have none of the
 * outer one's lines; rounds that `continue` cuts short have the loop's own. */
static bool doubt_shared_head(struct gn_function_shape *shape, size_t loop)
{
    const struct gn_code *code = shape->code;
    const size_t head = shape->flow.loops[loop].head;
    bool *seen = malloc(code->count * sizeof *seen);
    size_t *stack = malloc(code->count * sizeof *stack);
    size_t ways_back = 0;
    for (size_t edge = code->from.first[head]; edge < code->from.first[head + 1]; edge++)
        ways_back += gn_shape_is_in(shape, code->from.ends[edge], loop);
    if (ways_back > 1 && shape->loops[loop].place.line == 0)
        shape->loops[loop].doubts |= GN_DOUBT_NO_LINES;
    for (size_t edge = code->from.first[head];
         seen && stack && ways_back > 1 && edge < code->from.first[head + 1]; edge++) {
        const size_t from = code->from.ends[edge];
        if (gn_shape_is_in(shape, from, loop) &&
            first_line_of_round(shape, loop, from, seen, stack) != shape->loops[loop].place.line)
            shape->loops[loop].doubts |= GN_DOUBT_SHARED_HEAD;
    }
    const bool done = seen && stack;
    free(seen);
    free(stack);
    return done;
}

/* Functions that are called in a loop may not come back to it. */
static void doubt_long_jumps(struct gn_function_shape *shape)
{
    static const char *const names[] = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", NULL};
    if (!gn_machine_imports(shape->program->machine, names))
        return;
    for (size_t i = 0; i < shape->code->count; i++)
        if (gn_work_is_call(gn_shape_insn(shape, i)) && !shape->measured[i])
            doubt_all_around(shape, i, GN_DOUBT_SETJMP);
}

static bool is_of_line(const struct gn_function_shape *shape, size_t insn,
                       const struct gn_program_place *place)
{
    const uint64_t address = gn_shape_insn(shape, insn)->address;
    struct gn_program_place any = *place;
    any.column = 0;
    return gn_source_line_in(shape->program, address, place) == place->line ||
           gn_source_begins_at(shape->program, address, &any);
}

/*
 * Code that begins a loop, or tests whether it is to be begun, is in the loop's own line. Where control comes
 * to a body from a recorded call, or from the function's begin, without meeting that line, compilers have
 * made one of the body and of code that others have alike.
 */
static bool is_begun(struct gn_function_shape *shape, size_t loop, size_t from, bool *seen, size_t *stack)
{
    const struct gn_code *code = shape->code;
    const struct gn_program_place *place = &shape->loops[loop].place;
    size_t depth = 0;
    bool begun = true;
    memset(seen, 0, code->count * sizeof *seen);
    seen[from] = true;
    stack[depth++] = from;
    while (depth > 0 && begun) {
        const size_t at = stack[--depth];
        if (is_of_line(shape, at, place))
            continue;
        begun = at != code->entry &&
                !(gn_work_is_call(gn_shape_insn(shape, at)) && (shape->measured[at] || !shape->silent[at]));
        for (size_t edge = code->from.first[at]; edge < code->from.first[at + 1]; edge++) {
            const size_t before = code->from.ends[edge];
            if (seen[before] || gn_shape_is_in(shape, before, loop))
                continue;
            seen[before] = true;
            stack[depth++] = before;
        }
    }
    return begun;
}

/* Whether no call of the loop was made one with another: then clang takes the line away from it, or the
 * column, if both were in one line. */
static bool keeps_calls(const struct gn_function_shape *shape, size_t loop)
{
    const uint64_t head = gn_shape_insn(shape, shape->flow.loops[loop].head)->address;
    if (!gn_source_merges_places(shape->program, head))
        return false;
    for (size_t i = 0; i < shape->code->count; i++) {
        struct gn_program_place place;
        if (gn_work_is_call(gn_shape_insn(shape, i)) && gn_shape_is_in(shape, i, loop) &&
            (gn_program_places(shape->program, gn_shape_insn(shape, i)->address, &place, 1, NULL) == 0 ||
             place.line == 0 || place.column == 0))
            return false;
    }
    return true;
}

static bool doubt_merged(struct gn_function_shape *shape, size_t loop)
{
    const struct gn_code *code = shape->code;
    const struct gn_program_place *place = &shape->loops[loop].place;
    const size_t head = shape->flow.loops[loop].head;
    if (place->line == 0 || is_of_line(shape, head, place) || keeps_calls(shape, loop))
        return true;
    bool *seen = malloc(code->count * sizeof *seen);
    size_t *stack = malloc(code->count * sizeof *stack);
    for (size_t edge = code->from.first[head]; seen && stack && edge < code->from.first[head + 1]; edge++)
        if (!gn_shape_is_in(shape, code->from.ends[edge], loop) &&
            !is_begun(shape, loop, code->from.ends[edge], seen, stack))
            shape->loops[loop].doubts |= GN_DOUBT_MERGED;
    const bool done = seen && stack;
    free(seen);
    free(stack);
    return done;
}

static bool find_doubts(struct gn_function_shape *shape)
{
    bool twice = false, again = false, pieces = false, done = doubt_edges(shape);
    for (size_t i = 0; i < shape->code->count; i++) {
        const struct gn_insn *insn = gn_shape_insn(shape, i);
        if (insn->kind == GN_CODE_SWITCH && !gn_code_switch_at(shape->code, i))
            doubt_all_around(shape, i, GN_DOUBT_JUMPS);
        again = again || (gn_work_is_call(insn) && insn->target &&
                          insn->target == gn_shape_insn(shape, shape->code->entry)->address);
        pieces = pieces || (insn->kind == GN_CODE_BRANCH && insn->target == 0);
        twice = twice || (insn->callee && gn_name_returns_twice(insn->callee));
    }
    done = done && gn_copies_doubt(shape);
    doubt_long_jumps(shape);
    for (size_t loop = 0; loop < shape->flow.loop_count && done; loop++) {
        done = doubt_shared_head(shape, loop) && doubt_merged(shape, loop);
        if (pieces) /* a part of the function lies elsewhere, and nothing tells where */
            shape->loops[loop].doubts |= GN_DOUBT_NO_LINES;
        if (again)
            shape->loops[loop].doubts |= GN_DOUBT_RECURSION;
        if (twice)
            shape->loops[loop].doubts |= GN_DOUBT_SETJMP;
    }
    return done;
}

bool gn_doubts_read(struct gn_function_shape *shape, struct gn_program *program, uint64_t offset)
{
    if (!gn_shape_read(shape, program, offset))
        return false;
    if (find_doubts(shape))
        return true;
    gn_shape_clear(shape);
    return false;
}

const char *gn_loop_doubt_text(unsigned doubts)
{
    static const struct {
        enum gn_loop_doubt doubt;
        const char *text;
    } texts[] = {
        {GN_DOUBT_JUMPS, "a computed jump in it"},        {GN_DOUBT_ENTRIES, "more than one way in"},
        {GN_DOUBT_SETJMP, "setjmp in its function"},      {GN_DOUBT_RECURSION, "recursion"},
        {GN_DOUBT_EXCEPTIONS, "exceptions lead into it"}, {GN_DOUBT_COPIES, "copies of its calls"},
        {GN_DOUBT_SHARED_HEAD, "perhaps two loops"},      {GN_DOUBT_MERGED, "code shared with others"},
        {GN_DOUBT_NO_LINES, "no debug information"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (doubts & texts[i].doubt)
            return texts[i].text;
    return "";
}

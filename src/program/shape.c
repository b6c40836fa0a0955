#include "program/shape.h"

#include "program/names.h"
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

size_t gn_shape_at(const struct gn_function_shape *shape, uint64_t offset)
{
    size_t i = gn_code_from(shape->code, offset + 1);
    return i > 0 && offset - shape->code->items[i - 1].address < shape->code->items[i - 1].size
               ? i - 1
               : GN_CODE_NONE;
}

/* ---- doubts ---- */

static const struct gn_insn *insn_at(const struct gn_function_shape *shape, size_t i)
{
    return &shape->code->items[i];
}

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
        for (size_t edge = code->to.first[i]; edge < code->to.first[i + 1]; edge++) {
            const size_t to = code->to.ends[edge];
            if (!unreached[i])
                doubt_entries(shape, i, to);
            else if (!unreached[to] && !code->items[i].fills)
                doubt_all_around(shape, to, GN_DOUBT_EXCEPTIONS);
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
            gn_source_line_in(shape->program, insn_at(shape, at)->address, &shape->loops[loop].place);
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

/* Whether two calls are one in the source: of the same function, in the same line, inlined by the same way.
 * Without lines, those of one function may be. */
static bool same_in_source(struct gn_function_shape *shape, size_t a, size_t b)
{
    enum { LEVELS = 16 };
    struct gn_program_place first[LEVELS], second[LEVELS];
    const struct gn_insn *one = insn_at(shape, a), *two = insn_at(shape, b);
    if (one->callee && two->callee ? strcmp(one->callee, two->callee) != 0 : one->target != two->target)
        return false;
    if (!gn_program_has_lines(shape->program))
        return true;
    const size_t count = gn_program_places(shape->program, one->address, first, LEVELS, NULL);
    if (gn_program_places(shape->program, two->address, second, LEVELS, NULL) != count)
        return false;
    if (count == 0 || first[0].line == 0 || second[0].line == 0)
        return true;
    for (size_t i = 0; i < count; i++)
        if (first[i].line != second[i].line || first[i].file != second[i].file ||
            first[i].function != second[i].function)
            return false;
    return true;
}

/* Calls that may be measured, and stand more than once: a loop that holds one of them, but not all in one
 * place, has been copied or unrolled. */
static void doubt_copies(struct gn_function_shape *shape)
{
    enum { CALLS_MAX = 512 };
    size_t calls[CALLS_MAX], count = 0;
    for (size_t i = 0; i < shape->code->count && count < CALLS_MAX; i++)
        if (gn_work_is_call(insn_at(shape, i)) && (shape->measured[i] || !shape->silent[i]))
            calls[count++] = i;
    for (size_t a = 0; a < count; a++)
        for (size_t b = a + 1; b < count; b++)
            if (same_in_source(shape, calls[a], calls[b])) {
                doubt_all_around(shape, calls[a], GN_DOUBT_COPIES);
                doubt_all_around(shape, calls[b], GN_DOUBT_COPIES);
            }
}

static bool find_doubts(struct gn_function_shape *shape)
{
    bool twice = false, again = false, done = doubt_edges(shape);
    for (size_t i = 0; i < shape->code->count; i++) {
        const struct gn_insn *insn = insn_at(shape, i);
        if (insn->kind == GN_CODE_SWITCH && !gn_code_switch_at(shape->code, i))
            doubt_all_around(shape, i, GN_DOUBT_JUMPS);
        again = again || (gn_work_is_call(insn) && insn->target &&
                          insn->target == insn_at(shape, shape->code->entry)->address);
        twice = twice || (insn->callee && gn_name_returns_twice(insn->callee));
    }
    doubt_copies(shape);
    for (size_t loop = 0; loop < shape->flow.loop_count && done; loop++) {
        done = doubt_shared_head(shape, loop);
        if (again)
            shape->loops[loop].doubts |= GN_DOUBT_RECURSION;
        if (twice)
            shape->loops[loop].doubts |= GN_DOUBT_SETJMP;
    }
    return done;
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
        {GN_DOUBT_SHARED_HEAD, "perhaps two loops"},      {GN_DOUBT_NO_LINES, "no debug information"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (doubts & texts[i].doubt)
            return texts[i].text;
    return "";
}

/* ---- reading ---- */

static bool know_calls(struct gn_function_shape *shape)
{
    struct gn_work *work = calloc(1, sizeof *work);
    shape->measured = calloc(shape->code->count, 1);
    shape->silent = calloc(shape->code->count, 1);
    const bool done = work && shape->measured && shape->silent;
    for (size_t i = 0; done && i < shape->code->count; i++) {
        const struct gn_insn *insn = insn_at(shape, i);
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
    if (shape->code && find_loops(shape) && know_calls(shape) && find_doubts(shape))
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

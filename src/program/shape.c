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

/* What an instruction does, so that copies of it have the same: a call by what it calls, a write by its place
 * alone. Sorted by it. */
struct act {
    uint64_t what;
    size_t insn;
};

static int compare_acts(const void *left, const void *right)
{
    const struct act *a = left, *b = right;
    if (a->what != b->what)
        return a->what < b->what ? -1 : 1;
    return a->insn < b->insn ? -1 : a->insn > b->insn;
}

static uint64_t hash_of(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 1099511628211u + (hash >> 29);
}

/* Of an instruction that does something: its place with all functions that it is inlined into, and its
 * callee. 0: it does nothing, or has no line. */
static uint64_t act_of(struct gn_function_shape *shape, size_t insn)
{
    enum { LEVELS = 16 };
    struct gn_program_place places[LEVELS];
    const struct gn_insn *at = insn_at(shape, insn);
    const bool calls = gn_work_is_call(at);
    uint64_t hash = 14695981039346656037u;
    if (!calls && !at->acts)
        return 0;
    if (calls) {
        for (const char *c = at->callee ? at->callee : ""; *c; c++)
            hash = hash_of(hash, (unsigned char)*c);
        hash = hash_of(hash, at->callee ? 1 : at->target);
    }
    const size_t count = gn_program_has_lines(shape->program)
                             ? gn_program_places(shape->program, at->address, places, LEVELS, NULL)
                             : 0;
    if (count > 0 && places[0].line == 0)
        return 0;
    if (count == 0 && !calls)
        return 0;
    for (size_t i = 0; i < count; i++)
        hash = hash_of(hash_of(hash, (uintptr_t)places[i].function),
                       (uint64_t)places[i].line << 32 | (uint32_t)places[i].column);
    return hash | 1;
}

/* Forward from the `depth` instructions on the stack, inside of the loop and not through its head.
 * met[]: what control comes to, of them only those that it comes to again. stack: [instructions] */
static void go_round(const struct gn_function_shape *shape, size_t loop, size_t *stack, size_t depth,
                     bool *met)
{
    const struct gn_code *code = shape->code;
    while (depth > 0) {
        const size_t at = stack[--depth];
        for (size_t edge = code->to.first[at]; edge < code->to.first[at + 1]; edge++) {
            const size_t to = code->to.ends[edge];
            if (to == shape->flow.loops[loop].head || met[to] || !gn_shape_is_in(shape, to, loop))
                continue;
            met[to] = true;
            stack[depth++] = to;
        }
    }
}

static bool is_at(const struct gn_function_shape *shape, size_t insn, const struct gn_program_place *place)
{
    const uint64_t address = insn_at(shape, insn)->address;
    return gn_source_line_in(shape->program, address, place) == place->line &&
           (place->column == 0 || gn_source_column_in(shape->program, address, place) == place->column);
}

/* The place of the loop's own test: its line, or the column in it, too, if the body is in that line. */
static struct gn_program_place test_of(const struct gn_function_shape *shape, size_t loop)
{
    struct gn_program_place test = shape->loops[loop].place;
    test.column = 0;
    for (size_t i = 0; i < shape->code->count; i++)
        if (gn_work_is_call(insn_at(shape, i)) && gn_shape_is_in(shape, i, loop) && !is_at(shape, i, &test))
            return test;
    const size_t branch = shape->flow.loops[loop].branch;
    if (insn_at(shape, branch)->kind == GN_CODE_BRANCH && is_at(shape, branch, &test))
        test.column = gn_source_column_in(shape->program, insn_at(shape, branch)->address, &test);
    return test;
}

/* A test there that leads out of the loop, or another statement: next to nothing may be left of a test that
 * cannot fail. */
static bool is_of_loop(const struct gn_function_shape *shape, size_t insn, size_t loop,
                       const struct gn_program_place *test)
{
    const struct gn_code *code = shape->code;
    bool leads_out = false;
    for (size_t edge = code->to.first[insn]; edge < code->to.first[insn + 1]; edge++)
        leads_out |= !gn_shape_is_in(shape, code->to.ends[edge], loop);
    return (leads_out && insn_at(shape, insn)->kind == GN_CODE_BRANCH && is_at(shape, insn, test)) ||
           gn_source_begins_at(shape->program, insn_at(shape, insn)->address, test);
}

static bool is_call_of_body(const struct gn_function_shape *shape, size_t insn, size_t loop,
                            const struct gn_program_place *test)
{
    return gn_shape_is_in(shape, insn, loop) && gn_work_is_call(insn_at(shape, insn)) &&
           !is_at(shape, insn, test);
}

/* From one call of the body to another one by way of the loop's own test, without passing its head: what the
 * source has as one round is several there, one for each case. Where nothing tells of a test that cannot
 * fail, any two calls may have one between them. False: no memory. */
static bool doubt_threaded(struct gn_function_shape *shape, size_t loop)
{
    const size_t count = shape->code->count;
    size_t depth = 0;
    if (shape->loops[loop].place.line <= 0)
        return true;
    const struct gn_program_place test = test_of(shape, loop);
    const bool any_may_be =
        !gn_source_tells_statements(shape->program, insn_at(shape, shape->flow.loops[loop].head)->address);
    bool *before = calloc(2 * count + 1, sizeof *before), *behind = before ? before + count : NULL;
    size_t *stack = malloc((2 * count + 1) * sizeof *stack); /* where it begins, and what is met */
    for (size_t i = 0; i < count && before && stack; i++)
        if (is_call_of_body(shape, i, loop, &test))
            stack[depth++] = i;
    if (before && stack && depth > 1) {
        go_round(shape, loop, stack, depth, before);
        depth = 0;
        for (size_t i = 0; i < count; i++)
            if (before[i] && is_of_loop(shape, i, loop, &test))
                stack[depth++] = i;
        go_round(shape, loop, stack, depth, behind);
        for (size_t i = 0; i < count; i++)
            if ((any_may_be ? before[i] : behind[i]) && is_call_of_body(shape, i, loop, &test))
                shape->loops[loop].doubts |= GN_DOUBT_COPIES;
    }
    const bool done = before && stack;
    free(before);
    free(stack);
    return done;
}

/* A call of one function in one place of a line, or a write there, that stands both in a loop and outside of
 * it, or calls twice in it: the loop was copied, or a round taken out of it, or it was unrolled. */
static void doubt_pair(struct gn_function_shape *shape, size_t a, size_t b, bool calls)
{
    for (size_t loop = 0; loop < shape->flow.loop_count; loop++) {
        const bool has_a = gn_shape_is_in(shape, a, loop), has_b = gn_shape_is_in(shape, b, loop);
        const size_t other = has_a ? b : a;
        const int line = has_a || has_b ? gn_source_line_in(shape->program, insn_at(shape, other)->address,
                                                            &shape->loops[loop].place)
                                        : 0;
        /* what stands in the loop's own line may begin it, unless it is the same */
        const bool may_begin = line > 0 && line == shape->loops[loop].place.line &&
                               insn_at(shape, a)->sort != insn_at(shape, b)->sort;
        if ((calls && (has_a || has_b)) || (has_a != has_b && !may_begin))
            shape->loops[loop].doubts |= GN_DOUBT_COPIES;
    }
}

static bool doubt_copies(struct gn_function_shape *shape)
{
    enum { ALIKE_MAX = 64 };
    struct act *acts = malloc((shape->code->count + 1) * sizeof *acts);
    size_t count = 0;
    for (size_t i = 0; acts && shape->flow.loop_count > 0 && i < shape->code->count; i++) {
        acts[count] = (struct act){act_of(shape, i), i};
        count += acts[count].what != 0;
    }
    if (acts)
        qsort(acts, count, sizeof *acts, compare_acts);
    for (size_t a = 0; a < count; a++)
        for (size_t b = a + 1; b < count && b < a + ALIKE_MAX && acts[b].what == acts[a].what; b++)
            doubt_pair(shape, acts[a].insn, acts[b].insn, gn_work_is_call(insn_at(shape, acts[a].insn)));
    free(acts);
    return acts != NULL;
}

/* Functions that are called in a loop may not come back to it. */
static void doubt_long_jumps(struct gn_function_shape *shape)
{
    static const char *const names[] = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", NULL};
    if (!gn_machine_imports(shape->program->machine, names))
        return;
    for (size_t i = 0; i < shape->code->count; i++)
        if (gn_work_is_call(insn_at(shape, i)) && !shape->measured[i])
            doubt_all_around(shape, i, GN_DOUBT_SETJMP);
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
        if (gn_source_line_in(shape->program, insn_at(shape, at)->address, place) == place->line)
            continue;
        begun = at != code->entry &&
                !(gn_work_is_call(insn_at(shape, at)) && (shape->measured[at] || !shape->silent[at]));
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

static bool doubt_merged(struct gn_function_shape *shape, size_t loop)
{
    const struct gn_code *code = shape->code;
    const struct gn_program_place *place = &shape->loops[loop].place;
    const size_t head = shape->flow.loops[loop].head;
    if (place->line == 0 ||
        gn_source_line_in(shape->program, insn_at(shape, head)->address, place) == place->line)
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
        const struct gn_insn *insn = insn_at(shape, i);
        if (insn->kind == GN_CODE_SWITCH && !gn_code_switch_at(shape->code, i))
            doubt_all_around(shape, i, GN_DOUBT_JUMPS);
        again = again || (gn_work_is_call(insn) && insn->target &&
                          insn->target == insn_at(shape, shape->code->entry)->address);
        pieces = pieces || (insn->kind == GN_CODE_BRANCH && insn->target == 0);
        twice = twice || (insn->callee && gn_name_returns_twice(insn->callee));
    }
    done = done && doubt_copies(shape);
    doubt_long_jumps(shape);
    for (size_t loop = 0; loop < shape->flow.loop_count && done; loop++) {
        done = doubt_shared_head(shape, loop) && doubt_merged(shape, loop) && doubt_threaded(shape, loop);
        if (pieces) /* a part of the function lies elsewhere, and nothing tells where */
            shape->loops[loop].doubts |= GN_DOUBT_NO_LINES;
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
        {GN_DOUBT_SHARED_HEAD, "perhaps two loops"},      {GN_DOUBT_MERGED, "code shared with others"},
        {GN_DOUBT_NO_LINES, "no debug information"},
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

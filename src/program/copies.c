#include "program/copies.h"

#include "program/counter.h"
#include "program/source.h"
#include "program/work.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

/* Of a place in functions that are inlined into each other. */
static uint64_t hash_of_places(uint64_t hash, const struct gn_program_place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = hash_of(hash_of(hash, (uintptr_t)places[i].function),
                       (uint64_t)places[i].line << 32 | (uint32_t)places[i].column);
    return hash;
}

/* Of an instruction that does something: its place with all functions that it is inlined into, and its
 * callee. 0: it does nothing, or has no line. */
static uint64_t act_of(struct gn_function_shape *shape, size_t insn)
{
    enum { LEVELS = 16 };
    struct gn_program_place places[LEVELS];
    const struct gn_insn *at = gn_shape_insn(shape, insn);
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
    return hash_of_places(hash, places, count) | 1;
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
    const uint64_t address = gn_shape_insn(shape, insn)->address;
    return gn_source_line_in(shape->program, address, place) == place->line &&
           (place->column == 0 || gn_source_column_in(shape->program, address, place) == place->column);
}

/* The place of the loop's own test: its line, or the column in it, too, if the body is in that line. */
static struct gn_program_place test_of(const struct gn_function_shape *shape, size_t loop)
{
    struct gn_program_place test = shape->loops[loop].place;
    test.column = 0;
    for (size_t i = 0; i < shape->code->count; i++)
        if (gn_work_is_call(gn_shape_insn(shape, i)) && gn_shape_is_in(shape, i, loop) &&
            !is_at(shape, i, &test))
            return test;
    const size_t branch = shape->flow.loops[loop].branch;
    if (gn_shape_insn(shape, branch)->kind == GN_CODE_BRANCH && is_at(shape, branch, &test))
        test.column = gn_source_column_in(shape->program, gn_shape_insn(shape, branch)->address, &test);
    return test;
}

/* A test there that leads out of the loop, or another statement: next to nothing may be left of a test that
 * cannot fail. */
static bool is_of_loop(const struct gn_function_shape *shape, size_t insn, size_t loop,
                       const struct gn_program_place *test, bool tells)
{
    return (gn_shape_leads_out(shape, insn, loop) && gn_shape_insn(shape, insn)->kind == GN_CODE_BRANCH &&
            is_at(shape, insn, test)) ||
           (tells && gn_source_begins_at(shape->program, gn_shape_insn(shape, insn)->address, test));
}

static bool is_call_of_body(const struct gn_function_shape *shape, size_t insn, size_t loop,
                            const struct gn_program_place *test)
{
    return gn_shape_is_in(shape, insn, loop) && gn_work_is_call(gn_shape_insn(shape, insn)) &&
           !is_at(shape, insn, test);
}

/* Or a write. */
static bool is_act_of_body(const struct gn_function_shape *shape, size_t insn, size_t loop,
                           const struct gn_program_place *test)
{
    return is_call_of_body(shape, insn, loop, test) ||
           (gn_shape_insn(shape, insn)->acts && gn_shape_is_in(shape, insn, loop) &&
            !is_at(shape, insn, test));
}

static bool has_counter(const struct gn_function_shape *shape, size_t loop,
                        const struct gn_program_place *test)
{
    size_t tests = 0;
    for (size_t i = 0; i < shape->code->count; i++)
        tests += gn_shape_is_in(shape, i, loop) && is_of_loop(shape, i, loop, test, false);
    for (size_t i = 0; i < shape->code->count; i++)
        if (gn_shape_is_in(shape, i, loop) && is_of_loop(shape, i, loop, test, false) &&
            gn_counter_goes_by_one(shape, loop, i, tests))
            return true;
    return false;
}

/* From what the body does to a call of it by way of the loop's own test, without passing its head: what the
 * source has as one round is several there, one for each case. Where nothing tells of a test that cannot
 * fail, any two calls may have one between them. False: no memory. */
static bool doubt_threaded(struct gn_function_shape *shape, size_t loop)
{
    const size_t count = shape->code->count;
    size_t depth = 0;
    if (shape->loops[loop].place.line <= 0)
        return true;
    const struct gn_program_place test = test_of(shape, loop);
    const bool tells = gn_source_tells_statements(
        shape->program, gn_shape_insn(shape, shape->flow.loops[loop].head)->address);
    const bool any_may_be = !tells && !has_counter(shape, loop, &test);
    bool *before = calloc(2 * count + 1, sizeof *before), *behind = before ? before + count : NULL;
    size_t *stack = malloc((2 * count + 1) * sizeof *stack); /* where it begins, and what is met */
    for (size_t i = 0; i < count && before && stack; i++)
        if (any_may_be ? is_call_of_body(shape, i, loop, &test) : is_act_of_body(shape, i, loop, &test))
            stack[depth++] = i;
    if (before && stack && depth > 0) {
        go_round(shape, loop, stack, depth, before);
        depth = 0;
        for (size_t i = 0; i < count; i++)
            if (before[i] && is_of_loop(shape, i, loop, &test, tells))
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
        const int line = has_a || has_b
                             ? gn_source_line_in(shape->program, gn_shape_insn(shape, other)->address,
                                                 &shape->loops[loop].place)
                             : 0;
        /* what stands in the loop's own line may begin it, unless it is the same */
        const bool may_begin = line > 0 && line == shape->loops[loop].place.line &&
                               gn_shape_insn(shape, a)->sort != gn_shape_insn(shape, b)->sort;
        if ((calls && (has_a || has_b)) || (has_a != has_b && !may_begin))
            shape->loops[loop].doubts |= GN_DOUBT_COPIES;
    }
}

/* Acts of a function, sorted. */
struct acts {
    struct act *items;
    size_t count;
};

static bool is_twice(const struct acts *acts, size_t i)
{
    return (i > 0 && acts->items[i - 1].what == acts->items[i].what) ||
           (i + 1 < acts->count && acts->items[i + 1].what == acts->items[i].what);
}

/* Lines of acts in the function of one loop or several. */
struct act_lines {
    int *lines; /* by act; 0: of another function */
    const char *function, *file;
};

static void find_lines(const struct gn_function_shape *shape, size_t loop, const struct acts *acts,
                       struct act_lines *known)
{
    const struct gn_program_place *place = &shape->loops[loop].place;
    if (known->function == place->function && known->file == place->file)
        return;
    known->function = place->function;
    known->file = place->file;
    for (size_t i = 0; i < acts->count; i++)
        known->lines[i] =
            gn_source_line_in(shape->program, gn_shape_insn(shape, acts->items[i].insn)->address, place);
}

/* Whether what stands next to a loop in the source, ahead of it or behind, is there more than once: then what
 * is around the loop was copied, and so, perhaps, was the loop. */
static bool has_copied_neighbour(const struct gn_function_shape *shape, size_t loop, const struct acts *acts,
                                 struct act_lines *known)
{
    const int begin = shape->loops[loop].place.line;
    int last = begin, before = 0, behind = INT_MAX;
    find_lines(shape, loop, acts, known);
    for (size_t i = 0; i < acts->count; i++)
        if (known->lines[i] > last && gn_shape_is_in(shape, acts->items[i].insn, loop))
            last = known->lines[i];
    bool is_before = false, is_behind = false;
    for (size_t i = 0; i < acts->count; i++) {
        const int line = known->lines[i];
        if (line > 0 && line < begin && line >= before) {
            is_before = (line == before && is_before) || is_twice(acts, i);
            before = line;
        } else if (line > last && line <= behind) {
            is_behind = (line == behind && is_behind) || is_twice(acts, i);
            behind = line;
        }
    }
    return is_before || is_behind;
}

static bool calls_the_same(const struct gn_insn *a, const struct gn_insn *b)
{
    return a->callee && b->callee ? strcmp(a->callee, b->callee) == 0
                                  : !a->callee && !b->callee && a->target == b->target;
}

static bool is_unplaced(const struct gn_function_shape *shape, size_t insn)
{
    struct gn_program_place place;
    return gn_work_is_call(gn_shape_insn(shape, insn)) &&
           gn_program_places(shape->program, gn_shape_insn(shape, insn)->address, &place, 1, NULL) > 0 &&
           place.line == 0;
}

/* Whether one of these calls without a line, outside of the loop, calls what the loop calls. */
static bool may_be_of(const struct gn_function_shape *shape, size_t loop, const size_t *unplaced,
                      size_t count)
{
    for (size_t i = 0; i < shape->code->count; i++)
        for (size_t u = 0; gn_work_is_call(gn_shape_insn(shape, i)) && u < count; u++)
            if (gn_shape_is_in(shape, i, loop) && !gn_shape_is_in(shape, unplaced[u], loop) &&
                calls_the_same(gn_shape_insn(shape, i), gn_shape_insn(shape, unplaced[u])))
                return true;
    return false;
}

/* Calls without a line were made one of several (by clang): of one in a loop, too, perhaps. Where there are
 * very many, of any. False: no memory. */
static bool doubt_unplaced(struct gn_function_shape *shape, const struct acts *acts)
{
    enum { UNPLACED_MAX = 64 };
    size_t unplaced[UNPLACED_MAX], count = 0, all = 0;
    for (size_t i = 0; i < shape->code->count && gn_program_has_lines(shape->program); i++)
        if (is_unplaced(shape, i) && all++ < UNPLACED_MAX)
            unplaced[count++] = i;
    if (all == 0 || shape->flow.loop_count == 0)
        return true;
    struct act_lines known = {.lines = calloc(acts->count + 1, sizeof *known.lines)};
    for (size_t loop = 0; known.lines && loop < shape->flow.loop_count; loop++)
        if ((all > UNPLACED_MAX || may_be_of(shape, loop, unplaced, count)) &&
            has_copied_neighbour(shape, loop, acts, &known))
            shape->loops[loop].doubts |= GN_DOUBT_COPIES;
    const bool done = known.lines != NULL;
    free(known.lines);
    return done;
}

static bool doubt_copies(struct gn_function_shape *shape)
{
    enum { ALIKE_MAX = 64 };
    struct acts acts = {.items = malloc((shape->code->count + 1) * sizeof *acts.items)};
    for (size_t i = 0; acts.items && shape->flow.loop_count > 0 && i < shape->code->count; i++) {
        acts.items[acts.count] = (struct act){act_of(shape, i), i};
        acts.count += acts.items[acts.count].what != 0;
    }
    if (acts.items)
        qsort(acts.items, acts.count, sizeof *acts.items, compare_acts);
    for (size_t a = 0; a < acts.count; a++)
        for (size_t b = a + 1;
             b < acts.count && b < a + ALIKE_MAX && acts.items[b].what == acts.items[a].what; b++)
            doubt_pair(shape, acts.items[a].insn, acts.items[b].insn,
                       gn_work_is_call(gn_shape_insn(shape, acts.items[a].insn)));
    const bool done = acts.items && doubt_unplaced(shape, &acts);
    free(acts.items);
    return done;
}

static bool is_around(const struct gn_function_shape *shape, size_t outer, size_t loop)
{
    return gn_shape_is_in(shape, shape->flow.loops[loop].head, outer);
}

/* Where the function that a loop is in was inlined: a digest of the calls around it. */
static uint64_t inlined_at(const struct gn_function_shape *shape, size_t loop)
{
    enum { LEVELS = 16 };
    struct gn_program_place places[LEVELS];
    const struct gn_program_place *own = &shape->loops[loop].place;
    const size_t count = gn_program_places(
        shape->program, gn_shape_insn(shape, shape->flow.loops[loop].head)->address, places, LEVELS, NULL);
    size_t level = 0;
    while (level < count && (places[level].function != own->function || places[level].file != own->file))
        level++;
    return level < count ? hash_of_places(0, places + level + 1, count - level - 1) : 0;
}

/* Two loops side by side in one line: one of the source, of which there is a copy for each case. */
static void doubt_versions(struct gn_function_shape *shape)
{
    const size_t count = shape->flow.loop_count;
    for (size_t a = 0; a < count; a++)
        for (size_t b = a + 1; b < count; b++) {
            const struct gn_program_place *one = &shape->loops[a].place, *other = &shape->loops[b].place;
            if (one->line <= 0 || one->line != other->line || one->function != other->function ||
                one->file != other->file || is_around(shape, a, b) || is_around(shape, b, a) ||
                inlined_at(shape, a) != inlined_at(shape, b))
                continue;
            shape->loops[a].doubts |= GN_DOUBT_COPIES;
            shape->loops[b].doubts |= GN_DOUBT_COPIES;
        }
}

bool gn_copies_doubt(struct gn_function_shape *shape)
{
    bool done = doubt_copies(shape);
    doubt_versions(shape);
    for (size_t loop = 0; loop < shape->flow.loop_count && done; loop++)
        done = doubt_threaded(shape, loop);
    return done;
}

#include "program/iterations.h"

#include "base/map.h"
#include "program/doubts.h"
#include "program/source.h"
#include "program/work.h"

#include <stdlib.h>
#include <string.h>

enum { INSNS_MAX = 1 << 20 }; /* of the functions kept */

/* A function, and for each of its loops (once asked for) which instructions leave through its test. */
struct known {
    struct gn_function_shape shape;
    uint8_t **leaves; /* by loop, then by instruction: enum leaving */
};

/* LATE_BREAK: the test stands at the end of a round, and this behind it, where the next one has begun. */
enum leaving { NO_TEST, MAY_BE_TEST, IS_TEST, LATE_BREAK };

struct gn_iterations {
    struct gn_program *program;
    struct gn_map functions; /* by the address of their code */
    size_t insns;
    /* what control may be in: see spread */
    uint16_t *states;
    uint32_t *queue;
    uint8_t *queued;
    size_t room;
};

struct gn_iterations *gn_iterations_new(struct gn_program *program)
{
    struct gn_iterations *it = calloc(1, sizeof *it);
    if (it)
        it->program = program;
    return it;
}

static void free_known(struct known *known)
{
    for (size_t i = 0; known->leaves && i < known->shape.flow.loop_count; i++)
        free(known->leaves[i]);
    free(known->leaves);
    gn_shape_clear(&known->shape);
    free(known);
}

static void forget(struct gn_iterations *it)
{
    for (size_t i = 0; i < it->functions.size; i++)
        if (it->functions.slots[i].value)
            free_known(it->functions.slots[i].value);
    gn_map_clear(&it->functions);
    it->functions = (struct gn_map){0};
    it->insns = 0;
    gn_kept_tidy(&it->program->kept);
}

void gn_iterations_free(struct gn_iterations *it)
{
    if (!it)
        return;
    forget(it);
    free(it->states);
    free(it->queue);
    free(it->queued);
    free(it);
}

static struct known *keep(struct gn_iterations *it, struct gn_key key, uint64_t offset)
{
    struct known *known = calloc(1, sizeof *known);
    if (!known || !gn_doubts_read(&known->shape, it->program, offset)) {
        free(known);
        return NULL;
    }
    known->leaves = calloc(known->shape.flow.loop_count + 1, sizeof *known->leaves);
    if (!known->leaves || !gn_map_add(&it->functions, key, known)) {
        free_known(known);
        return NULL;
    }
    it->insns += known->shape.code->count;
    return known;
}

static struct known *function_around(struct gn_iterations *it, uint64_t offset)
{
    if (it->insns > INSNS_MAX)
        forget(it);
    const struct gn_code *code = gn_work_read(it->program, offset);
    const struct gn_key key = {(uintptr_t)code, 0};
    struct known *known = code ? gn_map_find(&it->functions, key) : NULL;
    return known || !code ? known : keep(it, key, offset);
}

/* Whether control may go on behind an instruction without a recorded call. */
static bool passes_on(const struct gn_function_shape *shape, size_t insn)
{
    return !gn_work_is_call(&shape->code->items[insn]) || (shape->silent[insn] && !shape->measured[insn]);
}

bool gn_iterations_know(struct gn_iterations *it, uint64_t offset)
{
    return function_around(it, offset - 1) != NULL;
}

const char *gn_iterations_symbol(struct gn_iterations *it, uint64_t offset)
{
    struct known *f = function_around(it, offset - 1);
    uint64_t from_start = 0;
    const char *symbol =
        f ? gn_program_symbol(it->program, f->shape.code->items[f->shape.code->entry].address, &from_start)
          : NULL;
    return from_start == 0 ? symbol : NULL;
}

void gn_iterations_never_silent(struct gn_iterations *it, uint64_t offset, const char *symbol)
{
    struct known *f = function_around(it, offset - 1);
    const size_t call = f ? gn_code_holding(f->shape.code, offset - 1) : GN_CODE_NONE;
    /* through a pointer, it may be another one the next time */
    if (call != GN_CODE_NONE && symbol && f->shape.code->items[call].callee &&
        strcmp(f->shape.code->items[call].callee, symbol) == 0)
        f->shape.silent[call] = 0;
}

bool gn_iterations_may_be_silent(struct gn_iterations *it, uint64_t offset)
{
    struct known *f = function_around(it, offset - 1);
    const size_t call = f ? gn_code_holding(f->shape.code, offset - 1) : GN_CODE_NONE;
    return call == GN_CODE_NONE || passes_on(&f->shape, call);
}

bool gn_iterations_hides_function(struct gn_iterations *it, uint64_t offset)
{
    struct known *f = function_around(it, offset - 1);
    const size_t call = f ? gn_code_holding(f->shape.code, offset - 1) : GN_CODE_NONE;
    return call != GN_CODE_NONE && !f->shape.measured[call];
}

size_t gn_iterations_around(struct gn_iterations *it, uint64_t offset, struct gn_loop_around *loops,
                            size_t max)
{
    struct known *f = function_around(it, offset - 1);
    const size_t insn = f ? gn_code_holding(f->shape.code, offset - 1) : GN_CODE_NONE;
    size_t depth = 0, count = 0;
    if (insn == GN_CODE_NONE)
        return 0;
    for (size_t at = f->shape.flow.loop_of[insn]; at != GN_CODE_NONE; at = f->shape.flow.loops[at].parent)
        depth++;
    for (size_t at = f->shape.flow.loop_of[insn]; at != GN_CODE_NONE; at = f->shape.flow.loops[at].parent)
        if (--depth < max) {
            loops[depth] = (struct gn_loop_around){
                .head = f->shape.code->items[f->shape.flow.loops[at].head].address,
                .place = f->shape.loops[at].place,
                .doubts = f->shape.loops[at].doubts,
            };
            count++;
        }
    return count;
}

/* ---- the test of a loop ---- */

/* Whether no other line than the loop's own has a part in an instruction. */
static bool is_at_loop_line(const struct gn_function_shape *shape, size_t insn, size_t loop)
{
    const struct gn_program_place *place = &shape->loops[loop].place;
    const int line = gn_source_line_in(shape->program, shape->code->items[insn].address, place);
    return line == 0 || line == place->line;
}

/* A way from the head: whether it has kept to the loop's line, and whether it has passed a recorded call. */
enum { ON_LINE = 1, OFF_LINE = 2, BEHIND_CALL = 4 };

static uint8_t way_on(const struct gn_function_shape *shape, size_t insn, size_t loop, uint8_t ways)
{
    const struct gn_insn *at = &shape->code->items[insn];
    const bool calls = !passes_on(shape, insn), does = calls || at->acts || gn_work_is_call(at);
    const bool is_on = ways & (ON_LINE | BEHIND_CALL) && is_at_loop_line(shape, insn, loop);
    uint8_t next = 0;
    if (ways & ON_LINE && is_on)
        next |= does ? BEHIND_CALL : ON_LINE;
    /* what only computes may have come from further down */
    if ((ways & BEHIND_CALL && is_on) || (ways & ON_LINE && !is_on && !does))
        next |= BEHIND_CALL;
    if (!calls && (ways & OFF_LINE || (ways & ON_LINE && !is_on)))
        next |= OFF_LINE;
    return next;
}

/* ways[i]: on which ways control comes to i from the head in the first round, if any. */
static void find_ways(struct gn_iterations *it, const struct gn_function_shape *shape, size_t loop,
                      uint8_t *ways)
{
    const struct gn_code *code = shape->code;
    size_t head = shape->flow.loops[loop].head, depth = 0;
    uint32_t *stack = it->queue;
    memset(it->queued, 0, code->count);
    ways[head] = ON_LINE;
    stack[depth++] = (uint32_t)head;
    while (depth > 0) {
        const size_t at = stack[--depth];
        it->queued[at] = 0;
        const uint8_t next = way_on(shape, at, loop, ways[at]);
        for (size_t edge = code->to.first[at]; next && edge < code->to.first[at + 1]; edge++) {
            const size_t to = code->to.ends[edge];
            if (to == head || !gn_shape_is_in(shape, to, loop) || (ways[to] | next) == ways[to])
                continue;
            ways[to] |= next;
            if (!it->queued[to])
                stack[depth++] = (uint32_t)to;
            it->queued[to] = 1;
        }
    }
}

/* Whether control may leave the loop there, in the loop's own line. */
static bool leaves_in_line(const struct gn_function_shape *shape, size_t insn, size_t loop)
{
    const struct gn_program_place *place = &shape->loops[loop].place;
    return gn_shape_is_in(shape, insn, loop) && gn_shape_leads_out(shape, insn, loop) &&
           gn_source_line_in(shape->program, shape->code->items[insn].address, place) == place->line;
}

/* Whether ways out in the loop's line are at more than one place in it, or nobody knows: one may be a
 * `break`. */
static bool is_of_several(const struct gn_function_shape *shape, size_t loop)
{
    const struct gn_program_place *place = &shape->loops[loop].place;
    int column = -1;
    for (size_t i = 0; i < shape->code->count; i++) {
        if (shape->code->items[i].kind != GN_CODE_BRANCH || !leaves_in_line(shape, i, loop))
            continue;
        const int at = gn_source_column_in(shape->program, shape->code->items[i].address, place);
        if (column >= 0 && (at != column || at == 0))
            return true;
        column = at;
    }
    return false;
}

/* From tests at the end of a round on, to where control leaves ahead of the head. */
static void find_late_breaks(struct gn_iterations *it, const struct gn_function_shape *shape, size_t loop,
                             bool several, uint8_t *leaves)
{
    const struct gn_code *code = shape->code;
    uint8_t *const seen = it->queued;
    size_t depth = 0;
    if (shape->loops[loop].place.line <= 0)
        return;
    memset(seen, 0, code->count);
    for (size_t i = 0; i < code->count; i++)
        if (leaves[i] != IS_TEST && leaves_in_line(shape, i, loop)) {
            seen[i] = 1;
            it->queue[depth++] = (uint32_t)i;
        }
    while (depth > 0) {
        const size_t at = it->queue[--depth];
        for (size_t edge = code->to.first[at]; edge < code->to.first[at + 1]; edge++) {
            const size_t to = code->to.ends[edge];
            if (to == shape->flow.loops[loop].head || seen[to] || !gn_shape_is_in(shape, to, loop))
                continue;
            seen[to] = 1;
            it->queue[depth++] = (uint32_t)to;
            if (gn_shape_leads_out(shape, to, loop) && (several || !is_at_loop_line(shape, to, loop)))
                leaves[to] = LATE_BREAK;
        }
    }
}

/* Whether the way to an instruction, from the last that was done in the round on, has code of the loop's own
 * line: its counter goes on there, or its test. */
static bool is_behind_line(struct gn_iterations *it, const struct gn_function_shape *shape, size_t loop,
                           size_t insn)
{
    const struct gn_code *code = shape->code;
    const struct gn_program_place *place = &shape->loops[loop].place;
    size_t depth = 0;
    memset(it->queued, 0, code->count);
    it->queued[insn] = 1;
    it->queue[depth++] = (uint32_t)insn;
    while (depth > 0) {
        const size_t at = it->queue[--depth];
        if (gn_source_line_in(shape->program, code->items[at].address, place) == place->line)
            return true;
        for (size_t edge = code->from.first[at];
             at != shape->flow.loops[loop].head && edge < code->from.first[at + 1]; edge++) {
            const size_t before = code->from.ends[edge];
            const struct gn_insn *i = &code->items[before];
            if (it->queued[before] || !gn_shape_is_in(shape, before, loop))
                continue;
            if (i->acts || gn_work_is_call(i)) {
                if (gn_source_line_in(shape->program, i->address, place) == place->line)
                    return true; /* it is done in the test */
                continue;
            }
            it->queued[before] = 1;
            it->queue[depth++] = (uint32_t)before;
        }
    }
    return false;
}

/* Where no way out is in the loop's line, its test was made one with a `break`, perhaps. */
static void find_joined_tests(struct gn_iterations *it, const struct gn_function_shape *shape, size_t loop,
                              uint8_t *leaves)
{
    const size_t count = shape->code->count;
    for (size_t i = 0; i < count; i++)
        if (shape->loops[loop].place.line <= 0 || leaves_in_line(shape, i, loop))
            return;
    for (size_t i = 0; i < count; i++)
        if (leaves[i] == NO_TEST && gn_shape_is_in(shape, i, loop) && gn_shape_leads_out(shape, i, loop) &&
            is_behind_line(it, shape, loop, i))
            leaves[i] = LATE_BREAK;
}

static const uint8_t *leaves_of(struct gn_iterations *it, struct known *f, size_t loop)
{
    const size_t count = f->shape.code->count;
    if (f->leaves[loop])
        return f->leaves[loop];
    uint8_t *ways = calloc(count, 1);
    if (!ways)
        return NULL;
    const bool several = f->shape.loops[loop].place.line > 0 && is_of_several(&f->shape, loop);
    find_ways(it, &f->shape, loop, ways);
    for (size_t i = 0; i < count; i++) {
        const uint8_t after = ways[i] ? way_on(&f->shape, i, loop, ways[i]) : 0;
        ways[i] = after == ON_LINE && f->shape.loops[loop].place.line > 0 && !several ? IS_TEST
                  : after                                                             ? MAY_BE_TEST
                                                                                      : NO_TEST;
    }
    find_late_breaks(it, &f->shape, loop, several, ways);
    find_joined_tests(it, &f->shape, loop, ways);
    return f->leaves[loop] = ways;
}

/* ---- ways from call to call ---- */

/*
 * What a way has done to the loop so far is a number of iterations, -1 … 2 and more, and of entries, 0 … 2
 * and more: twelve states, a bit each. They spread along the edges until nothing new comes anywhere.
 */
enum { ENTRIES = 3, LEAST = -1, MOST = 2 };

static uint16_t bit(int iterations, int entries)
{
    return (uint16_t)(1u << ((iterations - LEAST) * ENTRIES + entries));
}

static int between(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

static uint16_t shifted(uint16_t states, int iterations, int entries)
{
    uint16_t result = 0;
    for (int i = LEAST; i <= MOST; i++)
        for (int e = 0; e < ENTRIES; e++) {
            if (!(states & bit(i, e)))
                continue;
            const int more = between(e + entries, 0, ENTRIES - 1);
            result |= bit(between(i + iterations, LEAST, MOST), more);
            if (i == MOST && iterations < 0) /* two and more, less one */
                result |= bit(MOST, more);
        }
    return result;
}

/* Rounds that were begun on the way: of those a way out that may be the test takes one back. */
static uint16_t begun(uint16_t states)
{
    uint16_t result = 0;
    for (int e = 0; e < ENTRIES; e++)
        result |= (uint16_t)(states & (bit(1, e) | bit(MOST, e)));
    return result;
}

static uint16_t along(const struct gn_function_shape *shape, size_t loop, const uint8_t *leaves, size_t from,
                      size_t to, uint16_t states, bool likely)
{
    const bool is_in = gn_shape_is_in(shape, from, loop);
    if (to == shape->flow.loops[loop].head)
        return shifted(states, 1, !is_in);
    if (!is_in || gn_shape_is_in(shape, to, loop) || leaves[from] == NO_TEST)
        return states;
    if (leaves[from] == IS_TEST)
        return shifted(states, -1, 0);
    if (leaves[from] == LATE_BREAK)
        return states | shifted(states, 1, 0) | shifted(states, -1, 0);
    const uint16_t back = shifted(likely ? begun(states) : states, -1, 0);
    return (uint16_t)(back | (likely ? states & ~begun(states) : states));
}

struct route {
    bool likely;  /* of what may be a loop's test: see struct gn_pass */
    size_t start; /* instruction: a call, or the first one */
    size_t goal;  /* a call; GN_CODE_NONE: wherever the function is left */
    bool from_begin, by_jump;
};

static bool is_goal(const struct gn_function_shape *shape, const struct route *r, size_t insn)
{
    enum gn_code_kind kind = shape->code->items[insn].kind;
    /* a jump to an address that is not known may leave the function, too */
    const bool leaves = kind == GN_CODE_SWITCH && !gn_code_switch_at(shape->code, insn);
    if (r->by_jump)
        return kind == GN_CODE_TAIL_CALL || leaves;
    if (r->goal != GN_CODE_NONE)
        return insn == r->goal;
    return kind == GN_CODE_RETURN || leaves || (kind == GN_CODE_TAIL_CALL && shape->silent[insn]);
}

static bool make_room(struct gn_iterations *it, size_t count)
{
    if (count <= it->room)
        return true;
    free(it->states);
    free(it->queue);
    free(it->queued);
    it->states = calloc(count, sizeof *it->states);
    it->queue = calloc(count, sizeof *it->queue);
    it->queued = calloc(count, 1);
    it->room = it->states && it->queue && it->queued ? count : 0;
    return it->room > 0;
}

/* Where control gets from an instruction, with these states there. Adds what is new to the queue. */
static void go_on(struct gn_iterations *it, const struct route *r, const struct gn_function_shape *shape,
                  size_t loop, const uint8_t *leaves, size_t at, uint16_t states, size_t *depth)
{
    const struct gn_code *code = shape->code;
    for (size_t edge = code->to.first[at]; edge < code->to.first[at + 1]; edge++) {
        const size_t to = code->to.ends[edge];
        const uint16_t next = leaves ? along(shape, loop, leaves, at, to, states, r->likely) : states;
        if ((it->states[to] | next) == it->states[to])
            continue;
        it->states[to] |= next;
        if (!it->queued[to])
            it->queue[(*depth)++] = (uint32_t)to;
        it->queued[to] = 1;
    }
}

/* The states in which goals are come to. */
static uint16_t spread(struct gn_iterations *it, struct known *f, const struct route *r, size_t loop)
{
    const struct gn_function_shape *shape = &f->shape;
    const struct gn_code *code = shape->code;
    const uint8_t *leaves = loop == GN_CODE_NONE ? NULL : leaves_of(it, f, loop);
    size_t depth = 0;
    uint16_t arrived = 0;
    if (loop != GN_CODE_NONE && !leaves)
        return 0;
    memset(it->states, 0, code->count * sizeof *it->states);
    memset(it->queued, 0, code->count);
    if (r->from_begin) {
        const bool is_head = loop != GN_CODE_NONE && r->start == shape->flow.loops[loop].head;
        it->states[r->start] = is_head ? bit(1, 1) : bit(0, 0);
        it->queue[depth++] = (uint32_t)r->start;
        it->queued[r->start] = 1;
    } else { /* behind the call, which may be the last instruction of a round */
        go_on(it, r, shape, loop, leaves, r->start, bit(0, 0), &depth);
    }
    while (depth > 0) {
        const size_t at = it->queue[--depth];
        it->queued[at] = 0;
        if (is_goal(shape, r, at))
            arrived |= it->states[at];
        if (passes_on(shape, at))
            go_on(it, r, shape, loop, leaves, at, it->states[at], &depth);
    }
    return arrived;
}

static struct gn_pass pass_of(uint16_t states)
{
    struct gn_pass pass = {.entries_low = ENTRIES, .iterations_low = MOST + 1, .iterations_high = LEAST};
    for (int i = LEAST; i <= MOST; i++)
        for (int e = 0; e < ENTRIES; e++) {
            if (!(states & bit(i, e)))
                continue;
            pass.entries_low = e < pass.entries_low ? e : pass.entries_low;
            pass.entries_high = e > pass.entries_high ? e : pass.entries_high;
            pass.iterations_low = i < pass.iterations_low ? i : pass.iterations_low;
            pass.iterations_high = i > pass.iterations_high ? i : pass.iterations_high;
        }
    return pass;
}

static size_t loop_with_head(const struct gn_function_shape *shape, uint64_t head)
{
    for (size_t i = 0; i < shape->flow.loop_count; i++)
        if (shape->code->items[shape->flow.loops[i].head].address == head)
            return i;
    return GN_CODE_NONE;
}

static bool find_route(const struct gn_function_shape *shape, uint64_t from, uint64_t to, struct route *r)
{
    *r = (struct route){.start = shape->code->entry,
                        .goal = GN_CODE_NONE,
                        .from_begin = from == 0,
                        .by_jump = to == GN_ITERATIONS_TAIL};
    if (from != 0)
        r->start = gn_code_holding(shape->code, from - 1);
    if (to == 0 || r->by_jump)
        return r->start != GN_CODE_NONE;
    r->goal = gn_code_holding(shape->code, to - 1);
    return r->start != GN_CODE_NONE && r->goal != GN_CODE_NONE;
}

bool gn_iterations_between(struct gn_iterations *it, uint64_t from, uint64_t to, const uint64_t *heads,
                           size_t count, struct gn_pass *passes)
{
    struct known *f = from || to ? function_around(it, (from ? from : to) - 1) : NULL;
    struct route route;
    if (!f || !make_room(it, f->shape.code->count) || !find_route(&f->shape, from, to, &route))
        return false;
    if (spread(it, f, &route, GN_CODE_NONE) == 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        const size_t loop = loop_with_head(&f->shape, heads[i]);
        const uint16_t states = loop == GN_CODE_NONE ? bit(0, 0) : spread(it, f, &route, loop);
        passes[i] = states ? pass_of(states) /* none: no memory */
                           : (struct gn_pass){.entries_high = GN_PASS_MANY, .iterations_high = GN_PASS_MANY};
        const bool is_open = states && passes[i].iterations_low < passes[i].iterations_high;
        route.likely = true;
        const struct gn_pass likely = is_open ? pass_of(spread(it, f, &route, loop)) : passes[i];
        route.likely = false;
        passes[i].entries_likely = likely.entries_low;
        passes[i].iterations_likely = likely.iterations_low;
    }
    return true;
}

bool gn_iterations_is_silent(struct gn_iterations *it, uint64_t offset)
{
    struct known *f = function_around(it, offset);
    const struct route r = {.start = f ? f->shape.code->entry : 0, .goal = GN_CODE_NONE, .from_begin = true};
    return !f || !make_room(it, f->shape.code->count) || spread(it, f, &r, GN_CODE_NONE) != 0;
}

bool gn_iterations_go_unseen(struct gn_iterations *it, uint64_t offset, uint64_t head)
{
    struct known *f = function_around(it, offset - 1);
    const struct route r = {.start = f ? f->shape.code->entry : 0, .goal = GN_CODE_NONE, .from_begin = true};
    const size_t loop = f ? loop_with_head(&f->shape, head) : GN_CODE_NONE;
    if (loop == GN_CODE_NONE || !make_room(it, f->shape.code->count))
        return true;
    const uint16_t states = spread(it, f, &r, loop);
    return states != 0 && pass_of(states).iterations_high > 0;
}

bool gn_iterations_catches(struct gn_iterations *it, uint64_t offset)
{
    struct known *f = function_around(it, offset - 1);
    return f && f->shape.catches;
}

#include "program/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A computed jump may lead to any block that nothing else leads to. Only later ones are considered: an edge
 * backwards that is not there would make a loop that is not there. */
enum { SWITCH_TARGETS_MAX = 512 };

struct edges {
    uint32_t *targets;
    size_t count, room;
};

static bool add_edge(struct edges *edges, size_t target)
{
    if (edges->count == edges->room) {
        size_t room = edges->room ? edges->room * 2 : 256;
        uint32_t *targets = realloc(edges->targets, room * sizeof *targets);
        if (!targets)
            return false;
        edges->targets = targets;
        edges->room = room;
    }
    edges->targets[edges->count++] = (uint32_t)target;
    return true;
}

static bool falls_through(enum gn_code_kind kind)
{
    return kind == GN_CODE_PLAIN || kind == GN_CODE_BRANCH || kind == GN_CODE_CALL;
}

/* orphan[i]: nothing jumps to i, nor does control fall through to it. */
static void find_orphans(const struct gn_code *code, uint8_t *orphan)
{
    for (size_t i = 1; i < code->count; i++)
        orphan[i] = !falls_through(code->items[i - 1].kind);
    for (size_t i = 0; i < code->count; i++) {
        const struct gn_insn *insn = &code->items[i];
        bool jumps = insn->kind == GN_CODE_JUMP || insn->kind == GN_CODE_BRANCH;
        size_t target = jumps && insn->target ? gn_code_at(code, insn->target) : GN_CODE_NONE;
        if (target != GN_CODE_NONE)
            orphan[target] = 0;
    }
}

static bool add_switch_edges(struct edges *edges, const struct gn_code *code, const uint8_t *orphan,
                             size_t from)
{
    int added = 0;
    for (size_t i = from + 1; i < code->count && added < SWITCH_TARGETS_MAX; i++) {
        if (!orphan[i])
            continue;
        if (!add_edge(edges, i))
            return false;
        added++;
    }
    return true;
}

static bool add_edges_of(struct edges *edges, const struct gn_code *code, const uint8_t *orphan, size_t i)
{
    const struct gn_insn *insn = &code->items[i];
    const struct gn_code_switch *jump = insn->kind == GN_CODE_SWITCH ? gn_code_switch_at(code, i) : NULL;
    for (size_t way = 0; jump && way < jump->count; way++)
        if (!add_edge(edges, code->ways[jump->first + way]))
            return false;
    if (insn->kind == GN_CODE_SWITCH)
        return jump || add_switch_edges(edges, code, orphan, i);
    if (falls_through(insn->kind) && i + 1 < code->count && !add_edge(edges, i + 1))
        return false;
    if ((insn->kind != GN_CODE_JUMP && insn->kind != GN_CODE_BRANCH) || !insn->target)
        return true;
    size_t target = gn_code_at(code, insn->target);
    return target == GN_CODE_NONE || add_edge(edges, target);
}

static bool connect_forward(struct gn_code *code)
{
    struct edges edges = {0};
    uint8_t *orphan = calloc(code->count, 1);
    code->to.first = calloc(code->count + 1, sizeof *code->to.first);
    bool ok = orphan && code->to.first;
    if (ok)
        find_orphans(code, orphan);
    for (size_t i = 0; ok && i < code->count; i++) {
        code->to.first[i] = edges.count;
        ok = add_edges_of(&edges, code, orphan, i);
    }
    if (ok)
        code->to.first[code->count] = edges.count;
    code->to.ends = edges.targets;
    free(orphan);
    return ok;
}

/* The edges turned round. */
static bool connect_backward(struct gn_code *code)
{
    size_t count = code->count, edges = code->to.first[count];
    size_t *first = calloc(count + 2, sizeof *first);
    uint32_t *ends = calloc(edges + 1, sizeof *ends);
    code->from = (struct gn_code_edges){first, ends};
    if (!first || !ends)
        return false;
    /* Counted two places ahead, so that filling moves each start to where it belongs. */
    for (size_t edge = 0; edge < edges; edge++)
        first[code->to.ends[edge] + 2]++;
    for (size_t i = 2; i <= count; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < count; i++)
        for (size_t edge = code->to.first[i]; edge < code->to.first[i + 1]; edge++)
            ends[first[code->to.ends[edge] + 1]++] = (uint32_t)i;
    return true;
}

int gn_flow_connect(struct gn_code *code)
{
    return connect_forward(code) && connect_backward(code) ? 0 : -ENOMEM;
}

int gn_flow_init(struct gn_flow *flow, const struct gn_code *code, size_t start)
{
    *flow = (struct gn_flow){.code = code, .start = start};
    flow->roles = calloc(code->count, sizeof *flow->roles);
    flow->inside = calloc(code->count, sizeof *flow->inside);
    flow->loop_of = calloc(code->count, sizeof *flow->loop_of);
    flow->cut = calloc(code->to.first[code->count] + 1, sizeof *flow->cut);
    if (flow->roles && flow->inside && flow->loop_of && flow->cut)
        return 0;
    gn_flow_clear(flow);
    return -ENOMEM;
}

void gn_flow_clear(struct gn_flow *flow)
{
    free(flow->roles);
    free(flow->inside);
    free(flow->loop_of);
    free(flow->loops);
    free(flow->cut);
    *flow = (struct gn_flow){0};
}

enum { SEEN_FORWARD = 1, SEEN_BACKWARD = 2 };

/* Marks what can be reached from start; stack has room for every instruction. */
static void reach_forward(struct gn_flow *flow, uint8_t *seen, uint32_t *stack)
{
    const struct gn_code_edges *to = &flow->code->to;
    size_t depth = 0;
    if (flow->roles[flow->start] == GN_FLOW_BLOCKED)
        return;
    seen[flow->start] = SEEN_FORWARD;
    stack[depth++] = (uint32_t)flow->start;
    while (depth > 0) {
        size_t at = stack[--depth];
        if (flow->roles[at] == GN_FLOW_GOAL)
            continue;
        for (size_t edge = to->first[at]; edge < to->first[at + 1]; edge++) {
            size_t target = to->ends[edge];
            if (seen[target] || flow->roles[target] == GN_FLOW_BLOCKED)
                continue;
            seen[target] = SEEN_FORWARD;
            stack[depth++] = (uint32_t)target;
        }
    }
}

/* Of what was reached, marks what leads to a goal that was reached. Returns the number of such goals. */
static size_t reach_backward(struct gn_flow *flow, uint8_t *seen, uint32_t *stack)
{
    const struct gn_code_edges *from = &flow->code->from;
    size_t depth = 0, goals = 0;
    for (size_t i = 0; i < flow->code->count; i++) {
        if (seen[i] && flow->roles[i] == GN_FLOW_GOAL) {
            seen[i] |= SEEN_BACKWARD;
            stack[depth++] = (uint32_t)i;
            goals++;
        }
    }
    while (depth > 0) {
        size_t at = stack[--depth];
        for (size_t edge = from->first[at]; edge < from->first[at + 1]; edge++) {
            size_t source = from->ends[edge];
            if (seen[source] != SEEN_FORWARD)
                continue;
            seen[source] |= SEEN_BACKWARD;
            stack[depth++] = (uint32_t)source;
        }
    }
    return goals;
}

int gn_flow_reach(struct gn_flow *flow)
{
    size_t count = flow->code->count;
    uint32_t *stack = calloc(count, sizeof *stack);
    memset(flow->inside, 0, count);
    if (!stack)
        return -ENOMEM;
    reach_forward(flow, flow->inside, stack);
    int reached = reach_backward(flow, flow->inside, stack) > 0;
    for (size_t i = 0; i < count; i++)
        flow->inside[i] = flow->inside[i] == (SEEN_FORWARD | SEEN_BACKWARD);
    free(stack);
    return reached;
}

/*
 * program/flow — the control flow of one function: what can run between two points of it, and the loops
 * there.
 *
 * Addresses alone do not tell: compilers place a loop's test below its body, unlikely blocks at the end of
 * the function and code shared by two branches anywhere. So everything is asked of the graph, whose nodes are
 * the instructions and whose edges are the ways control can take.
 *
 * Loops are found by repeated search for strongly connected components: those of the whole graph are the
 * outermost loops; without the edges back to their entries, what still is connected is nested one deeper; and
 * so on. Each round is linear in the size of the function, and unlike with dominators no assumption is made
 * that a loop has one entry.
 */
#ifndef GNOMON_PROGRAM_FLOW_H
#define GNOMON_PROGRAM_FLOW_H

#include "program/code.h"

#include <stdint.h>

enum gn_flow_role {
    GN_FLOW_OPEN,
    GN_FLOW_BLOCKED, /* no path may lead through here */
    GN_FLOW_GOAL,    /* paths end here */
};

struct gn_loop {
    size_t head;   /* index of the instruction by which the loop is entered */
    size_t branch; /* index of the last instruction that leads back to head */
    size_t parent; /* the loop around it, index into loops, or GN_CODE_NONE */
    int depth;     /* 1: not inside another loop */
    uint64_t bytes;
};

struct gn_flow {
    const struct gn_code *code;
    size_t start;
    uint8_t *roles;  /* enum gn_flow_role by instruction, all open at first; the caller sets them */
    uint8_t *inside; /* by instruction: 1 when some path from start to a goal passes it */
    size_t *loop_of; /* by instruction: its innermost loop, index into loops, or GN_CODE_NONE */
    struct gn_loop *loops;
    size_t loop_count, loop_room;
    uint8_t *cut; /* by edge of code->to: leads back to the entry of a loop that is already known */
};

/* Finds the edges of a function's code, once for all flows through it. 0 or -ENOMEM. */
int gn_flow_connect(struct gn_code *code);

/* code is connected and must stay as it is until gn_flow_clear. Returns 0 or -ENOMEM; on failure there is
 * nothing to clear. */
int gn_flow_init(struct gn_flow *flow, const struct gn_code *code, size_t start);
void gn_flow_clear(struct gn_flow *flow);

/* Sets inside from start and roles. Returns 1 when a goal can be reached, 0 when none can, or -ENOMEM. */
int gn_flow_reach(struct gn_flow *flow);

/* Sets loops and loop_of for the instructions inside; call once. Returns 0 or -ENOMEM. */
int gn_flow_find_loops(struct gn_flow *flow);

#endif

/* Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1(2), 1972, section 4; with a
 * stack of its own in place of recursion, because functions can be as long as a file says. */
#include "program/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LOOP_DEPTH_MAX = 24 };

struct search {
    struct gn_flow *flow;
    int depth;
    size_t next_number;
    size_t *number;   /* order of first visit, from 1; 0: not yet visited */
    size_t *low;      /* smallest number known to be reachable within the component */
    size_t *edge;     /* the next edge to follow */
    uint32_t *path;   /* instructions being visited */
    uint32_t *open;   /* instructions whose component is not complete */
    uint8_t *is_open; /* member of open */
    size_t path_count, open_count;
};

static void search_clear(struct search *search)
{
    free(search->number);
    free(search->low);
    free(search->edge);
    free(search->path);
    free(search->open);
    free(search->is_open);
}

static bool search_init(struct search *search, struct gn_flow *flow)
{
    size_t count = flow->code->count;
    *search = (struct search){.flow = flow};
    search->number = calloc(count, sizeof *search->number);
    search->low = calloc(count, sizeof *search->low);
    search->edge = calloc(count, sizeof *search->edge);
    search->path = calloc(count, sizeof *search->path);
    search->open = calloc(count, sizeof *search->open);
    search->is_open = calloc(count, 1);
    return search->number && search->low && search->edge && search->path && search->open && search->is_open;
}

/* Whether the edge is part of the graph that is searched. */
static bool counts(const struct gn_flow *flow, size_t from, size_t edge)
{
    return !flow->cut[edge] && flow->inside[flow->code->to.ends[edge]] && flow->roles[from] != GN_FLOW_GOAL;
}

static bool add_loop(struct gn_flow *flow, struct gn_loop loop)
{
    if (flow->loop_count == flow->loop_room) {
        size_t room = flow->loop_room ? flow->loop_room * 2 : 16;
        struct gn_loop *loops = realloc(flow->loops, room * sizeof *loops);
        if (!loops)
            return false;
        flow->loops = loops;
        flow->loop_room = room;
    }
    flow->loops[flow->loop_count++] = loop;
    return true;
}

/* Cuts the edges of members[0..count) back to their head; sets loop->branch. False when there are none: one
 * instruction alone, not a loop. */
static bool cut_back_edges(struct search *search, const uint32_t *members, size_t count, struct gn_loop *loop)
{
    struct gn_flow *flow = search->flow;
    bool found = false;
    for (size_t m = 0; m < count; m++) {
        size_t from = members[m];
        for (size_t edge = flow->code->to.first[from]; edge < flow->code->to.first[from + 1]; edge++) {
            if (flow->code->to.ends[edge] != loop->head || !counts(flow, from, edge))
                continue;
            flow->cut[edge] = 1;
            if (!found || from > loop->branch)
                loop->branch = from;
            found = true;
        }
    }
    return found;
}

static bool finish_component(struct search *search, size_t head)
{
    struct gn_flow *flow = search->flow;
    size_t end = search->open_count, begin = end;
    do {
        search->is_open[search->open[--begin]] = 0;
    } while (search->open[begin] != head);
    search->open_count = begin;
    struct gn_loop loop = {.head = head, .parent = flow->loop_of[head], .depth = search->depth};
    if (!cut_back_edges(search, search->open + begin, end - begin, &loop))
        return true;
    for (size_t m = begin; m < end; m++) {
        loop.bytes += flow->code->items[search->open[m]].size;
        flow->loop_of[search->open[m]] = flow->loop_count;
    }
    return add_loop(flow, loop);
}

static void enter(struct search *search, size_t at)
{
    search->number[at] = search->low[at] = ++search->next_number;
    search->edge[at] = search->flow->code->to.first[at];
    search->path[search->path_count++] = (uint32_t)at;
    search->open[search->open_count++] = (uint32_t)at;
    search->is_open[at] = 1;
}

/* Follows edges from the instruction in hand; true when a new one was entered. */
static bool descend(struct search *search, size_t at)
{
    struct gn_flow *flow = search->flow;
    while (search->edge[at] < flow->code->to.first[at + 1]) {
        size_t edge = search->edge[at]++;
        size_t target = flow->code->to.ends[edge];
        if (!counts(flow, at, edge))
            continue;
        if (search->number[target] == 0) {
            enter(search, target);
            return true;
        }
        if (search->is_open[target] && search->number[target] < search->low[at])
            search->low[at] = search->number[target];
    }
    return false;
}

static bool search_once(struct search *search)
{
    memset(search->number, 0, search->flow->code->count * sizeof *search->number);
    search->next_number = search->path_count = search->open_count = 0;
    enter(search, search->flow->start);
    while (search->path_count > 0) {
        size_t at = search->path[search->path_count - 1];
        if (descend(search, at))
            continue;
        search->path_count--;
        if (search->path_count > 0) {
            size_t parent = search->path[search->path_count - 1];
            if (search->low[at] < search->low[parent])
                search->low[parent] = search->low[at];
        }
        if (search->low[at] == search->number[at] && !finish_component(search, at))
            return false;
    }
    return true;
}

int gn_flow_find_loops(struct gn_flow *flow)
{
    struct search search;
    bool ok = search_init(&search, flow);
    for (size_t i = 0; i < flow->code->count; i++)
        flow->loop_of[i] = GN_CODE_NONE;
    size_t before = SIZE_MAX;
    for (search.depth = 1; ok && search.depth <= LOOP_DEPTH_MAX && before != flow->loop_count;
         search.depth++) {
        before = flow->loop_count;
        ok = !flow->inside[flow->start] || search_once(&search);
    }
    search_clear(&search);
    return ok ? 0 : -ENOMEM;
}

#include "analyse/global_state_inside.h"

#include <stdlib.h>
#include <string.h>

#define NONE GN_PLAN_NONE

struct link {
    uint32_t location, fact;
};

/* All arrays have room for the largest plan that there may be. */
struct builder {
    struct gn_plan *plan;
    const struct gn_global *global;
    const struct gn_lanes *lanes;
    struct link *links;
    uint64_t *stack;        /* of nodes that are to be put together: lane << 32 | node */
    uint64_t *members;      /* locations of one who: lane << 32 | location */
    uint32_t *part_of_lane; /* [lanes] of the COUNT part_node */
    uint32_t *part_node;
    size_t link_count, stacked;
};

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* ---- nodes ---- */

static uint32_t add_node(struct builder *b, enum gn_plan_kind kind, uint32_t lane)
{
    b->plan->nodes[b->plan->node_count] = (struct gn_plan_node){.kind = (uint8_t)kind,
                                                                .lane = lane,
                                                                .child = NONE,
                                                                .next = NONE,
                                                                .fact = NONE,
                                                                .part = NONE,
                                                                .term = NONE};
    return (uint32_t)b->plan->node_count++;
}

static void adopt(struct builder *b, uint32_t parent, uint32_t child)
{
    b->plan->nodes[child].next = b->plan->nodes[parent].child;
    b->plan->nodes[parent].child = child;
}

static uint32_t negated(struct builder *b, uint32_t node)
{
    const uint32_t not = add_node(b, GN_PLAN_NOT, b->plan->nodes[node].lane);
    adopt(b, not, node);
    return not ;
}

/* ---- who ---- */

/* Its locations that are asked, by lane, in b->members. How many. */
static size_t find_members(struct builder *b, uint32_t who)
{
    const struct gn_global_who *w = &b->global->whos[who];
    size_t found = 0;
    for (uint32_t i = w->first; i < w->first + w->count; i++) {
        const uint32_t location = b->global->locations[i];
        if (b->lanes->lane_of[location] != UINT32_MAX)
            b->members[found++] = (uint64_t)b->lanes->lane_of[location] << 32 | location;
    }
    if (found)
        qsort(b->members, found, sizeof *b->members, by_value);
    return found;
}

static uint32_t lane_at(const struct builder *b, size_t member)
{
    return (uint32_t)(b->members[member] >> 32);
}

static bool are_of_one_lane(const struct builder *b, size_t count)
{
    return lane_at(b, 0) == lane_at(b, count - 1);
}

/* Members begin … end − 1, of one lane. */
static uint32_t add_fact(struct builder *b, struct gn_being_in in, size_t begin, size_t end)
{
    const uint32_t fact = (uint32_t)b->plan->fact_count++;
    b->plan->facts[fact] = (struct gn_plan_fact){in, NONE};
    for (size_t i = begin; i < end; i++)
        b->links[b->link_count++] = (struct link){(uint32_t)b->members[i], fact};
    return fact;
}

static uint32_t add_fact_node(struct builder *b, struct gn_being_in in, size_t begin, size_t end)
{
    const uint32_t node = add_node(b, GN_PLAN_FACT, lane_at(b, begin));
    b->plan->nodes[node].fact = add_fact(b, in, begin, end);
    return node;
}

/* One of them, of any lane, has the bit. */
static uint32_t build_any(struct builder *b, uint64_t bit, size_t count)
{
    const uint32_t any = add_node(b, GN_PLAN_OR, NONE);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && lane_at(b, end) == lane_at(b, begin);)
            end++;
        adopt(b, any, add_fact_node(b, (struct gn_being_in){bit, 0}, begin, end));
    }
    return any;
}

/* Whether the members are in it, as one. Nobody is in nothing. */
static uint32_t build_being(struct builder *b, struct gn_being_in in, size_t count)
{
    if (count && are_of_one_lane(b, count))
        return add_fact_node(b, in, 0, count);
    const uint32_t one = build_any(b, in.one, count);
    if (!in.none)
        return one;
    const uint32_t both = add_node(b, GN_PLAN_AND, NONE);
    adopt(b, both, one);
    adopt(b, both, negated(b, build_any(b, in.none, count)));
    return both;
}

/* ---- numbers ---- */

static uint32_t part_in(struct builder *b, uint32_t node, uint32_t lane)
{
    if (b->part_node[lane] != node) {
        b->part_node[lane] = node;
        b->part_of_lane[lane] = (uint32_t)b->plan->part_count++;
        b->plan->parts[b->part_of_lane[lane]] = (struct gn_plan_part){lane, node, 0};
    }
    return b->part_of_lane[lane];
}

static void add_summand(struct builder *b, const struct gn_global_node *from, uint32_t node, size_t count)
{
    struct gn_plan *p = b->plan;
    const uint32_t index = (uint32_t)p->summand_count++;
    const uint32_t part = part_in(b, node, lane_at(b, 0)), fact = add_fact(b, from->in, 0, count);
    const uint32_t rest = from->counts_out && from->rest.one ? add_fact(b, from->rest, 0, count) : NONE;
    p->summands[index] = (struct gn_plan_summand){part, fact, rest, from->counts_out};
    p->facts[fact].summand = index;
    if (rest != NONE)
        p->facts[rest].summand = index;
    p->parts[part].summands++;
}

/* A who of several lanes: one more, and what its being counted needs. needs: an AND. */
static void add_crossing(struct builder *b, const struct gn_global_node *from, uint32_t node, uint32_t needs,
                         size_t count)
{
    const uint32_t in = build_being(b, from->in, count);
    adopt(b, node, from->counts_out ? negated(b, in) : in);
    if (!from->counts_out || !from->rest.one)
        return;
    const uint32_t either = add_node(b, GN_PLAN_OR, NONE);
    adopt(b, either, build_being(b, from->in, count));
    adopt(b, either, build_being(b, from->rest, count));
    adopt(b, needs, either);
}

static uint32_t build_count(struct builder *b, const struct gn_global_node *from)
{
    struct gn_plan *p = b->plan;
    const uint32_t sum = add_node(b, GN_PLAN_SUM, NONE), all = add_node(b, GN_PLAN_AND, NONE);
    const size_t first_part = p->part_count;
    p->nodes[sum].least = from->least;
    p->nodes[sum].most = from->most;
    for (uint32_t who = from->first_who; who < from->first_who + from->who_count; who++) {
        const size_t count = find_members(b, who);
        if (count && are_of_one_lane(b, count))
            add_summand(b, from, sum, count);
        else if (count)
            add_crossing(b, from, sum, all, count);
    }
    if (p->part_count == first_part + 1 && p->nodes[sum].child == NONE) {
        p->nodes[sum].lane = p->parts[first_part].lane;
        p->nodes[sum].part = (uint32_t)first_part;
    }
    if (p->nodes[all].child == NONE)
        return sum;
    adopt(b, all, sum);
    return all;
}

/* ---- and, or ---- */

static uint32_t build(struct builder *b, uint32_t index);

/* What the node puts together, also of those within that do the same, on the stack. */
static void stack_children(struct builder *b, uint32_t index)
{
    const struct gn_global_node *from = &b->global->nodes[index];
    for (uint32_t c = from->child; c != GN_GLOBAL_NO_NODE; c = b->global->nodes[c].next)
        if (b->global->nodes[c].kind == from->kind)
            stack_children(b, c);
        else {
            const uint32_t node = build(b, c);
            b->stack[b->stacked++] = (uint64_t)b->plan->nodes[node].lane << 32 | node;
        }
}

/* Nodes of one lane become one, whose lane knows all of them together. */
static uint32_t put_together(struct builder *b, enum gn_plan_kind kind, const uint64_t *nodes, size_t count)
{
    const uint32_t lane = (uint32_t)(nodes[0] >> 32);
    if (count == 1)
        return (uint32_t)nodes[0];
    if (lane == (uint32_t)(nodes[count - 1] >> 32)) {
        const uint32_t all = add_node(b, kind, lane);
        for (size_t i = 0; i < count; i++)
            adopt(b, all, (uint32_t)nodes[i]);
        return all;
    }
    const uint32_t all = add_node(b, kind, NONE);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && nodes[end] >> 32 == nodes[begin] >> 32;)
            end++;
        if (nodes[begin] >> 32 != NONE)
            adopt(b, all, put_together(b, kind, nodes + begin, end - begin));
        else
            for (size_t i = begin; i < end; i++)
                adopt(b, all, (uint32_t)nodes[i]);
    }
    return all;
}

static uint32_t build_together(struct builder *b, uint32_t index)
{
    const size_t base = b->stacked;
    const enum gn_plan_kind kind = b->global->nodes[index].kind == GN_GLOBAL_AND ? GN_PLAN_AND : GN_PLAN_OR;
    stack_children(b, index);
    const size_t count = b->stacked - base;
    if (!count)
        return add_node(b, kind, NONE);
    qsort(b->stack + base, count, sizeof *b->stack, by_value);
    const uint32_t all = put_together(b, kind, b->stack + base, count);
    b->stacked = base;
    return all;
}

static uint32_t build(struct builder *b, uint32_t index)
{
    const struct gn_global_node *from = &b->global->nodes[index];
    switch ((enum gn_global_kind)from->kind) {
    case GN_GLOBAL_IN:
        return build_being(b, from->in, find_members(b, from->first_who));
    case GN_GLOBAL_COUNT:
        return build_count(b, from);
    case GN_GLOBAL_NOT:
        return negated(b, build(b, from->child));
    default:
        return build_together(b, index);
    }
}

/* ---- terms ---- */

static void add_term(struct gn_plan *p, uint32_t lane, uint32_t node, uint32_t part, uint32_t numbers)
{
    p->terms[p->term_count++] = (struct gn_plan_term){lane, node, part, numbers};
}

/* Of what is of several lanes: the outermost nodes that are of one. */
static void find_terms(struct gn_plan *p, uint32_t index, bool *is_sum)
{
    const struct gn_plan_node *node = &p->nodes[index];
    if (node->lane != NONE) {
        add_term(p, node->lane, index, NONE, 2);
        return;
    }
    is_sum[index] = node->kind == GN_PLAN_SUM;
    for (uint32_t c = node->child; c != NONE; c = p->nodes[c].next)
        find_terms(p, c, is_sum);
}

static int by_lane(const void *left, const void *right)
{
    const struct gn_plan_term *a = left, *b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return (a->part > b->part) - (a->part < b->part);
}

/* Numbers of a lane ascend one by one through its stages, unless some of them are of no use. */
static bool counts_smoothly(const struct gn_plan *p, const bool *is_sum)
{
    for (size_t s = 0; s < p->summand_count; s++)
        if (is_sum[p->parts[p->summands[s].part].node] && p->summands[s].rest != NONE)
            return false;
    return true;
}

static bool order_terms(struct gn_plan *p, size_t lanes)
{
    bool *is_sum = calloc(p->node_count + 1, sizeof *is_sum);
    if (!is_sum)
        return false;
    find_terms(p, p->root, is_sum);
    for (uint32_t part = 0; part < p->part_count; part++)
        if (is_sum[p->parts[part].node])
            add_term(p, p->parts[part].lane, p->parts[part].node, part, p->parts[part].summands + 1);
    if (p->term_count)
        qsort(p->terms, p->term_count, sizeof *p->terms, by_lane);
    p->is_narrowest = counts_smoothly(p, is_sum);
    free(is_sum);
    for (size_t t = 0; t < p->term_count; t++) {
        p->first_term[p->terms[t].lane + 1]++;
        if (p->terms[t].part == NONE)
            p->nodes[p->terms[t].node].term = (uint32_t)t;
        p->is_narrowest = p->is_narrowest && (t == 0 || p->terms[t].lane != p->terms[t - 1].lane);
    }
    for (size_t l = 0; l < lanes; l++)
        p->first_term[l + 1] += p->first_term[l];
    return true;
}

/* ---- all of it ---- */

/* The facts of each location. */
static void order_links(struct builder *b, size_t count)
{
    struct gn_plan *p = b->plan;
    for (size_t i = 0; i < b->link_count; i++)
        p->first_fact[b->links[i].location + 1]++;
    for (size_t l = 0; l < count; l++)
        p->first_fact[l + 1] += p->first_fact[l];
    for (size_t i = b->link_count; i-- > 0;)
        p->facts_of[p->first_fact[b->links[i].location]++] = b->links[i].fact;
    memmove(p->first_fact + 1, p->first_fact,
            count * sizeof *p->first_fact); /* they were moved to their ends */
    p->first_fact[0] = 0;
}

/* Each who of a node: its locations once for what it is in, once for `none`, and the same for the rest. */
static size_t most_facts(const struct gn_global *g, size_t *whos)
{
    size_t facts = 0;
    *whos = 0;
    for (size_t n = 0; n < g->node_count; n++) {
        const struct gn_global_node *node = &g->nodes[n];
        for (uint32_t w = node->first_who; w < node->first_who + node->who_count; w++)
            facts += g->whos[w].count;
        *whos += node->who_count;
    }
    return 6 * facts;
}

static bool allocate(struct builder *b, size_t count)
{
    struct gn_plan *p = b->plan;
    size_t whos;
    const size_t facts = most_facts(b->global, &whos), nodes = facts + 16 * (whos + b->global->node_count);
    const size_t lanes = b->lanes->count;
    p->nodes = calloc(nodes, sizeof *p->nodes);
    p->facts = calloc(facts + 1, sizeof *p->facts);
    p->summands = calloc(whos + 1, sizeof *p->summands);
    p->parts = calloc(whos + 1, sizeof *p->parts);
    p->terms = calloc(nodes + whos, sizeof *p->terms);
    p->facts_of = calloc(facts + 1, sizeof *p->facts_of);
    p->first_fact = calloc(count + 2, sizeof *p->first_fact);
    p->first_term = calloc(lanes + 2, sizeof *p->first_term);
    b->links = calloc(facts + 1, sizeof *b->links);
    b->stack = calloc(nodes, sizeof *b->stack);
    b->members = calloc(count + 1, sizeof *b->members);
    b->part_of_lane = calloc(lanes + 1, sizeof *b->part_of_lane);
    b->part_node = calloc(lanes + 1, sizeof *b->part_node);
    return p->nodes && p->facts && p->summands && p->parts && p->terms && p->facts_of && p->first_fact &&
           p->first_term && b->links && b->stack && b->members && b->part_of_lane && b->part_node;
}

bool gn_plan_make(struct gn_plan *plan, const struct gn_global *global, const struct gn_lanes *lanes,
                  size_t count)
{
    struct builder b = {.plan = plan, .global = global, .lanes = lanes};
    *plan = (struct gn_plan){0};
    bool done = allocate(&b, count);
    if (done) {
        memset(b.part_node, 0xff, (lanes->count + 1) * sizeof *b.part_node); /* NONE */
        plan->root = build(&b, (uint32_t)global->node_count - 1);
        order_links(&b, count);
        done = order_terms(plan, lanes->count);
    }
    free(b.links);
    free(b.stack);
    free(b.members);
    free(b.part_of_lane);
    free(b.part_node);
    if (!done)
        gn_plan_clear(plan);
    return done;
}

void gn_plan_clear(struct gn_plan *plan)
{
    free(plan->nodes);
    free(plan->facts);
    free(plan->summands);
    free(plan->parts);
    free(plan->terms);
    free(plan->facts_of);
    free(plan->first_fact);
    free(plan->first_term);
    *plan = (struct gn_plan){0};
}

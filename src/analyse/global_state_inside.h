/*
 * analyse/global_state_inside — a formula as the sweep goes through it: what depends on one lane alone, and
 * what puts lanes together. Not for anybody else.
 *
 *   global_plan      formula → plan
 *   global_state     plan → times
 *
 *   fact      whether one who is in it, of one lane: what changes of states change
 *   part      how many of a COUNT's facts of one lane hold
 *   term      what is kept of all stages that a lane may be in: a part's number, or whether a node holds
 */
#ifndef GNOMON_ANALYSE_GLOBAL_STATE_INSIDE_H
#define GNOMON_ANALYSE_GLOBAL_STATE_INSIDE_H

#include "analyse/global_state.h"
#include "analyse/lanes.h"

/* No node, fact, part, lane; as a node's lane: it is of several. */
#define GN_PLAN_NONE UINT32_MAX

enum gn_plan_kind { GN_PLAN_FACT, GN_PLAN_SUM, GN_PLAN_NOT, GN_PLAN_AND, GN_PLAN_OR };

struct gn_plan_node {
    uint8_t kind;
    uint32_t lane;
    uint32_t child, next; /* of a SUM over lanes: each that holds is one more */
    uint32_t fact;        /* FACT */
    uint32_t part;        /* SUM of one lane */
    uint32_t least, most; /* SUM */
    uint32_t term;        /* of one lane, in a node that is of several */
};
struct gn_plan_fact {
    struct gn_being_in in;
    uint32_t summand; /* that it changes */
};
/* One who of a COUNT. */
struct gn_plan_summand {
    uint32_t part, fact;
    uint32_t rest; /* fact that has to hold where `fact` does not */
    bool counts_out;
};
struct gn_plan_part {
    uint32_t lane, node, summands;
};
struct gn_plan_term {
    uint32_t lane, node;
    uint32_t part;    /* NONE: whether the node holds */
    uint32_t numbers; /* it is less than this */
};
struct gn_plan {
    struct gn_plan_node *nodes;
    struct gn_plan_fact *facts;
    struct gn_plan_summand *summands;
    struct gn_plan_part *parts;
    struct gn_plan_term *terms; /* by lane */
    uint32_t *facts_of;         /* by location, from first_fact[location] on */
    size_t *first_fact;         /* [locations + 1] */
    size_t *first_term;         /* [lanes + 1] */
    size_t node_count, fact_count, summand_count, part_count, term_count;
    uint32_t root;
    bool is_narrowest; /* as far as the plan goes */
};

/* count: of locations. False: no memory, and there is nothing to clear. */
bool gn_plan_make(struct gn_plan *plan, const struct gn_global *global, const struct gn_lanes *lanes,
                  size_t count);
void gn_plan_clear(struct gn_plan *plan);

#endif

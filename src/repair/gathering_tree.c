#include "repair/gatherings_inside.h"

#include <stdlib.h>

static uint32_t position_of(const struct gn_tree *tree, uint32_t rank)
{
    const uint32_t index = gn_party_index(tree->party, rank);
    if (rank == tree->root_rank)
        return 0;
    if (index == GN_NONE)
        return GN_NONE;
    return tree->root_index == GN_NONE ? index + 1
                                       : (index + tree->party->count - tree->root_index) % tree->party->count;
}

static uint32_t rank_at(const struct gn_tree *tree, uint32_t position)
{
    if (position == 0)
        return tree->root_rank;
    return tree->root_index == GN_NONE
               ? tree->party->ranks[position - 1]
               : tree->party->ranks[(position + tree->root_index) % tree->party->count];
}

/* The side that gives (ALL_TO_ONE) or gets (ONE_TO_ALL): the other one than the root's. */
uint32_t gn_gathering_far_side(const struct gn_replay_group *group, const struct gn_gathering *g)
{
    return group->is_intercomm ? !g->root_side : 0;
}

struct gn_tree gn_tree_of(const struct gn_replay *replay, const struct gn_gathering *g)
{
    const struct gn_replay_group *group = &replay->groups[g->group];
    const bool rooted = g->shape == GN_SHAPE_ONE_TO_ALL || g->shape == GN_SHAPE_ALL_TO_ONE;
    struct gn_tree tree = {
        .party = &group->party[rooted && group->is_intercomm ? gn_gathering_far_side(group, g) : 2]};
    if (group->comm == GN_NONE)
        tree.root_rank = replay->transport->rank; /* a team is in one process */
    else /* who does the work of an instance without a root changes from one to the next */
        tree.root_rank = rooted ? replay->owner[g->root] : tree.party->ranks[g->number % tree.party->count];
    tree.root_index = gn_party_index(tree.party, tree.root_rank);
    tree.size = tree.party->count + (tree.root_index == GN_NONE);
    tree.position = position_of(&tree, replay->transport->rank);
    return tree;
}

/* Children are at position + 1, + 2, + 4 … below this. */
static uint32_t reach_of(const struct gn_tree *tree, uint32_t position)
{
    const uint32_t below = tree->size - position;
    const uint32_t own = position ? position & -position : below;
    return own < below ? own : below;
}

/* step: of a part that goes up, which of the parent's children sends it. */
void gn_gathering_post(struct gn_replay *replay, const struct gn_gathering *g, uint32_t to,
                       enum gn_mail_kind kind, uint32_t step, const struct gn_latest sides[2])
{
    const struct gn_replay_group *group = &replay->groups[g->group];
    const struct gn_mail mail = {.kind = (uint8_t)kind,
                                 .shape = g->shape,
                                 .root_side = g->root_side,
                                 .flags = group->what.is_window,
                                 .link = group->what.comm,
                                 .number = g->number,
                                 .a = g->root,
                                 .b = step};
    gn_mail_post(replay, to, &mail, &(struct gn_mail_sides){{sides[0], sides[1]}});
}

void gn_tree_post_up(struct gn_replay *replay, const struct gn_gathering *g, const struct gn_tree *tree,
                     enum gn_mail_kind kind, const struct gn_latest sides[2])
{
    if (tree->position ==
        GN_NONE) /* beside the tree: it was told of the instance when all were told the limits */
        return;
    const uint32_t step = tree->position & -tree->position;
    gn_gathering_post(replay, g, rank_at(tree, tree->position - step), kind, step, sides);
}

void gn_tree_post_down(struct gn_replay *replay, const struct gn_gathering *g, enum gn_mail_kind kind,
                       const struct gn_latest sides[2])
{
    const struct gn_tree tree = gn_tree_of(replay, g);
    const uint32_t reach = reach_of(&tree, tree.position);
    for (uint32_t step = 1; step < reach; step *= 2)
        gn_gathering_post(replay, g, rank_at(&tree, tree.position + step), kind, 0, sides);
}

/* Whether each child has sent its part. One whose members have all left may not know that there is anything
 * to send a part of: once somebody is known to have left, those who are missing are asked. */
bool gn_tree_children_done(struct gn_replay *replay, struct gn_gathering *g, const struct gn_tree *tree,
                           uint32_t parts)
{
    const uint32_t reach = reach_of(tree, tree->position);
    bool done = true;
    for (uint32_t step = 1; step < reach; step *= 2) {
        if (parts & step)
            continue;
        done = false;
        if (replay->somebody_left && !g->asked)
            gn_gathering_post(replay, g, rank_at(tree, tree->position + step), GN_MAIL_ASK, 0, g->begins);
    }
    g->asked |= !done && replay->somebody_left;
    return done;
}

/*
 * repair/gatherings_inside — what the files of the gatherings share. Not for anybody else.
 *
 *   gathering_groups.c      who takes part: communicators, windows and teams, and the ranks that they are of
 *   gathering_tree.c        the tree of ranks that an instance goes along
 *   gathering_instances.c   instances by their numbers, from the first mention until nobody asks any more
 *   gatherings.c            what begins and ends of an instance do to each other
 */
#ifndef GNOMON_REPAIR_GATHERINGS_INSIDE_H
#define GNOMON_REPAIR_GATHERINGS_INSIDE_H

#include "repair/replay_inside.h"

/* ---- gathering_groups.c ---- */

/* Frees the groups; their rings are the instances'. */
void gn_groups_shut(struct gn_replay *replay);

/* The index of a group that another rank names; GN_NONE: no memory, or nothing that is defined. */
uint32_t gn_group_named(struct gn_replay *replay, const struct gn_op_group *what);

/* NULL: a team. */
const struct gn_comm_def *gn_group_comm(const struct gn_replay *replay, const struct gn_replay_group *group);

/* Whether the member of a communicator is a process, and no other one: a broken trace may name none, or one
 * twice. */
bool gn_group_has(const struct gn_replay *replay, uint32_t comm, size_t member);

/* Where a rank is in the party; GN_NONE: it is not. */
uint32_t gn_party_index(const struct gn_party *party, uint32_t rank);

/* ---- gathering_tree.c ---- */

struct gn_tree {
    const struct gn_party *party;
    uint32_t root_rank, root_index; /* root_index: GN_NONE: the root is beside the party */
    uint32_t size, position;        /* position: ours; 0 is the root's */
};

struct gn_tree gn_tree_of(const struct gn_replay *replay, const struct gn_gathering *g);

/* Mail about an instance. step: of a part that goes up, which of the parent's children sends it. */
void gn_gathering_post(struct gn_replay *replay, const struct gn_gathering *g, uint32_t to,
                       enum gn_mail_kind kind, uint32_t step, const struct gn_latest sides[2]);
void gn_tree_post_up(struct gn_replay *replay, const struct gn_gathering *g, const struct gn_tree *tree,
                     enum gn_mail_kind kind, const struct gn_latest sides[2]);
void gn_tree_post_down(struct gn_replay *replay, const struct gn_gathering *g, enum gn_mail_kind kind,
                       const struct gn_latest sides[2]);

/* Whether each child has sent its part; those who are missing may be asked. parts: who has, as bits. */
bool gn_tree_children_done(struct gn_replay *replay, struct gn_gathering *g, const struct gn_tree *tree,
                           uint32_t parts);

/* The side that gives (ALL_TO_ONE) or gets (ONE_TO_ALL): the other one than the root's. */
uint32_t gn_gathering_far_side(const struct gn_replay_group *group, const struct gn_gathering *g);

/* ---- gathering_instances.c ---- */

struct gn_which {
    uint32_t group, number, root;
    uint8_t shape, root_side;
    bool is_late; /* although an instance of this number is over here, there may be another one elsewhere */
};

/* The instance, made when it is not there yet. NULL: it is over, or there is no memory (then failed is set).
 */
struct gn_gathering *gn_gathering_of(struct gn_replay *replay, const struct gn_which *which);

/* The first instance of that number that is open, the others by `variant`; NULL: none. */
struct gn_gathering *gn_gatherings_numbered(const struct gn_replay_group *group, uint32_t number);

/* An instance that nothing will be asked about any more is over: g is gone then. */
void gn_gathering_maybe_over(struct gn_replay *replay, struct gn_gathering *g);

/* Whether a process is somebody whose begin and end belong to the instance. */
bool gn_gathering_takes_part(const struct gn_replay *replay, const struct gn_gathering *g, uint32_t process);

/* How many of our processes take part; of a team: threads that begin, of a fork those that end. */
uint32_t gn_gathering_ours(const struct gn_replay *replay, const struct gn_gathering *g, bool of_those_left);

#endif

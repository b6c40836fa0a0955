#include "repair/replay_inside.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>

/* In the ring: an instance that is over. */
static struct gn_gathering over;

/* ---- groups ---- */

static struct gn_key group_key(const struct gn_op_group *what)
{
    return (struct gn_key){what->comm, (uint64_t)what->is_team << 1 | what->is_window};
}

static bool add_rank(struct gn_party *party, uint32_t rank, const bool *there)
{
    if (there[rank])
        return true;
    size_t capacity = party->count; /* a power of two or 0 when it is full */
    if ((party->count & (party->count - 1)) == 0) {
        capacity = party->count ? 2 * (size_t)party->count : 1;
        uint32_t *ranks = realloc(party->ranks, capacity * sizeof *ranks);
        if (!ranks)
            return false;
        party->ranks = ranks;
    }
    party->ranks[party->count++] = rank;
    return true;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Whether the member is a process, and no other one: a broken trace may name none, or one twice. */
static bool is_somebody(const struct gn_replay *replay, uint32_t comm, size_t member)
{
    const struct gn_definitions *d = replay->definitions;
    const uint32_t process = d->comms[comm].members[member];
    bool second = false;
    return process < d->process_count &&
           gn_comm_rank_of(d, comm, process, &second) + (second ? d->comms[comm].member_count : 0) == member;
}

/* The ranks that the members first … end − 1 belong to; *local: how many are ours, *left: and have left
 * before anybody has named the group here. */
static bool meet(struct gn_replay *replay, struct gn_party *party, uint32_t comm, size_t first, size_t end,
                 uint32_t *local, uint32_t *left)
{
    bool *there = calloc(replay->transport->size, sizeof *there);
    bool fits = there != NULL;
    for (size_t i = first; fits && i < end; i++) {
        if (!is_somebody(replay, comm, i))
            continue;
        const uint32_t process = replay->definitions->comms[comm].members[i];
        const uint32_t rank = replay->owner[process];
        fits = add_rank(party, rank, there);
        there[rank] = true;
        *local += rank == replay->transport->rank;
        *left += rank == replay->transport->rank && replay->left[process];
    }
    free(there);
    if (fits && party->count > 1)
        qsort(party->ranks, party->count, sizeof *party->ranks, by_number);
    return fits;
}

static const struct gn_comm_def *comm_of(const struct gn_replay *replay, const struct gn_replay_group *group)
{
    return group->comm == GN_NONE ? NULL : &replay->definitions->comms[group->comm];
}

/* The group's index; GN_NONE: no memory, or nothing that is defined. */
static uint32_t add_group(struct gn_replay *replay, const struct gn_op_group *what)
{
    const struct gn_definitions *d = replay->definitions;
    if (!gn_grow(&replay->groups, &replay->group_capacity, replay->group_count, sizeof *replay->groups))
        return GN_NONE;
    struct gn_replay_group *group = &replay->groups[replay->group_count];
    *group = (struct gn_replay_group){.what = *what, .comm = GN_NONE};
    if (!what->is_team)
        group->comm = !what->is_window               ? what->comm
                      : what->comm < d->window_count ? d->windows[what->comm].comm
                                                     : GN_NONE;
    if (!what->is_team && group->comm >= d->comm_count)
        return GN_NONE;
    const struct gn_comm_def *comm = comm_of(replay, group);
    replay->group_count++; /* what there is of it is freed with the others */
    if (comm) {
        const size_t first = comm->member_count, all = first + comm->other_count;
        uint32_t local = 0, left = 0; /* of both: nobody asks */
        group->is_intercomm = comm->other_count > 0;
        if (!meet(replay, &group->party[0], group->comm, 0, first, &group->local[0], &group->left[0]) ||
            !meet(replay, &group->party[1], group->comm, first, all, &group->local[1], &group->left[1]) ||
            !meet(replay, &group->party[2], group->comm, 0, all, &local, &left))
            return GN_NONE;
    }
    const uint32_t index = (uint32_t)(replay->group_count - 1);
    if (what->is_team) /* nobody asks for it by name: its threads are all here */
        return index;
    return gn_map_add(&replay->group_links, group_key(what), (void *)(uintptr_t)(index + 1)) ? index
                                                                                             : GN_NONE;
}

int gn_gatherings_open(struct gn_replay *replay)
{
    for (size_t i = 0; i < replay->store->group_count; i++)
        if (add_group(replay, &replay->store->groups[i]) == GN_NONE)
            return -ENOMEM;
    return 0;
}

static void free_chain(struct gn_gathering *chain)
{
    for (struct gn_gathering *next; chain; chain = next) {
        next = chain->next_free;
        free(chain->begun);
        free(chain->prefix);
        free(chain->awaiting);
        free(chain);
    }
}

void gn_gatherings_shut(struct gn_replay *replay)
{
    gn_gatherings_reset(replay);
    free_chain(replay->free_gatherings);
    for (size_t i = 0; i < replay->group_count; i++) {
        for (int side = 0; side < 3; side++)
            free(replay->groups[i].party[side].ranks);
        free(replay->groups[i].ring);
    }
    free(replay->groups);
    gn_map_clear(&replay->group_links);
}

static void recycle(struct gn_replay *replay, struct gn_gathering *gathering)
{
    gathering->next_free = replay->free_gatherings;
    replay->free_gatherings = gathering;
    replay->gatherings_open--;
}

void gn_gatherings_reset(struct gn_replay *replay)
{
    replay->flushed = false;
    for (size_t i = 0; i < replay->group_count; i++) {
        struct gn_replay_group *group = &replay->groups[i];
        for (uint32_t n = 0; n < group->capacity; n++) {
            struct gn_gathering *next = group->ring[n] == &over ? NULL : group->ring[n];
            for (struct gn_gathering *g; (g = next); recycle(replay, g))
                next = g->variant;
            group->ring[n] = NULL;
        }
        group->first = group->end = group->passed = 0;
        group->left[0] = group->left[1] = 0;
    }
}

/* ---- the tree of ranks that an instance goes along ---- */

struct tree {
    const struct gn_party *party;
    uint32_t root_rank, root_index; /* root_index: GN_NONE: the root is beside the party */
    uint32_t size, position;        /* position: ours; 0 is the root's */
};

static uint32_t index_in(const struct gn_party *party, uint32_t rank)
{
    const uint32_t *at =
        party->count ? bsearch(&rank, party->ranks, party->count, sizeof *party->ranks, by_number) : NULL;
    return at ? (uint32_t)(at - party->ranks) : GN_NONE;
}

static uint32_t position_of(const struct tree *tree, uint32_t rank)
{
    const uint32_t index = index_in(tree->party, rank);
    if (rank == tree->root_rank)
        return 0;
    if (index == GN_NONE)
        return GN_NONE;
    return tree->root_index == GN_NONE ? index + 1
                                       : (index + tree->party->count - tree->root_index) % tree->party->count;
}

static uint32_t rank_at(const struct tree *tree, uint32_t position)
{
    if (position == 0)
        return tree->root_rank;
    return tree->root_index == GN_NONE
               ? tree->party->ranks[position - 1]
               : tree->party->ranks[(position + tree->root_index) % tree->party->count];
}

/* The side that gives (ALL_TO_ONE) or gets (ONE_TO_ALL): the other one than the root's. */
static uint32_t far_side(const struct gn_replay_group *group, const struct gn_gathering *g)
{
    return group->is_intercomm ? !g->root_side : 0;
}

static struct tree tree_of(const struct gn_replay *replay, const struct gn_gathering *g)
{
    const struct gn_replay_group *group = &replay->groups[g->group];
    const bool rooted = g->shape == GN_SHAPE_ONE_TO_ALL || g->shape == GN_SHAPE_ALL_TO_ONE;
    struct tree tree = {.party = &group->party[rooted && group->is_intercomm ? far_side(group, g) : 2]};
    if (group->comm == GN_NONE)
        tree.root_rank = replay->transport->rank; /* a team is in one process */
    else /* who does the work of an instance without a root changes from one to the next */
        tree.root_rank = rooted ? replay->owner[g->root] : tree.party->ranks[g->number % tree.party->count];
    tree.root_index = index_in(tree.party, tree.root_rank);
    tree.size = tree.party->count + (tree.root_index == GN_NONE);
    tree.position = position_of(&tree, replay->transport->rank);
    return tree;
}

/* Children are at position + 1, + 2, + 4 … below this. */
static uint32_t reach_of(const struct tree *tree, uint32_t position)
{
    const uint32_t below = tree->size - position;
    const uint32_t own = position ? position & -position : below;
    return own < below ? own : below;
}

/* step: of a part that goes up, which of the parent's children sends it. */
static void post(struct gn_replay *replay, const struct gn_gathering *g, uint32_t to, enum gn_mail_kind kind,
                 uint32_t step, const struct gn_latest sides[2])
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

static void post_up(struct gn_replay *replay, const struct gn_gathering *g, const struct tree *tree,
                    enum gn_mail_kind kind, const struct gn_latest sides[2])
{
    const uint32_t step = tree->position & -tree->position;
    post(replay, g, rank_at(tree, tree->position - step), kind, step, sides);
}

static void post_down(struct gn_replay *replay, const struct gn_gathering *g, enum gn_mail_kind kind,
                      const struct gn_latest sides[2])
{
    const struct tree tree = tree_of(replay, g);
    const uint32_t reach = reach_of(&tree, tree.position);
    for (uint32_t step = 1; step < reach; step *= 2)
        post(replay, g, rank_at(&tree, tree.position + step), kind, 0, sides);
}

/* Whether each child has sent its part. One whose members have all left may not know that there is anything
 * to send a part of: once somebody is known to have left, those who are missing are asked. */
static bool children_done(struct gn_replay *replay, struct gn_gathering *g, const struct tree *tree,
                          uint32_t parts)
{
    const uint32_t reach = reach_of(tree, tree->position);
    bool done = true;
    for (uint32_t step = 1; step < reach; step *= 2) {
        if (parts & step)
            continue;
        done = false;
        if (replay->somebody_left && !g->asked)
            post(replay, g, rank_at(tree, tree->position + step), GN_MAIL_ASK, 0, g->begins);
    }
    g->asked |= !done && replay->somebody_left;
    return done;
}

/* ---- instances ---- */

static struct gn_gathering **slot_of(const struct gn_replay_group *group, uint32_t number)
{
    return number - group->first < group->capacity ? &group->ring[number & (group->capacity - 1)] : NULL;
}

static bool ring_room(struct gn_replay_group *group, uint32_t number)
{
    uint32_t capacity = group->capacity ? group->capacity : 4;
    while (number - group->first >= capacity && capacity < UINT32_MAX / 2)
        capacity *= 2;
    struct gn_gathering **ring = calloc(capacity, sizeof *ring);
    if (!ring || number - group->first >= capacity) {
        free(ring);
        return false;
    }
    for (uint32_t n = group->first; n != group->first + group->capacity; n++)
        ring[n & (capacity - 1)] = group->ring[n & (group->capacity - 1)];
    free(group->ring);
    group->ring = ring;
    group->capacity = capacity;
    return true;
}

/* Whether a process is somebody whose begin and end belong to the instance. */
static bool takes_part(const struct gn_replay *replay, const struct gn_gathering *g, uint32_t process)
{
    const struct gn_replay_group *group = &replay->groups[g->group];
    bool second = false;
    if (group->comm == GN_NONE ||
        gn_comm_rank_of(replay->definitions, group->comm, process, &second) == GN_NONE)
        return false;
    const bool rooted = g->shape == GN_SHAPE_ONE_TO_ALL || g->shape == GN_SHAPE_ALL_TO_ONE;
    return !rooted || !group->is_intercomm || second == far_side(group, g) || process == g->root;
}

/* How many of our processes take part; of a team: threads that begin, of a fork those that end. */
static uint32_t ours_in(const struct gn_replay *replay, const struct gn_gathering *g, bool of_those_left)
{
    const struct gn_replay_group *group = &replay->groups[g->group];
    const uint32_t *count = of_those_left ? group->left : group->local;
    if (group->comm == GN_NONE)
        return of_those_left ? 0 : g->root;
    const bool rooted = g->shape == GN_SHAPE_ONE_TO_ALL || g->shape == GN_SHAPE_ALL_TO_ONE;
    if (!rooted || !group->is_intercomm)
        return count[0] + count[1];
    const bool has_root = replay->owner[g->root] == replay->transport->rank;
    return count[far_side(group, g)] + (has_root && (!of_those_left || replay->left[g->root]));
}

static struct gn_gathering *new_gathering(struct gn_replay *replay)
{
    struct gn_gathering *g = replay->free_gatherings;
    if (!g)
        return calloc(1, sizeof *g);
    replay->free_gatherings = g->next_free;
    *g = (struct gn_gathering){.begun = g->begun,
                               .begun_capacity = g->begun_capacity,
                               .prefix = g->prefix,
                               .prefix_size = g->prefix_size,
                               .awaiting = g->awaiting,
                               .awaiting_capacity = g->awaiting_capacity};
    return g;
}

static bool prefix_room(const struct gn_replay *replay, struct gn_gathering *g)
{
    const struct gn_comm_def *comm = comm_of(replay, &replay->groups[g->group]);
    const uint32_t size = comm ? comm->member_count : 0;
    if (g->prefix_size < size) {
        free(g->prefix);
        g->prefix = calloc(size, sizeof *g->prefix);
    }
    g->prefix_size = g->prefix ? size : 0;
    const struct gn_latest none = GN_LATEST_NONE;
    for (uint32_t i = 0; i < g->prefix_size; i++)
        g->prefix[i] = (struct gn_prefix){.begin = none.first, .end = none.first, .lower = none};
    return size && g->prefix;
}

struct which {
    uint32_t group, number, root;
    uint8_t shape, root_side;
    bool is_late; /* although an instance of this number is over here, there may be another one elsewhere */
};

/* Makes the ring begin earlier again. */
static bool reach_back(struct gn_replay_group *group, uint32_t number)
{
    const uint32_t first = group->first, used = group->end > first ? group->end - first : 0;
    uint32_t capacity = group->capacity;
    while (capacity < group->end - number && capacity < UINT32_MAX / 2)
        capacity *= 2;
    struct gn_gathering **ring = calloc(capacity, sizeof *ring);
    if (!ring)
        return false;
    for (uint32_t n = first; n != first + used; n++)
        ring[n & (capacity - 1)] = *slot_of(group, n);
    free(group->ring);
    group->ring = ring;
    group->capacity = capacity;
    group->first = number;
    return true;
}

/* Where members disagree on what an instance was, those of other ranks may be in one with the same number
 * when all of ours have theirs behind them: its tree goes along here nevertheless. False: it is over, or
 * there is no memory (then failed is set). */
static bool make_slot(struct gn_replay *replay, const struct which *which)
{
    struct gn_replay_group *group = &replay->groups[which->group];
    const uint32_t number = which->number;
    const bool is_behind = number - group->first > UINT32_MAX / 2;
    struct gn_gathering **slot = slot_of(group, number);
    const bool is_over = is_behind || (slot && (*slot == &over || (!*slot && number < group->passed)));
    if (is_over && !which->is_late)
        return false;
    if (slot)
        return true;
    const bool fits = is_behind ? reach_back(group, number) : ring_room(group, number);
    if (!fits)
        replay->failed = -ENOMEM;
    return fits;
}

/* The instance, made when it is not there yet. NULL: it is over, or there is no memory (then failed is set).
 */
static struct gn_gathering *gathering_of(struct gn_replay *replay, const struct which *which)
{
    struct gn_replay_group *group = &replay->groups[which->group];
    if (!make_slot(replay, which))
        return NULL;
    struct gn_gathering **slot = slot_of(group, which->number);
    if (*slot == &over)
        *slot = NULL;
    for (struct gn_gathering *g = *slot; g; g = g->variant)
        if (g->shape == which->shape && g->root == which->root && g->root_side == which->root_side)
            return g;
    struct gn_gathering *g = new_gathering(replay);
    if (!g) {
        replay->failed = -ENOMEM;
        return NULL;
    }
    replay->gatherings_open++;
    g->variant = *slot;
    *slot = g;
    g->group = which->group;
    g->number = which->number;
    g->root = which->root;
    g->shape = which->shape;
    g->root_side = which->root_side;
    g->begins[0] = g->begins[1] = g->ends[0] = g->ends[1] = GN_LATEST_NONE;
    g->waiting = GN_NONE;
    g->gone = ours_in(replay, g, true);
    group->end = which->number >= group->end ? which->number + 1 : group->end;
    if (g->shape == GN_SHAPE_PREFIX && !prefix_room(replay, g))
        replay->failed = -ENOMEM;
    return g;
}

/* An instance that nothing will be asked about any more is over. */
static void maybe_over(struct gn_replay *replay, struct gn_gathering *g)
{
    struct gn_replay_group *group = &replay->groups[g->group];
    const bool passed_on =
        g->known || g->shape == GN_SHAPE_PREFIX || (g->passed_up && g->shape == GN_SHAPE_ALL_TO_ONE);
    const bool is_join = group->comm == GN_NONE && g->shape == GN_SHAPE_ALL_TO_ONE; /* of threads: one end */
    if (g->ended + g->gone < (is_join ? 1 : ours_in(replay, g, false)) || !passed_on ||
        g->waiting != GN_NONE || g->awaiting_count > 0 || (replay->limits && !g->limited) || replay->flushed)
        return;
    struct gn_gathering **at = slot_of(group, g->number);
    struct gn_gathering **slot = at;
    while (*at != g)
        at = &(*at)->variant;
    *at = g->variant;
    recycle(replay, g);
    if (!*slot)
        *slot = &over;
    for (; (at = slot_of(group, group->first), *at == &over) || (!*at && group->first < group->passed);
         group->first++)
        *at = NULL;
    group->passed = group->first > group->passed ? group->first : group->passed;
}

/* ---- times ---- */

static struct gn_latest_delay delay_for(const struct gn_replay *replay, uint32_t domain)
{
    if (!replay->settings->latency)
        return (struct gn_latest_delay){0, 0};
    const int64_t within = gn_replay_delay(replay, domain, domain);
    const int64_t between = replay->settings->latency->between_ticks;
    return (struct gn_latest_delay){within < between ? within : between, between};
}

/* What the end of a member depends on, or NULL: nothing. side: the member's, rank: in the communicator, of a
 * prefix reduction. */
static const struct gn_latest *before_end(const struct gn_replay *replay, const struct gn_gathering *g,
                                          uint8_t side, uint32_t rank)
{
    if (g->shape == GN_SHAPE_PREFIX)
        return rank < g->prefix_size ? &g->prefix[rank].lower : NULL;
    return &g->begins[replay->groups[g->group].is_intercomm ? !side : 0];
}

/* When the end of a member may be at the earliest (INT64_MIN: any time), and because of whom: as
 * gn_gatherings_ready says it. */
static int64_t earliest_end(const struct gn_replay *replay, const struct gn_latest *latest, uint32_t member,
                            uint32_t domain, struct gn_latest_entry which[2])
{
    if (!latest)
        return INT64_MIN;
    which[0] = *gn_latest_but(latest, member);
    which[1] = which[0].domain == domain ? latest->other : GN_LATEST_NONE.first;
    return gn_latest_for(latest, member, domain, delay_for(replay, domain));
}

static void measure_end(struct gn_replay *replay, const struct gn_gathering *g, const struct gn_awaiting *end)
{
    struct gn_latest_entry which[2];
    const int64_t after =
        earliest_end(replay, before_end(replay, g, end->side, end->rank), end->member, end->domain, which);
    gn_replay_measure_end(replay, end->domain, end->vague, end->ticks, after, which);
}

/* ---- begins ---- */

/* Ends that were measured too early, and now are not. */
static void measure_awaiting(struct gn_replay *replay, struct gn_gathering *g)
{
    for (size_t i = 0; i < g->awaiting_count; i++)
        measure_end(replay, g, &g->awaiting[i]);
    g->awaiting_count = 0;
}

static void became_known(struct gn_replay *replay, struct gn_gathering *g)
{
    g->known = true;
    measure_awaiting(replay, g);
    post_down(replay, g, GN_MAIL_KNOWN, g->begins);
    gn_replay_wake(replay, &g->waiting);
}

static void consider_begins(struct gn_replay *replay, struct gn_gathering *g)
{
    if (g->known || g->passed_up || (g->shape != GN_SHAPE_ALL_TO_ALL && g->shape != GN_SHAPE_ALL_TO_ONE) ||
        g->begun_count + g->gone < ours_in(replay, g, false))
        return;
    const struct tree tree = tree_of(replay, g);
    if (!children_done(replay, g, &tree, g->parts))
        return;
    if (tree.position == 0) {
        if (g->shape == GN_SHAPE_ALL_TO_ALL) {
            became_known(replay, g);
        } else {
            g->known = true; /* only the root, which is here, wants to know */
            measure_awaiting(replay, g);
            gn_replay_wake(replay, &g->waiting);
        }
        return;
    }
    g->passed_up = true;
    post_up(replay, g, &tree, GN_MAIL_BEGINS, g->begins);
}

/* How far the ranks from 0 on have begun a prefix reduction, without a gap. */
static void consider_prefix(struct gn_replay *replay, struct gn_gathering *g)
{
    const struct gn_comm_def *comm = comm_of(replay, &replay->groups[g->group]);
    const uint32_t index = replay->groups[g->group].comm, before = g->prefix_known;
    while (g->prefix_known < g->prefix_size &&
           (g->prefix[g->prefix_known].begun || !is_somebody(replay, index, g->prefix_known) ||
            replay->left[comm->members[g->prefix_known]])) {
        const struct gn_prefix *at = &g->prefix[g->prefix_known++];
        if (g->prefix_known < g->prefix_size) {
            g->prefix[g->prefix_known].lower = at->lower;
            gn_latest_add(&g->prefix[g->prefix_known].lower, &at->begin);
        }
    }
    if (g->prefix_known > before)
        gn_replay_wake(replay, &g->waiting);
    if (g->prefix_known ==
        g->prefix_size) /* not before: looking at all of them at each step takes too long */
        measure_awaiting(replay, g);
}

static void prefix_begun(struct gn_replay *replay, struct gn_gathering *g, uint32_t rank,
                         const struct gn_latest_entry *entry, struct gn_op *op)
{
    if (rank >= g->prefix_size)
        return;
    g->prefix[rank].begun = true;
    g->prefix[rank].begin = *entry;
    g->prefix[rank].op = op;
    consider_prefix(replay, g);
}

/* Who an op belongs to, as far as instances are concerned. */
struct member {
    uint32_t id, domain, rank; /* id: process; of a team the location */
    uint8_t side;
};

static struct member member_of(const struct gn_replay *replay, uint32_t location, const struct gn_op *op)
{
    const struct gn_replay_location *at = &replay->locations[location];
    return (struct member){.id = replay->groups[op->link].comm == GN_NONE ? location : at->process,
                           .domain = at->domain,
                           .side = (op->flags & GN_OP_SECOND) != 0};
}

/* The process that a root is; GN_NONE: it is none. */
static uint32_t root_process(const struct gn_replay *replay, const struct gn_replay_group *group,
                             const struct gn_op *op, uint32_t process, uint8_t *side)
{
    const struct gn_comm_def *comm = comm_of(replay, group);
    *side = 0;
    if (!comm)
        return op->root; /* a team: its size */
    if (op->shape != GN_SHAPE_ONE_TO_ALL && op->shape != GN_SHAPE_ALL_TO_ONE)
        return GN_NONE;
    const bool second = op->flags & GN_OP_SECOND;
    if (op->root == GN_ROOT_SELF) {
        *side = second;
        return process;
    }
    if (!group->is_intercomm)
        return op->root < comm->member_count ? comm->members[op->root] : GN_NONE;
    *side = !second;
    const uint32_t first = second ? 0 : comm->member_count;
    const uint32_t count = second ? comm->member_count : comm->other_count;
    return op->root < count ? comm->members[first + op->root] : GN_NONE;
}

/* The instance of an op; NULL as gathering_of, or it takes part in none. */
static struct gn_gathering *gathering_at(struct gn_replay *replay, uint32_t location, const struct gn_op *op)
{
    const struct gn_replay_group *group = &replay->groups[op->link];
    struct which which = {.group = op->link, .number = op->number, .shape = op->shape};
    which.root = root_process(replay, group, op, replay->locations[location].process, &which.root_side);
    const bool rooted = op->shape == GN_SHAPE_ONE_TO_ALL || op->shape == GN_SHAPE_ALL_TO_ONE;
    const bool is_team = group->comm == GN_NONE;
    if (is_team ? which.root == GN_NONE : rooted && which.root >= replay->definitions->process_count)
        return NULL;
    return gathering_of(replay, &which);
}

static void post_prefix(struct gn_replay *replay, const struct gn_gathering *g, enum gn_mail_kind kind,
                        const struct member *member, int64_t time, bool counts)
{
    const struct gn_replay_group *group = &replay->groups[g->group];
    const struct gn_mail mail = {.kind = (uint8_t)kind,
                                 .shape = g->shape,
                                 .flags = (uint8_t)(group->what.is_window | counts << 1),
                                 .link = group->what.comm,
                                 .number = g->number,
                                 .a = member->rank,
                                 .b = member->domain,
                                 .c = member->id,
                                 .time = time};
    for (uint32_t i = 0; i < group->party[2].count; i++)
        if (group->party[2].ranks[i] != replay->transport->rank)
            gn_mail_post(replay, group->party[2].ranks[i], &mail, NULL);
}

static void consider_ends(struct gn_replay *replay, struct gn_gathering *g);
static void set_limits(struct gn_replay *replay, struct gn_gathering *g);

void gn_gatherings_begin(struct gn_replay *replay, uint32_t location, struct gn_op *op, int64_t time)
{
    struct gn_gathering *g = gathering_at(replay, location, op);
    if (!g || replay->failed)
        return;
    struct member member = member_of(replay, location, op);
    const bool gives = op->flags & GN_OP_GIVES;
    const struct gn_latest_entry entry = {gives ? time : INT64_MIN, member.id, member.domain};
    if (!gn_grow(&g->begun, &g->begun_capacity, g->begun_count, sizeof *g->begun)) {
        replay->failed = -ENOMEM;
        return;
    }
    g->begun[g->begun_count++] = (struct gn_begun){op, member.id, member.domain, member.side};
    if (g->shape == GN_SHAPE_PREFIX) {
        member.rank = gn_comm_rank_of(replay->definitions, replay->groups[g->group].comm, member.id, NULL);
        post_prefix(replay, g, GN_MAIL_PREFIX_BEGIN, &member, time, gives);
        prefix_begun(replay, g, member.rank, &entry, op);
        return;
    }
    gn_latest_add(&g->begins[member.side], &entry);
    if (g->limited) /* where nobody waits, the root's end may have come first */
        set_limits(replay, g);
    if (g->shape == GN_SHAPE_ONE_TO_ALL && gives)
        became_known(replay, g);
    consider_begins(replay, g);
    consider_ends(replay, g);
    maybe_over(replay, g);
}

/* ---- ends ---- */

/* Of a member of a prefix reduction; else 0. */
static uint32_t rank_in(const struct gn_replay *replay, const struct gn_gathering *g, uint32_t process)
{
    return g->shape != GN_SHAPE_PREFIX
               ? 0
               : gn_comm_rank_of(replay->definitions, replay->groups[g->group].comm, process, NULL);
}

static bool end_is_known(const struct gn_replay *replay, const struct gn_gathering *g, uint32_t process)
{
    if (g->shape != GN_SHAPE_PREFIX)
        return g->known || (g->shape == GN_SHAPE_ONE_TO_ALL && replay->groups[g->group].comm != GN_NONE &&
                            replay->left[g->root]);
    return g->prefix_known >=
           gn_comm_rank_of(replay->definitions, replay->groups[g->group].comm, process, NULL);
}

bool gn_gatherings_ready(struct gn_replay *replay, uint32_t location, const struct gn_op *op, bool release,
                         int64_t *after, struct gn_latest_entry which[2])
{
    const struct member member = member_of(replay, location, op);
    *after = INT64_MIN;
    if (!(op->flags & GN_OP_GETS) || release)
        return true;
    struct gn_gathering *g = gathering_at(replay, location, op);
    if (!g)
        return true;
    if (!end_is_known(replay, g, replay->locations[location].process)) {
        gn_replay_wait(replay, &g->waiting, location);
        return false;
    }
    *after = earliest_end(replay, before_end(replay, g, member.side, rank_in(replay, g, member.id)),
                          member.id, member.domain, which);
    return true;
}

void gn_gatherings_wake(struct gn_replay *replay, uint32_t location, const struct gn_op *op)
{
    struct gn_gathering *g = gathering_at(replay, location, op);
    if (g)
        gn_replay_wake(replay, &g->waiting);
}

static void lower_limit(const struct gn_replay *replay, const struct gn_latest *ends, struct gn_op *op,
                        uint32_t member, uint32_t domain)
{
    const int64_t after = gn_latest_for(ends, member, domain, delay_for(replay, domain));
    if (op->flags & GN_OP_GIVES && after != INT64_MIN && -after < op->limit)
        op->limit = -after;
}

/* All of our begins get their limits from the ends that are known here. */
static void set_limits(struct gn_replay *replay, struct gn_gathering *g)
{
    const bool crosses = replay->groups[g->group].is_intercomm;
    for (size_t i = 0; i < g->begun_count && g->shape != GN_SHAPE_PREFIX; i++) {
        const struct gn_begun *b = &g->begun[i];
        lower_limit(replay, &g->ends[crosses ? !b->side : 0], b->op, b->member, b->domain);
    }
    struct gn_latest higher = GN_LATEST_NONE;
    for (uint32_t i = g->shape == GN_SHAPE_PREFIX ? g->prefix_size : 0; i-- > 0;) {
        const struct gn_prefix *at = &g->prefix[i];
        if (at->op)
            lower_limit(replay, &higher, at->op, at->begin.member, at->begin.domain);
        gn_latest_add(&higher, &at->end);
    }
}

static void consider_ends(struct gn_replay *replay, struct gn_gathering *g)
{
    if (g->limited || !replay->limits)
        return;
    if (g->shape == GN_SHAPE_PREFIX) {
        if (g->prefix_ended == g->prefix_size) {
            set_limits(replay, g);
            g->limited = true;
        }
        return;
    }
    if (g->shape == GN_SHAPE_ALL_TO_ONE || g->ends_passed_up || !g->known ||
        g->ended + g->gone < ours_in(replay, g, false))
        return;
    const struct tree tree = tree_of(replay, g);
    if (!children_done(replay, g, &tree, g->end_parts))
        return;
    g->ends_passed_up = true;
    if (tree.position)
        post_up(replay, g, &tree, GN_MAIL_ENDS, g->ends);
    if (tree.position == 0) {
        if (g->shape == GN_SHAPE_ALL_TO_ALL)
            post_down(replay, g, GN_MAIL_LIMITS, g->ends);
        set_limits(replay, g);
    }
    g->limited = tree.position == 0 || g->shape == GN_SHAPE_ONE_TO_ALL;
}

void gn_gatherings_measure(struct gn_replay *replay, uint32_t location, const struct gn_op *op)
{
    const struct member member = member_of(replay, location, op);
    struct gn_gathering *g = gathering_at(replay, location, op);
    if (!g || replay->failed)
        return;
    if (replay->settings->ceilings) {
        const bool counts = op->flags & GN_OP_GETS && op->high != INT64_MAX;
        gn_gatherings_end(replay, location, op, op->high, counts);
        return;
    }
    const struct gn_awaiting end = {op->ticks,
                                    location,
                                    member.id,
                                    member.domain,
                                    rank_in(replay, g, replay->locations[location].process),
                                    member.side,
                                    op->flags & GN_OP_VAGUE};
    const bool gets = op->flags & GN_OP_GETS;
    const bool is_early = g->shape == GN_SHAPE_PREFIX ? g->prefix_known < end.rank : !g->known;
    if (gets && !is_early)
        measure_end(replay, g, &end);
    if (gets && is_early && !gn_grow(&g->awaiting, &g->awaiting_capacity, g->awaiting_count, sizeof end)) {
        replay->failed = -ENOMEM;
        return;
    }
    if (gets && is_early)
        g->awaiting[g->awaiting_count++] = end;
    gn_gatherings_end(replay, location, op, op->ticks, false);
}

void gn_gatherings_end(struct gn_replay *replay, uint32_t location, const struct gn_op *op, int64_t time,
                       bool counts)
{
    struct gn_gathering *g = gathering_at(replay, location, op);
    if (!g || replay->failed)
        return;
    struct member member = member_of(replay, location, op);
    const struct gn_latest_entry entry = {counts ? -time : INT64_MIN, member.id, member.domain};
    g->ended++;
    gn_latest_add(&g->ends[member.side], &entry);
    if (g->shape == GN_SHAPE_PREFIX) {
        member.rank = gn_comm_rank_of(replay->definitions, replay->groups[g->group].comm, member.id, NULL);
        if (replay->limits)
            post_prefix(replay, g, GN_MAIL_PREFIX_END, &member, time, counts);
        if (member.rank < g->prefix_size)
            g->prefix[member.rank].end = entry;
        g->prefix_ended++;
    }
    const uint32_t process = replay->locations[location].process;
    const bool is_root =
        replay->groups[g->group].comm == GN_NONE ? op->flags & GN_OP_GETS : process == g->root;
    if (g->shape == GN_SHAPE_ALL_TO_ONE && is_root && replay->limits) {
        post_down(replay, g, GN_MAIL_LIMITS, g->ends);
        set_limits(replay, g);
        g->limited = true;
    }
    consider_ends(replay, g);
    maybe_over(replay, g);
}

/* ---- what others say ---- */

static uint32_t group_named(struct gn_replay *replay, const struct gn_mail *mail)
{
    const struct gn_op_group what = {.comm = mail->link, .is_window = mail->flags & 1};
    const uintptr_t found = (uintptr_t)gn_map_find(&replay->group_links, group_key(&what));
    return found ? (uint32_t)(found - 1) : add_group(replay, &what);
}

static void take_prefix(struct gn_replay *replay, struct gn_gathering *g, const struct gn_mail *mail)
{
    const bool is_end = mail->kind == GN_MAIL_PREFIX_END, counts = mail->flags & 2;
    const struct gn_latest_entry entry = {!counts  ? INT64_MIN
                                          : is_end ? -mail->time
                                                   : mail->time,
                                          mail->c, mail->b};
    if (!is_end) {
        prefix_begun(replay, g, mail->a, &entry, NULL);
        return;
    }
    if (mail->a < g->prefix_size)
        g->prefix[mail->a].end = entry;
    g->prefix_ended++;
}

static void merge(struct gn_latest to[2], const struct gn_mail_sides *sides)
{
    gn_latest_merge(&to[0], &sides->side[0]);
    gn_latest_merge(&to[1], &sides->side[1]);
}

void gn_gatherings_mail(struct gn_replay *replay, const struct gn_mail *mail,
                        const struct gn_mail_sides *sides)
{
    const bool is_prefix = mail->kind == GN_MAIL_PREFIX_BEGIN || mail->kind == GN_MAIL_PREFIX_END;
    struct which which = {.group = group_named(replay, mail),
                          .number = mail->number,
                          .shape = mail->shape,
                          .root_side = mail->root_side,
                          .root = is_prefix ? GN_NONE : mail->a,
                          .is_late = mail->kind == GN_MAIL_BEGINS || mail->kind == GN_MAIL_KNOWN ||
                                     mail->kind == GN_MAIL_ENDS || mail->kind == GN_MAIL_ASK};
    struct gn_gathering *g = which.group == GN_NONE ? NULL : gathering_of(replay, &which);
    if (!g || replay->failed)
        return;
    switch ((enum gn_mail_kind)mail->kind) {
    case GN_MAIL_BEGINS:
        merge(g->begins, sides);
        g->parts |= mail->b;
        break;
    case GN_MAIL_KNOWN:
        merge(g->begins, sides);
        became_known(replay, g);
        break;
    case GN_MAIL_ENDS:
        merge(g->ends, sides);
        g->end_parts |= mail->b;
        break;
    case GN_MAIL_LIMITS:
        merge(g->ends, sides);
        set_limits(replay, g);
        if (!g->limited)
            post_down(replay, g, GN_MAIL_LIMITS, g->ends);
        g->limited = true;
        break;
    case GN_MAIL_ASK: /* being there is enough */
        break;
    default:
        take_prefix(replay, g, mail);
    }
    consider_begins(replay, g);
    consider_ends(replay, g);
    maybe_over(replay, g);
}

/* ---- those who leave ---- */

/* Processes leave in about the order in which they began, or the other way round: so it is near the last one
 * that was looked for. */
static bool has_begun(struct gn_gathering *g, uint32_t process)
{
    const size_t count = g->begun_count, middle = g->begun_hint < count ? g->begun_hint : count;
    for (size_t away = 0; away <= count; away++) {
        const size_t above = middle + away, below = middle - away;
        const bool is_above = above < count && g->begun[above].member == process;
        const bool is_below = away <= middle && below < count && g->begun[below].member == process;
        if (is_above || is_below) {
            g->begun_hint = is_above ? above : below;
            return true;
        }
    }
    return false;
}

static void missed_by(struct gn_replay *replay, struct gn_gathering *g, uint32_t process)
{
    g->gone += takes_part(replay, g, process) && !has_begun(g, process);
}

/* Looks at all open instances again; left: the process that has just left, GN_NONE: none of ours. */
static void reconsider(struct gn_replay *replay, struct gn_replay_group *group, uint32_t left)
{
    for (uint32_t n = group->first, end = group->first + group->capacity; n != end; n++) {
        struct gn_gathering **slot = slot_of(group, n);
        for (struct gn_gathering *g = slot && *slot != &over ? *slot : NULL, *next; g; g = next) {
            next = g->variant;
            if (left != GN_NONE)
                missed_by(replay, g, left);
            if (g->shape == GN_SHAPE_PREFIX)
                consider_prefix(replay, g);
            consider_begins(replay, g);
            consider_ends(replay, g);
            if (end_is_known(replay, g, g->root))
                gn_replay_wake(replay, &g->waiting);
            maybe_over(replay, g);
        }
    }
}

void gn_gatherings_leave(struct gn_replay *replay, uint32_t process)
{
    for (size_t i = 0; i < replay->group_count; i++) {
        struct gn_replay_group *group = &replay->groups[i];
        bool second = false;
        if (group->comm == GN_NONE ||
            gn_comm_rank_of(replay->definitions, group->comm, process, &second) == GN_NONE)
            continue;
        group->left[second]++;
        reconsider(replay, group, process);
    }
}

void gn_gatherings_reconsider(struct gn_replay *replay)
{
    for (size_t i = 0; i < replay->group_count; i++)
        reconsider(replay, &replay->groups[i], GN_NONE);
}

void gn_gatherings_flush(struct gn_replay *replay)
{
    replay->flushed = true;
    for (size_t i = 0; i < replay->group_count; i++) {
        struct gn_replay_group *group = &replay->groups[i];
        for (uint32_t n = 0; n < group->capacity; n++)
            for (struct gn_gathering *g = group->ring[n] == &over ? NULL : group->ring[n]; g;
                 g = g->variant) {
                if (g->limited)
                    continue;
                set_limits(replay, g);
                g->limited = true;
                for (uint32_t to = 0; to < group->party[2].count && g->shape != GN_SHAPE_PREFIX; to++)
                    if (group->party[2].ranks[to] != replay->transport->rank)
                        post(replay, g, group->party[2].ranks[to], GN_MAIL_LIMITS, 0, g->ends);
            }
    }
}

#include "repair/gatherings_inside.h"

#include <errno.h>
#include <stdlib.h>

/* In the ring: an instance that is over. */
static struct gn_gathering over;

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
    for (size_t i = 0; i < replay->group_count; i++)
        free(replay->groups[i].ring);
    gn_groups_shut(replay);
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
bool gn_gathering_takes_part(const struct gn_replay *replay, const struct gn_gathering *g, uint32_t process)
{
    const struct gn_replay_group *group = &replay->groups[g->group];
    bool second = false;
    if (group->comm == GN_NONE ||
        gn_comm_rank_of(replay->definitions, group->comm, process, &second) == GN_NONE)
        return false;
    const bool rooted = g->shape == GN_SHAPE_ONE_TO_ALL || g->shape == GN_SHAPE_ALL_TO_ONE;
    return !rooted || !group->is_intercomm || second == gn_gathering_far_side(group, g) || process == g->root;
}

/* How many of our processes take part; of a team: threads that begin, of a fork those that end. */
uint32_t gn_gathering_ours(const struct gn_replay *replay, const struct gn_gathering *g, bool of_those_left)
{
    const struct gn_replay_group *group = &replay->groups[g->group];
    const uint32_t *count = of_those_left ? group->left : group->local;
    if (group->comm == GN_NONE)
        return of_those_left ? 0 : g->root;
    const bool rooted = g->shape == GN_SHAPE_ONE_TO_ALL || g->shape == GN_SHAPE_ALL_TO_ONE;
    if (!rooted || !group->is_intercomm)
        return count[0] + count[1];
    const bool has_root = replay->owner[g->root] == replay->transport->rank;
    return count[gn_gathering_far_side(group, g)] + (has_root && (!of_those_left || replay->left[g->root]));
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
    const struct gn_comm_def *comm = gn_group_comm(replay, &replay->groups[g->group]);
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
static bool make_slot(struct gn_replay *replay, const struct gn_which *which)
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
struct gn_gathering *gn_gathering_of(struct gn_replay *replay, const struct gn_which *which)
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
    g->gone = gn_gathering_ours(replay, g, true);
    group->end = which->number >= group->end ? which->number + 1 : group->end;
    if (g->shape == GN_SHAPE_PREFIX && !prefix_room(replay, g))
        replay->failed = -ENOMEM;
    return g;
}

/* An instance that nothing will be asked about any more is over. */
void gn_gathering_maybe_over(struct gn_replay *replay, struct gn_gathering *g)
{
    struct gn_replay_group *group = &replay->groups[g->group];
    const bool passed_on =
        g->known || g->shape == GN_SHAPE_PREFIX || (g->passed_up && g->shape == GN_SHAPE_ALL_TO_ONE);
    const bool is_join = group->comm == GN_NONE && g->shape == GN_SHAPE_ALL_TO_ONE; /* of threads: one end */
    if (g->ended + g->gone < (is_join ? 1 : gn_gathering_ours(replay, g, false)) || !passed_on ||
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

struct gn_gathering *gn_gatherings_numbered(const struct gn_replay_group *group, uint32_t number)
{
    struct gn_gathering **slot = slot_of(group, number);
    return slot && *slot != &over ? *slot : NULL;
}

#include "repair/gatherings_inside.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>

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

uint32_t gn_party_index(const struct gn_party *party, uint32_t rank)
{
    const uint32_t *at =
        party->count ? bsearch(&rank, party->ranks, party->count, sizeof *party->ranks, by_number) : NULL;
    return at ? (uint32_t)(at - party->ranks) : GN_NONE;
}

/* Whether the member is a process, and no other one: a broken trace may name none, or one twice. */
bool gn_group_has(const struct gn_replay *replay, uint32_t comm, size_t member)
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
        if (!gn_group_has(replay, comm, i))
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

const struct gn_comm_def *gn_group_comm(const struct gn_replay *replay, const struct gn_replay_group *group)
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
    const struct gn_comm_def *comm = gn_group_comm(replay, group);
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

uint32_t gn_group_named(struct gn_replay *replay, const struct gn_op_group *what)
{
    const uintptr_t found = (uintptr_t)gn_map_find(&replay->group_links, group_key(what));
    return found ? (uint32_t)(found - 1) : add_group(replay, what);
}

void gn_groups_shut(struct gn_replay *replay)
{
    for (size_t i = 0; i < replay->group_count; i++)
        for (int side = 0; side < 3; side++)
            free(replay->groups[i].party[side].ranks);
    free(replay->groups);
    gn_map_clear(&replay->group_links);
}

#include "repair/extract_inside.h"

#include "base/grow.h"

#include <stdlib.h>

static struct gn_key channel_key(uint32_t comm, uint32_t from, uint32_t to, uint32_t tag)
{
    return (struct gn_key){(uint64_t)comm << 32 | tag, (uint64_t)from << 32 | to};
}

/* A value of a map is an index + 1. */
static int64_t index_of(const void *value)
{
    return (int64_t)(uintptr_t)value - 1;
}

static void *value_of(size_t index)
{
    return (void *)(uintptr_t)(index + 1);
}

/* ---- channels ---- */

static int64_t make_channel(struct gn_extract *x, struct gn_key key, const struct gn_op_channel *what)
{
    struct gn_op_store *s = x->store;
    const size_t index = s->channel_count;
    if (index >= UINT32_MAX || !gn_grow(&s->channels, &s->channel_capacity, index, sizeof *s->channels) ||
        !gn_grow(&x->channel_states, &x->channel_capacity, index, sizeof *x->channel_states) ||
        !gn_map_add(&x->channels, key, value_of(index)))
        return GN_LINK_NO_MEMORY;
    s->channels[index] = *what;
    x->channel_states[index] = (struct gn_extract_channel){0};
    s->channel_count++;
    return (int64_t)index;
}

int64_t gn_extract_channel_between(struct gn_extract *x, uint32_t comm, uint32_t from, uint32_t to,
                                   uint32_t tag)
{
    if (from == to && x->location_count == 1)
        return GN_LINK_INTERNAL;
    struct gn_key key = channel_key(comm, from, to, tag);
    const void *known = gn_map_find(&x->channels, key);
    return known ? index_of(known) : make_channel(x, key, &(struct gn_op_channel){comm, from, to, tag, 0});
}

int64_t gn_extract_channel(struct gn_extract *x, uint32_t comm, uint32_t peer, uint32_t tag, bool sends)
{
    const size_t place = (comm * 31 + peer * 2 + sends + tag * 7) % (sizeof x->memo / sizeof *x->memo);
    struct gn_extract_memo *memo = &x->memo[place];
    if (memo->used && memo->comm == comm && memo->peer == peer && memo->tag == tag && memo->sends == sends)
        return memo->link;
    const uint32_t here = x->process, there = gn_comm_peer(x->definitions, comm, here, peer);
    if (there >= x->definitions->process_count ||
        gn_comm_rank_of(x->definitions, comm, here, NULL) == GN_NONE)
        return GN_LINK_UNFIT;
    int64_t link = gn_extract_channel_between(x, comm, sends ? here : there, sends ? there : here, tag);
    if (link >= 0)
        *memo = (struct gn_extract_memo){comm, peer, tag, (uint32_t)link, sends, true};
    return link;
}

/* ---- groups ---- */

static int64_t make_group(struct gn_extract *x, struct gn_key key, const struct gn_op_group *what)
{
    struct gn_op_store *s = x->store;
    const size_t index = s->group_count;
    if (index >= UINT32_MAX || !gn_grow(&s->groups, &s->group_capacity, index, sizeof *s->groups) ||
        !gn_map_add(&x->groups, key, value_of(index)))
        return GN_LINK_NO_MEMORY;
    s->groups[index] = *what;
    s->group_count++;
    return (int64_t)index;
}

int64_t gn_extract_group(struct gn_extract *x, uint32_t comm, bool is_window)
{
    const struct gn_definitions *d = x->definitions;
    uint32_t members = comm;
    if (is_window)
        members = comm < d->window_count ? d->windows[comm].comm : GN_NONE;
    if (members >= d->comm_count)
        return GN_LINK_UNFIT;
    if (d->comms[members].is_self || d->comms[members].member_count + d->comms[members].other_count <= 1)
        return GN_LINK_INTERNAL;
    const struct gn_key key = {comm, is_window};
    const void *known = gn_map_find(&x->groups, key);
    return known ? index_of(known)
                 : make_group(x, key, &(struct gn_op_group){.comm = comm, .is_window = is_window});
}

int64_t gn_extract_team(struct gn_extract *x, uint32_t kind)
{
    enum { TEAMS = 2 }; /* after communicators and windows */
    const struct gn_key key = {x->process, TEAMS + kind};
    const void *known = gn_map_find(&x->groups, key);
    return known ? index_of(known)
                 : make_group(x, key, &(struct gn_op_group){.comm = x->process, .is_team = true});
}

void gn_extract_links_close(struct gn_extract *x)
{
    gn_map_clear(&x->channels);
    gn_map_clear(&x->groups);
    free(x->channel_states);
}

#include "causality/instances.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

struct member {
    struct gn_vertex *begin; /* while its dependent ends have not all been observed, or it is not reported */
    struct gn_vertex *end;   /* PREFIX: waiting for lower ranks */
    uint64_t final_ticks;    /* PREFIX: the latest of the begins up to this rank */
    bool begun, settled, ended;
    bool absent; /* will never begin */
};

struct gn_instance {
    struct gn_group *group;
    uint32_t number;
    uint32_t root; /* GN_NONE: not known yet (intercommunicator) */
    enum gn_shape shape;
    bool sparse;     /* a v or w variant */
    bool incomplete; /* a member will never begin, or never end */
    uint8_t root_side;
    uint32_t settled, ended; /* of all sides */
    uint32_t ended_xor;
    uint32_t waiting;
    uint32_t prefix; /* all ranks below have settled */
    uint32_t suffix; /* all ranks from here on have ended */
    uint64_t root_ticks;
    uint32_t root_location;
    struct {
        uint32_t settled; /* members whose begin was reported, or need not be waited for */
        uint32_t ended;
        uint32_t absent;      /* the lowest rank that will never begin; GN_NONE: none */
        uint64_t final_ticks; /* the latest adjusted time of a begin (ONE_TO_ALL: the root's) */
        struct gn_vertex *first_waiting, *last_waiting; /* ends that wait for begins of this side */
        struct gn_inquiry inquiry;
    } sides[2];
    struct member members[];
};

/* A communicator's, or a window's, collectives. */
struct gn_group {
    uint32_t comm, size;
    uint32_t split;                /* members from here on are on side 1; size: there is one side */
    uint32_t *begun;               /* [size] instances each member has begun */
    struct gn_instance **open;     /* [count] from number `base` on; NULL: over, or not begun */
    size_t first, count, capacity; /* open[first … first + count) are in use */
    uint32_t base;
    uint32_t *absent; /* members that take part no more */
    size_t absent_count, absent_capacity;
    struct gn_instance *spare;
};

/* ---- groups ---- */

static uint32_t side_of(const struct gn_group *g, uint32_t member)
{
    return member >= g->split;
}

static uint32_t other_side(const struct gn_group *g, uint32_t member)
{
    return g->split == g->size ? 0 : !side_of(g, member);
}

static uint32_t side_size(const struct gn_group *g, uint32_t side)
{
    return side == 0 ? g->split : g->size - g->split;
}

/* Which member a process is; GN_NONE: none. */
static uint32_t member_of(const struct gn_order *order, const struct gn_group *g, uint32_t process)
{
    bool second;
    uint32_t rank = gn_comm_rank_of(order->definitions, g->comm, process, &second);
    return rank == GN_NONE || g->size == 0 ? GN_NONE : rank + (second ? g->split : 0);
}

static void note_absent(struct gn_order *order, struct gn_group *g)
{
    const uint32_t *members = order->definitions->comms[g->comm].members;
    for (uint32_t m = 0; m < g->size; m++) {
        bool is_second = member_of(order, g, members[m]) != m; /* named twice */
        if (is_second || members[m] >= order->process_count || order->processes[members[m]].ended ||
            order->processes[members[m]].loose)
            if (gn_grow(&g->absent, &g->absent_capacity, g->absent_count, sizeof *g->absent))
                g->absent[g->absent_count++] = m;
    }
}

static struct gn_group *make_group(struct gn_order *order, uint32_t comm)
{
    const struct gn_comm_def *def = &order->definitions->comms[comm];
    struct gn_group *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->comm = comm;
    g->split = def->is_self ? 0 : def->member_count;
    g->size = def->is_self ? 0 : def->member_count + def->other_count;
    g->begun = calloc(g->size ? g->size : 1, sizeof *g->begun);
    if (!g->begun) {
        free(g);
        return NULL;
    }
    note_absent(order, g);
    return g;
}

/* The group of a communicator, or of a window when rma is set. NULL with *code = 0: there is none. */
static struct gn_group *find_group(struct gn_order *order, uint32_t comm, bool rma, int *code)
{
    const struct gn_definitions *d = order->definitions;
    *code = 0;
    if (comm >= (rma ? d->window_count : d->comm_count))
        return NULL;
    uint32_t members = rma ? d->windows[comm].comm : comm;
    if (members >= d->comm_count)
        return NULL;
    struct gn_group ***groups = rma ? &order->window_group_array : &order->groups;
    size_t *count = rma ? &order->window_groups : &order->comm_groups;
    if (comm >= *count) {
        size_t wanted = rma ? d->window_count : d->comm_count;
        struct gn_group **larger = reallocarray(*groups, wanted, sizeof *larger);
        if (!larger) {
            *code = -ENOMEM;
            return NULL;
        }
        memset(larger + *count, 0, (wanted - *count) * sizeof *larger);
        *groups = larger;
        *count = wanted;
    }
    if (!(*groups)[comm] && !((*groups)[comm] = make_group(order, members)))
        *code = -ENOMEM;
    return (*groups)[comm];
}

/* ---- what an instance tells its vertices ---- */

static bool instance_depends(const struct gn_instance *i, uint32_t member)
{
    if (i->group->split < i->group->size && i->shape == GN_SHAPE_ONE_TO_ALL)
        return side_of(i->group, member) != i->root_side;
    return gn_collective_does(i->shape, false, member, i->group->size, i->root).takes;
}

static bool is_satisfied(const struct gn_instance *i, uint32_t member)
{
    uint32_t side = other_side(i->group, member);
    switch (i->shape) {
    case GN_SHAPE_ALL_TO_ALL:
    case GN_SHAPE_ALL_TO_ONE:
        return i->sides[side].settled == side_size(i->group, side);
    case GN_SHAPE_ONE_TO_ALL:
        return i->root != GN_NONE && i->members[i->root].settled;
    case GN_SHAPE_PREFIX:
        return i->prefix >= member;
    }
    return true;
}

/* Ends other than its own that depend on this begin and have not been observed. */
static bool is_needed(const struct gn_instance *i, uint32_t member)
{
    const struct gn_group *g = i->group;
    uint32_t side = other_side(g, member);
    uint32_t others = side_size(g, side) - i->sides[side].ended;
    if (side == side_of(g, member))
        others -= !i->members[member].ended;
    switch (i->shape) {
    case GN_SHAPE_ALL_TO_ALL:
        return others > 0;
    case GN_SHAPE_ONE_TO_ALL:
        return member == i->root && others > 0;
    case GN_SHAPE_ALL_TO_ONE:
        return member != i->root && i->root != GN_NONE && side == side_of(g, i->root) &&
               !i->members[i->root].ended;
    case GN_SHAPE_PREFIX:
        return i->suffix > member + 1;
    }
    return false;
}

static void inform(const struct gn_instance *i, uint32_t member, struct gn_vertex *end)
{
    uint32_t side = other_side(i->group, member);
    end->instance = NULL;
    if (i->shape == GN_SHAPE_ONE_TO_ALL
            ? i->members[i->root].absent
            : i->sides[side].absent < (i->shape == GN_SHAPE_PREFIX ? member : i->group->size))
        end->place.flags |= GN_PLACE_RELEASED;
    gn_vertex_after(end, i->shape == GN_SHAPE_PREFIX ? i->members[member - 1].final_ticks
                                                     : i->sides[side].final_ticks);
    if (i->shape == GN_SHAPE_ONE_TO_ALL && i->root_location != GN_NONE)
        gn_vertex_correlate(end, i->root_ticks, i->root_location);
}

static void wake_all(struct gn_order *order, struct gn_instance *i, uint32_t side)
{
    struct gn_vertex *end = i->sides[side].first_waiting;
    i->sides[side].first_waiting = NULL;
    while (end) {
        struct gn_vertex *next = end->after;
        inform(i, end->member, end);
        i->waiting--;
        gn_vertex_settled(order, end);
        end = next;
    }
}

static void advance_prefix(struct gn_order *order, struct gn_instance *i)
{
    for (; i->prefix < i->group->size && i->members[i->prefix].settled; i->prefix++) {
        struct member *member = &i->members[i->prefix];
        if (i->prefix > 0 && member[-1].final_ticks > member->final_ticks)
            member->final_ticks = member[-1].final_ticks;
        if (i->prefix + 1 == i->group->size || !member[1].end)
            continue;
        struct gn_vertex *end = member[1].end;
        member[1].end = NULL;
        inform(i, i->prefix + 1, end);
        i->waiting--;
        gn_vertex_settled(order, end);
    }
}

static void settle(struct gn_order *order, struct gn_instance *i, uint32_t member, uint64_t final_ticks)
{
    uint32_t side = side_of(i->group, member);
    if (i->members[member].settled)
        return;
    i->members[member].settled = true;
    i->members[member].final_ticks = final_ticks;
    i->settled++;
    i->sides[side].settled++;
    if (i->shape == GN_SHAPE_ONE_TO_ALL ? member == i->root : final_ticks > i->sides[side].final_ticks)
        i->sides[side].final_ticks = final_ticks;
    if (i->shape == GN_SHAPE_PREFIX)
        advance_prefix(order, i);
    else if (i->shape == GN_SHAPE_ONE_TO_ALL ? member == i->root
                                             : i->sides[side].settled == side_size(i->group, side))
        wake_all(order, i, side);
}

static void release(struct gn_order *order, struct gn_instance *i, uint32_t rank)
{
    struct gn_vertex *begin = i->members[rank].begin;
    if (!begin || !begin->held || is_needed(i, rank))
        return;
    begin->held = false;
    if (begin->reported)
        i->members[rank].begin = NULL;
    gn_vertex_noticed(order, begin);
}

static void release_all(struct gn_order *order, struct gn_instance *i)
{
    for (uint32_t m = 0; m < i->group->size; m++)
        release(order, i, m);
}

/* 0 ^ 1 ^ … ^ last */
static uint32_t xor_up_to(uint32_t last)
{
    const uint32_t all[] = {last, 1, last + 1, 0};
    return all[last & 3];
}

static void lower_suffix(struct gn_order *order, struct gn_instance *i)
{
    uint32_t before = i->suffix;
    while (i->suffix > 0 && i->members[i->suffix - 1].ended)
        i->suffix--;
    for (uint32_t m = before; m-- > 0 && m + 1 >= i->suffix;)
        release(order, i, m);
}

static void end_observed(struct gn_order *order, struct gn_instance *i, uint32_t member)
{
    const struct gn_group *g = i->group;
    uint32_t side = side_of(g, member);
    if (i->members[member].ended)
        return;
    i->members[member].ended = true;
    i->ended++;
    i->sides[side].ended++;
    i->ended_xor ^= member;
    if (i->shape == GN_SHAPE_PREFIX)
        lower_suffix(order, i);
    else if (i->shape == GN_SHAPE_ONE_TO_ALL && i->root != GN_NONE)
        release(order, i, i->root);
    else if (i->shape == GN_SHAPE_ALL_TO_ONE ? member == i->root : i->sides[side].ended == side_size(g, side))
        release_all(order, i);
    else if (i->shape == GN_SHAPE_ALL_TO_ALL &&
             i->ended == g->size - 1) /* the begin whose end is missing has no other one */
        release(order, i, xor_up_to(g->size - 1) ^ i->ended_xor);
}

/* ---- instances ---- */

static void close_if_over(struct gn_order *order, struct gn_instance *i)
{
    struct gn_group *g = i->group;
    if (i->ended < g->size || i->settled < g->size || i->waiting > 0)
        return;
    if (i->incomplete)
        order->stats.incomplete_collectives++;
    else
        order->stats.collectives++;
    g->open[g->first + (i->number - g->base)] = NULL;
    if (g->spare)
        free(i);
    else
        g->spare = i;
    while (g->count > 0 && !g->open[g->first]) {
        g->first++;
        g->count--;
        g->base++;
    }
    if (g->count == 0)
        g->first = 0;
}

static void leave(struct gn_order *order, struct gn_instance *i, uint32_t rank)
{
    struct member *member = &i->members[rank];
    if (!member->begun || !member->ended)
        i->incomplete = true;
    if (!member->begun) {
        uint32_t *absent = &i->sides[side_of(i->group, rank)].absent;
        member->absent = true;
        *absent = rank < *absent ? rank : *absent;
        settle(order, i, rank, 0);
    }
    member->begun = true;
    end_observed(order, i, rank);
}

/* Who the root is. On an intercommunicator the members of the root's own group do not say. */
static void learn_root(struct gn_order *order, struct gn_instance *i, const struct gn_part *part)
{
    const struct gn_group *g = i->group;
    uint32_t side = side_of(g, part->member);
    if (i->root != GN_NONE || i->shape == GN_SHAPE_ALL_TO_ALL || i->shape == GN_SHAPE_PREFIX)
        return;
    bool in_own_group = part->root == GN_ROOT_SELF || part->root == GN_ROOT_NONE;
    if (g->split < g->size && in_own_group) {
        i->root_side = (uint8_t)side;
        i->root = part->root == GN_ROOT_SELF ? part->member : GN_NONE;
        return;
    }
    i->root_side = (uint8_t)other_side(g, part->member);
    if (part->root < side_size(g, i->root_side)) {
        i->root = part->root + (i->root_side ? g->split : 0);
    } else {
        order->stats.contradictions++;
        i->shape = GN_SHAPE_ALL_TO_ALL;
    }
}

static struct gn_instance *make_instance(struct gn_order *order, struct gn_group *g, uint32_t number,
                                         const struct gn_part *part)
{
    size_t bytes = sizeof(struct gn_instance) + g->size * sizeof(struct member);
    struct gn_instance *i = g->spare ? g->spare : malloc(bytes);
    if (!i)
        return NULL;
    g->spare = NULL;
    memset(i, 0, bytes);
    i->group = g;
    i->number = number;
    i->shape = gn_collective_shape(part->op, g->split < g->size);
    i->sparse = gn_collective_is_sparse(part->op);
    i->root = GN_NONE;
    learn_root(order, i, part);
    i->suffix = g->size;
    i->sides[0].absent = i->sides[1].absent = i->root_location = GN_NONE;
    for (size_t a = 0; a < g->absent_count; a++)
        leave(order, i, g->absent[a]);
    return i;
}

/* Room for instance `number`, which is at least g->base. */
static bool reserve(struct gn_group *g, uint32_t number)
{
    size_t wanted = (size_t)(number - g->base) + 1;
    if (g->first > 0 && g->first + wanted > g->capacity) {
        memmove(g->open, g->open + g->first, g->count * sizeof *g->open);
        g->first = 0;
    }
    while (g->capacity < g->first + wanted)
        if (!gn_grow(&g->open, &g->capacity, g->capacity, sizeof *g->open))
            return false;
    for (; g->count < wanted; g->count++)
        g->open[g->first + g->count] = NULL;
    return true;
}

/* number: at least g->base. */
static struct gn_instance *find_instance(struct gn_order *order, struct gn_group *g, uint32_t number,
                                         const struct gn_part *part)
{
    if (!reserve(g, number))
        return NULL;
    struct gn_instance **slot = &g->open[g->first + (number - g->base)];
    if (!*slot)
        *slot = make_instance(order, g, number, part);
    return *slot;
}

void gn_instance_begin(struct gn_order *order, struct gn_instance *i, const struct gn_part *part)
{
    struct member *member = &i->members[part->member];
    struct gn_vertex *begin = part->begin;
    member->begun = true;
    learn_root(order, i, part);
    if (!begin || (i->sparse && part->bytes_sent == 0)) { /* nobody will ask for it */
        settle(order, i, part->member, 0);
        return;
    }
    if (i->shape == GN_SHAPE_ONE_TO_ALL && part->member == i->root) {
        i->root_ticks = begin->event.ticks;
        i->root_location = begin->event.location;
    }
    begin->instance = i;
    begin->member = part->member;
    if (is_needed(i, part->member)) {
        begin->held = true;
        begin->keeps++;
    }
    if (!begin->reported || begin->held)
        member->begin = begin;
    if (begin->reported)
        settle(order, i, part->member, begin->place.ticks);
}

static void link_end(struct gn_instance *i, uint32_t rank, struct gn_vertex *end)
{
    bool silent = i->sparse && end->event.bytes_received == 0;
    end->member = rank;
    if (instance_depends(i, rank) && !silent) {
        if (is_satisfied(i, rank)) {
            inform(i, rank, end);
        } else {
            end->waits++;
            end->instance = i;
            i->waiting++;
            end->after = NULL;
            uint32_t side = other_side(i->group, rank);
            if (i->shape == GN_SHAPE_PREFIX)
                i->members[rank].end = end;
            else if (i->sides[side].first_waiting)
                i->sides[side].last_waiting = i->sides[side].last_waiting->after = end;
            else
                i->sides[side].first_waiting = i->sides[side].last_waiting = end;
        }
    }
}

void gn_instance_end(struct gn_order *order, struct gn_instance *i, uint32_t member, struct gn_vertex *end)
{
    if (end)
        link_end(i, member, end);
    end_observed(order, i, member);
    if (end)
        gn_vertex_settled(order, end); /* its place is known now */
    close_if_over(order, i);
}

/* ---- parts ---- */

/* What the part does in its collective, whichever instance that is. False: that cannot be told. */
static bool does_of(const struct gn_order *order, const struct gn_part *part, struct gn_collective_does *does)
{
    const struct gn_definitions *d = order->definitions;
    const enum gn_shape shape = gn_collective_shape(part->op, false);
    uint32_t comm = part->comm;
    if (part->rma)
        comm = comm < d->window_count ? d->windows[comm].comm : GN_NONE;
    if (part->op >= GN_COLLECTIVE_COUNT || comm >= d->comm_count || d->comms[comm].other_count)
        return false;
    const uint32_t rank = gn_comm_rank_of(d, comm, part->process, NULL), size = d->comms[comm].member_count;
    if (rank >= size || (gn_shape_is_rooted(shape) && part->root >= size))
        return false;
    *does = size == 1 ? (struct gn_collective_does){false, false}
                      : gn_collective_does(shape, false, rank, size, part->root);
    return true;
}

bool gn_part_waits_for_nobody(const struct gn_order *order, const struct gn_part *part,
                              uint64_t bytes_received)
{
    struct gn_collective_does does;
    return does_of(order, part, &does) &&
           (!does.takes || (gn_collective_is_sparse(part->op) && bytes_received == 0));
}

bool gn_part_is_awaited_by_nobody(const struct gn_order *order, const struct gn_part *part)
{
    struct gn_collective_does does;
    return does_of(order, part, &does) &&
           (!does.gives || (gn_collective_is_sparse(part->op) && part->bytes_sent == 0));
}

bool gn_part_count(struct gn_order *order, struct gn_part *part, int *code)
{
    struct gn_group *g = find_group(order, part->comm, part->rma, code);
    if (!g || g->size == 0 || order->processes[part->process].loose)
        return false;
    part->member = member_of(order, g, part->process);
    if (part->member >= g->size) {
        order->stats.contradictions++;
        return false;
    }
    part->number = g->begun[part->member]++;
    return true;
}

struct gn_instance *gn_instance_of(struct gn_order *order, struct gn_part *part, int *code)
{
    if (!gn_part_count(order, part, code))
        return NULL;
    struct gn_group *g = find_group(order, part->comm, part->rma, code);
    if (part->number < g->base) /* the others are through with it: the member had left */
        return NULL;
    struct gn_instance *i = find_instance(order, g, part->number, part);
    if (!i)
        *code = -ENOMEM;
    else if (i->members[part->member].begun) /* the same: it may be over at any moment */
        return NULL;
    return i;
}

void gn_collective_reported(struct gn_order *order, struct gn_vertex *begin)
{
    struct gn_instance *i = begin->instance;
    if (!i)
        return;
    uint32_t rank = begin->member;
    if (!begin->held)
        i->members[rank].begin = NULL;
    settle(order, i, rank, begin->place.ticks);
    close_if_over(order, i);
}

struct gn_inquiry *gn_collective_inquiry(const struct gn_vertex *end)
{
    return &end->instance->sides[other_side(end->instance->group, end->member)].inquiry;
}

bool gn_collective_waits_for(const struct gn_vertex *end, uint32_t member)
{
    const struct gn_instance *i = end->instance;
    if (i->shape == GN_SHAPE_PREFIX)
        return member < end->member;
    return side_of(i->group, member) == other_side(i->group, end->member) &&
           (i->shape != GN_SHAPE_ONE_TO_ALL || member == i->root);
}

uint32_t gn_collective_blocker(const struct gn_vertex *end, uint32_t *member)
{
    const struct gn_instance *i = end->instance;
    uint32_t last = i->shape == GN_SHAPE_PREFIX ? end->member : i->group->size;
    while (*member < last) {
        uint32_t rank = (*member)++;
        const struct gn_vertex *begin = i->members[rank].begin;
        if (begin && !begin->reported && !i->members[rank].settled && gn_collective_waits_for(end, rank))
            return begin->event.location;
    }
    return GN_NONE;
}

void gn_collective_release(struct gn_order *order, struct gn_vertex *end)
{
    struct gn_instance *i = end->instance;
    end->instance = NULL;
    i->waiting--;
    if (i->shape == GN_SHAPE_PREFIX) {
        i->members[end->member].end = NULL;
    } else {
        uint32_t side = other_side(i->group, end->member);
        struct gn_vertex **link = &i->sides[side].first_waiting, *previous = NULL;
        for (; *link != end; link = &previous->after)
            previous = *link;
        *link = end->after;
        if (i->sides[side].last_waiting == end)
            i->sides[side].last_waiting = previous;
    }
    close_if_over(order, i);
}

static int leave_group(struct gn_order *order, struct gn_group *g, uint32_t process)
{
    uint32_t rank = member_of(order, g, process);
    if (rank >= g->size)
        return 0;
    if (!gn_grow(&g->absent, &g->absent_capacity, g->absent_count, sizeof *g->absent))
        return -ENOMEM;
    g->absent[g->absent_count++] = rank;
    for (uint32_t number = g->base, end = g->base + (uint32_t)g->count; number != end; number++) {
        struct gn_instance *i = number >= g->base && g->count ? g->open[g->first + (number - g->base)] : NULL;
        if (!i)
            continue;
        leave(order, i, rank);
        close_if_over(order, i);
    }
    return 0;
}

void gn_collectives_leave(struct gn_order *order, uint32_t process)
{
    for (size_t i = 0; i < order->comm_groups; i++)
        if (order->groups[i] && leave_group(order, order->groups[i], process) != 0)
            order->stopped = -ENOMEM;
    for (size_t i = 0; i < order->window_groups; i++)
        if (order->window_group_array[i] && leave_group(order, order->window_group_array[i], process) != 0)
            order->stopped = -ENOMEM;
}

static void free_group(struct gn_group *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->count; i++)
        free(g->open[g->first + i]);
    free(g->open);
    free(g->begun);
    free(g->absent);
    free(g->spare);
    free(g);
}

void gn_instances_close(struct gn_order *order)
{
    for (size_t i = 0; i < order->comm_groups; i++)
        free_group(order->groups[i]);
    for (size_t i = 0; i < order->window_groups; i++)
        free_group(order->window_group_array[i]);
    free(order->groups);
    free(order->window_group_array);
}

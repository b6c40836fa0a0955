#include "repair/condition_collectives.h"

#include "base/grow.h"
#include "base/map.h"
#include "repair/condition_pairs.h"

#include <errno.h>
#include <stdlib.h>

/* So many collectives of a process may wait for one that does not say which it is. */
enum { UNKNOWN_MOST = 1 << 16 };

enum shape { ALL_TO_ALL, ONE_TO_ALL, ALL_TO_ONE, PREFIX };

/* vague: who depends on whom is not known, or MPI does not say that anybody does. */
static const struct what {
    uint8_t shape;
    bool sparse, vague;
} whats[GN_COLLECTIVE_COUNT] = {
    [GN_COLLECTIVE_BARRIER] = {ALL_TO_ALL, false, false},
    [GN_COLLECTIVE_BCAST] = {ONE_TO_ALL, false, false},
    [GN_COLLECTIVE_GATHER] = {ALL_TO_ONE, false, false},
    [GN_COLLECTIVE_GATHERV] = {ALL_TO_ONE, true, false},
    [GN_COLLECTIVE_SCATTER] = {ONE_TO_ALL, false, false},
    [GN_COLLECTIVE_SCATTERV] = {ONE_TO_ALL, true, false},
    [GN_COLLECTIVE_ALLGATHER] = {ALL_TO_ALL, false, false},
    [GN_COLLECTIVE_ALLGATHERV] = {ALL_TO_ALL, true, false},
    [GN_COLLECTIVE_ALLTOALL] = {ALL_TO_ALL, false, false},
    [GN_COLLECTIVE_ALLTOALLV] = {ALL_TO_ALL, true, true},
    [GN_COLLECTIVE_ALLTOALLW] = {ALL_TO_ALL, true, true},
    [GN_COLLECTIVE_ALLREDUCE] = {ALL_TO_ALL, false, false},
    [GN_COLLECTIVE_REDUCE] = {ALL_TO_ONE, false, false},
    [GN_COLLECTIVE_REDUCE_SCATTER] = {ALL_TO_ALL, true, false},
    [GN_COLLECTIVE_SCAN] = {PREFIX, false, false},
    [GN_COLLECTIVE_EXSCAN] = {PREFIX, false, false},
    [GN_COLLECTIVE_REDUCE_SCATTER_BLOCK] = {ALL_TO_ALL, false, false},
    [GN_COLLECTIVE_CREATE_HANDLE] = {ALL_TO_ALL, false, true},
    [GN_COLLECTIVE_DESTROY_HANDLE] = {ALL_TO_ALL, false, true},
    [GN_COLLECTIVE_ALLOCATE] = {ALL_TO_ALL, false, true},
    [GN_COLLECTIVE_DEALLOCATE] = {ALL_TO_ALL, false, true},
    [GN_COLLECTIVE_CREATE_HANDLE_AND_ALLOCATE] = {ALL_TO_ALL, false, true},
    [GN_COLLECTIVE_DESTROY_HANDLE_AND_DEALLOCATE] = {ALL_TO_ALL, false, true},
};

static struct what what_is(uint8_t op)
{
    return op < GN_COLLECTIVE_COUNT ? whats[op] : (struct what){ALL_TO_ALL, false, true};
}

/* A member's part in an instance. */
struct part {
    int64_t begin_ticks, end_ticks;
    uint64_t bytes_sent, bytes_received;
    uint32_t begin_location, end_location;
    bool begun, ended, over; /* over: nothing of it will come any more */
};

/* Of a communicator or window. */
struct group {
    uint32_t number;      /* tells groups apart, as a key */
    uint32_t comm;        /* whose members take part */
    uint32_t size, split; /* members from split on are the second group of an intercommunicator */
    uint32_t *begun;      /* [size] instances */
    bool *left;           /* [size] members that take part no more */
    uint32_t left_count;
};

struct instance {
    struct group *group;
    uint32_t number, missing; /* missing: members that are not over */
    uint32_t root;            /* member; GN_NONE: not known */
    uint8_t op;
    bool known, contradictory; /* known: some end has said what it is */
    struct part parts[];
};

/* A collective that a process has begun. */
struct start {
    struct start *next; /* of those of its process that wait for a number */
    struct part part;
    uint32_t comm; /* or window; GN_NONE: not known */
    bool is_window, waiting;
    struct gn_event end; /* where it has come before the number */
    bool has_end;
    struct instance *instance;
    uint32_t member;
    struct gn_key request;
    bool named;
};

struct location {
    struct start *blocking, *blocking_rma; /* the call it is in */
    uint32_t next;                         /* of its process; GN_NONE */
};

struct process {
    struct start *first, *last; /* without a number, in starting order */
    uint32_t waiting;
    uint32_t locations; /* the first one; GN_NONE */
    uint32_t named;     /* of its starts */
    bool left;
};

struct gn_condition_collectives {
    const struct gn_definitions *d;
    struct gn_condition *condition;
    struct location *locations;
    struct process *processes;
    struct gn_map starts;    /* by request */
    struct gn_map instances; /* by number and group */
    struct group **comms, **windows;
    struct gn_pairs pairs;
    uint32_t leaving; /* in a sweep: the process that left; and what failed */
    int code;
};

/* ---- groups ---- */

/* Which member a process is; GN_NONE: none. */
static uint32_t member_of(const struct gn_condition_collectives *c, const struct group *g, uint32_t process)
{
    bool second;
    uint32_t rank = gn_comm_rank_of(c->d, g->comm, process, &second);
    return rank == GN_NONE ? GN_NONE : rank + (second ? g->split : 0);
}

static void free_group(struct group *g)
{
    if (!g)
        return;
    free(g->begun);
    free(g->left);
    free(g);
}

static void group_leave(struct group *g, uint32_t member)
{
    g->left_count += !g->left[member];
    g->left[member] = true;
}

static struct group *make_group(const struct gn_condition_collectives *c, uint32_t number, uint32_t comm)
{
    const struct gn_comm_def *def = &c->d->comms[comm];
    const uint32_t size = def->member_count + def->other_count;
    struct group *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    *g = (struct group){.number = number, .comm = comm, .size = size, .split = def->member_count};
    g->begun = calloc(size, sizeof *g->begun);
    g->left = calloc(size, sizeof *g->left);
    if (!g->begun || !g->left) {
        free_group(g);
        return NULL;
    }
    for (uint32_t m = 0; m < size; m++) {
        const uint32_t process = def->members[m];
        if (process >= c->d->process_count || c->processes[process].left ||
            member_of(c, g, process) != m) /* named twice */
            group_leave(g, m);
    }
    return g;
}

/* Of a communicator or window. NULL with *code 0: nobody there waits for another. */
static struct group *find_group(struct gn_condition_collectives *c, uint32_t comm, bool is_window, int *code)
{
    const struct gn_definitions *d = c->d;
    const uint32_t members = !is_window ? comm : comm < d->window_count ? d->windows[comm].comm : GN_NONE;
    *code = 0;
    if (members >= d->comm_count || d->comms[members].is_self ||
        d->comms[members].member_count + d->comms[members].other_count < 2)
        return NULL;
    struct group **slot = is_window ? &c->windows[comm] : &c->comms[comm];
    if (!*slot)
        *slot = make_group(c, is_window ? (uint32_t)d->comm_count + comm : comm, members);
    *code = *slot ? 0 : -ENOMEM;
    return *slot;
}

/* ---- what an instance's messages are ---- */

static bool is_rooted(enum shape shape)
{
    return shape == ONE_TO_ALL || shape == ALL_TO_ONE;
}

static bool gives(const struct instance *i, const struct what *what, uint32_t member)
{
    const struct part *p = &i->parts[member];
    const bool has_data = !what->sparse || (p->bytes_sent != 0 && p->bytes_sent != GN_BYTES_UNKNOWN);
    const bool is_asked = what->shape == ONE_TO_ALL ? member == i->root : true;
    return p->begun && has_data && is_asked;
}

static bool gets(const struct instance *i, const struct what *what, uint32_t member)
{
    const struct part *p = &i->parts[member];
    const bool has_data = !what->sparse || (p->bytes_received != 0 && p->bytes_received != GN_BYTES_UNKNOWN);
    const bool asks = what->shape == ALL_TO_ONE ? member == i->root : true;
    return p->ended && has_data && asks;
}

static int add_side(struct gn_condition_collectives *c, struct gn_pair_list *list, int64_t ticks,
                    uint32_t member, uint32_t location)
{
    if (!gn_grow(&list->sides, &list->capacity, list->count, sizeof *list->sides))
        return -ENOMEM;
    list->sides[list->count++] =
        (struct gn_pair_side){ticks, member, location, c->d->locations[location].domain};
    return 0;
}

/* Where nobody has sent or received anything, MPI libraries do not make anybody wait. But some tools do not
 * record lengths. */
static bool is_empty(const struct instance *i)
{
    for (uint32_t m = 0; m < i->group->size; m++)
        if (i->parts[m].ended && (i->parts[m].bytes_sent || i->parts[m].bytes_received))
            return false;
    return i->op != GN_COLLECTIVE_BARRIER;
}

struct range {
    uint32_t first, end; /* members */
};

static int count_between(struct gn_condition_collectives *c, const struct instance *i,
                         const struct what *what, struct range from, struct range to)
{
    struct gn_pairs *pairs = &c->pairs;
    struct gn_condition *all = c->condition;
    const bool is_whole = from.first == to.first;
    int code = 0;
    pairs->givers.count = pairs->getters.count = 0;
    pairs->prefix = what->shape == PREFIX && is_whole; /* MPI has none between groups */
    for (uint32_t m = from.first; m < from.end && code == 0; m++)
        if (gives(i, what, m))
            code = add_side(c, &pairs->givers, i->parts[m].begin_ticks, m, i->parts[m].begin_location);
    for (uint32_t m = to.first; m < to.end && code == 0; m++)
        if (gets(i, what, m))
            code = add_side(c, &pairs->getters, i->parts[m].end_ticks, m, i->parts[m].end_location);
    if (code != 0)
        return code;
    const bool vague = what->vague || i->group->number >= c->d->comm_count || is_empty(i);
    return gn_pairs_count(pairs, vague ? &all->uncertain : &all->collectives, vague ? NULL : all);
}

static int count_messages(struct gn_condition_collectives *c, const struct instance *i)
{
    const struct what what = what_is(i->op);
    const struct group *g = i->group;
    const struct range first = {0, g->split}, second = {g->split, g->size};
    if (g->split == g->size)
        return count_between(c, i, &what, first, first);
    int code = count_between(c, i, &what, first, second);
    return code ? code : count_between(c, i, &what, second, first);
}

/* All that will be known of it is known. */
static int count_instance(struct gn_condition_collectives *c, const struct instance *i)
{
    uint64_t ended = 0, missing = 0;
    for (uint32_t m = 0; m < i->group->size; m++) {
        missing += !i->parts[m].begun || !i->parts[m].ended;
        ended += i->parts[m].ended;
    }
    c->condition->unmatched += missing;
    if (!i->known)
        return 0;
    if (i->contradictory || (is_rooted(what_is(i->op).shape) && i->root == GN_NONE)) {
        c->condition->unmatched += ended;
        return 0;
    }
    return count_messages(c, i);
}

/* ---- instances ---- */

static struct gn_key key_of(const struct group *g, uint32_t number)
{
    return (struct gn_key){number, g->number};
}

static struct instance *make_instance(struct gn_condition_collectives *c, struct group *g, uint32_t number)
{
    struct instance *i = calloc(1, sizeof *i + g->size * sizeof *i->parts);
    if (!i)
        return NULL;
    i->group = g;
    i->number = number;
    i->missing = g->size - g->left_count;
    i->root = GN_NONE;
    for (uint32_t m = 0; m < g->size; m++)
        i->parts[m].over = g->left[m];
    if (gn_map_add(&c->instances, key_of(g, number), i))
        return i;
    free(i);
    return NULL;
}

/* Nothing more will come of the member. True: nor of anybody. */
static bool part_is_over(struct instance *i, uint32_t member)
{
    i->missing -= !i->parts[member].over;
    i->parts[member].over = true;
    return i->missing == 0;
}

static int close_part(struct gn_condition_collectives *c, struct instance *i, uint32_t member)
{
    if (!part_is_over(i, member))
        return 0;
    int code = count_instance(c, i);
    gn_map_remove(&c->instances, key_of(i->group, i->number));
    free(i);
    return code;
}

/* Of an intercommunicator, the root's own group says only who of it is the root. */
static uint32_t root_of(const struct group *g, uint32_t member, uint32_t root)
{
    if (g->split == g->size)
        return root < g->size ? root : GN_NONE;
    if (root == GN_ROOT_SELF)
        return member;
    const struct range other =
        member < g->split ? (struct range){g->split, g->size} : (struct range){0, g->split};
    return root < other.end - other.first ? other.first + root : GN_NONE;
}

/* What the end of a member says of the instance. */
static void learn(struct instance *i, uint32_t member, const struct gn_event *end)
{
    const uint32_t root = root_of(i->group, member, end->peer);
    i->contradictory |= i->known && i->op != end->op;
    i->op = end->op;
    i->known = true;
    if (!is_rooted(what_is(end->op).shape) || end->peer == GN_ROOT_NONE)
        return;
    i->contradictory |= root == GN_NONE || (i->root != GN_NONE && i->root != root);
    i->root = root;
}

/* ---- starts ---- */

static struct gn_key request_key(uint32_t process, uint64_t request)
{
    return (struct gn_key){request, process};
}

static struct process *process_of(struct gn_condition_collectives *c, uint32_t location)
{
    return &c->processes[c->d->locations[location].process];
}

/* Its end has come, or never will: it is found by nobody any more. */
static void unname(struct gn_condition_collectives *c, struct start *s)
{
    struct location *l = &c->locations[s->part.begin_location];
    if (l->blocking == s)
        l->blocking = NULL;
    if (l->blocking_rma == s)
        l->blocking_rma = NULL;
    if (s->named)
        gn_map_remove(&c->starts, s->request);
    c->processes[s->request.b].named -= s->named;
    s->named = false;
}

/* The process's next collective on its communicator: the start gets its number. */
static int number_start(struct gn_condition_collectives *c, struct start *s)
{
    int code;
    struct group *g = find_group(c, s->comm, s->is_window, &code);
    const uint32_t process = c->d->locations[s->part.begin_location].process;
    const uint32_t member = g ? member_of(c, g, process) : GN_NONE;
    if (!g || member >= g->size || g->left[member])
        return code;
    const uint32_t number = g->begun[member]++;
    struct instance *i = gn_map_find(&c->instances, key_of(g, number));
    if (!i && !(i = make_instance(c, g, number)))
        return -ENOMEM;
    i->parts[member] = s->part;
    s->instance = i;
    s->member = member;
    return 0;
}

/* The start has its number, and its end: it is gone. failed: what numbering it has returned. */
static int end_start(struct gn_condition_collectives *c, struct start *s, int failed)
{
    struct instance *i = s->instance;
    const uint32_t member = s->member;
    const struct gn_event end = s->end;
    const bool fits = s->comm == end.comm;
    free(s);
    if (!i)
        return failed;
    if (fits) {
        struct part *p = &i->parts[member];
        p->ended = true;
        p->end_ticks = (int64_t)end.ticks;
        p->end_location = end.location;
        p->bytes_sent = end.bytes_sent;
        p->bytes_received = end.bytes_received;
        learn(i, member, &end);
    }
    return close_part(c, i, member);
}

/* Numbers what can be numbered. */
static int drain(struct gn_condition_collectives *c, struct process *p)
{
    int code = 0;
    while (code == 0 && p->first && p->first->comm != GN_NONE) {
        struct start *s = p->first;
        p->first = s->next;
        p->waiting--;
        s->waiting = false;
        code = number_start(c, s);
        if (s->has_end)
            code = end_start(c, s, code);
    }
    return code;
}

static int append(struct gn_condition_collectives *c, struct process *p, struct start *s)
{
    s->waiting = true;
    if (p->first)
        p->last->next = s;
    else
        p->first = s;
    p->last = s;
    return ++p->waiting > UNKNOWN_MOST
               ? gn_condition_collectives_leave(c, c->d->locations[s->part.begin_location].process)
               : drain(c, p);
}

/* The open start that an end, or another begin in its place, belongs to. */
static struct start *find_start(struct gn_condition_collectives *c, const struct gn_event *e)
{
    const struct location *l = &c->locations[e->location];
    switch (e->kind) {
    case GN_EVENT_NBC_REQUEST:
    case GN_EVENT_NBC_COMPLETE:
        return gn_map_find(&c->starts, request_key(c->d->locations[e->location].process, e->request));
    case GN_EVENT_RMA_COLLECTIVE_BEGIN:
    case GN_EVENT_RMA_COLLECTIVE_END:
        return l->blocking_rma;
    default:
        return l->blocking;
    }
}

/* Its end never came. Without a number, nobody knows what it has counted for: then the process leaves. */
static int forget(struct gn_condition_collectives *c, struct start *s)
{
    struct instance *i = s->instance;
    const uint32_t member = s->member;
    if (s->waiting || s->comm == GN_NONE)
        return gn_condition_collectives_leave(c, c->d->locations[s->part.begin_location].process);
    unname(c, s);
    free(s);
    return i ? close_part(c, i, member) : 0;
}

static struct start *make_start(struct gn_condition_collectives *c, const struct gn_event *e)
{
    const bool is_window = e->kind == GN_EVENT_RMA_COLLECTIVE_BEGIN;
    struct start *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->part = (struct part){.begin_ticks = (int64_t)e->ticks,
                            .begin_location = e->location,
                            .bytes_sent = e->bytes_sent,
                            .begun = true};
    s->comm = e->comm;
    s->is_window = is_window;
    s->request = request_key(c->d->locations[e->location].process, e->request);
    s->named = e->kind == GN_EVENT_NBC_REQUEST;
    if (s->named && !gn_map_add(&c->starts, s->request, s)) {
        free(s);
        return NULL;
    }
    c->processes[s->request.b].named += s->named;
    struct location *l = &c->locations[e->location];
    if (!s->named)
        *(is_window ? &l->blocking_rma : &l->blocking) = s;
    return s;
}

static int begin(struct gn_condition_collectives *c, const struct gn_event *e)
{
    struct process *p = process_of(c, e->location);
    struct start *known = find_start(c, e);
    int code = known ? forget(c, known) : 0;
    if (code != 0)
        return code;
    if (p->left) {
        c->condition->unmatched++;
        return 0;
    }
    struct start *s = make_start(c, e);
    if (!s)
        return -ENOMEM;
    if (!s->is_window)
        return append(c, p, s);
    /* on windows one at a time: nothing that came before it is without a number */
    return s->comm != GN_NONE ? number_start(c, s) : 0;
}

static int end(struct gn_condition_collectives *c, const struct gn_event *e)
{
    struct start *s = find_start(c, e);
    if (!s)
        return 0;
    const bool unknown = s->comm == GN_NONE;
    if (unknown && e->comm == GN_NONE) /* not even its end says on which communicator */
        return gn_condition_collectives_leave(c, c->d->locations[e->location].process);
    unname(c, s);
    s->has_end = true;
    s->end = *e;
    if (unknown)
        s->comm = e->comm;
    if (s->waiting)
        return drain(c, process_of(c, s->part.begin_location));
    return end_start(c, s, unknown ? number_start(c, s) : 0);
}

int gn_condition_collectives_event(struct gn_condition_collectives *c, const struct gn_event *e)
{
    if (c->d->locations[e->location].process >= c->d->process_count)
        return 0;
    switch (e->kind) {
    case GN_EVENT_COLLECTIVE_BEGIN:
    case GN_EVENT_NBC_REQUEST:
    case GN_EVENT_RMA_COLLECTIVE_BEGIN:
        return begin(c, e);
    case GN_EVENT_COLLECTIVE_END:
    case GN_EVENT_NBC_COMPLETE:
    case GN_EVENT_RMA_COLLECTIVE_END:
        return end(c, e);
    default:
        return 0;
    }
}

/* ---- leaving ---- */

static bool is_start_of(void *value, void *with)
{
    const struct start *s = value;
    const struct gn_condition_collectives *c = with;
    if (s->request.b != c->leaving)
        return false;
    free(value);
    return true;
}

static void free_starts(struct gn_condition_collectives *c, uint32_t process)
{
    struct process *p = &c->processes[process];
    for (struct start *s = p->first, *next; s; s = next) {
        next = s->next;
        if (s->has_end) /* the others are found below */
            free(s);
    }
    p->first = NULL;
    for (uint32_t l = p->locations; l != GN_NONE; l = c->locations[l].next) {
        free(c->locations[l].blocking);
        free(c->locations[l].blocking_rma);
        c->locations[l].blocking = c->locations[l].blocking_rma = NULL;
    }
    if (p->named > 0)
        gn_map_sweep(&c->starts, is_start_of, c);
    p->named = 0;
}

static bool is_over_without(void *value, void *with)
{
    struct instance *i = value;
    struct gn_condition_collectives *c = with;
    const uint32_t member = member_of(c, i->group, c->leaving);
    if (member >= i->group->size || !part_is_over(i, member))
        return false;
    int code = count_instance(c, i);
    c->code = c->code ? c->code : code;
    free(i);
    return true;
}

static void leave_groups(struct gn_condition_collectives *c, struct group **groups, size_t count,
                         uint32_t process)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t member = groups[i] ? member_of(c, groups[i], process) : GN_NONE;
        if (member != GN_NONE)
            group_leave(groups[i], member);
    }
}

int gn_condition_collectives_leave(struct gn_condition_collectives *c, uint32_t process)
{
    if (process >= c->d->process_count || c->processes[process].left)
        return 0;
    c->processes[process].left = true;
    c->leaving = process;
    free_starts(c, process);
    leave_groups(c, c->comms, c->d->comm_count, process);
    leave_groups(c, c->windows, c->d->window_count, process);
    if (c->instances.count > 0)
        gn_map_sweep(&c->instances, is_over_without, c);
    return c->code;
}

bool gn_condition_collectives_all_counted(const struct gn_condition_collectives *c)
{
    return c->instances.count == 0;
}

/* ---- all ---- */

static void link_locations(struct gn_condition_collectives *c)
{
    for (size_t i = 0; i < c->d->process_count; i++)
        c->processes[i].locations = GN_NONE;
    for (size_t i = 0; i < c->d->location_count; i++) {
        const uint32_t process = c->d->locations[i].process;
        if (process >= c->d->process_count)
            continue;
        c->locations[i].next = c->processes[process].locations;
        c->processes[process].locations = (uint32_t)i;
    }
    for (size_t i = 0; i < c->d->process_count; i++)
        c->processes[i].left = c->processes[i].locations == GN_NONE;
}

struct gn_condition_collectives *gn_condition_collectives_new(const struct gn_definitions *definitions,
                                                              const struct gn_latency *latency,
                                                              struct gn_condition *condition)
{
    struct gn_condition_collectives *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->d = definitions;
    c->condition = condition;
    c->pairs.latency = latency;
    c->locations = calloc(definitions->location_count + 1, sizeof *c->locations);
    c->processes = calloc(definitions->process_count + 1, sizeof *c->processes);
    c->comms = calloc(definitions->comm_count + 1, sizeof(struct group *));
    c->windows = calloc(definitions->window_count + 1, sizeof(struct group *));
    if (!c->locations || !c->processes || !c->comms || !c->windows) {
        gn_condition_collectives_free(c);
        return NULL;
    }
    link_locations(c);
    return c;
}

static bool drop_all(void *value, void *with)
{
    (void)with;
    free(value);
    return true;
}

void gn_condition_collectives_free(struct gn_condition_collectives *c)
{
    if (!c)
        return;
    for (size_t i = 0; c->processes && c->locations && i < c->d->process_count; i++) {
        c->leaving = (uint32_t)i;
        free_starts(c, (uint32_t)i);
    }
    for (size_t i = 0; c->comms && i < c->d->comm_count; i++)
        free_group(c->comms[i]);
    for (size_t i = 0; c->windows && i < c->d->window_count; i++)
        free_group(c->windows[i]);
    gn_map_sweep(&c->instances, drop_all, NULL);
    gn_map_clear(&c->instances);
    gn_map_clear(&c->starts);
    gn_pairs_clear(&c->pairs);
    free(c->comms);
    free(c->windows);
    free(c->locations);
    free(c->processes);
    free(c);
}

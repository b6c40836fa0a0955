#include "repair/condition_collectives.h"

#include "base/grow.h"
#include "base/map.h"
#include "repair/condition_judge.h"
#include "repair/condition_pairs.h"

#include <errno.h>
#include <stdlib.h>

/* An event's time. */
struct moment {
    int64_t ticks, raw_ticks; /* presynchronised, and as its clock showed it */
};

/* A member's part in an instance. */
struct part {
    struct moment begin_time, end_time;
    uint64_t bytes_sent, bytes_received;
    uint32_t begin_location, end_location;
    bool begun, ended, over; /* over: nothing of it will come any more */
};

/* Of a communicator or window. */
struct group {
    uint32_t number;      /* tells groups apart, as a key */
    uint32_t comm;        /* whose members take part */
    uint32_t size, split; /* members from split on are the second group of an intercommunicator */
    bool *left;           /* [size] members that take part no more */
    uint32_t left_count;
    uint64_t *parts;    /* [size] that each member has begun, whether it was known of which instance or not */
    uint64_t instances; /* that there are, therefore */
};

struct instance {
    struct group *group;
    uint32_t number, missing; /* missing: members that are not over */
    uint32_t root;            /* member; GN_NONE: not known */
    uint8_t op;
    bool known, contradictory; /* known: some end has said what it is */
    struct part parts[];
};

/* A collective that a location has begun. */
struct begun {
    struct part part;
    struct instance *instance; /* NULL: it is not known, or that of a process that has left */
    uint32_t comm, member;     /* comm: or window; of the instance */
    bool counted;              /* among the parts of its group */
};

struct location {
    struct begun blocking, blocking_rma; /* the calls that it is in */
    uint32_t next;                       /* of its process; GN_NONE */
};

struct process {
    uint32_t locations; /* the first one; GN_NONE */
    uint32_t requests;  /* nonblocking ones that were begun */
    bool left;
};

struct gn_condition_collectives {
    const struct gn_definitions *d;
    struct gn_condition *condition;
    struct location *locations;
    struct process *processes;
    struct gn_map requests;  /* nonblocking ones that were begun */
    struct gn_map instances; /* by number and group */
    struct group **comms, **windows;
    struct gn_pairs pairs;
    struct gn_condition_judge *judge;
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
    free(g->left);
    free(g->parts);
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
    g->left = calloc(size, sizeof *g->left);
    g->parts = calloc(size, sizeof *g->parts);
    if (!g->left || !g->parts) {
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

static bool is_rooted(uint8_t op)
{
    return gn_shape_is_rooted(gn_collective_shape(op, false));
}

/* To and from others, or itself: pairs of one location are left out where they are counted. */
static bool gives(const struct instance *i, uint32_t member)
{
    const struct part *p = &i->parts[member];
    const bool is_asked = gn_collective_shape(i->op, false) != GN_SHAPE_ONE_TO_ALL || member == i->root;
    return p->begun && gn_collective_has_data(i->op, p->bytes_sent) && is_asked;
}

static bool gets(const struct instance *i, uint32_t member)
{
    const struct part *p = &i->parts[member];
    const bool asks = gn_collective_shape(i->op, false) != GN_SHAPE_ALL_TO_ONE || member == i->root;
    return p->ended && gn_collective_has_data(i->op, p->bytes_received) && asks;
}

static int add_side(struct gn_condition_collectives *c, struct gn_pair_list *list, struct moment time,
                    uint32_t member, uint32_t location)
{
    if (!gn_grow(&list->sides, &list->capacity, list->count, sizeof *list->sides))
        return -ENOMEM;
    list->sides[list->count++] =
        (struct gn_pair_side){time.ticks, time.raw_ticks, member, location, c->d->locations[location].domain};
    return 0;
}

/* Nobody has sent or received anything. But some tools do not record lengths. */
static bool is_empty(const struct instance *i)
{
    for (uint32_t m = 0; m < i->group->size; m++)
        if (i->parts[m].ended &&
            !gn_collective_is_empty(i->op, i->parts[m].bytes_sent, i->parts[m].bytes_received))
            return false;
    return gn_collective_is_empty(i->op, 0, 0);
}

struct range {
    uint32_t first, end; /* members */
};

static bool is_on_window(const struct gn_condition_collectives *c, const struct group *g)
{
    return g->number >= c->d->comm_count;
}

static int count_pairs(struct gn_condition_collectives *c, const struct instance *i)
{
    struct gn_condition *all = c->condition;
    if (!gn_collective_only_may_hold(i->op, is_on_window(c, i->group)) && !is_empty(i))
        return gn_pairs_count(&c->pairs, &all->collectives, all);
    int code = gn_condition_judge(c->judge, &c->pairs);
    return code ? code : gn_pairs_count(&c->pairs, &all->uncertain, NULL);
}

static int count_between(struct gn_condition_collectives *c, const struct instance *i, struct range from,
                         struct range to)
{
    struct gn_pairs *pairs = &c->pairs;
    const bool is_between = from.first != to.first;
    int code = 0;
    pairs->givers.count = pairs->getters.count = 0;
    pairs->prefix = gn_collective_shape(i->op, is_between) == GN_SHAPE_PREFIX;
    for (uint32_t m = from.first; m < from.end && code == 0; m++)
        if (gives(i, m))
            code = add_side(c, &pairs->givers, i->parts[m].begin_time, m, i->parts[m].begin_location);
    for (uint32_t m = to.first; m < to.end && code == 0; m++)
        if (gets(i, m))
            code = add_side(c, &pairs->getters, i->parts[m].end_time, m, i->parts[m].end_location);
    return code ? code : count_pairs(c, i);
}

static int count_messages(struct gn_condition_collectives *c, const struct instance *i)
{
    const struct group *g = i->group;
    const struct range first = {0, g->split}, second = {g->split, g->size};
    if (g->split == g->size)
        return count_between(c, i, first, first);
    int code = count_between(c, i, first, second);
    return code ? code : count_between(c, i, second, first);
}

static struct gn_condition_coverage *coverage_of(struct gn_condition_collectives *c, const struct group *g)
{
    return &c->condition->coverage[is_on_window(c, g) ? GN_CONDITION_WINDOWS : GN_CONDITION_COLLECTIVES];
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
    if (i->contradictory || (is_rooted(i->op) && i->root == GN_NONE)) {
        c->condition->unmatched += ended;
        return 0;
    }
    coverage_of(c, i->group)->checked += missing == 0;
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
    if (!is_rooted(end->op) || end->peer == GN_ROOT_NONE)
        return;
    i->contradictory |= root == GN_NONE || (i->root != GN_NONE && i->root != root);
    i->root = root;
}

/* ---- begins and ends ---- */

static struct gn_key request_key(const struct gn_condition_collectives *c, const struct gn_event *e)
{
    return (struct gn_key){e->request, c->d->locations[e->location].process};
}

static bool is_of_window(const struct gn_event *e)
{
    return e->kind == GN_EVENT_RMA_COLLECTIVE_BEGIN || e->kind == GN_EVENT_RMA_COLLECTIVE_END;
}

/* The communicator of a part is known: there is one more. Of a process that is no member, nobody has it. */
static void count_part(struct gn_condition_collectives *c, struct group *g, uint32_t process)
{
    const uint32_t member = member_of(c, g, process);
    if (member < g->size && ++g->parts[member] <= g->instances)
        return;
    g->instances += member < g->size;
    coverage_of(c, g)->all++;
}

/* The end of a part is there, and not which instance it is of: from here on that is not known of any that
 * the process takes part in. */
static int end_unknown(struct gn_condition_collectives *c, const struct group *g, const struct gn_event *e)
{
    const uint32_t process = c->d->locations[e->location].process;
    c->condition->unmatched++;
    return member_of(c, g, process) < g->size ? gn_condition_collectives_leave(c, process) : 0;
}

/* The instance that the sort says it is of. NULL with *code 0: none that anybody waits in. */
static struct instance *find_instance(struct gn_condition_collectives *c, const struct gn_event *e,
                                      const struct gn_place *place, struct begun *b, int *code)
{
    struct group *g = find_group(c, e->comm, is_of_window(e), code);
    if (!g)
        return NULL;
    if (!b->counted)
        count_part(c, g, c->d->locations[e->location].process);
    b->counted = true;
    if (place->instance == GN_NONE || place->flags & GN_PLACE_AMBIGUOUS || place->member >= g->size ||
        g->left[place->member]) {
        *code = gn_event_begins(e->kind) ? 0 : end_unknown(c, g, e);
        return NULL;
    }
    struct instance *i = gn_map_find(&c->instances, key_of(g, place->instance));
    if (!i && !(i = make_instance(c, g, place->instance)))
        *code = -ENOMEM;
    return i;
}

/* Where a begin waits for its end. NULL: no memory. */
static struct begun *keep_begun(struct gn_condition_collectives *c, const struct gn_event *e)
{
    struct location *l = &c->locations[e->location];
    if (e->kind != GN_EVENT_NBC_REQUEST)
        return is_of_window(e) ? &l->blocking_rma : &l->blocking;
    struct begun *kept = gn_map_find(&c->requests, request_key(c, e));
    if (kept || !(kept = calloc(1, sizeof *kept)))
        return kept;
    if (!gn_map_add(&c->requests, request_key(c, e), kept)) {
        free(kept);
        return NULL;
    }
    c->processes[c->d->locations[e->location].process].requests++;
    return kept;
}

/* The member's part in the instance is what it has begun. */
static void enter(struct begun *b, struct instance *i, const struct gn_event *e, const struct gn_place *place)
{
    b->instance = i;
    b->comm = e->comm;
    b->member = place->member;
    i->parts[b->member] = b->part;
}

static int begin(struct gn_condition_collectives *c, const struct gn_event *e, int64_t ticks,
                 const struct gn_place *place)
{
    struct begun *b = keep_begun(c, e);
    if (!b)
        return -ENOMEM;
    /* the last one never ended */
    int code = b->instance ? close_part(c, b->instance, b->member) : 0;
    *b = (struct begun){.part = {.begin_time = {ticks, (int64_t)e->ticks},
                                 .begin_location = e->location,
                                 .bytes_sent = e->bytes_sent,
                                 .begun = true}};
    if (code != 0 || e->comm == GN_NONE) /* its end will say what it is */
        return code;
    struct instance *i = find_instance(c, e, place, b, &code);
    if (i)
        enter(b, i, e, place);
    return code;
}

/* What the begin left there; it is gone. */
static struct begun take_begun(struct gn_condition_collectives *c, const struct gn_event *e)
{
    struct location *l = &c->locations[e->location];
    struct begun *kept = is_of_window(e) ? &l->blocking_rma : &l->blocking;
    if (e->kind == GN_EVENT_NBC_COMPLETE)
        kept = gn_map_find(&c->requests, request_key(c, e));
    const struct begun taken = kept ? *kept : (struct begun){.instance = NULL};
    if (kept && e->kind == GN_EVENT_NBC_COMPLETE) {
        gn_map_remove(&c->requests, request_key(c, e));
        c->processes[c->d->locations[e->location].process].requests--;
        free(kept);
    } else if (kept) {
        *kept = (struct begun){.instance = NULL};
    }
    return taken;
}

static int end(struct gn_condition_collectives *c, const struct gn_event *e, int64_t ticks,
               const struct gn_place *place)
{
    int code = 0;
    struct begun b = take_begun(c, e);
    if (!b.part.begun) {
        struct group *g = find_group(c, e->comm, is_of_window(e), &code);
        if (g && !b.counted)
            count_part(c, g, c->d->locations[e->location].process);
        return code;
    }
    if (b.instance && (b.comm != e->comm || place->instance == GN_NONE)) /* not the end of that one */
        return close_part(c, b.instance, b.member);
    struct instance *i = find_instance(c, e, place, &b, &code);
    if (!i)
        return code;
    if (!b.instance)
        enter(&b, i, e, place);
    struct part *p = &i->parts[b.member];
    p->ended = true;
    p->end_time = (struct moment){ticks, (int64_t)e->ticks};
    p->end_location = e->location;
    p->bytes_sent = e->bytes_sent;
    p->bytes_received = e->bytes_received;
    learn(i, b.member, e);
    return close_part(c, i, b.member);
}

int gn_condition_collectives_event(struct gn_condition_collectives *c, const struct gn_event *e,
                                   int64_t ticks, const struct gn_place *place)
{
    if (c->d->locations[e->location].process >= c->d->process_count)
        return 0;
    switch (e->kind) {
    case GN_EVENT_COLLECTIVE_BEGIN:
    case GN_EVENT_NBC_REQUEST:
    case GN_EVENT_RMA_COLLECTIVE_BEGIN:
        return begin(c, e, ticks, place);
    case GN_EVENT_COLLECTIVE_END:
    case GN_EVENT_NBC_COMPLETE:
    case GN_EVENT_RMA_COLLECTIVE_END:
        return end(c, e, ticks, place);
    default:
        return 0;
    }
}

/* ---- leaving ---- */

/* What it had begun stays begun: its end is not another part. */
static bool forget_request(void *value, void *with)
{
    struct begun *b = value;
    const struct gn_condition_collectives *c = with;
    if (c->d->locations[b->part.begin_location].process == c->leaving) {
        b->instance = NULL;
        b->part.begun = false;
    }
    return false;
}

/* Its parts are over, in instances that may be gone. */
static void forget_begun(struct gn_condition_collectives *c, uint32_t process)
{
    for (uint32_t l = c->processes[process].locations; l != GN_NONE; l = c->locations[l].next)
        c->locations[l].blocking.instance = c->locations[l].blocking_rma.instance = NULL;
    if (c->processes[process].requests > 0)
        gn_map_sweep(&c->requests, forget_request, c);
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
    forget_begun(c, process);
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
    for (size_t i = 0; i < c->d->process_count; i++) /* of a process that has none nothing comes */
        c->processes[i].left = c->processes[i].locations == GN_NONE;
}

struct gn_condition_collectives *gn_condition_collectives_new(const struct gn_definitions *definitions,
                                                              const struct gn_condition_terms *terms,
                                                              struct gn_condition *condition)
{
    struct gn_condition_collectives *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->d = definitions;
    c->condition = condition;
    c->pairs.latency = terms->latency;
    c->judge = gn_condition_judge_new(definitions, terms->bounds, &condition->judged);
    c->locations = calloc(definitions->location_count + 1, sizeof *c->locations);
    c->processes = calloc(definitions->process_count + 1, sizeof *c->processes);
    c->comms = calloc(definitions->comm_count + 1, sizeof(struct group *));
    c->windows = calloc(definitions->window_count + 1, sizeof(struct group *));
    if (!c->judge || !c->locations || !c->processes || !c->comms || !c->windows) {
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
    for (size_t i = 0; c->comms && i < c->d->comm_count; i++)
        free_group(c->comms[i]);
    for (size_t i = 0; c->windows && i < c->d->window_count; i++)
        free_group(c->windows[i]);
    gn_map_sweep(&c->instances, drop_all, NULL);
    gn_map_clear(&c->instances);
    gn_map_sweep(&c->requests, drop_all, NULL);
    gn_map_clear(&c->requests);
    gn_pairs_clear(&c->pairs);
    gn_condition_judge_free(c->judge);
    free(c->comms);
    free(c->windows);
    free(c->locations);
    free(c->processes);
    free(c);
}

#include "repair/condition_teams.h"

#include "base/grow.h"
#include "base/map.h"
#include "repair/condition_pairs.h"

#include <errno.h>
#include <stdlib.h>

/* A thread in a team, or in one of its barriers. */
struct span {
    uint32_t location;
    int64_t begin_ticks, end_ticks;
    bool ended;
};

struct spans {
    struct span *all;
    size_t count, capacity;
};

struct team {
    struct gn_key key;
    uint32_t comm, process;
    uint32_t master; /* location; GN_NONE: nobody has forked it */
    int64_t fork_ticks, join_ticks;
    bool joined;
    struct spans threads;
    size_t ended;
    struct spans *barriers;
    size_t barrier_count, barrier_capacity;
};

/* That a thread is in a team. */
struct stay {
    struct team *team;
    uint32_t barriers;      /* that it has left */
    uint32_t depth, region; /* of the barrier it is in; depth 0: in none */
};

struct thread {
    struct stay *stays; /* the innermost last */
    size_t count, capacity;
    bool has_forked;
    int64_t fork_ticks;
    struct team *to_join;
};

struct gn_condition_teams {
    const struct gn_definitions *d;
    struct gn_condition *condition;
    struct thread *threads; /* by location */
    bool *left;             /* by process */
    struct gn_map teams;    /* by communicator and instance */
    struct gn_map begun;    /* by communicator and location: how often */
    struct gn_pairs pairs;
    uint32_t leaving; /* in a sweep; and what failed */
    int code;
};

/* ---- counting ---- */

static int by_location(const void *a, const void *b)
{
    const struct span *one = a, *other = b;
    return (one->location > other->location) - (one->location < other->location);
}

static int add_side(struct gn_condition_teams *c, struct gn_pair_list *list, uint32_t location, int64_t ticks)
{
    if (!gn_grow(&list->sides, &list->capacity, list->count, sizeof *list->sides))
        return -ENOMEM;
    list->sides[list->count++] =
        (struct gn_pair_side){ticks, ticks, location, location, c->d->locations[location].domain};
    return 0;
}

/* Whoever has begun gives, and whoever has ended gets; of the master alone (GN_NONE: there is none) at
 * `ticks` when it does either for all others. */
enum direction { FROM_MASTER, TO_MASTER, AMONG_ALL };

static int count_spans(struct gn_condition_teams *c, struct spans *spans, enum direction direction,
                       uint32_t master, int64_t ticks)
{
    struct gn_pair_list *givers = &c->pairs.givers, *getters = &c->pairs.getters;
    int code = 0;
    givers->count = getters->count = 0;
    if (spans->count > 0)
        qsort(spans->all, spans->count, sizeof *spans->all, by_location);
    for (size_t i = 0; i < spans->count && code == 0; i++) {
        const struct span *s = &spans->all[i];
        if (direction != AMONG_ALL && s->location == master)
            continue;
        if (direction == FROM_MASTER)
            code = add_side(c, getters, s->location, s->begin_ticks);
        else if (direction == TO_MASTER)
            code = s->ended ? add_side(c, givers, s->location, s->end_ticks) : 0;
        else if ((code = add_side(c, givers, s->location, s->begin_ticks)) == 0 && s->ended)
            code = add_side(c, getters, s->location, s->end_ticks);
    }
    if (code == 0 && direction != AMONG_ALL)
        code = add_side(c, direction == FROM_MASTER ? givers : getters, master, ticks);
    return code ? code : gn_pairs_count(&c->pairs, &c->condition->collectives, c->condition);
}

/* It is known who has forked and joined them, and each has ended all that it has begun. */
static bool is_whole(const struct team *t)
{
    for (size_t i = 0; i < t->barrier_count; i++)
        for (size_t j = 0; j < t->barriers[i].count; j++)
            if (!t->barriers[i].all[j].ended)
                return false;
    return t->master != GN_NONE && t->joined && t->ended >= t->threads.count;
}

static int count_team(struct gn_condition_teams *c, struct team *t)
{
    int code = 0;
    c->condition->coverage[GN_CONDITION_TEAMS].all++;
    c->condition->coverage[GN_CONDITION_TEAMS].checked += is_whole(t);
    if (t->master != GN_NONE)
        code = count_spans(c, &t->threads, FROM_MASTER, t->master, t->fork_ticks);
    if (code == 0 && t->joined)
        code = count_spans(c, &t->threads, TO_MASTER, t->master, t->join_ticks);
    for (size_t i = 0; i < t->barrier_count && code == 0; i++)
        code = count_spans(c, &t->barriers[i], AMONG_ALL, GN_NONE, 0);
    return code;
}

static void free_team(struct team *t)
{
    for (size_t i = 0; i < t->barrier_count; i++)
        free(t->barriers[i].all);
    free(t->barriers);
    free(t->threads.all);
    free(t);
}

/* How many threads it has at least: a definition for another process's threads says nothing of this one's. */
static uint32_t least_threads(const struct gn_condition_teams *c, const struct team *t)
{
    const struct gn_comm_def *comm = &c->d->comms[t->comm];
    for (uint32_t i = 0; i < comm->member_count; i++)
        if (comm->members[i] != t->process)
            return 0;
    return comm->member_count;
}

/* All of its threads have ended (and no more are in it than its definition says), and its master has joined
 * them. */
static int count_if_over(struct gn_condition_teams *c, struct team *t)
{
    if (t->ended < t->threads.count || t->ended < least_threads(c, t) || (t->master != GN_NONE && !t->joined))
        return 0;
    int code = count_team(c, t);
    gn_map_remove(&c->teams, t->key);
    free_team(t);
    return code;
}

/* ---- events ---- */

static struct span *find_span(const struct spans *spans, uint32_t location)
{
    for (size_t i = 0; i < spans->count; i++)
        if (spans->all[i].location == location)
            return &spans->all[i];
    return NULL;
}

static int open_span(struct spans *spans, uint32_t location, int64_t ticks)
{
    if (!gn_grow(&spans->all, &spans->capacity, spans->count, sizeof *spans->all))
        return -ENOMEM;
    spans->all[spans->count++] = (struct span){.location = location, .begin_ticks = ticks};
    return 0;
}

static void close_span(struct spans *spans, uint32_t location, int64_t ticks)
{
    struct span *s = find_span(spans, location);
    if (!s)
        return;
    s->end_ticks = ticks;
    s->ended = true;
}

/* How often the location has begun the team before; −1: no memory. */
static int64_t next_instance(struct gn_condition_teams *c, uint32_t comm, uint32_t location)
{
    const struct gn_key key = {comm, location};
    const uintptr_t before = (uintptr_t)gn_map_find(&c->begun, key);
    gn_map_remove(&c->begun, key);
    return gn_map_add(&c->begun, key, (void *)(before + 1)) ? (int64_t)before : -1;
}

static struct team *find_team(struct gn_condition_teams *c, uint32_t comm, uint32_t location)
{
    const int64_t number = next_instance(c, comm, location);
    const struct gn_key key = {comm, (uint64_t)number << 32 | c->d->locations[location].process};
    struct team *t = number < 0 ? NULL : gn_map_find(&c->teams, key);
    if (t || number < 0 || !(t = calloc(1, sizeof *t)))
        return t;
    *t = (struct team){
        .key = key, .comm = comm, .process = c->d->locations[location].process, .master = GN_NONE};
    if (gn_map_add(&c->teams, key, t))
        return t;
    free(t);
    return NULL;
}

static int begun(struct gn_condition_teams *c, const struct gn_event *e)
{
    struct thread *thread = &c->threads[e->location];
    const bool has_forked = thread->has_forked;
    thread->has_forked = false;
    if (e->comm >= c->d->comm_count)
        return 0;
    struct team *t = find_team(c, e->comm, e->location);
    if (!t || !gn_grow(&thread->stays, &thread->capacity, thread->count, sizeof *thread->stays))
        return -ENOMEM;
    thread->stays[thread->count++] = (struct stay){.team = t};
    if (has_forked && t->master == GN_NONE) {
        t->master = e->location;
        t->fork_ticks = thread->fork_ticks;
    }
    return open_span(&t->threads, e->location, (int64_t)e->ticks);
}

static int ended(struct gn_condition_teams *c, const struct gn_event *e)
{
    struct thread *thread = &c->threads[e->location];
    if (thread->count == 0 || thread->stays[thread->count - 1].team->comm != e->comm)
        return 0;
    struct team *t = thread->stays[--thread->count].team;
    close_span(&t->threads, e->location, (int64_t)e->ticks);
    t->ended++;
    if (t->master == e->location)
        thread->to_join = t;
    return count_if_over(c, t);
}

static int joined(struct gn_condition_teams *c, const struct gn_event *e)
{
    struct team *t = c->threads[e->location].to_join;
    c->threads[e->location].to_join = NULL;
    if (!t)
        return 0;
    t->joined = true;
    t->join_ticks = (int64_t)e->ticks;
    return count_if_over(c, t);
}

static struct spans *barrier_of(const struct stay *stay)
{
    struct team *t = stay->team;
    while (t->barrier_count <= stay->barriers) {
        if (!gn_grow(&t->barriers, &t->barrier_capacity, t->barrier_count, sizeof *t->barriers))
            return NULL;
        t->barriers[t->barrier_count++] = (struct spans){.all = NULL};
    }
    return &t->barriers[stay->barriers];
}

static int entered(struct gn_condition_teams *c, const struct gn_event *e, struct stay *stay)
{
    if (stay->depth > 0) {
        stay->depth += stay->region == e->region;
        return 0;
    }
    if (e->region >= c->d->region_count || c->d->regions[e->region].role != GN_ROLE_BARRIER)
        return 0;
    struct spans *barrier = barrier_of(stay);
    stay->depth = 1;
    stay->region = e->region;
    return barrier ? open_span(barrier, e->location, (int64_t)e->ticks) : -ENOMEM;
}

static void left_region(const struct gn_event *e, struct stay *stay)
{
    if (stay->depth == 0 || stay->region != e->region || --stay->depth > 0)
        return;
    close_span(&stay->team->barriers[stay->barriers++], e->location, (int64_t)e->ticks);
}

int gn_condition_teams_event(struct gn_condition_teams *c, const struct gn_event *e)
{
    const uint32_t process = c->d->locations[e->location].process;
    struct thread *thread = &c->threads[e->location];
    if (process >= c->d->process_count)
        return 0;
    if (c->left[process]) {
        c->condition->coverage[GN_CONDITION_TEAMS].all += e->kind == GN_EVENT_THREAD_FORK;
        return 0;
    }
    struct stay *stay = thread->count ? &thread->stays[thread->count - 1] : NULL;
    switch (e->kind) {
    case GN_EVENT_THREAD_FORK:
        thread->has_forked = true;
        thread->fork_ticks = (int64_t)e->ticks;
        return 0;
    case GN_EVENT_THREAD_BEGIN:
        return begun(c, e);
    case GN_EVENT_THREAD_END:
        return ended(c, e);
    case GN_EVENT_THREAD_JOIN:
        return joined(c, e);
    case GN_EVENT_ENTER:
        return stay ? entered(c, e, stay) : 0;
    case GN_EVENT_LEAVE:
        if (stay)
            left_region(e, stay);
        return 0;
    default:
        return 0;
    }
}

/* ---- the end ---- */

static bool is_of_process(void *value, void *with)
{
    const struct gn_condition_teams *c = with;
    struct team *t = value;
    if (t->process != c->leaving)
        return false;
    c->condition->unmatched += t->threads.count;
    c->condition->coverage[GN_CONDITION_TEAMS].all++;
    free_team(t);
    return true;
}

void gn_condition_teams_leave(struct gn_condition_teams *c, uint32_t process)
{
    if (process >= c->d->process_count || c->left[process])
        return;
    c->left[process] = true;
    c->leaving = process;
    if (c->teams.count > 0)
        gn_map_sweep(&c->teams, is_of_process, c);
}

static bool count_open(void *value, void *with)
{
    struct gn_condition_teams *c = with;
    const int code = c->left[((struct team *)value)->process] ? 0 : count_team(c, value);
    c->code = c->code ? c->code : code;
    free_team(value);
    return true;
}

int gn_condition_teams_finish(struct gn_condition_teams *c)
{
    if (c->teams.count > 0)
        gn_map_sweep(&c->teams, count_open, c);
    return c->code ? c->code : c->teams.count > 0 ? -ENOMEM : 0;
}

static bool drop(void *value, void *with)
{
    (void)with;
    free_team(value);
    return true;
}

struct gn_condition_teams *gn_condition_teams_new(const struct gn_definitions *definitions,
                                                  const struct gn_latency *latency,
                                                  struct gn_condition *condition)
{
    struct gn_condition_teams *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->d = definitions;
    c->condition = condition;
    c->pairs.latency = latency;
    c->threads = calloc(definitions->location_count + 1, sizeof *c->threads);
    c->left = calloc(definitions->process_count + 1, sizeof *c->left);
    if (c->threads && c->left)
        return c;
    gn_condition_teams_free(c);
    return NULL;
}

void gn_condition_teams_free(struct gn_condition_teams *c)
{
    if (!c)
        return;
    for (size_t i = 0; c->threads && i < c->d->location_count; i++)
        free(c->threads[i].stays);
    if (c->teams.count > 0)
        gn_map_sweep(&c->teams, drop, NULL);
    gn_map_clear(&c->teams);
    gn_map_clear(&c->begun);
    gn_pairs_clear(&c->pairs);
    free(c->threads);
    free(c->left);
    free(c);
}

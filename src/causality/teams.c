#include "causality/teams.h"

#include "base/grow.h"
#include "base/map.h"
#include "causality/handovers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Barriers of a team that are not complete: with more, it is smaller than its definition says. */
enum { OPEN_MOST = 65536 };

struct sync {
    struct sync *next, *previous;
    struct gn_team_sync what;
    uint32_t barrier;
    size_t capacity, expected; /* parts; expected 0: not known */
    struct gn_team_part *parts;
};

struct team {
    struct gn_key key;
    struct team *next, *previous; /* of all that are open */
    uint32_t comm, process;
    uint32_t master; /* location; GN_NONE: nobody has forked it */
    size_t begun, ended, in_barriers;
    bool joined, is_kept;
    struct sync *first, *last; /* the oldest first; so barriers are in their order */
    struct sync *alone[2];     /* of these, the fork and the join */
    size_t open;
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
    struct gn_team_part fork;
    struct team *to_join;
};

struct gn_teams {
    const struct gn_definitions *definitions;
    struct gn_teams_sink sink;
    struct thread *threads; /* by location */
    size_t thread_count;
    struct gn_map teams; /* by communicator, instance and process */
    struct team *first;
    struct gn_map begun; /* by communicator and location: how often */
    struct numbers {
        uint32_t next[GN_TEAM_SYNC_KINDS];
        uint32_t forks; /* of which no team is known yet */
        uint32_t kept;  /* teams that seem over, but may be of one of these */
    } * numbers;        /* by process */
    size_t process_count;
    struct gn_handovers *handovers;
    uint64_t contradictions;
};

/* ---- forks, joins, barriers ---- */

/* How many threads the team has; 0: not known. A team that is defined for another process's threads (eztrace
 * numbers the teams of each process from 1, and one definition of each number is in the archive) says nothing
 * of how many there are here. */
static uint32_t threads_of(const struct gn_teams *t, const struct team *team)
{
    const struct gn_comm_def *comm = &t->definitions->comms[team->comm];
    for (uint32_t i = 0; i < comm->member_count; i++)
        if (comm->members[i] != team->process)
            return 0;
    return comm->member_count;
}

static struct sync *find_sync(const struct team *team, enum gn_team_sync_kind kind, uint32_t barrier)
{
    if (kind != GN_TEAM_BARRIER)
        return team->alone[kind];
    for (struct sync *s = team->last; s; s = s->previous)
        if (s->what.kind == kind && s->barrier <= barrier)
            return s->barrier == barrier ? s : NULL;
    return NULL;
}

static struct sync *make_sync(struct gn_teams *t, struct team *team, enum gn_team_sync_kind kind,
                              uint32_t barrier)
{
    struct sync *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->what = (struct gn_team_sync){
        .kind = kind, .process = team->process, .number = t->numbers[team->process].next[kind]++};
    s->barrier = barrier;
    s->expected = (size_t)threads_of(t, team) * (kind == GN_TEAM_BARRIER ? 2 : 1);
    s->previous = team->last;
    *(team->last ? &team->last->next : &team->first) = s;
    team->last = s;
    team->open++;
    if (kind != GN_TEAM_BARRIER)
        team->alone[kind] = s;
    return s;
}

static void free_sync(struct team *team, struct sync *sync)
{
    *(sync->previous ? &sync->previous->next : &team->first) = sync->next;
    *(sync->next ? &sync->next->previous : &team->last) = sync->previous;
    team->open--;
    if (sync->what.kind != GN_TEAM_BARRIER)
        team->alone[sync->what.kind] = NULL;
    free(sync->parts);
    free(sync);
}

static int close_sync(struct gn_teams *t, struct team *team, struct sync *sync)
{
    int code = t->sink.synced(t->sink.self, &sync->what);
    free_sync(team, sync);
    return code;
}

/* The part belongs to the team's fork, join, or j-th barrier. */
static int add(struct gn_teams *t, struct team *team, enum gn_team_sync_kind kind, uint32_t barrier,
               const struct gn_team_part *part)
{
    struct sync *s = find_sync(team, kind, barrier);
    if (!s)
        s = make_sync(t, team, kind, barrier);
    if (!s || !gn_grow(&s->parts, &s->capacity, s->what.count, sizeof *s->parts))
        return -ENOMEM;
    s->parts[s->what.count++] = *part;
    s->what.parts = s->parts;
    s->what.givers += part->gives;
    int code = t->sink.added ? t->sink.added(t->sink.self, &s->what) : 0;
    if (code != 0)
        return code;
    if (s->what.count == s->expected)
        return close_sync(t, team, s);
    return team->open > OPEN_MOST ? close_sync(t, team, team->first) : 0;
}

/* ---- teams ---- */

static void free_team(struct gn_teams *t, struct team *team)
{
    if (team->is_kept)
        t->numbers[team->process].kept--;
    while (team->first)
        free_sync(team, team->first);
    *(team->previous ? &team->previous->next : &t->first) = team->next;
    if (team->next)
        team->next->previous = team->previous;
    gn_map_remove(&t->teams, team->key);
    free(team);
}

static int close_team(struct gn_teams *t, struct team *team, bool is_lost)
{
    const struct gn_team_end end = {.process = team->process,
                                    .threads = team->begun,
                                    .is_whole = team->master != GN_NONE && team->joined &&
                                                team->ended >= team->begun && team->in_barriers == 0,
                                    .is_lost = is_lost};
    int code = 0;
    while (code == 0 && team->first)
        code = close_sync(t, team, team->first);
    if (code == 0 && t->sink.over)
        code = t->sink.over(t->sink.self, &end);
    free_team(t, team);
    return code;
}

/* All of its threads have ended (and no more are in it than its definition says), and its master has joined
 * them. One without a master may still be of somebody who has forked: threads begin, and end, before the
 * master itself does. */
static int close_if_over(struct gn_teams *t, struct team *team)
{
    struct numbers *of_process = &t->numbers[team->process];
    if (team->ended < team->begun || team->ended < threads_of(t, team) ||
        (team->master != GN_NONE && !team->joined))
        return 0;
    if (team->master != GN_NONE || of_process->forks == 0)
        return close_team(t, team, false);
    of_process->kept += !team->is_kept;
    team->is_kept = true;
    return 0;
}

static int close_kept(struct gn_teams *t, uint32_t process)
{
    int code = 0;
    if (t->numbers[process].kept == 0 || t->numbers[process].forks > 0)
        return 0;
    for (struct team *team = t->first, *next; team && code == 0; team = next) {
        next = team->next;
        if (team->process == process && team->is_kept)
            code = close_if_over(t, team);
    }
    return code;
}

/* How often the location has begun the team before; −1: no memory. */
static int64_t next_instance(struct gn_teams *t, uint32_t comm, uint32_t location)
{
    const struct gn_key key = {comm, location};
    const uintptr_t before = (uintptr_t)gn_map_find(&t->begun, key);
    gn_map_remove(&t->begun, key);
    return gn_map_add(&t->begun, key, (void *)(before + 1)) ? (int64_t)before : -1;
}

static struct team *find_team(struct gn_teams *t, uint32_t comm, uint32_t location)
{
    const uint32_t process = t->definitions->locations[location].process;
    const int64_t number = next_instance(t, comm, location);
    const struct gn_key key = {comm, (uint64_t)number << 32 | process};
    struct team *team = number < 0 ? NULL : gn_map_find(&t->teams, key);
    if (team || number < 0 || !(team = calloc(1, sizeof *team)))
        return team;
    if (!gn_map_add(&t->teams, key, team)) {
        free(team);
        return NULL;
    }
    *team = (struct team){.key = key, .next = t->first, .comm = comm, .process = process, .master = GN_NONE};
    if (t->first)
        t->first->previous = team;
    t->first = team;
    return team;
}

/* ---- events ---- */

/* False: there is no token. */
static bool make_part(const struct gn_teams *t, const struct gn_event *event, bool gives,
                      struct gn_team_part *part)
{
    errno = 0;
    void *token = t->sink.token ? t->sink.token(t->sink.self, event) : NULL;
    *part = (struct gn_team_part){token, event->ticks, event->location, gives};
    return token || !t->sink.token;
}

static int failed(void)
{
    return errno ? -errno : -ENOMEM;
}

static int add_event(struct gn_teams *t, struct team *team, enum gn_team_sync_kind kind, uint32_t barrier,
                     const struct gn_event *event, bool gives)
{
    struct gn_team_part part;
    return make_part(t, event, gives, &part) ? add(t, team, kind, barrier, &part) : failed();
}

static void take_fork(struct gn_teams *t, struct thread *thread)
{
    if (thread->has_forked)
        t->numbers[t->definitions->locations[thread->fork.location].process].forks--;
    thread->has_forked = false;
}

static void drop_fork(struct gn_teams *t, struct thread *thread)
{
    if (thread->has_forked && t->sink.unused)
        t->sink.unused(t->sink.self, thread->fork.token);
    take_fork(t, thread);
}

static int forked(struct gn_teams *t, const struct gn_event *event)
{
    struct thread *thread = &t->threads[event->location];
    drop_fork(t, thread);
    const int code = close_kept(t, t->definitions->locations[event->location].process);
    if (code != 0)
        return code;
    thread->has_forked = make_part(t, event, true, &thread->fork);
    t->numbers[t->definitions->locations[event->location].process].forks += thread->has_forked;
    return thread->has_forked ? 0 : failed();
}

static int begun(struct gn_teams *t, const struct gn_event *event)
{
    struct thread *thread = &t->threads[event->location];
    if (event->comm >= t->definitions->comm_count) { /* a thread that was created alone */
        drop_fork(t, thread);
        return 0;
    }
    struct team *team = find_team(t, event->comm, event->location);
    if (!team || !gn_grow(&thread->stays, &thread->capacity, thread->count, sizeof *thread->stays))
        return -ENOMEM;
    thread->stays[thread->count++] = (struct stay){.team = team};
    team->begun++;
    if (!thread->has_forked || team->master != GN_NONE) {
        drop_fork(t, thread);
        return add_event(t, team, GN_TEAM_FORK, 0, event, false);
    }
    take_fork(t, thread);
    team->master = event->location;
    return add(t, team, GN_TEAM_FORK, 0, &thread->fork);
}

static int ended(struct gn_teams *t, const struct gn_event *event)
{
    struct thread *thread = &t->threads[event->location];
    if (thread->count == 0 || thread->stays[thread->count - 1].team->comm != event->comm) {
        t->contradictions += event->comm != GN_NONE;
        return 0;
    }
    struct team *team = thread->stays[--thread->count].team;
    int code = 0;
    team->in_barriers -= thread->stays[thread->count].depth > 0;
    team->ended++;
    if (team->master == event->location)
        thread->to_join = team;
    else
        code = add_event(t, team, GN_TEAM_JOIN, 0, event, true);
    return code ? code : close_if_over(t, team);
}

static int joined(struct gn_teams *t, const struct gn_event *event)
{
    struct team *team = t->threads[event->location].to_join;
    t->threads[event->location].to_join = NULL;
    if (!team)
        return 0;
    team->joined = true;
    int code = add_event(t, team, GN_TEAM_JOIN, 0, event, false);
    return code ? code : close_if_over(t, team);
}

static int entered(struct gn_teams *t, const struct gn_event *event, struct stay *stay)
{
    if (stay->depth > 0) {
        stay->depth += stay->region == event->region;
        return 0;
    }
    stay->depth = 1;
    stay->region = event->region;
    stay->team->in_barriers++;
    return add_event(t, stay->team, GN_TEAM_BARRIER, stay->barriers, event, true);
}

static int left(struct gn_teams *t, const struct gn_event *event, struct stay *stay)
{
    if (stay->depth == 0 || stay->region != event->region || --stay->depth > 0)
        return 0;
    stay->team->in_barriers--;
    return add_event(t, stay->team, GN_TEAM_BARRIER, stay->barriers++, event, false);
}

bool gn_teams_wants(const struct gn_teams *t, const struct gn_event *event)
{
    if (event->kind == GN_EVENT_ENTER || event->kind == GN_EVENT_LEAVE)
        return event->location < t->thread_count && t->threads[event->location].count > 0 &&
               gn_teams_region(t->definitions, event->region);
    return gn_teams_are_about(event);
}

/* Definitions may grow while events come. False: no memory. */
static bool know_all(struct gn_teams *t)
{
    const size_t threads = t->definitions->location_count, processes = t->definitions->process_count;
    if (threads > t->thread_count) {
        struct thread *all = reallocarray(t->threads, threads, sizeof *all);
        if (!all)
            return false;
        memset(all + t->thread_count, 0, (threads - t->thread_count) * sizeof *all);
        t->threads = all;
        t->thread_count = threads;
    }
    if (processes > t->process_count) {
        struct numbers *all = reallocarray(t->numbers, processes, sizeof *all);
        if (!all)
            return false;
        memset(all + t->process_count, 0, (processes - t->process_count) * sizeof *all);
        t->numbers = all;
        t->process_count = processes;
    }
    return true;
}

static int of_team(struct gn_teams *t, const struct gn_event *event)
{
    struct thread *thread = &t->threads[event->location];
    switch (event->kind) {
    case GN_EVENT_THREAD_FORK:
        return forked(t, event);
    case GN_EVENT_THREAD_BEGIN:
        return begun(t, event);
    case GN_EVENT_THREAD_END:
        return ended(t, event);
    case GN_EVENT_THREAD_JOIN:
        return joined(t, event);
    case GN_EVENT_ENTER:
        return entered(t, event, &thread->stays[thread->count - 1]);
    case GN_EVENT_LEAVE:
        return left(t, event, &thread->stays[thread->count - 1]);
    default:
        return 0;
    }
}

int gn_teams_event(struct gn_teams *t, const struct gn_event *event)
{
    if (!gn_teams_wants(t, event) || event->location >= t->definitions->location_count)
        return 0;
    const uint32_t process = t->definitions->locations[event->location].process;
    if (process >= t->definitions->process_count)
        return 0;
    if (!know_all(t))
        return -ENOMEM;
    int code = of_team(t, event);
    code = code ? code : close_kept(t, process);
    if (code != 0 || !gn_handovers_wants(event))
        return code;
    return gn_handovers_event(t->handovers, event, process, t->numbers[process].next);
}

/* ---- the end ---- */

/* What its threads are in is gone. */
static void forget_threads(struct gn_teams *t, uint32_t process)
{
    for (size_t l = 0; l < t->thread_count; l++)
        if (t->definitions->locations[l].process == process) {
            t->threads[l].count = 0;
            drop_fork(t, &t->threads[l]);
            t->threads[l].to_join = NULL;
        }
}

static int close_all(struct gn_teams *t, uint32_t process, bool is_lost)
{
    int code = 0;
    for (struct team *team = t->first, *next; team; team = next) {
        next = team->next;
        if (team->process != process)
            continue;
        int failed = close_team(t, team, is_lost);
        code = code ? code : failed;
    }
    forget_threads(t, process);
    int failed = gn_handovers_close(t->handovers, process);
    return code ? code : failed;
}

int gn_teams_end(struct gn_teams *t, uint32_t process)
{
    return close_all(t, process, false);
}

int gn_teams_lose(struct gn_teams *t, uint32_t process)
{
    return close_all(t, process, true);
}

/* ---- all ---- */

struct gn_teams *gn_teams_new(const struct gn_definitions *definitions, const struct gn_teams_sink *sink)
{
    struct gn_teams *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->definitions = definitions;
    t->sink = *sink;
    t->handovers = gn_handovers_new(&t->sink);
    if (t->handovers)
        return t;
    free(t);
    return NULL;
}

void gn_teams_free(struct gn_teams *t)
{
    if (!t)
        return;
    while (t->first)
        free_team(t, t->first);
    for (size_t l = 0; l < t->thread_count; l++)
        free(t->threads[l].stays);
    gn_handovers_free(t->handovers);
    gn_map_clear(&t->teams);
    gn_map_clear(&t->begun);
    free(t->threads);
    free(t->numbers);
    free(t);
}

uint64_t gn_teams_contradictions(const struct gn_teams *t)
{
    return t->contradictions;
}

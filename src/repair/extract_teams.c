#include "repair/extract_inside.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Teams of threads, as OpenMP has them. The n-th begin of a team at each of its threads is the same instance
 * of it, whatever the clocks say; the thread that has forked right before is its master.
 *
 *   master   thread_fork ─┐ thread_begin … barrier … thread_end          ┌► thread_join
 *   others                └────────► thread_begin … barrier … thread_end ─┘
 *
 * Forks, joins and barriers are three groups of a process. An END has to know how many BEGINs there are
 * (op.root), and the archive does not say reliably: so the ops of what is not complete are kept, and get the
 * number when it is, or when nothing more will come. All threads are in one process: it is all known here.
 */

enum gathering_kind { FORK, JOIN, BARRIER, KINDS };
_Static_assert((int)KINDS == (int)GN_EXTRACT_GATHERINGS, "numbers of each kind");

/* A fork, a join or a barrier that is not complete. */
struct gn_extract_gathering {
    struct gn_extract_gathering *next, *previous; /* the oldest first */
    struct gn_key key;
    uint32_t link, number, begins;
    uint64_t expected; /* ops */
    struct gn_op **ops;
    size_t count, capacity;
};

struct gn_extract_frame {
    uint32_t team, instance; /* communicator; the how many-th time that this thread is in it */
    bool is_master;
    uint32_t barriers; /* that it has left */
    uint32_t depth;    /* of barrier regions; 0: it is in none */
    uint32_t region;   /* the barrier it is in */
};

/* ---- gatherings ---- */

static void close_gathering(struct gn_extract_teams *t, struct gn_extract_gathering *g)
{
    const bool is_fork = g->key.b >> 32 == FORK;
    for (size_t i = 0; i < g->count; i++) {
        g->ops[i]->root = is_fork && g->begins ? (uint32_t)g->count - g->begins : g->begins;
        if (g->begins == 0)
            g->ops[i]->flags = 0;
    }
    *(g->previous ? &g->previous->next : &t->first) = g->next;
    *(g->next ? &g->next->previous : &t->last) = g->previous;
    t->count--;
    gn_map_remove(&t->gatherings, g->key);
    free(g->ops);
    free(g);
}

/* A team that is defined for another process's threads (eztrace numbers the teams of each process from 1, and
 * one definition of each number is in the archive) says nothing of how many there are here: 0, not known. */
static uint64_t expected_ops(const struct gn_extract *x, enum gathering_kind kind, uint32_t team)
{
    const struct gn_comm_def *comm = &x->definitions->comms[team];
    const uint64_t threads = comm->member_count;
    for (uint32_t i = 0; i < comm->member_count; i++)
        if (comm->members[i] != x->process)
            return 0;
    return kind == BARRIER ? 2 * threads : threads;
}

static struct gn_extract_gathering *make_gathering(struct gn_extract *x, enum gathering_kind kind,
                                                   struct gn_key key, uint64_t expected)
{
    struct gn_extract_teams *t = &x->teams;
    const int64_t link = gn_extract_team(x, kind);
    struct gn_extract_gathering *g = link < 0 ? NULL : calloc(1, sizeof *g);
    if (!g || !gn_map_add(&t->gatherings, key, g)) {
        free(g);
        return NULL;
    }
    g->key = key;
    g->link = (uint32_t)link;
    g->number = t->numbers[kind]++;
    g->expected = expected;
    g->previous = t->last;
    *(t->last ? &t->last->next : &t->first) = g;
    t->last = g;
    if (++t->count > GN_EXTRACT_PATIENCE) /* its team is smaller than its definition says */
        close_gathering(t, t->first);
    return g;
}

/* The op becomes part of the team's fork, join, or j-th barrier. */
static int gather(struct gn_extract *x, enum gathering_kind kind, const struct gn_extract_frame *frame,
                  struct gn_op *op, enum gn_op_kind op_kind)
{
    static const uint8_t shapes[] = {GN_SHAPE_ONE_TO_ALL, GN_SHAPE_ALL_TO_ONE, GN_SHAPE_ALL_TO_ALL};
    const struct gn_key key = {(uint64_t)frame->team << 32 | frame->instance,
                               (uint64_t)kind << 32 | (kind == BARRIER ? frame->barriers : 0)};
    struct gn_extract_gathering *g = gn_map_find(&x->teams.gatherings, key);
    if (!op)
        return gn_extract_failed();
    if (!g)
        g = make_gathering(x, kind, key, expected_ops(x, kind, frame->team));
    if (!g || !gn_grow(&g->ops, &g->capacity, g->count, sizeof *g->ops))
        return -ENOMEM;
    g->ops[g->count++] = op;
    g->begins += op_kind == GN_OP_BEGIN;
    x->stats.collectives += op_kind == GN_OP_BEGIN;
    op->kind = (uint8_t)op_kind;
    op->shape = shapes[kind];
    op->flags = op_kind == GN_OP_BEGIN ? GN_OP_GIVES : GN_OP_GETS;
    op->link = g->link;
    op->number = g->number;
    if (g->count == g->expected)
        close_gathering(&x->teams, g);
    return 0;
}

static bool is_forked(const struct gn_extract *x, const struct gn_extract_frame *frame)
{
    const struct gn_key key = {(uint64_t)frame->team << 32 | frame->instance, (uint64_t)FORK << 32};
    const struct gn_extract_gathering *g = gn_map_find(&x->teams.gatherings, key);
    return g && g->begins > 0;
}

/* ---- events ---- */

/* How often the location has been in the team, with this time; UINT32_MAX: no memory. */
static uint32_t count_begin(struct gn_extract *x, uint32_t location, uint32_t team)
{
    struct gn_extract_teams *t = &x->teams;
    const struct gn_key key = {team, location};
    const void *known = gn_map_find(&t->begun_index, key);
    if (known)
        return t->begun[(uintptr_t)known - 1]++;
    if (!gn_grow(&t->begun, &t->begun_capacity, t->begun_count, sizeof *t->begun) ||
        !gn_map_add(&t->begun_index, key, (void *)(uintptr_t)(t->begun_count + 1)))
        return UINT32_MAX;
    t->begun[t->begun_count++] = 1;
    return 0;
}

static int forked(struct gn_extract *x, struct gn_extract_location *l)
{
    l->fork = gn_extract_op(x, l, GN_OP_LOCAL); /* until its team is known; none has one thread for another */
    return l->fork ? 0 : gn_extract_failed();
}

static int begun(struct gn_extract *x, struct gn_extract_location *l, uint32_t team)
{
    struct gn_op *fork = l->fork;
    l->fork = NULL;
    if (team >= x->definitions->comm_count) /* a thread that was created alone */
        return 0;
    struct gn_extract_frame frame = {.team = team, .instance = count_begin(x, l->index, team)};
    if (frame.instance == UINT32_MAX ||
        !gn_grow(&l->frames, &l->frame_capacity, l->frame_count, sizeof frame))
        return -ENOMEM;
    frame.is_master = fork && !is_forked(x, &frame);
    l->frames[l->frame_count++] = frame;
    if (frame.is_master)
        return gather(x, FORK, &frame, fork, GN_OP_BEGIN);
    return gather(x, FORK, &frame, gn_extract_op(x, l, GN_OP_END), GN_OP_END);
}

static int ended(struct gn_extract *x, struct gn_extract_location *l, uint32_t team)
{
    if (l->frame_count == 0 || l->frames[l->frame_count - 1].team != team) {
        x->unfit += team != GN_NONE;
        return 0;
    }
    const struct gn_extract_frame *frame = &l->frames[--l->frame_count];
    if (!frame->is_master)
        return gather(x, JOIN, frame, gn_extract_op(x, l, GN_OP_BEGIN), GN_OP_BEGIN);
    l->joins = true;
    l->join_team = frame->team;
    l->join_instance = frame->instance;
    return 0;
}

static int joined(struct gn_extract *x, struct gn_extract_location *l)
{
    const struct gn_extract_frame frame = {.team = l->join_team, .instance = l->join_instance};
    if (!l->joins)
        return 0;
    l->joins = false;
    return gather(x, JOIN, &frame, gn_extract_op(x, l, GN_OP_END), GN_OP_END);
}

static bool is_barrier(const struct gn_definitions *d, uint32_t region)
{
    return region < d->region_count && d->regions[region].role == GN_ROLE_BARRIER;
}

static int entered(struct gn_extract *x, struct gn_extract_location *l, uint32_t region)
{
    struct gn_extract_frame *frame = &l->frames[l->frame_count - 1];
    if (frame->depth > 0)
        frame->depth += frame->region == region;
    if (frame->depth > 0 || !is_barrier(x->definitions, region))
        return 0;
    frame->depth = 1;
    frame->region = region;
    return gather(x, BARRIER, frame, gn_extract_op(x, l, GN_OP_BEGIN), GN_OP_BEGIN);
}

static int left(struct gn_extract *x, struct gn_extract_location *l, uint32_t region)
{
    struct gn_extract_frame *frame = &l->frames[l->frame_count - 1];
    if (frame->depth == 0 || frame->region != region || --frame->depth > 0)
        return 0;
    int code = gather(x, BARRIER, frame, gn_extract_op(x, l, GN_OP_END), GN_OP_END);
    frame->barriers++;
    return code;
}

int gn_extract_in_team(struct gn_extract *x, struct gn_extract_location *l, const struct gn_event *event)
{
    if (x->location_count < 2 || x->is_lost) /* the others are not in the trace; or nobody can count */
        return 0;
    switch (event->kind) {
    case GN_EVENT_THREAD_FORK:
        return forked(x, l);
    case GN_EVENT_THREAD_JOIN:
        return joined(x, l);
    case GN_EVENT_THREAD_BEGIN:
        return begun(x, l, event->comm);
    case GN_EVENT_THREAD_END:
        return ended(x, l, event->comm);
    case GN_EVENT_ENTER:
        return l->frame_count ? entered(x, l, event->region) : 0;
    case GN_EVENT_LEAVE:
        return l->frame_count ? left(x, l, event->region) : 0;
    default:
        return 0;
    }
}

void gn_extract_teams_end(struct gn_extract *x)
{
    struct gn_extract_teams *t = &x->teams;
    while (t->first)
        close_gathering(t, t->first);
    gn_map_clear(&t->gatherings);
    gn_map_clear(&t->begun_index);
    free(t->begun);
    *t = (struct gn_extract_teams){.first = NULL};
    for (size_t i = 0; i < x->location_count; i++) {
        struct gn_extract_location *l = &x->locations[i];
        free(l->frames);
        l->frames = NULL;
        l->frame_count = l->frame_capacity = 0;
        l->fork = NULL;
    }
}

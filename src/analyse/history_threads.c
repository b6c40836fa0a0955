/*
 * Threads of a process that wait for each other. What the master of a team does between a fork and its join
 * is computation beside others; what it spends in a barrier of the team, and until the others have ended, is
 * waiting. Which thread was the last of them is not asked here: what-if takes all that follows from either.
 */
#include "analyse/history_inside.h"

static bool is_barrier(const struct gn_history_make *m, uint32_t region)
{
    return region < m->d->region_count && m->d->regions[region].role == GN_ROLE_BARRIER;
}

void gn_history_enter_region(struct gn_history_make *m, struct gn_history_place *p, uint32_t region)
{
    p->barriers += is_barrier(m, region);
}

void gn_history_leave_regions(struct gn_history_make *m, struct gn_history_place *p, size_t depth)
{
    for (; p->depth > depth; p->depth--)
        p->barriers -= is_barrier(m, m->h->activities[p->stack[p->depth - 1]].region);
}

int gn_history_fork(struct gn_history_place *p, uint64_t ticks)
{
    const int code = gn_history_deal(p, ticks, p->teams ? GN_PIECE_BESIDE : GN_PIECE_ALONE);
    p->forks = p->forks || p->teams == 0;
    p->teams++;
    return code;
}

/* What was entered for the join alone (pthread_join), or comes behind the end of the team, is waiting. Behind
 * anything else the thread may have computed before it waited. */
int gn_history_join(struct gn_history_place *p, uint64_t ticks)
{
    const bool is_wait = p->barriers || p->last_kind == GN_EVENT_ENTER ||
                         p->last_kind == GN_EVENT_THREAD_END || p->last_kind == GN_EVENT_THREAD_JOIN;
    const int code = gn_history_deal(p, ticks, is_wait ? GN_PIECE_JOIN : GN_PIECE_EITHER);
    p->teams -= p->teams > 0;
    p->joins = true;
    return code;
}

/* For a thread that was created alone, or a lock. What was entered for it is waiting; behind anything else
 * the thread may have computed before. The other one is taken to go along: it need not call anything, and
 * then nobody knows what it waits for. That is assumed, and told. */
int gn_history_hand_over(struct gn_history_make *m, struct gn_history_place *p, uint64_t ticks)
{
    m->h->handed++;
    return gn_history_deal(p, ticks, p->last_kind == GN_EVENT_ENTER ? GN_PIECE_JOIN : GN_PIECE_EITHER);
}

/* A thread of a team is idle until the next one begins. */
int gn_history_team_begins(struct gn_history_place *p, uint64_t ticks)
{
    const bool is_idle = p->teams == 0 && p->last_kind == GN_EVENT_THREAD_END;
    const int code = gn_history_deal(p, ticks,
                                     is_idle    ? GN_PIECE_JOIN
                                     : p->teams ? GN_PIECE_BESIDE
                                                : GN_PIECE_ALONE);
    p->joins = p->joins || is_idle;
    p->teams++;
    return code;
}

int gn_history_team_ends(struct gn_history_place *p, uint64_t ticks)
{
    const int code = gn_history_deal(p, ticks, p->barriers ? GN_PIECE_JOIN : GN_PIECE_BESIDE);
    p->teams -= p->teams > 0;
    return code;
}

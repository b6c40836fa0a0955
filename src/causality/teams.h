/*
 * causality/teams — forks, joins and barriers of a process's threads, as OpenMP has them, and what threads
 * hand over to each other: which events of which threads are of the same one.
 *
 *   master   thread_fork ─┐ thread_begin … barrier … thread_end          ┌► thread_join
 *   others                └────────► thread_begin … barrier … thread_end ─┘
 *
 * The n-th begin of a team at each of its threads is the same instance of the team, whatever the clocks say,
 * and the j-th barrier that each of them has left there is the same barrier. The master is the thread whose
 * thread_begin follows its thread_fork. A barrier is a region with that role, entered and left by a thread of
 * a team.
 *
 * Threads that are created alone (pthread_create) begin after that, and end before they are waited for; a
 * lock is acquired after it was released (OTF2 numbers the acquisitions of each lock).
 *
 * How many threads there are, archives do not say reliably. So what a fork, a join or a barrier consists of
 * is kept until all are there that the team's definition names, or until all threads that have begun have
 * ended and were joined, or nothing more will come; and then told.
 *
 * Events of each location come in their order; of several locations in any order that does not bring the
 * whole instance of one thread before another one's fork: that of their times will do.
 */
#ifndef GNOMON_CAUSALITY_TEAMS_H
#define GNOMON_CAUSALITY_TEAMS_H

#include "causality/team_syncs.h"
#include "event/definitions.h"
#include "event/event.h"

#include <stdbool.h>

struct gn_teams;

/* definitions and sink->self outlive it; *sink is copied. NULL: no memory. */
struct gn_teams *gn_teams_new(const struct gn_definitions *definitions, const struct gn_teams_sink *sink);
void gn_teams_free(struct gn_teams *teams); /* NULL is allowed */

/* Whether the event says anything about teams; else it need not come. For who looks at very many: it does
 * only if it is about them, or enters or leaves one of their regions. */
bool gn_teams_wants(const struct gn_teams *teams, const struct gn_event *event);
static inline bool gn_teams_are_about(const struct gn_event *event)
{
    const uint64_t kinds = 1ull << GN_EVENT_THREAD_FORK | 1ull << GN_EVENT_THREAD_JOIN |
                           1ull << GN_EVENT_THREAD_BEGIN | 1ull << GN_EVENT_THREAD_END |
                           1ull << GN_EVENT_THREAD_CREATE | 1ull << GN_EVENT_THREAD_WAIT |
                           1ull << GN_EVENT_LOCK_ACQUIRE | 1ull << GN_EVENT_LOCK_RELEASE;
    return event->kind < 64 && kinds >> event->kind & 1;
}
static inline bool gn_teams_region(const struct gn_definitions *definitions, uint32_t region)
{
    return region < definitions->region_count && definitions->regions[region].role == GN_ROLE_BARRIER;
}
/* The next event of its location. 0, -ENOMEM, what the sink returned, or what errno said of a token. */
int gn_teams_event(struct gn_teams *teams, const struct gn_event *event);

/* Nothing more will come of the process, or (lose) nothing that could be counted: what is open is told as far
 * as it goes. As above. */
int gn_teams_end(struct gn_teams *teams, uint32_t process);
int gn_teams_lose(struct gn_teams *teams, uint32_t process);

/* Ends of teams so far that their threads are not in. */
uint64_t gn_teams_contradictions(const struct gn_teams *teams);

#endif

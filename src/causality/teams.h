/*
 * causality/teams — forks, joins and barriers of a process's threads, as OpenMP has them: which events of
 * which threads are of the same one.
 *
 *   master   thread_fork ─┐ thread_begin … barrier … thread_end          ┌► thread_join
 *   others                └────────► thread_begin … barrier … thread_end ─┘
 *
 * The n-th begin of a team at each of its threads is the same instance of the team, whatever the clocks say,
 * and the j-th barrier that each of them has left there is the same barrier. The master is the thread whose
 * thread_begin follows its thread_fork. A barrier is a region with that role, entered and left by a thread of
 * a team.
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

#include "event/definitions.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>

enum gn_team_sync_kind { GN_TEAM_FORK, GN_TEAM_JOIN, GN_TEAM_BARRIER, GN_TEAM_SYNC_KINDS };

/* An event of it: a fork's are the thread_fork of the master and the thread_begin of the others, a join's
 * their thread_end and its thread_join, a barrier's the enter and the leave of each. */
struct gn_team_part {
    void *token; /* as the sink gave it; NULL: it gives none */
    uint64_t ticks;
    uint32_t location;
    bool gives; /* all that do not are after all that do */
};

struct gn_team_sync {
    enum gn_team_sync_kind kind;
    uint32_t process;
    uint32_t number; /* of its kind in the process, in the order in which they begin */
    uint32_t givers; /* of the parts; 0: nothing follows from it */
    const struct gn_team_part *parts;
    size_t count;
    void *user; /* the sink's own, NULL at first */
};

/* An instance of a team is over. */
struct gn_team_end {
    uint32_t process;
    size_t threads; /* that have begun it */
    bool is_whole;  /* it is known who has forked and joined them, and each has ended all that it has begun */
    bool is_lost;   /* what came later cannot be counted: gn_teams_lose */
};

/* added, synced and over return 0 or a negative code, which is what the call that led here returns. Any of
 * them NULL, but synced: nobody asks. */
struct gn_teams_sink {
    void *self;
    /* Of an event that is a part; NULL: it failed, errno says how. The function NULL: no tokens are wanted.
     */
    void *(*token)(void *self, const struct gn_event *event);
    void (*unused)(void *self, void *token); /* the event is no part after all: no team has followed a fork */
    /* One more part, the last one of sync->parts. */
    int (*added)(void *self, struct gn_team_sync *sync);
    /* No more parts will come. */
    int (*synced)(void *self, const struct gn_team_sync *sync);
    int (*over)(void *self, const struct gn_team_end *end);
};

struct gn_teams;

/* definitions and sink->self outlive it; *sink is copied. NULL: no memory. */
struct gn_teams *gn_teams_new(const struct gn_definitions *definitions, const struct gn_teams_sink *sink);
void gn_teams_free(struct gn_teams *teams); /* NULL is allowed */

/* Whether the event says anything about teams; else it need not come. */
bool gn_teams_wants(const struct gn_teams *teams, const struct gn_event *event);
/* The next event of its location. 0, -ENOMEM, what the sink returned, or what errno said of a token. */
int gn_teams_event(struct gn_teams *teams, const struct gn_event *event);

/* Nothing more will come of the process, or (lose) nothing that could be counted: what is open is told as far
 * as it goes. As above. */
int gn_teams_end(struct gn_teams *teams, uint32_t process);
int gn_teams_lose(struct gn_teams *teams, uint32_t process);

/* Ends of teams so far that their threads are not in. */
uint64_t gn_teams_contradictions(const struct gn_teams *teams);

#endif

/* causality/team_syncs — what teams (teams.h) and handovers (handovers.h) tell, and to whom. */
#ifndef GNOMON_CAUSALITY_TEAM_SYNCS_H
#define GNOMON_CAUSALITY_TEAM_SYNCS_H

#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>

enum gn_team_sync_kind {
    GN_TEAM_FORK,
    GN_TEAM_JOIN,
    GN_TEAM_BARRIER,
    GN_TEAM_CREATE, /* of a thread alone */
    GN_TEAM_WAIT,   /* for its end */
    GN_TEAM_LOCK,   /* from one acquisition to the next */
    GN_TEAM_SYNC_KINDS
};

/* An event of it: a fork's are the thread_fork of the master and the thread_begin of the others, a join's
 * their thread_end and its thread_join, a barrier's the enter and the leave of each; of the others see
 * handovers.h. */
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

#endif

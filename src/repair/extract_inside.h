/*
 * repair/extract_inside — what the files of the extraction share. Not for anybody else.
 *
 *   extract.c               pulls events in the order of their times, keeps the time, adds ops
 *   extract_links.c         channels and groups
 *   extract_numbers.c       what is told by causality/numbering goes into ops
 *   extract_epochs.c        what is told by causality/epochs goes into ops
 *   extract_teams.c         what is told by causality/teams goes into ops
 *
 * What a process has open is kept while its events are pulled, and only then. Ops never move, so a number
 * that is known later is written into an op that has long been added.
 */
#ifndef GNOMON_REPAIR_EXTRACT_INSIDE_H
#define GNOMON_REPAIR_EXTRACT_INSIDE_H

#include "base/map.h"
#include "causality/epochs.h"
#include "causality/numbering.h"
#include "causality/teams.h"
#include "repair/extract.h"

/* A location of the process that is being extracted. */
struct gn_extract_location {
    uint32_t index;
    const struct gn_event *events; /* the batch; [next … count) are still to come */
    int64_t next, count;
    struct gn_presync_map map;
    int64_t next_ticks; /* of the next event */
    uint64_t raw_ticks; /* that `ticks` was made of */
    int64_t ticks;      /* of the last event, or of an earlier one that was later */
    bool any;
    uint64_t record, op_record; /* of the last event; of the last op */
    uint64_t steps;             /* since the last op */
};

struct gn_extract {
    struct gn_source *source;
    const struct gn_definitions *definitions;
    const struct gn_presync *presync;
    struct gn_op_store *store;
    struct gn_extract_stats stats;
    struct gn_numbering *numbering;
    uint64_t unfit;                           /* but for what the numbering found */
    uint32_t *first_location, *next_location; /* of each process; of each location the next one of its own */
    /* links */
    struct gn_map channels; /* to index + 1 */
    struct gn_extract_channel {
        uint32_t received;
    } * channel_states; /* [store->channel_count] */
    size_t channel_capacity;
    struct gn_map groups;
    /* the process that is being extracted */
    uint32_t process;
    struct gn_extract_location *locations;
    size_t location_count, location_capacity;
    bool is_lost; /* nothing can be counted any more */
    struct gn_teams *teams;
    struct gn_epochs *epochs;
    struct gn_extract_location *at; /* where the event is that teams and epochs are told */
    struct gn_extract_memo {        /* channels that were used last */
        uint32_t comm, peer, tag, link;
        bool sends, used;
    } memo[256];
};

/* Adds an op at the location's present event. NULL: no memory, or no room on the disk; errno says which. */
struct gn_op *gn_extract_op(struct gn_extract *x, struct gn_extract_location *l, enum gn_op_kind kind);

/* What errno says, as a negative value; of what leaves it alone: no memory. */
int gn_extract_failed(void);

/* ---- links: extract_links.c ---- */

/* Instead of a link: nobody's business but this location's; it fits no definition; no memory. */
enum { GN_LINK_INTERNAL = -1, GN_LINK_UNFIT = -2, GN_LINK_NO_MEMORY = -3 };

/* The channel of a message between this process and rank peer of comm. */
int64_t gn_extract_channel(struct gn_extract *x, uint32_t comm, uint32_t peer, uint32_t tag, bool sends);
/* The same of messages from a process to this one, or from this one to a process. */
int64_t gn_extract_channel_between(struct gn_extract *x, uint32_t comm, uint32_t from, uint32_t to,
                                   uint32_t tag);
/* The group of a communicator, or of a window. */
int64_t gn_extract_group(struct gn_extract *x, uint32_t comm, bool is_window);
/* The group of this process's forks, joins or barriers: kind tells them apart. */
int64_t gn_extract_team(struct gn_extract *x, uint32_t kind);
void gn_extract_links_close(struct gn_extract *x);

/* ---- numbers: extract_numbers.c. 0 or a negative errno value ---- */

int gn_extract_numbers_open(struct gn_extract *x, struct gn_error *err);
/* A send, a receive, the begin or end of a collective, or what numbers depend on. */
int gn_extract_counted(struct gn_extract *x, struct gn_extract_location *l, const struct gn_event *event);

/* ---- epochs on windows, and teams of threads ---- */

int gn_extract_epochs_open(struct gn_extract *x, struct gn_error *err);
int gn_extract_teams_open(struct gn_extract *x, struct gn_error *err);

#endif

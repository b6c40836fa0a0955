/*
 * analyse/history_inside — what the files of the history share while it is made. Not for anybody else.
 *
 *   history_read     events of a location → calls, pieces, changes; and on into the sort
 *   history_threads  threads of a process that wait for each other
 *   history_match    what the sort says: causal order of calls, who took whose message
 *   history_reorder  another causal order, where sends may have waited for what that one has behind them
 *   history_epochs   who waited for whom about epochs of windows
 *   history_rivals   which messages might have been taken in place of each other
 *   history_gather   parts of collectives → instances
 *   history_tighten  bounds of calls, by what was taken
 *   history_apart    how much earlier one thing was than another
 *   history_slack    what may have come last, and by how much the others came earlier
 *   history_own_work what measuring has cost before each call
 *   history_virtual  all times as if that had been nothing
 */
#ifndef GNOMON_ANALYSE_HISTORY_INSIDE_H
#define GNOMON_ANALYSE_HISTORY_INSIDE_H

#include "analyse/history.h"
#include "base/grow.h"
#include "base/lookup.h"
#include "base/map.h"
#include "causality/epochs.h"
#include "causality/order.h"

#include <errno.h>

/* A time that is not known: far enough from all others, and from overflow. */
#define GN_HISTORY_FAR_NS (INT64_C(1) << 61)

/* A part of a collective while its instance is not known. */
struct gn_open_part {
    uint32_t call, process, comm, root;
    uint32_t instance, member; /* as the sort says; GN_NONE */
    uint32_t end_call;         /* in which it ended; GN_NONE */
    uint8_t op;
    bool is_window, is_finalize;
    uint64_t bytes_sent, bytes_received;
};

/* What a receive was posted for. Those of a location are in the order in which they were posted. */
struct gn_history_post {
    uint32_t call;      /* that posted it */
    uint32_t comm, tag; /* tag: GN_ANY, or GN_NONE: not known */
    enum gn_asked_from { GN_ASKED_NAMED, GN_ASKED_ANYBODY, GN_ASKED_UNKNOWN } from;
};

/* A message that was matched; the sender's side of it may have waited for the receiver. */
struct gn_matched {
    uint32_t from, to, posted; /* calls: that sent it, in which it was received, that posted the receive */
    uint32_t asked;            /* what the receive was posted for */
    uint32_t comm, tag;        /* the message's */
    uint32_t send;             /* nonblocking: its number + 1; 0: the call sent it at once */
    uint64_t bytes;
};

/* What a location is doing while its events come. */
struct gn_history_place {
    uint32_t *stack; /* [depth] activities of open regions */
    size_t depth, stack_capacity;
    uint32_t mpi_depth; /* of MPI calls in each other */
    uint32_t call;      /* the outermost one it is in, or the last one */
    uint32_t part;      /* the blocking collective that it is in: open part; GN_NONE */
    uint32_t window_part;
    uint64_t since_ticks; /* from here on time is not dealt to a piece yet */
    uint64_t now_ticks;
    uint64_t row, row_ticks;       /* the call is so many in a row, so long altogether; 0: it is one */
    uint64_t polled, polled_ticks; /* of polls that wait as one: how many, how long */
    uint64_t between_ticks;        /* … and between two, where that is not short */
    uint64_t idle_rows, idle_ticks, waited_ticks; /* of all its polls: those between which more time passed
                                                     than measuring takes, that time, and the time of all */
    struct gn_history_piece {
        uint32_t activity; /* GN_NONE: of the call to come */
        enum gn_piece_kind kind;
        uint64_t ticks;
    } * pieces; /* of the stretch */
    size_t piece_count, piece_capacity;
    uint32_t teams;        /* forked, and not joined */
    uint32_t barriers;     /* of a team, open */
    uint16_t last_kind;    /* of its last event */
    bool forks, joins;     /* in the stretch; forks: without any before */
    bool completes, tests; /* in the call: something completed; something was tested in vain */
};

struct gn_history_make {
    struct gn_history *h;
    const struct gn_history_settings *settings;
    const struct gn_definitions *d;
    struct gn_order *order;
    struct gn_history_place *places;
    bool *is_loose; /* [process_count] events were lost there: matches mean nothing any more */
    struct gn_lookup activities;
    struct gn_map requests; /* open nonblocking collectives: open part + 1 */
    struct gn_map posts;    /* open receives: asked + 1 */
    struct gn_history_post *asked;
    struct gn_map sending; /* open nonblocking sends: their number + 1 */
    uint32_t *sends;       /* [send_count] of nonblocking sends: the call in which they ended; GN_NONE */
    size_t send_count, send_capacity;
    struct gn_open_part *open_parts;
    struct gn_matched *matched;
    struct gn_history_epochs *epochs; /* NULL: there are none */
    size_t open_part_count, open_part_capacity, matched_count, matched_capacity, asked_count, asked_capacity;
    size_t activity_capacity, call_capacity, step_capacity, piece_capacity, take_capacity;
    double *rate_lo, *rate_hi; /* [location_count] ns per tick */
    uint32_t *clock;           /* [location_count] locations with the same one have the same bounds */
    uint32_t clock_count;
    struct gn_point_list {
        struct gn_tie {
            uint64_t ticks;
            int64_t ns;
        } * ties;
        size_t count, capacity;
    } * lower, *upper;        /* [clock_count] what messages say of a clock beyond its bounds */
    uint32_t *entered, *left; /* [call_count] numbers of their steps */
    struct gn_history_own_work {
        uint32_t call;
        double before_ns, behind_ns;
    } * own_work; /* of some calls, as events tell it */
    size_t own_work_count, own_work_capacity;
    struct gn_history_polled {
        uint32_t call;
        double between_ns;
    } * polled; /* rows of polls that wait: between them lies our own work, and no wait is shorter without it
                 */
    size_t polled_count, polled_capacity;
    float
        *own_work_ns; /* [call_count] our own work in what is computed before the call; NULL: nothing tells */
    int code;         /* of what was called by the sort */
};

/* history_read.c */
int gn_history_event(struct gn_history_make *m, const struct gn_event *event);
int gn_history_location_ends(struct gn_history_make *m, uint32_t location);
void gn_history_places_free(struct gn_history_make *m);

/* Deals the time up to now. */
int gn_history_deal(struct gn_history_place *place, uint64_t now_ticks, enum gn_piece_kind kind);

/* history_threads.c */
/* A region is entered; or left, or any number of them, with whatever is open in it. */
void gn_history_enter_region(struct gn_history_make *m, struct gn_history_place *place, uint32_t region);
void gn_history_leave_regions(struct gn_history_make *m, struct gn_history_place *place, size_t depth);
/* Outside of all calls. */
int gn_history_fork(struct gn_history_place *place, uint64_t ticks);
int gn_history_join(struct gn_history_place *place, uint64_t ticks);
int gn_history_team_begins(struct gn_history_place *place, uint64_t ticks);
int gn_history_team_ends(struct gn_history_place *place, uint64_t ticks);
int gn_history_hand_over(struct gn_history_make *make, struct gn_history_place *place, uint64_t ticks);

/* history_match.c: reports of the sort. The ticks of its events are numbers of calls; below them, of what is
 * sent and ends in another call, its number + 1. */
enum { GN_HISTORY_CALL_SHIFT = 32 };
int gn_history_report(void *self, const struct gn_event *event, const struct gn_place *place);
/* After all events, first of all: entered and left. */
int gn_history_number_steps(struct gn_history_make *m);
void gn_history_renumber_steps(struct gn_history_make *m);
/* The call that perhaps waited until the message's receive was posted; GN_NONE: none did. */
uint32_t gn_history_waiter(const struct gn_history_make *m, const struct gn_matched *one);
/* After all events: takes of synchronous sends, and all takes by call. */
int gn_history_match(struct gn_history_make *m);
int gn_history_take(struct gn_history_make *m, const struct gn_take *take);

/* history_reorder.c: after instances are known */
int gn_history_reorder(struct gn_history_make *m);

/* history_epochs.c */
/* An event as the sort gets it: its ticks are the number of a call. */
int gn_history_epoch_event(struct gn_history_make *m, const struct gn_event *event);
void gn_history_epochs_lose(struct gn_history_make *m, uint32_t process);
/* After all events: takes, and what may have been waited for, once calls are in an order that allows it. */
int gn_history_epochs_take(struct gn_history_make *m);
int gn_history_epochs_take_perhaps(struct gn_history_make *m);
int gn_history_epochs_perhaps(struct gn_history_make *m,
                              int (*each)(void *with, uint32_t waiter, uint32_t post), void *with);
void gn_history_epochs_free(struct gn_history_make *m);

/* history_rivals.c: after all events and matches */
int gn_history_rivals(struct gn_history_make *m);

/* history_gather.c */
int gn_history_gather(struct gn_history_make *m);

/* history_tighten.c */
int gn_history_clocks(struct gn_history_make *m);
int gn_history_tighten(struct gn_history_make *m);
/* When the last of those that give came, of each instance: of their enters. */
void gn_history_settle_gatherings(struct gn_history *h);

/* history_apart.c */
/* Of a take: from the enter of the call (where its waiting began; of a receiver, where the sending did) to
 * when it was given, and from there to the call's leave; ns, negative where it was the other way round. */
struct gn_apart {
    double later_ns;      /* at least */
    double later_most_ns; /* not of gatherings */
    double before_ns;     /* from there to the call's enter, at least; not of gatherings */
    double ago_least_ns, ago_most_ns;
};
/* Into apart[take_count], takes' `given`, and parts' is_tight and extra_ns. */
int gn_history_apart(struct gn_history_make *m, struct gn_apart *apart);

/* history_slack.c */
int gn_history_slack(struct gn_history_make *m);

/* history_own_work.c */
int gn_history_own_work(struct gn_history_make *m, const struct gn_event *event);
/* Into own_work_ns, where anything is known of it. */
int gn_history_own_work_find(struct gn_history_make *m);

/* history_virtual.c: after all else, which is to be found again then; own_work_ns is there. */
int gn_history_virtual(struct gn_history_make *m);

struct gn_interval gn_history_time(const struct gn_history_make *m, uint32_t location, uint64_t ticks);

/* ns between two readings of a location, later ≥ earlier */
static inline double gn_history_least_ns(const struct gn_history_make *m, uint32_t location, uint64_t ticks)
{
    return ticks > 0 ? (double)(ticks - 1) * m->rate_lo[location] : 0;
}
static inline double gn_history_most_ns(const struct gn_history_make *m, uint32_t location, uint64_t ticks)
{
    return ((double)ticks + 1) * m->rate_hi[location];
}

static inline double gn_at_least_0(double ns)
{
    return ns > 0 ? ns : 0;
}

#endif

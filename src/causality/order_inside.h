/*
 * causality/order_inside — what the files of the sort share. Not for anybody else.
 *
 * A vertex is an event that had to be kept: because it waits for predecessors, or because successors at other
 * locations have not been observed (pushed) yet. All other events go straight through and are only counted.
 *
 *   vertex, by what is missing:
 *     waits > 0            in its location's queue, cannot be reported
 *     waits = 0, queued    can be reported as soon as it is the head of the queue
 *     reported, keeps > 0  successors are missing: its times are needed, and it counts as a node
 *     reported, keeps = 0  gone
 *
 *   keeps = 1 (the next event of the location, or its end) + 1 (a receive, or the ends of a collective)
 */
#ifndef GNOMON_CAUSALITY_ORDER_INSIDE_H
#define GNOMON_CAUSALITY_ORDER_INSIDE_H

#include "base/map.h"
#include "causality/epochs.h"
#include "causality/order.h"
#include "causality/positions.h"
#include "causality/teams.h"

#include <errno.h>

struct gn_instance;
struct gn_numbering_sink;

struct gn_vertex {
    struct gn_vertex *next;  /* in its location's queue; in the list of free ones */
    struct gn_vertex *after; /* in a channel, or among an instance's waiting ends */
    /* the process that still has to do something about it: whose send it waits for, or whose receive of it is
     * missing */
    struct gn_vertex **reference, *sibling;
    struct gn_vertex
        *partner; /* of a send: its receive, while that waits for it; of that receive: the send */
    struct gn_channel *channel; /* that it stands in */
    struct gn_instance *instance;
    uint32_t member; /* rank in the instance */
    uint32_t waits;  /* predecessors at other locations that are not reported or not known */
    uint32_t keeps;  /* successors that have not been observed */
    bool reported, queued;
    bool needs_report; /* of a receive: that of its partner, … */
    bool needs_end;    /* … that of the call that sent it */
    bool begins;       /* a collective's begin */
    bool held;         /* … with ends still to be observed */
    bool in_call;      /* a send of a call that goes on: threads.c */
    bool is_open; /* it may have changed places with another one of its channel or communicator: threads.c */
    bool out_of_turn;  /* it was counted where it came, and those before it may come later: threads.c */
    bool has_position; /* `number` is its position among messages that come in any order: positions.h */
    bool is_low; /* of a receive: one that was posted before it may have taken a message of its channel */
    union {
        struct gn_gate_place *gates; /* that wait for it, or that it waits at: gates.c */
        void *token;                 /* numbering.h, where there are no gates */
    };
    uint64_t number;      /* which message of its channel it was counted as */
    uint64_t floor_ticks; /* adjusted time of its latest predecessor elsewhere */
    struct gn_place place;
    struct gn_event event;
};

struct gn_post;
struct gn_start;
struct gn_thread;

/* A location's state; what every event looks at comes first. */
struct gn_location_state {
    _Alignas(64) struct gn_vertex *head; /* events that wait, in local order */
    struct gn_vertex *tail;
    struct gn_vertex *last;   /* the vertex of the event observed last; NULL: it has none */
    struct gn_thread *thread; /* NULL: it is the only location of its process */
    uint64_t drift_ticks;     /* the paper's accumulated drift */
    uint64_t observed;
    bool any; /* an event was observed, and the last one still counts as a node */
    bool ended, is_ready;
    bool waits_elsewhere; /* perhaps: for requests that other locations of the process have opened */
    uint32_t process;
    uint32_t next_ready;
    uint32_t deferred_receives;
    uint32_t next_of_process; /* the next location of the same process; GN_NONE: no further one */
    uint32_t vague_receives;  /* open ones that could take messages of several channels */
    uint32_t posts;           /* in the list below */
    struct gn_post *first_post, *last_post; /* receives in posting order, of a process's first location those
                                               of all of its locations; receives.c */
    uint64_t deferred_since;
    uint64_t counted_ticks; /* of the latest event that counts */
    struct gn_start *first_start,
        *last_start; /* collectives not yet numbered, in starting order; collectives.c */
    struct gn_start *blocking, *blocking_rma; /* the call the location is in */
    struct gn_start *given_up;                /* whose ends did not come; collectives.c */
    uint64_t starts_since;
    struct gn_early *early; /* delivered ahead of its turn; order.c */
    size_t early_count, early_capacity;
    uint64_t expected;
};

/* How calls of a process's threads have used a channel. */
struct gn_channel_use {
    uint64_t until;        /* moment in which the last one ended */
    uint64_t others_until; /* … of other locations than that one's */
    uint32_t by;           /* its location */
};

/* One more has ended at the location, or goes on there. */
static inline void gn_channel_used(struct gn_channel_use *use, uint32_t location, uint64_t until)
{
    if (location != use->by && until >= use->until)
        *use = (struct gn_channel_use){until, use->until, location};
    else if (location != use->by && until > use->others_until)
        use->others_until = until;
    else if (location == use->by && until > use->until)
        use->until = until;
}

struct gn_process_state {
    uint32_t locations;                     /* ever */
    uint32_t first_location, last_location; /* the one defined first, and last, when there are any */
    uint64_t step, moment; /* its time, counted in what its threads do that matters here: threads.c */
    uint64_t now_ticks;    /* of the moment */
    size_t turns;          /* events that wait for their turn in it */
    uint64_t passed_ticks; /* of the latest event that waited for its turn, and has had it */
    uint64_t piled;        /* events that its threads have had since their first one that waits */
    struct {               /* of its channels that were swept away, together: channels.c */
        struct gn_channel_use sent, received;
        uint32_t receiver; /* GN_NONE */
        bool has_receivers;
    } forgotten;
    uint32_t member_of;          /* a communicator that it is in, and one; 0: none is known */
    uint32_t alive;              /* locations that have not ended */
    bool ended;                  /* all of them have */
    bool loose;                  /* lost events: counting its messages is over */
    bool guesses;                /* of a collective it was not known in time which one it is */
    bool forgets_receives;       /* it has posted very many that never completed: receives.c */
    struct gn_vertex *expected;  /* receives that wait for a send of this process */
    struct gn_vertex *unclaimed; /* sends to this process without a receive so far */
    uint64_t
        passed_receives; /* open ones that others have passed, and may be for several channels: receives.c */
};

struct gn_order {
    const struct gn_definitions *definitions;
    struct gn_order_sink sink;
    const struct gn_numbering_sink *numbers; /* numbering.h: each process is alone, events are only counted;
                                                NULL: they are sorted */
    struct gn_order_settings settings;
    struct gn_order_stats stats;
    /* of the statistics, those that change with every event; apart, so that one is not loaded together with
     * another that was just stored */
    uint64_t nodes, nodes_max, nodes_sum;
    uint64_t unreported, unreported_max, unreported_sum;
    uint64_t search_at; /* so many unreported events are worth a search for circles */
    uint64_t searches;  /* for circles, so far */
    int stopped;        /* what the sink returned, or -ENOMEM: nothing works any more */
    struct gn_location_state *locations;
    struct gn_process_state *processes;
    size_t location_count, process_count;
    uint32_t first_ready, last_ready; /* locations whose head can be reported; GN_NONE: none */
    struct gn_vertex *free_vertices;
    void *slabs;
    struct gn_turn *spare_turns; /* threads.c */
    size_t turns;                /* … that wait, of all processes */
    uint8_t *calls;              /* threads.c: [call_count] what MPI calls may do, by region */
    size_t call_count;
    struct gn_map early;    /* order.c: (location, sequence) of events delivered ahead of their turn */
    struct gn_map channels; /* channels.c */
    size_t new_channels;    /* since empty ones were swept away */
    bool has_swept;
    struct gn_channel *spare_channels;
    struct gn_map posts; /* receives.c: open receive requests that are not at the front of their list */
    struct gn_post *spare_posts;
    struct gn_start *ended;   /* collectives.c: whose end is being looked at, and waits for nobody */
    struct gn_vertex *end;    /* … that one */
    struct gn_map starts;     /* collectives.c: open nonblocking collectives */
    struct gn_group **groups; /* instances.c: by communicator, then by window */
    size_t comm_groups, window_groups;
    struct gn_group **window_group_array;
    struct gn_teams *teams;        /* gates.c */
    struct gn_epoch_gates *epochs; /* epoch_gates.c; NULL: there was no epoch */
    struct gn_order_gate *gates;
    struct gn_gate_place *spare_places;
    struct gn_vertex *gate_vertex; /* of the event that the teams, or the epochs, are told */
};

/* ---- vertices.c ---- */

/* For the event, with place and links of one that depends on nobody; NULL: no memory. */
struct gn_vertex *gn_vertex_make(struct gn_order *order, const struct gn_event *event);
void gn_vertex_drop(struct gn_order *order, struct gn_vertex *vertex);
void gn_vertices_close(struct gn_order *order);

/* ---- order.c ---- */

/* A predecessor of `vertex` elsewhere was reported: `final_ticks` is its adjusted time. */
static inline void gn_vertex_after(struct gn_vertex *vertex, uint64_t final_ticks)
{
    if (final_ticks > vertex->floor_ticks)
        vertex->floor_ticks = final_ticks;
}
static inline void gn_vertex_correlate(struct gn_vertex *vertex, uint64_t sent_ticks, uint32_t sender)
{
    vertex->place.sent_ticks = sent_ticks;
    vertex->place.sender = sender;
    vertex->place.flags |= GN_PLACE_CORRELATED;
}
/* The receive waits no longer for its partner's report, or for the end of its call: it has its other waits.
 */
static inline void gn_vertex_parted(struct gn_vertex *receive)
{
    if (receive->needs_report || receive->needs_end)
        return;
    receive->partner->partner = NULL;
    receive->partner = NULL;
}
/* One of what the vertex waits for is settled. */
void gn_vertex_settled(struct gn_order *order, struct gn_vertex *vertex);
/* One of its successors was observed, or will never be. The vertex may be gone afterwards. */
void gn_vertex_noticed(struct gn_order *order, struct gn_vertex *vertex);
/* Tells what the event depends on, and what depends on it, elsewhere. */
int gn_vertex_connect(struct gn_order *order, struct gn_vertex *vertex);
/* All locations that the definitions have are known to the sort. False: no memory. */
bool gn_order_learn_locations(struct gn_order *order);
static inline bool gn_order_knows_locations(struct gn_order *order)
{
    return (order->definitions->location_count == order->location_count &&
            order->definitions->process_count == order->process_count) ||
           gn_order_learn_locations(order);
}
/* Called at each event: what has been waited for for too long is waited for no longer. */
void gn_location_hurry_now(struct gn_order *order, struct gn_location_state *location);
static inline void gn_location_hurry(struct gn_order *order, struct gn_location_state *location)
{
    location->observed++;
    if (__builtin_expect(
            location->deferred_receives || location->first_start != NULL || location->waits_elsewhere, 0))
        gn_location_hurry_now(order, location);
}
/* All that the location did has been counted, and nothing else will come. */
void gn_location_over(struct gn_order *order, uint32_t location);
/* Waits for nothing any more, whatever it was; it is the head of its location. In break_cycles.c. */
void gn_vertex_release(struct gn_order *order, struct gn_vertex *head);
/* Releases one event of each circle of events that wait for each other. In break_cycles.c. */
void gn_break_cycles(struct gn_order *order);
/* Enters the vertex into a process's list of those it has to do something about, and takes it out. */
void gn_vertex_list(struct gn_vertex **list, struct gn_vertex *vertex);
void gn_vertex_unlist(struct gn_vertex *vertex);

/* Events that have predecessors or successors elsewhere. */
static inline bool gn_is_connected(unsigned kind)
{
    const uint64_t kinds = 1ull << GN_EVENT_MPI_SEND | 1ull << GN_EVENT_MPI_ISEND |
                           1ull << GN_EVENT_MPI_RECV | 1ull << GN_EVENT_MPI_IRECV |
                           1ull << GN_EVENT_COLLECTIVE_BEGIN | 1ull << GN_EVENT_COLLECTIVE_END |
                           1ull << GN_EVENT_NBC_REQUEST | 1ull << GN_EVENT_NBC_COMPLETE |
                           1ull << GN_EVENT_RMA_COLLECTIVE_BEGIN | 1ull << GN_EVENT_RMA_COLLECTIVE_END;
    return kind < 64 && kinds >> kind & 1;
}

static inline struct gn_process_state *gn_process_of(struct gn_order *order, uint32_t process)
{
    return &order->processes[process];
}

/* ---- threads.c: processes of several locations ---- */

/* The process of this location has more than one. False: no memory. */
bool gn_thread_open(struct gn_order *order, uint32_t location);
/* It has had this one only until now, and nobody has looked at its calls. */
void gn_thread_was_alone(struct gn_order *order, uint32_t location);
void gn_threads_close(struct gn_order *order);
/* The event, which is no LOST one, was observed, with its vertex where it has one; takes all turns that have
 * come by this. */
int gn_thread_observed(struct gn_order *order, const struct gn_event *event, struct gn_vertex *vertex);
/* Whether what the location does now may be out of its turn. */
bool gn_thread_guesses(const struct gn_order *order, uint32_t location);
/* Whether events of the location have not had their turn. */
bool gn_thread_waits(const struct gn_order *order, uint32_t location);
/* Nothing else comes from the location: others do not wait for it. */
int gn_thread_ended(struct gn_order *order, uint32_t location);
/* … and all of its events have had their turn. */
void gn_thread_over(struct gn_order *order, uint32_t location);
/* A thread of the process has lost events: what is certain without them takes its turn, and calls that go on
 * are over. */
int gn_threads_lose(struct gn_order *order, uint32_t process);
/* All that wait for their turn take it now, whoever might still come before them. */
int gn_threads_flush(struct gn_order *order, uint32_t process);
/* Called now and then: turns that have waited while very many events have piled up behind them are taken. */
int gn_threads_hurry(struct gn_order *order);

struct gn_channel;
/* The send is the next one of the channel. */
int gn_thread_sends(struct gn_order *order, struct gn_channel *channel, struct gn_vertex *send);
/* A receive of the channel has completed at the location. */
void gn_channel_has_receiver(struct gn_channel *channel, uint32_t location);
/* A receive, posted between two moments of its process, is the next one of the channel. True: another one may
 * have been posted before it; is_late: its source knows that, and will say it only later. */
bool gn_thread_receives(struct gn_order *order, struct gn_channel *channel, uint32_t location, bool is_late,
                        uint64_t began, uint64_t ended);
/* The moment at which the call that a thread is in was entered; outside of calls: the present one. */
uint64_t gn_thread_began(const struct gn_order *order, uint32_t location);
/* The receive was posted in the call that its location is in, if any: it has ended when the call has.
 * gn_thread_unposts takes that back. */
int gn_thread_posts(struct gn_order *order, uint32_t location, struct gn_post *post);
void gn_thread_unposts(struct gn_order *order, uint32_t location, const struct gn_post *post);

/* ---- channels.c: sends and receives that are known to belong together ---- */

struct gn_channel_key {
    uint32_t comm, from, to, tag; /* from, to: processes */
};

/* One channel per (communicator, sending process, receiving process, tag): sends that no receive has taken,
 * or receives that no send has come for; never both. */
struct gn_channel {
    struct gn_channel_key key;
    struct gn_vertex *first_send, *last_send;
    struct gn_vertex *first_receive, *last_receive;
    struct gn_channel *spare;
    /* of processes with several locations */
    struct gn_channel_use sent, received;
    uint32_t sending;   /* locations that are in a call which has sent */
    uint32_t passed;    /* open receives of this channel that others have passed: receives.c */
    uint32_t receiver;  /* the first location that has received; GN_NONE */
    bool has_receivers; /* several have */
    bool is_unordered;  /* messages of it may come in another order than that of their numbers */
    /* what the next message is, by the side that sends (numbering.h) and by the one that receives */
    struct gn_positions sends, receives;
};
/* NULL: no memory. */
struct gn_channel *gn_channel_find(struct gn_order *order, const struct gn_channel_key *key);
/* The channel of a message event as seen from its location; false: the event fits no definition. */
bool gn_channel_key_of(const struct gn_order *order, const struct gn_event *event, bool sends,
                       struct gn_channel_key *key);
int gn_channels_send(struct gn_order *order, struct gn_vertex *send);
/* The send has come late: those of other locations that were counted before it may be behind it. */
void gn_channel_doubt(struct gn_channel *channel, const struct gn_vertex *late);
int gn_channels_receive(struct gn_order *order, struct gn_vertex *receive, const struct gn_channel_key *key);
/* No send of this process will come, or none that could be counted: receives that wait for one are released.
 */
void gn_channels_abandon(struct gn_order *order, uint32_t process);
/* No receive will come for sends to this process. */
void gn_channels_unclaim(struct gn_order *order, uint32_t process);
/* All of them are gone, with whatever was known of them. */
void gn_channels_clear(struct gn_order *order);
void gn_channels_close(struct gn_order *order);

/* ---- receives.c: which receive is the next one of its channel ---- */

int gn_receive_posted(struct gn_order *order, const struct gn_event *event);
/* A post or a cancel; other events are no matter. 0 or -ENOMEM. */
int gn_receive_heard(struct gn_order *order, const struct gn_event *event);
int gn_receive_completed(struct gn_order *order, struct gn_vertex *receive);
/* The process of this location, which was its only one, has another one now. False: no memory. */
bool gn_receives_share(struct gn_order *order, uint32_t location);
/* A receive has come late: those of other locations that were posted before it may be behind it. */
void gn_receives_doubt(struct gn_order *order, uint32_t location);
void gn_receive_cancelled(struct gn_order *order, const struct gn_event *event);
/* The call that posted it has ended; is_guess: or will. */
void gn_post_ended(struct gn_post *post, uint64_t moment, bool is_guess);
/* Called at each event of a location with deferred receives. */
void gn_receives_hurry(struct gn_order *order, struct gn_location_state *location);
/* Nothing that is open at this location will complete any more. */
void gn_receives_end(struct gn_order *order, uint32_t location);
/* Those of a process whose locations are over: none of them will complete. */
void gn_receives_forget(struct gn_order *order);
void gn_receives_close(struct gn_order *order);

/* ---- collectives.c: which instance a location's collectives belong to; instances.c: what that does ---- */

int gn_collective_begin(struct gn_order *order, struct gn_vertex *begin);
int gn_collective_end(struct gn_order *order, struct gn_vertex *end);
void gn_collective_reported(struct gn_order *order, struct gn_vertex *begin); /* a begin was */
/* Called at each event of a location with collectives that have no number yet. */
void gn_collectives_hurry(struct gn_order *order, struct gn_location_state *location);
/* Nothing that is begun at this location will end any more. */
void gn_collectives_end(struct gn_order *order, uint32_t location);
/* How far a search for circles has come with the members of an instance. In break_cycles.c. */
struct gn_inquiry {
    uint64_t search;
    uint32_t by, answer; /* the location that asked last, and the location it was told */
    uint32_t next;       /* the member that is looked at next */
};
/* The one of the instance that an end waits in. */
struct gn_inquiry *gn_collective_inquiry(const struct gn_vertex *end);
/* Whether a waiting end depends on the begin of a member. */
bool gn_collective_waits_for(const struct gn_vertex *end, uint32_t member);
/* Of a waiting end: the location of the next begin, from *member on, that was observed and not reported;
 * GN_NONE. */
uint32_t gn_collective_blocker(const struct gn_vertex *end, uint32_t *member);
/* The end is waited for no longer. */
void gn_collective_release(struct gn_order *order, struct gn_vertex *end);
/* The process takes part in no instance that it has not begun. */
void gn_collectives_leave(struct gn_order *order, uint32_t process);
/* … and what it has begun cannot be counted any more. */
void gn_collectives_lose(struct gn_order *order, uint32_t process);
/* The same, but for the others of its instances: there are none (numbering.h). */
void gn_collectives_forget(struct gn_order *order, uint32_t process);
void gn_collectives_close(struct gn_order *order);

/* ---- gates.c: forks, joins and barriers of threads, and what they hand over ---- */

/* Events that may be of one: they have a vertex, and take their turn, where a process has several locations.
 */
static inline bool gn_is_of_team(const struct gn_order *order, const struct gn_event *event)
{
    if (event->kind == GN_EVENT_ENTER || event->kind == GN_EVENT_LEAVE)
        return !order->numbers && gn_teams_region(order->definitions, event->region);
    return !order->numbers && gn_teams_are_about(event);
}
bool gn_gates_open(struct gn_order *order); /* false: no memory */
void gn_gates_close(struct gn_order *order);
/* It is the vertex's turn. 0 or -ENOMEM. */
int gn_gates_take(struct gn_order *order, struct gn_vertex *vertex);
/* is_expecting: it is closed until one gives. NULL: no memory. It is there until it is complete, and nobody
 * stands at it any more. */
struct gn_order_gate *gn_gate_make(struct gn_order *order, bool is_expecting);
/* All that wait are after the giver; the getter is after all that give. 0 or -ENOMEM. */
int gn_gate_give(struct gn_order *order, struct gn_order_gate *gate, struct gn_vertex *giver);
int gn_gate_wait(struct gn_order *order, struct gn_order_gate *gate, struct gn_vertex *getter);
/* Tokens of the events that teams and epochs are told: their vertices, which are kept until they are noticed.
 */
void *gn_gate_token(void *order, const struct gn_event *event);
void gn_gate_unused(void *order, void *vertex);
/* No one else will stand at it; it may be gone. */
void gn_gate_complete(struct gn_order *order, struct gn_order_gate *gate);
/* A giver has been reported. */
void gn_gates_reported(struct gn_order *order, struct gn_vertex *giver);
/* Whether the vertex waits at a gate. */
bool gn_gates_hold(const struct gn_vertex *vertex);
/* Of a vertex that waits at gates: the first location that counts of those of givers that are not reported;
 * GN_NONE: there is none. */
uint32_t gn_gates_blocker(const struct gn_vertex *getter, bool (*counts)(const void *self, uint32_t location),
                          const void *self);
/* It waits no longer. */
void gn_gates_release(struct gn_order *order, struct gn_vertex *getter);

/* ---- epoch_gates.c: epochs on windows (causality/epochs) ---- */

/* Events that may be of one: they have a vertex. */
static inline bool gn_is_of_epoch(const struct gn_order *order, const struct gn_event *event)
{
    const struct gn_definitions *d = order->definitions;
    if (d->window_count == 0 || order->numbers)
        return false;
    return gn_epochs_wants(d, event);
}
/* It is the vertex's turn. 0 or -ENOMEM. */
int gn_epoch_gates_take(struct gn_order *order, struct gn_vertex *vertex);
/* Nothing of this process can be counted from here on, or comes: nobody waits for it. */
void gn_epoch_gates_leave(struct gn_order *order, uint32_t process);
void gn_epoch_gates_close(struct gn_order *order);

/* ---- numbering.c ---- */

/* The vertex has its number, or will have none: its token is told. The vertex is gone. */
void gn_number_known(struct gn_order *order, struct gn_vertex *vertex);

#endif

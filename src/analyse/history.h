/*
 * analyse/history — a run's trace in memory, consolidated: who did what between which calls, when (as
 * intervals on the reference clock), and who waited for whom (Benavides 2019, sections 4.3 and 5.2).
 *
 * What this folder is for: whom the others wait for, and what would make the run faster, as intervals. The
 * way of the data:
 *
 *   source ──► history ──► tracks ──► frames (certain and possible state), aggregate (the paper's view)
 *                 │                       └──► scores
 *                 ├──► waits                waiting and its causes, at each call
 *                 ├──► whatif ──► sweep     the run with an activity made faster
 *                 └──► critical             the critical path
 *
 * An MPI call is one thing here: it gives when it is entered (messages, its part of a collective), and is
 * left when all that it takes has come. Between calls a location computes; that time is dealt to activities.
 * So the paper's time-weighted graph is: inelastic edges, the pieces of computation; elastic ones, from the
 * enter of a call to its leave, and from what it takes.
 *
 * What is certain of the times: each clock's bounds, tightened by the trace's own messages (a bound never
 * moves the wrong way), and within one location the durations, to the rate of its clock.
 */
#ifndef GNOMON_ANALYSE_HISTORY_H
#define GNOMON_ANALYSE_HISTORY_H

#include "clock/bounds.h"
#include "event/stream.h"

#include <stdbool.h>

/* What a location computes, outside of MPI calls. Where regions (functions, or names that the user gave) are
 * recorded, the stack of those that are open; elsewhere "what comes before a call": the call's path. */
struct gn_computation {
    uint32_t parent; /* activity of the enclosing region; GN_NONE: there is none */
    uint32_t region; /* innermost open region; GN_NONE: no region is open */
    uint32_t call;   /* region == GN_NONE: region of the call that ends it; GN_NONE: the program's end does */
    uint32_t path;   /* of that call, or of the region's enter, where it is known */
};

/* Computation of an activity before a call, outside of all calls; ns on the reference clock. A thread that
 * has others beside it may have to wait for them in the end: then it is done no sooner for being faster
 * itself. */
enum gn_piece_kind {
    GN_PIECE_ALONE,
    GN_PIECE_BESIDE, /* since threads were forked, which are not joined yet */
    GN_PIECE_EITHER, /* the last of it before a join: it may be computation, or waiting */
    GN_PIECE_JOIN    /* waiting for threads of its own process: in a barrier of its team, for their end */
};
struct gn_piece {
    uint32_t activity;
    uint8_t kind;
    double lo_ns, hi_ns; /* 0 ≤ lo ≤ hi */
};

enum gn_call_flag {
    GN_CALL_BEGIN = 1,    /* not a call: the location's first event */
    GN_CALL_END = 2,      /* not a call: its last event */
    GN_CALL_POLL = 4,     /* tested or probed and found nothing, or waited in a probe for what the next call
                             takes: such time   goes when there is nothing to wait for */
    GN_CALL_SENDS = 8,    /* blocking send, which may have waited for its receiver: see takes */
    GN_CALL_FORKS = 32,   /* before it, its location forked threads, and had none */
    GN_CALL_JOINS = 64,   /* before it, its location waited for threads */
    GN_CALL_UNTOLD = 128, /* others may have held it up, and nothing tells who: all of it may be waiting */
    GN_CALL_UNSURE =
        16 /* what it took could not be told with certainty: events were lost, or a match is a guess */
};

/* An outermost MPI call of a location. Its pieces are those since the leave of the call before. */
struct gn_call {
    struct gn_interval enter, leave; /* lo ≤ hi; enter.lo ≤ leave.lo, enter.hi ≤ leave.hi */
    uint64_t enter_ticks, leave_ticks;
    uint32_t location;
    uint32_t before; /* the call before it at its location; GN_NONE: it is a BEGIN */
    uint32_t
        waits_from; /* the call in which the waiting began: itself, or the first of polls just before it */
    uint32_t region, path; /* GN_NONE: BEGIN, END */
    uint32_t flags;
    uint32_t first_piece, piece_count;
    uint32_t first_take, take_count; /* what it waited for besides its own enter */
    uint32_t first_part, part_count; /* parts of collectives that it begins: part_order[first_part …] */
    /* from times: its own enter may be what it was left for; else that was so much earlier, at least */
    bool is_tight;
    double extra_ns;
};

/* Something that a call took: it was left only after that had come. */
enum gn_take_kind {
    GN_TAKE_MESSAGE,   /* from: the call that sent it */
    GN_TAKE_GATHERING, /* from: the instance of a collective; member: its own part there */
    GN_TAKE_RECEIVER,  /* of a send that is perhaps synchronous, or of its completion: from: the call that
                          posted the receive; member: the call that sent */
    GN_TAKE_BEGUN      /* of a completion, perhaps: from: the call of its location that began it, as a large
                          message is on its way no sooner than that */
};
struct gn_take {
    uint32_t call, from, member;
    uint8_t kind;
    struct gn_interval given; /* when: of a gathering, by the last of the parts that this depends on */
    /* What follows from times: reductions are how much earlier something is, ns */
    bool is_tight;   /* it may be what the call was left for */
    bool is_certain; /* it was waited for; else only perhaps */
    double extra_ns; /* it could have come so much later and the call been left when it was: ≥ 0 */
    double room_ns;  /* the call was left at most so long after it was given: ≥ 0 */
};

/* Instance of a collective. Who gives to whom: event/collective.h. */
struct gn_history_gathering {
    uint32_t comm; /* or window */
    bool is_window;
    uint8_t op, shape; /* shape: enum gn_shape */
    bool is_whole;     /* every member takes part, gives and gets: nobody is left before all have come */
    bool is_vague;     /* MPI does not say that it synchronises; only its times do not speak against it */
    bool is_partial;   /* vague, and some may have waited for some of the others only */
    uint32_t root;     /* part index within parts; GN_NONE */
    uint32_t first_part, part_count; /* in gn_history.parts, by rank */
    struct gn_interval last;         /* when the last one that gives came: of the givers' enters */
};
struct gn_given_part {
    uint32_t call;      /* that begins it */
    uint32_t gathering; /* GN_NONE: an instance that is not whole because of losses: local */
    uint32_t member;    /* rank in the communicator; of an intercommunicator's second group after the first */
    bool gives, gets;
    bool is_tight;   /* it may be the last one that gave */
    double extra_ns; /* so much earlier than the last one, at least */
};

/* A message that competes with others: some receive of its process may have taken any of them. */
struct gn_rival {
    uint32_t from, to; /* calls: that sent it, in which it was received */
    bool is_open;      /* its receive may have said MPI_ANY_SOURCE, or the trace does not tell */
};
/* Those that a process received on a communicator, and with a tag where all its receives named one, in the
 * order in which the receives were posted. */
struct gn_rivals {
    uint32_t first, count; /* in gn_history.rivals */
    bool is_alike; /* all receives said the same, and who they were from makes no difference that is seen; or
                      the trace does not tell what they said */
};

/* A change of what a location is in: an enter or a leave of any region, a call's, too. */
struct gn_change {
    struct gn_interval at;
    uint64_t ticks;
    uint32_t region, path;
    bool is_enter;
};
struct gn_track {
    struct gn_change *changes; /* in local order: bounds do not descend */
    size_t count, capacity;
};

struct gn_history_settings {
    const struct gn_bounds *const *bounds; /* [location_count]; NULL where nothing is known of the clock */
    bool is_partial;                       /* the run is: kept with the results */
    bool refuted;                          /* an assumption on a clock was refuted: kept with the results */
    double longest_ns;    /* no message that was there when it was asked for had taken longer; 0: what
                             follows from those that were waited for */
    bool has_tracks;      /* fill tracks */
    const uint64_t *cuts; /* [cut_count] ascending readings at which parts of the run are left out
                             (trace/windowed.h: joined), all on one clock; outlive the history */
    size_t cut_count;
    bool is_loose;    /* bounds of calls stay what their clocks' are: where parts are left out, and clocks are
                         several, a clock's rate says nothing of two readings with such a place between them */
    const bool *naps; /* [path_count] between polls from there threads sleep: they wait; NULL: none do */
    bool in_virtual_time; /* as if measuring had cost nothing, where it is known what it has (Li &
                             Zhang, 5.3); not tracks */
};

struct gn_history {
    const struct gn_definitions *definitions;
    const uint64_t *cuts; /* of the settings */
    size_t cut_count;
    struct gn_computation *activities;
    struct gn_call *calls;
    uint32_t *steps; /* [step_count] call << 1 | 1 when it is left, in causal order */
    struct gn_piece *pieces;
    struct gn_take *takes; /* [take_count] by call */
    struct gn_history_gathering *gatherings;
    struct gn_given_part *parts; /* [part_count] by gathering, then by member */
    uint32_t *part_order;        /* [part_count] indices of parts by call */
    struct gn_rival *rivals;
    struct gn_rivals *contests;       /* of rivals */
    struct gn_track *tracks;          /* [location_count], with has_tracks */
    uint32_t *first_call, *last_call; /* [location_count]: BEGIN and END; GN_NONE: it has no events */
    bool *is_carried; /* [location_count] a thread that called and forked nothing while others of its process
                         did: nothing tells what it waited for, so it is taken to go along with them */
    double *rate_lo, *rate_hi; /* [location_count] ns per tick of its clock */
    size_t activity_count, call_count, step_count, piece_count, take_count, gathering_count, part_count,
        contest_count;
    uint64_t events;
    /* Measuring, where events tell what it has cost. */
    double own_work_share; /* of the time of the location that had most of it */
    float *gone_ns; /* [call_count] in virtual time: the call is so much shorter than it was; NULL: all times
                       are as measured */
    double *earlier_ns; /* [location_count] in virtual time: by how much its end is earlier than it was */
    struct gn_interval unmeasured; /* likewise: the run's length, at least and at most */
    double measured_ns;            /* in virtual time: what the run's length was */
    double longest_ns;             /* as used */
    struct gn_interval first;      /* the run's begin: the earliest first event */
    struct gn_interval last;       /* its end: the latest last event */
    struct gn_interval length; /* last − first, tighter where one clock has both; hi_ns ≥ lo_ns ≥ 0 */
    /* what the results rest on, or do without */
    bool refuted, is_partial;
    uint64_t unmatched, ambiguous, lost, unbounded; /* receives; receives; events; locations */
    uint64_t any_source; /* receives that may take the message of another sender with other times */
    uint64_t unnamed;    /* of those, receives of which the trace does not tell what they were posted for */
    uint64_t
        eager_bytes;    /* sends of so many bytes, and of fewer, are taken to go on without their receivers */
    uint64_t idle_rows; /* rows of polls between which more time passed than measuring takes: their threads
                           are taken to do no work then */
    uint64_t handed;    /* waits for a thread's end or a lock: whose it was is taken to go along */
    uint64_t eager_sends; /* such sends whose receive may have been posted later than they began */
    uint64_t untold;      /* calls with GN_CALL_UNTOLD, and their time */
    double untold_ns;
    uint64_t locks;     /* of those, calls that ask for the lock of a window, or give it back */
    uint64_t moved;     /* messages that may have moved on between calls: begun in one, complete in another */
    uint64_t beside;    /* pieces of threads with others beside them */
    uint64_t tightened; /* bounds of calls that messages moved */
};

/*
 * Reads all of the source. 0, and the caller clears; or a negative errno value with err set. The source's
 * definitions outlive the history; it may be closed after the history.
 */
int gn_history_read(struct gn_history *history, struct gn_source *source,
                    const struct gn_history_settings *settings, struct gn_error *err);
void gn_history_clear(struct gn_history *history);

/* What its location computes just before the call, waiting for its own threads apart; the middle of its
 * bounds, ns. */
double gn_computed_before(const struct gn_history *history, const struct gn_call *call);

/* From its enter to its leave by its location's readings, ns. */
static inline double gn_call_ns(const struct gn_history *history, const struct gn_call *call)
{
    return (double)(call->leave_ticks - call->enter_ticks) * 1e9 /
           (double)history->definitions->ticks_per_second;
}

/* "compute (app.c:31)", "before MPI_Allreduce at app.c:85 in iterate": into text[size], always ended. All of
 * these texts are printable (base/printable.h), whatever the trace has. */
void gn_activity_text(const struct gn_history *history, uint32_t activity, char *text, size_t size);
/* "file.c:85" of an activity's or a call path's place; "" where it is not known. */
void gn_activity_place(const struct gn_history *history, uint32_t activity, char *text, size_t size);
void gn_path_place(const struct gn_definitions *definitions, uint32_t path, char *text, size_t size);

#endif

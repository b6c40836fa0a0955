/*
 * repair/condition_counts — what a check of the clock condition (repair/condition.h) is asked, and what it
 * has counted: messages, what of them is wrong, what only may hold, and how much of the trace all that
 * covers.
 */
#ifndef GNOMON_REPAIR_CONDITION_COUNTS_H
#define GNOMON_REPAIR_CONDITION_COUNTS_H

#include "repair/latency.h"
#include "repair/presync.h"

struct gn_condition_count {
    uint64_t messages;      /* checked */
    uint64_t reversed;      /* received before they were sent */
    uint64_t violating;     /* received before sent + µ; reversed ones are among them */
    int64_t worst_ticks;    /* of violating ones: how much is missing, at most */
    double error_ticks_sum; /* of reversed ones: received so much earlier than sent (table 3) */
    int64_t error_ticks_max;
};

/* How much of what the trace has was checked: each with all that it has to do with. */
struct gn_condition_coverage {
    uint64_t all, checked;
};

enum gn_condition_kind {
    GN_CONDITION_MESSAGES,    /* all: one whose other end is not known counts as one by itself */
    GN_CONDITION_COLLECTIVES, /* instances, of several members: the most that any member of each communicator
                                 has begun */
    GN_CONDITION_WINDOWS,     /* the same, on windows */
    GN_CONDITION_TEAMS,       /* of threads: fork, barriers, join */
    GN_CONDITION_EPOCHS, /* between a process that completes one and another that waits for it: as messages */
    GN_CONDITION_KINDS
};

/* Logical messages that only may exist, in the times that the clocks showed, whatever the rest is checked in:
 * of two ends on one clock it can be said which was first; of ends on two, as far as their bounds go. */
struct gn_condition_judged {
    uint64_t held, not_held;       /* one clock: the end is not before the begin; it is */
    uint64_t possible, impossible; /* two, with bounds: the end may be after the begin; it cannot be */
    uint64_t unknown;              /* two, and not both have bounds */
};

struct gn_condition_message {
    uint32_t from, to;                  /* locations */
    int64_t sent_ticks, received_ticks; /* presynchronised */
    bool is_collective;
};

struct gn_condition {
    struct gn_condition_count messages;    /* point to point */
    struct gn_condition_count collectives; /* logical messages */
    struct gn_condition_count epochs;      /* between processes that complete epochs and wait for them */
    /* logical messages that may not exist: of alltoallv and alltoallw, where who sends to whom is not
     * recorded; of collectives on windows, and those that make and free handles and memory, of which MPI does
     * not say that they synchronise; of those in which nobody sent or received anything, though they are no
     * barriers; of operations that are not known */
    struct gn_condition_count uncertain;
    struct gn_condition_judged judged; /* of the same: they add up to uncertain.messages */
    struct gn_condition_coverage coverage[GN_CONDITION_KINDS];
    uint64_t lost;             /* events that the trace says are missing: nobody knows what they were */
    uint64_t unread_locations; /* that end early or have no file; of whoever has read the trace */
    uint64_t events, backward; /* backward: an event before its predecessor at its location */
    /* What could not be checked. unmatched: sends and receives without the other, and members of collectives
     * whose begin or end is missing, or who disagree; ambiguous: receives whose send is a guess */
    uint64_t unmatched, ambiguous;
    struct gn_condition_message worst; /* the one that misses most; from == GN_NONE: there is none */
};

/* What a trace is held against. */
struct gn_condition_terms {
    const struct gn_presync *presync; /* what makes times of timestamps */
    const struct gn_latency *latency; /* NULL: µ = 0 */
    const struct gn_presync *bounds;  /* of the clocks as they were, of kind BOUNDS; NULL: none are known */
};

/* What is missing to worst; 0: nothing. */
static inline int64_t gn_condition_worst_ticks(const struct gn_condition *condition)
{
    const int64_t worst[] = {condition->messages.worst_ticks, condition->collectives.worst_ticks,
                             condition->epochs.worst_ticks};
    const int64_t first = worst[0] > worst[1] ? worst[0] : worst[1];
    return first > worst[2] ? first : worst[2];
}

/* Everything of every kind was checked, and nothing is known to be missing. */
static inline bool gn_condition_covers(const struct gn_condition *condition)
{
    for (int kind = 0; kind < GN_CONDITION_KINDS; kind++)
        if (condition->coverage[kind].checked < condition->coverage[kind].all)
            return false;
    return condition->lost == 0 && condition->unread_locations == 0;
}

/* No certain message violates it, and no location goes back in time. */
static inline bool gn_condition_holds(const struct gn_condition *condition)
{
    return condition->messages.violating == 0 && condition->collectives.violating == 0 &&
           condition->epochs.violating == 0 && condition->backward == 0;
}

#endif

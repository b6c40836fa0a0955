/*
 * analyse/scores — straggler scores (Benavides 2019, 5.1 and 6): the share of the run during which one
 * location was busy while all others waited, as an interval in percent.
 *
 * Who is scored: ranks, threads, or hosts (analyse/states.h says when several threads as one wait). All
 * others are not always all of the run: who waits in a collective of a smaller communicator waits for its
 * members only (4.2: the barrier and how many it expects). So each of these communicators is asked, too.
 */
#ifndef GNOMON_ANALYSE_SCORES_H
#define GNOMON_ANALYSE_SCORES_H

#include "analyse/frames.h"
#include "analyse/names.h"

enum gn_scored { GN_SCORED_RANK, GN_SCORED_THREAD, GN_SCORED_HOST };

/* Who is who. */
struct gn_groups {
    uint32_t *of;    /* [location_count] group; GN_NONE: left out, it has no events */
    uint32_t *first; /* [count] its first location */
    size_t count;
};

/* 0, and the caller clears; or -ENOMEM with err set. */
int gn_groups_make(struct gn_groups *groups, const struct gn_history *history, enum gn_scored by,
                   struct gn_error *err);
void gn_groups_clear(struct gn_groups *groups);

struct gn_scores_settings {
    const struct gn_named *waiting, *busy; /* as in struct gn_states_settings */
    bool has_phases; /* also by phase: by the outermost regions that the user named, else by time */
};

struct gn_score {
    double lo, hi; /* percent of the run, 0 ≤ lo ≤ hi ≤ 100 */
};

/* A phase of the program: where one is busy in it. Their scores add up to those of the run, where all of
 * it is in some phase. */
struct gn_phase {
    uint32_t region;         /* GN_NONE: a slice of time */
    double begin_ns, end_ns; /* of the slice, on the reference clock */
    struct gn_score *scores; /* [count] */
};

/* A communicator that is not all of the run: the best score that a member has against its other members. */
struct gn_context {
    uint32_t comm;      /* GN_NONE: none */
    uint32_t instances; /* of collectives that all of its members were in */
    uint32_t expected;  /* how many take part in each */
    struct gn_score score;
};

enum { GN_PHASES = 12, GN_PHASE_SLICES = 10 };

struct gn_scores {
    struct gn_score *scores;     /* [count] */
    struct gn_context *contexts; /* [count] */
    size_t count;
    struct gn_score all; /* exactly one was busy while all others waited, whoever it was */
    uint64_t frames;
    struct gn_phase phases[GN_PHASES];
    size_t phase_count;
};

/* 0, and the caller clears; or -ENOMEM with err set. */
int gn_scores_find(struct gn_scores *scores, const struct gn_history *history, const struct gn_groups *groups,
                   const struct gn_scores_settings *settings, struct gn_error *err);
void gn_scores_clear(struct gn_scores *scores);

#endif

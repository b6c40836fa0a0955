/*
 * history_maker — small random runs for tests of what is made of histories (analyse/history.h), with the
 * truth beside them: what each call waited for and when that came.
 *
 * Processes compute, send, take part in collectives of all shapes, blocking or not, and wait, in true time;
 * the history shows it through clocks that are known to some ns. What may have come last is told from those
 * bounds alone.
 */
#ifndef HISTORY_MAKER_H
#define HISTORY_MAKER_H

#include "analyse/history.h"

enum { MAKER_PROCESSES = 3, MAKER_LOCATIONS = 4, MAKER_ACTIVITIES = 4, MAKER_PATHS = 3 };

struct maker_settings {
    uint64_t seed;
    int operations;
    int64_t unit_ns;  /* all durations are multiples: few different ones make ties */
    int64_t width_ns; /* of clock bounds; 0: times are known exactly */
    double rate;      /* durations of pieces are known to this share */
};

/* What a call was left for, at the latest, in truth. Its own enter is the first input. */
struct maker_input {
    uint32_t call;        /* whose enter gave it */
    int64_t come_ns;      /* when it was there */
    int64_t lo_ns, hi_ns; /* when it was there as far as clocks tell */
    bool is_of_many;      /* one of those that give in a collective */
};
struct maker_call {
    int64_t enter_ns, leave_ns;
    struct maker_input inputs[MAKER_LOCATIONS + 4];
    int input_count;
};

struct made {
    struct gn_definitions *definitions;
    struct gn_history history;
    struct maker_call *truth; /* [call_count] */
    double *piece_ns;         /* [piece_count] true durations */
    int64_t longest_ns;       /* no message took longer */
};

void maker_make(struct made *made, const struct maker_settings *settings);
void maker_clear(struct made *made);

#endif

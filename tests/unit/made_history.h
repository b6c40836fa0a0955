/*
 * made_history — small histories by hand: what each location did, when, and who took what from whom. Times
 * are in milliseconds; bounds are as wide as said.
 */
#ifndef GNOMON_TESTS_MADE_HISTORY_H
#define GNOMON_TESTS_MADE_HISTORY_H

#include "analyse/history.h"

enum { MADE_LOCATIONS = 16, MADE_CALLS = 512, MADE_TAKES = 512, MADE_PARTS = 512, MADE_CHANGES = 256 };

struct made {
    struct gn_history h;
    struct gn_definitions *d;
    struct gn_call calls[MADE_CALLS];
    struct gn_piece pieces[MADE_CALLS];
    struct gn_take takes[MADE_TAKES];
    struct gn_given_part parts[MADE_PARTS];
    uint32_t part_order[MADE_PARTS], steps[2 * MADE_CALLS];
    struct gn_history_gathering gatherings[64];
    struct gn_computation activities[16];
    uint32_t first_call[MADE_LOCATIONS], last_call[MADE_LOCATIONS];
    struct gn_track tracks[MADE_LOCATIONS];
    struct gn_change changes[MADE_LOCATIONS][MADE_CHANGES];
    double wide_ms[MADE_LOCATIONS]; /* bounds are so wide, to both sides */
};

/* locations: each a rank; domain_of: NULL: all read one clock. */
struct made *made_new(uint32_t locations, const uint32_t *domain_of);
void made_free(struct made *m);

uint32_t made_region(struct made *m, const char *name, uint8_t role);
uint32_t made_comm(struct made *m, uint32_t count, const uint32_t *members);

/* A call with a piece of the activity before it, which fills the time since the call before. */
uint32_t made_call(struct made *m, uint32_t location, double enter_ms, double leave_ms, uint32_t activity);
void made_takes_message(struct made *m, uint32_t call, uint32_t from);
/* calls[count] of the members, in the order of their ranks, are one collective. */
uint32_t made_collective(struct made *m, uint32_t comm, enum gn_shape shape, uint32_t root,
                         const uint32_t *calls, uint32_t count);
void made_change(struct made *m, uint32_t location, double at_ms, uint32_t region, bool is_enter);

/* Closes all locations at this time: takes, parts and steps get their places. */
struct gn_history *made_end(struct made *m, double end_ms);

#endif
